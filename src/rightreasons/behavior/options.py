"""Options of the question behavior, and of the command that tests models on a suite."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, option

SUITE_HELP = (
    "A .jsonl or .jsonl.gz suite, or checklist_sentiment, checklist_paraphrase or "
    "checklist_reading."
)


class SuiteOptions(Options):
    """How much of a behavioral suite is read."""

    max_cases: int | None = option(None, "Maximum number of cases per functionality.", minimum=1)


class BehaviorOptions(SuiteOptions, QuestionOptions):
    """Does its good behavior generalize?"""

    suite: str | None = option(None, SUITE_HELP)

    def _check(self) -> None:
        """Check that a suite is named if its number of cases is limited."""
        super()._check()
        # A number of cases without a suite would silently do nothing. Either option may be the mistake.
        if self.suite is None and self.max_cases is not None:
            raise OptionError(
                "Expected `suite` if `max_cases` is given, but got no suite.",
                option=("suite", "max_cases"),
            )

    def passes(self, context: Any) -> float:
        """Return about how many passes through the model the question takes: one per example of the suite.

        Args:
            context: The audit, which opens the suite.
        """
        suite = context.suite(self)
        if suite is None:
            return 0.0
        return float(suite.n_examples)


@dataclasses.dataclass(frozen=True)
class LearningSource:
    """Names of what a plan of behavioral learning is made from.

    Attributes:
        model: Folder or hub id of the model.
        suite: Name or file of the suite.
        data: Independent data. "DATA" if they are unknown, for the reader to fill in.
        settings: Further options of the command, None for their defaults.
    """

    model: str
    suite: str
    data: str = "DATA"
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def write_plan_command(self) -> str:
        """Return the command that plans training with and without the suite, by one method.

        Example:
            >>> LearningSource("my-model", "suite.jsonl").write_plan_command()
            "rightreasons learn plan learned --model my-model --suite suite.jsonl --data DATA \
--configurations 'IID,IID->T' --methods vanilla"
        """
        words = ["rightreasons", "learn", "plan", "learned", "--model", self.model]
        words += ["--suite", self.suite, "--data", self.data]
        # One configuration and one method are enough to compare the model with itself before.
        words += ["--configurations", "IID,IID->T", "--methods", "vanilla"]
        for name, value in self.settings.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)

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
    """Cases of a behavioral suite."""

    max_cases: int | None = option(None, "Maximum number of cases per functionality.", minimum=1)


class BehaviorOptions(SuiteOptions, QuestionOptions):
    """Does it pass basic behavioral tests?"""

    suite: str | None = option(None, SUITE_HELP)

    def _check(self) -> None:
        """Check that a suite is named if its number of cases is limited."""
        super()._check()
        # Without a suite, the number of cases would have no effect.
        if self.suite is None and self.max_cases is not None:
            raise OptionError(
                "Expected `suite` if `max_cases` is given, but got no suite.",
                option=("suite", "max_cases"),
            )

    def passes(self, context: Any) -> float:
        """Return the expected number of passes through the model: one per example of the suite.

        Args:
            context: The audit, which opens the suite.
        """
        suite = context.suite(self)
        if suite is None:
            return 0.0
        return float(suite.n_examples)


@dataclasses.dataclass(frozen=True)
class LearningSource:
    """Names of the model, the suite and the data of a plan of behavioral learning.

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
        """Return the command line that plans to train the model with and without the suite.

        Example:
            >>> LearningSource("my-model", "suite.jsonl").write_plan_command()
            "rightreasons learn plan learned --model my-model --suite suite.jsonl --data DATA \
--configurations 'IID,IID->T' --methods vanilla"
        """
        words = ["rightreasons", "learn", "plan", "learned", "--model", self.model]
        words += ["--suite", self.suite, "--data", self.data]
        # One configuration and one method suffice to compare the model before and after this training.
        words += ["--configurations", "IID,IID->T", "--methods", "vanilla"]
        for name, value in self.settings.items():
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)

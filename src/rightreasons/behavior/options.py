"""Options of the question behavior, and of the command that tests models on a suite."""

from __future__ import annotations

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
        super()._check()
        # A number of cases without a suite would silently do nothing.
        if self.suite is None and self.max_cases is not None:
            raise OptionError(
                # Both options are at fault: either may be the mistake.
                "Expected `suite` if `max_cases` is given, but there is none.",
                option=("suite", "max_cases"),
            )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs of an audit."""
        suite = context.suite(self)
        if suite is None:
            return 0.0
        return float(suite.n_examples)

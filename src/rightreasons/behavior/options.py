"""Options of the question behavior, and of the command that tests models on a suite."""

from __future__ import annotations

from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, listed, option

SUITE_HELP = "A .jsonl or .jsonl.gz suite, or checklist_sentiment, checklist_paraphrase or checklist_reading."


class SuiteOptions(Options):
    """How a behavioral suite is read, and how much of its results is shown."""

    label_names: str | None = option(
        None, "Names of the suite's labels 0, 1, …, comma-separated, where it has none or other ones than a model."
    )
    max_cases: int | None = option(None, "Maximum number of cases per functionality.", minimum=1)
    examples: int = option(3, "Failing cases shown per functionality.", minimum=0)

    def opening(self) -> dict[str, Any]:
        """Return the keywords of `open_suite`."""
        return {"label_names": listed(self.label_names), "max_cases": self.max_cases}


class BehaviorOptions(SuiteOptions, QuestionOptions):
    """Does its good behavior generalize?"""

    suite: str | None = option(None, SUITE_HELP)

    def _check(self) -> None:
        super()._check()
        for name in ("max_cases", "label_names"):
            if self.suite is None and getattr(self, name) is not None:
                sentence = f"Expected `suite` where `{name}` is given, but there is none."
                raise OptionError(sentence, option=("suite", name))

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs of an audit."""
        suite = context.suite(self)
        return 0.0 if suite is None else float(suite.n_examples)

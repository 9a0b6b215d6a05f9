"""The options of the question about prompt formats."""

from __future__ import annotations

from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.options import QuestionOptions, option

# The name of the question, which must not ask itself.
_OWN_NAME = "ways"


class WaysOptions(QuestionOptions):
    """Does the prompt format matter?"""

    n_ways: int = option(
        12,
        "Number of prompt formats: the plainest format and a random sample of others.",
        minimum=2,
    )
    questions: tuple[str, ...] = option(
        ("calibration", "cues"),
        "Questions whose verdicts are compared between formats; questions other than "
        "calibration and cues need further requests in each format.",
    )
    doubt: bool = option(
        True, "Whether to ask 'Are you sure?' after the answers, and a neutral second request."
    )

    def _check(self) -> None:
        """Check that this question is not among the questions that are asked in each format.

        Raises:
            OptionError: If it is.
        """
        super()._check()
        # The question would ask itself again in every format, without end.
        if _OWN_NAME in self.questions:
            raise OptionError(
                f"Expected other questions than {_OWN_NAME!r} in `questions`, but got "
                f"{_OWN_NAME!r}.",
                option="questions",
            )

    def passes(self, context: Any) -> float:
        """Return the answers in each format and the second ones, in passes of an item."""
        n_answers = self.n_ways
        # A doubt has a control, which is a second answer, too.
        if self.doubt:
            n_answers += 2
        return float(len(context.primary) * n_answers)

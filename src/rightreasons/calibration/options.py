"""Options of a question."""

from __future__ import annotations

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, option

VOTE_KINDS = ("counts", "distributions")


class CalibrationOptions(QuestionOptions):
    """Does its confidence match its accuracy?"""

    n_bins: int = option(15, "Number of confidence bins.", minimum=1)
    votes_columns: str | None = option(
        None,
        "Comma-separated columns of the votes of people, one per class, or one of lists in the order of the classes.",
    )
    votes: str = option(
        "counts", "What the votes are: counts or distributions.", choices=VOTE_KINDS
    )
    elicit: tuple[str, ...] = option(
        (),
        "How a language model is asked for the confidence in its answers too: verbalized, the number that it states.",
        choices=("verbalized",),
    )

    def _check(self) -> None:
        if self.votes_columns is None and self.votes != "counts":
            raise OptionError(
                f"Expected `votes_columns` where `votes` is {self.votes!r}, but there is none.",
                option=("votes_columns", "votes"),
            )


class ConfidenceOptions(Options):
    """The columns of a table of confidence; None where their names say it."""

    confidence_column: str | None = option(
        None, "Comma-separated columns of the confidence in the given answer, one per source."
    )
    correct_column: str | None = option(
        None, "Column that says whether the given answer was right: 1 or 0."
    )

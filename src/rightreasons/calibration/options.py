"""Options of calibration: of the question of an audit, and of a table of confidence."""

from __future__ import annotations

from typing import ClassVar

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, QuestionOptions, Requirements, option

VOTE_KINDS = ("counts", "distributions")


class CalibrationOptions(QuestionOptions):
    """Does its confidence match its accuracy?"""

    tables: ClassVar[Requirements] = {
        "predictions": "from these scores alone",
        "classification": "",
        "multiple_choice": "",
    }
    is_about_labels: ClassVar[bool] = True

    n_bins: int = option(15, "Number of confidence bins.", minimum=1)
    votes_columns: str | None = option(
        None,
        "Comma-separated columns with the votes of annotators: one column per class, or one "
        "column of lists in the order of the classes.",
    )
    votes: str = option("counts", "Kind of the votes: counts or distributions.", choices=VOTE_KINDS)
    elicit: tuple[str, ...] = option(
        (),
        "Additional confidence of a language model: verbalized, the number that the model states.",
        choices=("verbalized",),
    )

    def _check(self) -> None:
        """Refuse a kind of votes without columns of votes."""
        # The kind of votes that are not there would be ignored without a word.
        if self.votes_columns is None and self.votes != "counts":
            raise OptionError(
                f"Expected `votes_columns` with votes={self.votes!r}, but got none.",
                option=("votes_columns", "votes"),
            )


class ConfidenceOptions(Options):
    """Columns of a table of confidence; if None, they are found by their names."""

    # Only columns with unusual names need these: `confidence_p` and `correct` are recognized.
    confidence_column: str | None = option(
        None, "Comma-separated columns of the confidence in the given answer, one per source."
    )
    correct_column: str | None = option(
        None, "Column that states whether the answer is correct, 1 or 0."
    )

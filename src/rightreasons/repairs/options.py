"""The options of a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option

if TYPE_CHECKING:
    from rightreasons.core.resampling import Resampling

METHODS = ("swap", "in_place", "remove", "insert", "normalize", "weights")
"""Ways to edit training texts; "swap" is the default if every label has a word, and otherwise "remove"."""


class RepairOptions(Options):
    """Edits of the training texts, and verification of the repair."""

    method: str | None = option(
        None,
        "swap (default if every label has a word), in_place, remove (default otherwise), insert, "
        "normalize, or weights, which rarely repairs.",
        choices=METHODS,
    )
    growth: float = option(
        1.0,
        "How much the training set may grow, relative to the number of texts with a word.",
        minimum=0.0,
    )
    rounds: int = option(
        5,
        "Maximum number of rounds of edits; each round edits the words that the previous "
        "round found.",
        minimum=1,
    )
    budget: int = option(
        30_000, "Budget of the search for other words, in passes of one item.", minimum=1
    )
    text_column: str | None = option(None, "Column of the training texts.")
    text_pair_column: str | None = option(None, "Column of the second training texts.")
    label_column: str | None = option(None, "Column of the training labels.")
    confidence_level: float = option(0.95, "Level of the intervals.", minimum=0.5, maximum=1.0)
    seed: int = option(0, "Seed of all random choices.", minimum=0)

    def _check(self) -> None:
        """Refuse a confidence level of 1."""
        # A level of 1 would make every interval infinite.
        if self.confidence_level >= 1:
            raise OptionError(
                f"Expected `confidence_level` below 1, but got {self.confidence_level:g}.",
                option="confidence_level",
            )

    @property
    def resampling(self) -> Resampling:
        """Level and seed of the intervals."""
        # The options are declared for the help, which waits for no numpy.
        from rightreasons.core.resampling import Resampling

        # Shares have Wilson intervals, so that no number of resamples is needed.
        return Resampling(self.confidence_level, seed=self.seed)

    @property
    def source(self) -> dict[str, str]:
        """The columns of the training texts that are named."""
        columns = {}
        for name in ("text_column", "text_pair_column", "label_column"):
            value = getattr(self, name)
            # Without a name, the reader of tables finds the column itself.
            if value is not None:
                columns[name] = value
        return columns

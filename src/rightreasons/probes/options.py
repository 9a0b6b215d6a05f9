"""The options of the question about the probes."""

from __future__ import annotations

from typing import Any, ClassVar

from rightreasons.core.options import Options, QuestionOptions, Requirements, option


class ProbesOptions(QuestionOptions):
    """Does it pick an answer before reading the question?"""

    # The probes change the choices of items.
    tables: ClassVar[Requirements] = {"multiple_choice": ""}

    ks: tuple[int, ...] = option(
        (1, 2, 4, 8),
        "Comma-separated numbers of incorrect choices to add from other items.",
        minimum=1,
    )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs of an audit."""
        # Unchanged items, items without and with another question, and one table for each k.
        return float(len(context.primary) * (3 + len(self.ks)))


class DebiasOptions(Options):
    """Correction of answer priors."""

    fit_share: float = option(
        0.33,
        "Share of the items on which the correction is fitted; the other items are used to "
        "test it.",
        minimum=0.01,
        maximum=0.9,
    )


class JudgmentOptions(Options):
    """Columns of a table of judgments; if None, they are found by their names."""

    # If None, the column is found by its usual names.
    item_column: str | None = option(
        None, "Column that names the item; by default each row is an item."
    )
    judge_column: str | None = option(None, "Column that names the judge.")
    first_column: str | None = option(
        None, "Column of the author of the candidate that was shown first."
    )
    second_column: str | None = option(
        None, "Column of the author of the candidate that was shown second."
    )
    verdict_column: str | None = option(None, "Column of the verdict: first, second or tie.")
    first_text_column: str | None = option(
        None, "Column of the text that was shown first, for its length."
    )
    second_text_column: str | None = option(
        None, "Column of the text that was shown second, for its length."
    )
    reference_column: str | None = option(
        None,
        "Column of the verdict of a reference, such as people; by default the other judges "
        "are the reference.",
    )
    human_column: str | None = option(
        None,
        "Column of human labels (1 or 0) of some answers, which correct the accuracy that the "
        "judge reports.",
    )

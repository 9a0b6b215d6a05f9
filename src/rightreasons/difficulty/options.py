"""The options of the question difficulty, and how many items it asks about."""

from __future__ import annotations

from typing import Any, ClassVar

from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.options import QuestionOptions, Requirements, option

FLIP_PASSES = 1800.0
"""Passes for the replacements of single words in the texts at both ends of the difficulty, which are always as many."""


class DifficultyOptions(QuestionOptions):
    """Which examples is it fragile on?"""

    tables: ClassVar[Requirements] = {"classification": ""}
    is_about_labels: ClassVar[bool] = True

    items: int = option(
        1000, "Maximum number of items that are ranked by their eigenvalue.", minimum=MIN_ITEMS
    )
    original_column: str | None = option(
        None,
        "Column that marks the original of each contrast set, by true and false or by the word original; role, "
        "is_original or mirrored where there is one, else the first item of each set is it.",
    )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs; one with its gradient costs three."""
        split = context.primary
        if context.why_no_gradients():
            return 0.0
        n_classes = len(context.label_names or ()) or 2
        flips = FLIP_PASSES if context.task == "classification" else 0.0
        return min(self.items, len(split)) * (1 + 2 * n_classes) + flips

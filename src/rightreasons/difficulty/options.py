"""The options of the question difficulty, and how many items it asks about."""

from __future__ import annotations

from typing import Any

from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.options import QuestionOptions, option

MEASURES = ("eigenvalue", "left_out_words", "contrast")
"""Measures of difficulty; see `DifficultyOptions`."""

RANKED_ITEMS, LEFT_OUT_ITEMS = 1000, 100
"""Items ranked by eigenvalue, and by left-out words; the option `items` changes both."""

FLIP_PASSES = 1800.0
"""Passes for the replacements of single words in the texts at both ends of the difficulty, which are always as many."""


class DifficultyOptions(QuestionOptions):
    """Which examples is it fragile on?"""

    measures: tuple[str, ...] = option(
        (),
        "Comma-separated: eigenvalue (how far each prediction is from changing), left_out_words (what one left-out "
        "word changes, for any model) and contrast (contrast sets); by default all that apply, left_out_words where a "
        "model here has no gradients.",
        choices=MEASURES,
    )
    items: int | None = option(
        None, "Maximum number of ranked items; 1,000 by eigenvalue, and 100 by left-out words.", minimum=MIN_ITEMS
    )
    original_column: str | None = option(
        None,
        "Column that marks the original of each contrast set, by true and false or by the word original; role, "
        "is_original or mirrored where there is one, else the first item of each set is it.",
    )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs; one with its gradient costs three."""
        split, wanted, passes = context.primary, self.measures or ("eigenvalue",), 0.0
        by_gradients = "eigenvalue" in wanted and not context.why_no_gradients()
        if "left_out_words" in wanted or not (self.measures or by_gradients):
            passes += min(self.items or LEFT_OUT_ITEMS, len(split)) * (1 + split.mean_words)
        if not by_gradients:
            return passes
        n_classes = len(context.label_names or ()) or 2
        return passes + min(self.items or RANKED_ITEMS, len(split)) * (1 + 2 * n_classes) + FLIP_PASSES

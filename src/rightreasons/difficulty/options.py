"""The options of the question difficulty, and about how many passes it takes."""

from __future__ import annotations

from typing import Any, ClassVar

from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.options import QuestionOptions, Requirements, option
from rightreasons.difficulty.scope import explain_missing_fisher

FLIP_PASSES = 2700.0
"""Passes for the replacements of single words. The number of tested items is always the same."""

MAX_CHOICE_ITEMS = 100
"""Maximum number of items of a model that chooses, such as a language model, which reads each choice."""


class DifficultyOptions(QuestionOptions):
    """Which predictions are fragile?"""

    tables: ClassVar[Requirements] = {"classification": ""}
    is_about_labels: ClassVar[bool] = True

    items: int = option(
        1000,
        "Maximum number of items to rank by their eigenvalue; at most 100 for a model that "
        "scores choices, such as a language model.",
        minimum=MIN_ITEMS,
    )
    original_column: str | None = option(
        None,
        "Column that marks the original of each contrast set, by true and false or by the "
        "word original; by default role, is_original or mirrored, or else the first item of "
        "each set.",
    )

    def passes(self, context: Any) -> float:
        """Estimate how many passes of one item through the model the question takes.

        A pass with its gradient costs about three.

        Args:
            context: The audit, or a stand-in with its splits, task, label names and reason for no gradients.
        """
        n_classes = len(context.label_names or ()) or 2
        n_items = min(self.items, len(context.primary))
        if not context.why_no_gradients():
            # A pass, and the gradient of each class.
            n_passes = n_items * (1.0 + 2.0 * n_classes)
            # Words are replaced in texts alone.
            if context.task == "classification":
                n_passes += FLIP_PASSES
            return n_passes

        # Contrast sets take no passes beyond the predictions.
        if explain_missing_fisher(context):
            return 0.0
        # Each choice is read separately, with its gradient.
        return min(n_items, MAX_CHOICE_ITEMS) * 3.0 * n_classes

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
        """Estimate the cost of the question, in forward passes of one item through the model.

        A gradient costs about as much as two forward passes.

        Args:
            context: The audit, or an object with its `primary` split, `task`, `label_names`, and
                `why_no_gradients`.
        """
        n_classes = len(context.label_names or ()) or 2
        n_items = min(self.items, len(context.primary))
        has_gradients = not context.why_no_gradients()
        if has_gradients:
            # One forward pass, and the gradient of each class.
            n_passes = n_items * (1.0 + 2.0 * n_classes)
            # Words are replaced only in single texts.
            if context.task == "classification":
                n_passes += FLIP_PASSES
            return n_passes

        # Without Fisher information, only contrast sets are measured, from the predictions of the audit.
        if explain_missing_fisher(context):
            return 0.0
        # Each choice takes a separate forward pass (1) and its gradient (2).
        return min(n_items, MAX_CHOICE_ITEMS) * 3.0 * n_classes

"""The options of the question about reasons."""

from __future__ import annotations

from typing import Any

from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.options import QuestionOptions, option

HINTS = ("colleague", "professor", "metadata", "earlier", "validator")
"""The kinds of hints: `hints.KINDS` has their words."""

# A question about reasons writes texts; other questions only read them.
_LONG = 50
"""Approximate cost of an answer with reasoning, in passes of a short answer."""
_SHORT = 4 + 3
"""Number of short answers about an item: after four cuts of its reasoning, and three transplants."""


class ReasonsOptions(QuestionOptions):
    """Does it say its reasons?"""

    hints: tuple[str, ...] = option(
        ("colleague", "metadata"),
        f"Comma-separated kinds of hints: {', '.join(HINTS)}.",
        choices=HINTS,
    )
    target: str = option(
        "wrong",
        "Options that hints name: wrong (neither the plain answer nor the correct one) or any (not "
        "the plain answer).",
        choices=("wrong", "any"),
    )
    items: int = option(200, "Maximum number of items, selected by the seed.", minimum=MIN_ITEMS)
    judge: str | None = option(
        None,
        "Folder or server address of a second model that judges mentions, inserts mistakes "
        "and paraphrases. By default, the audited model judges its own answers in a fresh "
        "conversation.",
    )
    judge_model: str | None = option(
        None, "Name of the second model on its server; by default the only model of the server."
    )

    def find_item_limit(self, context: Any) -> int:
        """Return the number of items that the question uses at most."""
        return self.items

    def passes(self, context: Any) -> float:
        """Return the answers with reasoning and the short ones, in passes of an item."""
        # Two arms per kind of hint; judgments, of the audited model itself or of another one.
        n_arms = 2 + 2 * len(self.hints)
        n_items = min(self.items, len(context.primary))
        return float(n_items * (_LONG * (n_arms + 1) + _SHORT))

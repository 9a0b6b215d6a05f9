"""Options of the question about shortcuts.

They have their own module, so that a command lists them without importing numpy or torch.
"""

from __future__ import annotations

from typing import Any, ClassVar

from rightreasons.core.choices import PROTOCOL_NAMES
from rightreasons.core.errors import OptionError
from rightreasons.core.options import QuestionOptions, Requirements, option

STOP_WORD_LISTS = ("rightreasons", "nltk")
"""Lists of English stop words. NLTK's, which the Reliability Paradox uses, has to be downloaded."""

MAX_ITEMS = 300
"""Number of attributed items, unless the option `items` changes it."""

GRADIENTS_PER_ATTRIBUTION = 11
"""Gradients per item of the adaptive rule, measured on sentences with an encoder."""

SWAP_BUDGET = 30_000
"""Default budget of the swaps, in passes of one item through the model."""

PROMPTED_SWAP_BUDGET = 4_000
"""Default budget for a language model, whose passes take about ten times as long."""

PASSES_PER_ITEM = 35
"""Approximate number of edited items per item, including those that leave out one token."""


class ShortcutsOptions(QuestionOptions):
    """Does it rely on shortcuts?

    Swaps words and other features of a text for features of another label, and counts the
    predictions that flip.
    """

    tables: ClassVar[Requirements] = {"classification": ""}
    is_about_labels: ClassVar[bool] = True
    redundant_key_part: ClassVar[str] = "shortcut_"

    protocol: str | None = option(
        None,
        "Definition of a shortcut in the metrics of the papers: rightreasons, bihani2025 "
        "(released code of the Reliability Paradox), bihani2025_text (text of the paper) or "
        "du2021.",
        choices=PROTOCOL_NAMES,
    )
    stop_words: str | None = option(
        None,
        "List of English stop words that separates lexicon- from grammar-cued predictions: "
        "rightreasons (default), or nltk as in the Reliability Paradox.",
        choices=STOP_WORD_LISTS,
    )
    items: int | None = option(
        None,
        "Number of items to test. By default as many as `budget` allows, and 300 of them for "
        "the attributions.",
        minimum=1,
    )
    words: tuple[str, ...] = option(
        (), "Comma-separated words that you suspect and that are always tested."
    )
    budget: int | None = option(
        None,
        "Budget of the swaps, in passes of one item through the model. Default: 30000, or 4000 for "
        "a language model.",
        minimum=1,
    )
    # An alias for one release: the same command once gave two verdicts on two machines.
    seconds: float | None = option(
        None,
        "Deprecated: use `budget`, which does not depend on the clock. A second counts as 100 "
        "passes.",
        minimum=0.0,
    )
    reasons: tuple[str, ...] = option(
        (), "Comma-separated words, or features such as length, that should influence the label."
    )
    not_reasons: tuple[str, ...] = option(
        (),
        "Comma-separated words, or features such as length, that should not influence the "
        "label. If one of them decides, the verdict is red.",
    )
    other_split: str | None = option(
        None,
        "An audited split in which spurious words are not associated with their label, such as one "
        "from another source.",
    )

    def _check(self) -> None:
        """Refuse a word that is called a reason and no reason."""
        # A word that is both would be ignored and make the verdict red.
        contradictions = sorted({*self.reasons} & {*self.not_reasons})
        if contradictions:
            raise OptionError(
                f"Expected {contradictions[0]!r} in `reasons` or in `not_reasons`, but got both.",
                option="not_reasons",
            )

    def get_budget(self, context: Any) -> int:
        """Return the budget of the swaps, which depends on the options and on the kind of model."""
        # The kind of model decides, not its speed, which differs between machines.
        if self.budget is not None:
            return self.budget
        return SWAP_BUDGET if context.prompted is None else PROMPTED_SWAP_BUDGET

    def find_item_limit(self, context: Any) -> int:
        """Return about how many items are tested at most, which follows from the options."""
        return self.items or self.get_budget(context) // PASSES_PER_ITEM

    def passes(self, context: Any) -> float:
        """Estimate the number of passes of one item; one with its gradient counts as three.

        The estimate is made before any text is read, from the number of items only.
        """
        n_items = len(context.primary)
        # Attributions are bounded by a number of items, and swaps by a budget.
        if self.items is None:
            n_swap_passes = min(float(n_items * PASSES_PER_ITEM), float(self.get_budget(context)))
        else:
            # A number of items takes precedence over the budget.
            n_swap_passes = float(min(n_items, self.items) * PASSES_PER_ITEM)
        if context.why_no_gradients():
            return n_swap_passes
        n_attributed = min(n_items, self.items or MAX_ITEMS)
        return n_attributed * 3 * GRADIENTS_PER_ATTRIBUTION + n_swap_passes

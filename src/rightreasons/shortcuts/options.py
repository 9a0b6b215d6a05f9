"""The options of the question about shortcuts."""

from __future__ import annotations

from typing import Any, ClassVar

from rightreasons.core.choices import PROTOCOL_NAMES
from rightreasons.core.errors import OptionError
from rightreasons.core.options import QuestionOptions, Requirements, option

MAX_ITEMS = 300
"""Attributed items; the option `items` changes it."""

GRADIENTS_PER_ATTRIBUTION = 11
"""Gradients of the adaptive rule per item, as measured of an encoder on sentences."""

SWAP_BUDGET = 30_000
"""Default budget of the swaps, in passes of one item through the model."""

PROMPTED_SWAP_BUDGET = 4_000
"""Default budget for a language model, whose passes take about ten times as long."""

PASSES_PER_ITEM = 35
"""About how many edited items the swaps need per item, those that leave out one token included."""


class ShortcutsOptions(QuestionOptions):
    """Does it decide by shortcuts?

    Words and other features of a text are swapped for those of another label: how many predictions change?
    """

    tables: ClassVar[Requirements] = {"classification": ""}
    is_about_labels: ClassVar[bool] = True
    redundant_key_part: ClassVar[str] = "shortcut_"

    protocol: str | None = option(
        None,
        "How shortcuts are found: rightreasons, bihani2025 (the released code of the Reliability Paradox), "
        "bihani2025_text (its text) or du2021.",
        choices=PROTOCOL_NAMES,
    )
    items: int | None = option(
        None,
        "Number of items to ask about, whatever the budget; by default as many as `budget` "
        "allows, and the attributions of 300 of them.",
        minimum=1,
    )
    words: tuple[str, ...] = option(
        (), "Comma-separated words that you suspect; whether they decide is tested."
    )
    budget: int | None = option(
        None,
        "Budget of the swaps, in passes of one item through the model; by default 30000, and "
        "4000 for a language model.",
        minimum=1,
    )
    # An alias for one release: the same command once gave two verdicts on two machines.
    seconds: float | None = option(
        None,
        "Deprecated: use `budget`, so that results do not depend on the clock. A second is read "
        "as 100 passes.",
        minimum=0.0,
    )
    reasons: tuple[str, ...] = option(
        (), "Comma-separated words, or features such as length, that are reasons for a label."
    )
    not_reasons: tuple[str, ...] = option(
        (),
        "Comma-separated words, or features such as length, that are no reasons; if one decides, "
        "the verdict is red.",
    )
    other_split: str | None = option(
        None,
        "An audited split in which a spurious word does not go with its label, such as one of "
        "another source.",
    )

    def _check(self) -> None:
        # A word that is both would be left out and make the verdict red.
        contradictions = sorted({*self.reasons} & {*self.not_reasons})
        if contradictions:
            raise OptionError(
                f"Expected {contradictions[0]!r} to be a reason or none, but got both.",
                option="not_reasons",
            )

    def get_budget(self, context: Any) -> int:
        """Return the budget of the swaps, which depends on the options and on the kind of model."""
        # The kind of model decides, not its speed, which differs between machines.
        if self.budget is not None:
            return self.budget
        return SWAP_BUDGET if context.prompted is None else PROMPTED_SWAP_BUDGET

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs; one with its gradient costs three."""
        n_items = len(context.primary)
        # `items` goes before the budget, here as in the swaps.
        swaps = float(min(n_items, self.items or n_items) * PASSES_PER_ITEM)
        if self.items is None:
            swaps = min(swaps, float(self.get_budget(context)))
        if context.why_no_gradients():
            return swaps
        return min(n_items, self.items or MAX_ITEMS) * 3 * GRADIENTS_PER_ATTRIBUTION + swaps

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

SWAP_PASSES = 15.0
"""About how many passes the swaps take per item, of at most 400 items."""


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
        "Number of items to ask about, however long that takes; by default as many as `seconds` allow, and the "
        "attributions of 300 of them.",
        minimum=1,
    )
    words: tuple[str, ...] = option(
        (), "Comma-separated words that you suspect; whether they decide is tested."
    )
    seconds: float = option(
        120.0,
        "Time for the swaps where `items` is not given; what is then open is called so.",
        minimum=0.0,
    )
    reasons: tuple[str, ...] = option(
        (), "Comma-separated words, or families such as length, that are reasons for a label."
    )
    not_reasons: tuple[str, ...] = option(
        (),
        "Comma-separated words, or families such as length, that are no reasons; if one decides, the verdict is red.",
    )
    other_split: str | None = option(
        None,
        "An audited split in which a spurious word does not go with its label, such as one of another source.",
    )

    def _check(self) -> None:
        both = sorted({*self.reasons} & {*self.not_reasons})
        if both:
            raise OptionError(
                f"Expected {both[0]!r} to be a reason or none, but got both.", option="not_reasons"
            )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs; one with its gradient costs three."""
        n_items = len(context.primary)
        swaps = min(n_items, self.items or 400) * SWAP_PASSES
        if context.why_no_gradients():
            return swaps
        return min(n_items, self.items or MAX_ITEMS) * 3 * GRADIENTS_PER_ATTRIBUTION + swaps

"""The pictures about shortcuts: their share by confidence, and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from rightreasons.core.intervals import Estimate
from rightreasons.page.plots import (
    PALETTE,
    Drawing,
    bounds,
    canvas,
    column,
    draw_accuracies,
    drawn,
    write_counts,
)
from rightreasons.shortcuts.reliance import ConfidenceBin

Floats = NDArray[np.float64]

LEXICON, GRAMMAR, NONE = "orange", "violet", "grid"
"""The colors of the types: cued by a word of the lexicon, by function words and marks alone, by nothing."""

HATCHES = {GRAMMAR: "////"}
"""What tells a type from the one beside it without color."""

NUMBERS = ("no shortcut", "1 shortcut", "2 shortcuts", "3 or more shortcuts")
NUMBER_COLORS = ("grid", "orange-soft", "orange", "violet")
"""How many of the tokens of largest attribution are shortcuts."""


def shortcut_bins(
    key: str, bins: Sequence[ConfidenceBin], *, intervals: Sequence[Estimate | None], null: float, title: str = ""
) -> Drawing:
    """Draw the reliability diagram and, under it, what share of each bin is shortcut-cued, stacked by type.

    Args:
        key: The key of the picture.
        bins: M bins of confidence; empty ones are left blank.
        intervals: M accuracies with their intervals; None for empty bins.
        null: The shortcut rate of blind picks over all items.
        title: The title of the picture; "" for none.

    Returns:
        The drawing.
    """
    full = [row for row in bins if row.n_items]
    left, width, counts = _places(full)
    confidence, accuracy = column(row.confidence for row in full), column(row.accuracy for row in full)
    low, high = bounds(interval for row, interval in zip(bins, intervals, strict=True) if row.n_items)
    lexicon, grammar = column(row.lexicon for row in full), column(row.grammar for row in full)
    with canvas(4.9, 5.6, nrows=2, ncols=1, sharex=True, height_ratios=[1.25, 1]) as (figure, (top, bottom)):
        draw_accuracies(top, left, width, confidence, accuracy, low, high)
        top.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="accuracy", title=title)
        base = np.zeros(len(full))
        for share, color in ((lexicon, LEXICON), (grammar, GRAMMAR), (1 - lexicon - grammar, NONE)):
            look: dict[str, Any] = {"color": PALETTE[color], "edgecolor": PALETTE["paper"], "hatch": HATCHES.get(color)}
            bottom.bar(left, share, width, bottom=base, align="edge", **look)
            base = base + share
        bottom.axhline(null, color=PALETTE["ink"], linewidth=1.1, linestyle=(0, (2, 2)))
        write_counts(bottom, left + width / 2, np.ones(len(full)), counts)
        bottom.set(xlabel="confidence", ylabel="share of the bin", ylim=(0, 1.1))
        bottom.grid(axis="x", visible=False)
        figure.legend(handles=_types_legend(), loc="outside lower center", ncols=4, handlelength=1.2)
        return drawn(figure, key)


def shortcut_numbers(key: str, bins: Sequence[ConfidenceBin]) -> Drawing:
    """Draw what share of each bin of confidence has 0, 1, 2, and 3 or more shortcuts, stacked."""
    full = [row for row in bins if row.n_items]
    left, width, counts = _places(full)
    table = np.array([row.counts for row in full]).reshape(-1, len(NUMBERS))
    with canvas(4.9, 3.2) as (figure, axis):
        base = np.zeros(len(full))
        for share, color in zip(table.T, NUMBER_COLORS, strict=True):
            axis.bar(left, share, width, bottom=base, align="edge", color=PALETTE[color], edgecolor=PALETTE["paper"])
            base = base + share
        write_counts(axis, left + width / 2, np.ones(len(full)), counts)
        axis.set(xlim=(0, 1), ylim=(0, 1.1), xlabel="confidence", ylabel="share of the bin")
        axis.grid(axis="x", visible=False)
        patches = [
            Patch(facecolor=PALETTE[color], label=name) for name, color in zip(NUMBERS, NUMBER_COLORS, strict=True)
        ]
        figure.legend(handles=patches, loc="outside lower center", ncols=2, handlelength=1.2)
        return drawn(figure, key)


def _places(bins: Sequence[ConfidenceBin]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return where bins begin, how wide they are, and their counts."""
    left = column(row.lower for row in bins)
    return left, column(row.upper for row in bins) - left, np.array([row.n_items for row in bins], dtype=np.int64)


def _types_legend() -> list[Any]:
    return [
        Patch(facecolor=PALETTE[LEXICON], label="lexicon-cued"),
        Patch(facecolor=PALETTE[GRAMMAR], edgecolor=PALETTE["paper"], hatch=HATCHES[GRAMMAR], label="grammar-cued"),
        Patch(facecolor=PALETTE[NONE], label="not cued"),
        Line2D([], [], color=PALETTE["ink"], linewidth=1.2, linestyle=(0, (2, 2)), label="blind picks"),
    ]

"""Pictures about difficulty: its distribution, and what it correlates with."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from rightreasons.page.plots import ABOVE, PALETTE, Drawing, canvas, drawn

Floats = NDArray[np.float64]


def difficulty_histogram(
    key: str,
    *,
    difficulty: Floats,
    correct: NDArray[np.bool_] | None,
    n_bins: int = 30,
    xlabel: str = "largest Fisher eigenvalue",
    log: bool = True,
) -> Drawing:
    """Draw the distribution of difficulty, right and wrong items stacked.

    Args:
        key: The key of the picture.
        difficulty: (N,) Fisher eigenvalues, or another difficulty.
        correct: (N,) which predictions are right; None where there are no labels.
        n_bins: Bins of equal width on the axis.
        xlabel: What the difficulty is.
        log: Whether the axis is logarithmic; else it goes from 0 to 1.

    Returns:
        The drawing.
    """
    values = positive(difficulty) if log else difficulty
    edges: Any = np.linspace(0, 1, n_bins + 1)
    if log:
        edges = np.geomspace(values.min(), values.max() * 1.0001, n_bins + 1) if np.ptp(values) > 0 else 3
    groups = [values] if correct is None else [values[correct], values[~correct]]
    with canvas(5.4, 3.1) as (figure, axis):
        axis.hist(
            groups,
            bins=edges,
            stacked=True,
            color=[PALETTE["blue-soft"], PALETTE["orange"]][: len(groups)],
            edgecolor=PALETTE["paper"],
            linewidth=0.4,
            label=["right", "wrong"] if correct is not None else ["items"],
        )
        axis.axvline(float(np.median(values)), color=PALETTE["ink"], linewidth=1, linestyle=(0, (4, 3)))
        axis.set(xscale="log" if log else "linear", xlabel=f"{xlabel} (dashed: median)", ylabel="items")
        if log:
            plain_powers(axis.xaxis)
        axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        if correct is not None:
            axis.legend(**ABOVE)
        return drawn(figure, key)


def difficulty_scatter(
    key: str, *, difficulty: Floats, confidence: Floats, correct: NDArray[np.bool_] | None
) -> Drawing:
    """Draw difficulty against confidence, one point per item.

    Args:
        key: The key of the picture.
        difficulty: (N,) Fisher eigenvalues.
        confidence: (N,) probability of the predicted class.
        correct: (N,) which predictions are right; None where there are no labels.

    Returns:
        The drawing.
    """
    values = positive(difficulty)
    groups = [(np.ones(len(values), dtype=bool), "blue", "o", "items")]
    if correct is not None:
        groups = [(correct, "blue", "o", "right"), (~correct, "orange", "D", "wrong")]
    with canvas(5.4, 3.4) as (figure, axis):
        for mask, color, marker, name in groups:
            axis.scatter(
                confidence[mask],
                values[mask],
                s=16 if len(values) > 50 else 40,
                marker=marker,
                color=PALETTE[color],
                alpha=0.55,
                linewidths=0,
                label=f"{name} ({int(mask.sum()):,})",
            )
        axis.set(yscale="log", xlabel="confidence", ylabel="largest Fisher eigenvalue")
        plain_powers(axis.yaxis)
        axis.legend(**ABOVE)
        return drawn(figure, key)


def plain_powers(axis: Any) -> None:
    """Label a logarithmic axis without formulas, which the report's style does not read.

    A long axis has its powers of ten labeled, a shorter one twice and five times these too, and one within a power of
    ten round numbers.
    """
    low, high = axis.get_view_interval()
    powers = LogLocator(numticks=6) if high > 1000 * low else LogLocator(subs=(1.0, 2.0, 5.0))
    axis.set_major_locator(powers if high > 10 * low else MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}" if value < 1e-3 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def positive(values: Floats) -> Floats:
    """Lift zeros to the smallest positive value, so that they show on a logarithmic axis."""
    positive = values[values > 0]
    return np.maximum(values, positive.min() if len(positive) else 1e-12)

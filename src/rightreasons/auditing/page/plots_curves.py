"""Lines over a growing quantity: the strength of a planted cue, the steps of training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rightreasons.auditing.page.plots import ABOVE, MARKERS, PALETTE, SERIES, Drawing, canvas, drawn

MOST_TICKS = 9
"""Up to this number, each value of the quantity has a tick."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """One line, with its intervals where it has some.

    Attributes:
        name: What it shows.
        values: (M,) its values; None leaves a gap.
        intervals: (M,) low and high ends; None where there is none.
        dashed: Whether it is dashed, as a baseline is.
    """

    name: str
    values: Sequence[float | None]
    intervals: Sequence[tuple[float, float] | None] | None = None
    dashed: bool = False


def curves(
    key: str, x: Sequence[float], lines: Sequence[Curve], *, xlabel: str, ylabel: str, here: float | None = None
) -> Drawing:
    """Draw lines of shares over a quantity.

    Args:
        key: The key of the picture.
        x: (M,) the quantity, rising.
        lines: The lines, with values in [0, 1].
        xlabel: What the quantity is.
        ylabel: What the values are.
        here: A value of the quantity to mark; default None.

    Returns:
        The drawing.
    """
    with canvas(4.9, 3.5) as (figure, axis):
        if here is not None:
            axis.axvline(here, color=PALETTE["band"], linewidth=7, alpha=0.6, zorder=1)
        for index, line in enumerate(lines):
            color = PALETTE[SERIES[index % len(SERIES)]]
            values = np.array([np.nan if value is None else value for value in line.values])
            if line.intervals is not None:
                low, high = np.array([(np.nan, np.nan) if ends is None else ends for ends in line.intervals]).T
                axis.fill_between(x, low, high, color=color, alpha=0.14, linewidth=0)
            axis.plot(
                x,
                values,
                color=color,
                marker=MARKERS[index % len(MARKERS)],
                markersize=4.5,
                linewidth=1.7,
                linestyle=(0, (4, 2)) if line.dashed else "-",
                label=line.name,
                zorder=3,
            )
        axis.set(ylim=(-0.02, 1.02), xlabel=xlabel, ylabel=ylabel)
        if len(x) <= MOST_TICKS:
            axis.set_xticks(list(x))
        axis.legend(**ABOVE)
        return drawn(figure, key)

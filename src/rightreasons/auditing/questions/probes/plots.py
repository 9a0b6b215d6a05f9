"""The pictures about the confusion probes: confidences before and after, and paralysis against added choices."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from rightreasons.auditing.page.plots import ABOVE, PALETTE, Drawing, canvas, drawn

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Before:
    """One panel of `confidence_panels`.

    Attributes:
        name: Its title.
        before: (N,) confidences before the probe.
        after: (N,) confidences after it.
        level: Confidence without any preference, drawn as a vertical line; None for no line.
    """

    name: str
    before: Floats
    after: Floats
    level: float | None


@dataclasses.dataclass(frozen=True)
class Curve:
    """A line of `paralysis_curve`.

    Attributes:
        name: Its name.
        color: A color of `PALETTE`.
        values: (K,) its points.
        lows: (K,) lower ends of their intervals; () for none.
        highs: (K,) upper ends.
        dashed: Whether it is what a null model gives.
    """

    name: str
    color: str
    values: Sequence[float]
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()
    dashed: bool = False


def confidence_panels(key: str, *, panels: Sequence[Before], xlabel: str, n_bins: int = 20) -> Drawing:
    """Draw the confidences of the same items before and after each probe, as shares of the items."""
    edges = np.linspace(0, 1, n_bins + 1)
    rows = -(-len(panels) // 2)
    with canvas(7.6, 0.9 + 2.05 * rows, nrows=rows, ncols=2, sharex=True, squeeze=False) as (figure, axes):
        for place, axis in enumerate(axes.ravel()):
            if place >= len(panels):
                axis.set_visible(False)
                continue
            panel = panels[place]
            for values, color, name in ((panel.before, "muted", "before"), (panel.after, "orange", "after")):
                share = np.histogram(np.clip(values, 0, 1), edges)[0] / max(len(values), 1)
                axis.stairs(share, edges, fill=True, color=PALETTE[color], alpha=0.28)
                axis.stairs(share, edges, color=PALETTE[color], linewidth=1.5, label=name)
            if panel.level is not None:
                axis.axvline(panel.level, color=PALETTE["ink"], linewidth=1, linestyle=(0, (4, 3)))
            axis.set(xlim=(0, 1))
            axis.set_title(panel.name)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            if place % 2 == 0:
                axis.set_ylabel("share of items")
            if place >= len(panels) - 2:
                axis.set_xlabel(xlabel)
                axis.tick_params(labelbottom=True)
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=2)
        return drawn(figure, key)


def position_prior(key: str, *, prior: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> Drawing:
    """Draw the preference for each position of the choices with its interval, and where no position is preferred."""
    place, values = np.arange(len(prior)), np.asarray(prior)
    with canvas(5.2, 2.9) as (figure, axis):
        axis.bar(place, values, 0.6, color=PALETTE["blue"], alpha=0.55)
        axis.errorbar(
            place, values, [values - lows, np.asarray(highs) - values], fmt="none", ecolor=PALETTE["ink"], capsize=3
        )
        axis.axhline(1 / len(prior), color=PALETTE["ink"], linewidth=1, linestyle=(0, (4, 3)), label="no preference")
        axis.set_xticks(place, [str(one + 1) for one in place])
        axis.set(xlabel="position of the choice", ylabel="preference", ylim=(0, 1))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        axis.legend(**ABOVE)
        return drawn(figure, key)


def paralysis_curve(key: str, *, ks: Sequence[int], curves: Sequence[Curve]) -> Drawing:
    """Draw the drop of the confidence in the right choice against the number of added choices."""
    with canvas(5.2, 3.5) as (figure, axis):
        axis.axhline(0, color=PALETTE["muted"], linewidth=1)
        place = np.arange(len(ks))
        for curve in curves:
            color = PALETTE[curve.color]
            if curve.lows:
                axis.fill_between(place, curve.lows, curve.highs, color=color, alpha=0.18, linewidth=0)
            style = {"linestyle": (0, (4, 3)), "marker": ""} if curve.dashed else {"marker": "o", "markersize": 4.5}
            axis.plot(place, curve.values, color=color, linewidth=1.7, label=curve.name, **style)
        axis.set_xticks(place, [str(k) for k in ks])
        axis.set(xlabel="added choices", ylabel="drop of the confidence\nin the right choice")
        axis.margins(x=0.06)
        axis.legend(**ABOVE | {"ncols": 1})
        return drawn(figure, key)

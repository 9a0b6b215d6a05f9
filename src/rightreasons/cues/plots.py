"""The pictures about superficial cues: cues with their productivity, and Easy against Hard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.cues.statistics import Cue
from rightreasons.page.plots import PALETTE, Drawing, canvas, drawn

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Bars:
    """The bars of one model or one training set.

    Attributes:
        name: The label below them.
        values: Overall, Easy, Hard; in [0, 1].
        lows: Lower ends of their whiskers.
        highs: Upper ends.
    """

    name: str
    values: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class CuePoint:
    """One cue of `cue_productivity`.

    Attributes:
        cue: The cue.
        applicability: Number of items in which it is applicable.
        productivity: Share of those in which it points at the right choice.
        low: Lower end of the interval.
        high: Upper end.
        significant: Whether it differs from chance after the correction.
    """

    cue: str
    applicability: int
    productivity: float
    low: float
    high: float
    significant: bool

    @classmethod
    def of(cls, cue: Cue, *, significant: bool) -> CuePoint:
        """Make the point of a row of `cue_statistics`."""
        return cls(cue.cue, cue.applicability, cue.productivity, cue.low, cue.high, significant)


def cue_productivity(key: str, *, cues: Sequence[CuePoint], chance: float) -> Drawing:
    """Draw the productivity of each cue with its interval against chance, in the given order."""
    with canvas(4.9, 1.1 + 0.27 * len(cues)) as (figure, axis):
        axis.axvline(chance, color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for y, cue in enumerate(cues):
            color = PALETTE["orange"] if cue.significant else PALETTE["blue"]
            axis.hlines(y, cue.low, cue.high, color=color, linewidth=1.8, zorder=2)
            axis.plot(cue.productivity, y, marker="o", color=color, markersize=5.5, linestyle="none", zorder=3)
            axis.annotate(
                f"{cue.applicability:,}",
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=PALETTE["muted"],
            )
        axis.set_yticks(range(len(cues)), [cue.cue for cue in cues])
        axis.set(xlim=(-0.01, 1.01), ylim=(len(cues) - 0.5, -0.5), xlabel="productivity")
        axis.grid(axis="y", visible=False)
        axis.annotate(
            "items",
            (1.0, 1.0),
            xycoords="axes fraction",
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=8,
            color=PALETTE["muted"],
        )
        return drawn(figure, key)


def easy_hard_bars(key: str, *, bars: Sequence[Bars], chance: float, ylabel: str = "accuracy") -> Drawing:
    """Draw accuracy overall, on Easy and on Hard items, side by side for each model."""
    names = ("all items", "Easy", "Hard")
    with canvas(max(3.4, 1.4 + 1.25 * len(bars)), 3.4) as (figure, axis):
        place = np.arange(len(bars))
        width = 0.26
        for index, (name, color) in enumerate(zip(names, ("muted", "orange", "blue"), strict=True)):
            values = np.array([bar.values[index] for bar in bars])
            ends = np.array([(bar.lows[index], bar.highs[index]) for bar in bars]).T
            x = place + (index - 1) * width
            axis.bar(x, values, width * 0.94, color=PALETTE[color], label=name, zorder=2)
            whisker = np.abs(np.stack((values - ends[0], ends[1] - values)))
            axis.errorbar(x, values, yerr=whisker, fmt="none", ecolor=PALETTE["ink"], elinewidth=1.1, capsize=2.5)
            for at, value, top in zip(x, values, ends[1], strict=True):
                axis.annotate(
                    f"{100 * value:.1f}",
                    (at, top),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7.5,
                    color=PALETTE["ink"],
                )
        axis.axhline(chance, color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axis.set_xticks(place, [bar.name for bar in bars])
        axis.set(ylim=(0, 1.08), ylabel=ylabel)
        axis.grid(axis="x", visible=False)
        axis.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, borderaxespad=0.2)
        return drawn(figure, key)

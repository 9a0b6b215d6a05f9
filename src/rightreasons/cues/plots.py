"""The pictures about superficial cues: cues with their productivity, and Easy against Hard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rightreasons.cues.statistics import Cue
from rightreasons.page.plots import PALETTE, Bar, Drawing, canvas, drawn, whiskers


def cue_productivity(key: str, *, cues: Sequence[Cue], chance: float, alpha: float = 0.05) -> Drawing:
    """Draw the productivity of each cue against chance, in the given order; p-values below `alpha` have a color."""
    with canvas(4.9, 1.1 + 0.27 * len(cues)) as (figure, axis):
        axis.axvline(chance, color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for y, cue in enumerate(cues):
            color = PALETTE["orange"] if cue.p_holm < alpha else PALETTE["blue"]
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


def easy_hard_bars(key: str, *, bars: Sequence[Bar], chance: float, ylabel: str = "accuracy") -> Drawing:
    """Draw accuracy overall, on Easy and on Hard items, side by side for each model."""
    names = ("all items", "Easy", "Hard")
    with canvas(max(3.4, 1.4 + 1.25 * len(bars)), 3.4) as (figure, axis):
        place = np.arange(len(bars))
        width = 0.26
        for index, (name, color) in enumerate(zip(names, ("muted", "orange", "blue"), strict=True)):
            values, low, high = np.array([(bar.values[index], bar.lows[index], bar.highs[index]) for bar in bars]).T
            x = place + (index - 1) * width
            axis.bar(x, values, width * 0.94, color=PALETTE[color], label=name, zorder=2)
            whisker = whiskers(values, low, high)
            axis.errorbar(x, values, yerr=whisker, fmt="none", ecolor=PALETTE["ink"], elinewidth=1.1, capsize=2.5)
            for at, value, top in zip(x, values, high, strict=True):
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

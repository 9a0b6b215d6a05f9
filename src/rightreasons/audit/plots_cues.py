"""The pictures about superficial cues: cues and their productivity, Easy against Hard, sensitivity, embeddings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.audit.plots import PALETTE, Drawing, canvas, drawn, label_points

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Bars:
    """The bars of one model or one training set.

    Attributes:
        name: What stands below them.
        values: Overall, Easy, Hard; in [0, 1].
        lows: Lower ends of their whiskers.
        highs: Upper ends.
    """

    name: str
    values: tuple[float, float, float]
    lows: tuple[float, float, float]
    highs: tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class CuePoint:
    """One cue of `cue_productivity`.

    Attributes:
        cue: The cue.
        applicability: In how many items it is applicable.
        productivity: How often it points at the right choice.
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


def cue_productivity(key: str, *, cues: Sequence[CuePoint], chance: float) -> Drawing:
    """Draw the productivity of each cue with its interval against chance, the widest spread cue first."""
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


def sensitivity_difference(
    key: str,
    *,
    productivity: Floats,
    difference: Floats,
    applicability: NDArray[np.int64],
    named: Mapping[int, str],
) -> Drawing:
    """Draw how a model's sensitivity to each cue changes against the cue's productivity.

    Args:
        key: The key of the picture.
        productivity: (K,) of each cue in the original data.
        difference: (K,) sensitivity after training on balanced data minus after training on the original.
        applicability: (K,) sets the size of each point.
        named: Index -> name of the cues that are labelled.

    Returns:
        The drawing.
    """
    with canvas(5.4, 3.8) as (figure, axis):
        axis.axhline(0, color=PALETTE["muted"], linewidth=1)
        axis.axvline(0.5, color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)))
        up = difference > 0
        for mask, color in ((up, "blue"), (~up, "orange")):
            axis.scatter(
                productivity[mask],
                100 * difference[mask],
                s=4 + 1.2 * applicability[mask],
                color=PALETTE[color],
                alpha=0.45,
                linewidths=0,
                zorder=2,
            )
        axis.set(
            xlim=(-0.03, 1.03),
            xlabel="productivity in COPA",
            ylabel="change of sensitivity (1e-2)\nBalanced COPA − COPA",
        )
        label_points(axis, {name: (productivity[i], 100 * difference[i]) for i, name in named.items()})
        return drawn(figure, key)


def embedding_panels(
    key: str, *, columns: Sequence[str], panels: Mapping[tuple[str, str], tuple[Floats, Floats]]
) -> Drawing:
    """Draw difference embeddings in the plane, one panel a model and a subset.

    Args:
        key: The key of the picture.
        columns: The names of the models.
        panels: (subset, model) -> ((n, 2) points, (n,) score differences); subsets are "Easy" and "Hard".

    Returns:
        The drawing. Red points are items that the model gets right, blue ones those that it gets wrong; the stronger,
        the larger the difference of the two scores.
    """
    subsets = ("Easy", "Hard")
    with canvas(
        2.3 * len(columns) + 0.5, 4.9, nrows=2, ncols=len(columns), sharex=True, sharey=True, squeeze=False
    ) as (
        figure,
        axes,
    ):
        for r, subset in enumerate(subsets):
            for c, model in enumerate(columns):
                axis = axes[r][c]
                points, scores = panels[subset, model]
                largest = float(np.abs(scores).max()) or 1.0
                right = scores > 0
                for mask, color in ((right, "orange"), (~right, "blue")):
                    strength = np.clip(np.abs(scores[mask]) / largest, 0.15, 1.0)
                    axis.scatter(
                        points[mask, 0], points[mask, 1], s=9, color=PALETTE[color], alpha=strength, linewidths=0
                    )
                axis.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
                axis.set_title(f"{model}\n{subset}: {right.mean():.0%} right", fontsize=9)
        return drawn(figure, key)

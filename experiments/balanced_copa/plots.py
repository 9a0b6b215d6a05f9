"""The pictures that only the experiment on Balanced COPA draws."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.page.plots import PALETTE

sys.path.append(str(Path(__file__).parents[1]))
from canvas import Picture, canvas, drawn

Floats = NDArray[np.float64]


def sensitivity_difference(
    key: str,
    *,
    productivity: Floats,
    difference: Floats,
    applicability: NDArray[np.int64],
    named: Mapping[int, str],
) -> Picture:
    """Draw how a model's sensitivity to each cue changes against the cue's productivity.

    Args:
        key: The key of the picture.
        productivity: (K,) of each cue in the original data.
        difference: (K,) sensitivity after training on balanced data minus after training on the original.
        applicability: (K,) sets the size of each point.
        named: Index -> name of the cues that are labeled.

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
        label_points(
            axis, {name: (productivity[i], 100 * difference[i]) for i, name in named.items()}
        )
        return drawn(figure, key)


def embedding_panels(
    key: str, *, columns: Sequence[str], panels: Mapping[tuple[str, str], tuple[Floats, Floats]]
) -> Picture:
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
        2.3 * len(columns) + 0.5,
        4.9,
        nrows=2,
        ncols=len(columns),
        sharex=True,
        sharey=True,
        squeeze=False,
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
                        points[mask, 0],
                        points[mask, 1],
                        s=9,
                        color=PALETTE[color],
                        alpha=strength,
                        linewidths=0,
                    )
                axis.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
                axis.set_title(f"{model}\n{subset}: {right.mean():.0%} right", fontsize=9)
        return drawn(figure, key)


def label_points(axis: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """Write names beside points of a finished axis, each at the first place where it covers no other name."""
    axis.figure.draw_without_rendering()  # lays the axis out, so that places on it are known
    renderer = axis.figure.canvas.get_renderer()
    placed: list[Any] = []
    places = [
        (4, 4),
        (4, -11),
        (-4, 4),
        (-4, -11),
        (8, 15),
        (8, -22),
        (-8, 15),
        (-8, -22),
        (14, 27),
        (14, -34),
    ]
    for name, point in points.items():
        written = axis.annotate(
            name,
            point,
            xytext=places[0],
            textcoords="offset points",
            fontsize=8,
            color=PALETTE["ink"],
            zorder=3,
        )
        for place in places:
            written.set(position=place, horizontalalignment="left" if place[0] > 0 else "right")
            box = written.get_window_extent(renderer).padded(1)
            if not any(box.overlaps(other) for other in placed):
                break
        placed.append(box)

"""The pictures that only the experiment on Fisher information draws."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.page.plots import PALETTE

sys.path.append(str(Path(__file__).parents[1]))
from canvas import Picture, canvas, drawn

Floats = NDArray[np.float64]


def positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lift zeros to the smallest positive value, so that they show on a logarithmic axis."""
    return np.maximum(values, values[values > 0].min() if (values > 0).any() else 1e-12)


def paired_differences(key: str, *, panels: Mapping[str, Floats], title: str) -> Picture:
    """Draw histograms of difficulty(original) - difficulty(perturbed), one panel a data set (the paper's Figure 1).

    Args:
        key: The key of the picture.
        panels: Name of the data set to its (N,) differences.
        title: What the model is.

    Returns:
        The drawing. What lies right of the line did not get harder.
    """
    with canvas(3.1 * len(panels) + 0.4, 2.9, ncols=len(panels), squeeze=False) as (figure, axes):
        for axis, (name, delta) in zip(axes[0], panels.items(), strict=True):
            low, high = np.quantile(delta, [0.01, 0.99])
            axis.hist(np.clip(delta, low, high), bins=30, color=PALETTE["blue-soft"], edgecolor=PALETTE["blue"],
                      linewidth=0.5)  # fmt: skip
            axis.axvline(0, color=PALETTE["orange"], linewidth=1.4)
            axis.set_title(f"{name}: {np.mean(delta >= 0):.0%} not harder", fontsize=9)
            axis.set(xlabel="λ(original) − λ(perturbed)")
        axes[0][0].set_ylabel(f"pairs ({title})")
        return drawn(figure, key)


def difficulty_overlap(
    key: str, *, panels: Mapping[str, tuple[Floats, Floats, float]], title: str
) -> Picture:
    """Draw the difficulty of two sets over each other, one panel a pair of sets (the paper's Figure 2).

    Args:
        key: The key of the picture.
        panels: Name to (originals, perturbed, overlapping coefficient).
        title: What the model is.

    Returns:
        The drawing.
    """
    with canvas(3.4 * len(panels) + 0.4, 2.9, ncols=len(panels), squeeze=False) as (figure, axes):
        for axis, (name, (first, second, share)) in zip(axes[0], panels.items(), strict=True):
            both = positive(np.concatenate((first, second)))
            edges = np.geomspace(both.min(), both.max() * 1.0001, 28)
            for values, color, label in (
                (first, "blue", "original"),
                (second, "orange", "perturbed"),
            ):
                axis.hist(positive(values), bins=edges, density=False, histtype="stepfilled", alpha=0.4,
                          color=PALETTE[color], label=label)  # fmt: skip
            axis.set(xscale="log", xlabel="largest Fisher eigenvalue")
            axis.xaxis.set_major_formatter("{x:g}")
            axis.set_title(f"{name}: overlap {share:.0%}", fontsize=9)
        axes[0][0].set_ylabel(f"reviews ({title})")
        axes[0][0].legend(loc="upper left")
        return drawn(figure, key)


def boundary_map(
    key: str,
    *,
    points: Floats,
    difficulty: Floats,
    directions: Floats,
    grid: tuple[Floats, Floats, Floats],
    labels: NDArray[np.int64],
) -> Picture:
    """Draw points in the plane colored by difficulty, with the eigenvectors of the most difficult (METHODS 4.2).

    Args:
        key: The key of the picture.
        points: (N, 2) points.
        difficulty: (N,) Fisher eigenvalues.
        directions: (M, 2 + 2) the M most difficult points and their unit eigenvectors.
        grid: x, y and probability of class 1 on a grid, for the decision boundary.
        labels: (N,) classes, which the markers show.

    Returns:
        The drawing.
    """
    with canvas(5.6, 4.6) as (figure, axis):
        drawing: Any = None
        for label, marker in ((0, "o"), (1, "^")):
            mask = labels == label
            drawing = axis.scatter(
                points[mask, 0], points[mask, 1], c=difficulty[mask], s=14, marker=marker, cmap="viridis",
                vmin=0, vmax=float(difficulty.max()), linewidths=0,
            )  # fmt: skip
        axis.contour(*grid, levels=[0.5], colors=[PALETTE["ink"]], linewidths=1)
        axis.quiver(*directions.T, color=PALETTE["orange"], width=0.004, scale=14, headwidth=3.5)
        figure.colorbar(drawing, ax=axis, label="largest Fisher eigenvalue")
        axis.set(xlabel="x_1", ylabel="x_2", aspect="equal")
        return drawn(figure, key)

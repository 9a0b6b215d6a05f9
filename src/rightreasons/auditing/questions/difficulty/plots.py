"""Pictures about difficulty: how it is spread, what it goes with, and what perturbing does to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter
from numpy.typing import NDArray

from rightreasons.auditing.page.plots import PALETTE, Drawing, canvas, drawn

Floats = NDArray[np.float64]


def difficulty_histogram(
    key: str, *, difficulty: Floats, correct: NDArray[np.bool_] | None, n_bins: int = 30
) -> Drawing:
    """Draw how difficulty is spread, right and wrong items stacked.

    Args:
        key: The key of the picture.
        difficulty: (N,) Fisher eigenvalues.
        correct: (N,) which items are answered rightly; None where there are no labels.
        n_bins: Bins of equal width on a logarithmic axis.

    Returns:
        The drawing.
    """
    values = _positive(difficulty)
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
        axis.set(xscale="log", xlabel="largest Fisher eigenvalue (dashed: median)", ylabel="items")
        _plain_powers(axis.xaxis)
        if correct is not None:
            axis.legend(loc="upper left")
        return drawn(figure, key)


def difficulty_scatter(
    key: str, *, difficulty: Floats, confidence: Floats, correct: NDArray[np.bool_] | None
) -> Drawing:
    """Draw difficulty against confidence, one point an item.

    Args:
        key: The key of the picture.
        difficulty: (N,) Fisher eigenvalues.
        confidence: (N,) probability of the predicted class.
        correct: (N,) which items are answered rightly; None where there are no labels.

    Returns:
        The drawing.
    """
    values = _positive(difficulty)
    groups = (
        [(np.ones(len(values), dtype=bool), "blue", "o", "items")]
        if correct is None
        else [(correct, "blue", "o", "right"), (~correct, "orange", "D", "wrong")]
    )
    with canvas(5.4, 3.4) as (figure, axis):
        for mask, color, marker, name in groups:
            axis.scatter(
                confidence[mask],
                values[mask],
                s=16,
                marker=marker,
                color=PALETTE[color],
                alpha=0.55,
                linewidths=0,
                label=f"{name} ({int(mask.sum()):,})",
            )
        axis.set(yscale="log", xlabel="confidence", ylabel="largest Fisher eigenvalue")
        _plain_powers(axis.yaxis)
        axis.legend(loc="lower left")
        return drawn(figure, key)


def accuracy_steps(
    key: str, *, accuracies: Sequence[float], lows: Sequence[float], highs: Sequence[float], ylabel: str = "accuracy",
    xlabel: str = "group of rising difficulty",
) -> Drawing:  # fmt: skip
    """Draw a share by groups of rising difficulty, with intervals.

    Args:
        key: The key of the picture.
        accuracies: One share a group, the easiest first.
        lows: Lower end of each interval.
        highs: Upper end of each interval.
        ylabel: What the share is.
        xlabel: What the groups are.

    Returns:
        The drawing.
    """
    mean = np.array(accuracies)
    whisker = np.clip(np.stack((mean - np.array(lows), np.array(highs) - mean)), 0, None)
    with canvas(5.4, 3.1) as (figure, axis):
        axis.errorbar(
            np.arange(1, len(mean) + 1),
            mean,
            yerr=whisker,
            fmt="o-",
            color=PALETTE["blue"],
            ecolor=PALETTE["muted"],
            elinewidth=1.2,
            capsize=3,
        )
        axis.set(xlabel=xlabel, ylabel=ylabel, xticks=np.arange(1, len(mean) + 1), ylim=(0, 1.03))
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        return drawn(figure, key)


def paired_differences(key: str, *, panels: Mapping[str, Floats], title: str) -> Drawing:
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


def difficulty_overlap(key: str, *, panels: Mapping[str, tuple[Floats, Floats, float]], title: str) -> Drawing:
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
            both = _positive(np.concatenate((first, second)))
            edges = np.geomspace(both.min(), both.max() * 1.0001, 28)
            for values, color, label in ((first, "blue", "original"), (second, "orange", "perturbed")):
                axis.hist(_positive(values), bins=edges, density=False, histtype="stepfilled", alpha=0.4,
                          color=PALETTE[color], label=label)  # fmt: skip
            axis.set(xscale="log", xlabel="largest Fisher eigenvalue")
            _plain_powers(axis.xaxis)
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
) -> Drawing:
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


def _plain_powers(axis: Any) -> None:
    """Label the powers of ten of a logarithmic axis without formulas, which the report's style does not read."""
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0e}" if value < 1e-3 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _positive(values: Floats) -> Floats:
    """Lift zeros to the smallest positive value, so that they show on a logarithmic axis."""
    positive = values[values > 0]
    return np.maximum(values, positive.min() if len(positive) else 1e-12)

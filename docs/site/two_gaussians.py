"""Draws Figure 1 of Datta et al. (2020), for the page on difficulty.

    python docs/site/two_gaussians.py

Points of two Gaussians are colored by their largest Fisher eigenvalue; arrows are the eigenvectors of
the 20 largest. The line is the decision boundary of the network.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pictures import write_picture

from rightreasons.core.validation import softmax
from rightreasons.page.plots import PALETTE
from rightreasons.replicate.pair_steps import N_HARDEST, Gaussians, train_on_gaussians

FILE = Path(__file__).parents[1] / "images" / "two_gaussians.png"

MARKERS = ("o", "^")


def draw_gaussians(plane: Gaussians) -> Figure:
    """Draw the points with their eigenvalues, the hardest directions and the decision boundary."""
    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    # A figure without pyplot needs its own canvas.
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    # Both classes share one scale of colors.
    largest = float(plane.eigenvalues.max())
    for label, marker in enumerate(MARKERS):
        is_of_class = plane.labels == label
        drawing = axis.scatter(
            *plane.points[is_of_class].T,
            c=plane.eigenvalues[is_of_class],
            marker=marker,
            s=14,
            linewidths=0,
            vmin=0,
            vmax=largest,
        )
    figure.colorbar(drawing, ax=axis, label="largest Fisher eigenvalue")
    _draw_boundary(axis, plane)
    # Arrows at all points would hide the colors.
    hardest = np.argsort(-plane.eigenvalues)[:N_HARDEST]
    axis.quiver(
        *plane.points[hardest].T,
        *plane.directions[hardest].T,
        color=PALETTE["orange"],
        width=0.004,
        scale=14,
    )
    axis.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
    return figure


def _draw_boundary(axis: Axes, plane: Gaussians) -> None:
    """Draw the line on which both classes are equally likely."""
    low = plane.points.min(axis=0)
    high = plane.points.max(axis=0)
    x, y = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    grid = torch.from_numpy(np.column_stack((x.ravel(), y.ravel())))
    with torch.no_grad():
        probabilities = softmax(plane.network(grid).numpy())[:, 1]
    axis.contour(x, y, probabilities.reshape(x.shape), levels=[0.5], colors=[PALETTE["ink"]])


def main() -> None:
    """Write the picture."""
    drawing = io.BytesIO()
    draw_gaussians(train_on_gaussians(0)).savefig(drawing, dpi=110, metadata={"Software": None})
    write_picture(drawing, FILE)


if __name__ == "__main__":
    main()

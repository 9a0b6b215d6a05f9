"""A figure of matplotlib in the report's colors, for the pictures that only experiments draw."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rightreasons.page.plots import PALETTE

MARKERS = ("o", "s", "D", "^", "v")

_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": PALETTE["muted"],
    "axes.labelcolor": PALETTE["ink"],
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlecolor": PALETTE["ink"],
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": PALETTE["grid"],
    "grid.linewidth": 0.8,
    "xtick.color": PALETTE["muted"],
    "ytick.color": PALETTE["muted"],
    "xtick.labelcolor": PALETTE["ink"],
    "ytick.labelcolor": PALETTE["ink"],
    "text.color": PALETTE["ink"],
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.constrained_layout.use": True,
    "hatch.linewidth": 0.8,
    "svg.fonttype": "none",
    "text.parse_math": False,  # label names are users' texts: "$5" is no formula
}


@dataclasses.dataclass(frozen=True)
class Picture:
    """A drawn figure: its PNG, 144 dots per inch."""

    key: str
    png: bytes


@contextmanager
def canvas(width: float, height: float, **grid: Any) -> Iterator[tuple[Figure, Any]]:
    """Open a figure in the report's style; yields (figure, axes), to be closed by `drawn`."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(**grid)


def drawn(figure: Figure, key: str) -> Picture:
    """Render a figure."""
    png = io.BytesIO()
    with matplotlib.rc_context({"figure.constrained_layout.use": False}):
        figure.savefig(png, format="png", dpi=144, facecolor="white", metadata={"Software": None})
    return Picture(key, png.getvalue())

"""Every picture of the report that more than one question draws; others are in `questions/<question>/plots.py`.

Pictures are drawn on bare `Figure` objects (no pyplot, no global state) in the colors of `PALETTE`. The SVG form
carries the page's color variables in their place, so that a picture follows the page into dark mode; the PNG form is
light.
"""

from __future__ import annotations

import dataclasses
import io
import re
import textwrap
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from rightreasons.core.intervals import Estimate
from rightreasons.page.parts import Plot
from rightreasons.page.prose import level_percent, percent, written

Floats = NDArray[np.float64]

PALETTE = {
    "ink": "#1d2433",
    "muted": "#667085",
    "grid": "#e4e7ec",
    "paper": "#fefefe",
    "blue": "#2f6bd8",
    "blue-soft": "#b9d0f6",
    "orange": "#d9602a",
    "orange-soft": "#f7c9ae",
    "green": "#1f8a5b",
    "violet": "#7a4fc4",
    "band": "#c9ced8",
}
"""The colors of the pictures; the page has a variable `--plot-NAME` for each."""

SERIES = ("blue", "orange", "green", "violet", "muted")
"""The order in which lines and points take colors; markers differ too, for readers who cannot tell colors apart."""

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

_TOLD = "told: "
"""Begins the name of an artist; the page tells the rest of it while the pointer rests there."""

_DRAWING = threading.RLock()
"""One figure at a time: matplotlib's settings belong to the whole process, and pages are drawn in threads."""


ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": 2, "borderaxespad": 0.2}
"""Where a legend is: above the axes, so that it never lies on what is drawn."""


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """One drawing in both its forms.

    Attributes:
        key: The key of the picture.
        png: On a light background, 144 dots per inch.
        svg: With the page's color variables.
    """

    key: str
    png: bytes
    svg: str

    def plot(self, **texts: Any) -> Plot:
        """Join the drawing with its texts: title, caption, alt and source."""
        return Plot(**{"key": self.key, "png": self.png, "svg": self.svg, **texts})


@dataclasses.dataclass(frozen=True)
class Bar:
    """A point with its interval on one row of `dot_rows`."""

    name: str
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]

    @classmethod
    def of(cls, name: str, *estimates: Estimate) -> Bar:
        """Take one estimate per series."""
        values, lows, highs = zip(*((each.value, each.low, each.high) for each in estimates), strict=True)
        return cls(name, values, lows, highs)


@contextmanager
def canvas(width: float, height: float, **grid: Any) -> Iterator[tuple[Figure, Any]]:
    """Open a figure in the report's style; yields (figure, axes), to be closed by `drawn`."""
    with _DRAWING, matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        yield figure, figure.subplots(**grid)


def drawn(figure: Figure, key: str) -> Drawing:
    """Render a figure; `key` makes the ids inside its SVG unique, so that one page can hold many."""
    png, svg = io.BytesIO(), io.StringIO()
    with _DRAWING, matplotlib.rc_context({"svg.hashsalt": key, "figure.constrained_layout.use": False}):
        figure.savefig(png, format="png", dpi=144, facecolor="white", metadata={"Software": None})
        figure.set_layout_engine(None)  # keep the layout of the PNG, and do not lay out by drawing once more
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Drawing(key, png.getvalue(), _for_page(svg.getvalue(), key))


def column(values: Iterable[float | None]) -> Floats:
    """Return values as an array; None, which is not drawn, as 0."""
    return np.array([0.0 if value is None else value for value in values], dtype=np.float64)


class _Ends(Protocol):
    """An interval or an estimate."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


def bounds(estimates: Iterable[_Ends | None]) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of intervals; 0 where there is none."""
    ends = [(None, None) if estimate is None else (estimate.low, estimate.high) for estimate in estimates]
    return column(low for low, _ in ends), column(high for _, high in ends)


def reliability_diagram(
    key: str,
    bins: Sequence[Any],
    *,
    intervals: Sequence[_Ends | None],
    bars: Sequence[tuple[float, float] | None],
    level: float = 0.95,
) -> Drawing:
    """Draw accuracy against confidence by bin, with intervals, consistency bars and the count of each bin.

    Args:
        key: The key of the picture.
        bins: M bins; empty ones are left blank.
        intervals: M intervals of their accuracy; None for empty bins.
        bars: M lower and upper ends of what a calibrated model would show; None for empty bins.
        level: How often a calibrated model is between them.

    Returns:
        The drawing.
    """
    full = [row for row in bins if row.count]
    mean, right = column(row.confidence for row in full), column(row.accuracy for row in full)
    left, width = column(row.lower for row in full), column(row.upper - row.lower for row in full)
    counts = np.array([row.count for row in full])
    low, high = bounds(interval for row, interval in zip(bins, intervals, strict=True) if row.count)
    bands = [bar or (0.0, 0.0) for row, bar in zip(bins, bars, strict=True) if row.count]
    band_low, band_high = (column(ends) for ends in zip(*bands, strict=True))
    with canvas(4.9, 5.3, nrows=2, ncols=1, sharex=True, height_ratios=[3.4, 1]) as (figure, (top, bottom)):
        draw_accuracies(top, left, width, mean, right, low, high)
        top.bar(
            mean,
            band_high - band_low,
            np.minimum(width * 0.55, 0.035),
            bottom=band_low,
            color=PALETTE["band"],
            alpha=0.85,
            zorder=3,
        )
        over = mean > right
        for mask, color in ((over, "orange"), (~over, "green")):
            top.vlines(mean[mask], right[mask], mean[mask], color=PALETTE[color], linewidth=2.6, alpha=0.8, zorder=3.5)
        top.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="accuracy of the bin")
        handles = [
            Patch(facecolor=PALETTE["blue-soft"], edgecolor=PALETTE["blue"], label="accuracy"),
            Patch(facecolor=PALETTE["orange"], label="overconfident by"),
            Patch(facecolor=PALETTE["green"], label="underconfident by"),
            Patch(facecolor=PALETTE["band"], label=f"if calibrated, {level_percent(level)}"),
        ]
        top.legend(handles=handles, handlelength=1.2, **ABOVE)
        bottom.bar(left, counts, width, align="edge", color=PALETTE["blue"], alpha=0.85)
        write_counts(bottom, left + width / 2, counts, counts)
        bottom.set(xlabel="confidence", ylabel="items", ylim=(0, counts.max() * 1.22))
        for axis in (top.yaxis, bottom.xaxis):
            axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        bottom.yaxis.set_major_locator(MaxNLocator(3, integer=True))
        bottom.yaxis.set_major_formatter("{x:,.0f}")
        bottom.grid(axis="x", visible=False)
        return drawn(figure, key)


def whiskers(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return how far intervals reach below and above their values, as `errorbar` takes them."""
    return np.abs(np.stack((values - low, high - values)))


def draw_accuracies(
    axis: Any, left: Floats, width: Floats, mean: Floats, accuracy: Floats, low: Floats, high: Floats
) -> None:
    """Draw the accuracy of each bin as a bar, with its interval at the bin's mean confidence, and the diagonal."""
    axis.plot([0, 1], [0, 1], color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=2)
    colors = {"color": PALETTE["blue-soft"], "edgecolor": PALETTE["blue"]}
    bars = axis.bar(left, accuracy, width, align="edge", linewidth=0.8, **colors)
    for bar, sure, right in zip(bars, mean, accuracy, strict=True):
        bar.set_gid(f"{_TOLD}{percent(sure)} sure, {percent(right)} right")
    style = {"fmt": "o", "markersize": 4.5, "color": PALETTE["ink"], "elinewidth": 1.2, "capsize": 2.5, "zorder": 4}
    axis.errorbar(mean, accuracy, yerr=whiskers(accuracy, low, high), **style)


def write_counts(axis: Any, centers: Floats, heights: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Write the number of items above each bar."""
    for x, y, count in zip(centers, heights, counts.tolist(), strict=True):
        axis.annotate(
            f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k",
            (x, y),
            xytext=(0, 1.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7,
            color=PALETTE["muted"],
        )


def dot_rows(
    key: str, *, rows: Sequence[Bar], series: Sequence[str], xlabel: str, line: float | None = None
) -> Drawing:
    """Draw a row per name with a point and interval per series, to compare splits or models; `line` is dashed."""
    height = 1.15 + (0.52 if len(rows) <= MOST_TICKS else 0.32) * len(rows)
    with canvas(4.9, height) as (figure, axis):
        if line is not None:
            axis.axvline(line, color=PALETTE["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for y, row in enumerate(rows):
            known = [value for value in row.values if value is not None]
            if len(known) > 1:
                axis.hlines(y, min(known), max(known), color=PALETTE["band"], linewidth=5, zorder=1)
        for index, name in enumerate(series):
            color = PALETTE[SERIES[index % len(SERIES)]]
            offset = (index - (len(series) - 1) / 2) * 0.16
            labeled = False
            for y, row in enumerate(rows):
                value, low, high = row.values[index], row.lows[index], row.highs[index]
                if value is None:
                    continue
                if low is not None and high is not None:
                    axis.hlines(y + offset, low, high, color=color, linewidth=1.6, zorder=2)
                axis.plot(
                    value,
                    y + offset,
                    marker=MARKERS[index % len(MARKERS)],
                    color=color,
                    markersize=6,
                    linestyle="none",
                    zorder=3,
                    label=None if labeled else shortened(name),
                    gid=f"{_TOLD}{row.name}, {name}: {written(Estimate(value, low, high))}",
                )
                labeled = True
        axis.set_yticks(range(len(rows)), [wrapped(row.name) for row in rows])
        axis.set(xlim=(-0.01, 1.01), ylim=(len(rows) - 0.5, -0.5), xlabel=xlabel)
        axis.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axis.grid(axis="y", visible=False)
        axis.legend(**ABOVE | {"ncols": min(3, len(series))})
        return drawn(figure, key)


def dots(rows: Mapping[str, Sequence[Any]], *series: str, xlabel: str = "") -> str:
    """Draw figures of a module's result as SVG: a row per name, in it a value, or a value and its interval, per series.

    A row whose values are all None is left out.
    """
    bars = []
    for name, figures in rows.items():
        values, ends = zip(*(each if isinstance(each, tuple) else (each, None) for each in figures), strict=True)
        if any(value is not None for value in values):
            lows, highs = (tuple((each or {}).get(end) for each in ends) for end in ("low", "high"))
            bars.append(Bar(name, values, lows, highs))
    return dot_rows("figure", rows=bars, series=series, xlabel=xlabel).svg


def shortened(name: str, longest: int = 26) -> str:
    """Shorten a user's name to what fits next to an axis.

    Example:
        >>> shortened("a name that would push the picture aside")
        'a name that would push th…'
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def wrapped(name: str, width: int = 26) -> str:
    r"""Break a name into two lines where it does not fit next to an axis in one; what is longer than that is cut.

    Example:
        >>> wrapped("swapped for a word of like frequency")
        'swapped for a word of like\nfrequency'
    """
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder="…")) or name


# ------------------------------------------------------------------------------------------------------------- private


def _for_page(svg: str, key: str) -> str:
    svg = svg[svg.index("<svg") :]
    # Metadata is of no use in a page, and the drawing's own style sheet would reach beyond it.
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    # The drawing scales with its column; its natural size stays as the upper bound.
    width = re.search(r'<svg[^>]*? width="([\d.]+)pt"', svg)
    head, rest = svg.split(">", 1)
    svg = re.sub(r' (?:height|width)="[\d.]+pt"', "", head) + ">" + rest
    if width:
        svg = svg.replace("<svg ", f'<svg style="max-width:{float(width.group(1)) * 4 / 3:.0f}px" ', 1)
    svg = re.sub(rf"""<g id=(["']){_TOLD}(.*?)\1>""", r"<g><title>\2</title>", svg, flags=re.DOTALL)
    prefix = key.replace("_", "-")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    for name, color in PALETTE.items():
        svg = svg.replace(color, f"var(--plot-{name})")
    return svg


# ---------------------------------- Lines over a growing quantity: the strength of a planted cue, the steps of training


MOST_TICKS = 9
"""Up to this number, each value of the quantity has a tick."""

MOST_MARKED = 30
"""Up to this number, each has a mark."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """One line, with its intervals where it has some.

    Attributes:
        name: What it shows.
        estimates: (M,) its values, with their intervals where they have some; None leaves a gap.
        dashed: Whether it is dashed, as a baseline is.
    """

    name: str
    estimates: Sequence[Estimate | None]
    dashed: bool = False


def curves(
    key: str,
    x: Sequence[float],
    lines: Sequence[Curve],
    *,
    xlabel: str,
    ylabel: str,
    here: float | None = None,
    zero: bool = False,
) -> Drawing:
    """Draw lines of shares over a quantity.

    Args:
        key: The key of the picture.
        x: (M,) the quantity, rising.
        lines: The lines, with values in [0, 1]; differences where there is a `zero`.
        xlabel: What the quantity is.
        ylabel: What the values are.
        here: A value of the quantity to mark; default None.
        zero: Whether to draw a line at 0, and the axis as long as the values need.

    Returns:
        The drawing.
    """
    with canvas(4.9, 3.5) as (figure, axis):
        if here is not None:
            axis.axvline(here, color=PALETTE["band"], linewidth=7, alpha=0.6, zorder=1)
        for index, line in enumerate(lines):
            color = PALETTE[SERIES[index % len(SERIES)]]
            known = [each or Estimate(None) for each in line.estimates]
            values, low, high = np.array([(each.value, each.low, each.high) for each in known], dtype=np.float64).T
            axis.fill_between(x, low, high, color=color, alpha=0.14, linewidth=0)
            axis.plot(
                x,
                values,
                color=color,
                marker=MARKERS[index % len(MARKERS)] if len(x) <= MOST_MARKED else "",
                markersize=4.5,
                linewidth=1.7,
                linestyle=(0, (4, 2)) if line.dashed else "-",
                label=line.name,
                zorder=3,
            )
        axis.set(xlabel=xlabel, ylabel=ylabel, **{} if zero else {"ylim": (-0.02, 1.02)})
        if zero:
            axis.axhline(0, color=PALETTE["muted"], linewidth=1)
        if len(x) <= MOST_TICKS:
            axis.set_xticks(list(x))
        axis.legend(**ABOVE)
        return drawn(figure, key)

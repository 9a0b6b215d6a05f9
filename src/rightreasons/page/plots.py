"""The pictures of the report: specifications of Vega-Lite, which vl-convert draws without a browser.

Here are those that more than one question draws; others are beside their question. One specification makes both forms
of a picture: the SVG carries the page's color variables, so that it follows the page into dark mode; the PNG is light.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

from rightreasons.core.estimates import Estimate
from rightreasons.page.prose import level_percent, percent, written

_STYLE = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))

PALETTE: Mapping[str, str] = _STYLE["palette"]
"""The colors of the pictures; the page has a variable `--plot-NAME` for each."""

SERIES = ("blue", "orange", "green", "violet", "muted")
"""The order in which lines and points take colors; markers differ too, for readers who cannot tell colors apart."""

MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down")

WIDTH = 470
"""Pixels across a picture, with the names beside its axes."""

PANEL = WIDTH - 70
"""Pixels between the axes of a picture with panels, whose axes stand outside."""

DASHES = [5, 4]


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A picture as its specification, which is drawn in both forms when one is asked for.

    Attributes:
        key: The key of the picture; it makes the ids inside its SVG unique, so that one page can hold many.
        spec: The specification in Vega-Lite.
    """

    key: str
    spec: Mapping[str, Any]

    @property
    def _svg(self) -> str:
        return _drawn(
            json.dumps({"background": None, "config": _STYLE["config"], **self.spec}, default=float)
        )

    @property
    def png(self) -> bytes:
        """The picture on a white ground, 144 dots per inch."""
        whole = self._svg.replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)
        return bytes(vl_convert.svg_to_png(whole, scale=1.5))

    @property
    def svg(self) -> str:
        """The picture with the page's color variables."""
        # The drawing scales with its column; its natural size stays as the upper bound.
        svg = re.sub(
            r'(<svg[^>]*?) width="([\d.]+)" height="[\d.]+"',
            r'\1 style="max-width:\2px"',
            self._svg,
            count=1,
        )
        # A browser shows the title of a mark while the pointer rests on it.
        svg = re.sub(
            r'(<path)( aria-label="([^"]*)"[^>]*?)/>', r"\1\2><title>\3</title></path>", svg
        )
        # Ids count on from drawing to drawing: here each begins anew, and has the key before it.
        ids = {
            name: f"{self.key.replace('_', '-')}-{n}"
            for n, name in enumerate(re.findall(r'\bid="([^"]+)"', svg))
        }
        svg = re.sub(r'\bid="([^"]+)"', lambda each: f'id="{ids[each[1]]}"', svg)
        svg = re.sub(r"url\(#([^)]+)\)", lambda each: f"url(#{ids.get(each[1], each[1])})", svg)
        for name, color in PALETTE.items():
            svg = svg.replace(color, f"var(--plot-{name})")
        return svg


@functools.lru_cache(maxsize=64)
def _drawn(spec: str) -> str:
    return str(vl_convert.vegalite_to_svg(spec))


def layer(
    mark: str | Mapping[str, Any], rows: Iterable[Mapping[str, Any]], **encoding: Any
) -> dict[str, Any]:
    """Return a layer of marks: a mark per row, or a line through them.

    Args:
        mark: A type of mark, or its type and its look. Where the rows have a `note`, it is told while the pointer rests
            on the mark.
        rows: Field -> value of each mark. A number that is NaN or infinite is no number, as None is.
        **encoding: Channel -> field, or what `axis` makes of it.
    """
    values = [
        {
            name: None
            if isinstance(value, (float, np.floating)) and not np.isfinite(value)
            else value
            for name, value in row.items()
        }
        for row in rows
    ]
    look: dict[str, Any] = {"type": mark} if isinstance(mark, str) else dict(mark)
    if any("note" in row for row in values):
        look["aria"], encoding["description"] = True, {"field": "note"}
    channels = {
        name: axis(each) if isinstance(each, str) else each for name, each in encoding.items()
    }
    return {"data": {"values": values}, "mark": look, "encoding": channels}


def axis(
    field: str,
    title: str | None = None,
    *,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    scale: Mapping[str, Any] | None = None,
    **look: Any,
) -> dict[str, Any]:
    """Return a channel that shows numbers of a field along an axis.

    Args:
        field: The field.
        title: The title of the axis; None leaves it to the other layers.
        percent: Whether the numbers are written in percent.
        domain: The ends of the axis; None for those of the data.
        scale: More of the scale, such as its type.
        **look: More of the axis.
    """
    known = {**({} if domain is None else {"domain": list(domain), "nice": False}), **(scale or {})}
    look = {**({"format": ".0%"} if percent else {}), **look}
    channel: dict[str, Any] = {"field": field, "type": "quantitative"} | (
        {} if title is None else {"title": title}
    )
    return channel | ({"scale": known} if known else {}) | ({"axis": look} if look else {})


def series_of(name: str, colors: Mapping[str, str], **legend: Any) -> dict[str, Any]:
    """Return the channel of a layer's color: that of its name among all series, which the legend lists."""
    scale = {"domain": list(colors), "range": [PALETTE[color] for color in colors.values()]}
    return {
        "datum": name,
        "type": "nominal",
        "scale": scale,
        "legend": {"symbolType": "square", **legend},
    }


def accuracy_layers(
    bins: Sequence[Any], intervals: Sequence[Any], colors: Mapping[str, str], ylabel: str
) -> list[dict[str, Any]]:
    """Return the layers of a reliability diagram: the diagonal, the bins, and the interval of each accuracy.

    Args:
        bins: Bins with items.
        intervals: The intervals of their accuracy.
        colors: Name of a series -> its color; that of the bars is called "accuracy".
        ylabel: The title of the vertical axis.
    """
    rows = [
        {
            "left": row.lower,
            "right": row.upper,
            "sure": row.confidence,
            "accuracy": row.accuracy,
            "note": f"{percent(row.confidence)} confident, {percent(row.accuracy)} correct",
            "low": ends and ends.low,
            "high": ends and ends.high,
        }
        for row, ends in zip(bins, intervals, strict=True)
    ]
    x = axis("left", "", domain=(0, 1), labels=False)
    y = axis("accuracy", ylabel, percent=True, domain=(0, 1))
    points = [{"sure": row["sure"], "accuracy": row["accuracy"]} for row in rows]
    whiskers = [{name: row[name] for name in ("sure", "low", "high")} for row in rows]
    bars = {"type": "bar", "stroke": PALETTE["blue"], "binSpacing": 0}
    return [
        layer(
            bars,
            rows,
            x=x,
            x2={"field": "right"},
            y=y,
            y2={"datum": 0},
            color=series_of("accuracy", colors),
        ),
        layer(
            {"type": "line", "strokeDash": DASHES, "color": PALETTE["muted"]},
            [{"p": 0}, {"p": 1}],
            x="p",
            y="p",
        ),
        layer(
            {"type": "rule", "color": PALETTE["ink"]},
            whiskers,
            x="sure",
            y="low",
            y2={"field": "high"},
        ),
        layer(
            {"type": "point", "filled": True, "color": PALETTE["ink"]},
            points,
            x="sure",
            y="accuracy",
        ),
    ]


def count_layer(
    bins: Sequence[Any], counts: Sequence[int], heights: Sequence[float]
) -> dict[str, Any]:
    """Return a layer with the number of items above the bar of each bin."""
    rows = [
        {
            "x": (row.lower + row.upper) / 2,
            "y": height,
            "n": f"{n:,}" if n < 10_000 else f"{n / 1000:.0f}k",
        }
        for row, n, height in zip(bins, counts, heights, strict=True)
    ]
    return layer(
        {"type": "text", "baseline": "bottom", "dy": -2}, rows, x="x", y="y", text={"field": "n"}
    )


def reliability_diagram(
    key: str,
    bins: Sequence[Any],
    *,
    intervals: Sequence[Any],
    bars: Sequence[tuple[float, float] | None],
    level: float = 0.95,
) -> Drawing:
    """Draw accuracy against confidence by bin, with intervals, consistency bars and the count of each bin.

    Args:
        key: The key of the picture.
        bins: M bins; empty ones are left blank.
        intervals: M intervals of their accuracy; None for empty bins.
        bars: M lower and upper ends of what a calibrated model would show; None for empty bins, and for all where
            nothing was simulated: the legend has no such bars then.
        level: How often a calibrated model is between them.

    Returns:
        The drawing.
    """
    full = [place for place, row in enumerate(bins) if row.count]
    rows, ends = [bins[place] for place in full], [intervals[place] for place in full]
    calibrated = f"if calibrated, {level_percent(level)}"
    colors = {"accuracy": "blue-soft"}
    bands = [
        {"sure": bins[place].confidence, "low": bar[0], "high": bar[1]}
        for place in full
        if (bar := bars[place]) is not None
    ]
    colors |= {calibrated: "band"} if bands else {}
    columns, *others = accuracy_layers(rows, ends, colors, "accuracy of the bin")
    thick, drawn = {"type": "rule", "strokeWidth": 12}, series_of(calibrated, colors)
    band = (
        [layer(thick, bands, x="sure", y="low", y2={"field": "high"}, color=drawn)] if bands else []
    )
    columns["encoding"]["x"] = axis("left", "confidence", percent=True, domain=(0, 1))
    counts = count_layer(rows, [row.count for row in rows], [0.0] * len(rows))
    return Drawing(key, {"layer": [columns, *band, *others, counts], "height": 300, "width": PANEL})


def dot_rows(
    key: str,
    *,
    rows: Sequence[tuple[str, Sequence[Estimate]]],
    series: Sequence[str],
    xlabel: str,
    line: float | None = None,
) -> Drawing:
    """Draw a row per name with a point and interval per series, to compare splits or models; `line` is dashed."""
    size = 44 if len(rows) < 10 else 28
    names = json.dumps([wrapped(label) for label, _ in rows])
    places = {"domain": [*range(len(rows))], "paddingInner": 0.1, "paddingOuter": 0.1}
    look = {
        "labelExpr": f"{names}[datum.value]",
        "grid": False,
        "ticks": False,
        "domain": False,
        "title": None,
    }
    y = {"field": "row", "type": "ordinal", "scale": places, "axis": look}
    lowest = min((each.low or 0.0 for _, estimates in rows for each in estimates), default=0.0)
    x = axis(
        "low", xlabel, percent=True, domain=(min(0.0, lowest), 1)
    )  # a share beyond a control may be below 0
    layers = (
        []
        if line is None
        else [layer({"type": "rule", "strokeDash": DASHES}, [{"x": line}], x="x")]
    )
    points = [
        {
            "row": n,
            "series": shortened(name),
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "note": f"{label}, {name}: {written(each)}",
        }
        for n, (label, estimates) in enumerate(rows)
        for name, each in zip(series, estimates, strict=True)
        if each.value is not None
    ]
    domain = [shortened(name) for name in series]
    of_series: dict[str, Any] = {"field": "series", "type": "nominal"}
    legend = {"columns": min(3, len(series))}
    colors = {
        "domain": domain,
        "range": [PALETTE[SERIES[n % len(SERIES)]] for n in range(len(domain))],
    }
    shapes = {"domain": domain, "range": [MARKERS[n % len(MARKERS)] for n in range(len(domain))]}
    inside = {"domain": domain, "paddingOuter": 1.2} if len(domain) > 1 else {"domain": domain}
    shared = {
        "y": y,
        "yOffset": {**of_series, "scale": inside},
        "color": {**of_series, "scale": colors, "legend": legend},
    }
    ends = [{name: value for name, value in row.items() if name != "note"} for row in points]
    layers += [
        layer({"type": "rule", "strokeWidth": 2}, ends, x=x, x2={"field": "high"}, **shared),
        layer(
            {"type": "point", "filled": True, "size": 55, "opacity": 1},
            points,
            x="value",
            shape={**of_series, "scale": shapes, "legend": legend},
            **shared,
        ),
    ]
    fit = {"autosize": {"type": "fit", "contains": "padding"}, "width": WIDTH}
    return Drawing(key, {"layer": layers, "height": 90 + size * len(rows), **fit})


def shortened(name: str, longest: int = 26) -> str:
    """Shorten a user's name to what fits next to an axis.

    Example:
        >>> shortened("a name that would push the picture aside")
        'a name that would push th…'
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def wrapped(name: str, width: int = 26) -> list[str]:
    """Break a name into two lines where it does not fit next to an axis in one; what is longer than that is cut.

    Example:
        >>> wrapped("swapped for a word of like frequency")
        ['swapped for a word of like', 'frequency']
    """
    return textwrap.wrap(name, width, max_lines=2, placeholder="…") or [name]


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
    zero: bool = False,
) -> Drawing:
    """Draw lines of shares over a growing quantity: the strength of a planted cue, the steps of training.

    Args:
        key: The key of the picture.
        x: (M,) the quantity, rising.
        lines: The lines, with values in [0, 1]; differences where there is a `zero`.
        xlabel: What the quantity is.
        ylabel: What the values are.
        zero: Whether to draw a line at 0, and the axis as long as the values need.

    Returns:
        The drawing.
    """
    colors = {line.name: SERIES[n % len(SERIES)] for n, line in enumerate(lines)}
    few: dict[str, Any] = (
        {"values": list(x)} if len(x) <= 10 and all(float(each).is_integer() for each in x) else {}
    )
    across = axis("x", xlabel, scale={"zero": False, "nice": False}, format=".3~g", **few)
    up = axis("y", ylabel, domain=None if zero else (0, 1))
    layers = []
    for n, line in enumerate(lines):
        known = [each or Estimate(None) for each in line.estimates]
        rows = [
            {"x": place, "y": each.value, "low": each.low, "high": each.high}
            for place, each in zip(x, known, strict=True)
        ]
        color = series_of(line.name, colors, symbolType="stroke")
        layers.append(
            layer(
                {"type": "area", "opacity": 0.14, "invalid": "break-paths-filter-domains"},
                rows,
                x=across,
                y=axis("low", ylabel, domain=None if zero else (0, 1)),
                y2={"field": "high"},
                color=color,
            )
        )
        shape = MARKERS[n % len(MARKERS)]
        look = {"type": "line", "strokeWidth": 2, "invalid": "break-paths-filter-domains"}
        look |= {"point": {"shape": shape, "size": 35}}
        look |= {"strokeDash": DASHES} if line.dashed else {}
        layers.append(layer(look, rows, x=across, y=up, color=color))
    if zero:
        layers.append(layer("rule", [{"y": 0}], y=up))
    fit = {"autosize": {"type": "fit", "contains": "padding"}, "width": WIDTH}
    return Drawing(key, {"layer": layers, "height": 330, **fit})

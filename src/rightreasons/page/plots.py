"""The pictures of the report: specifications of Vega-Lite, which vl-convert draws without a browser.

Here are those that several questions draw; the others are in the folder of their question. One specification
makes both forms of a picture: the SVG has the page's color variables, so that it follows the page into
dark mode, and the PNG is light.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

from rightreasons.core.estimates import Estimate
from rightreasons.page.formats import format_estimate, level_percent, percent

_STYLE = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))

PALETTE: Mapping[str, str] = _STYLE["palette"]
"""The colors of the pictures; the page has a variable `--plot-NAME` for each."""

SERIES = ("blue", "orange", "green", "violet", "muted")
"""Colors of lines and points, in order."""

MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down")
"""Markers of lines and points, in order, for readers who cannot distinguish the colors."""

WIDTH = 470
"""Width of a picture in pixels, including the names at its axes."""

PANEL = WIDTH - 70
"""Width of the panel of a picture in pixels, without its axes."""

DASHES = [5, 4]
"""Lengths of dashes and gaps, in pixels."""

FIT: Mapping[str, Any] = {"autosize": {"type": "fit", "contains": "padding"}, "width": WIDTH}
"""Part of a specification: the names at the axes are within the width."""


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """A picture as its specification, which is drawn when one of its forms is needed.

    Attributes:
        key: Key of the picture. It makes the ids inside its SVG unique, so that a page can have many.
        spec: The specification in Vega-Lite.
    """

    key: str
    spec: Mapping[str, Any]

    @property
    def png(self) -> bytes:
        """The picture on a white ground, 144 dots per inch."""
        ground = '><rect width="100%" height="100%" fill="white"/>'
        # The first tag is that of the picture as a whole.
        svg = self._svg.replace(">", ground, 1)
        # A scale of 1 has 96 dots per inch.
        return bytes(vl_convert.svg_to_png(svg, scale=1.5))

    @property
    def svg(self) -> str:
        """The picture as SVG for a page, which scales with its column and has the colors of the page."""
        # Replace the fixed size by a maximum width, up to which the drawing fills its column.
        svg = re.sub(
            r'(<svg[^>]*?) width="([\d.]+)" height="[\d.]+"',
            r'\1 style="--natural-width:\2px;max-width:\2px"',
            self._svg,
            count=1,
        )
        # Copy the aria-label of each mark to a title, which browsers show under the pointer.
        svg = re.sub(
            r'(<path)( aria-label="([^"]*)"[^>]*?)/>', r"\1\2><title>\3</title></path>", svg
        )
        svg = self._rename_ids(svg)
        # Replace colors by variables of the page, which differ between its light and dark mode.
        for name, color in PALETTE.items():
            svg = svg.replace(color, f"var(--plot-{name})")
        return svg

    @property
    def _svg(self) -> str:
        # Without a background, the ground of the page shows through.
        spec = {"background": None, "config": _STYLE["config"], **self.spec}
        # Numbers of numpy are not JSON.
        return _draw_svg(json.dumps(spec, default=float))

    def _rename_ids(self, svg: str) -> str:
        """Return an SVG with ids made from the key of the picture, such as "reliability-3".

        vl-convert numbers the ids of all drawings of a process, so they would depend on earlier
        drawings. The key also makes ids unique on a page with several pictures.

        Args:
            svg: The SVG.
        """
        prefix = self.key.replace("_", "-")
        new_id_by_id = {}
        for number, old_id in enumerate(re.findall(r'\bid="([^"]+)"', svg)):
            new_id_by_id[old_id] = f"{prefix}-{number}"

        def rename(match: re.Match[str]) -> str:
            return f'id="{new_id_by_id[match[1]]}"'

        def rename_reference(match: re.Match[str]) -> str:
            return f"url(#{new_id_by_id.get(match[1], match[1])})"

        svg = re.sub(r'\bid="([^"]+)"', rename, svg)
        return re.sub(r"url\(#([^)]+)\)", rename_reference, svg)


@functools.lru_cache(maxsize=64)
def _draw_svg(spec: str) -> str:
    """Draw a specification, given as JSON; each of its forms is made from the same SVG."""
    return str(vl_convert.vegalite_to_svg(spec))


# -------------------------------------------------------------------------------- layers


def layer(
    mark: str | Mapping[str, Any], rows: Iterable[Mapping[str, Any]], **encoding: Any
) -> dict[str, Any]:
    """Return a layer of a Vega-Lite specification: a mark per row, or a line through the rows.

    Args:
        mark: Type of the marks, such as "bar", or a mapping with the type and other properties.
        rows: Field -> value of each mark. NaN and infinite numbers count as missing, like None. The
            field `note` is shown while the pointer is over the mark.
        **encoding: Channel, such as x -> name of a field, or the result of `axis`.

    Returns:
        `{"data": {"values": [...]}, "mark": {"type": ...}, "encoding": {"x": {"field": ...}}}`.
    """
    values = []
    for row in rows:
        # JSON has no NaN.
        values.append({name: _replace_infinite(value) for name, value in row.items()})
    look: dict[str, Any] = {"type": mark}
    if not isinstance(mark, str):
        look = dict(mark)
    # Vega writes the description of a mark to its aria-label, which `Drawing.svg` copies to a title.
    has_notes = any("note" in row for row in values)
    if has_notes:
        look["aria"] = True
        encoding["description"] = {"field": "note"}
    channels = {}
    for name, channel in encoding.items():
        if isinstance(channel, str):
            channel = axis(channel)
        channels[name] = channel
    return {"data": {"values": values}, "mark": look, "encoding": channels}


def _replace_infinite(value: Any) -> Any:
    """Return None for a number that JSON does not have."""
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        return None
    return value


def axis(
    field: str,
    title: str | None = None,
    *,
    percent: bool = False,
    domain: Sequence[float] | None = None,
    scale: Mapping[str, Any] | None = None,
    **look: Any,
) -> dict[str, Any]:
    """Return a channel of Vega-Lite that places marks along an axis by the numbers of a field.

    Args:
        field: Name of the field.
        title: Title of the axis. If None, the title of another layer is used.
        percent: Whether the numbers at the axis are written in percent.
        domain: Smallest and largest number of the axis. If None, they follow from the data.
        scale: Further properties of the scale, such as {"type": "log"}.
        **look: Further properties of the axis, such as labels=False.
    """
    channel: dict[str, Any] = {"field": field, "type": "quantitative"}
    if title is not None:
        channel["title"] = title
    scale_properties: dict[str, Any] = {}
    if domain is not None:
        # Without `nice`, Vega does not extend the axis to round numbers.
        scale_properties = {"domain": list(domain), "nice": False}
    if scale is not None:
        scale_properties.update(scale)
    # Empty properties are omitted, because they would replace those of other layers.
    if scale_properties:
        channel["scale"] = scale_properties
    if percent:
        look = {"format": ".0%", **look}
    if look:
        channel["axis"] = look
    return channel


def series_of(name: str, colors: Mapping[str, str], **legend: Any) -> dict[str, Any]:
    """Return the color channel of a layer for Vega-Lite, with a legend of all series.

    All layers of a picture have the same scale of colors, so that they share one legend.

    Args:
        name: Name of the series of the layer.
        colors: Name of each series -> name of its color in the palette.
        **legend: Further properties of the legend.
    """
    color_codes = [PALETTE[color] for color in colors.values()]
    return {
        "datum": name,
        "type": "nominal",
        "scale": {"domain": list(colors), "range": color_codes},
        "legend": {"symbolType": "square", **legend},
    }


def cycle(values: Sequence[str], n: int) -> list[str]:
    """Return n values, beginning again after the last.

    Example:
        >>> cycle(["a", "b"], 3)
        ['a', 'b', 'a']
    """
    return [values[position % len(values)] for position in range(n)]


# -------------------------------------------------------------------------------- reliability


def accuracy_layers(
    bins: Sequence[Any], intervals: Sequence[Any], colors: Mapping[str, str], ylabel: str
) -> list[dict[str, Any]]:
    """Return the layers of a reliability diagram: bars, diagonal, intervals, and points.

    Args:
        bins: Bins of confidence that contain items, with `lower`, `upper`, `confidence` and
            `accuracy`.
        intervals: Interval of the accuracy of each bin, or None.
        colors: Name of each series -> name of its color. The series of the bars is "accuracy".
        ylabel: Title of the vertical axis.

    Returns:
        The four layers. The horizontal axis has no labels, for a diagram with a second panel below.
    """
    bars = []
    whiskers = []
    points = []
    for row, interval in zip(bins, intervals, strict=True):
        low = None
        high = None
        if interval:
            low = interval.low
            high = interval.high
        point = {"sure": row.confidence, "accuracy": row.accuracy}
        bar = {
            "left": row.lower,
            "right": row.upper,
            **point,
            "note": f"{percent(row.confidence)} confident, {percent(row.accuracy)} correct",
            "low": low,
            "high": high,
        }
        bars.append(bar)
        whiskers.append({"sure": row.confidence, "low": low, "high": high})
        points.append(point)
    bar_layer = layer(
        {"type": "bar", "stroke": PALETTE["blue"], "binSpacing": 0},
        bars,
        x=axis("left", "", domain=(0, 1), labels=False),
        x2={"field": "right"},
        y=axis("accuracy", ylabel, percent=True, domain=(0, 1)),
        y2={"datum": 0},
        color=series_of("accuracy", colors),
    )
    # On the diagonal, the accuracy equals the confidence.
    diagonal = layer(
        {"type": "line", "strokeDash": DASHES, "color": PALETTE["muted"]},
        [{"p": 0}, {"p": 1}],
        x="p",
        y="p",
    )
    interval_layer = layer(
        {"type": "rule", "color": PALETTE["ink"]}, whiskers, x="sure", y="low", y2={"field": "high"}
    )
    point_layer = layer(
        {"type": "point", "filled": True, "color": PALETTE["ink"]}, points, x="sure", y="accuracy"
    )
    return [bar_layer, diagonal, interval_layer, point_layer]


def count_layer(
    bins: Sequence[Any], counts: Sequence[int], heights: Sequence[float]
) -> dict[str, Any]:
    """Return a layer with the number of items of each bin, at the center of its bar.

    Args:
        bins: M bins, with their `lower` and `upper` ends.
        counts: M numbers of items.
        heights: M heights, above which the numbers are written.
    """
    rows = []
    for row, count, height in zip(bins, counts, heights, strict=True):
        center = (row.lower + row.upper) / 2
        rows.append({"x": center, "y": height, "n": _write_count(count)})
    look = {"type": "text", "baseline": "bottom", "dy": -2}
    return layer(look, rows, x="x", y="y", text={"field": "n"})


def _write_count(count: int) -> str:
    """Write a number of items so that it fits above a narrow bar."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.0f}k"


def reliability_diagram(
    key: str,
    bins: Sequence[Any],
    *,
    intervals: Sequence[Any],
    bars: Sequence[tuple[float, float] | None],
    level: float = 0.95,
) -> Drawing:
    """Draw accuracy against confidence by bin, with intervals, consistency bars and counts.

    Args:
        key: Key of the picture.
        bins: M bins of confidence. Empty bins have no bar.
        intervals: Interval of the accuracy of each bin; None for an empty bin.
        bars: (low, high) range of the accuracy of a calibrated model in each bin. None for an empty
            bin, and for all bins if a calibrated model was not simulated.
        level: Probability with which the accuracy of a calibrated model is in the range.
    """
    full_bins = []
    full_intervals = []
    bands = []
    for row, interval, bar in zip(bins, intervals, bars, strict=True):
        if not row.count:
            continue
        full_bins.append(row)
        full_intervals.append(interval)
        if bar is not None:
            low, high = bar
            bands.append({"sure": row.confidence, "low": low, "high": high})
    band_name = f"if calibrated, {level_percent(level)}"
    colors = {"accuracy": "blue-soft"}
    # Only series that are drawn are in the legend.
    if bands:
        colors[band_name] = "band"
    bar_layer, *line_layers = accuracy_layers(
        full_bins, full_intervals, colors, "accuracy of the bin"
    )
    # The bar layer has no labels at its horizontal axis. They are added, as there is no other panel.
    bar_layer["encoding"]["x"] = axis("left", "confidence", percent=True, domain=(0, 1))
    layers = [bar_layer]
    # Later layers cover earlier ones: bars are lowest, then bands, then lines and points.
    if bands:
        look = {"type": "rule", "strokeWidth": 12}
        color = series_of(band_name, colors)
        layers.append(layer(look, bands, x="sure", y="low", y2={"field": "high"}, color=color))
    counts = [row.count for row in full_bins]
    layers += [*line_layers, count_layer(full_bins, counts, [0.0] * len(counts))]
    return Drawing(key, {"layer": layers, "height": 300, "width": PANEL})


# -------------------------------------------------------------------------------- rows of points


def dot_rows(
    key: str,
    *,
    rows: Sequence[tuple[str, Sequence[Estimate]]],
    series: Sequence[str],
    xlabel: str,
    line: float | None = None,
) -> Drawing:
    """Draw a row of points with intervals for each split or model, to compare them.

    Args:
        key: Key of the picture.
        rows: Name of each row, and its estimates, one per series.
        series: Names of the series, such as ("accuracy", "mean confidence").
        xlabel: Title of the horizontal axis.
        line: Position of a dashed vertical line. If None, there is no line.
    """
    intervals = []
    points = []
    lowest = 0.0
    for row_number, (label, estimates) in enumerate(rows):
        for name, estimate in zip(series, estimates, strict=True):
            # The difference of a share and its control may be below 0.
            lowest = min(lowest, estimate.low or 0.0)
            if estimate.value is None:
                continue
            interval = {
                "row": row_number,
                "series": shortened(name),
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
            }
            intervals.append(interval)
            # The note belongs to the point, which is drawn above the interval.
            points.append({**interval, "note": f"{label}, {name}: {format_estimate(estimate)}"})
    x = axis("low", xlabel, percent=True, domain=(lowest, 1))
    channels = _make_series_channels([shortened(name) for name in series])
    channels["y"] = _make_row_channel([label for label, _ in rows])
    n_points_by_row = Counter(point["row"] for point in points)
    # Only points that share a row are moved apart.
    if all(n_points == 1 for n_points in n_points_by_row.values()):
        del channels["yOffset"]
    # Lines have no markers.
    shape = channels.pop("shape")
    layers = []
    if line is not None:
        layers.append(layer({"type": "rule", "strokeDash": DASHES}, [{"x": line}], x="x"))
    interval_look = {"type": "rule", "strokeWidth": 2}
    layers.append(layer(interval_look, intervals, x=x, x2={"field": "high"}, **channels))
    point_look = {"type": "point", "filled": True, "size": 55, "opacity": 1}
    layers.append(layer(point_look, points, x="value", shape=shape, **channels))
    # The distance of the rows in pixels is smaller if there are many.
    row_height = 44 if len(rows) < 10 else 28
    return Drawing(key, {"layer": layers, "height": 90 + row_height * len(rows), **FIT})


def _make_row_channel(labels: Sequence[str]) -> dict[str, Any]:
    """Return the channel of Vega-Lite for the vertical position of rows, with labels at the axis.

    The field `row` has the number of each row, because two rows may have the same label. An expression
    of Vega looks up the label of a number.

    Args:
        labels: Label of each row; a long one is written in two lines.
    """
    lines_by_row = json.dumps([wrapped(label) for label in labels])
    return {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": [*range(len(labels))], "paddingInner": 0.1, "paddingOuter": 0.1},
        "axis": {
            "labelExpr": f"{lines_by_row}[datum.value]",
            "grid": False,
            "ticks": False,
            "domain": False,
            "title": None,
        },
    }


def _make_series_channels(names: Sequence[str]) -> dict[str, Any]:
    """Return three channels of Vega-Lite for the field `series`: its offset, color and marker.

    Args:
        names: Names of the series, in the order of the legend.

    Returns:
        `yOffset`, the position of the series within a row; `color`; and `shape`.
    """
    channel = {"field": "series", "type": "nominal"}
    # The axis says what a single series is.
    legend = {"columns": min(3, len(names))} if len(names) > 1 else None
    colors = [PALETTE[color] for color in cycle(SERIES, len(names))]
    offsets: dict[str, Any] = {"domain": names}
    # A single series is in the middle of its row.
    if len(names) > 1:
        offsets["paddingOuter"] = 1.2
    return {
        "yOffset": {**channel, "scale": offsets},
        "color": {**channel, "scale": {"domain": names, "range": colors}, "legend": legend},
        "shape": {
            **channel,
            "scale": {"domain": names, "range": cycle(MARKERS, len(names))},
            "legend": legend,
        },
    }


def shortened(name: str, max_chars: int = 26) -> str:
    """Shorten a user's name to what fits next to an axis.

    Example:
        >>> shortened("a name that would push the picture aside")
        'a name that would push th…'
    """
    if len(name) <= max_chars:
        return name
    return f"{name[: max_chars - 1]}…"


def wrapped(name: str, width: int = 26) -> list[str]:
    """Break a name that does not fit next to an axis into two lines; longer ones are cut.

    Example:
        >>> wrapped("swapped for a word of like frequency")
        ['swapped for a word of like', 'frequency']
    """
    return textwrap.wrap(name, width, max_lines=2, placeholder="…") or [name]


# -------------------------------------------------------------------------------- curves


@dataclasses.dataclass(frozen=True)
class Curve:
    """A line, perhaps with intervals.

    Attributes:
        name: Its name in the legend.
        estimates: (M,) values, perhaps with intervals; None leaves a gap.
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
    """Draw lines of shares over an increasing quantity, such as the steps of training.

    Args:
        key: Key of the picture.
        x: (M,) values of the quantity in ascending order.
        lines: The lines, each with M shares in [0, 1], or differences of shares if `zero` is True.
        xlabel: Name of the quantity.
        ylabel: Name of the shares.
        zero: Whether to draw a line at 0. The vertical axis then has the range of the values instead
            of [0, 1].
    """
    domain = None
    if not zero:
        domain = (0.0, 1.0)
    ticks: dict[str, Any] = {}
    # If the quantity has a few whole values, such as 1, 2 and 3, each is labeled at the axis.
    if len(x) <= 10 and all(float(value).is_integer() for value in x):
        ticks["values"] = list(x)
    x_axis = axis("x", xlabel, scale={"zero": False, "nice": False}, format=".3~g", **ticks)
    y_axis = axis("y", ylabel, percent=True, domain=domain)
    low_axis = axis("low", ylabel, percent=True, domain=domain)
    names = [line.name for line in lines]
    colors = dict(zip(names, cycle(SERIES, len(names)), strict=True))
    # A missing value interrupts the line and the area of its interval.
    area_look = {"type": "area", "opacity": 0.14, "invalid": "break-paths-filter-domains"}
    layers = []
    for line, marker in zip(lines, cycle(MARKERS, len(lines)), strict=True):
        rows = []
        for position, line_estimate in zip(x, line.estimates, strict=True):
            estimate = line_estimate or Estimate(None)
            row = {"x": position, "y": estimate.value, "low": estimate.low, "high": estimate.high}
            rows.append(row)
        color = series_of(line.name, colors, symbolType="stroke")
        area = layer(area_look, rows, x=x_axis, y=low_axis, y2={"field": "high"}, color=color)
        line_look: dict[str, Any] = {
            "type": "line",
            "strokeWidth": 2,
            "invalid": "break-paths-filter-domains",
            "point": {"shape": marker, "size": 35},
        }
        if line.dashed:
            line_look["strokeDash"] = DASHES
        layers += [area, layer(line_look, rows, x=x_axis, y=y_axis, color=color)]
    if zero:
        layers.append(layer("rule", [{"y": 0}], y=y_axis))
    return Drawing(key, {"layer": layers, "height": 330, **FIT})

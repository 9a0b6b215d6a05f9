"""The heat map of pass rates: one row per model, one cell per functionality."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rightreasons.behavior.rates import BehavioralPassRate
from rightreasons.core.arrays import Floats
from rightreasons.page.plots import PALETTE, Drawing, layer, shortened

Rates: TypeAlias = BehavioralPassRate | Mapping[str, float | None]
"""Pass rates of one row: a result of `pass_rates`, or pass rate by functionality."""

HOW_TO_READ = (
    "Dark cells have low pass rates. The name of a class is next to its first functionality, the test "
    "type (MFT, INV or DIR) follows each name, and the last cell is the mean. The table below has the "
    "intervals."
)
SOURCE = "Ribeiro et al. 2020; drawn as Luz de Araujo & Roth 2023, figure 1"

# The lower the rate, the darker the color, so that the map can be read in gray and without color vision.
_RATE_COLORS = ("#5a1705", "#a83c14", "#e2824a", "#f1c49d", "#e3e6ea", "#d3e1f7")

# Numbers in cells keep their color on a dark page.
_DARK_INK = "#17202e"
_LIGHT_INK = "#ffffff"

_MAX_COLUMN_NAME = 46
"""Maximum number of characters of the name of a functionality."""

_MAX_ROW_NAME = 34
"""Maximum number of characters of the name of a row."""

_MAX_NUMBERED_ROWS = 12
"""Maximum number of rows whose cells have numbers; the cells of more rows are too small."""

_MAX_WIDE_COLUMNS = 10
"""Maximum number of functionalities side by side: on half a page, more are too small to read."""

_MAX_TALL_ROWS = 6
"""Maximum number of models side by side if the functionalities are below each other."""

_MEAN = "mean"
"""Name of the last column."""

Cell: TypeAlias = dict[str, Any]
"""One record of the data of the heat map, with its position x and y."""


def list_columns(result: BehavioralPassRate) -> list[tuple[str, str, str]]:
    """Return (name, class, test type) of each functionality of a result, in the suite's order.

    These are the columns of `behavior_heat_map`.
    """
    columns = []
    for row in result.functionalities:
        columns.append((row.functionality, row.functionality_class, row.test_type))
    return columns


def behavior_heat_map(
    key: str,
    *,
    rows: Mapping[str, Rates],
    functionalities: Sequence[tuple[str, str, str]],
    numbers: Sequence[int] | None = None,
) -> Drawing:
    """Draw pass rates as a heat map: one row per model or method, one column per functionality.

    Columns keep the order of `functionalities`. The name of a class is next to its first column, the
    test type follows each name, and the last column is the unweighted mean of the defined rates of a
    row. Cells show their percentage if there are at most 12 rows. The functionalities of a single
    model, and more than 10 of few models, are drawn below each other, so that their names can be
    read.

    Args:
        key: Key of the picture.
        rows: Name of each row -> its pass rates in [0, 1], None for an undefined one: a result of
            `pass_rates`, or a mapping by the name of the functionality (missing ones are
            undefined).
        functionalities: (name, class, test type) of each column.
        numbers: Number of each column. None (default) for 1, 2, ….

    Returns:
        The drawing.

    Raises:
        ValueError: If there is no row or no column, a row has a functionality without a column, or
            a value is not a fraction.
    """
    if not rows or not functionalities:
        raise ValueError("Expected at least one row and one column of pass rates, but got none.")
    names = [name for name, _, _ in functionalities]
    rates = np.stack([_parse_row(row, values, names) for row, values in rows.items()])
    is_numbered = len(rows) <= _MAX_NUMBERED_ROWS
    # The names of functionalities below each other need no turned head, also on a phone.
    is_tall = len(rows) == 1
    if len(functionalities) > _MAX_WIDE_COLUMNS:
        is_tall = len(rows) <= _MAX_TALL_ROWS

    if numbers is None:
        numbers = range(1, len(functionalities) + 1)
    column_labels = []
    for number, (name, _, test_type) in zip(numbers, functionalities, strict=True):
        column_labels.append(f"{number}  {shortened(name, _MAX_COLUMN_NAME)}  {test_type}")
    row_labels = [shortened(name, _MAX_ROW_NAME) for name in rows]
    axes = _Axes.make(row_labels, column_labels, is_tall=is_tall)
    cells = _list_cells(rates)
    if is_tall:
        # Functionalities are on the vertical axis.
        cells = [{**cell, "x": cell["y"], "y": cell["x"]} for cell in cells]
    layers = _make_cell_layers(cells, axes, is_numbered=is_numbered)
    layers.append(_make_class_layer(functionalities, axes))

    # Sizes in pixels.
    if is_tall:
        width: float = 48 * len(rows)
        height = 17 * axes.n_functionalities
    else:
        column_width = float(np.clip(864 / len(functionalities), 21, 48))
        # Numbers in cells need a higher row.
        row_height = 29 if is_numbered else 19
        width = column_width * axes.n_functionalities
        height = row_height * len(rows)
    return Drawing(key, {"layer": layers, "width": width, "height": height})


def rate_colors(rate: float) -> tuple[str, str]:
    """Return the color of a cell of the heat map, and the color of the number on it.

    The color of the cell is interpolated linearly between dark brown for 0 and light blue for 1, as
    in Vega.

    Args:
        rate: Pass rate in [0, 1].

    Example:
        >>> rate_colors(0.0), rate_colors(1.0)
        (('#5a1705', '#ffffff'), ('#d3e1f7', '#17202e'))
    """
    stops = np.linspace(0, 1, len(_RATE_COLORS))
    channels = []
    # "#rrggbb" has red at character 1, green at 3 and blue at 5.
    for start in (1, 3, 5):
        values = [int(color[start : start + 2], 16) for color in _RATE_COLORS]
        channels.append(float(np.interp(rate, stops, values)))
    red, green, blue = channels

    # The number is white on a dark cell. A cell is dark if its relative luminance (Rec. 709) is in
    # the lower half of the range from 0 to 255.
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    ink = _LIGHT_INK if luminance < 127.5 else _DARK_INK
    return f"#{round(red):02x}{round(green):02x}{round(blue):02x}", ink


def whole_percent(value: float) -> str:
    """Return a rate as a whole percentage, which is "0" only for 0 and "100" only for 1.

    Example:
        >>> [whole_percent(value) for value in (0.0, 0.001, 0.5, 0.998, 1.0)]
        ['0', '1', '50', '99', '100']
    """
    if value in (0.0, 1.0):
        return str(round(100 * value))
    return str(min(99, max(1, round(100 * value))))


# ---------------------------------------------------------------------------------- data


def _parse_row(row: str, rates: Rates, names: Sequence[str]) -> Floats:
    """Check the pass rates of a row, and return them in the order of the columns.

    Args:
        row: Name of the row, for error messages.
        rates: Result of `pass_rates`; or functionality -> pass rate, None if it is undefined.
        names: F names of the functionalities, one per column.

    Returns:
        (F,) pass rates, NaN for undefined and missing ones.

    Raises:
        ValueError: If a functionality has no column, or a rate is not in [0, 1].
    """
    if isinstance(rates, BehavioralPassRate):
        rates = {result.functionality: result.pass_rate for result in rates.functionalities}
    unknown_names = rates.keys() - set(names)
    if unknown_names:
        raise ValueError(
            f"Expected functionalities of the columns in row {row!r}, "
            f"but got {min(unknown_names)!r}."
        )
    for name, rate in rates.items():
        # Percentages, such as 95, would be drawn as if all cases passed.
        if rate is not None and not 0 <= rate <= 1:
            raise ValueError(
                f"Expected pass rates in [0, 1], but row {row!r} has {rate:g} in {name!r}."
            )
    # None becomes NaN.
    return np.array([rates.get(name) for name in names], dtype=np.float64)


def _list_cells(rates: Floats) -> list[Cell]:
    """Return the cells of the heat map as records, such as `{"x": 3, "y": 0, "rate": 0.95}`.

    Args:
        rates: (R, F) pass rates of R rows and F functionalities, NaN for undefined ones.

    Returns:
        R x F cells, where x is the column and y the row; and then the mean of each row, whose x is
        "mean".
    """
    cells: list[Cell] = []
    for y, row in enumerate(rates.tolist()):
        for x, rate in enumerate(row):
            cells.append({"x": x, "y": y, "rate": rate})
    # The mean of a row is over its defined rates; NaN if there are none.
    means = np.ma.masked_invalid(rates).mean(axis=1).filled(np.nan)
    for y, rate in enumerate(means.tolist()):
        cells.append({"x": _MEAN, "y": y, "rate": rate})
    return cells


# -------------------------------------------------------------------------------- layers


@dataclasses.dataclass(frozen=True)
class _Axes:
    """Vega-Lite encodings of the two axes.

    Attributes:
        x: Encoding of the horizontal axis.
        y: Encoding of the vertical axis.
        n_functionalities: Number of positions on the axis of the functionalities: one for each, an
            empty one, and one for the means.
        is_tall: Whether the functionalities are on the vertical axis.
    """

    x: Mapping[str, Any]
    y: Mapping[str, Any]
    n_functionalities: int
    is_tall: bool

    @classmethod
    def make(cls, names: Sequence[str], labels: Sequence[str], *, is_tall: bool) -> _Axes:
        """Make the axes of the heat map.

        Args:
            names: Name of each model or method.
            labels: Label of each functionality.
            is_tall: Whether the functionalities are on the vertical axis.
        """
        # The data contains indices, because two functionalities, or models, may have the same shortened
        # name. These expressions of Vega look up the label of an index.
        functionality_label = (
            f"datum.value === '{_MEAN}' ? '{_MEAN}' : ({json.dumps(labels)}[datum.value] || '')"
        )
        model_label = f"{json.dumps(names)}[datum.value]"

        # An empty position separates the means from the functionalities.
        domain = [*range(len(labels)), "", _MEAN]
        axis: dict[str, Any] = {"domain": False, "ticks": False, "title": None}
        functionality_axis = {**axis, "labelFontSize": 10, "labelExpr": functionality_label}
        model_axis = {**axis, "labelExpr": model_label}
        if is_tall:
            # Names of functionalities are long. Names of models are slanted above narrow columns.
            functionality_axis["labelLimit"] = 400
            model_axis["orient"] = "top"
            model_axis["labelAngle"] = -45
        else:
            functionality_axis["labelAngle"] = -90
        functionality_encoding = {
            "type": "ordinal",
            "scale": {"domain": domain},
            "axis": functionality_axis,
        }
        model_encoding = {"type": "ordinal", "axis": model_axis}
        if is_tall:
            x, y = model_encoding, functionality_encoding
        else:
            x, y = functionality_encoding, model_encoding
        return cls(
            x={"field": "x", **x},
            y={"field": "y", **y},
            n_functionalities=len(domain),
            is_tall=is_tall,
        )


def _make_class_layer(
    functionalities: Sequence[tuple[str, str, str]], axes: _Axes
) -> dict[str, Any]:
    """Return the Vega-Lite layer with the name of each class next to its first functionality.

    Args:
        functionalities: (name, class, test type) of each functionality. Functionalities of the same
            class are adjacent.
        axes: The axes of the heat map.
    """
    field = "y" if axes.is_tall else "x"
    class_names: list[Cell] = []
    previous_class = None
    for index, (_, functionality_class, _) in enumerate(functionalities):
        if functionality_class != previous_class:
            class_names.append({field: index, "name": functionality_class})
            previous_class = functionality_class
    mark: dict[str, Any] = {
        "type": "text",
        "align": "left",
        "fontWeight": "bold",
        "color": PALETTE["ink"],
    }
    if axes.is_tall:
        # Write the names to the right of the map.
        mark["x"] = {"expr": "width + 8"}
        return layer(mark, class_names, y=axes.y, text={"field": "name"})
    # Write the names above the map, slanted, because columns are narrow.
    mark["angle"] = 315
    mark["y"] = -5
    return layer(mark, class_names, x=axes.x, text={"field": "name"})


def _make_cell_layers(
    cells: Sequence[Cell], axes: _Axes, *, is_numbered: bool
) -> list[dict[str, Any]]:
    """Return the Vega-Lite layers of the cells, of the numbers on them, and of the undefined cells.

    Args:
        cells: Records {"x": …, "y": …, "rate": …}; the rate is NaN for an undefined cell.
        axes: The axes of the heat map.
        is_numbered: Whether all cells show their percentage. Otherwise, only the means do.
    """
    defined = []
    numbers = []
    undefined = []
    for cell in cells:
        rate = cell["rate"]
        if np.isnan(rate):
            undefined.append({"x": cell["x"], "y": cell["y"], "text": "–"})
            continue
        defined.append(cell)
        is_mean = _MEAN in (cell["x"], cell["y"])
        if is_numbered or is_mean:
            _, ink = rate_colors(rate)
            numbers.append({**cell, "text": whole_percent(rate), "ink": ink})

    position = {"x": axes.x, "y": axes.y}
    text = {"field": "text"}
    square = {"type": "rect", "stroke": PALETTE["paper"]}
    number = {
        "type": "text",
        "fontSize": 9,
        "color": {"expr": "datum.ink"},
    }
    blank_square = {"type": "rect", "color": PALETTE["paper"], "stroke": PALETTE["band"]}
    return [
        layer(square, defined, **position, color=_make_color_encoding()),
        layer(number, numbers, **position, text=text),
        layer(blank_square, undefined, **position),
        layer("text", undefined, **position, text=text),
    ]


def _make_color_encoding() -> dict[str, Any]:
    """Return the Vega-Lite encoding of a rate by color, with its legend."""
    legend = {
        "title": "cases that pass",
        "orient": "bottom",
        "format": ".0%",
        "gradientLength": 150,
    }
    # The whole range from 0 to 1, so that the colors of two reports can be compared.
    scale = {
        "domain": [0, 1],
        "range": _RATE_COLORS,
        "interpolate": "rgb",
    }
    return {
        "field": "rate",
        "type": "quantitative",
        "scale": scale,
        "legend": legend,
    }

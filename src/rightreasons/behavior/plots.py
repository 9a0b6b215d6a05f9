"""The heat map of pass rates: one row per model, one cell per functionality."""

from __future__ import annotations

import dataclasses
import itertools
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
    "Dark cells fail. The name of a class is above its first column, the letter after a label is "
    "the test type, and the last column is the mean. The table below has the intervals."
)
SOURCE = "Ribeiro et al. 2020; drawn as Luz de Araujo & Roth 2023, figure 1"

# Lightness alone gives the order, so that the map is readable in gray and without color vision:
# failing cells are dark.
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

_MEAN = "mean"
"""Name of the last column."""

Cell: TypeAlias = dict[str, Any]
"""One record of the data of the heat map, with its column x and its row y."""


def list_columns(result: BehavioralPassRate) -> list[tuple[str, str, str]]:
    """Return (name, class, test type) of each functionality of a result, in the suite's order."""
    columns = []
    for row in result.functionalities:
        columns.append((row.functionality, row.functionality_class, row.test_type))
    return columns


def behavior_heat_map(
    key: str, *, rows: Mapping[str, Rates], functionalities: Sequence[tuple[str, str, str]]
) -> Drawing:
    """Draw pass rates as a heat map: one row per model or method, one column per functionality.

    Columns keep the given order and are numbered from 1. The name of a class is above its first
    column, the letter of a label is the test type, and the last column is the unweighted mean of
    the defined rates of a row. Cells show their percentage if there are at most 12 rows.

    Args:
        key: Key of the picture.
        rows: Name of each row -> its pass rates in [0, 1], None for an undefined one: a result of
            `pass_rates`, or a mapping by the name of the functionality (missing ones are
            undefined).
        functionalities: (name, class, test type) of each column.

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

    axes = _Axes.make(list(rows), functionalities)
    layers = _make_cell_layers(_list_cells(rates), axes, is_numbered=is_numbered)
    layers.append(_make_class_layer(functionalities, axes))

    column_width = float(np.clip(864 / len(functionalities), 21, 48))
    row_height = 29 if is_numbered else 19
    spec = {
        "layer": layers,
        "width": column_width * axes.n_columns,
        "height": row_height * len(rows),
    }
    return Drawing(key, spec)


def rate_colors(rate: float) -> tuple[str, str]:
    """Return the colors of a cell and of the number on it, for other ways to draw the cells.

    Example:
        >>> rate_colors(0.0), rate_colors(1.0)
        (('#5a1705', '#ffffff'), ('#d3e1f7', '#17202e'))
    """
    stops = np.linspace(0, 1, len(_RATE_COLORS))
    channels = []
    for start in (1, 3, 5):
        values = [int(color[start : start + 2], 16) for color in _RATE_COLORS]
        channels.append(float(np.interp(rate, stops, values)))
    red, green, blue = channels

    # Relative luminance (Rec. 709) decides which ink can be read.
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    ink = _LIGHT_INK if luminance < 127.5 else _DARK_INK
    return f"#{round(red):02x}{round(green):02x}{round(blue):02x}", ink


def whole_percent(value: float) -> str:
    """Return a rate in percent; 0 and 100 only if all cases fail or pass: 0.998 is 99, not 100.

    Example:
        >>> [whole_percent(value) for value in (0.0, 0.001, 0.5, 0.998, 1.0)]
        ['0', '1', '50', '99', '100']
    """
    if value in (0.0, 1.0):
        return str(round(100 * value))
    return str(min(99, max(1, round(100 * value))))


# ---------------------------------------------------------------------------------- data


def _parse_row(row: str, rates: Rates, names: Sequence[str]) -> Floats:
    """Return the (F,) pass rates of a row in the order of the columns, NaN for undefined ones."""
    if isinstance(rates, BehavioralPassRate):
        rates = {result.functionality: result.pass_rate for result in rates.functionalities}
    unknown_names = rates.keys() - set(names)
    if unknown_names:
        raise ValueError(
            f"Expected functionalities of the columns in row {row!r}, "
            f"but got {min(unknown_names)!r}."
        )
    # Percentages would color all cells as passed.
    for name, rate in rates.items():
        if rate is not None and not 0 <= rate <= 1:
            raise ValueError(
                f"Expected pass rates in [0, 1], but row {row!r} has {rate:g} in {name!r}."
            )
    return np.array([rates.get(name) for name in names], dtype=np.float64)


def _list_cells(rates: Floats) -> list[Cell]:
    """Return one record per cell, (row, column), and then one per mean."""
    cells: list[Cell] = []
    for y, row in enumerate(rates.tolist()):
        for x, rate in enumerate(row):
            cells.append({"x": x, "y": y, "rate": rate})
    # A row without a defined rate has no mean either.
    means = np.ma.masked_invalid(rates).mean(axis=1).filled(np.nan)
    for y, rate in enumerate(means.tolist()):
        cells.append({"x": _MEAN, "y": y, "rate": rate})
    return cells


# -------------------------------------------------------------------------------- layers


@dataclasses.dataclass(frozen=True)
class _Axes:
    """Vega-Lite encodings of the two axes.

    Attributes:
        x: Encoding of the columns.
        y: Encoding of the rows.
        n_columns: Number of columns, including an empty one and that of the means.
    """

    x: Mapping[str, Any]
    y: Mapping[str, Any]
    n_columns: int

    @classmethod
    def make(cls, rows: Sequence[str], functionalities: Sequence[tuple[str, str, str]]) -> _Axes:
        """Make the axes from the names of the rows and of the columns."""
        labels = []
        for number, (name, _, test_type) in enumerate(functionalities, start=1):
            labels.append(f"{number}  {shortened(name, _MAX_COLUMN_NAME)}  {test_type[:1]}")
        names = [shortened(name, _MAX_ROW_NAME) for name in rows]

        # Data hold the index of a column, since two functionalities may have one shortened name.
        column_label = (
            f"datum.value === '{_MEAN}' ? '{_MEAN}' : ({json.dumps(labels)}[datum.value] || '')"
        )
        row_label = f"{json.dumps(names)}[datum.value]"

        # An empty column separates the means.
        domain = [*range(len(labels)), "", _MEAN]
        look = {"domain": False, "ticks": False, "title": None}
        x = {
            "field": "x",
            "type": "ordinal",
            "scale": {"domain": domain},
            "axis": {
                **look,
                "labelAngle": -90,
                "labelFontSize": 10,
                "labelExpr": column_label,
            },
        }
        y = {
            "field": "y",
            "type": "ordinal",
            "axis": {**look, "labelExpr": row_label},
        }
        return cls(x=x, y=y, n_columns=len(domain))


def _make_class_layer(
    functionalities: Sequence[tuple[str, str, str]], axes: _Axes
) -> dict[str, Any]:
    """Return the layer with the name of each class above its first column."""
    # Functionalities of a class are neighbors in a suite.
    names = []
    start = 0
    for name, members in itertools.groupby(functionalities, key=lambda column: column[1]):
        names.append({"x": start, "name": name})
        start += len(list(members))
    look = {
        "type": "text",
        "angle": 315,
        "align": "left",
        "fontWeight": "bold",
        "color": PALETTE["ink"],
        "y": -5,
    }
    return layer(look, names, x=axes.x, text={"field": "name"})


def _make_cell_layers(
    cells: Sequence[Cell], axes: _Axes, *, is_numbered: bool
) -> list[dict[str, Any]]:
    """Return the layers of the cells, of their numbers, and of the undefined cells.

    Means have numbers even if there are too many rows for numbers in the other cells.
    """
    defined = []
    numbers = []
    gaps = []
    for cell in cells:
        rate = cell["rate"]
        if np.isnan(rate):
            gaps.append({"x": cell["x"], "y": cell["y"], "text": "–"})
            continue
        defined.append(cell)
        if is_numbered or cell["x"] == _MEAN:
            _, ink = rate_colors(rate)
            number = whole_percent(rate)
            numbers.append({**cell, "text": number, "ink": ink})

    position = {"x": axes.x, "y": axes.y}
    text = {"field": "text"}
    square = {"type": "rect", "stroke": PALETTE["paper"]}
    number_look = {
        "type": "text",
        "fontSize": 9,
        "color": {"expr": "datum.ink"},
    }
    blank = {"type": "rect", "color": PALETTE["paper"], "stroke": PALETTE["band"]}
    return [
        layer(square, defined, **position, color=_make_color_encoding()),
        layer(number_look, numbers, **position, text=text),
        layer(blank, gaps, **position),
        layer("text", gaps, **position, text=text),
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

"""The picture about behavior: pass rates of one model or several, one cell per functionality."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rightreasons.behavior.measure import JudgedCase, JudgedExample, SuiteAnswers
from rightreasons.behavior.rates import BehavioralPassRate
from rightreasons.core.arrays import Floats
from rightreasons.core.suites import EXPECTATIONS
from rightreasons.page.plots import PALETTE, Drawing, layer, shortened
from rightreasons.page.prose import Prose, percent

TYPES = {
    "MFT": ("minimum functionality", "the answer is known"),
    "INV": ("invariance", "it must not change"),
    "DIR": ("directional", "it must move one way"),
}
"""Name of each test type, and what it asks of the answer."""


PROSE = Prose(Path(__file__).with_name("words.md.j2"))
"""What each expectation asks: `rule.NAME`; and of which cases and examples: `conditions`."""


def rule(answers: SuiteAnswers, number: int) -> str:
    """Say what a functionality expects of all its cases."""
    spec = answers.suite.functionalities[number].expectation
    called = functools.partial(_called, answers)
    limits = {"tolerance": _tolerance(spec), "limit": _limit(spec)}
    say = PROSE.of(answers=answers, spec=spec, called=called, **limits)
    return " ".join(filter(None, (say(f"rule.{spec['name']}"), say("conditions"))))


def expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Name the answer that is expected whatever the others are; "" where there is none."""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_called(answers, spec['value'])}"
    value = spec.get("value") if spec["name"] == "equal" else None
    label = answers.table.labels[example.row] if value is None else value
    return "" if spec["name"] != "equal" or label is None else answers.called(label)


def movement(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say how the confidence moves from the original to an example; "" without probabilities."""
    table, rows = answers.probabilities, (case.examples[0].row, example.row)
    if table is None:
        return ""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "sentiment_shift":
        name, values = (
            "P(positive) − P(negative)",
            [float(table[row, 2] - table[row, 0]) for row in rows],
        )
    else:
        label = spec.get("label")
        answer = int(answers.answers[rows[0]] if label is None else label)
        name, values = f"P({answers.called(answer)})", [float(table[row, answer]) for row in rows]
    return f"{name} from {percent(values[0])} to {percent(values[1])}"


def _called(answers: SuiteAnswers, answer: Any) -> str:
    return f"“{answer}”" if isinstance(answer, str) else answers.called(answer)


def _limit(spec: Mapping[str, Any]) -> str:
    rises = spec.get("increasing", spec.get("positive"))
    tolerance = _tolerance(spec)
    return f"must not {'fall' if rises else 'rise'}{'' if tolerance == '0' else f' by more than {tolerance}'}"


def _tolerance(spec: Mapping[str, Any]) -> str:
    parameter, said = (
        EXPECTATIONS[spec["name"]].model_fields.get("tolerance"),
        spec.get("tolerance"),
    )
    return "" if parameter is None else f"{parameter.default if said is None else said:g}"


Rates: TypeAlias = BehavioralPassRate | Mapping[str, float | None]

HOW_TO_READ = (
    "Dark cells fail. The name of a class is above its first column; the letter behind a label is the test type; the "
    "last column is the mean. Intervals are in the table below."
)
SOURCE = "Ribeiro et al. 2020; drawn as Luz de Araujo & Roth 2023, figure 1"

# Lightness alone gives the order, so that it can be read in gray and without telling hues apart: failing is dark.
_RATES = ("#5a1705", "#a83c14", "#e2824a", "#f1c49d", "#e3e6ea", "#d3e1f7")
_DARK, _LIGHT = "#17202e", "#ffffff"  # numbers in cells keep their color on a dark page
_LONGEST_COLUMN, _LONGEST_ROW = 46, 34  # characters of a name beside an axis
_MOST_NUMBERED = 12  # rows whose cells have room for numbers
_MEAN = "mean"


def columns_of(result: BehavioralPassRate) -> list[tuple[str, str, str]]:
    """Return (name, class, test type) of each functionality of a result, in the suite's order."""
    return [
        (each.functionality, each.functionality_class, each.test_type)
        for each in result.functionalities
    ]


def behavior_heat_map(
    key: str, *, rows: Mapping[str, Rates], functionalities: Sequence[tuple[str, str, str]]
) -> Drawing:
    """Draw pass rates as a heat map: one row per model (or configuration and method), one column per functionality.

    Columns keep the given order and are numbered from 1; the name of a class is above its first column; the letter of a
    label is the test type; the last column is the unweighted mean of what is defined in a row. Cells hold their
    percentage where there are at most 12 rows.

    Args:
        key: The key of the picture.
        rows: Name of the row -> its pass rates in [0, 1], None where undefined: a result of `pass_rates`, or a mapping
            from the name of a functionality (what it lacks is undefined).
        functionalities: (name, class, test type) of each column.

    Returns:
        The drawing.

    Raises:
        ValueError: If there is no row or no column, a row names a functionality that is no column, or a value is not a
            fraction.
    """
    if not rows or not functionalities:
        raise ValueError("Expected at least one row and one column of pass rates, but got none.")
    values = np.stack(
        [_row(row, rates, [name for name, *_ in functionalities]) for row, rates in rows.items()]
    )
    means = np.ma.masked_invalid(values).mean(axis=1).filled(np.nan)
    cells = [
        {"x": x, "y": y, "rate": rate}
        for y, row in enumerate(values.tolist())
        for x, rate in enumerate(row)
    ] + [{"x": _MEAN, "y": y, "rate": rate} for y, rate in enumerate(means.tolist())]
    labels = [
        f"{number}  {shortened(name, _LONGEST_COLUMN)}  {kind[:1]}"
        for number, (name, _, kind) in enumerate(functionalities, start=1)
    ]
    look = {"domain": False, "ticks": False, "title": None}
    named = f"datum.value === '{_MEAN}' ? '{_MEAN}' : ({json.dumps(labels)}[datum.value] || '')"
    slanted = {"labelAngle": -90, "labelFontSize": 10, "labelExpr": named}
    domain = [*range(len(labels)), "", _MEAN]  # an empty column stands before the means
    x = {"field": "x", "type": "ordinal", "scale": {"domain": domain}, "axis": {**look, **slanted}}
    names = f"{json.dumps([shortened(name, _LONGEST_ROW) for name in rows])}[datum.value]"
    y = {"field": "y", "type": "ordinal", "axis": {**look, "labelExpr": names}}
    wide = float(np.clip(864 / len(labels), 21, 48))
    runs = [
        (name, len(list(members)))
        for name, members in itertools.groupby(group for _, group, _ in functionalities)
    ]
    begins = np.cumsum([0, *(size for _, size in runs)])[:-1].tolist()
    names_of_classes = [
        {"x": place, "name": name} for place, (name, _) in zip(begins, runs, strict=True)
    ]
    above = {
        "type": "text",
        "angle": 315,
        "align": "left",
        "fontWeight": "bold",
        "color": PALETTE["ink"],
        "y": -5,
    }
    classes = layer(above, names_of_classes, x=x, text={"field": "name"})
    layers = [*_cells(cells, x, y, numbered=len(rows) <= _MOST_NUMBERED), classes]
    height = (29 if len(rows) <= _MOST_NUMBERED else 19) * len(rows)
    return Drawing(key, {"layer": layers, "width": wide * len(domain), "height": height})


def rate_colors(rate: float) -> tuple[str, str]:
    """Return the color of a cell and of the number on it, for other ways to draw the cells.

    Example:
        >>> rate_colors(0.0), rate_colors(1.0)
        (('#5a1705', '#ffffff'), ('#d3e1f7', '#17202e'))
    """
    stops = np.linspace(0, 1, len(_RATES))
    table = np.array(
        [[int(color[place : place + 2], 16) for place in (1, 3, 5)] for color in _RATES]
    )
    red, green, blue = (float(np.interp(rate, stops, channel)) for channel in table.T)
    dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 127.5
    return f"#{round(red):02x}{round(green):02x}{round(blue):02x}", _LIGHT if dark else _DARK


def whole_percent(value: float) -> str:
    """Write 0 and 100 only where all cases fail or pass: 0.998 is 99, not 100.

    Example:
        >>> [whole_percent(value) for value in (0.0, 0.001, 0.5, 0.998, 1.0)]
        ['0', '1', '50', '99', '100']
    """
    return f"{value:.0%}"[:-1] if value in (0.0, 1.0) else str(min(99, max(1, round(100 * value))))


# ------------------------------------------------------------------------------------------------------------- private


def _row(row: str, rates: Rates, names: Sequence[str]) -> Floats:
    if isinstance(rates, BehavioralPassRate):
        rates = {each.functionality: each.pass_rate for each in rates.functionalities}
    if strange := rates.keys() - set(names):
        raise ValueError(
            f"Expected functionalities of the columns in row {row!r}, but got {min(strange)!r}."
        )
    for name, rate in rates.items():
        if rate is not None and not 0 <= rate <= 1:
            raise ValueError(
                f"Expected pass rates in [0, 1], but row {row!r} has {rate:g} in {name!r}."
            )
    return np.array([rates.get(name) for name in names], dtype=np.float64)


def _cells(
    cells: Sequence[Mapping[str, Any]], x: Any, y: Any, *, numbered: bool
) -> list[dict[str, Any]]:
    """Return the layers of the cells and their numbers; means have theirs even where there are too many cells."""
    known = [cell for cell in cells if not np.isnan(cell["rate"])]
    gradient = {
        "title": "cases that pass",
        "orient": "bottom",
        "format": ".0%",
        "gradientLength": 150,
    }
    scale = {"domain": [0, 1], "range": _RATES, "interpolate": "rgb"}
    color = {"field": "rate", "type": "quantitative", "scale": scale, "legend": gradient}
    layers = [layer({"type": "rect", "stroke": PALETTE["paper"]}, known, x=x, y=y, color=color)]
    numbers = [
        {**cell, "text": whole_percent(cell["rate"]), "ink": rate_colors(cell["rate"])[1]}
        for cell in known
        if numbered or cell["x"] == _MEAN
    ]
    look = {"type": "text", "fontSize": 9, "color": {"expr": "datum.ink"}}
    layers.append(layer(look, numbers, x=x, y=y, text={"field": "text"}))
    gaps = [
        {"x": cell["x"], "y": cell["y"], "text": "–"} for cell in cells if np.isnan(cell["rate"])
    ]
    blank = {"type": "rect", "color": PALETTE["paper"], "stroke": PALETTE["band"]}
    return [
        *layers,
        layer(blank, gaps, x=x, y=y),
        layer("text", gaps, x=x, y=y, text={"field": "text"}),
    ]

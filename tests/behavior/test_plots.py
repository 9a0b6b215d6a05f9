"""The heat map of pass rates."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rightreasons.behavior.plots import behavior_heat_map, list_columns, rate_colors
from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.suites.suite import Case, Functionality, Suite

COLUMNS = [
    ("negation", "Negation", "MFT"),
    ("names $5", "Fairness", "INV"),
    ("more", "Fairness", "DIR"),
]


def texts_of(drawing) -> list[str]:
    """The texts of a picture, by their places."""
    return re.findall(r">([^<>]+)</text>", drawing.svg)


def numbers_of(drawing) -> list[str]:
    """The numbers in the cells, row by row."""
    layers = [
        part
        for part in drawing.spec["layer"]
        if part["encoding"].get("text", {}).get("field") == "text"
    ]
    rows = [row for part in layers for row in part["data"]["values"]]
    return [
        row["text"]
        for row in sorted(rows, key=lambda row: (str(row["y"]), row["x"] == "mean", str(row["x"])))
    ]


def test_cells_hold_percentages_means_and_gaps() -> None:
    rows = {"a": {"negation": 0.998, "more": 0.0}, "b": {"negation": 1.0, "names $5": 0.25}}
    drawing = behavior_heat_map("heat", rows=rows, functionalities=COLUMNS)
    # Row a: 99 (not all pass), undefined, 0, mean 0.998 / 2 = 0.499; row b: 100, 25, undefined, mean 0.625, whose
    # half is rounded to even: 62.
    assert numbers_of(drawing) == ["99", "–", "0", "50", "100", "25", "–", "62"]
    assert {"99", "0", "62", "mean"} <= set(texts_of(drawing))


def test_labels_classes_and_types() -> None:
    drawing = behavior_heat_map(
        "heat", rows={"a": {"negation": 1, "names $5": 1, "more": 1}}, functionalities=COLUMNS
    )
    texts = texts_of(drawing)
    assert [text for text in texts if text[0].isdigit() and "  " in text] == [
        "1  negation  MFT",
        "2  names $5  INV",
        "3  more  DIR",
    ]
    names = drawing.spec["layer"][-1]["data"]["values"]
    assert [(row["y"], row["name"]) for row in names] == [
        (0, "Negation"),
        (1, "Fairness"),
    ]  # next to their first functionalities
    assert {"a", "Negation", "Fairness"} <= set(texts)


def test_results_name_their_columns() -> None:
    cases = tuple(Case(str(n), ((f"text {n}",),), labels=(0,)) for n in range(4))
    suite = Suite(
        "mine", ("text",), (Functionality("negation", "Negation", "MFT", {"name": "equal"}, cases),)
    )
    result = pass_rates(np.array([0, 0, 0, 1]), suite.table(), outputs="labels")
    assert list_columns(result) == [("negation", "Negation", "MFT")]
    drawing = behavior_heat_map(
        "heat", rows={"model": result}, functionalities=list_columns(result)
    )
    assert numbers_of(drawing) == ["75", "75"]


@pytest.mark.parametrize(("rows", "columns"), [(1, 53), (30, 38), (1, 1)])
def test_every_size_is_drawn(rows: int, columns: int) -> None:
    rng = np.random.default_rng([0, rows])
    names = [
        (f"a functionality whose name is rather long, {n}", f"class {n // 5}", "MFT")
        for n in range(columns)
    ]
    rates = {f"model {row}": {name: rng.random() for name, *_ in names} for row in range(rows)}
    drawing = behavior_heat_map("heat", rows=rates, functionalities=names)
    # 30 rows are too many for numbers in cells; their means are told in any case.
    assert len(numbers_of(drawing)) == (rows if rows > 12 else rows * (columns + 1))
    assert len(texts_of(drawing)) >= rows + columns


def test_many_functionalities_of_few_models_are_below_each_other() -> None:
    names = [(f"functionality {n}", f"class {n // 4}", "MFT") for n in range(11)]
    rates = {name: 1.0 for name, *_ in names}

    tall = behavior_heat_map("heat", rows={"a": rates}, functionalities=names).spec
    wide = behavior_heat_map(
        "heat", rows={f"model {n}": rates for n in range(7)}, functionalities=names
    ).spec

    # Read from top to bottom, the names need no turned head and no zoom.
    assert tall["height"] > tall["width"]
    assert "labelAngle" not in tall["layer"][0]["encoding"]["y"]["axis"]
    assert [row["y"] for row in tall["layer"][-1]["data"]["values"]] == [0, 4, 8]
    assert wide["width"] > wide["height"]


def test_drawing_follows_the_page() -> None:
    drawing = behavior_heat_map(
        "behavior_heat_map", rows={"a": {"negation": 1.0, "names $5": 0.5}}, functionalities=COLUMNS
    )
    assert drawing.png.startswith(b"\x89PNG")
    assert "var(--plot-ink)" in drawing.svg
    assert "names $5" in drawing.svg


def test_colors_of_cells_are_those_of_their_html() -> None:
    """Half way between two stops is their mean: (0xe2 + 0xa8) / 2 = 0xc5, (0x82 + 0x3c) / 2 = 0x5f, 0x2f."""
    assert rate_colors(0.3)[0] == "#c55f2f"


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ({}, COLUMNS, "at least one row"),
        ({"a": {}}, [], "at least one row and one column"),
        ({"a": {"other": 1}}, COLUMNS, "but got 'other'"),
        ({"a": {"more": 1.5}}, COLUMNS, "row 'a' has 1.5 in 'more'"),
    ],
)
def test_bad_input(rows, columns, message) -> None:
    with pytest.raises(ValueError, match=message):
        behavior_heat_map("heat", rows=rows, functionalities=columns)

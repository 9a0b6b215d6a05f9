"""The heat map of pass rates."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.behavior.plots import behavior_heat_map, columns_of, pass_rate_heat_map
from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.suite import Suite

COLUMNS = [("negation", "Negation", "MFT"), ("names $5", "Fairness", "INV"), ("more", "Fairness", "DIR")]


def said(figure) -> list[str]:
    axis = figure.axes[0]
    return [text.get_text() for text in (*axis.texts, *axis.get_xticklabels())]


def test_cells_hold_percentages_means_and_gaps() -> None:
    figure = pass_rate_heat_map(
        {"a": {"negation": 0.998, "more": 0.0}, "b": {"negation": 1.0, "names $5": 0.25}}, COLUMNS
    )
    texts = said(figure)
    # Row a: 99 (not all pass), undefined, 0, mean 0.998 / 2 = 0.499; row b: 100, 25, undefined, mean 0.625, whose
    # half is rounded to even: 62.
    assert [text for text in texts if text.isdigit()] == ["99", "0", "100", "25", "50", "62"]
    assert "mean" in texts
    hatched = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    assert sorted(patch.get_xy() for patch in hatched) == [(0.5, -0.5), (1.5, 0.5)]
    assert any("undefined" in text.get_text() for text in figure.legends[0].get_texts())


def test_labels_classes_and_types() -> None:
    figure = pass_rate_heat_map({"a": {"negation": 1, "names $5": 1, "more": 1}}, COLUMNS)
    texts = [text for text in said(figure) if text[0].isdigit() and "  " in text]
    assert texts == ["1  negation  M", "2  names $5  I", "3  more  D"]
    (above,) = figure.axes[0].child_axes
    assert [text.get_text() for text in above.get_xticklabels()] == ["Negation", "Fairness"]
    assert above.get_xticks().tolist() == [0.0, 1.0]  # over their first columns
    (rule,) = figure.axes[0].lines  # one rule, between the two classes
    assert list(rule.get_xdata()) == [0.5, 0.5]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a"]


def test_results_name_their_columns() -> None:
    cases = tuple(Case(str(n), ((f"text {n}",),), labels=(0,)) for n in range(4))
    suite = Suite("mine", ("text",), (Functionality("negation", "Negation", "MFT", {"name": "equal"}, cases),))
    result = pass_rates(np.array([0, 0, 0, 1]), suite.table(), outputs="labels")
    assert columns_of(result) == [("negation", "Negation", "MFT")]
    assert "75" in said(pass_rate_heat_map({"model": result}, columns_of(result)))


@pytest.mark.parametrize(("rows", "columns"), [(1, 53), (30, 38), (1, 1)])
def test_every_size_is_drawn_inside_the_figure(rows: int, columns: int) -> None:
    rng = np.random.default_rng([0, rows])
    names = [(f"a functionality whose name is rather long, {n}", f"class {n // 5}", "MFT") for n in range(columns)]
    figure = pass_rate_heat_map(
        {f"model {row}": {name: rng.random() for name, *_ in names} for row in range(rows)}, names
    )
    figure.draw_without_rendering()
    whole = figure.get_tightbbox().padded(-0.01)
    width, height = figure.get_size_inches()
    assert min(whole.x0, whole.y0, width - whole.x1, height - whole.y1) >= 0
    # 30 rows are too many for numbers in cells; their means are told in any case.
    numbers = [text for text in said(figure) if text.isdigit()]
    assert len(numbers) == (rows if rows > 12 else rows * (columns + 1))


def test_drawing_follows_the_page() -> None:
    drawing = behavior_heat_map(
        "behavior_heat_map", rows={"a": {"negation": 1.0, "names $5": 0.5}}, functionalities=COLUMNS
    )
    assert drawing.png.startswith(b"\x89PNG")
    assert "var(--plot-ink)" in drawing.svg
    assert "names $5" in drawing.svg


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
        pass_rate_heat_map(rows, columns)

"""Scores as numbers: percentages, rounded probabilities, and the columns from which they are read."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.options import PredictionOptions
from rightreasons.io.prediction_proposals import find_prediction_roles
from rightreasons.io.scores.score_classes import (
    count_classes,
    find_class,
    match_labels,
    name_classes,
)
from rightreasons.io.scores.score_columns import ScoreColumns
from rightreasons.io.scores.score_tables import read_scores, settle_kind


def read(columns, **options):
    """Return the scores of a file with a column of labels."""
    columns = {"label": [0, 1] * (len(next(iter(columns.values()))) // 2), **columns}
    return read_scores(find_prediction_roles(columns, "the file", PredictionOptions(**options)))


@pytest.mark.parametrize(
    ("rows", "table", "decimals"),
    [
        ([[0.75, 0.25], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]], None),
        # Two numbers of two decimals are wrong by 0.01 in sum at most.
        ([[0.75, 0.26], [0.5, 0.5]], [[0.75 / 1.01, 0.26 / 1.01], [0.5, 0.5]], 2),
        ([[0.75, 0.27], [0.5, 0.5]], [[0.75, 0.27], [0.5, 0.5]], None),
        # Three numbers, by 0.015.
        (
            [[0.75, 0.1, 0.16], [0.5, 0.25, 0.25]],
            [[0.75 / 1.01, 0.1 / 1.01, 0.16 / 1.01], [0.5, 0.25, 0.25]],
            2,
        ),
        ([[0.755, 0.247], [0.5, 0.5]], [[0.755, 0.247], [0.5, 0.5]], None),
        ([[1.01, -0.02], [0.5, 0.5]], [[1.01, -0.02], [0.5, 0.5]], None),
    ],
)
def test_rounded_probabilities_are_divided_by_their_sums(rows, table, decimals):
    scores = read({"scores": rows})

    np.testing.assert_allclose(scores.table, table, rtol=1e-12)
    assert (f"{decimals} decimals" in scores.remark) is bool(decimals)


@pytest.mark.parametrize(("first", "is_divided"), [(0.505, True), (0.507, False)])
def test_three_decimals_of_many_classes_add_up_to_larger_errors(first, is_divided):
    # 24 numbers of three decimals are wrong by 0.012 in sum at most: 0.505 + 23 * 0.022 = 1.011.
    rows = [[first, *[0.022] * 23]] * 2

    scores = read({"scores": rows})

    assert ("3 decimals" in scores.remark) is is_divided
    assert scores.table[0, 0] == pytest.approx(first / 1.011 if is_divided else first)


def test_logits_are_not_divided():
    scores = read({"logits": [[0.75, 0.26], [0.5, 0.5]]})

    assert scores.kind == "logits"
    assert scores.table.tolist() == [[0.75, 0.26], [0.5, 0.5]]


def test_a_single_logit_becomes_a_probability():
    scores = read({"logit": [0.0, np.log(3)]}, score_columns="logit", scores="logits")

    # The sigmoid of log 3 is 3/4.
    np.testing.assert_allclose(scores.table, [0.5, 0.75])
    assert (scores.kind, scores.remark) == ("probabilities", " (its sigmoid)")


@pytest.mark.parametrize(
    ("column", "is_percentage"),
    [
        ([[75.5, 24.5], [50.0, 50.0]], True),
        # Sums may differ from 100 by 1.
        ([[75.5, 25.4], [50.0, 50.0]], True),
        ([[75.5, 26.6], [50.0, 50.0]], False),
        ([[-0.5, 100.5], [50.0, 50.0]], False),
        ([75.5, 0.5, 50.5, 20.5], True),
        # Most of the numbers are at most 1.
        ([75.5, 0.5, 0.25, 0.75], False),
        ([100.5, 75.5, 20.5, 30.5], False),
        ([100.0, 75.5, 20.5, 30.5], True),
    ],
)
def test_percentages_need_an_option(column, is_percentage):
    name = "scores" if isinstance(column[0], list) else "prob"
    options = {"score_columns": name}
    if not is_percentage:
        assert read({name: column}, **options).remark == ""
        return
    with pytest.raises(OptionError, match="percentages") as error:
        read({name: column}, **options)
    assert error.value.option == ("scores",)
    scores = read({name: column}, scores="percentages", **options)
    assert np.max(scores.table) <= 1


def test_lists_of_unequal_lengths_may_be_percentages():
    scores = read({"scores": [[75.0, 25.0], [50.0, 25.0, 25.0]]}, scores="percentages")

    assert scores.table == [[0.75, 0.25], [0.5, 0.25, 0.25]]
    assert settle_kind("percentages") == "probabilities"
    assert settle_kind("logits") == "logits"


@pytest.mark.parametrize("numbers", [("0", "1", "2"), ("1", "2", "3"), ("0", "1", "10")])
def test_columns_are_sorted_by_the_number_of_their_class(numbers):
    columns = {f"p_{number}": [0.25, 0.5] for number in reversed(numbers)}

    if numbers[-1] == "10":
        with pytest.raises(OptionError) as error:
            read(columns)
        assert error.value.option == ("score_columns",)
        return
    assert read(columns).columns.columns == tuple(f"p_{number}" for number in numbers)


def test_classes_are_not_numbered_from_two():
    with pytest.raises(OptionError, match="numbered"):
        read({"p_2": [0.5, 0.25], "p_3": [0.5, 0.75]})


def test_the_kind_selects_among_columns():
    columns = {"probs": [[0.75, 0.25], [0.5, 0.5]], "logits": [[1.5, 0.5], [0.5, 1.5]]}

    with pytest.raises(OptionError) as error:
        read(columns)
    assert error.value.option == ("scores", "score_columns")
    assert read(columns, scores="logits").columns.columns == ("logits",)
    assert read(columns, score_columns="probs").kind == "probabilities"
    with pytest.raises(OptionError) as error:
        read({"probs": columns["probs"]}, scores="logits")
    assert error.value.option == ("scores",)


@pytest.mark.parametrize(
    ("column", "word"),
    [
        ([0, 1], "whole number"),
        ([[0.5, 0.5], 0.5], "item 1"),
        ([[[0.5], [0.5]], [[0.5], [0.5]]], "one list"),
    ],
)
def test_other_values_are_no_scores(column, word):
    with pytest.raises(ValueError, match=word):
        read({"scores": column}, score_columns="scores")


@pytest.mark.parametrize(
    ("classes", "names", "order"),
    [
        (("good", "bad"), ("bad", "good"), [1, 0]),
        (("bad", "good"), ("bad", "good"), [0, 1]),
        # Numbered columns are in the order of the names.
        (("0", "1"), ("bad", "good"), [0, 1]),
        (None, ("bad", "good"), [0, 1]),
    ],
)
def test_scores_are_sorted_by_the_names_of_classes(classes, names, order):
    table = np.array([[0.75, 0.25]])
    columns = ScoreColumns(("x", "y"), None, classes)

    named, sorted_table = name_classes(columns, table, names, "the file")

    assert named == names
    assert sorted_table.tolist() == table[:, order].tolist()


@pytest.mark.parametrize(
    ("class_name", "probability"), [("good", 0.75), ("bad", 0.25), ("1", 0.75), ("0", 0.25)]
)
def test_a_single_column_becomes_that_of_the_second_class(class_name, probability):
    columns = ScoreColumns(("x",), None, (class_name,))

    _, table = name_classes(columns, np.array([0.75]), ("bad", "good"), "the file")

    assert table.tolist() == [probability]
    with pytest.raises(OptionError) as error:
        name_classes(columns, np.array([0.75]), ("bad", "good", "fine"), "the file")
    assert error.value.option == ("label_names",)


def test_classes_are_counted():
    assert count_classes(np.zeros(3)) == 2
    assert count_classes(np.zeros((3, 4))) == 4
    assert count_classes([[0.5], [0.5, 0.5, 0.0]]) == 3


@pytest.mark.parametrize(
    ("name", "names", "position"),
    [
        ("GOOD", ("bad", "good"), 1),
        ("yes", ("0", "1"), 1),
        ("2", ("0", "1"), None),
        ("fine", ("bad", "good"), None),
    ],
)
def test_a_class_is_found_by_its_name_or_number(name, names, position):
    assert find_class(name, names) == position


@pytest.mark.parametrize(
    ("labels", "table", "ids"),
    [
        ([0, 1, 2], [[0.5, 0.5, 0.0], [0.5, 0.5], [0.5, 0.25, 0.25]], [0, 1, 2]),
        # The label 2 of an item with two choices shows that numbers begin at 1.
        ([1, 2, 3, 4], [[0.5, 0.5], [0.5, 0.5], [0.5] * 4, [0.5, 0.25, 0.25, 0.0]], [0, 1, 2, 3]),
    ],
)
def test_numbers_of_choices_count_from_zero_unless_one_shows_otherwise(labels, table, ids):
    column, names = match_labels(labels, "the labels", None, table, None, headings=False)

    assert column.ids.tolist() == ids
    assert names is None


def test_labels_name_the_other_class_of_a_single_column():
    column, names = match_labels(
        ["good", "bad"], "the labels", ("good",), np.array([0.75, 0.25]), None, headings=True
    )

    assert names == ("bad", "good")
    assert column.ids.tolist() == [1, 0]
    column, names = match_labels(
        ["no", "yes"], "the labels", None, np.array([0.75, 0.25]), None, headings=False
    )
    assert names == ("no", "yes")
    column, names = match_labels(
        [0, 1], "the labels", None, np.array([0.75, 0.25]), None, headings=False
    )
    assert (column.ids.tolist(), names) == ([0, 1], None)
    with pytest.raises(OptionError) as error:
        match_labels(["x", "y"], "labels", ("good",), np.array([0.75, 0.25]), None, headings=True)
    assert "label_names" in error.value.option

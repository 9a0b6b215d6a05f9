"""Labels in lists, shares and votes, new names, and several labels per row."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.label_columns import (
    NamedLabels,
    get_labels,
    parse_renamed_labels,
    read_labels,
    rename_values,
    select_single_labels,
    write_label_expressions,
)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        # Shares, of which a sum may differ from 1 by 0.01.
        ([[0.25, 0.75], [0.6, 0.4]], [1, 0]),
        ([[0.25, 0.759], [0.6, 0.4]], [1, 0]),
        ([[0.5, 0.5], [0.6, 0.4]], [None, 0]),
        ([{"up": 0.75, "down": 0.25}, {"up": 0.5, "down": 0.5}], ["up", None]),
        ([{"up": 3, "down": 1}, {"up": 0, "down": 4}], ["up", "down"]),
        ([{"up": True, "down": False}], ["up"]),
        # Numbers of votes have one sum.
        ([[3, 0, 2], [1, 4, 0]], [0, 1]),
        # Votes repeat in a row.
        ([["up", "up", "down"], ["down"]], ["up", "down"]),
        ([["up", "up"], ["down", "up"]], ["up", None]),
        ([[2, 0, 2], [1, 1]], [2, 1]),
        ([[["up"], ["up"], []], [["down"], ["down"], ["up"]]], ["up", "down"]),
        # Lists of one label, and plain labels.
        ([["up"], ["down"]], ["up", "down"]),
        (["up", "down"], ["up", "down"]),
        ([["up"], []], ["up", None]),
        (['["up"]', '["down"]'], ["up", "down"]),
        ([np.array([0.25, 0.75]), np.array([0.6, 0.4])], [1, 0]),
    ],
)
def test_a_cell_has_one_label(cells, labels):
    assert select_single_labels(cells, "the labels") == labels


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ([["up", "down"], ["up"]], "row 0"),
        ([["up"], ["up", "down"]], "row 1"),
        # Another sum, a negative share, and lists of unequal lengths.
        ([[0.25, 0.77], [0.6, 0.4]], "row 0"),
        ([[1.5, -0.5], [0.6, 0.4]], "row 0"),
        ([[0.25, 0.75], [0.5, 0.25, 0.25]], "row 0"),
        # Numbers whose sums differ are no votes.
        ([[3, 0, 2], [1, 4, 2]], "row 0"),
        ([{"up": "x"}], "row 0"),
        ([{"up": 1, "down": 1}, {"up": 1, "down": 0}], "1 of 2 rows"),
    ],
)
def test_a_row_with_several_labels_is_refused(cells, word):
    with pytest.raises(OptionError, match=word):
        select_single_labels(cells, "the labels")


def test_named_labels_need_numbers_of_classes():
    labels = NamedLabels([0, 1, -1, None], ("bad", "good"), "label", "the data")

    assert list(labels) == ["bad", "good", None, None]
    for number in (2, -2):
        with pytest.raises(ValueError, match=f"row 1 holds {number}"):
            NamedLabels([0, number], ("bad", "good"), "label", "the data")


def test_lists_of_class_numbers_become_names():
    feature = datasets.List(datasets.ClassLabel(names=["joy", "fear"]))

    def read(rows):
        features = datasets.Features({"label": feature})
        data = datasets.Dataset.from_dict({"label": rows}, features=features)
        return list(get_labels(data, "label", "the data"))

    assert read([[1], [0], []]) == ["fear", "joy", None]
    assert read([[0, 1], [0], []]) == [["joy", "fear"], ["joy"], []]


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        (None, {}),
        (("a=x", "b = y"), {"a": "x", "b": "y"}),
        (("a=x", "b"), {}),
        (("a=x", "=y"), {}),
        (("a=x", "b="), {}),
        (("a=b=c",), {"a": "b=c"}),
        ((1, 2), {}),
    ],
)
def test_entries_rename_labels_if_all_have_two_names(entries, names):
    assert parse_renamed_labels(entries) == names


@pytest.mark.parametrize(
    ("values", "renamed"),
    [
        (["1", "2"], ["bad", "good"]),
        ([1.0, 2], ["bad", "good"]),
        # A label that is a new name already.
        (["BAD", "2"], ["bad", "good"]),
        (["", None], [None, None]),
        (["-1", float("nan")], [None, None]),
        (["+1"], ["bad"]),
    ],
)
def test_labels_are_renamed_or_missing(values, renamed):
    assert rename_values(values, {"1": "bad", "2": "good"}, "the labels") == renamed


def test_a_label_without_a_new_name_is_refused():
    with pytest.raises(OptionError, match="'3'") as error:
        rename_values(["1", "3"], {"1": "bad"}, "the labels")
    assert error.value.option == ("label_names",)
    assert rename_values(["-1"], {"1": "x", "-1": "y"}, "the labels") == ["y"]


def test_all_splits_have_the_same_classes():
    train = datasets.Dataset.from_dict({"label": [1, 2]})
    test = datasets.Dataset.from_dict({"label": [0, 1]})
    parts = {"train": (train, "label"), "test": (test, "label")}

    columns = read_labels(parts, ("a", "b", "c"), None, "the data")

    # The 0 of the test split shows that numbers begin at 0.
    assert columns["train"].ids.tolist() == [1, 2]
    assert columns["test"].ids.tolist() == [0, 1]
    with pytest.raises(OptionError, match="split train"):
        read_labels(
            {**parts, "train": (train.add_column("x", [7, 8]), "x")}, ("a", "b"), 0, "the data"
        )


@pytest.mark.parametrize(
    ("cells", "names", "expressions"),
    [
        # Lists of 0 and 1 have a number per label.
        ([[1, 0], [0, 1]], ("joy", "fear"), ("{{ labels[0] }}", "{{ labels[1] }}")),
        (
            [["joy"], ["fear", "joy"]],
            ("joy", "fear"),
            ('{{ labels | whether("joy") }}', '{{ labels | whether("fear") }}'),
        ),
        (
            ["0", "1,0"],
            ("joy", "fear"),
            ('{{ labels | whether("joy", "0") }}', '{{ labels | whether("fear", "1") }}'),
        ),
        # A label that no row has.
        (
            [["joy"], ["joy"]],
            ("joy", "fear"),
            ('{{ labels | whether("joy") }}', '{{ labels | whether("fear") }}'),
        ),
    ],
)
def test_each_of_several_labels_has_an_expression(cells, names, expressions):
    data = datasets.Dataset.from_dict({"labels": cells})

    written = write_label_expressions([data], names, None, "the data")

    assert written == dict(zip(names, expressions, strict=True))


def test_columns_that_are_named_after_the_labels_are_used():
    data = datasets.Dataset.from_dict({"Joy": [1], "fear": [0], "labels": [["joy"]]})

    assert write_label_expressions([data], ("joy", "fear"), None, "the data") == {
        "joy": "Joy",
        "fear": "fear",
    }
    named = write_label_expressions([data], ("joy", "fear"), "labels", "the data")
    assert named["joy"] == '{{ labels | whether("joy") }}'

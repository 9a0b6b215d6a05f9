"""Correct choices by name, number, letter and text, and labels that identify none."""

from __future__ import annotations

import datasets
import pytest

from rightreasons.io.choices.cells import Choices
from rightreasons.io.choices.forms import ChoiceForm
from rightreasons.io.choices.right_choices import (
    list_numbers,
    parse_whole_number,
    read_right_choices,
)

COLORS = ["red", "green", "blue"]


def read_labels(cells, texts=COLORS, marks=(), **changes):
    """Return the positions of the correct choices of items with the same choices."""
    data = datasets.Dataset.from_dict({"gold": cells})
    items = [Choices(list(texts), list(marks)) for _ in cells]
    fields = {"prompt": ("q",), "choices": ("c",), "label": "gold", "numbers": frozenset()}
    form = ChoiceForm(**(fields | changes))
    return read_right_choices(data, items, form, "the data")


@pytest.mark.parametrize(
    ("cells", "positions"),
    [
        (["A", "C", "B"], [0, 2, 1]),
        (["(A)", "c.", "B)"], [0, 2, 1]),
        (["red", "Green", " blue "], [0, 1, 2]),
        ([0, 1, 2], [0, 1, 2]),
        ([1, 2, 3], [0, 1, 2]),
        (["1", "2.0", "3"], [0, 1, 2]),
        ([0.0, None, 2.0], [0, -1, 2]),
        (["A", None, "B"], [0, -1, 1]),
        (["A", "", "B"], [0, -1, 1]),
        (["A", "-1", "-"], [0, -1, -1]),
        (["A", "-1.0", " "], [0, -1, -1]),
        ([0, -1, 2], [0, -1, 2]),
    ],
)
def test_a_choice_is_given_by_letter_text_or_number(cells, positions):
    assert read_labels(cells) == positions


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        # One rule applies to all rows; two are mixed.
        (["A", "green"], "mixed"),
        (["D", "A"], "row 0"),
        (["A", "pink"], "row 1"),
        # With three choices, the number 4 counts neither from 0 nor from 1.
        ([0, 4], "row 1"),
        ([0, 3], "row 1"),
        # Numbers 1 and 2 may count from 0 or from 1.
        ([1, 2], "first_label"),
    ],
)
def test_a_value_that_identifies_no_choice_is_refused(cells, word):
    with pytest.raises(ValueError, match=word):
        read_labels(cells)


@pytest.mark.parametrize(("first_label", "positions"), [(0, [1, 2]), (1, [0, 1])])
def test_first_label_settles_where_numbers_begin(first_label, positions):
    assert read_labels([1, 2], first_label=first_label, is_numbered=True) == positions
    # A known format also has a first number.
    assert read_labels([1, 2], first_label=first_label, numbers=None) == positions


def test_numbers_of_other_splits_settle_where_numbers_begin():
    assert read_labels([1, 2], numbers=frozenset((0,))) == [1, 2]
    assert read_labels([1, 2], numbers=frozenset((3,))) == [0, 1]


def test_texts_that_are_numbers_have_two_meanings():
    with pytest.raises(ValueError, match="one meaning") as error:
        read_labels(["2", "1"], ["2", "1", "0"], numbers=frozenset((0,)))

    # "2" is the third choice by number from 0, and the first by text.
    assert "row 0 holds '2', which is choice 2 by number and choice 0 by text" in str(error.value)
    assert "{{ c.index(gold) }}" in str(error.value)


def test_first_label_makes_texts_numbers():
    positions = read_labels(["2", "1"], ["2", "1", "0"], first_label=0, is_numbered=True)

    assert positions == [2, 1]


def test_names_of_choices_in_the_data_come_first():
    # By letter, "B" would be the second choice.
    assert read_labels(["B", "A"], marks=["B", "A", "C"]) == [0, 1]
    assert read_labels([2.0, 1.0], marks=["2", "1", "0"]) == [0, 1]
    assert read_labels(["-", "+"], ["no", "yes"], marks=["-", "+"]) == [0, 1]


def test_a_folded_text_that_two_choices_share_identifies_neither():
    # An exact text is found in spite of the other.
    assert read_labels(["Red", "red"], ["Red", "red"]) == [0, 1]
    with pytest.raises(ValueError, match="row 0"):
        read_labels(["RED", "red"], ["Red", "red"])


def test_class_numbers_are_positions_if_each_choice_has_a_class():
    def read_classes(names):
        feature = datasets.ClassLabel(names=names)
        data = datasets.Dataset.from_dict({"gold": [1, 0, -1]}).cast_column("gold", feature)
        items = [Choices(COLORS, [])] * 3
        form = ChoiceForm(prompt=("q",), choices=("c",), label="gold", numbers=frozenset())
        return read_right_choices(data, items, form, "the data")

    assert read_classes(["B", "C", "A"]) == [2, 1, -1]
    assert read_classes(["first", "second", "third"]) == [1, 0, -1]
    with pytest.raises(ValueError, match="first"):
        read_classes(["first", "second"])


def test_numbers_of_a_split_are_listed():
    data = datasets.Dataset.from_dict({"gold": ["2", "x", None, "0"], "class": [0, 1, 0, 1]})
    data = data.cast_column("class", datasets.ClassLabel(names=["5", "b"]))

    def list_of(label):
        return list_numbers(data, ChoiceForm(prompt=("q",), choices=("c",), label=label))

    assert (list_of("gold"), list_of("class"), list_of(None)) == ({0, 2}, {5}, set())


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0), (-1, None), (True, None), (1.5, None), ("01", 1), ("1.50", None), (None, None)],
)
def test_whole_numbers_begin_with_zero(value, number):
    assert parse_whole_number(value) == number

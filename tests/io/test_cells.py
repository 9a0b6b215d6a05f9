"""Values in cells of files: numbers, lists, labels, and what is none of these."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rightreasons.io.cells import (
    is_number,
    list_labels,
    parse_cell,
    parse_list,
    parse_number,
    parse_numbers,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("1.5", 1.5),
        ("-1,5", -1.5),
        (",5", 0.5),
        ("2.", 2.0),
        ("1e-3", 0.001),
        ("56.5 %", 0.565),
        ("56,5%", 0.565),
        (" 3 ", 3.0),
        (2, 2.0),
        ("1.5.2", None),
        ("word", None),
        (True, None),
        ([1], None),
        ("inf", math.inf),
    ],
)
def test_numbers_may_be_percentages_and_have_commas(value, number):
    assert parse_number(value) == number


@pytest.mark.parametrize("value", [None, "", " ", "NaN", "n/a", "NA", "None", "null"])
def test_a_missing_number_is_nan(value):
    assert math.isnan(parse_number(value))


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('[1, "a"]', [1, "a"]),
        (" {'a': None}", {"a": None}),
        ("[None]", [None]),
        # What Python prints has quotation marks or None; other brackets are text.
        ("[sic]", "[sic]"),
        ("[it's]", "[it's]"),
        ("(1, 2)", "(1, 2)"),
        ("{'a'}", "{'a'}"),
        (3, 3),
    ],
)
def test_lists_and_objects_are_parsed_and_other_cells_remain(cell, value):
    assert parse_cell(cell) == value


@pytest.mark.parametrize(
    ("cell", "value"),
    [("[1 2]", ["1", "2"]), ((1, 2), [1, 2]), ([1], [1]), ("one", "one"), (None, None)],
)
def test_lists_that_numpy_printed_are_parsed(cell, value):
    assert parse_list(cell) == value


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["1", "2.5"], [1.0, 2.5]),
        (["1,5", "20 %"], [1.5, 0.2]),
        ([1, 2.5], [1.0, 2.5]),
        (np.array([1, 2], dtype=np.int64), [1.0, 2.0]),
        (np.array(["1,5", "2"]), [1.5, 2.0]),
    ],
)
def test_a_column_of_numbers_becomes_floats(column, numbers):
    parsed = parse_numbers(column, "score")

    assert parsed.dtype == np.float64
    assert parsed.tolist() == numbers


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (np.array([True, False]), "bool"),
        (["1", "many"], "many"),
        # A comma or a point may separate thousands.
        (["1,500", "1.5"], "1,500 and 1.5"),
        (["1.5", "1,500", "7,5"], "1,500 and 1.5"),
        (["1,5", ""], "score"),
    ],
)
def test_a_column_with_other_values_is_refused(column, word):
    with pytest.raises(ValueError, match=word):
        parse_numbers(column, "score")


def test_empty_cells_are_nan_if_they_are_allowed():
    parsed = parse_numbers(["1,5", ""], "score", missing=True)

    np.testing.assert_array_equal(parsed, [1.5, np.nan])


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("joy", ["joy"]),
        (" 4, 27 ", ["4", "27"]),
        (["joy", None, ""], ["joy"]),
        ({"joy": 1, "fear": 0, "anger": None}, ["joy"]),
        (3, ["3"]),
        (float("nan"), []),
        (None, []),
        ("", []),
        (0, ["0"]),
    ],
)
def test_a_cell_lists_its_labels(cell, labels):
    assert list_labels(cell) == labels


def test_numbers_beyond_floats_are_no_numbers():
    assert not is_number(10**400)
    assert is_number("1e5")

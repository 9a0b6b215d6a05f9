"""Codes of rows, copies, and values that repeat: each limit."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.io.row_codes import (
    are_copies,
    are_crossed,
    combine_codes,
    count_codes,
    count_few_values,
    count_labels,
    encode_normalized_texts,
    encode_rows,
    find_copies,
    find_first_rows,
    find_labeled,
    find_repeats,
    mark_first,
    normalize_texts,
    number_copies,
)


def make_table(**columns):
    return datasets.Dataset.from_dict(columns)


def test_codes_number_the_distinct_rows_in_their_order():
    table = make_table(a=["x", "y", "x", None, None], b=[1, 1, 2, 1, 1], c=[[1], [2], [1], [], []])

    assert encode_rows(table, ["a"]).tolist() == [0, 1, 0, 2, 2]
    assert encode_rows(table, ["a", "b"]).tolist() == [0, 1, 2, 3, 3]
    assert encode_rows(table, ["c"]).tolist() == [0, 1, 0, 2, 2]
    assert encode_rows(table, []).tolist() == [0] * 5
    # (0, 2) and (1, 0) would be equal if fewer codes were reserved for the right side.
    assert combine_codes(np.array([0, 1, 1]), np.array([2, 0, 2])).tolist() == [0, 1, 2]


def test_first_rows_of_codes():
    codes = np.array([4, 0, 4, 2, 0])

    assert find_first_rows(codes).tolist() == [1, 3, 0]
    assert mark_first(codes).tolist() == [True, True, False, True, False]
    assert count_codes(codes) == 3


@pytest.mark.parametrize(
    ("items", "arms", "expected"),
    [
        ([0, 1, 0, 1], [0, 0, 1, 1], True),
        ([0, 1, 0, 1], [0, 0, 0, 0], False),
        # Arms of equal sizes, but with different items.
        ([0, 1, 2, 3], [0, 0, 1, 1], False),
        ([0, 1, 0, 1, 0], [0, 0, 1, 1, 1], False),
        ([0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 1], True),
        ([0, 0, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1], False),
    ],
)
def test_systems_are_crossed_with_items_if_all_counts_are_equal(items, arms, expected):
    assert are_crossed(np.array(items), np.array(arms)) is expected


def test_texts_are_compared_without_case_and_punctuation():
    table = make_table(a=["So, so!", "so so", "हिन्दी", "😀", "😁"], b=["x", "X.", "y", "", ""])

    assert normalize_texts(table, ["a"]).to_pylist() == ["so so", "so so", "हिन्दी", "😀", "😁"]
    assert encode_normalized_texts(table, ["a"]).tolist() == [0, 0, 1, 2, 3]
    assert normalize_texts(table, ["a", "b"]).to_pylist()[:2] == ["so so x", "so so x"]


def test_a_row_without_a_label_is_marked_in_four_ways():
    table = make_table(label=["up", "", "-1", "-1.0", "-", None, "0"])

    assert find_labeled(table, "label").tolist() == [True, *[False] * 5, True]


def test_copies_are_numbered_by_their_first_row():
    table = make_table(a=[1, 1, 1, 2], b=[3, 4, 3, 3])

    assert number_copies(table).tolist() == [0, 1, 0, 3]
    assert number_copies(table, ["a"]).tolist() == [0, 0, 0, 3]
    assert number_copies(table, []).tolist() == [0] * 4
    assert find_copies(table).tolist() == [False, False, True, False]


def test_equal_rows_without_a_key_may_be_accidents():
    gold = ["a", "b", "b", "a"] * 10
    levels = [row / 4 for row in range(20)] * 2
    precise = [row / 97 for row in range(20)] * 2

    assert are_copies(make_table(p=precise, gold=gold))
    # 0.25, 0.5, … have fewer than five digits.
    assert not are_copies(make_table(p=levels, gold=gold))
    assert are_copies(make_table(p=[f"word {row}" for row in range(20)] * 2, gold=gold))
    # Without copies there is nothing to explain.
    assert not are_copies(make_table(p=[row / 97 for row in range(40)], gold=gold))


@pytest.mark.parametrize(("n_copies", "expected"), [(9, False), (10, True)])
def test_copies_by_accident_are_rarer_than_one_in_a_thousand(n_copies, expected):
    # Two labels of equal shares agree with probability 1/2: (1/2)^9 > 0.001 > (1/2)^10.
    n_rows = 20
    rows = [*range(n_rows), *range(n_copies)]
    table = make_table(p=[f"word {row}" for row in rows], gold=[row % 2 for row in rows])

    assert are_copies(table) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        # The numbers 1.2346, 2.2346, … have five digits, and 1.234, 2.234, … four.
        (1.2346, True),
        (1.234, False),
    ],
)
def test_precise_numbers_have_five_digits(number, expected):
    numbers = [number + row for row in range(8)]
    table = make_table(p=numbers * 4, gold=["a", "b"] * 16)

    assert are_copies(table) is expected


def test_half_of_the_numbers_of_a_key_are_precise():
    def has_key(n_precise):
        numbers = [row + (0.12345 if row < n_precise else 0) for row in range(10)]
        return are_copies(make_table(p=numbers * 4, gold=[0, 1] * 20))

    assert has_key(5)
    assert not has_key(4)


def test_rows_of_one_id_are_not_independent():
    def find(ids):
        table = make_table(id=ids, text=[f"text {row}" for row in range(len(ids))])
        return {
            name: column.to_pylist()
            for name, column in find_repeats(table, ["id"], ["text"]).items()
        }

    assert find(["a", "a", "b"]) == {"repeated_id": ["a", "a", "b"]}
    assert find(["a", "b", "c"]) == {}
    # The id of the file.
    assert find(["a", "a", "a"]) == {}


@pytest.mark.parametrize(
    ("n_rows", "n_copies", "expected"),
    [(8, 1, True), (7, 1, False), (100, 1, True), (101, 1, False), (101, 2, True), (8, 0, False)],
)
def test_a_percent_of_copied_rows_is_reported(n_rows, n_copies, expected):
    texts = [f"text {row}" for row in range(n_rows - n_copies)]
    texts += texts[:n_copies]

    repeats = find_repeats(make_table(text=texts), ["id"], ["text"])

    if expected:
        assert repeats["copied_row"].to_pylist()[-n_copies] == "0"
    else:
        assert not repeats


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        (["b", "a", "a", "b", "a", None], {"a": 3, "b": 2, "": 1}),
        ([True, False, True, True], {"True": 3, "False": 1}),
        ([2, 1, 1, 2], {"2": 2, "1": 2}),
        ([0.5, 0.5, 0.5, 0.5], {}),
        # Eight values at most, and half as many as rows.
        ([row % 8 for row in range(16)], {str(value): 2 for value in range(8)}),
        ([row % 9 for row in range(18)], {}),
        ([0, 1, 2, 0, 1], {}),
        ([0, 1, 2, 0, 1, 2], {"0": 2, "1": 2, "2": 2}),
        (["a", "b"], {"a": 1, "b": 1}),
        # At most 40 characters.
        (["x" * 40, "x" * 40], {"x" * 40: 2}),
        (["x" * 41, "x" * 41], {}),
    ],
)
def test_few_values_are_counted_the_most_frequent_first(values, counts):
    counted = count_few_values(make_table(v=values), "v")

    assert list(counted.items()) == list(counts.items())


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        ([["joy", "fear"], None, []], [2, 0, 0]),
        ([{"joy": 1, "fear": None}, {"joy": 1, "fear": 1}], [1, 2]),
        ([{"joy": 0.5}], None),
        ([{"joy": 2}], None),
        ([["joy", 1]], None),
        (["joy"], None),
    ],
)
def test_labels_of_cells_are_counted(cells, counts):
    counted = count_labels(cells)

    assert (None if counted is None else counted.tolist()) == counts

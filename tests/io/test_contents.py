"""Summaries of columns: each threshold at its limit and next to it."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.io.contents import (
    MAX_SAMPLED_ROWS,
    Content,
    Contents,
    describe_content,
    describe_contents,
    is_empty,
    make_key,
    sample_rows,
)


def make_content(**changes):
    """Return a summary of 40 short words of 2 classes, with changes."""
    fields = {"n_rows": 40, "n_values": 2, "kind": "text", "n_letters": 4.0}
    return Content(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        # At least 10 rows, and 2.5 rows per value.
        ({"n_rows": 10}, True),
        ({"n_rows": 9}, False),
        ({"n_rows": 10, "n_values": 4}, True),
        ({"n_rows": 39, "n_values": 16}, False),
        ({"n_rows": 40, "n_values": 16}, True),
        # From 2 to 50 values.
        ({"n_values": 1}, False),
        ({"n_rows": 500, "n_values": 50}, True),
        ({"n_rows": 500, "n_values": 51}, False),
        # At most 60 letters.
        ({"n_letters": 60.0}, True),
        ({"n_letters": 60.5}, False),
        ({"kind": "flag"}, True),
        ({"kind": "list"}, False),
        # Marks need only rows and two patterns.
        ({"kind": "marks", "n_values": 2}, True),
        ({"kind": "marks", "n_rows": 10, "n_values": 10}, True),
        ({"kind": "marks", "n_rows": 9}, False),
        ({"kind": "marks", "n_values": 1}, False),
    ],
)
def test_classes_repeat_and_are_short(changes, expected):
    assert make_content(**changes).has_classes is expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0, 1, 2, np.nan], True),
        ([1, 2, 3, 1], True),
        ([-1, 1, -1, 1], True),
        ([-1, 0, 1, 1], False),
        ([2, 3, 4, 2], False),
        ([0, 1, 3, 0], False),
        ([0, 0.5, 1, 0], False),
    ],
)
def test_numbers_of_classes_have_no_gap(numbers, expected):
    column = np.array(numbers * 10)
    n_values = len(np.unique(column[~np.isnan(column)]))

    content = make_content(kind="number", n_values=n_values, numbers=column)

    assert content.has_classes is expected


@pytest.mark.parametrize(
    ("numbers", "changes", "expected"),
    [
        ([1, 2, 4, 5], {}, True),
        ([1, 2, 4, np.nan], {"n_values": 3}, True),
        # A scale ends at 10 in both directions.
        ([1, 2, 4, 10], {}, True),
        ([1, 2, 4, 11], {}, False),
        ([-11, 2, 4, 5], {}, False),
        ([1, 2.5, 4, 5], {}, False),
        # Numbers without a gap are classes.
        ([1, 2, 3, 4], {}, False),
        ([3, 3, 3, 3], {"n_values": 1}, False),
        ([3, 5, 3, 5], {"n_values": 2}, True),
        ([1, 2, 4, 5], {"n_rows": 10}, True),
        ([1, 2, 4, 5], {"n_rows": 9, "n_values": 3}, False),
        ([1, 2, 4, 5], {"n_rows": 10, "n_values": 5}, False),
    ],
)
def test_grades_are_small_whole_numbers_with_gaps(numbers, changes, expected):
    fields = {"kind": "number", "n_values": 4, "numbers": np.array(numbers * 10)} | changes

    assert make_content(**fields).has_grades is expected


def test_words_are_no_grades():
    assert not make_content().has_grades


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"kind": "list"}, False),
        ({"in_lists": True}, False),
        ({"n_rows": 10, "n_values": 10}, True),
        ({"n_rows": 9, "n_values": 9}, False),
        # At most half of the cells are codes, and cells have at least 7 letters.
        ({"coded": 0.5}, True),
        ({"coded": 0.51}, False),
        ({"n_letters": 7.0}, True),
        ({"n_letters": 6.9}, False),
        ({"n_letters": 3.5, "width": 7.0}, True),
        ({"n_letters": 7.1, "width": 14.1, "spaced": 0.0}, True),
        ({"n_letters": 7.0, "width": 14.0, "spaced": 0.0}, False),
        # Several words in more than 30 % of the cells, or more than 14 letters.
        ({"spaced": 0.3, "n_letters": 14.0}, False),
        ({"spaced": 0.31, "n_letters": 14.0}, True),
        ({"spaced": 0.3, "n_letters": 14.1}, True),
        # Short values that repeat are classes, up to 25 letters.
        ({"n_values": 12, "n_letters": 25.0}, False),
        ({"n_values": 12, "n_letters": 25.1}, True),
        # Fewer than 5 copies of each.
        ({"n_values": 8, "n_letters": 30.0}, False),
        ({"n_values": 9, "n_letters": 30.0}, True),
    ],
)
def test_texts_to_read_are_long_and_hardly_repeat(changes, expected):
    fields = {"n_values": 40, "n_letters": 20.0, "spaced": 1.0} | changes
    # Letters of this width are those of an alphabet; twice as wide, they are ideographs.
    fields = {"width": fields["n_letters"]} | fields

    assert make_content(**fields).has_texts is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_values": 21}, True),
        ({"n_values": 20}, False),
        ({"n_values": 21, "coded": 0.5}, True),
        ({"n_values": 21, "coded": 0.51}, False),
        ({"n_values": 21, "kind": "mixed"}, False),
    ],
)
def test_more_than_half_of_distinct_texts_are_distinct(changes, expected):
    assert make_content(**changes).has_distinct_texts is expected


def test_marks_are_numbers_of_classes_or_single_letters():
    letters = make_content(n_letters=1.0)
    words = make_content(n_letters=2.0)
    distinct_letters = make_content(n_letters=1.0, n_values=40)
    numbers = make_content(kind="number", n_letters=0.0, numbers=np.array([0.0, 1.0] * 20))

    contents = (letters, words, distinct_letters, numbers)

    assert [content.is_mark for content in contents] == [True, False, False, True]


@pytest.mark.parametrize(("n_rows", "expected"), [(9, False), (10, True)])
def test_ten_rows_show_shares_and_constants(n_rows, expected):
    assert make_content(kind="shares", n_rows=n_rows).has_shares is expected
    assert make_content(n_values=1, n_rows=n_rows).is_constant is expected


def test_two_values_are_not_constant_and_words_are_no_shares():
    assert not make_content().is_constant
    assert not make_content().has_shares


@pytest.mark.parametrize(
    ("numbers", "are_fractions", "are_log_fractions"),
    [
        ([0.0, 0.25, 0.5, 1.0], True, False),
        ([0.0, 0.25, 0.5, 1.01], False, False),
        ([-0.01, 0.25, 0.5, 1.0], False, False),
        # Three values may be shares of raters.
        ([0.25, 0.25, 0.5, 1.0], False, False),
        ([-2.5, -1.0, -0.5, 0.0], False, True),
        ([-2.5, -1.0, -0.5, 0.5], False, False),
        ([-3.0, -2.0, -1.0, 0.0], False, False),
        ([-2.5, -1.0, -0.5, -0.5], False, False),
    ],
)
def test_fractions_and_their_logarithms_are_bounded(numbers, are_fractions, are_log_fractions):
    content = describe_content([*numbers * 3, None])

    assert content.has_fractions is are_fractions
    assert content.has_log_fractions is are_log_fractions


def test_nine_numbers_are_no_fractions():
    numbers = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]

    assert not describe_content(numbers).has_fractions
    assert describe_content([*numbers, 0.95]).has_fractions


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([None, "", float("nan")], "empty"),
        ([1, "2", "2,5", None], "number"),
        ([True, False], "flag"),
        ([True, 2], "mixed"),
        ([["a", "b"], ["c", "d", "e"]], "list"),
        ([["a", "b"], ["c", 1]], "mixed"),
        ([[1, 0], [0, 1]], "marks"),
        # Two classes in a list are not marked by position.
        ([[1, 1], [0, 1]], "mixed"),
        ([{"up": 1, "down": 1}, {"down": 1}], "marks"),
        ([[0.75, 0.25], [0.6, 0.4]], "shares"),
        ([[0.5, 0.5], [0.5, 0.5]], "mixed"),
        # Rounding to two decimals changes the sum by at most 0.02.
        ([[0.515, 0.5], [0.6, 0.4]], "shares"),
        ([[0.525, 0.5], [0.6, 0.4]], "mixed"),
        ([[1.25, -0.25], [0.6, 0.4]], "mixed"),
        ([[0.5, 0.25, 0.25], [0.6, 0.4]], "mixed"),
        ([["0.5", 0.5], [0.6, 0.4]], "mixed"),
        ([{"a": 1}, [1, 0]], "mixed"),
        (["good", "bad"], "text"),
        ([["good"], ["bad"]], "text"),
    ],
)
def test_the_kind_of_a_column_depends_on_all_cells(cells, kind):
    assert describe_content(cells).kind == kind


def test_fifty_classes_are_marked_and_more_are_not():
    def mark(n_classes):
        return describe_content(np.eye(n_classes, dtype=int).tolist()).kind

    assert (mark(50), mark(51)) == ("marks", "mixed")


def test_one_row_of_a_hundred_may_have_another_sum():
    rows = [[0.75, 0.25], [0.6, 0.4]] * 49
    faulty = [[0.75, 0.75]]

    assert describe_content([*rows, [0.6, 0.4], *faulty]).kind == "shares"
    assert describe_content([*rows, *faulty, *faulty]).kind == "mixed"


def test_cells_are_counted_by_letters_words_and_codes():
    # 8, 3 and 3 letters; one cell of several words; two codes.
    content = describe_content(["Not at all.", "abc", "a_1-bc", " "])

    assert content.n_rows == 3
    assert content.n_values == 3
    assert content.n_letters == pytest.approx(14 / 3)
    assert content.spaced == pytest.approx(1 / 3)
    assert content.coded == pytest.approx(2 / 3)
    assert not content.in_lists


def test_values_in_lists_of_one_are_counted_like_values():
    content = describe_content([["Up"], ["up"], ["down"], []])

    assert (content.n_rows, content.n_values, content.in_lists) == (3, 2, True)
    # Numbers in lists are no numbers.
    assert describe_content([[1], [2]]).kind == "mixed"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (None, True),
        (float("nan"), True),
        (" ", True),
        ([None, ""], True),
        ([], True),
        (0, False),
        (0.5, False),
        (False, False),
        ("x", False),
        ([None, "x"], False),
    ],
)
def test_empty_cells_have_no_value(cell, expected):
    assert is_empty(cell) is expected


def test_equal_values_have_equal_keys():
    assert make_key(1) == make_key(1.0) == make_key("1 ")
    assert make_key(1.5) == "1.5"
    assert make_key("Ｙes") == make_key("yes")
    assert make_key({"b": 1, "a": 2}) == make_key({"a": 2, "b": 1})


def test_texts_are_sorted_by_length_and_classes_are_no_texts():
    columns = {
        "short": [f"a word {row} here" for row in range(12)],
        "long": [f"many more words in sentence {row}" for row in range(12)],
        "class": ["up", "down"] * 6,
    }
    contents = describe_contents(columns)

    assert contents.list_texts(contents) == ["long", "short"]
    assert contents.list_classes(contents) == ["class"]
    assert len(contents) == 3
    assert "class" in contents
    assert "other" not in contents


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # Six votes of two values: three per value.
        ([["a", "a"], ["a", "b"], ["b", "b"]], True),
        # Four votes of two values are fewer than 2.5 per value; five are not.
        ([["a", "a"], ["a", "b"]], False),
        ([["a", "a"], ["a", "b", "b"]], True),
        # No cell repeats a value.
        ([["a", "b"], ["b", "a"], ["a", "b"]], False),
        ([["a", "a"], ["a", "a"], ["a", "a"]], False),
        ([["a", "a"], ["a", "b"], "b"], False),
        ([[["a"], ["a"]], [["a"], ["b"]], [["b"], ["b"]]], True),
    ],
)
def test_votes_repeat_in_a_cell_and_in_the_column(cells, expected):
    assert bool(Contents({"votes": cells}).list_votes(["votes"])) is expected


def test_votes_have_at_most_fifty_values():
    def has_votes(n_values):
        cells = [[str(value)] * 3 for value in range(n_values)]
        return bool(Contents({"votes": cells}).list_votes(["votes"]))

    assert has_votes(50)
    assert not has_votes(51)


def make_choice_columns(n_texts, n_marks):
    """Return columns of distinct texts, and a column of numbers from 0."""
    columns = {}
    for number in range(n_texts):
        columns[f"text_{number}"] = [f"remark {row} of {number}" for row in range(12)]
    columns["mark"] = [row % n_marks for row in range(12)]
    return columns


@pytest.mark.parametrize(
    ("n_texts", "n_marks", "n_choices"),
    [(4, 3, 3), (5, 3, 4), (3, 3, 0), (4, 2, 0), (5, 4, 4)],
)
def test_columns_of_texts_are_choices_of_more_than_two_marks(n_texts, n_marks, n_choices):
    contents = Contents(make_choice_columns(n_texts, n_marks))

    choices = contents.list_choices(contents)

    # The first text is the question.
    assert choices == [f"text_{number}" for number in range(1, 1 + n_choices)]


def test_a_list_of_at_most_as_many_texts_as_letters_may_be_choices():
    def list_choices(n_members):
        cells = [[f"choice {row} {number}" for number in range(n_members)] for row in range(4)]
        return Contents({"list": cells}).list_choices(["list"])

    assert list_choices(26) == ["list"]
    assert list_choices(27) == []


def test_lists_that_repeat_are_choices_unless_they_contain_the_class():
    lists = [["Up", "Down"]] * 12
    classes = ["up", "down"] * 6
    others = ["left", "right"] * 6

    assert Contents({"list": lists, "class": classes}).list_choices(["list", "class"]) == []
    assert Contents({"list": lists, "class": others}).list_choices(["list", "class"]) == ["list"]
    # One class of 100 may be missing in its list.
    lists = lists * 10
    classes = ["up", "down"] * 50
    names = ["list", "class"]
    faulty = {"list": [["x", "y"], *lists[:99]], "class": classes}
    assert Contents(faulty).list_choices(names) == []
    faulty["list"] = [["x", "y"], ["x", "y"], *lists[:98]]
    assert Contents(faulty).list_choices(names) == ["list"]
    # Lists of which more than half are distinct are not compared.
    distinct = [*lists[:5], *[["Up", "Down", str(row)] for row in range(7)]]
    distinct_columns = {"list": distinct, "class": classes[:12]}
    assert Contents(distinct_columns).list_choices(names) == ["list"]


def test_a_table_is_sampled_only_if_it_is_longer_than_the_sample():
    at_limit = describe_contents({"number": list(range(MAX_SAMPLED_ROWS))})
    longer = describe_contents({"number": list(range(MAX_SAMPLED_ROWS + 1))})
    arrow = datasets.Dataset.from_dict({"number": list(range(MAX_SAMPLED_ROWS + 5))})

    assert at_limit["number"].n_rows == MAX_SAMPLED_ROWS
    assert longer["number"].n_rows == MAX_SAMPLED_ROWS
    assert describe_contents(arrow)["number"].n_rows == MAX_SAMPLED_ROWS
    rows = sample_rows(MAX_SAMPLED_ROWS + 5)
    assert (np.diff(rows) > 0).all()
    assert longer.get_cells("number") == sample_rows(MAX_SAMPLED_ROWS + 1).tolist()
    assert describe_contents(arrow).get_cells("number") == rows.tolist()

"""Figures as readers see them, at the limits of each format."""

from __future__ import annotations

import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.page.formats import (
    align_columns,
    badness,
    cell,
    decimal,
    describe_range,
    describe_selection,
    describe_unscored_items,
    format_estimate,
    level_percent,
    number,
    p_equals,
    p_value,
    percent,
)
from rightreasons.page.parts import Amount, Column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8349, "0.835"),
        (0.0005, "0.001"),
        (0.0006, "0.001"),
        # Below half of the last decimal, two digits; below 0.0001 a power of ten.
        (0.00049, "0.00049"),
        (0.0001, "0.0001"),
        (0.000099, "1e−04"),
        (0.000024, "2e−05"),
        (1e-12, "0.000"),
        (-1e-13, "0.000"),
        (-0.0, "0.000"),
        (-0.25, "−0.250"),
        (12.3456, "12.346"),
    ],
)
def test_a_decimal_does_not_read_as_zero(value, text):
    assert decimal(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8349, "83.5%"),
        (1.0, "100.0%"),
        (0.0005, "0.1%"),
        (0.00049, "0.049%"),
        (0.000012, "0.0012%"),
        (1e-6, "0.0001%"),
        (9e-7, "9e−05%"),
        (1e-9, "0.0%"),
        (-4e-17, "0.0%"),
        (-0.25, "−25.0%"),
    ],
)
def test_a_percentage_does_not_read_as_zero(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "fraction", "50.0%"),
        (0.5, "nats", "0.500"),
        (0.5, "ratio", "0.500"),
        (1234.6, "count", "1,235"),
        (None, "count", "–"),
    ],
)
def test_a_figure_is_written_in_its_unit(value, unit, text):
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.5, 0.4, 0.6), "50.0% [40.0, 60.0]"),
        (Estimate(0.5), "50.0%"),
        (Estimate(None), "–"),
    ],
)
def test_an_interval_is_written_if_it_is_whole(estimate, text):
    assert format_estimate(estimate) == text


@pytest.mark.parametrize(
    ("value", "text", "equals"),
    [
        (0.0421, "0.042", "= 0.042"),
        (0.001, "0.001", "= 0.001"),
        (0.0009, "< 0.001", "< 0.001"),
        (1.0, "1.000", "= 1.000"),
    ],
)
def test_p_values_have_three_decimals(value, text, equals):
    assert p_value(value) == text
    assert p_equals(value) == equals


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.5, "share", "50.0%"),
        (1200, "count", "1,200"),
        (0.5, "number", "0.500"),
        (0.0004, "p_value", "< 0.001"),
        (Estimate(0.5), "share", "50.0%"),
        (Estimate(0.5), "number", "0.500"),
        # An amount has its own unit.
        (Amount(Estimate(0.5), "fraction"), "number", "50.0%"),
        (7, "text", "7"),
        ("none", "share", "none"),
        (None, "text", "–"),
    ],
)
def test_a_cell_is_written_by_the_kind_of_its_column(value, kind, text):
    assert cell(value, Column("key", "Name", kind)) == text


def test_columns_are_aligned_to_the_left_or_right():
    rows = [("model", "n", "note"), ("a", "12", "x"), ("bc", "3", "")]

    assert align_columns(rows) == ["model   n  note", "a      12     x", "bc      3"]
    assert align_columns(rows, texts=(0, 2)) == ["model   n  note", "a      12  x", "bc      3"]


def test_answers_are_sorted_by_tone_and_size():
    answers = [("good", 0.5), ("bad", 0.1), ("neutral", None), ("bad", 0.4), ("warn", 0.9)]

    assert sorted(answers, key=lambda answer: badness(*answer)) == [
        ("bad", 0.4),
        ("bad", 0.1),
        ("warn", 0.9),
        ("good", 0.5),
        ("neutral", None),
    ]
    assert badness("bad", 0.25) == (0, -0.25)
    assert badness("bad", None) == (4, 0.0)


@pytest.mark.parametrize(
    ("n_shown", "n_all", "beginning"),
    [
        (1, 1, "The only item"),
        (1, 2, "1 of 2 items, the"),
        (2, 2, "Both items, the"),
        (3, 3, "All 3 items, the"),
        (2, 3, "2 of 3 items, the"),
    ],
)
def test_a_selection_says_how_many_are_shown(n_shown, n_all, beginning):
    assert describe_selection(n_shown, n_all, "item", "largest").startswith(beginning)


@pytest.mark.parametrize(
    ("n_left_out", "ending"),
    [(1, "1 of 10 items (0: no)."), (3, "(0: no; 1: no; 2: no)."), (4, "2: no; and 1 more).")],
)
def test_three_items_without_scores_are_listed(n_left_out, ending):
    left_out = [(str(number), "no.") for number in range(n_left_out)]

    (sentence,) = describe_unscored_items("item", 10 - n_left_out, left_out)

    assert sentence.endswith(ending)


def test_ranges_and_levels():
    assert describe_range([1200, 1200]) == "1,200"
    assert describe_range([3, 2000]) == "3 to 2,000"
    assert (level_percent(0.9), level_percent(0.999)) == ("90%", "99.9%")

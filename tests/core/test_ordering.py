"""Orders of items, and the codes of their values."""

import numpy as np
import pandas
import pyarrow
import pytest

from rightreasons.core.ordering import (
    LazyArrowColumn,
    argsort_canonical,
    argsort_descending,
    argsort_scores,
    average_ties,
    factorize,
)


def test_ties_of_the_first_column_are_ordered_by_a_sum_with_random_weights():
    # Three values of the first column and 40 of the second one: most items are tied in the first,
    # some in both. The position decides among those.
    rng = np.random.default_rng(4)
    scores = rng.integers(3, size=200) / 7
    others = rng.integers(40, size=200) / 9
    first_weight, second_weight = np.random.default_rng(0).random(2)
    sums = first_weight * scores + second_weight * others

    order = argsort_canonical(scores, others)

    assert order.tolist() == np.lexsort((np.arange(200), sums, scores)).tolist()


def test_sums_that_differ_by_less_than_the_key_resolves_keep_their_order():
    # The outlier widens the span to 1e9, so that the keys of the other items are equal.
    others = np.array([3e-6, 1e-6, 2e-6, 1e9])
    scores = np.array([0.5, 0.5, 0.5, 0.5])

    assert argsort_canonical(scores, others).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_infinite_sums_are_ordered_like_finite_ones(value):
    scores = np.array([0.5, 0.2, 0.5, 0.2, 0.9])
    others = np.array([value, 4.0, 1.0, 3.0, 0.0])

    assert argsort_canonical(scores, others).tolist() == [3, 1, 2, 0, 4]


def test_a_table_is_ordered_by_its_sums():
    weights = np.random.default_rng(0).random(2)
    rows = np.array([[5.0, 1.0], [1.0, 2.0], [3.0, 7.0], [1.0, 2.0]])

    assert argsort_canonical(rows).tolist() == np.argsort(rows @ weights, kind="stable").tolist()


@pytest.mark.parametrize("scores", [[0.1, 0.3, 0.3, 0.8], [0.8, 0.1, 0.3, 0.3], []])
def test_scores_are_in_ascending_order(scores):
    order = argsort_scores(np.array(scores))

    assert sorted(order.tolist()) == list(range(len(scores)))
    assert np.array(scores)[order].tolist() == sorted(scores)


def test_equal_values_are_ordered_by_id():
    order = argsort_descending(np.array([0.2, 0.9, 0.2, 0.4]), ["b", "c", "a", "d"])

    assert order.tolist() == [1, 3, 2, 0]


def test_tied_items_share_their_mean():
    # The ties are (3, 1), (5), (0, 4, 2).
    ordered = np.array([0.1, 0.1, 0.4, 0.9, 0.9, 0.9])
    values = np.array([3.0, 1.0, 5.0, 0.0, 4.0, 2.0])

    assert average_ties(ordered, values).tolist() == [2, 2, 5, 2, 2, 2]


@pytest.mark.parametrize("values", [np.array([7, 2, 7, 9, 2]), ["c", "a", "c", None, "a"]])
def test_codes_follow_the_first_positions_of_the_values(values):
    codes, distinct = factorize(values)

    assert codes.tolist() == [0, 1, 0, 2, 1]
    assert [distinct[code] for code in codes] == list(values)


def test_a_column_equals_sequences_of_its_values_only():
    column = LazyArrowColumn(pyarrow.array(["a", "b"]))

    assert column == ["a", "b"]
    assert column == LazyArrowColumn(pyarrow.array(["a", "b"]))
    assert column not in (["a"], ["a", "c"], {"a", "b"}, 2)


def test_a_series_with_missing_numbers_is_numbered():
    codes, distinct = factorize(pandas.Series([1.0, None, 1.0]))

    assert codes.tolist() == [0, 1, 0]
    assert distinct[0] == 1.0
    assert np.isnan(distinct[1])

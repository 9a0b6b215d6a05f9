"""Rows are reduced, and their largest value is found, as numpy does it."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged, find_largest
from rightreasons.core.validation import reduce_rows


@pytest.mark.parametrize("n_columns", [1, 2, 4, 7, 8, 40])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum])
def test_rows_are_reduced_as_numpy_does(n_columns, ufunc):
    # More rows than a block.
    table = np.random.default_rng(n_columns).normal(size=(33_000, n_columns))
    assert np.array_equal(reduce_rows(table, ufunc), ufunc.reduce(table, axis=1))


@pytest.mark.parametrize("n_columns", [2, 3, 32, 33])
def test_the_largest_value_of_a_row_is_in_its_first_column_of_ties(n_columns):
    table = np.random.default_rng(n_columns).integers(3, size=(33_000, n_columns)).astype(float)
    largest, column = find_largest(table)
    assert np.array_equal(largest, table.max(axis=1))
    assert np.array_equal(column, table.argmax(axis=1))


def test_the_largest_value_of_rows_of_different_lengths():
    rows = Ragged.of(np.array([0.2, 0.8, 0.4, 0.2, 0.4]), [2, 3])
    largest, column = find_largest(rows)
    assert (largest.tolist(), column.tolist()) == ([0.8, 0.4], [1, 0])

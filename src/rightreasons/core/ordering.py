"""The order of items, and codes of their values, independent of the order of the input.

`argsort_scores`, `argsort_descending` and `argsort_canonical` order items, `factorize` numbers
their values. Ids may
be a `LazyArrowColumn`, so that a million of them need no Python strings.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Array, Floats, Integers, Positions

_ROWS_PER_BLOCK = 4096
"""Number of rows that are converted to Python values at a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class LazyArrowColumn(Sequence[Any]):
    """A column of Arrow as a sequence of Python values, each of which is made when it is read.

    Attributes:
        arrow: An Array or a ChunkedArray of pyarrow.

    Example:
        >>> import pyarrow
        >>> column = LazyArrowColumn(pyarrow.array(["b", "a", None]))
        >>> column[1], column[1:], list(column), column == ["b", "a", None]
        ('a', ['a', None], ['b', 'a', None], True)
    """

    arrow: Any

    def __len__(self) -> int:
        return len(self.arrow)

    def __getitem__(self, row: Any) -> Any:
        """Return the value of a row; a list for a slice, and another column for an array of rows."""
        if isinstance(row, np.ndarray):
            return LazyArrowColumn(self.arrow.take(row))
        if isinstance(row, slice):
            return self.arrow[row].to_pylist()
        return self.arrow[int(row)].as_py()

    def __iter__(self) -> Iterator[Any]:
        # Blocks are faster than single values, and need less memory than the whole column.
        for start in range(0, len(self), _ROWS_PER_BLOCK):
            yield from self[start : start + _ROWS_PER_BLOCK]

    def __eq__(self, values: object) -> bool:
        """Return whether another sequence has the same values in the same order.

        Args:
            values: A `LazyArrowColumn` or any other sequence. Other objects are never equal.
        """
        if isinstance(values, LazyArrowColumn):
            # Arrow compares columns without converting them to Python values.
            return bool(self.arrow.equals(values.arrow))
        if not isinstance(values, Sequence):
            return False
        if len(self) != len(values):
            return False
        return all(map(operator.eq, self, values))

    __hash__ = None  # type: ignore[assignment]

    def __arrow_array__(self, type: Any = None) -> Any:  # noqa: A002
        if type is None:
            return self.arrow
        return self.arrow.cast(type)


def to_sortable(names: Any) -> Array:
    """Return an array that sorts in the order of names.

    Args:
        names: N names. A `LazyArrowColumn` is not converted to Python strings.

    Returns:
        (N,) names; for a `LazyArrowColumn`, their ranks.

    Example:
        >>> import pyarrow
        >>> to_sortable(["b", "a"]).tolist()
        ['b', 'a']
        >>> to_sortable(LazyArrowColumn(pyarrow.array(["b", "a", "b"]))).tolist()
        [2, 1, 2]
    """
    if not isinstance(names, LazyArrowColumn):
        return np.asarray(names, dtype=np.str_)
    # pyarrow is imported only if a column of it is at hand.
    compute = importlib.import_module("pyarrow.compute")
    ranks = compute.rank(names.arrow, tiebreaker="dense")
    return np.asarray(ranks.to_numpy())


def average_ties(ordered: Array, values: Floats) -> Floats:
    """Replace the values of items with equal scores by their mean.

    Args:
        ordered: (N,) scores in ascending or descending order.
        values: (N,) values in the same order.

    Returns:
        (N,) values: the expectation at each position if ties are put in random order.
    """
    # A run of equal scores starts where a score differs from the one before it.
    n_items = len(ordered)
    is_start = np.ones(n_items, dtype=bool)
    is_start[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_start)
    if len(starts) == n_items:
        return values
    ends = np.append(starts[1:], n_items)
    sizes = ends - starts
    means = np.add.reduceat(values, starts) / sizes
    return np.repeat(means, sizes)


def argsort_descending(values: Array, ids: Sequence[Any] | Array) -> Positions:
    """Return the positions of items by descending value, and of equal values by id.

    Args:
        values: (N,) numbers.
        ids: N ids. They make the order independent of the order of the input.

    Example:
        >>> argsort_descending(np.array([0.2, 0.9, 0.2]), ["b", "c", "a"]).tolist()
        [1, 2, 0]
    """
    names = to_sortable(ids)
    return np.lexsort((names, -values))


def argsort_scores(scores: Floats) -> Positions:
    """Return the positions of finite scores in ascending order; the order of equal scores is open.

    Args:
        scores: (N,) finite scores.

    Example:
        >>> argsort_scores(np.array([0.9, 0.2, 0.5])).tolist()
        [1, 2, 0]
    """
    # To see that scores are in order already takes far less time than to sort them again.
    is_sorted = scores[:-1] <= scores[1:]
    if is_sorted.all():
        return np.arange(len(scores))
    return np.argsort(scores)


def argsort_canonical(*columns: Array) -> Positions:
    """Sort items so that their order depends only on their values, not on the order of the input.

    Random samples of items in this order do not depend on the order of the input either.

    Args:
        *columns: (N,) or (N, K) numbers. Items are sorted by the first column if it is a vector, and
            items with equal values by a random weighted sum of all their numbers.

    Returns:
        (N,) positions.

    Example:
        >>> tied = np.array([2.0, 1.0, 2.0])
        >>> rows = np.array([[0.6, 0.4], [0.5, 0.5], [0.6, 0.4]])
        >>> argsort_canonical(tied, rows).tolist()
        [1, 0, 2]
    """
    # With random weights, items that differ have different sums (almost surely).
    rng = np.random.default_rng(0)
    sums: Any = 0
    for column in columns:
        weights = rng.random(column.shape[1:])
        sums = sums + np.dot(column, weights)
    primary = columns[0]
    if primary.ndim > 1:
        primary = sums

    # Sorting one column is several times faster than a stable sort by two. So only ties are sorted
    # by the second column, and by position if that is equal too. NaN counts as a tie, because it is
    # not smaller than any number.
    order = np.argsort(primary)
    ordered = primary[order]
    is_rising = ordered[:-1] < ordered[1:]
    if is_rising.all():
        return order
    is_tied = _mark_ties(is_rising)
    # The rank of a value is the number of distinct values below it.
    ranks = np.zeros(len(order))
    np.cumsum(is_rising, out=ranks[1:])
    order[is_tied] = _sort_ties(
        rows=order[is_tied],
        ranks=ranks[is_tied],
        primary=primary,
        sums=sums,
    )
    return order


def _sort_ties(rows: Positions, ranks: Floats, primary: Array, sums: Array) -> Positions:
    """Sort rows by their primary value, equal values by their sum, and equal sums by position.

    Args:
        rows: (n,) rows in ascending order of their primary values.
        ranks: (n,) number of distinct primary values that are smaller than that of each row.
        primary: (N,) primary values of all rows.
        sums: (N,) sums of all rows.

    Returns:
        (n,) the sorted rows.
    """
    values = sums[rows]
    lowest = values.min()
    # If a sum is infinite or NaN, the span is not finite, and sums cannot be scaled.
    with np.errstate(invalid="ignore", over="ignore"):
        span = values.max() - lowest
    if not np.isfinite(span):
        return _sort_by_two(rows, primary, sums)

    # One column is sorted much faster than two. Ranks are whole numbers, so that a key of the rank
    # plus the sum, scaled to [0, 0.5], orders rows by rank and then by sum.
    scale = 0.5 / max(span, np.finfo(np.float64).tiny)
    keys = ranks + (values - lowest) * scale
    by_key = np.argsort(keys)
    rows = rows[by_key]
    keys = keys[by_key]
    # Rounding may make the keys of different sums equal, but does not change their order.
    is_tied = _mark_ties(keys[:-1] < keys[1:])
    rows[is_tied] = _sort_by_two(rows[is_tied], primary, sums)
    return rows


def _mark_ties(is_rising: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the sorted values that equal the value before or after them.

    Args:
        is_rising: (N - 1,) whether value i is below value i + 1.

    Returns:
        (N,) flags.
    """
    is_flat = ~is_rising
    is_tied = np.zeros(len(is_flat) + 1, dtype=bool)
    is_tied[:-1] = is_flat
    is_tied[1:] |= is_flat
    return is_tied


def _sort_by_two(rows: Positions, primary: Array, secondary: Array) -> Positions:
    """Sort rows by their primary value, by the secondary one among ties, and then by position.

    Args:
        rows: (n,) row numbers, in any order.
        primary: (N,) values of all rows.
        secondary: (N,) values that decide among equal primary ones.
    """
    # `lexsort` is stable: in ascending order, rows with equal keys stay in this order.
    rows = np.sort(rows)
    keys = (secondary[rows], primary[rows])
    ordering = np.lexsort(keys)
    return rows[ordering]


def factorize(values: Any) -> tuple[Integers, list[Any]]:
    """Number the distinct values from 0, in the order of their first occurrence.

    Args:
        values: N hashable values: an array, a `LazyArrowColumn` or any other sequence.

    Returns:
        (N,) the code of each value, and the distinct values by code.

    Example:
        >>> codes, values = factorize(np.array([3, 1, 3]))
        >>> codes.tolist(), values, factorize(["b", None])[1]
        ([0, 1, 0], [3, 1], ['b', None])
    """
    if isinstance(values, LazyArrowColumn):
        return _factorize_arrow(values.arrow)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
        return _factorize_array(values)
    # A pandas Series makes new objects each time it is read. NaN is found in a dictionary only as the
    # same object, so the values are read once.
    if not isinstance(values, (list, tuple, np.ndarray)):
        values = list(values)
    # A dictionary keeps the order in which its keys were added.
    code_by_value: dict[Any, int] = {}
    for value in values:
        code_by_value.setdefault(value, len(code_by_value))
    codes = np.fromiter(
        map(code_by_value.__getitem__, values),
        dtype=np.int64,
        count=len(values),
    )
    return codes, list(code_by_value)


def _factorize_arrow(column: Any) -> tuple[Integers, list[Any]]:
    encoded = column.dictionary_encode(null_encoding="encode")
    if hasattr(encoded, "chunks"):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.to_numpy()
    return codes.astype(np.int64), encoded.dictionary.to_pylist()


def _factorize_array(values: Array) -> tuple[Integers, list[Any]]:
    """Number the distinct values of an array from 0, in the order of their first occurrence.

    Args:
        values: (N,) values that can be sorted.

    Returns:
        (N,) the code of each value, and the distinct values by code.
    """
    distinct, first_positions, ranks = np.unique(
        values,
        return_index=True,
        return_inverse=True,
    )
    # numpy numbers the values in sorted order. The first value of the array should get code 0, so the
    # ranks are sorted by first position; the inverse of this permutation is the code of each rank.
    rank_by_code = np.argsort(first_positions)
    code_by_rank = np.argsort(rank_by_code)
    return code_by_rank[ranks], distinct[rank_by_code].tolist()

"""Arrays that hold rows or runs of values one after another: their positions, borders and blocks.

Rows are described by offsets, the position at which each row begins and the total at the end (see
`arrays.compute_offsets`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]

Positions = NDArray[np.int64]
"""Positions in an array."""

BLOCK_SIZE = 1 << 18
"""Number of elements that are sorted at once, which bounds the memory of a sort."""


def list_positions(
    starts: Positions,
    lengths: Positions,
) -> Positions:
    """Return the positions that several runs of consecutive positions cover, one run after another.

    Args:
        starts: (R,) first position of each run.
        lengths: (R,) number of positions of each run.

    Returns:
        (total of the lengths,) positions.

    Example:
        >>> list_positions(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    # Within a run, positions count up as the indices of the result do. So each run is the indices
    # plus a shift: the difference between its first position and its first index.
    first_indices = np.cumsum(lengths) - lengths
    shifts = starts - first_indices
    positions = np.repeat(shifts, lengths)
    positions += np.arange(len(positions))
    return positions


def flag_changes(values: NDArray[Any]) -> Flags:
    """Return which values differ from the one before; the first always does.

    Example:
        >>> flag_changes(np.array([3, 3, 5])).tolist()
        [True, False, True]
    """
    is_change = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_change[1:])
    return is_change


def iterate_blocks(
    offsets: Positions,
    size: int = BLOCK_SIZE,
) -> Iterator[tuple[int, int]]:
    """Divide rows of elements into consecutive blocks of about `size` elements.

    Args:
        offsets: (N + 1,) position of the first element of each row, and the total.
        size: Number of elements of a block. A block exceeds it by at most its first row.

    Yields:
        First row of a block, and the row after its last.

    Example:
        >>> list(iterate_blocks(np.array([0, 3, 6, 9, 12]), 6))
        [(0, 1), (1, 3), (3, 4)]
    """
    n_rows = len(offsets) - 1
    if n_rows == 0:
        return

    # A block ends with the last row that ends within the same multiple of the size.
    row_ends = offsets[1:]
    steps = np.diff(row_ends // size)
    borders = np.flatnonzero(steps) + 1
    yield from itertools.pairwise([0, *borders.tolist(), n_rows])


def group_rows(labels: NDArray[np.integer[Any]], n_labels: int) -> list[Positions]:
    """Return the rows of each label, in ascending order.

    Args:
        labels: (N,) labels; rows with a label outside 0 to n_labels - 1 are left out.
        n_labels: Number of labels.

    Returns:
        One array of row numbers per label.

    Example:
        >>> [rows.tolist() for rows in group_rows(np.array([1, 0, 1, -1]), 2)]
        [[1], [0, 2]]
    """
    # A stable sort keeps the rows of a label in ascending order.
    order = np.argsort(labels, kind="stable")
    borders = np.searchsorted(labels[order], np.arange(n_labels + 1))
    groups = []
    for start, stop in itertools.pairwise(borders):
        groups.append(order[start:stop])
    return groups

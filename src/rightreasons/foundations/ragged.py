"""Rows of different lengths in one flat array."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def offsets_of(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where rows of these lengths begin in a flat array, (N + 1,); the last entry is the total.

    Example:
        >>> offsets_of([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: (total,) all rows, one after another.
        offsets: (N + 1,) where each row begins; the last entry is the total.

    Example:
        >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1])[1]
        array([0.5])
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64], lengths: Sequence[int] | NDArray[np.int64]) -> Ragged:
        """Cut a flat array into rows of these lengths."""
        return cls(values, offsets_of(lengths))

    @classmethod
    def of_table(cls, table: NDArray[np.float64]) -> Ragged:
        """Take the rows of an (N, C) array."""
        return cls.of(table.reshape(-1), np.full(len(table), table.shape[1]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self.values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def __getitem__(self, row: int) -> NDArray[np.float64]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def starts(self) -> NDArray[np.int64]:
        """(N,) the first index of each row."""
        return self.offsets[:-1]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many values each row has."""
        return np.diff(self.offsets)

    def table(self) -> NDArray[np.float64] | Ragged:
        """Return the rows as an (N, C) array where each has C values, and otherwise as they are.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5, 0.5]), [2, 2]).table()
            array([[0.1, 0.9],
                   [0.5, 0.5]])
        """
        lengths = self.lengths
        if not len(lengths) or (lengths != lengths[0]).any():
            return self
        return self.values.reshape(len(lengths), -1)

    def take(self, order: NDArray[np.intp]) -> Ragged:
        """Return the rows at some positions, in that order.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]).take(np.array([1, 0])).values
            array([0.5, 0.1, 0.9])
        """
        lengths = self.lengths[order]
        offsets = offsets_of(lengths)
        source = np.repeat(self.starts[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[source], offsets)

    def reduce(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        """Reduce each (non-empty) row by a ufunc, such as `np.add` or `np.maximum`; (N,)."""
        return np.asarray(ufunc.reduceat(self.values, self.starts), dtype=np.float64)

    def argmax(self) -> NDArray[np.int64]:
        """(N,) the index inside each row of its first largest value."""
        top = np.repeat(self.reduce(np.maximum), self.lengths)
        position = np.where(self.values == top, np.arange(len(self.values)), len(self.values))
        first = np.minimum.reduceat(position, self.starts)
        return np.asarray(first - self.starts, dtype=np.int64)

    def softmax(self, inverse: float = 1.0) -> Ragged:
        """Return the softmax of each row, of its values times `inverse`; a row with NaN stays NaN.

        Example:
            >>> Ragged.of(np.array([0.0, 0.0, 5.0]), [2, 1]).softmax().values
            array([0.5, 0.5, 1. ])
        """
        if not len(self):
            return self
        values = self.values * inverse
        powers = np.exp(values - np.repeat(np.maximum.reduceat(values, self.starts), self.lengths))
        return Ragged(powers / np.repeat(np.add.reduceat(powers, self.starts), self.lengths), self.offsets)

    def at(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the value at `index[i]` of each row."""
        return np.asarray(self.values[self.starts + index], dtype=np.float64)

    def row_of(self, position: int) -> int:
        """Tell which row a position of the flat array belongs to."""
        return int(np.searchsorted(self.offsets, position, side="right") - 1)


def take_rows(rows: NDArray[np.float64] | Ragged, order: NDArray[np.intp]) -> NDArray[np.float64] | Ragged:
    """Return the rows of a table or of `Ragged` at some positions; rows of one length become a table.

    Example:
        >>> take_rows(Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]), np.array([0, 0])).tolist()
        [[0.1, 0.9], [0.1, 0.9]]
    """
    return rows.take(order).table() if isinstance(rows, Ragged) else np.asarray(rows[order])

"""Rows of different lengths in one flat array."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: (total,) all rows, one after another.
        offsets: (N + 1,) where each row begins; the last entry is the total.
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

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

    def reduce(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        """Reduce each (non-empty) row by a ufunc, such as `np.add` or `np.maximum`; (N,)."""
        return np.asarray(ufunc.reduceat(self.values, self.starts), dtype=np.float64)

    def argmax(self) -> NDArray[np.int64]:
        """(N,) the index inside each row of its first largest value."""
        top = np.repeat(self.reduce(np.maximum), self.lengths)
        position = np.where(self.values == top, np.arange(len(self.values)), len(self.values))
        first = np.minimum.reduceat(position, self.starts)
        return np.asarray(first - self.starts, dtype=np.int64)

    def at(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the value at `index[i]` of each row."""
        return np.asarray(self.values[self.starts + index], dtype=np.float64)

    def row_of(self, position: int) -> int:
        """Tell which row a position of the flat array belongs to."""
        return int(np.searchsorted(self.offsets, position, side="right") - 1)

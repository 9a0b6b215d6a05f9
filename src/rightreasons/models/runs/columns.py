"""Results of items as named columns: `Columns`, and `join` for those of several chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ints, Ragged

Column: TypeAlias = "NDArray[Any] | Ragged"


@dataclass(frozen=True, eq=False)
class Columns:
    """Results of some items of a dataset.

    Attributes:
        positions: (n,) positions of the items in the dataset.
        columns: Name -> one row per item: an array (n, ...), or `Ragged` if the rows differ in
            length.
        failures: Position of an item -> the reason why it has no row; {} unless failing items are
            left out.
    """

    positions: Ints
    columns: Mapping[str, Column]
    failures: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def add_failures(self, failed: Columns) -> Columns:
        """Return the same results, with the reasons why other items have none.

        Args:
            failed: The items without results, in columns with one entry `reason`: a text per item.
        """
        # Without failures there is no column of reasons.
        if not len(failed):
            return replace(self, failures={})
        failures = {}
        reasons = np.asarray(failed["reason"])
        positions = failed.positions.tolist()
        for position, reason in zip(positions, reasons, strict=True):
            failures[position] = str(reason)
        return replace(self, failures=failures)

    def find_complete(self, owners: Ints) -> tuple[NDArray[np.bool_], dict[int, str]]:
        """Find the items that have all of their rows, if an item has several rows in these columns.

        Args:
            owners: (S,) the item of each of the S rows, including failed ones.

        Returns:
            (n,) whether each of the n computed rows belongs to an item without a failure; and item
            -> reason of the items with one.

        Raises:
            ValueError: If no item is complete.
        """
        reasons: dict[int, str] = {}
        for row, reason in sorted(self.failures.items()):
            # Of several rows that failed, the first one gives the reason.
            reasons.setdefault(int(owners[row]), reason)
        item_by_row = owners[self.positions]
        is_complete = ~np.isin(item_by_row, list(reasons))
        if reasons and not is_complete.any():
            first_reason = next(iter(reasons.values()))
            raise ValueError(first_reason)
        return is_complete, reasons

    def fill_failed(self, lengths: Mapping[str, Ints]) -> Columns:
        """Return the columns over all N items, with NaN (0 in columns of integers) for failed ones.

        Args:
            lengths: Name of each `Ragged` column -> (N,) lengths that its rows have, or would have.
        """
        failed = np.array(sorted(self.failures), dtype=np.int64)
        n_failed = len(failed)
        if n_failed == 0:
            return self
        blank: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, Ragged):
                row_lengths = lengths[name][failed]
                values = np.full(int(row_lengths.sum()), np.nan)
                blank[name] = Ragged.of(values, row_lengths)
            else:
                blank[name] = _make_blank(column, n_failed)
        filled = join([self, Columns(failed, blank)])
        return replace(filled, failures=self.failures)

    def array(self, name: str) -> NDArray[Any]:
        """Return a column with one value, or one array of a fixed shape, per item."""
        return np.asarray(self.columns[name])

    def ragged(self, name: str) -> Ragged:
        """Return a column whose rows may differ in length.

        Raises:
            TypeError: If the column is an array.
        """
        column = self.columns[name]
        if not isinstance(column, Ragged):
            raise TypeError(
                f"Expected the column {name!r} to have rows of different lengths, but got an array."
            )
        return column


def _make_blank(column: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Return rows without values, in the type and shape of a column.

    Args:
        column: (n, ...) a column.
        n_rows: Number of rows, r.

    Returns:
        (r, ...) NaN, or 0 if the column has integers, which have no NaN.
    """
    # Integers have no NaN.
    value = 0.0
    if column.dtype.kind == "f":
        value = np.nan
    shape = (n_rows, *column.shape[1:])
    return np.full(shape, value, dtype=column.dtype)


EMPTY = Columns(np.empty(0, np.int64), {})
"""Results of no item."""


def join(chunks: Iterable[Columns]) -> Columns:
    """Join chunks into one, with its items in the order of the dataset.

    An item that two chunks contain is kept once, from the first of them.

    Args:
        chunks: Chunks with the same columns. Chunks without items are skipped.

    Example:
        >>> late = Columns(np.array([2]), {"x": np.array([0.3])})
        >>> early = Columns(np.array([1, 0]), {"x": np.array([0.2, 0.1])})
        >>> join([late, early]).columns["x"]
        array([0.1, 0.2, 0.3])
    """
    filled_chunks = [chunk for chunk in chunks if len(chunk)]
    if not filled_chunks:
        return EMPTY
    positions = np.concatenate([chunk.positions for chunk in filled_chunks])
    # Sorted, with the index of the first of several equal positions.
    items, order = np.unique(positions, return_index=True)
    columns: dict[str, Column] = {}
    for name in filled_chunks[0].columns:
        column_chunks = [chunk.columns[name] for chunk in filled_chunks]
        columns[name] = _join_column(column_chunks, order)
    return Columns(items, columns)


def _join_column(chunks: list[Any], order: Ints) -> Column:
    """Concatenate the chunks of one column, and take its rows in another order.

    Args:
        chunks: Arrays, or `Ragged`, in every chunk.
        order: Indices of rows among those of all chunks.
    """
    # A column is of the same type in all chunks.
    if not isinstance(chunks[0], Ragged):
        rows = np.concatenate(chunks)
        return np.asarray(rows[order])
    values = []
    lengths = []
    for chunk in chunks:
        values.append(chunk.values)
        lengths.append(chunk.lengths)
    ragged = Ragged.of(np.concatenate(values), np.concatenate(lengths))
    return ragged.take(order)

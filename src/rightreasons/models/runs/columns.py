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
        positions: (n,) indices of the items in the dataset.
        columns: Name -> one row per item: an array (n, ...), or `Ragged` if the rows differ in
            length.
        failures: Index of an item -> the reason why it has no row; empty if there are no failures.
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
            failed: The items without results, with one column `reason` of strings.
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
        """Find the items none of whose rows failed, if an item has several rows in these columns.

        An example is a multiple-choice item with a row per choice.

        Args:
            owners: (S,) item of each of the S rows, including those that failed.

        Returns:
            (n,) whether each of the n rows that did not fail belongs to a complete item; and a
            dictionary, item -> reason of its failed row.

        Raises:
            ValueError: If no item is complete.
        """
        reasons: dict[int, str] = {}
        for row, reason in sorted(self.failures.items()):
            item = int(owners[row])
            # The first of several failed rows gives the reason.
            reasons.setdefault(item, reason)
        item_by_row = owners[self.positions]
        is_complete = ~np.isin(item_by_row, list(reasons))
        if reasons and not is_complete.any():
            first_reason = next(iter(reasons.values()))
            raise ValueError(first_reason)
        return is_complete, reasons

    def fill_failed(self, lengths: Mapping[str, Ints]) -> Columns:
        """Return the columns over all N items, with NaN (0 in columns of integers) for failed ones.

        Args:
            lengths: Name of a `Ragged` column -> (N,) length of the row of each item.
        """
        failed = np.array(sorted(self.failures), dtype=np.int64)
        n_failed = len(failed)
        if n_failed == 0:
            return self
        blank: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, Ragged):
                row_lengths = lengths[name][failed]
                n_values = int(row_lengths.sum())
                values = np.full(n_values, np.nan)
                blank[name] = Ragged.of(values, row_lengths)
            else:
                blank[name] = _make_blank(column, n_failed)
        failed_rows = Columns(failed, blank)
        filled = join([self, failed_rows])
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
        (r, ...) NaN; or 0 if the numbers of the column are not floating-point numbers.
    """
    # Integers and booleans have no NaN.
    value = 0.0
    if column.dtype.kind == "f":
        value = np.nan
    shape = (n_rows, *column.shape[1:])
    return np.full(shape, value, dtype=column.dtype)


EMPTY = Columns(np.empty(0, np.int64), {})
"""Results of no item."""


def join(chunks: Iterable[Columns]) -> Columns:
    """Join chunks of results into one, with its items in the order of the dataset.

    If two chunks contain the same item, the row of the first chunk is used.

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
    # The distinct positions in order, and the row at which each of them occurs first.
    distinct_positions, first_rows = np.unique(positions, return_index=True)
    columns: dict[str, Column] = {}
    for name in filled_chunks[0].columns:
        column_chunks = [chunk.columns[name] for chunk in filled_chunks]
        columns[name] = _join_column(column_chunks, first_rows)
    return Columns(distinct_positions, columns)


def _join_column(chunks: list[Any], rows: Ints) -> Column:
    """Concatenate the chunks of one column, and select rows of the result.

    Args:
        chunks: Arrays, or `Ragged`, from all chunks of the results.
        rows: Indices of the rows to select, after concatenation.
    """
    # The column has the same type in all chunks.
    is_ragged = isinstance(chunks[0], Ragged)
    if not is_ragged:
        table = np.concatenate(chunks)
        return np.asarray(table[rows])

    # The rows of all chunks, one after another, are the rows of one `Ragged`.
    values = []
    lengths = []
    for chunk in chunks:
        values.append(chunk.values)
        lengths.append(chunk.lengths)
    joined_values = np.concatenate(values)
    joined_lengths = np.concatenate(lengths)
    ragged = Ragged.of(joined_values, joined_lengths)
    return ragged.take(rows)

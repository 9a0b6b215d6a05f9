"""The table that training texts were read from, with its owner's columns, as a repair returns it.

A script that trains on the original reads the repaired table unchanged: every column keeps its name, its values and its
place. `OwnTable.edit` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import TEXT_COLUMNS
from rightreasons.audited.task_data import choose_training_split

if TYPE_CHECKING:
    import datasets

SOURCE_COLUMN = "source_id"
EDIT_COLUMN = "edit"
"""Columns that a repaired table has besides: the id of the text that each was made of, and what was done."""


@dataclasses.dataclass(frozen=True, eq=False)
class OwnTable:
    """Training texts under the names that their owner gave the columns.

    Attributes:
        columns: Column name -> N values, in the order of the file.
        names: Common column (text, text_pair, label, id) -> column. Without a second text, or a column of ids, there is
            no such entry.
    """

    columns: dict[str, list[Any]]
    names: Mapping[str, str]

    @property
    def text_columns(self) -> list[str]:
        """The columns of the texts: one, or two for pairs."""
        return [self.names[common] for common in TEXT_COLUMNS if common in self.names]

    def edit(
        self,
        texts: Sequence[list[str]],
        *,
        ids: Sequence[str],
        sources: NDArray[np.int64],
        edits: Sequence[str],
    ) -> OwnTable:
        """Return the table with edited texts, and with the columns `source_id` and `edit`.

        Args:
            texts: M texts, or M first texts and M second ones.
            ids: N ids of the rows of this table.
            sources: (M,) row that each text was made of.
            edits: M names of what was done to each.

        Returns:
            A table of M rows. Everything but the texts is copied from their sources; the ids are unique.
        """
        columns = {}
        for name, values in self.columns.items():
            columns[name] = select_rows(values, sources)
        columns.update(zip(self.text_columns, texts, strict=True))
        # A table that is repaired again keeps the ids of the texts that it began with.
        columns.setdefault(SOURCE_COLUMN, select_rows(ids, sources))
        columns[EDIT_COLUMN] = list(edits)
        id_column = self.names.get("id")
        if id_column is not None:
            columns[id_column] = _number_repeats(columns[id_column])
        return dataclasses.replace(self, columns=columns)


def open_own_table(train: Any, ids: Sequence[str], *, n_texts: int = 1, **source: Any) -> OwnTable:
    """Open training texts under the names that their owner gave the columns.

    Args:
        train: What `open_training_split` opens.
        ids: N ids of the texts that are to be edited; others are left out.
        n_texts: Texts of an item, 2 for pairs.
        **source: Further options of `load_data`, such as `text_column`.
    """
    # Imported late, so that the help of a command does not wait for it.
    from rightreasons.io.tables import open_source_rows

    splits = open_source_rows(train, **source)
    rows = splits[choose_training_split(splits)]
    # Rows without a label, or without words, were left out when the texts were read.
    row_by_id = {name: row for row, name in enumerate(rows.ids)}
    selected = []
    for name in ids:
        selected.append(row_by_id[name])
    columns = _select_columns(rows.table, rows.names.get("label", ""), np.array(selected))
    names = dict(rows.names)
    for common in TEXT_COLUMNS[:n_texts]:
        # A text that was joined of several columns gets one for itself, so that none of these is lost.
        if common not in names:
            names[common] = _find_free_name(common, columns)
            columns[names[common]] = [""] * len(selected)
    return OwnTable(columns, names)


def _select_columns(
    table: datasets.Dataset, label: str, rows: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """Return all columns of some rows, labels by name if the table has names for them."""
    columns = {}
    for name in table.column_names:
        columns[name] = select_rows(table[name][:], rows)
    # A file does not keep what the numbers of a ClassLabel stand for.
    label_names = getattr(table.features.get(label), "names", None)
    if label_names is not None:
        columns[label] = select_rows(label_names, np.array(columns[label]))
    return columns


def select_rows(values: Sequence[Any], rows: NDArray[np.int64]) -> list[Any]:
    """Return the values of some rows."""
    return [values[row] for row in rows.tolist()]


def _find_free_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return a name for a new column that no column has."""
    while name in columns:
        name = f"repaired_{name}"
    return name


def _number_repeats(ids: Sequence[Any]) -> list[Any]:
    """Return ids of which each further copy has a number; without copies, they stay what they are."""
    if len(set(ids)) == len(ids):
        return list(ids)
    counts: dict[str, int] = {}
    numbered: list[Any] = []
    # A column has one type, and numbered copies are texts.
    for name in map(str, ids):
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name)
        if counts[name] > 1:
            numbered[-1] = f"{name}-{counts[name]}"
    return numbered

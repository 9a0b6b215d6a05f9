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
        for name, edited_texts in zip(self.text_columns, texts, strict=True):
            columns[name] = edited_texts
        # A table that is repaired a second time keeps the ids of the texts before the first repair.
        if SOURCE_COLUMN not in columns:
            columns[SOURCE_COLUMN] = select_rows(ids, sources)
        columns[EDIT_COLUMN] = list(edits)
        # Copies of one text must not have the same id.
        id_column = self.names.get("id")
        if id_column is not None:
            columns[id_column] = _number_repeats(columns[id_column])
        return dataclasses.replace(self, columns=columns)


def open_own_table(train: Any, ids: Sequence[str], *, n_texts: int = 1, **source: Any) -> OwnTable:
    """Open training texts with all their columns, under the names that their owner gave them.

    Args:
        train: A file, a folder, a data set of the hub, or a table in memory, as
            `open_training_split` takes it.
        ids: N ids of the texts that are to be edited; others are left out.
        n_texts: Texts of an item, 2 for pairs.
        **source: Further options of `load_data`, such as `text_column`.
    """
    # Imported late, so that the help of a command does not wait for it.
    from rightreasons.io.tables import open_source_rows

    splits = open_source_rows(train, **source)
    opened = splits[choose_training_split(splits)]
    # Rows without a label or without words were left out when the texts were read.
    row_by_id = {item_id: row for row, item_id in enumerate(opened.ids)}
    rows = np.array(list(map(row_by_id.__getitem__, ids)))
    label_column = opened.names.get("label", "")
    columns = _select_columns(opened.table, label_column, rows)
    names = dict(opened.names)
    for common_name in TEXT_COLUMNS[:n_texts]:
        # A text that was joined from several columns gets a column of its own, so that none of
        # these is overwritten.
        if common_name not in names:
            names[common_name] = _find_free_name(common_name, columns)
            columns[names[common_name]] = [""] * len(rows)
    return OwnTable(columns, names)


def _select_columns(
    table: datasets.Dataset, label: str, rows: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """Return the values of some rows, by column.

    Args:
        table: The table.
        label: Name of the column of labels; "" for none. If it is a ClassLabel, its values are the
            names of the classes, because a csv file cannot store them.
        rows: (M,) rows.
    """
    columns = {}
    for name in table.column_names:
        columns[name] = select_rows(table[name][:], rows)
    class_names = getattr(table.features.get(label), "names", None)
    if class_names is not None:
        columns[label] = select_rows(class_names, np.array(columns[label]))
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
    """Return unique ids: of equal ones, all but the first get a number.

    Without repeats, the ids keep their type. Otherwise, they are texts.

    Example:
        >>> _number_repeats(["a", "b", "a"]), _number_repeats([7, 8])
        (['a', 'b', 'a-2'], [7, 8])
    """
    if len(set(ids)) == len(ids):
        return list(ids)
    counts: dict[str, int] = {}
    numbered: list[Any] = []
    for item_id in map(str, ids):
        counts[item_id] = counts.get(item_id, 0) + 1
        if counts[item_id] == 1:
            numbered.append(item_id)
        else:
            numbered.append(f"{item_id}-{counts[item_id]}")
    return numbered

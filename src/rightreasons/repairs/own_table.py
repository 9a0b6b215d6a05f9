"""The table from which training texts were read, with all of its columns, so that a repair can return it.

A script that trains on the original table can read the repaired one without changes: every column keeps its name, its
values and its position. `OwnTable.edit` is the entry point.
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
"""Columns that a repair adds to a table: the id of the original text, and the name of the edit."""


@dataclasses.dataclass(frozen=True, eq=False)
class OwnTable:
    """A user's table of training texts, with its original column names.

    Attributes:
        columns: Column name -> N values, in the order of the file.
        names: "text", "text_pair", "label" or "id" -> name of this column in the table. Columns
            that the table lacks have no entry.
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
            texts: One list of M texts, or two lists for pairs.
            ids: N ids of the rows of this table.
            sources: (M,) row of the original of each edited text.
            edits: M names of edits, such as "swapped".

        Returns:
            A table of M rows. All columns other than the texts are copied from the originals, with
            numbers added to repeated ids.
        """
        columns = {}
        for name, values in self.columns.items():
            columns[name] = select_rows(values, sources)
        for name, edited_texts in zip(self.text_columns, texts, strict=True):
            columns[name] = edited_texts
        # If the table was repaired before, its column names the originals of the first repair.
        if SOURCE_COLUMN not in columns:
            columns[SOURCE_COLUMN] = select_rows(ids, sources)
        columns[EDIT_COLUMN] = list(edits)
        # Several edited texts may be made from one text, but their ids must differ.
        id_column = self.names.get("id")
        if id_column is not None:
            columns[id_column] = _number_repeats(columns[id_column])
        return dataclasses.replace(self, columns=columns)


def open_own_table(train: Any, ids: Sequence[str], *, n_texts: int = 1, **source: Any) -> OwnTable:
    """Open a table of training texts with all of its columns, under their original names.

    Args:
        train: A file, a folder, a data set of the hub, or a table in memory; see
            `open_training_split`.
        ids: N ids of the texts to edit. Other rows are left out.
        n_texts: Number of texts of an item: 1, or 2 for pairs.
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
        # A text that was joined from several columns gets a new column, so that no column is
        # overwritten.
        if common_name not in names:
            names[common_name] = _find_free_name(common_name, columns)
            columns[names[common_name]] = [""] * len(rows)
    return OwnTable(columns, names)


def _select_columns(
    table: datasets.Dataset, label: str, rows: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """Return column name -> values of some rows of a table.

    Args:
        table: The table.
        label: Name of the column of labels; "" if there is none. The numbers of a ClassLabel become
            the names of the classes, which a csv file would lose.
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
    """Return a name for a new column that is not in use: the name itself, or "repaired_" before it."""
    while name in columns:
        name = f"repaired_{name}"
    return name


def _number_repeats(ids: Sequence[Any]) -> list[Any]:
    """Return unique ids, by appending a number to each repeat of an id.

    Args:
        ids: Ids of the rows, of any type.

    Returns:
        The ids, one per row. Without repeats, they keep their type; otherwise, they become strings.

    Example:
        >>> _number_repeats(["a", "b", "a"]), _number_repeats([7, 8])
        (['a', 'b', 'a-2'], [7, 8])
    """
    if len(set(ids)) == len(ids):
        return list(ids)
    names = list(map(str, ids))
    # The table of an earlier repair has ids such as "a-2" already, whose numbers are skipped.
    used_names = set(names)
    earlier_names: set[str] = set()
    numbered: list[Any] = []
    for name in names:
        unique_name = name
        if name in earlier_names:
            number = 2
            while f"{name}-{number}" in used_names:
                number += 1
            unique_name = f"{name}-{number}"
            used_names.add(unique_name)
        earlier_names.add(name)
        numbered.append(unique_name)
    return numbered

"""Sheets that a person fills in: csv files for spreadsheets, with a row per item.

`write_sheet` writes a sheet, and `read_sheet` reads it when it is filled. The callers check the values of the
cells, and report the lines of invalid ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.store import format_csv, write_text
from rightreasons.core.validation import check_columns, check_ids
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import ScoreOptions

ITEM_COLUMN = "item"
"""Column that identifies the item of a row."""

FIRST_LINE = 2
"""Number of the line of the first item in a csv file, after the line of the headings."""

_BYTE_ORDER_MARK = "\ufeff"
"""First character of a file, from which spreadsheets recognize UTF-8."""


def write_sheet(file: Path, headings: Sequence[str], rows: Iterable[Iterable[Any]]) -> Path:
    """Write a sheet as a csv file, and return its path."""
    return write_text(file, _BYTE_ORDER_MARK + format_csv([headings, *rows]))


def read_sheet(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read a filled sheet, whose rows may be in any order or missing.

    Args:
        file: The csv file, with cells separated by commas or semicolons.
        columns: Columns to read, `ITEM_COLUMN` among them.

    Returns:
        The cells of each row by column, without the spaces around them. The first row is line
        `FIRST_LINE` of the file.

    Raises:
        ValueError: If a column is missing, or an item is empty or repeated.
    """
    cells_by_column, _, _ = read_columns(file, ScoreOptions())
    check_columns(list(cells_by_column), columns, file.name)
    n_rows = len(cells_by_column[ITEM_COLUMN])
    rows = []
    for number in range(n_rows):
        row = {}
        for column in columns:
            # Typed values may have spaces around them.
            row[column] = str(cells_by_column[column][number]).strip()
        rows.append(row)
    # Two rows about the same item might contradict each other.
    item_ids = [row[ITEM_COLUMN] for row in rows]
    check_ids(item_ids, f"item of {file.name}")
    return rows

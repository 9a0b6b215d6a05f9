"""Reads a sheet of an Excel workbook as columns of texts, as those of a csv file.

People lay sheets out for people: with a title above the headings, empty rows, and a cell that covers several rows.
`read_workbook` undoes this, or says in a sentence what it cannot undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.core.errors import OptionError
from rightreasons.core.extras import require_package
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_at_most

MAX_SHEET_BYTES = 1 << 27
"""The maximum size of a workbook."""

Cells: TypeAlias = "list[list[Any]]"


def read_workbook(path: Path, sheet_name: str | None, source_name: str) -> dict[str, list[str]]:
    """Read a sheet of an Excel workbook; its first row, apart from a title, has the headings.

    Args:
        path: The workbook.
        sheet_name: The name of the sheet; None for the only one with rows.
        source_name: What the workbook is called in errors.

    Raises:
        ModuleNotFoundError: If the extra that reads workbooks is not installed.
        OptionError: If several sheets have rows and none is named, or there is no such sheet.
        ValueError: If it is no workbook, is too large, or a heading stands above several columns.
    """
    require_package("python_calamine")
    from python_calamine import CalamineError, CalamineWorkbook

    check_at_most(path.stat().st_size, MAX_SHEET_BYTES, "bytes", source_name)
    sheets = {}
    try:
        workbook = CalamineWorkbook.from_path(path)
        for name in workbook.sheet_names:
            sheets[name] = _read_cells(workbook.get_sheet_by_name(name))
    except (CalamineError, OSError) as error:
        raise ValueError(
            f"Expected a workbook in {source_name}, but it cannot be read: {error}."
        ) from None
    rows = _select_sheet(sheets, sheet_name, source_name)
    headings, *rows = _drop_title(rows)
    names = _name_columns(headings, source_name)
    columns: dict[str, list[str]] = {}
    # A sheet of headings alone has columns as well.
    for position, name in enumerate(names):
        columns[name] = [format_cell(row[position]) for row in rows]
    return columns


def _read_cells(sheet: Any) -> Cells:
    """Return the rows and columns of a sheet that are not empty; a merged cell is in all that it covers."""
    rows: Cells = sheet.to_python(skip_empty_area=False)
    # Only the first of merged cells has their value.
    for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ():
        value = rows[first_row][first_column]
        for row in rows[first_row : last_row + 1]:
            width = len(row[first_column : last_column + 1])
            row[first_column : last_column + 1] = [value] * width
    filled_rows = filter(_is_filled, rows)
    filled_columns = filter(_is_filled, zip(*filled_rows, strict=True))
    return list(map(list, zip(*filled_columns, strict=True)))


def _is_filled(cells: Iterable[Any]) -> bool:
    return any(map(_has_content, cells))


def _has_content(value: Any) -> bool:
    return bool(format_cell(value).strip())


def _select_sheet(sheets: Mapping[str, Cells], sheet_name: str | None, source_name: str) -> Cells:
    """Return the rows of the named sheet, or of the only one with rows."""
    if sheet_name is not None:
        if sheets.get(sheet_name):
            return sheets[sheet_name]
        raise OptionError(
            f"Expected rows in the sheet {sheet_name!r} of {source_name}, as `rows` says, but its sheets are "
            f"{format_list(list(sheets))}.",
            option="rows",
        )
    # New workbooks come with empty sheets, and a heading alone is no table.
    filled = [name for name, rows in sheets.items() if len(rows) > 1]
    if len(filled) != 1:
        raise OptionError(
            f"Expected one sheet with rows in {source_name}, but got {format_list(filled) or 'none'}: `rows` "
            "names the one that is meant.",
            option="rows",
        )
    return sheets[filled[0]]


def _drop_title(rows: Cells) -> Cells:
    """Return the rows from that of the headings on: a title is a single value, which begins in the first column."""
    for position, row in enumerate(rows):
        # A merged cell repeats its value.
        values = set(map(format_cell, filter(_has_content, row)))
        # The rows of a data frame of one column have numbers without a heading.
        if len(values) > 1 or not _has_content(row[0]):
            return rows[position:]
    # The table has one column.
    return rows


def _name_columns(headings: Sequence[Any], source_name: str) -> list[str]:
    """Return the name of each column; that of an empty heading is its position."""
    names: list[str] = []
    for position, heading in enumerate(headings, start=1):
        name = format_cell(heading).strip() or f"(column {position})"
        if name in names:
            raise ValueError(
                f"Expected a heading for each column in {source_name}, but {name!r} stands above several, "
                "perhaps in a merged cell: name each column in one row."
            )
        names.append(name)
    return names


def format_cell(value: Any) -> str:
    """Return the text of a cell: whole numbers without a decimal point, true and false in lower case.

    Example:
        >>> format_cell(3.0), format_cell(0.5), format_cell(True), format_cell("007")
        ('3', '0.5', 'true', '007')
    """
    if isinstance(value, bool):
        return str(value).lower()
    # A workbook stores every number as a float.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)

"""Reader of sheets of Excel workbooks, as columns of strings like those of a csv file.

Sheets may have a title above the headings, empty rows and columns, and merged cells that cover several rows.
`read_workbook` skips or repeats these, or raises an error for a layout that it cannot read.
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
"""Maximum size of a workbook in bytes."""

Cells: TypeAlias = "list[list[Any]]"
"""The cells of a sheet, row by row."""


def read_workbook(path: Path, sheet_name: str | None, source_name: str) -> dict[str, list[str]]:
    """Read a sheet of an Excel workbook as columns of strings.

    The first row has the headings. A title above it, empty rows and empty columns are skipped.

    Args:
        path: The workbook.
        sheet_name: The name of the sheet; None for the only sheet with rows.
        source_name: Name of the workbook, for error messages.

    Returns:
        Heading -> the cells of its column.

    Raises:
        ModuleNotFoundError: If the package that reads workbooks is not installed.
        OptionError: If there is no sheet of this name, or if several sheets have rows and none is named.
        ValueError: If the file is not a workbook, is too large, or has a heading above several columns.
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
    sheet_rows = _select_sheet(sheets, sheet_name, source_name)
    rows = _drop_title(sheet_rows)
    names = _name_columns(rows[0], source_name)
    columns: dict[str, list[str]] = {}
    for position, name in enumerate(names):
        columns[name] = [format_cell(row[position]) for row in rows[1:]]
    return columns


def _read_cells(sheet: Any) -> Cells:
    """Return the cells of a sheet, row by row, without empty rows and columns.

    Args:
        sheet: A sheet of python_calamine.

    Returns:
        Rows of the same length. All cells that a merged cell covers have its value.
    """
    rows: Cells = sheet.to_python(skip_empty_area=False)
    # The file stores the value of a merged cell only in its first cell.
    for (first_row, first_column), (last_row, last_column) in sheet.merged_cell_ranges or ():
        value = rows[first_row][first_column]
        for row in rows[first_row : last_row + 1]:
            # The row may end inside the merged cell.
            width = len(row[first_column : last_column + 1])
            row[first_column : last_column + 1] = [value] * width
    filled_rows = filter(_is_filled, rows)
    # The rows are transposed to filter columns, and transposed back.
    filled_columns = filter(_is_filled, zip(*filled_rows, strict=True))
    cells_by_row = zip(*filled_columns, strict=True)
    return list(map(list, cells_by_row))


def _is_filled(cells: Iterable[Any]) -> bool:
    return any(map(_has_content, cells))


def _has_content(value: Any) -> bool:
    return bool(format_cell(value).strip())


def _select_sheet(sheets: Mapping[str, Cells], sheet_name: str | None, source_name: str) -> Cells:
    """Return the rows of the named sheet, or of the only sheet with rows.

    Args:
        sheets: Name of a sheet -> its rows.
        sheet_name: The name from the option `rows`; None for the only sheet with rows.
        source_name: Name of the workbook, for error messages.

    Raises:
        OptionError: If the named sheet is missing or empty, or if none or several have rows.
    """
    if sheet_name is not None:
        if sheets.get(sheet_name):
            return sheets[sheet_name]
        raise OptionError(
            f"Expected rows in the sheet {sheet_name!r}, which `rows` names, but the sheets of "
            f"{source_name} are {format_list(list(sheets))}.",
            option="rows",
        )
    # New workbooks contain empty sheets. A sheet with a single row has no rows below the headings.
    filled_names = [name for name, rows in sheets.items() if len(rows) > 1]
    if len(filled_names) != 1:
        raise OptionError(
            f"Expected one sheet with rows in {source_name}, but got "
            f"{format_list(filled_names) or 'none'}. Choose a sheet with `rows`.",
            option="rows",
        )
    return sheets[filled_names[0]]


def _drop_title(rows: Cells) -> Cells:
    """Drop the rows of a title: leading rows with a single value, which is in the first column.

    If all rows have a single value, the table has one column, and no row is dropped.
    """
    for position, row in enumerate(rows):
        # A title in a merged cell repeats its value in several cells.
        values = {format_cell(cell) for cell in row if _has_content(cell)}
        # The headings of a data frame may have an empty first cell, above the row numbers.
        if len(values) > 1 or not _has_content(row[0]):
            return rows[position:]
    return rows


def _name_columns(headings: Sequence[Any], source_name: str) -> list[str]:
    """Return the name of each column of a sheet, "(column 2)" for an empty heading.

    Args:
        headings: The cells of the row of headings.
        source_name: Name of the workbook, for error messages.

    Raises:
        ValueError: If a heading repeats, because it is above several columns.
    """
    names: list[str] = []
    for position, heading in enumerate(headings, start=1):
        name = format_cell(heading).strip() or f"(column {position})"
        if name in names:
            raise ValueError(
                f"Expected a heading for each column in {source_name}, but {name!r} is above "
                "several columns, perhaps in a merged cell. Give each column its own heading in "
                "a single row."
            )
        names.append(name)
    return names


def format_cell(value: Any) -> str:
    """Return the value of a cell as a string: 3.0 without its decimal point, and booleans in lower case.

    Args:
        value: The value of the cell.

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

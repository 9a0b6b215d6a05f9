"""Rows of a table that meet a condition, as in `--where "arm == 'student'"`.

`filter_rows` evaluates the condition for every row.
"""

from __future__ import annotations

import datasets

from rightreasons.core.errors import attach_options
from rightreasons.core.sentences import format_list, format_value
from rightreasons.io.arrow_tables import Splits
from rightreasons.io.columns import (
    evaluate_expression,
    is_expression,
    list_read_names,
    write_expression,
)

MAX_CELL_CHARACTERS = 40
"""Maximum length of a cell in error messages."""


@attach_options("where")
def filter_rows(tables: Splits, condition: str) -> Splits:
    """Return the rows that meet a condition, of one table or of each split.

    Args:
        tables: A table, or a table per split.
        condition: Expression of jinja over columns, with or without double braces.

    Raises:
        ValueError: If the condition is not an expression over the columns, or if no row of a table meets
            it.

    Example:
        >>> rows = datasets.Dataset.from_dict({"arm": ["x", "y", "x"], "n": [1, 2, 3]})
        >>> filter_rows(rows, "arm == 'x' and n > 1")["n"][:]
        [3]
    """
    if isinstance(tables, datasets.Dataset):
        return _filter_split(tables, condition)
    parts = {name: _filter_split(data, condition) for name, data in tables.items()}
    return datasets.DatasetDict(parts)


# ------------------------------------------------------------------------------- private


def _filter_split(data: datasets.Dataset, condition: str) -> datasets.Dataset:
    """Return the rows of a table for which a condition is true, or another truthy value.

    Args:
        data: The table.
        condition: Expression of jinja over columns, such as "year > 2020", with or without double braces.

    Raises:
        ValueError: If the condition is not an expression over the columns, or is true for no row.
    """
    # On the command line, the braces of an expression may be omitted.
    expression = condition
    if not is_expression(condition):
        expression = write_expression(condition)
    rows = []
    for row, value in enumerate(evaluate_expression(expression, data)):
        if value:
            rows.append(row)
    if not rows:
        raise ValueError(
            f"Expected at least one row that meets the condition in `where`, but {condition!r} "
            f"holds for none of the {len(data):,} rows{_describe_first_row(expression, data)}."
        )
    return data.select(rows)


def _describe_first_row(expression: str, data: datasets.Dataset) -> str:
    """Describe the cells of the first row that a condition reads, such as "; the first row has year = '2020'".

    The user may see from them that the cells of a csv file are strings, which never equal a number.

    Args:
        expression: The condition in double braces.
        data: The table.

    Returns:
        The end of a sentence; "" if the condition reads no column.
    """
    cells = []
    for name in sorted(list_read_names(expression)):
        # A condition may also use `row`, which is not a column.
        if name in data.column_names:
            cells.append(f"{name} = {format_value(data[0][name], MAX_CELL_CHARACTERS)}")
    if not cells:
        return ""
    return f"; the first row has {format_list(cells)}"

"""Rows of a table that a condition keeps, as in `--where "arm == 'student'"`.

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
"""Length of a cell in errors."""


@attach_options("where")
def filter_rows(tables: Splits, condition: str) -> Splits:
    """Return the rows of a table for which a condition holds.

    Args:
        tables: A table, or those of several splits, each of which has to keep some rows.
        condition: Expression of jinja over columns, with or without braces.

    Raises:
        ValueError: If the condition is no expression over the columns, or holds for no row.

    Example:
        >>> rows = datasets.Dataset.from_dict({"arm": ["x", "y", "x"], "n": [1, 2, 3]})
        >>> filter_rows(rows, "arm == 'x' and n > 1")["n"][:]
        [3]
    """
    if isinstance(tables, datasets.Dataset):
        return _filter_split(tables, condition)
    # A split without rows that fit is refused.
    parts = {}
    for name, data in tables.items():
        parts[name] = _filter_split(data, condition)
    return datasets.DatasetDict(parts)


# ------------------------------------------------------------------------------- private


def _filter_split(data: datasets.Dataset, condition: str) -> datasets.Dataset:
    """Return the rows of a table for which a condition holds.

    Args:
        data: The table.
        condition: Expression of jinja over columns, with or without braces.

    Raises:
        ValueError: If the condition is no expression over the columns, or holds for no row.
    """
    # A condition is always an expression, so that its braces may be omitted.
    expression = condition
    if not is_expression(condition):
        expression = write_expression(condition)
    # Any value that counts as true keeps its row.
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
    """Describe the cells of the first row that a condition reads, as the end of a sentence.

    They show, for example, that the cells of a csv file are texts, which equal no number.

    Args:
        expression: The condition.
        data: The table.

    Returns:
        The phrase; "" if the condition reads no column.
    """
    cells = []
    for name in sorted(list_read_names(expression)):
        if name in data.column_names:
            cells.append(f"{name} = {format_value(data[0][name], MAX_CELL_CHARACTERS)}")
    if not cells:
        return ""
    return f"; the first row has {format_list(cells)}"

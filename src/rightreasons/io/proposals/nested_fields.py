"""Fields of objects as columns with dotted names, such as "output.label", which may be chosen by their cells.

`spread_fields` returns all fields, `spread_single_fields` only fields with one value per row, `spread_positions` the fields
at each position of a list. Fields that options name are read by `columns.add_nested_columns` instead.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rightreasons.io.cells import are_numeric, unwrap_value
from rightreasons.io.columns import Columns, quote_column, write_expression

MAX_FIELDS = 200
"""Maximum number of fields of objects that become columns."""

MAX_POSITIONS = 5
"""Maximum length of lists whose objects are distinguished by their positions."""


def spread_fields(columns: Mapping[str, Any], *, in_lists: bool = False) -> dict[str, list[Any]]:
    """Return the fields of objects as columns with dotted names, such as "output.label".

    Fields of fields are included ("output.label.name"), up to `MAX_FIELDS` columns.

    Args:
        columns: Columns by their names.
        in_lists: Whether to include the fields of objects in lists, which become lists of values.

    Example:
        >>> spread_fields({"id": [1, 2], "output": [{"label": "up"}, None]})
        {'output.label': ['up', None]}
    """
    fields: dict[str, list[Any]] = {}
    # The search is breadth first, so that the limit drops the most deeply nested fields.
    queue = deque(columns.items())
    while queue and len(fields) < MAX_FIELDS:
        name, column = queue.popleft()
        for key in _list_keys(column, in_lists):
            field = f"{name}.{key}"
            fields[field] = _get_fields(column, key)
            queue.append((field, fields[field]))
    return fields


def spread_single_fields(columns: Columns) -> dict[str, list[Any]]:
    """Return the fields of objects, and of objects in lists of one, as columns with dotted names.

    Args:
        columns: Columns by their names.

    Returns:
        Name such as "output.label" -> one value per row. A field of lists of several objects is excluded,
        and so is a field with the name of an existing column.
    """
    fields = spread_fields(columns)
    list_columns = {}
    for name, cells in {**columns, **fields}.items():
        if _holds_lists(cells):
            list_columns[name] = cells
    for name, cells in spread_fields(list_columns, in_lists=True).items():
        values = list(map(_get_single, cells))
        # Lists of several objects may have a different order in each row.
        has_lists = any(isinstance(value, list) for value in values)
        if name not in fields and not has_lists:
            fields[name] = values
    # A field that an option names is a column already.
    for name in columns:
        fields.pop(name, None)
    return fields


def spread_positions(columns: Columns) -> dict[str, list[Any]]:
    """Return the fields of the objects at each position of lists, by the expressions that read them.

    Only lists with the same number of objects in every row have positions with a meaning of their own, such
    as a question and its answer.

    Args:
        columns: Columns by their names.

    Returns:
        Expression -> one value per row.

    Example:
        >>> turns = [[{"text": "Is 3 odd?"}, {"text": "yes"}], [{"text": "Is 4 odd?"}, {"text": "no"}]]
        >>> spread_positions({"turns": turns})['{{ turns[1]["text"] }}']
        ['yes', 'no']
    """
    expressions = {}
    for name, cells in columns.items():
        keys = _list_keys(cells, in_lists=True) if _holds_lists(cells) else []
        if not keys:
            continue
        # An empty cell is a list without objects.
        sizes = {len(cell or ()) for cell in cells}
        n_objects = max(sizes)
        if len(sizes) > 1 or not 2 <= n_objects <= MAX_POSITIONS:
            continue
        for position in range(n_objects):
            for key in keys:
                # A dot instead of the brackets would read "values" as the method of a dictionary.
                term = f"{quote_column(name)}[{position}][{json.dumps(key, ensure_ascii=False)}]"
                objects = [cell[position] for cell in cells]
                expressions[write_expression(term)] = _get_fields(objects, key)
    return expressions


# ------------------------------------------------------------------------------- private


def _holds_lists(cells: Any) -> bool:
    """Return whether the first cell of a column that is not empty is a list.

    The result is False for arrays and columns of Arrow, which contain no objects.
    """
    if not isinstance(cells, list):
        return False
    for cell in cells:
        if cell:
            return isinstance(cell, list)
    return False


def _list_keys(column: Any, in_lists: bool) -> list[str]:
    """Return the distinct keys of the objects in a column.

    Args:
        column: The cells: objects, or None for a missing one.
        in_lists: Whether the objects may be in lists.

    Returns:
        The keys; an empty list if a cell has another value, or if all values of the objects are numbers,
        because objects such as {"up": 0.7, "down": 0.3} are scores by class.
    """
    if not isinstance(column, list):
        return []
    objects: Iterable[Any] = column
    if in_lists:
        objects = _flatten(column)
    keys: dict[str, None] = {}
    has_only_numbers = True
    for value in objects:
        # A missing object has no fields.
        if value is None:
            continue
        if not isinstance(value, dict):
            return []
        keys |= dict.fromkeys(value)
        has_only_numbers = has_only_numbers and are_numeric(value.values())
    if has_only_numbers:
        return []
    return list(keys)


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values in nested lists, in their order."""
    for value in values:
        if isinstance(value, list):
            yield from _flatten(value)
        else:
            yield value


def _get_fields(column: Iterable[Any], key: str) -> list[Any]:
    """Return the value of a key in the object of each cell.

    Args:
        column: The cells.
        key: The key.

    Returns:
        A value for each cell: a list of values for a list of objects, and None for a cell without objects.
    """
    values: list[Any] = []
    for cell in column:
        if isinstance(cell, list):
            values.append(_get_fields(cell, key))
        elif isinstance(cell, dict):
            values.append(cell.get(key))
        else:
            values.append(None)
    return values


def _get_single(cell: Any) -> Any:
    """Return the value inside nested lists of one, such as "up" in [["up"]]; None for an empty list."""
    value = unwrap_value(cell)
    return None if value == [] else value

"""Fields of objects as columns with dotted names, such as "output.label", for proposals by their cells.

`spread_fields` returns all of them, `spread_single_fields` those that have one value per row. Options name a field as
`columns.add_nested_columns` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rightreasons.io.cells import are_numeric, unwrap_value
from rightreasons.io.columns import Columns

MAX_FIELDS = 200
"""Number of fields of objects that are looked at."""


def spread_fields(columns: Mapping[str, Any], *, in_lists: bool = False) -> dict[str, list[Any]]:
    """Return the fields of objects as columns with dotted names, such as "output.label".

    Args:
        columns: Column by name.
        in_lists: Whether lists of objects count, whose fields become lists.

    Example:
        >>> spread_fields({"id": [1, 2], "output": [{"label": "up"}, None]})
        {'output.label': ['up', None]}
    """
    fields: dict[str, list[Any]] = {}
    waiting = list(columns.items())
    while waiting and len(fields) < MAX_FIELDS:
        name, column = waiting.pop(0)
        for key in _list_keys(column, in_lists):
            field = f"{name}.{key}"
            fields[field] = _get_fields(column, key)
            # The fields of fields come after those of all columns.
            waiting.append((field, fields[field]))
    return fields


def spread_single_fields(columns: Columns) -> dict[str, list[Any]]:
    """Return the fields of objects as columns with dotted names, also of objects in lists of one."""
    fields = spread_fields(columns)
    lists = {name: cells for name, cells in {**columns, **fields}.items() if _holds_lists(cells)}
    for name, cells in spread_fields(lists, in_lists=True).items():
        values = list(map(_get_single, cells))
        # Several objects in a list may have another order in each row.
        has_lists = list in set(map(type, values))
        if name not in fields and not has_lists:
            fields[name] = values
    # An option may have made a column of a field.
    for name in columns:
        fields.pop(name, None)
    return fields


# ------------------------------------------------------------------------------- private


def _holds_lists(cells: Any) -> bool:
    """Return whether the first cell of a column that is not empty is a list."""
    if not isinstance(cells, list):
        return False
    for cell in cells:
        if cell:
            return isinstance(cell, list)
    return False


def _list_keys(column: Any, in_lists: bool) -> list[str]:
    """Return the keys of a column of objects; none of other columns, or of numbers by class."""
    if not isinstance(column, list):
        return []
    objects = iter(column)
    if in_lists:
        objects = _flatten(column)
    keys: dict[str, None] = {}
    has_numbers_alone = True
    for value in objects:
        # A missing object has no fields.
        if value is None:
            continue
        if not isinstance(value, dict):
            return []
        keys |= dict.fromkeys(value)
        has_numbers_alone = has_numbers_alone and are_numeric(value.values())
    # Numbers by class are scores, and no fields.
    if has_numbers_alone:
        return []
    return list(keys)


def _flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values in lists, and in lists of lists."""
    for value in values:
        if isinstance(value, list):
            yield from _flatten(value)
        else:
            yield value


def _get_fields(column: Iterable[Any], key: str) -> list[Any]:
    """Return a field of the object in each cell; of a list of objects, the list of their fields; None without it."""
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
    """Return the value in lists of one; None for an empty list, as rows without an answer have."""
    value = unwrap_value(cell)
    if value == []:
        return None
    return value

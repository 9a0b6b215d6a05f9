"""Columns within columns, by dotted names: `question.stem` is the field `stem` of the objects in `question`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import datasets
import pyarrow as pa


def nested_names(data: datasets.Dataset) -> list[str]:
    """Return the dotted names of all fields within the columns, those in lists of objects included.

    Example:
        >>> row = {"id": 1, "question": {"stem": "Why?", "choices": [{"text": "So.", "label": "A"}]}}
        >>> nested_names(datasets.Dataset.from_list([row]))
        ['question.stem', 'question.choices', 'question.choices.text', 'question.choices.label']
    """
    return [name for field in data.features.arrow_schema for name, _ in _fields(field.name, field.type)]


def with_nested(data: datasets.Dataset, names: Iterable[Any]) -> datasets.Dataset:
    """Add the columns that have these dotted names; names of other columns, or of none, change nothing.

    A field of a list of objects becomes a list; where an object is missing, so is its field.

    Example:
        >>> rows = datasets.Dataset.from_list([{"q": {"stem": "Why?", "choices": [{"text": "So."}, {"text": "No."}]}}])
        >>> data = with_nested(rows, ["q.stem", "q.choices.text"])
        >>> data["q.stem"][:], data["q.choices.text"][:]
        (['Why?'], [['So.', 'No.']])
    """
    types = {name: kind for field in data.features.arrow_schema for name, kind in _fields(field.name, field.type)}
    wanted = [name for name in dict.fromkeys(names) if name in types and name not in data.column_names]
    if not wanted:
        return data
    added = {}
    for name in wanted:
        root = max((column for column in data.column_names if name.startswith(f"{column}.")), key=len)
        steps = name.removeprefix(f"{root}.").split(".")
        values = data.select_columns([root]).with_format("arrow")[:].column(root).to_pylist()
        added[name] = pa.array([_pick(value, steps) for value in values], types[name])
    return datasets.concatenate_datasets([data, datasets.Dataset(pa.table(added))], split=data.split, axis=1)


def _fields(name: str, kind: pa.DataType, lists: int = 0) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the fields below a column with their types, each as a list where it is in one."""
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind, lists = kind.value_type, lists + 1
    if pa.types.is_struct(kind):
        for field in kind:
            listed = field.type
            for _ in range(lists):
                listed = pa.list_(listed)
            yield f"{name}.{field.name}", listed
            yield from _fields(f"{name}.{field.name}", field.type, lists)


def _pick(value: Any, steps: Sequence[str]) -> Any:
    if not steps or value is None:
        return value
    if isinstance(value, list):
        return [_pick(part, steps) for part in value]
    return _pick(value.get(steps[0]), steps[1:])

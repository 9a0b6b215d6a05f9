"""Records below the top of a JSON document: at a path that is named, or the one list of them.

`select_records` follows a path such as "results.results"; `find_records` looks for the list.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_list

MAX_DEPTH = 6
"""Lists of records are looked for so many levels below the top."""

MAX_RIVAL = 0.5
"""A second list of more than this share of the longest one leaves open which is meant."""

Records = list[dict[str, Any]]


def select_records(content: Any, path: str, source_name: str) -> Any:
    """Return what a document holds at a path of keys.

    Args:
        content: The document.
        path: Keys separated by points, as in "results.results"; a number is a position in a list.
        source_name: What the document is called in errors.

    Raises:
        OptionError: If there is nothing at the path, or no list of records.

    Example:
        >>> select_records({"run": {"rows": [{"a": 1}]}}, "run.rows", "log.json")
        [{'a': 1}]
    """
    node = content
    for key in path.split("."):
        is_position = isinstance(node, list) and key.isdecimal()
        if is_position and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, Mapping) and key in node:
            node = node[key]
        else:
            known_paths = list(dict(iterate_records(content)))
            raise OptionError(
                f"Expected records at {path!r}, as `rows` says, but {source_name} has nothing at "
                f"{key!r}. It has records at {format_list(known_paths) or 'no path'}.",
                option="rows",
            )
    if not isinstance(node, (list, Mapping)):
        raise OptionError(
            f"Expected records at {path!r}, as `rows` says, but got {type(node).__name__}.",
            option="rows",
        )
    return node


def find_records(content: Mapping[str, Any], source_name: str) -> Records | None:
    """Return the one list of records below the top of a document; None if there is none.

    Raises:
        OptionError: If two lists are about as long.

    Example:
        >>> find_records({"config": {"seed": 1}, "run": {"rows": [{"a": 1}, {"a": 2}]}}, "log.json")
        [{'a': 1}, {'a': 2}]
    """
    lists = dict(iterate_records(content))
    if not lists:
        return None
    sizes = {path: len(records) for path, records in lists.items()}
    # The longest list first, and the earlier one of two equally long ones.
    paths = sorted(sizes, key=sizes.__getitem__, reverse=True)
    longest = paths[0]
    # A schema is a list of records too, but a short one.
    if len(paths) > 1 and sizes[paths[1]] > MAX_RIVAL * sizes[longest]:
        candidates = []
        for path in paths:
            candidates.append(f"{path} ({len(lists[path]):,})")
        raise OptionError(
            f"Expected one list of records in {source_name}, but got {format_list(candidates)}: "
            "`rows` names the path of one.",
            option="rows",
        )
    return lists[longest]


def iterate_records(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Records]]:
    """Yield the path and the records of every list of two objects or more, the outer ones alone."""
    if isinstance(node, list):
        # One object in a list is a value, such as the only reply of a server.
        if len(node) > 1 and all(isinstance(record, dict) for record in node):
            name = ".".join(path)
            yield name, node
        return
    if not isinstance(node, Mapping):
        return
    # Documents may be nested without an end.
    if len(path) >= MAX_DEPTH:
        return
    for key, child in node.items():
        child_path = (*path, str(key))
        yield from iterate_records(child, child_path)


def unwrap_records(records: Records) -> Records:
    """Return what records hold in their only object, beside numbers and empty lists alone.

    The datasets server writes `{"row_idx": 0, "row": {...}, "truncated_cells": []}`.

    Example:
        >>> unwrap_records([{"row_idx": 0, "row": {"text": "Fine."}, "truncated_cells": []}])
        [{'text': 'Fine.'}]
        >>> unwrap_records([{"id": 0, "text": "Fine.", "meta": {"lang": "en"}}])
        [{'id': 0, 'text': 'Fine.', 'meta': {'lang': 'en'}}]
    """
    keys = set(map(_find_wrapped_key, records))
    # Records whose objects have different keys are not wrapped in one way.
    if len(keys) != 1 or keys == {""}:
        return records
    (key,) = keys
    # Only what is wrapped counts.
    return list(map(operator.itemgetter(key), records))


def name_classes(records: Records, features: Any) -> Records:
    """Return records with the names of classes in place of their numbers, as a page of the datasets server says them.

    Example:
        >>> label = {"name": "mood", "type": {"_type": "ClassLabel", "names": ["calm", "sad"]}}
        >>> name_classes([{"mood": 1}, {"mood": -1}], [label])
        [{'mood': 'sad'}, {'mood': None}]
    """
    names_by_column = _read_class_names(features)
    named_records = []
    for record in records:
        named = dict(record)
        for column, names in names_by_column.items():
            number = record.get(column)
            named[column] = None
            # -1 is no class.
            if isinstance(number, int) and 0 <= number < len(names):
                named[column] = names[number]
        named_records.append(named)
    return named_records


# ------------------------------------------------------------------------------- private


def _read_class_names(features: Any) -> dict[str, list[str]]:
    """Return the names of the classes of each column that has some, as `datasets` lists features."""
    names_by_column: dict[str, list[str]] = {}
    if not isinstance(features, list):
        return names_by_column
    for feature in features:
        try:
            kind = feature["type"]
            if kind["_type"] == "ClassLabel":
                names_by_column[feature["name"]] = list(kind["names"])
        except (KeyError, TypeError):
            # Other documents have features of another form.
            continue
    return names_by_column


def _find_wrapped_key(record: dict[str, Any]) -> str:
    """Return the key under which a record wraps its whole content; "" if it wraps nothing.

    Example:
        >>> _find_wrapped_key({"row_idx": 0, "row": {"text": "good"}, "truncated_cells": []})
        'row'
        >>> _find_wrapped_key({"text": "good", "meta": {"year": 2020}})
        ''
    """
    keys = []
    for key, value in record.items():
        is_bookkeeping = isinstance(value, int) or value in ([], None)
        if isinstance(value, dict):
            keys.append(key)
        elif not is_bookkeeping:
            # A text, for one, is content next to the object.
            return ""
    if len(keys) == 1:
        return keys[0]
    return ""

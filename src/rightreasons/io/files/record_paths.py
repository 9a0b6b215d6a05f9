"""Lists of records inside a JSON document, at a given path or anywhere.

`select_records` follows a path such as "results.results"; `find_records` searches for the longest list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_list

MAX_DEPTH = 6
"""Maximum number of levels below the top at which lists of records are searched for."""

MAX_RIVAL = 0.5
"""Maximum length of the second-longest list, as a share of the longest one, at which the longest is chosen."""

Records = list[dict[str, Any]]


def select_records(content: Any, path: str, source_name: str) -> Any:
    """Return the list or object in a document at a path of keys.

    Args:
        content: The document.
        path: Keys separated by dots, such as "results.results"; a number is a position in a list.
        source_name: Name of the document, for error messages.

    Raises:
        OptionError: If there is no value at the path, or if the value is neither a list nor an object.

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
                f"Expected records at {path!r}, the path in `rows`, but {source_name} has "
                f"nothing at {key!r}. The file has records at "
                f"{format_list(known_paths) or 'no path'}.",
                option="rows",
            )
    if not isinstance(node, (list, Mapping)):
        raise OptionError(
            f"Expected records at {path!r}, the path in `rows`, but got {type(node).__name__}.",
            option="rows",
        )
    return node


def find_records(content: Mapping[str, Any], source_name: str) -> Records | None:
    """Return the longest list of records anywhere in a document; None if it contains no such list.

    Args:
        content: The document.
        source_name: Name of the file, for error messages.

    Raises:
        OptionError: If another list is more than half as long, so that neither is preferred.

    Example:
        >>> find_records({"config": {"seed": 1}, "run": {"rows": [{"a": 1}, {"a": 2}]}}, "log.json")
        [{'a': 1}, {'a': 2}]
    """
    records_by_path = dict(iterate_records(content))
    if not records_by_path:
        return None
    # The longest list comes first. Sorting is stable: of two equally long lists, the earlier one does.
    paths = sorted(records_by_path, key=lambda path: len(records_by_path[path]), reverse=True)
    longest = records_by_path[paths[0]]
    # Other lists of records, such as a schema, are short.
    if len(paths) > 1 and len(records_by_path[paths[1]]) > MAX_RIVAL * len(longest):
        candidates = []
        for path in paths:
            candidates.append(f"{path} ({len(records_by_path[path]):,})")
        raise OptionError(
            f"Expected one list of records in {source_name}, but got {format_list(candidates)}. "
            "Choose one of these paths with `rows`.",
            option="rows",
        )
    return longest


def iterate_records(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Records]]:
    """Yield each list of two objects or more in a document, with its path such as "run.rows".

    Lists inside such a list are not yielded.

    Args:
        node: The document, or a part of it.
        path: The keys that lead to this part.
    """
    if isinstance(node, list):
        # A list of one object is a value, such as the only reply of a server.
        if len(node) > 1 and all(isinstance(record, dict) for record in node):
            yield ".".join(path), node
        return
    # The depth of the search is limited, because documents may be nested very deeply.
    if not isinstance(node, Mapping) or len(path) >= MAX_DEPTH:
        return
    for key, child in node.items():
        yield from iterate_records(child, (*path, str(key)))


def unwrap_records(records: Records) -> Records:
    """Return the objects inside records that contain nothing else, apart from numbers and empty lists.

    For example, the datasets server writes `{"row_idx": 0, "row": {...}, "truncated_cells": []}`.

    Args:
        records: The records. They are returned unchanged unless all contain an object with the same key.

    Example:
        >>> unwrap_records([{"row_idx": 0, "row": {"text": "Fine."}, "truncated_cells": []}])
        [{'text': 'Fine.'}]
        >>> unwrap_records([{"id": 0, "text": "Fine.", "meta": {"lang": "en"}}])
        [{'id': 0, 'text': 'Fine.', 'meta': {'lang': 'en'}}]
    """
    keys = set(map(_find_wrapped_key, records))
    if len(keys) != 1 or keys == {""}:
        return records
    key = keys.pop()
    return [record[key] for record in records]


def name_classes(records: Records, features: Any) -> Records:
    """Return records of the datasets server with names of classes in place of their numbers.

    Args:
        records: The records.
        features: The features on the same page, with the names of each ClassLabel.

    Returns:
        New records. A number that is not that of a class, such as -1, becomes None.

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
            if isinstance(number, int) and 0 <= number < len(names):
                named[column] = names[number]
        named_records.append(named)
    return named_records


# ------------------------------------------------------------------------------- private


def _read_class_names(features: Any) -> dict[str, list[str]]:
    """Return the class names of each ClassLabel among the features of a page of the datasets server.

    Args:
        features: A list such as [{"name": "mood", "type": {"_type": "ClassLabel", "names": [...]}}]. Any
            other value has no class names.
    """
    names_by_column: dict[str, list[str]] = {}
    if not isinstance(features, list):
        return names_by_column
    for feature in features:
        try:
            feature_type = feature["type"]
            if feature_type["_type"] == "ClassLabel":
                names_by_column[feature["name"]] = list(feature_type["names"])
        # Documents of other tools have features in another format.
        except (KeyError, TypeError):
            continue
    return names_by_column


def _find_wrapped_key(record: dict[str, Any]) -> str:
    """Return the key of the only object in a record, if its other values are integers, empty lists or None.

    Args:
        record: The record.

    Returns:
        The key; "" if there is no object, if there are several, or if there are other values such as strings.

    Example:
        >>> _find_wrapped_key({"row_idx": 0, "row": {"text": "good"}, "truncated_cells": []})
        'row'
        >>> _find_wrapped_key({"text": "good", "meta": {"year": 2020}})
        ''
    """
    object_keys = []
    for key, value in record.items():
        is_bookkeeping = isinstance(value, int) or value in ([], None)
        if isinstance(value, dict):
            object_keys.append(key)
        elif not is_bookkeeping:
            return ""
    if len(object_keys) != 1:
        return ""
    return object_keys[0]

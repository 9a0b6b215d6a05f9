"""Turns the labels of a user's data, of any type, into ids of named classes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import datasets


def label_names_of(
    parts: Sequence[tuple[datasets.Dataset, str]], label_names: Sequence[str] | None, name: str
) -> list[str]:
    """Find the names of the classes of all splits together.

    Args:
        parts: Each split with its label column.
        label_names: The names that the user gives; None to derive them.
        name: The name of the data set, for errors.

    Returns:
        The names by id: those given, those of a ClassLabel, the numbers up to the largest, or the sorted strings.
    """
    if label_names is not None:
        if isinstance(label_names, str) or not all(isinstance(label, str) for label in label_names):
            raise TypeError(f"Expected `label_names` to be a list of strings, but got {label_names!r}.")
        return list(label_names)
    for data, column in parts:
        feature = data.features[column]
        if isinstance(feature, datasets.ClassLabel):
            return list(feature.names)
    values = {_plain(value, column, row, name) for data, column in parts for row, value in enumerate(data[column][:])}
    values.discard(None)
    numbers = [value for value in values if isinstance(value, int)]
    if len(numbers) == len(values):
        return [str(number) for number in range(max(numbers, default=-1) + 1)]
    return sorted({str(value) for value in values})


def label_ids(data: datasets.Dataset, column: str, names: Sequence[str], name: str) -> list[int]:
    """Return the class id of each row, -1 where the label is unknown (None, an empty string, or -1)."""
    position = {label: number for number, label in enumerate(names)}
    feature = data.features[column]
    own = feature.names if isinstance(feature, datasets.ClassLabel) else None
    if own is not None and set(own) != set(names) and len(own) != len(names):
        raise ValueError(
            f"Expected the {len(names)} labels {', '.join(names)} in the column {column!r} of {name}, but its classes "
            f"are {', '.join(own)}."
        )
    # Numbers are ids, except in a plain column whose class names are numbers themselves ("1", "2", "3").
    numbers_are_names = own is None and all(label.isdigit() for label in names)
    ids = []
    for row, raw in enumerate(data[column][:]):
        value = _plain(raw, column, row, name)
        if own is not None and isinstance(value, int) and set(own) == set(names):
            value = own[value]
        if isinstance(value, int) and numbers_are_names:
            value = str(value)
        if value is None:
            ids.append(-1)
        elif isinstance(value, int):
            if value >= len(names):
                raise ValueError(
                    f"Expected labels from 0 to {len(names) - 1} in the column {column!r} of {name}, but row {row} "
                    f"holds {value}."
                )
            ids.append(value)
        elif value in position:
            ids.append(position[value])
        else:
            near = difflib.get_close_matches(value, names, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"Expected the labels {', '.join(names)} in the column {column!r} of {name}, but row {row} holds "
                f"{value!r}.{hint}"
            )
    return ids


def _plain(value: Any, column: str, row: int, name: str) -> int | str | None:
    """Return a label as a number or a word; None where it is unknown."""
    if value is None or value == "" or value == -1 or value == "-1":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # Text files have no numbers: "1" is the class 1, "01" and "1.0" are names.
        return int(value) if value.isascii() and value.isdigit() and str(int(value)) == value else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value >= 0:
        return value
    if isinstance(value, (int, float)):
        raise ValueError(
            f"Expected class labels (whole numbers from 0, or names) in the column {column!r} of {name}, but row {row} "
            f"holds {value}."
        )
    raise TypeError(
        f"Expected class labels (whole numbers from 0, or names) in the column {column!r} of {name}, but row {row} "
        f"holds a {type(value).__name__}."
    )

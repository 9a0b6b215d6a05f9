"""Turns the labels of a user's data, of any type, into ids of named classes that all splits share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.label_names import (
    BY_NAME,
    LabelColumn,
    check_label_names,
    listed,
    match_labels,
    resolve_label_columns,
)

REMEDY = "label_names= names the classes, first_label= says where numbers begin, label_column= names another column"


def read_labels(
    parts: Mapping[str, tuple[datasets.Dataset, str]],
    label_names: Sequence[str] | None,
    first_label: int | None,
    name: str,
    *,
    remedy: str = REMEDY,
) -> dict[str, LabelColumn]:
    """Read the labels of all splits; see `foundations.label_names` for the rules.

    The classes are those that the user names, or else those of a ClassLabel, or else those that the labels give. A
    ClassLabel of other names, or of the same names in another order, is matched by name.

    Args:
        parts: Each split with its label column.
        label_names: The names that the user gives; None to derive them.
        first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
        name: The name of the data set, for errors.
        remedy: What a person can do about doubt, for errors.

    Returns:
        The labels of each split, with the same names.
    """
    where = {
        split: f"the column {column!r} of {name}" + (f" (split {split})" if len(parts) > 1 else "")
        for split, (_, column) in parts.items()
    }
    own = {
        split: tuple(data.features[column].names)
        for split, (data, column) in parts.items()
        if isinstance(data.features[column], datasets.ClassLabel)
    }
    known, whose = None if label_names is None else check_label_names(label_names), "`label_names`"
    if known is None and own:
        first_named = next(iter(own))
        known, whose = own[first_named], where[first_named]
    values = {split: data[column][:] for split, (data, column) in parts.items()}
    plain = {where[split]: values[split] for split in parts if split not in own}
    resolved = resolve_label_columns(plain, known, first=first_label, remedy=remedy)
    columns = {split: resolved[where[split]] for split in parts if split not in own}
    numbers = {split: _numbers(values[split], names, where[split]) for split, names in own.items()}
    classes = known or ()
    for split, names in own.items():
        if names == classes:
            columns[split] = LabelColumn(numbers[split], names, BY_NAME)
            continue
        seen = {
            label for other, its in numbers.items() if own[other] == names for label in np.unique(its) if label >= 0
        }
        used = [label for label in np.unique(numbers[split]) if label >= 0]
        match = match_labels(
            names, classes, used=used, seen=seen, first=first_label, where=where[split], classes_of=whose, remedy=remedy
        )
        # An id of -1 reads the last entry.
        ids = np.append(match.class_of, -1)[numbers[split]]
        columns[split] = LabelColumn(ids, classes, match.how, match.reason)
    return columns


def _numbers(values: Sequence[int | None], names: Sequence[str], where: str) -> NDArray[np.int64]:
    """Return the numbers of a ClassLabel, -1 where there is none."""
    ids = np.fromiter((-1 if value is None else value for value in values), dtype=np.int64, count=len(values))
    wrong = np.flatnonzero((ids < -1) | (ids >= len(names)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"Expected labels from 0 to {len(names) - 1} ({listed(names)}) in {where}, but row {row} holds {ids[row]}."
        )
    return ids

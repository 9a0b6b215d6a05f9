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
    folded,
    listed,
    match_labels,
    resolve_label_columns,
)

REMEDY = (
    "label_names= names the classes, or renames labels as in label_names='old=new,…', first_label= says where numbers "
    "begin, label_column= names another column"
)


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
        label_names: The names that the user gives, or a new name for each label, as "true=POSITIVE"; None to derive
            them.
        first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
        name: The name of the data set, for errors.
        remedy: What a person can do about doubt, for errors.

    Returns:
        The labels of each split, with the same names.
    """
    renamed = _renamed(label_names)
    if renamed:
        label_names = None
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
    if not renamed:
        return columns
    return {split: _rename(column, renamed, where[split]) for split, column in columns.items()}


def _renamed(label_names: Sequence[str] | None) -> dict[str, str]:
    """Return the new name of each label where every entry is "old=new"; none where they are plain names."""
    if not label_names or isinstance(label_names, str) or not all(isinstance(name, str) for name in label_names):
        return {}
    parts = [name.partition("=") for name in label_names]
    pairs = [(old.strip(), new.strip()) for old, _, new in parts]
    if not all(old and new for old, new in pairs):
        return {}
    check_label_names([old for old, _ in pairs], "label_names")
    return dict(pairs)


def _rename(column: LabelColumn, renamed: Mapping[str, str], where: str) -> LabelColumn:
    """Give labels new names; several may have one. A label that has its new name already keeps it.

    Raises:
        ValueError: If a label that occurs has no new name.
    """
    classes = tuple(dict.fromkeys(renamed.values()))
    table = np.full(len(column.names) + 1, -1, dtype=np.int64)
    new = {folded(old): classes.index(name) for old, name in renamed.items()}
    new = {**{folded(name): place for place, name in enumerate(classes)}, **new}
    used = set(np.unique(column.ids).tolist())
    for label, name in enumerate(column.names):
        table[label] = new.get(folded(name), -1)
        if table[label] < 0 and label in used:
            raise ValueError(
                f"Expected a new name for each label in `label_names`, but {name!r} of {where} is not among "
                f"{listed(list(renamed))}."
            )
    return LabelColumn(table[column.ids], classes, BY_NAME, "renamed as asked")


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

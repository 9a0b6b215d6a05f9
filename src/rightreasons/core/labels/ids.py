"""Columns of labels as ids of named classes.

`resolve_labels` reads one column, and `resolve_label_columns` several that share their classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.labels.known_classes import find_heading_classes, find_known_classes
from rightreasons.core.labels.names import check_label_names
from rightreasons.core.labels.new_classes import FoundClasses, find_new_classes
from rightreasons.core.labels.values import ValueColumn, parse_columns


@dataclasses.dataclass(frozen=True, eq=False)
class LabelColumn:
    """A column of labels as ids.

    Attributes:
        ids: (N,) class of each row; -1 for no label (None, NaN, an empty text, -1 or a hyphen).
        names: K names of the classes, by id.
        how: `BY_NAME`, `BY_FOLDED_NAME` or `BY_NUMBER`.
        reason: What a match by number rests on; "" if there is nothing to say.
    """

    ids: NDArray[np.int64]
    names: tuple[str, ...]
    how: str
    reason: str = ""


def resolve_labels(
    values: Any,
    names: Sequence[str] | None = None,
    *,
    first: int | None = None,
    source: str = "the labels",
    remedy: str = "",
    headings: bool = False,
) -> LabelColumn:
    """Convert a column of labels to ids of named classes.

    The rules are those of `resolve_label_columns`, which has the same arguments.

    Args:
        values: (N,) labels: strings, whole numbers or booleans; None for unlabeled items.
        names: K names of the classes, in the order of their ids. If None, they are not known.
        first: Number of the first class, 0 or 1, if labels are numbers. If None, it is inferred.
        source: Description of the column in error messages.
        remedy: Advice at the end of error messages about ambiguous labels, such as "Rename the labels
            with `label_names`".
        headings: Whether the names are headings of score columns, whose order has no meaning.

    Example:
        >>> column = resolve_labels(["up", "down", None, "up"])
        >>> column.ids.tolist(), column.names
        ([1, 0, -1, 1], ('down', 'up'))
        >>> resolve_labels(["hateful", "Non-Hateful"], ["non-hateful", "hateful"]).ids.tolist()
        [1, 0]
        >>> resolve_labels(["0", "1", "n/a"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected either numbers or words ..., but it holds both: 0, 1 and 'n/a'.
    """
    # A single column shares its classes with no other one.
    columns = resolve_label_columns(
        {source: values}, names, first=first, remedy=remedy, headings=headings
    )
    return columns[source]


def resolve_label_columns(
    columns: Mapping[str, Any],
    names: Sequence[str] | None = None,
    *,
    first: int | None = None,
    remedy: str = "",
    headings: bool = False,
) -> dict[str, LabelColumn]:
    """Convert columns of labels that share their classes, such as those of several splits, to ids.

    Labels are strings (without the spaces around them), whole numbers (also as floats, or as
    strings such as "1" and "1.0") and booleans, whose names are "false" and "true". None, NaN and
    an empty string mark unlabeled items. So do -1 and a hyphen (SNLI's mark for items without a
    gold label), unless they are known names, or "+1" or a plus sign is a label.

    If the names are known, a label is first looked up as a name, as in `match_labels`, and only
    then as a number. Otherwise, whole numbers are ids themselves, with the names "0" to the largest
    number, and words are numbered in alphabetical order.

    Args:
        columns: Description of each column in error messages, such as "the column 'label' of
            x.csv" -> its labels, a list or an array.
        names: K names of the classes, in the order of their ids. If None, they are not known.
        first: Number of the first class, 0 or 1, if labels are numbers. If None, it is inferred as
            in `match_labels`.
        remedy: Advice at the end of error messages about ambiguous labels, such as "Rename the labels
            with `label_names`".
        headings: Whether the names are headings of score columns, whose order has no meaning. A
            number then belongs to the class whose name expresses it (LABEL_1, class 1, true, yes),
            and is refused if there is none.

    Returns:
        Description of each column -> its ids and the names, which are those of all columns.

    Raises:
        TypeError: If a value has a type that labels cannot have, or booleans are mixed with numbers.
        ValueError: If numbers are mixed with words, two words differ only by case or spaces, a
            label is not one of the known names, a number is ambiguous, negative or not whole, or
            there are more than `MAX_CLASSES` classes.

    Example:
        >>> splits = resolve_label_columns({"train": ["b", "a"], "test": ["c"]})
        >>> splits["test"].ids.tolist(), splits["test"].names
        ([2], ('a', 'b', 'c'))
    """
    if first not in (None, 0, 1):
        raise ValueError(f"Expected the first label to be 0 or 1, but got {first!r}.")
    known_names = None
    if names is not None:
        known_names = check_label_names(names)
    # The labels of all columns are parsed together, so that one split may lack a class of another.
    values = parse_columns(columns, known_names, first, remedy)

    # Without names, the classes are defined by the labels that occur.
    if known_names is None:
        classes = find_new_classes(values)
    elif headings:
        classes = find_heading_classes(values, known_names)
    else:
        classes = find_known_classes(values, known_names)
    return {name: _make_column(column, classes) for name, column in values.columns.items()}


def _make_column(column: ValueColumn, classes: FoundClasses) -> LabelColumn:
    """Convert a column of labels to class ids; -1 for labels that mark unlabeled items.

    Args:
        column: The column: `labels` has its distinct values, and `codes` the index of the value in
            each row.
        classes: Ids and names of the classes, and the rule by which labels were matched with them.
    """
    # Only distinct values are looked up, because a column may have millions of rows.
    id_by_code = np.full(len(column.labels), -1, dtype=np.int64)
    for code, label in enumerate(column.labels.values()):
        if label is not None:
            id_by_code[code] = classes.id_by_text.get(label.text, -1)
    return LabelColumn(
        ids=id_by_code[column.codes],
        names=classes.names,
        how=classes.rule,
        reason=classes.reason,
    )

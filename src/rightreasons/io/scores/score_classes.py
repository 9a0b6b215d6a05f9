"""The classes of scores: their names, and which class each label of a file is.

`name_classes` settles the names and the order of the columns; `match_labels` reads the labels as classes of the scores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.ids import LabelColumn, resolve_labels
from rightreasons.core.labels.matching import match_columns
from rightreasons.core.labels.names import check_label_names, fold_name
from rightreasons.core.labels.numbers import parse_label_number, parse_label_numbers
from rightreasons.core.sentences import format_list
from rightreasons.io.columns import Column
from rightreasons.io.scores.score_columns import ScoreColumns
from rightreasons.io.scores.score_tables import ScoreTable


def is_vector(table: ScoreTable) -> bool:
    """Return whether scores are P(class 1), one number per item."""
    return isinstance(table, np.ndarray) and table.ndim == 1


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether the names of the classes are their numbers, and so no names."""
    return list(names) == list(map(str, range(len(names))))


def count_classes(table: ScoreTable) -> int:
    """Return the number of classes, or the largest number of choices of an item."""
    if isinstance(table, list):
        return max(map(len, table))
    return 2 if table.ndim == 1 else int(table.shape[1])


def name_classes(
    scores: ScoreColumns, table: ScoreTable, label_names: Sequence[str] | None, source_name: str
) -> tuple[tuple[str, ...] | None, ScoreTable]:
    """Return the names of the classes, and the scores in the order of these names.

    Args:
        scores: The columns of the scores, which may name classes.
        table: The scores in the order of the columns.
        label_names: The names of the classes in the order of their numbers; None for those of the columns.
        source_name: The name of the table, for errors.

    Returns:
        The names, None if they are not known, and the scores. A single column about the first class
        is turned into P(second class).

    Raises:
        OptionError: If there is another number of names than of classes, or other names.
    """
    if label_names is None:
        return scores.class_names, table
    names = check_label_names(label_names)
    n_classes = count_classes(table)
    if len(names) != n_classes:
        raise OptionError(
            f"Expected {n_classes} class names in `label_names` or in the labels, one per class "
            f"of {source_name}, but got {len(names)}: {format_list(names)}.",
            option="label_names",
        )
    classes = scores.class_names
    # Without names of columns there is nothing to match, and lists of choices have positions only.
    if classes is None or isinstance(table, list):
        return names, table
    if table.ndim == 1:
        is_second = _find_positive_class(classes, names, source_name) == 1
        return names, table if is_second else 1 - table
    # Numbered columns are in the order of the names.
    if parse_label_numbers(classes) is not None:
        return names, table
    order = _match_classes(classes, names, source_name)
    return names, table[:, order]


def _match_classes(
    classes: Sequence[str], names: Sequence[str], source_name: str
) -> NDArray[np.int64]:
    """Return (K,) the position of each class name among the names of the columns."""
    return match_columns(
        classes, names, source=f"the columns of scores in {source_name}", target="`label_names`"
    )


def _find_positive_class(classes: Sequence[str], names: Sequence[str], source_name: str) -> int:
    """Return which of two classes, 0 or 1, a single column of scores is about.

    Args:
        classes: The class that the column names, as its only element.
        names: The names of both classes, in the order of their numbers.
        source_name: The name of the table, for errors.

    Raises:
        OptionError: If the column names neither.
    """
    position = find_class(classes[0], names)
    if position is None and parse_label_numbers(classes) in ([0], [1]):
        position = parse_label_number(classes[0])
    if position is None:
        # This reports the mismatch.
        return int(_match_classes(classes, names, source_name)[0])
    return position


def find_class(name: str, names: Sequence[str]) -> int | None:
    """Return the position of a class by its name, or by the number that both names mean.

    For example, "positive" and "1" mean the same number.

    Args:
        name: The name to look for, whatever its letter case.
        names: The names of the classes.

    Returns:
        The position; None if no class has the name or the number.
    """
    keys = list(map(fold_name, names))
    key = fold_name(name)
    if key in keys:
        return keys.index(key)
    numbers = parse_label_numbers(names) or []
    number = parse_label_number(name)
    if number not in numbers:
        return None
    return numbers.index(number)


# ------------------------------------------------------------------------- labels as classes


@attach_options("label_names", "first_label")
def match_labels(
    values: Column,
    location: str,
    names: tuple[str, ...] | None,
    table: ScoreTable,
    first: int | None,
    *,
    headings: bool,
) -> tuple[LabelColumn, tuple[str, ...] | None]:
    """Read the labels as numbers of the classes of the scores.

    Args:
        values: (N,) labels as the file has them.
        location: Where they are, for errors.
        names: The names of the classes; None if they are not known, or only the class of P(class).
        table: The scores.
        first: The number of the first class if labels are numbers; None to find out.
        headings: Whether the names are those of columns, whose order means nothing.

    Returns:
        The labels with their numbers, and the names of the classes, None if they stay unknown.
    """
    # A single column of scores names one class, and the labels have to name the other.
    if names is None or len(names) == 1:
        names = _name_both_classes(values, names, table, location)
        headings = False
    known_names = names
    start = first
    if known_names is None and is_vector(table):
        # P(class 1) says that the labels are 0 and 1.
        known_names = ("0", "1")
        start = first or 0
    elif known_names is None:
        known_names = tuple(f"class {number}" for number in range(count_classes(table)))
    # Positions of choices count from 0, unless some label shows that they count from 1.
    if start is None and isinstance(table, list) and not _count_from_one(values, table):
        start = 0
    remedy = "Name the classes in the order of the scores with `label_names`"
    if names is not None:
        remedy = (
            "Rename labels as old=new with `label_names`, or set `first_label` to the first number"
        )
    column = resolve_labels(
        values, known_names, first=start, source=location, remedy=remedy, headings=headings
    )
    return column, names


def _count_from_one(values: Column, choices: Sequence[Sequence[float]]) -> bool:
    """Return whether labels count choices from 1: one equals the number of choices of its item.

    Args:
        values: (N,) labels; 4.0 is 4.
        choices: The scores of the choices of each item.
    """
    for value, row in zip(values, choices, strict=True):
        n_choices = len(row)
        if str(value).strip() in (f"{n_choices}", f"{n_choices}.0"):
            return True
    return False


def _name_both_classes(
    values: Column, names: tuple[str, ...] | None, table: ScoreTable, location: str
) -> tuple[str, str] | None:
    """Return the names of both classes of a single column of scores, in the order of their numbers.

    Args:
        values: (N,) labels.
        names: The class that the column names, as its only element; None if it names none.
        table: The scores.
        location: Where the labels are, for errors.

    Returns:
        The names; None if labels are numbers, or if the scores have a column per class.

    Raises:
        OptionError: If the column names a class in words, and the labels are not that and one other.
    """
    ordered = None
    if is_vector(table):
        ordered = _order_two_classes(values, names, location)
    has_word = names is not None and parse_label_numbers(names) is None
    if ordered is None and names is not None and has_word:
        raise OptionError(
            f"Expected two labels in words in {location}, one of them {names[0]!r} as in the "
            "column of scores, but got other labels. List both names in the order of the "
            "numbers with `label_names`.",
            option="label_names",
        )
    return ordered


def _order_two_classes(
    values: Column, names: tuple[str, ...] | None, location: str
) -> tuple[str, str] | None:
    """Return the two labels of a file with the class of the scores as the second.

    Args:
        values: (N,) labels.
        names: The class that the column of scores names, as its only element; None if it names none.
        location: Where the labels are, for errors.

    Returns:
        The labels in their order; None if there are not two, or if nothing says their order. Words
        for false and true are in this order.
    """
    classes: tuple[str, ...] = ()
    # Labels that cannot be read are refused later, with a message about them.
    with contextlib.suppress(TypeError, ValueError):
        classes = resolve_labels(values, source=location).names
    if len(classes) != 2:
        return None
    if names is None:
        # Words such as "no" and "yes" mean 0 and 1; digits are no names.
        has_order = parse_label_numbers(classes) == [0, 1] and not are_numbers(classes)
        return (classes[0], classes[1]) if has_order else None
    positive = find_class(names[0], classes)
    if positive is None:
        return None
    return classes[1 - positive], classes[positive]

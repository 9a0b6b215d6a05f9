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

    For example, columns "p_good" and "p_bad" with `label_names=["bad", "good"]` change places.

    Args:
        scores: The columns of the scores. Their `class_names` are the classes in the headings, such
            as ("good", "bad"), or None.
        table: (N, K) scores in the order of the columns, (N,) scores of the single column, or a list
            per item.
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
        # P(second class) = 1 - P(first class)
        if _find_positive_class(classes, names, source_name) == 0:
            table = 1 - table
        return names, table
    # Numbered columns (p_0, p_1, …) are in the order of the names already.
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
    """Return which of two classes a single column of scores is about: 0 for the first, 1 for the second.

    Args:
        classes: The class that the column names, as its only element: ["good"] for "p_good", or ["1"]
            for "p_1".
        names: The names of both classes, in the order of their numbers.
        source_name: The name of the table, for errors.

    Raises:
        OptionError: If the column names neither.
    """
    position = find_class(classes[0], names)
    # The heading may number the class instead.
    if position is None and parse_label_numbers(classes) in ([0], [1]):
        position = parse_label_number(classes[0])
    if position is None:
        # One column cannot match two classes, so that this always raises: its message shows both lists.
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
    """Return the class number of each label, with the classes numbered as in the scores.

    For example, the labels "bad" and "good" are 0 and 1 if the columns of scores are P(bad) and P(good).

    Args:
        values: (N,) labels as the file has them.
        location: Where they are, for errors.
        names: The K names of the classes; the only name that the heading of P(class) gives; or None
            if none is known.
        table: The scores: (N, K), (N,) P(class 1), or a list per item.
        first: The number of the first class if labels are numbers; None to find out.
        headings: Whether the names come from headings of columns, whose order means nothing.

    Returns:
        The labels with their numbers, and the names of the classes, None if they stay unknown.
    """
    # The heading of a single column, such as "p_good", names one class. The labels name the other.
    if names is None or len(names) == 1:
        names = _name_both_classes(values, names, table, location)
        headings = False

    start = first
    if names is not None:
        known_names = names
    elif is_vector(table):
        # P(class 1) implies that the labels are the numbers 0 and 1.
        known_names = ("0", "1")
        if start is None:
            start = 0
    else:
        known_names = tuple(f"class {number}" for number in range(count_classes(table)))
    # Positions of choices count from 0, unless some label shows that they count from 1.
    if start is None and isinstance(table, list) and not _count_from_one(values, table):
        start = 0

    if names is None:
        remedy = "Name the classes in the order of the scores with `label_names`"
    else:
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
    """Return the names of the two classes of a single column of scores, the class of its scores second.

    For example, ("bad", "good") for the column "p_good" and the labels "good" and "bad".

    Args:
        values: (N,) labels.
        names: The class that the column names, as its only element; None if it names none.
        table: The scores.
        location: Where the labels are, for errors.

    Returns:
        The names; None if the labels do not show them, or if the scores have a column per class.

    Raises:
        OptionError: If the column names a class in words, and the labels are not that and one other.
    """
    if is_vector(table):
        ordered_names = _order_two_classes(values, names, location)
        if ordered_names is not None:
            return ordered_names
    # A number such as "1" already says which class it is; a word does not.
    if names is not None and parse_label_numbers(names) is None:
        raise OptionError(
            f"Expected two labels in words in {location}, one of them {names[0]!r} as in the "
            "column of scores, but got other labels. List both names in the order of the "
            "numbers with `label_names`.",
            option="label_names",
        )
    return None


def _order_two_classes(
    values: Column, names: tuple[str, ...] | None, location: str
) -> tuple[str, str] | None:
    """Return the two distinct labels of a file, with the class that P(class) is about as the second.

    Args:
        values: (N,) labels.
        names: The class in the heading of the scores, as its only element: ("good",) for "p_good".
            None if the heading names no class; then only words for false and true, such as "no" and
            "yes", have an order.
        location: Where the labels are, for errors.

    Returns:
        The labels in their order; None if there are not two, or if nothing shows their order.
    """
    classes: tuple[str, ...] = ()
    # Labels that cannot be read are refused later, with a message about them.
    with contextlib.suppress(TypeError, ValueError):
        classes = resolve_labels(values, source=location).names
    if len(classes) != 2:
        return None

    if names is None:
        # The digits 0 and 1 are numbers already, and name no classes.
        is_false_and_true = parse_label_numbers(classes) == [0, 1] and not are_numbers(classes)
        if not is_false_and_true:
            return None
        return classes[0], classes[1]
    positive = find_class(names[0], classes)
    if positive is None:
        return None
    negative = 1 - positive
    return classes[negative], classes[positive]

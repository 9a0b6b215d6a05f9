"""Names of the classes of scores, and the class of each label.

`name_classes` returns the names of the classes, and sorts the scores by them; `match_labels` reads labels as numbers of
these classes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.ids import LabelColumn, resolve_labels
from rightreasons.core.labels.matching import match_columns
from rightreasons.core.labels.names import (
    check_label_names,
    fold_name,
    parse_label_number,
    parse_label_numbers,
)
from rightreasons.core.sentences import format_list
from rightreasons.io.columns import Column
from rightreasons.io.scores.score_columns import ScoreColumns
from rightreasons.io.scores.score_tables import ScoreTable


def is_vector(table: ScoreTable) -> bool:
    """Return whether scores are P(class 1), one number per item."""
    return isinstance(table, np.ndarray) and table.ndim == 1


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether the names of the classes are only their numbers: "0", "1", …."""
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

    For example, `label_names=["bad", "good"]` swaps the scores of the columns "p_good" and "p_bad".

    Args:
        scores: The columns of the scores. Their `class_names` are the classes in the headings, such
            as ("good", "bad"), or None.
        table: (N, K) scores in the order of the columns, (N,) scores of a single column, or a list
            per item.
        label_names: The names of the classes in the order of their numbers; None for the names in the
            headings.
        source_name: Name of the table, for error messages.

    Returns:
        The names, or None if they are not known, and the scores. A single column with P(first class) is
        replaced by P(second class).

    Raises:
        OptionError: If the numbers of names and classes differ, or if the names do not match the headings.
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
    # There is nothing to match if the headings have no names; lists of choices never have.
    if classes is None or isinstance(table, list):
        return names, table
    if table.ndim == 1:
        # The result has to be P(second class) = 1 - P(first class).
        if _find_positive_class(classes[0], names, source_name) == 0:
            table = 1 - table
        return names, table
    # Columns that are numbered (p_0, p_1, …) are in the order of the names already.
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


def _find_positive_class(class_name: str, names: Sequence[str], source_name: str) -> int:
    """Return the number of the class, 0 or 1, whose probability a single column of scores contains.

    Args:
        class_name: The class in the heading of the column: "good" for "p_good", or "1" for "p_1".
        names: The names of both classes, in the order of their numbers.
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If the class in the heading is neither.
    """
    position = find_class(class_name, names)
    # The heading may contain the number of the class instead of its name.
    if position is None and parse_label_numbers([class_name]) in ([0], [1]):
        position = parse_label_number(class_name)
    if position is None:
        # One class cannot match two, so that this call always raises an error, which lists both.
        return int(_match_classes([class_name], names, source_name)[0])
    return position


def find_class(name: str, names: Sequence[str]) -> int | None:
    """Return the position of the class with a name, or with a name that means the same number.

    For example, "yes" and "1" both mean the number 1.

    Args:
        name: The name to search for, in any letter case.
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
    """Return the class number of each label, with the classes in the order of the scores.

    For example, the labels "bad" and "good" are 0 and 1 if the columns of scores are P(bad) and P(good).

    Args:
        values: (N,) labels, such as words or numbers.
        location: The column and the file, for error messages.
        names: The K names of the classes; a single name if the scores are P(class) of one column; or None
            if no name is known.
        table: The scores: (N, K), (N,) P(class 1), or a list per item.
        first: The number of the first class if labels are numbers; None to derive it.
        headings: Whether the names are from headings of columns, so that their order has no meaning.

    Returns:
        The labels with their numbers, and the names of the classes, or None if they remain unknown.
    """
    # The heading of a single column, such as "p_good", names one class. The labels show the other one.
    if names is None or len(names) == 1:
        class_name = names[0] if names else None
        names = _name_both_classes(values, class_name, table, location)
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
    # Numbers of choices count from 0, unless a label shows that they count from 1.
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
    """Return whether labels count choices from 1, because one equals the number of choices of its item.

    Args:
        values: (N,) labels, such as 4, 4.0 or "4".
        choices: (N,) lists of the scores of the choices.
    """
    for value, row in zip(values, choices, strict=True):
        n_choices = len(row)
        if str(value).strip() in (f"{n_choices}", f"{n_choices}.0"):
            return True
    return False


def _name_both_classes(
    values: Column, class_name: str | None, table: ScoreTable, location: str
) -> tuple[str, str] | None:
    """Return the names of both classes if the scores are P(class) of one class, which comes second.

    For example, ("bad", "good") for the column "p_good" and the labels "good" and "bad".

    Args:
        values: (N,) labels.
        class_name: The class in the heading of the scores; None if it contains no class.
        table: The scores.
        location: The column of labels and the file, for error messages.

    Returns:
        The names; None if the labels do not show them, or if the scores have a column per class.

    Raises:
        OptionError: If the heading contains a class in words, but the labels are not this class and one
            other.
    """
    if is_vector(table):
        ordered_names = _order_two_classes(values, class_name, location)
        if ordered_names is not None:
            return ordered_names
    # A number such as "1" identifies the class without labels, but a word does not.
    if class_name is not None and parse_label_numbers([class_name]) is None:
        raise OptionError(
            f"Expected two labels in words in {location}, one of them {class_name!r} as in the "
            "column of scores, but got other labels. List both names in the order of the "
            "numbers with `label_names`.",
            option="label_names",
        )
    return None


def _order_two_classes(
    values: Column, class_name: str | None, location: str
) -> tuple[str, str] | None:
    """Return the two distinct labels of a file, with the class whose probability the scores are second.

    Args:
        values: (N,) labels.
        class_name: The class in the heading of the scores: "good" for "p_good". If the heading contains no
            class, None: the labels then need to be words for false and true, such as "no" and "yes".
        location: The column of labels and the file, for error messages.

    Returns:
        The labels in their order; None if there are not two, or if their order is unknown.
    """
    classes: tuple[str, ...] = ()
    # Labels that cannot be read are ignored here, and refused by an error later.
    with contextlib.suppress(TypeError, ValueError):
        classes = resolve_labels(values, source=location).names
    if len(classes) != 2:
        return None

    if class_name is None:
        # The labels 0 and 1 are numbers, and not names of classes.
        is_false_and_true = parse_label_numbers(classes) == [0, 1] and not are_numbers(classes)
        if not is_false_and_true:
            return None
        return classes[0], classes[1]
    positive = find_class(class_name, classes)
    if positive is None:
        return None
    negative = 1 - positive
    return classes[negative], classes[positive]

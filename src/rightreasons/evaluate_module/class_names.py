"""Names of classes in the inputs of an evaluate module.

Scores may come in a table whose columns name the classes, and labels as words or as a ClassLabel of
`datasets`. All inputs of a group, such as predictions and references, mean the same classes.
`match_classes` brings them into one order, in which kernels see whole numbers only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.labels.ids import resolve_labels
from rightreasons.core.labels.matching import MatchTerms, match_columns, match_labels
from rightreasons.core.validation import check_labels
from rightreasons.evaluate_module.columns import DeclaredType, Form, find_form


@dataclasses.dataclass(frozen=True)
class ClassNames:
    """Names of classes, in the order of their numbers.

    Attributes:
        names: Names of the classes 0, 1, ...
        source: What names them, for errors, such as "`label_names`".
    """

    names: tuple[str, ...]
    source: str


@dataclasses.dataclass
class ClassColumn:
    """An input whose values are classes, or scores of classes.

    Attributes:
        name: Name of the input.
        values: Array or list of its values, which `match_classes` replaces.
        types: Declared types of the input.
        table_names: Classes that the columns of a table name; empty if the input is no table.
        label_names: Classes that a ClassLabel names; empty if the input is none.
    """

    name: str
    values: Any
    types: Sequence[DeclaredType]
    table_names: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether the values are words that stand for numbers of classes."""
        takes_texts = DeclaredType(has_rows=False, dtype="string") in self.types
        return not takes_texts and find_form(self.values) == Form(has_rows=False, has_texts=True)

    @property
    def takes_numbers(self) -> bool:
        """Whether the input is declared as numbers of classes."""
        return DeclaredType(has_rows=False, dtype="int64") in self.types

    @property
    def source(self) -> str:
        """The input in words, as the source of class names."""
        kind = "ClassLabel" if self.label_names else "columns"
        return f"the {kind} of `{self.name}`"


def read_label_names(values: Any) -> tuple[str, ...]:
    """Return the class names of a column of `datasets` that is a ClassLabel.

    Args:
        values: An input of any form.

    Returns:
        Names of the classes in order; empty for any other input.
    """
    # Recognized by its attributes, so that `datasets` need not be imported.
    feature = getattr(values, "features", None)
    names = getattr(feature, "names", None)
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return tuple(names)
    return ()


def find_class_names(columns: Sequence[ClassColumn]) -> ClassNames | None:
    """Find the names of the classes in the first ClassLabel, or else in the first table.

    Args:
        columns: Inputs that share their classes.

    Returns:
        The names, with the input that they are from. None if no input has names.
    """
    # A ClassLabel comes first, because it defines the order of the classes. The columns of a table
    # may have any order.
    for column in columns:
        if column.label_names:
            return ClassNames(column.label_names, column.source)
    for column in columns:
        if column.table_names:
            return ClassNames(column.table_names, column.source)
    return None


def match_classes(columns: Sequence[ClassColumn], classes: ClassNames) -> None:
    """Convert the values of inputs, in place, so that all of them number the classes in the same way.

    Afterwards, column k of a table of scores is class k, and each label is the number of its class.

    Args:
        columns: Inputs that share their classes. Their `values` are replaced.
        classes: Names of the classes, in order.

    Raises:
        ValueError: If the names do not match, or a label is not one of the classes.
    """
    # Tables of scores: reorder their columns.
    for column in columns:
        if column.table_names:
            order = match_columns(
                column.table_names, classes.names, source=column.source, target=classes.source
            )
            column.values = column.values[:, order]
    # Labels of a ClassLabel: translate their numbers.
    for column in columns:
        if column.label_names and column.label_names != classes.names:
            column.values = _match_class_label(column, classes)

    # Other labels: look up words. If the names are the headings of a table, their order has no
    # meaning. Numbers are then looked up as headings too, instead of being used as positions.
    tables = [column for column in columns if column.table_names]
    is_unordered = bool(tables) and classes.source == tables[0].source
    for column in columns:
        if column.has_words:
            column.values = _number_labels(column.values, column.name, classes, is_heading=False)
        elif is_unordered and column.takes_numbers and not column.label_names:
            labels = check_labels(column.values, name=column.name, minimum=None)
            column.values = _number_labels(labels, column.name, classes, is_heading=True)


def _match_class_label(column: ClassColumn, classes: ClassNames) -> NDArray[np.int64]:
    """Convert the numbers of a ClassLabel, whose names are in another order, to numbers of classes.

    Args:
        column: The input; `values` are its N labels, and `label_names` the names of its ClassLabel.
        classes: Names of the classes, in order.

    Returns:
        (N,) number of the class of each label.
    """
    labels = check_labels(column.values, len(column.label_names), name=column.name)
    # Names of classes that do not occur among the labels need no match.
    match = match_labels(
        column.label_names,
        classes.names,
        used=np.unique(labels),
        terms=MatchTerms(column.source, classes.source),
    )
    return match.class_of[labels]


def _number_labels(
    labels: Any, name: str, classes: ClassNames, *, is_heading: bool
) -> NDArray[np.int64]:
    """Convert labels to numbers of classes by the names of the classes.

    Args:
        labels: (N,) words or numbers.
        name: Name of the input, for error messages.
        classes: Names of the classes, in order.
        is_heading: Whether the names are headings of columns, whose order has no meaning. A number
            is then the class whose name expresses it, such as "LABEL_1".

    Returns:
        (N,) numbers of classes.

    Raises:
        ValueError: If a label is missing, or is not one of the classes.
    """
    column = resolve_labels(labels, classes.names, source=f"`{name}`", headings=is_heading)
    is_missing = column.ids < 0
    if is_missing.any():
        item = int(np.argmax(is_missing))
        raise ValueError(
            f"Expected a label in each item of `{name}`, but item {item} is {labels[item]!r}."
        )
    return column.ids

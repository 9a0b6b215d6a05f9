"""Batches of parsed inputs, which an evaluate module keeps in memory until it computes a result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.sentences import format_list
from rightreasons.evaluate_module.class_names import ClassNames
from rightreasons.evaluate_module.columns import concatenate_columns, find_form

Group = tuple[str, ...]
"""Names of inputs that mean the same classes."""


@dataclasses.dataclass(frozen=True)
class Batch:
    """Parsed inputs of some items.

    Attributes:
        columns: Array or list of each input by name; None for an optional input that is omitted.
        class_names: Names of the classes 0, 1, ... of each group of inputs that has some.
    """

    columns: Mapping[str, Any]
    class_names: Mapping[Group, tuple[str, ...]]

    def __len__(self) -> int:
        for column in self.columns.values():
            if column is not None:
                return len(column)
        return 0


def check_class_names(
    batches: Sequence[Batch], group: Group, option_names: ClassNames | None
) -> None:
    """Check that the class names of a group of inputs are the same in all batches and the options.

    Args:
        batches: Batches to be joined.
        group: Names of inputs that share their classes, such as ("predictions", "references").
        option_names: Class names in the options. None if there are none.

    Raises:
        ValueError: If names differ, or if a table does not have one column per name.
    """
    distinct_names = set()
    for batch in batches:
        if group in batch.class_names:
            distinct_names.add(batch.class_names[group])
    if option_names is not None:
        distinct_names.add(option_names.names)
    # Columns and labels of a batch follow the order of the first batch, when the batch is added. So
    # if names differ here, the options of `compute` name other classes.
    if len(distinct_names) > 1:
        lists = " and ".join(sorted(map(format_list, distinct_names)))
        raise ValueError(
            f"Expected the same classes in the same order in every batch, but got {lists}."
        )

    # The columns of a table without names are classes by position, so their number must fit.
    for names in distinct_names:
        for name in group:
            column = batches[0].columns[name]
            is_table = isinstance(column, np.ndarray) and column.ndim > 1
            if is_table and column.shape[1] != len(names):
                raise ValueError(
                    f"Expected {column.shape[1]} names of classes, one per column of `{name}`, "
                    f"but got {format_list(names)}."
                )


def check_forms(batches: Sequence[Batch], module_name: str) -> None:
    """Check that each input has the same form in all batches, such as numbers or rows of strings.

    Args:
        batches: Batches to be joined.
        module_name: Name of the module, for error messages.

    Raises:
        TypeError: If an input consists of booleans in some batches, and of numbers in others.
        ValueError: If the forms differ, or an optional input is missing in only some batches.
    """
    for name in batches[0].columns:
        forms = set()
        have_booleans = set()
        for batch in batches:
            column = batch.columns[name]
            forms.add("nothing" if column is None else find_form(column).describe())
            have_booleans.add(isinstance(column, np.ndarray) and column.dtype == np.bool_)
        if len(forms) > 1:
            form_names = " and ".join(sorted(forms))
            raise ValueError(
                f"Expected one form of `{name}` in every batch of {module_name}, "
                f"but got {form_names}."
            )
        # numpy would convert booleans to numbers, but True may mean "correct", and 1 a class.
        if len(have_booleans) > 1:
            raise TypeError(
                f"Expected booleans or numbers in all batches of `{name}`, but got both."
            )


def join_batches(batches: Sequence[Batch]) -> dict[str, Any]:
    """Concatenate the columns of all batches.

    Args:
        batches: At least one batch; all have passed `check_forms`.

    Returns:
        Name of each input -> its joined column; None for an optional input that is omitted.
    """
    joined: dict[str, Any] = {}
    for name, column in batches[0].columns.items():
        # An optional input is missing in all batches if it is missing in the first one.
        if column is None:
            joined[name] = None
        else:
            joined[name] = concatenate_columns([batch.columns[name] for batch in batches])
    return joined

"""Parsing of one input of an evaluate module, by the types that its features declare.

A module declares one or several types per input, such as rows of scores or single probabilities.
`parse_column` selects the declared type that fits the form of the values, and checks them by it.
What the values mean depends on options that are known only when a result is computed, so that is
left to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rightreasons.core.arrays import concatenate_rows, describe_kind, is_row, stack_items
from rightreasons.core.validation import (
    as_ragged,
    check_flags,
    check_labels,
    check_texts,
    check_token_lists,
    check_vector,
)


class Form(NamedTuple):
    """Form of a column.

    Attributes:
        has_rows: Whether each item is a row of values, rather than one value.
        has_texts: Whether the values are texts, rather than numbers.

    Example:
        >>> Form(has_rows=True, has_texts=False).describe(), Form(False, True).describe()
        ('rows of numbers', 'texts')
    """

    has_rows: bool
    has_texts: bool

    def describe(self) -> str:
        """Return the form in words, for an error."""
        values = "texts" if self.has_texts else "numbers"
        return f"rows of {values}" if self.has_rows else values


class DeclaredType(NamedTuple):
    """Type that a module declares for an input.

    Attributes:
        has_rows: Whether each item is a row of values.
        dtype: Type of the values: "float64", "int64", "bool" or "string".
    """

    has_rows: bool
    dtype: str

    @property
    def form(self) -> Form:
        """Form of a column of this type."""
        return Form(self.has_rows, self.dtype == "string")


def read_declared_type(feature: Any) -> DeclaredType:
    """Return the type that a feature of `datasets` declares."""
    values = getattr(feature, "feature", None)
    if values is None:
        return DeclaredType(has_rows=False, dtype=feature.dtype)
    return DeclaredType(has_rows=True, dtype=values.dtype)


def find_form(values: Any) -> Form:
    """Find out whether the items of a column are rows, and whether the values are strings.

    Args:
        values: An array or a list that is not empty.
    """
    if isinstance(values, np.ndarray):
        return Form(has_rows=values.ndim > 1, has_texts=False)
    if not is_row(values[0]):
        return Form(has_rows=False, has_texts=isinstance(values[0], str))
    # The first row that is not empty shows the type of the values.
    for row in values:
        if is_row(row) and len(row):
            return Form(has_rows=True, has_texts=isinstance(row[0], str))
    return Form(has_rows=True, has_texts=False)


def parse_column(values: Any, types: Sequence[DeclaredType], name: str) -> Any:
    """Check the values of an input against its declared types, and convert them.

    An input may have several declared types. The one that fits the form of the values is used.

    Args:
        values: An array or a list that is not empty, from `to_array_or_list`.
        types: Declared types of the input, such as rows of float64, or single int64 values.
        name: Name of the input, for error messages.

    Returns:
        An array of numbers, or a list of strings or rows.

    Raises:
        TypeError: If a value has another type than declared.
        ValueError: If no declared type fits the form, or a value is invalid.
    """
    form = find_form(values)
    dtypes = [declared.dtype for declared in types if declared.has_rows == form.has_rows]
    if not dtypes:
        expected = types[0].form.describe()
        got = f"item 0 is {describe_kind(values[0])}"
        if isinstance(values, np.ndarray):
            got = f"got shape {values.shape}"
        raise ValueError(f"Expected {expected} in `{name}`, but {got}.")
    dtype = _select_dtype(dtypes, form, values[0])
    if form.has_rows:
        return _parse_rows(values, dtype, name)
    return _parse_items(values, dtype, name)


def concatenate_columns(columns: Sequence[Any]) -> Any:
    """Join the columns of several batches of one input.

    Args:
        columns: One array or list of items per batch.

    Returns:
        An array if all columns are arrays of the same width; otherwise a list of all items.
    """
    if len(columns) == 1:
        # In the usual case of a single batch, nothing is copied.
        return columns[0]
    are_arrays = all(isinstance(column, np.ndarray) for column in columns)
    if are_arrays and len({column.shape[1:] for column in columns}) == 1:
        return np.concatenate(columns)
    # If batches differ in their numbers of choices, the result is a list of rows.
    items: list[Any] = []
    for column in columns:
        if isinstance(column, np.ndarray):
            column = column.tolist()
        items.extend(column)
    return items


def _select_dtype(dtypes: Sequence[str], form: Form, value: Any) -> str:
    """Select the declared type by which the values of an input are parsed.

    Args:
        dtypes: Declared types: "float64", "int64", "bool" or "string"; at least one.
        form: Form of the input; `has_texts` is whether its values are strings.
        value: First value or row of the input.
    """
    # In Python, True equals 1. But True means "correct", while 1 may be a class.
    if "bool" in dtypes and isinstance(value, (bool, np.bool_)):
        return "bool"
    for dtype in dtypes:
        if (dtype == "string") == form.has_texts:
            return dtype
    # If no type fits, parsing by the first one raises an error that names the value.
    return dtypes[0]


def _parse_rows(values: Any, dtype: str, name: str) -> Any:
    """Check and convert an input whose items are rows.

    Args:
        values: N rows: an array or a list.
        dtype: Declared type of the values: "float64" for scores, "string" for tokens, or "int64".
        name: Name of the input, for error messages.

    Returns:
        An array, or a list of rows if their lengths differ or they consist of strings.
    """
    if dtype == "float64":
        return _parse_scores(values, name)
    if dtype == "string":
        return check_token_lists(values, name)
    # Rows of whole numbers are positions or answers of several runs, whose lengths may differ.
    is_table = isinstance(values, np.ndarray) and values.ndim == 2
    if is_table and values.dtype.kind in "iu":
        return values.astype(np.int64, copy=False)
    rows = []
    for index, row in enumerate(values):
        numbers = check_labels(row, name=f"{name}[{index}]", minimum=None)
        rows.append(numbers.tolist())
    return rows


def _parse_scores(values: Any, name: str) -> Any:
    """Check rows of scores, and return an (N, K) array, or a list of N lists if lengths differ.

    Args:
        values: An array or a list of rows of numbers.
        name: Name of the input, for errors.
    """
    # An array keeps its type, because the kernel may need to know its precision.
    is_table = isinstance(values, np.ndarray) and values.ndim == 2
    if is_table and values.dtype.kind in "fiu":
        return values
    if isinstance(values, list):
        rows = concatenate_rows(values, name)
    else:
        rows = as_ragged(values, name)
    scores = rows.table()
    if isinstance(scores, np.ndarray):
        return scores
    return [row.tolist() for row in scores]


def _parse_items(values: Any, dtype: str, name: str) -> Any:
    """Check and convert an input whose items are single values.

    Args:
        values: N values: an array or a list.
        dtype: Declared type: "int64" for labels, "string", "bool" or "float64".
        name: Name of the input, for error messages.

    Returns:
        (N,) array, or a list of strings. Whole numbers are not converted to "float64".
    """
    if dtype == "int64":
        array = stack_items(values, name)
        if array.dtype.kind == "i" and array.ndim == 1:
            return array.astype(np.int64, copy=False)
        # The check raises an error that names the first item that is not a label.
        return check_labels(values, name=name, minimum=None)
    if dtype == "string":
        return check_texts(values, name, allow_empty=True)
    if dtype == "bool":
        return check_flags(values, name)
    numbers = stack_items(values, name)
    # Whole numbers may be predicted classes, which kernels recognize by their type and refuse.
    if numbers.dtype.kind in "iu":
        return numbers
    return check_vector(numbers, name)

"""Parsers of the values in the cells of files: lists and objects, numbers, percentages, and labels."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rightreasons.core.json_files import parse_json
from rightreasons.core.labels.values import LABEL_SEPARATOR
from rightreasons.core.sentences import format_value
from rightreasons.io.score_cells import parse_number_list

# A number, perhaps with a percent sign as in spreadsheets ("56.4 %"), or with a decimal comma.
_NUMBER = re.compile(r"([-+]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%?)")
_NO_NUMBER = frozenset(("", "nan", "none", "null", "na", "n/a"))


def parse_cell(cell: Any) -> Any:
    """Parse a string that is a list or an object in JSON, or as Python prints it.

    Args:
        cell: Any value.

    Returns:
        The list or object. Any other value is returned unchanged.

    Example:
        >>> parse_cell('{"label": "yes"}'), parse_cell("['joy', None]"), parse_cell("[sic]")
        ({'label': 'yes'}, ['joy', None], '[sic]')
    """
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    with contextlib.suppress(ValueError):
        return parse_json(cell, "the cell")
    # pandas writes lists as Python prints them: with single quotation marks, and None.
    if "'" not in cell and "None" not in cell:
        return cell
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(cell.strip())
        if isinstance(value, (list, dict)):
            return value
    return cell


def drop_missing(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its missing fields.

    Arrow adds the fields of all objects in a column to each of them, with None as their value.

    Example:
        >>> drop_missing({"A": "yes", "B": None})
        {'A': 'yes'}
    """
    return {name: value for name, value in cell.items() if value is not None}


def is_list_of_one(value: Any) -> bool:
    """Return whether a value is a list of one value."""
    return isinstance(value, list) and len(value) == 1


def unwrap_value(value: Any) -> Any:
    """Return the value inside nested lists of one, such as "joy" for [["joy"]]; other values unchanged.

    Example:
        >>> unwrap_value([["joy"]]), unwrap_value(["joy", "fear"]), unwrap_value("joy")
        ('joy', ['joy', 'fear'], 'joy')
    """
    while is_list_of_one(value):
        value = value[0]
    return value


def parse_number(value: Any) -> float | None:
    """Return the number in a cell, which may be a string with a decimal comma or a percent sign.

    Args:
        value: The cell.

    Returns:
        The number, which is a fraction for a percentage. NaN for an empty cell or "n/a", and None for any
        other value, such as a boolean.

    Example:
        >>> parse_number("0,5"), parse_number("56.5 %"), parse_number("n/a"), parse_number(True)
        (0.5, 0.565, nan, None)
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_NUMBER):
        return float("nan")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is not None:
            digits, percent_sign = match.groups()
            number = float(digits.replace(",", "."))
            return number / 100 if percent_sign else number
    # True is a number in Python, but not in a cell.
    if isinstance(value, (bool, list, dict)) or not is_number(value):
        return None
    return float(value)


def are_numeric(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers or booleans, and not strings of numbers."""
    return set(map(type, values)) <= {bool, int, float}


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or a string of one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def parse_numbers(
    column: Sequence[Any] | NDArray[Any], name: str, *, missing: bool = False
) -> NDArray[np.float64]:
    """Return the numbers in a column as floats.

    Args:
        column: (N,) cells: numbers, or strings of numbers.
        name: Name of the column, for error messages.
        missing: Whether empty cells are allowed, which become NaN.

    Raises:
        ValueError: If a cell is not a number, or if the column has decimal points as well as commas.
    """
    # numpy converts booleans (b) and dates (M) to numbers, so that only other types are accepted.
    if isinstance(column, np.ndarray) and column.dtype.kind not in "fiuOSU":
        raise ValueError(
            f"Expected numbers in column {name!r}, but it holds values of the type {column.dtype}."
        )
    # Arrow converts lists of strings many times faster, and raises an error for other values.
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError):
        if not isinstance(column, np.ndarray):
            texts = pa.array(column, pa.string())
            return np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    try:
        return np.asarray(column, dtype=np.float64)
    # Decimal commas, percent signs and empty cells need a loop.
    except (TypeError, ValueError, OverflowError):
        return _parse_number_cells(column, name, missing)


def parse_list(cell: Any) -> Any:
    """Parse a string that is a list in JSON, or as numpy prints it ("[0.9 1.e-01]").

    Numbers that numpy printed remain strings. A tuple becomes a list, and any other value is returned
    unchanged.

    Args:
        cell: Any value.

    Example:
        >>> parse_list("[0.9 1.e-01]"), parse_list((1, 2)), parse_list("0.9")
        (['0.9', '1.e-01'], [1, 2], '0.9')
    """
    cell = parse_cell(cell)
    if isinstance(cell, tuple):
        return list(cell)
    if not isinstance(cell, str):
        return cell
    numbers = parse_number_list(cell)
    if numbers is None:
        return cell
    return numbers


def _parse_number_cells(
    column: Sequence[Any] | NDArray[Any], name: str, missing: bool
) -> NDArray[np.float64]:
    """Return (N,) the numbers in a column, with the formats of `parse_number`, such as "56,4 %".

    Args:
        column: (N,) cells.
        name: Name of the column, for error messages.
        missing: Whether empty cells are allowed, which become NaN.

    Raises:
        ValueError: If a cell is not a number, or if the column has decimal points as well as commas.
    """
    numbers = []
    for row, cell in enumerate(column):
        number = parse_number(cell)
        # NaN is the only value that differs from itself.
        is_empty = number is not None and number != number
        if number is None or (is_empty and not missing):
            raise ValueError(
                f"Expected numbers in column {name!r}, but item {row} holds "
                f"{format_value(cell, 60)}."
            )
        numbers.append(number)
    _check_decimal_mark(column, name)
    return np.asarray(numbers, dtype=np.float64)


def _check_decimal_mark(column: Sequence[Any] | NDArray[Any], name: str) -> None:
    """Check that the numbers of a column do not contain both "," and ".", as "1,500" and "1.5" do.

    Args:
        column: The cells; only strings are checked.
        name: Name of the column, for error messages.

    Raises:
        ValueError: If they do, because either mark may then separate thousands.
    """
    texts = [cell for cell in column if isinstance(cell, str)]
    # The first text with each of the two marks, if there is one.
    examples = []
    for mark in ",.":
        for text in texts:
            if mark in text:
                examples.append(text)
                break
    if len(examples) == 2:
        raise ValueError(
            "Expected numbers with one kind of decimal mark and without thousands separators in "
            f"column {name!r}, but got {' and '.join(examples)}."
        )


def list_labels(cell: Any) -> list[str]:
    """Return the labels in a cell that may contain several.

    Args:
        cell: A list, an object that marks labels by 1, a string such as "4, 27", or a single label.

    Returns:
        The labels as strings; an empty list for an empty cell.

    Example:
        >>> list_labels("4, 27"), list_labels('["joy"]'), list_labels({"joy": 1, "fear": 0}), list_labels(None)
        (['4', '27'], ['joy'], ['joy'], [])
    """
    value = parse_cell(cell)
    labels: Sequence[Any] = ()
    if isinstance(value, dict):
        labels = [name for name, mark in value.items() if mark]
    elif isinstance(value, str):
        labels = LABEL_SEPARATOR.split(value.strip())
    elif isinstance(value, list):
        labels = value
    # NaN, the only value that differs from itself, is not a label.
    elif value is not None and value == value:
        labels = [value]
    return [str(label) for label in labels if label not in (None, "")]


def describe_membership(cell: Any, label: str, spelling: str | None = None) -> str:
    """Return "LABEL" if a cell of several labels contains the label, and "not LABEL" otherwise.

    Args:
        cell: A cell as in `list_labels`, such as ["joy"] or "4, 27".
        label: The label.
        spelling: The label as cells spell it, such as its number; None if they contain the label itself.

    Example:
        >>> describe_membership("4,27", "joy", "4"), describe_membership(["anger"], "joy")
        ('joy', 'not joy')
    """
    if spelling is None:
        spelling = label
    if spelling in list_labels(cell):
        return label
    return f"not {label}"

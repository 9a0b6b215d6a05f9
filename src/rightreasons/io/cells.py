"""Values as they are written in the cells of files: lists and objects, numbers, percentages, decimal commas."""

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

# Also as spreadsheets show it: "56.4 %", and the decimal comma of much of Europe.
_NUMBER = re.compile(r"([-+]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%?)")
_NO_NUMBER = frozenset(("", "nan", "none", "null", "na", "n/a"))


def parse_cell(cell: Any) -> Any:
    """Return the object or the list that a text is, as JSON or pandas writes it; another cell as it is.

    Example:
        >>> parse_cell('{"label": "yes"}'), parse_cell("['joy', None]"), parse_cell("[sic]")
        ({'label': 'yes'}, ['joy', None], '[sic]')
    """
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    # Most cells of this kind are JSON.
    with contextlib.suppress(ValueError):
        return parse_json(cell, "the cell")
    # pandas writes lists as Python does, with single quotation marks.
    if "'" not in cell and "None" not in cell:
        return cell
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(cell.strip())
        if isinstance(value, (list, dict)):
            return value
    return cell


def drop_missing(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without its empty fields: Arrow gives every object the fields of all.

    Example:
        >>> drop_missing({"A": "yes", "B": None})
        {'A': 'yes'}
    """
    return {name: value for name, value in cell.items() if value is not None}


def is_list_of_one(value: Any) -> bool:
    """Return whether a value is a list of one value."""
    return isinstance(value, list) and len(value) == 1


def unwrap_value(value: Any) -> Any:
    """Return the value in lists of one, as some files write every value; another value as it is.

    Example:
        >>> unwrap_value([["joy"]]), unwrap_value(["joy", "fear"]), unwrap_value("joy")
        ('joy', ['joy', 'fear'], 'joy')
    """
    while is_list_of_one(value):
        (value,) = value
    return value


def parse_number(value: Any) -> float | None:
    """Return the number in a cell, NaN for a cell without one, and None for anything else.

    Example:
        >>> parse_number("0,5"), parse_number("56.5 %"), parse_number("n/a"), parse_number(True)
        (0.5, 0.565, nan, None)
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_NUMBER):
        return float("nan")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is not None:
            number = float(match[1].replace(",", "."))
            if match[2] == "%":
                number /= 100
            return number
    # True is a number in Python, but not in a file.
    if isinstance(value, (bool, list, dict)) or not is_number(value):
        return None
    return float(value)


def are_numeric(values: Iterable[Any]) -> bool:
    """Return whether values are numbers or flags, rather than texts that write numbers."""
    return set(map(type, values)) <= {bool, int, float}


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or writes one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def parse_numbers(
    column: Sequence[Any] | NDArray[Any], name: str, *, missing: bool = False
) -> NDArray[np.float64]:
    """Return the numbers in a column.

    Args:
        column: The cells.
        name: The name of the column, for errors.
        missing: Whether cells may be empty, which become NaN.

    Raises:
        ValueError: If a cell holds no number, or the column has two kinds of decimal marks.
    """
    if isinstance(column, np.ndarray) and column.dtype.kind not in "fiuOSU":
        raise ValueError(
            f"Expected numbers in column {name!r}, but it holds values of the type {column.dtype}."
        )
    # Arrow reads plain lists of texts many times as fast, and refuses everything else.
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError):
        if not isinstance(column, np.ndarray):
            texts = pa.array(column, pa.string())
            return np.asarray(texts.cast(pa.float64()).to_numpy(zero_copy_only=False))
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return _parse_written_numbers(column, name, missing)


def parse_list(cell: Any) -> Any:
    """Return the list in a cell, as JSON writes it or numpy, "[0.9 1.e-01]"; another cell as it is.

    Example:
        >>> parse_list("[0.9 1.e-01]"), parse_list((1, 2)), parse_list("0.9")
        (['0.9', '1.e-01'], [1, 2], '0.9')
    """
    cell = parse_cell(cell)
    if isinstance(cell, tuple):
        return list(cell)
    if not isinstance(cell, str):
        return cell
    # numpy writes lists without commas.
    numbers = parse_number_list(cell)
    return cell if numbers is None else numbers


def _parse_written_numbers(
    column: Sequence[Any] | NDArray[Any], name: str, missing: bool
) -> NDArray[np.float64]:
    numbers = []
    for row, cell in enumerate(column):
        number = parse_number(cell)
        if number is None or (number != number and not missing):
            raise ValueError(
                f"Expected numbers in column {name!r}, but item {row} holds "
                f"{format_value(cell, 60)}."
            )
        numbers.append(number)
    _check_decimal_mark(column, name)
    return np.asarray(numbers, dtype=np.float64)


def _check_decimal_mark(column: Sequence[Any] | NDArray[Any], name: str) -> None:
    """Refuse "1,5" beside "1.5": one of them has a mark of thousands."""
    texts = [cell for cell in column if isinstance(cell, str)]
    examples = []
    for mark in ",.":
        for text in texts:
            if mark in text:
                examples.append(text)
                break
    if len(examples) == 2:
        raise ValueError(
            f"Expected one decimal mark, and none of thousands, in column {name!r}, but it holds "
            f"{' and '.join(examples)}."
        )


def list_labels(cell: Any) -> list[str]:
    """Return the labels in a cell of several: a list, an object of those that hold, or a text that lists them.

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
    # NaN is not itself.
    elif value is not None and value == value:
        labels = [value]
    return [str(label) for label in labels if label not in (None, "")]


def describe_membership(cell: Any, label: str, spelling: str | None = None) -> str:
    """Return a label if a cell of several labels holds it, and "not LABEL" otherwise.

    Args:
        cell: As in `list_labels`.
        label: The label.
        spelling: What cells hold in its place, such as its number; None for the label itself.

    Example:
        >>> describe_membership("4,27", "joy", "4"), describe_membership(["anger"], "joy")
        ('joy', 'not joy')
    """
    if spelling is None:
        spelling = label
    holds_label = spelling in list_labels(cell)
    return label if holds_label else f"not {label}"

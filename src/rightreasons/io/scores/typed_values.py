"""Values of columns as numbers or strings, and whether they may be answers rather than scores.

All cells of a csv file are strings: `to_typed_values` converts a column of strings of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rightreasons.core.ordering import LazyArrowColumn, factorize
from rightreasons.io.cells import is_number, parse_cell
from rightreasons.io.columns import Column


def iterate_distinct(column: Iterable[Any]) -> Iterable[Any]:
    """Return the distinct values of a column of Arrow or numpy, which find them quickly; otherwise all values."""
    is_array = isinstance(column, np.ndarray) and column.dtype != object
    if is_array or isinstance(column, LazyArrowColumn):
        return factorize(column)[1]
    return column


def are_answers(column: Column) -> bool:
    """Return whether a column may contain a model's answers: only strings, or only whole numbers.

    Fractions are scores, and so are lists of numbers, even as strings such as "[0.9, 0.1]". A mixture of
    strings and numbers is neither.

    Args:
        column: The cells.
    """
    values = to_typed_values(column)
    texts = [value for value in values if isinstance(value, str)]
    # Without any string, all values have to be whole numbers.
    if len(texts) < len(values):
        return not texts and all(map(is_answer, values))
    # In a csv file, a list of scores is a string.
    parsed_texts = map(parse_cell, texts)
    return list not in map(type, parsed_texts)


def to_typed_values(column: Column) -> list[Any]:
    """Return the values of a column, as floats if all cells are strings of numbers.

    Empty cells of such a column become NaN.

    Args:
        column: The cells.
    """
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
    else:
        values = list(column)
    # A column of only empty cells, or of only zeros, is not converted.
    if not any(values):
        return values
    for value in values:
        if not isinstance(value, str):
            return values
        if value and not is_number(value):
            return values
    numbers = []
    for value in values:
        numbers.append(float(value or "nan"))
    return numbers


def is_answer(value: Any) -> bool:
    """Return whether a value may be an answer: a string, or a whole number such as 2 or 2.0."""
    if isinstance(value, (str, int)):
        return True
    if not is_number(value):
        return False
    return float(value).is_integer()

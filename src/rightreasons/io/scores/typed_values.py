"""Values of columns as numbers or texts, and whether they may be answers rather than scores.

A csv file has texts alone: `to_typed_values` makes numbers of a column of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rightreasons.core.ordering import LazyArrowColumn, factorize
from rightreasons.io.cells import is_number, parse_cell
from rightreasons.io.columns import Column


def iterate_distinct(column: Iterable[Any]) -> Iterable[Any]:
    """Return the distinct values of a column if Arrow or numpy find them quickly; otherwise all of them."""
    is_array = isinstance(column, np.ndarray) and column.dtype != object
    if is_array or isinstance(column, LazyArrowColumn):
        return factorize(column)[1]
    return column


def are_answers(column: Column) -> bool:
    """Return whether a column holds whole numbers or plain texts, rather than scores or lists of scores as texts."""
    values = to_typed_values(column)
    types = set(map(type, values))
    n_text_types = sum(issubclass(value_type, str) for value_type in types)
    if n_text_types == len(types):
        # A file may write the scores of all classes as a text.
        return list not in set(map(type, map(parse_cell, values)))
    # Of a mixture of texts and numbers, a person has to say what it is.
    if n_text_types:
        return False
    return all(map(is_answer, values))


def to_typed_values(column: Column) -> list[Any]:
    """Return plain values; the cells of a csv file as numbers if all that are not empty are numbers."""
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
    else:
        values = list(column)
    # Empty cells alone are no numbers.
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
    """Return whether a value may be an answer: a text or a whole number."""
    if isinstance(value, (str, int)):
        return True
    # A cell of a file writes a number as a text.
    if not is_number(value):
        return False
    number = float(value)
    return number.is_integer()

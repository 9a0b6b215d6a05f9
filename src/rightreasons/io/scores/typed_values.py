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
    """Return whether a column may hold a model's answers: only texts, or only whole numbers.

    Fractions are scores, and so are lists of numbers, even if a file writes them as texts such as
    "[0.9, 0.1]". A mixture of texts and numbers is neither.
    """
    values = to_typed_values(column)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values):
        return not texts and all(map(is_answer, values))
    # A csv file writes the scores of all classes as a text.
    parsed_texts = map(parse_cell, texts)
    return list not in map(type, parsed_texts)


def to_typed_values(column: Column) -> list[Any]:
    """Return the values of a column, as floats if all cells are texts that write numbers.

    Empty cells of such a column become NaN; cells of a csv file are always texts.
    """
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
    else:
        values = list(column)
    # A column of empty cells holds no numbers.
    if not any(values):
        return values
    for value in values:
        if not isinstance(value, str):
            return values
        if value and not is_number(value):
            return values
    numbers = []
    for value in values:
        # An empty cell is a missing number.
        numbers.append(float(value or "nan"))
    return numbers


def is_answer(value: Any) -> bool:
    """Return whether a value may be an answer: a text, or a whole number such as 2 or 2.0."""
    if isinstance(value, (str, int)):
        return True
    if not is_number(value):
        return False
    return float(value).is_integer()

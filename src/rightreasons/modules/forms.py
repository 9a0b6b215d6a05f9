"""The form of an input: numbers or texts, single or in rows, checked by the features that a module declares."""

from __future__ import annotations

from typing import Any

import numpy as np

from rightreasons.foundations.arrays import kind_of, to_numpy
from rightreasons.foundations.validation import (
    as_ragged,
    check_finite_vector,
    check_flags,
    check_labels,
    check_texts,
    check_token_lists,
)


def form_of(column: Any) -> tuple[bool, bool]:
    """Tell whether a column holds rows, and whether it holds texts."""
    if isinstance(column, np.ndarray):
        return column.ndim > 1, False
    if isinstance(column[0], (list, np.ndarray)):
        row = next((row for row in column if isinstance(row, (list, np.ndarray)) and len(row)), [None])
        return True, isinstance(row[0], str)
    return False, isinstance(column[0], str)


def form_of_feature(feature: Any) -> tuple[bool, bool]:
    """Tell whether a declared feature is of rows, and whether it is of texts."""
    inner = getattr(feature, "feature", None)
    return inner is not None, (inner or feature).dtype == "string"


def form_name(form: tuple[bool, bool] | None) -> str:
    """Name a form for an error.

    Example:
        >>> form_name((True, False)), form_name(None)
        ('rows of numbers', 'nothing')
    """
    if form is None:
        return "nothing"
    rows, texts = form
    return f"{'rows of ' if rows else ''}{'texts' if texts else 'numbers'}"


def check_column(value: Any, features: list[Any], name: str) -> Any:
    """Check an input by the features that fit its form, and return it as the kernels take it."""
    rows, texts = form_of(value)
    fitting = [feature for feature in features if form_of_feature(feature)[0] == rows]
    if not fitting:
        expected = form_name(form_of_feature(features[0]))
        got = f"got shape {value.shape}" if isinstance(value, np.ndarray) else f"item 0 is {kind_of(value[0])}"
        raise ValueError(f"Expected {expected} in `{name}`, but {got}.")
    feature = next((feature for feature in fitting if form_of_feature(feature)[1] == texts), fitting[0])
    if rows:
        inner = feature.feature.dtype
        if inner == "float64":
            return _score_rows(value, name)
        if inner == "int64":
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 2:
                return value.astype(np.int64, copy=False)
            return [
                check_labels(row, name=f"{name}[{index}]", minimum=None).tolist() for index, row in enumerate(value)
            ]
        return check_token_lists(value, name)
    if feature.dtype == "int64":
        return check_labels(value, name=name, minimum=None)
    if feature.dtype == "string":
        return check_texts(value, name, allow_empty=True)
    if feature.dtype == "bool":
        return check_flags(value, name)
    array = to_numpy(value, name)
    # Whole numbers may be classes, as the kernel sees.
    return array if array.dtype.kind in "iu" else check_finite_vector(array, name)


def _score_rows(value: Any, name: str) -> Any:
    """Return rows of scores as one array if they have equal lengths, else as a list of rows."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim == 2:
        return value
    scores = as_ragged(value, name).table()
    return scores if isinstance(scores, np.ndarray) else [row.tolist() for row in scores]


def check_characters(column: Any, name: str) -> None:
    """Check that texts can be written to Arrow: half of a surrogate pair has no bytes in UTF-8."""
    if not isinstance(column, list):
        return
    for index, item in enumerate(column):
        for text in [item] if isinstance(item, str) else item if isinstance(item, list) else []:
            if not isinstance(text, str):
                break
            if text.isascii():
                continue
            try:
                text.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"Expected texts of whole characters in `{name}`, but item {index} has half of a surrogate pair."
                ) from None

"""The rows of what was read, as the checks of `row_checks` take them.

`make_row_table` makes a `RowTable` of a split and of the columns that `look` found; `judge_predictions`
says which predictions of a file are correct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.ordering import factorize
from rightreasons.io.columns import add_nested_columns, quote_column
from rightreasons.io.headings import (
    ID_HEADINGS,
    PREDICTION_HEADINGS,
    TEXT_HEADINGS,
    find_usual_column,
)
from rightreasons.io.logs import UNREAD
from rightreasons.io.row_checks import Outcomes, RowRoles, RowTable
from rightreasons.io.samples import TEST_SPLITS
from rightreasons.io.scores.results import Predictions

TEXT_ROLES = ("text", "text pair", "prompt", "choices")
"""What `look` calls the columns that make up the input of a model."""

LABEL_ROLES = ("label", "labels")

_COMPARISON = re.compile(r"\{\{ (.+) == (.+) \}\}")

Found = Mapping[str, Sequence[str]]
"""What is read -> the columns that it is read from, as `Resolution.columns`."""


def make_row_table(
    parts: Mapping[str, datasets.Dataset], columns: Found, outcomes: Outcomes | None = None
) -> RowTable:
    """Make the table of the split that an audit would take, with the training split if there is one.

    Args:
        parts: Name of a split -> its rows.
        columns: What is read -> its columns.
        outcomes: What a model answered to the rows; None if that is not known.
    """
    split = next(name for name in (*TEST_SPLITS, *parts) if name in parts)
    # Columns may be fields of objects, or expressions.
    names = _list_columns(columns, tuple(columns))
    data = add_nested_columns(parts[split], names)
    train = None
    if split != "train" and "train" in parts:
        train = add_nested_columns(parts["train"], names)
    roles = assign_roles(columns, data)
    return RowTable(data, roles, outcomes, train)


def assign_roles(columns: Found, data: datasets.Dataset) -> RowRoles:
    """Return the roles of the columns of a table.

    Example:
        >>> rows = datasets.Dataset.from_dict({"id": ["a"], "text": ["Fine."], "p_0": [0.9], "y": [0]})
        >>> roles = assign_roles({"scores": ("p_0",), "labels": ("y",)}, rows)
        >>> roles.text, roles.label, roles.id, roles.further
        (('text',), 'y', 'id', ('answer_unread', 'p_0'))
    """
    text = _list_columns(columns, TEXT_ROLES)
    # Predictions may come with their texts, which no figure needs.
    usual_text = find_usual_column(data.column_names, TEXT_HEADINGS)
    if not text and usual_text is not None:
        text = (usual_text,)
    label = "".join(_list_columns(columns, LABEL_ROLES)[:1])
    answer = ""
    correct = _list_columns(columns, ("right",))
    # An expression may compare two columns, which are read as well.
    if len(correct) == 1:
        correct = _parse_comparison(correct[0], data.column_names) or correct
    # Correctness follows from an answer and a label, or one column says it.
    if len(correct) == 2:
        answer, label = correct
    # An expression of the label is a column of another table.
    if label not in data.column_names:
        label = ""
    further = [UNREAD]
    for name in _list_columns(columns, ("scores", "confidence", "right")):
        if name not in (answer, label):
            further.append(name)
    id_headings = [*ID_HEADINGS, *PREDICTION_HEADINGS["id"]]
    return RowRoles(
        text=tuple(filter(data.column_names.__contains__, text)),
        label=label,
        answer=answer,
        id=find_usual_column(data.column_names, id_headings) or "",
        further=tuple(further),
    )


def _list_columns(columns: Found, roles: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of some roles, in the order of the roles."""
    names: list[str] = []
    for role in roles:
        names += columns.get(role, ())
    return tuple(names)


def judge_predictions(read: Predictions) -> Outcomes | None:
    """Return which predictions of a file are correct; None if it has no labels."""
    if read.references is None:
        return None
    references = np.asarray(read.references)
    # Of given answers, only correctness is known.
    if read.kind == "confidence":
        correct = references.astype(np.bool_)
        answers, labels = _encode_answers(read)
        return Outcomes(
            correct, labels=labels, answers=answers, order_doubt=read.doubt, is_stored=True
        )
    is_labeled = references >= 0
    predicted = predict_classes(read.predictions)[is_labeled]
    gold = references[is_labeled].astype(np.int64)
    n_classes = 0
    # Items of different numbers of choices have no classes.
    if isinstance(read.predictions, np.ndarray):
        n_classes = 2 if read.predictions.ndim == 1 else read.predictions.shape[1]
    return Outcomes(
        is_correct=predicted == gold,
        rows=np.flatnonzero(is_labeled),
        labels=gold,
        answers=predicted,
        gold=gold,
        n_classes=n_classes,
        order_doubt=read.doubt,
        is_stored=True,
    )


def _encode_answers(
    read: Predictions,
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return (N,) the answers and the labels of graded answers, as numbers of the labels; None if one is unknown."""
    names = read.taken.get("right", ())
    if len(names) == 1:
        names = _parse_comparison(names[0], read.columns)
    if len(names) != 2:
        return None, None
    answer_column, label_column = names
    label_codes, labels = factorize(read.columns[label_column])
    answer_codes, answers = factorize(read.columns[answer_column])
    numbers = {}
    for number, label in enumerate(labels):
        numbers[str(label)] = number
    # Words that no label is agree with none.
    answer_numbers = np.array([numbers.get(str(answer), -1) for answer in answers], dtype=np.int64)
    return answer_numbers[answer_codes], np.asarray(label_codes)


def _parse_comparison(expression: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of answers and of labels that an expression such as `look` writes compares; () for others."""
    match = _COMPARISON.fullmatch(expression)
    if match is None:
        return ()
    name_by_term = {quote_column(name): name for name in names}
    compared = tuple(map(name_by_term.get, match.groups()))
    # An expression may compare with a constant.
    if compared[0] is None or compared[1] is None:
        return ()
    return compared[0], compared[1]


def predict_classes(scores: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return (N,) the class or choice of the largest score of each row; of P(class 1), whether it is over 0.5.

    Example:
        >>> predict_classes([[0.1, 0.9], [0.5, 0.2, 0.3]]).tolist()
        [1, 0]
    """
    if not isinstance(scores, np.ndarray):
        # Items of different numbers of choices are lists.
        choices = list(map(np.argmax, scores))
        return np.array(choices, dtype=np.int64)
    if scores.ndim == 1:
        is_positive = scores > 0.5
        return is_positive.astype(np.int64)
    classes = scores.argmax(axis=1)
    return np.asarray(classes, dtype=np.int64)

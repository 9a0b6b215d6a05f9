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
    # The first split that audits prefer, or else the first of the data.
    candidates = [name for name in (*TEST_SPLITS, *parts) if name in parts]
    split = candidates[0]
    # Columns may be fields of objects, or expressions.
    names = _list_columns(columns, tuple(columns))
    data = add_nested_columns(parts[split], names)
    train = None
    if split != "train" and "train" in parts:
        train = add_nested_columns(parts["train"], names)
    roles = assign_roles(columns, data)
    return RowTable(data, roles, outcomes, train)


def assign_roles(columns: Found, data: datasets.Dataset) -> RowRoles:
    """Return the roles of the columns of a table, as the checks of rows need them.

    Args:
        columns: What was read, as "label", "scores" or "right" -> its columns.
        data: The table, whose usual headings add texts and ids.

    Example:
        >>> rows = datasets.Dataset.from_dict({"id": ["a"], "text": ["Fine."], "p_0": [0.9], "y": [0]})
        >>> roles = assign_roles({"scores": ("p_0",), "labels": ("y",)}, rows)
        >>> roles.text, roles.label, roles.id, roles.further
        (('text',), 'y', 'id', ('answer_unread', 'p_0'))
    """
    text = _list_columns(columns, TEXT_ROLES)
    # Predictions may come with their texts, which are not read.
    usual_text = find_usual_column(data.column_names, TEXT_HEADINGS)
    if not text and usual_text is not None:
        text = (usual_text,)
    labels = _list_columns(columns, LABEL_ROLES)
    label = labels[0] if labels else ""
    answer = ""
    correct = _list_columns(columns, ("right",))
    # A single column says which answers are correct, or is an expression that compares two columns.
    if len(correct) == 1:
        correct = _parse_comparison(correct[0], data.column_names) or correct
    if len(correct) == 2:
        answer, label = correct
    # An expression of the labels may be no column of this table.
    if label not in data.column_names:
        label = ""
    further = [UNREAD]
    for name in _list_columns(columns, ("scores", "confidence", "right")):
        if name not in (answer, label):
            further.append(name)
    id_headings = [*ID_HEADINGS, *PREDICTION_HEADINGS["id"]]
    return RowRoles(
        text=tuple(name for name in text if name in data.column_names),
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
    """Return which predictions of a file are correct; None if it has no labels.

    Args:
        read: Scores with labels, or a confidence in answers with their correctness.
    """
    if read.references is None:
        return None
    references = np.asarray(read.references)
    if read.kind == "confidence":
        # Here the references say which answers are correct.
        answers, labels = _encode_answers(read)
        return Outcomes(
            references.astype(np.bool_),
            labels=labels,
            answers=answers,
            order_doubt=read.doubt,
            is_stored=True,
        )
    is_labeled = references >= 0
    predicted = predict_classes(read.predictions)[is_labeled]
    gold = references[is_labeled].astype(np.int64)
    n_classes = 0
    # If items have different numbers of choices, the scores are lists, and there are no classes.
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
    """Return (N,) answers and (N,) labels as numbers of the distinct labels.

    Args:
        read: Predictions whose correctness was read from an answer and a label.

    Returns:
        The answers, -1 for a word that is no label, and the labels; None for both if one column alone
        says which answers are correct.
    """
    names = read.taken.get("right", ())
    # An expression may compare the two columns.
    if len(names) == 1:
        names = _parse_comparison(names[0], read.columns)
    if len(names) != 2:
        return None, None
    answer_column, label_column = names
    # `factorize` returns a code per row, and the distinct values.
    label_codes, labels = factorize(read.columns[label_column])
    answer_codes, answers = factorize(read.columns[answer_column])
    number_by_label = {str(label): number for number, label in enumerate(labels)}
    answer_numbers = [number_by_label.get(str(answer), -1) for answer in answers]
    numbers = np.array(answer_numbers, dtype=np.int64)
    return numbers[answer_codes], np.asarray(label_codes)


def _parse_comparison(expression: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the two columns that an expression such as "{{ answer == label }}" compares.

    Args:
        expression: The expression.
        names: The columns of the table.

    Returns:
        The columns of the answers and of the labels; () for another expression, such as a comparison
        with a constant.
    """
    match = _COMPARISON.fullmatch(expression)
    if match is None:
        return ()
    name_by_term = {quote_column(name): name for name in names}
    answer_term, label_term = match.groups()
    if answer_term not in name_by_term or label_term not in name_by_term:
        return ()
    return name_by_term[answer_term], name_by_term[label_term]


def predict_classes(scores: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return (N,) the class, or the choice, with the largest score of each row.

    Args:
        scores: (N, K) scores, (N,) P(class 1), or N lists of scores.

    Example:
        >>> predict_classes([[0.1, 0.9], [0.5, 0.2, 0.3]]).tolist()
        [1, 0]
    """
    if not isinstance(scores, np.ndarray):
        choices = list(map(np.argmax, scores))
        return np.array(choices, dtype=np.int64)
    if scores.ndim == 1:
        is_positive = scores > 0.5
        return is_positive.astype(np.int64)
    classes = scores.argmax(axis=1)
    return np.asarray(classes, dtype=np.int64)

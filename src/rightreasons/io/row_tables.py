"""Input of the checks of rows in `row_checks`.

`make_row_table` makes a `RowTable` from the rows of a split and the columns that `look` found;
`judge_predictions` returns which predictions of a file are correct.
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
"""Names that `look` gives to the columns of the input of a model."""

LABEL_ROLES = ("label", "labels")

_COMPARISON = re.compile(r"\{\{ (.+) == (.+) \}\}")

ColumnsByRole = Mapping[str, Sequence[str]]
"""Role, such as "text" or "scores" -> the columns that have it, as in `Resolution.columns`."""


def make_row_table(
    parts: Mapping[str, datasets.Dataset],
    columns: ColumnsByRole,
    outcomes: Outcomes | None = None,
) -> RowTable:
    """Make the table of the split that an audit would use, with the training split if there is one.

    Args:
        parts: Name of a split -> its rows.
        columns: Role, such as "text" or "scores" -> the columns that have it.
        outcomes: The answers of a model, and whether they are correct; None if they are unknown.
    """
    split = choose_checked_split(parts)
    # A role may belong to a field of objects, or to an expression, which become columns.
    names = _list_columns(columns, tuple(columns))
    data = add_nested_columns(parts[split], names)
    train = None
    if split != "train" and "train" in parts:
        train = add_nested_columns(parts["train"], names)
    roles = assign_roles(columns, data)
    return RowTable(data, roles, outcomes, train)


def choose_checked_split(splits: Iterable[str]) -> str:
    """Return the name of the split whose rows are checked: a test split, or else the first one.

    Args:
        splits: The names of the splits, at least one.
    """
    names = tuple(splits)
    for name in TEST_SPLITS:
        if name in names:
            return name
    return names[0]


def assign_roles(columns: ColumnsByRole, data: datasets.Dataset) -> RowRoles:
    """Return the roles of the columns of a table, as the checks of rows need them.

    Args:
        columns: Role that `look` found, such as "label", "scores" or "right" (the column that shows which
            answers are correct, or the columns of answers and labels) -> its columns.
        data: The table, whose texts and ids are also recognized by usual headings.

    Example:
        >>> rows = datasets.Dataset.from_dict({"id": ["a"], "text": ["Fine."], "p_0": [0.9], "y": [0]})
        >>> roles = assign_roles({"scores": ("p_0",), "labels": ("y",)}, rows)
        >>> roles.text, roles.label, roles.id, roles.further
        (('text',), 'y', 'id', ('answer_unread', 'p_0'))
    """
    text = _list_columns(columns, TEXT_ROLES)
    # A table of predictions may have the texts as well, although they are not read.
    usual_text = find_usual_column(data.column_names, TEXT_HEADINGS)
    if not text and usual_text is not None:
        text = (usual_text,)
    labels = _list_columns(columns, LABEL_ROLES)
    label = labels[0] if labels else ""
    answer = ""
    correct = _list_columns(columns, ("right",))
    # A single name is a column of correctness, or an expression such as "{{ answer == label }}".
    if len(correct) == 1:
        correct = _parse_comparison(correct[0], data.column_names) or correct
    if len(correct) == 2:
        answer, label = correct
    # Labels may be read by an expression that is not a column of this table.
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


def _list_columns(columns: ColumnsByRole, roles: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of several roles, in the order of the roles."""
    names: list[str] = []
    for role in roles:
        names += columns.get(role, ())
    return tuple(names)


def judge_predictions(predictions: Predictions) -> Outcomes | None:
    """Return which predictions of a file are correct; None if the file has no labels.

    Args:
        predictions: Either class scores with labels as `references`, or, for kind="confidence",
            confidences in answers with their correctness as `references`.
    """
    if predictions.references is None:
        return None
    references = np.asarray(predictions.references)
    if predictions.kind == "confidence":
        answers, labels = _encode_answers(predictions)
        return Outcomes(
            is_correct=references.astype(np.bool_),
            labels=labels,
            answers=answers,
            order_doubt=predictions.doubt,
            is_stored=True,
        )
    scores = predictions.predictions
    is_labeled = references >= 0
    predicted = predict_classes(scores)[is_labeled]
    gold = references[is_labeled].astype(np.int64)
    n_classes = 0
    # If items have different numbers of choices, the scores are lists, and there are no classes.
    if isinstance(scores, np.ndarray):
        # A vector is P(class 1) of two classes.
        n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    return Outcomes(
        is_correct=predicted == gold,
        rows=np.flatnonzero(is_labeled),
        labels=gold,
        answers=predicted,
        gold=gold,
        n_classes=n_classes,
        order_doubt=predictions.doubt,
        is_stored=True,
    )


def _encode_answers(
    predictions: Predictions,
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return the answers and the labels of N rows as codes of the distinct labels.

    Args:
        predictions: All columns of the file, and the names of those that show correctness: the columns of
            the answers and the labels, an expression that compares them, or a single column.

    Returns:
        (N,) codes of the answers, -1 for an answer that is not a label, and (N,) codes of the labels; None
        for both if correctness was read from a single column.
    """
    names = predictions.taken.get("right", ())
    if len(names) == 1:
        names = _parse_comparison(names[0], predictions.columns)
    if len(names) != 2:
        return None, None
    answer_column, label_column = names
    # `factorize` returns a code per row, and the distinct values.
    label_codes, labels = factorize(predictions.columns[label_column])
    answer_codes, answers = factorize(predictions.columns[answer_column])
    # The codes of answers refer to the distinct answers: translate them to codes of labels.
    code_by_label = {str(label): code for code, label in enumerate(labels)}
    label_code_by_answer_code = [code_by_label.get(str(answer), -1) for answer in answers]
    translation = np.array(label_code_by_answer_code, dtype=np.int64)
    return translation[answer_codes], np.asarray(label_codes)


def _parse_comparison(expression: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the two columns that an expression such as "{{ answer == label }}" compares.

    Args:
        expression: The expression; any other string has no columns.
        names: The columns of the table.

    Returns:
        The left column (the answers) and the right column (the labels); empty if the expression is
        another one, such as a comparison with a constant.
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

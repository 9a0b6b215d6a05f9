"""Correctness of answers, from a column of correctness, or by a comparison of answers and labels.

`read_confidence` reads answers with a confidence, `read_graded_answers` answers without.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.class_order import suggest_class_order
from rightreasons.core.labels.ids import LabelColumn, resolve_label_columns, resolve_labels
from rightreasons.core.labels.names import NUMBER_BY_WORD
from rightreasons.core.ordering import factorize
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_all
from rightreasons.io.cells import is_number, parse_numbers, unwrap_value
from rightreasons.io.columns import (
    Column,
    quote_column,
    require_column,
    write_expression,
)
from rightreasons.io.headings import MODEL_ANSWER_HEADINGS, PREDICTION_HEADINGS, make_heading_key
from rightreasons.io.label_columns import NamedLabels
from rightreasons.io.logs import UNREAD
from rightreasons.io.prediction_roles import PredictionRoles
from rightreasons.io.scores.class_headings import list_words
from rightreasons.io.scores.results import Predictions, find_ids
from rightreasons.io.scores.score_tables import scale_percentages, settle_kind
from rightreasons.io.scores.typed_values import iterate_distinct

MIN_ANSWERS = 10
"""Minimum number of answers for an error if none is a label: fewer answers may all be incorrect."""

MAX_WORDS = 100
"""Maximum number of classes whose order is checked: more distinct words are free answers."""


def _list_spellings(number: int) -> set[str]:
    """Return the words for true (1) or false (0), such as "yes", and the strings of the number."""
    words = {word for word, meaning in NUMBER_BY_WORD.items() if meaning == number}
    return words | {f"{number}", f"{number}.0"}


_TRUE_WORDS = _list_spellings(1)
_FALSE_WORDS = _list_spellings(0)


@dataclasses.dataclass(frozen=True, eq=False)
class Correctness:
    """The correctness of the answers of a file.

    Attributes:
        is_correct: (N,) whether each answer is correct.
        columns: The column of correctness, or the columns of the answers and of the labels.
        doubt: A sentence if far more answers would be correct in another order of the classes; "" otherwise.
    """

    is_correct: NDArray[np.bool_]
    columns: tuple[str, ...]
    doubt: str = ""


class LocatedColumn(NamedTuple):
    """A column of answers or labels.

    Attributes:
        location: The column and the file, for error messages.
        values: (N,) cells.
    """

    location: str
    values: Column


def read_confidence(roles: PredictionRoles) -> Predictions:
    """Read the confidence in each answer, and whether the answer is correct.

    Args:
        roles: The columns that may be the confidence, the correctness, the answers and the labels.

    Raises:
        OptionError: If several columns may be the confidence, or no column shows which answers are correct.
        ValueError: If the values of the column are not confidences.
    """
    source_name = roles.source_name
    name = require_column(
        roles.confidences,
        roles.columns,
        "confidence",
        PREDICTION_HEADINGS["confidence"],
        "confidence_column",
        source_name,
    )
    kind = settle_kind(roles.options.scores)
    numbers = parse_numbers(_unwrap_column(roles.columns[name]), name)
    # Numbers that are never positive are logarithms of probabilities.
    if kind is None and numbers.size and numbers.max() <= 0 and numbers.min() < 0:
        kind = "log_probabilities"
    confidence = scale_percentages(numbers, roles, kind, name)
    expected = f"the confidence in each answer, from 0 to 1, in column {name!r} of {source_name}"
    if confidence.ndim != 1:
        raise ValueError(f"Expected {expected}, but the column holds lists.")
    # Whole numbers are predicted classes, unless they are percentages.
    if roles.options.scores != "percentages" and _are_whole(roles.columns[name]):
        raise ValueError(
            f"Expected {expected}, but the column holds whole numbers, which look like predicted "
            "classes."
        )
    if kind in (None, "probabilities"):
        # The negation accepts NaN, which a later check refuses with a message about missing values.
        check_all(confidence, lambda value: not (value < 0 or value > 1), expected)
    return _make_predictions(roles, confidence, {"confidence": (name,)}, scores=kind)


def _unwrap_column(column: Column) -> Column:
    """Return [0.9, 0.8] for a column of lists of one, [[0.9], [0.8]]; other columns are not changed."""
    if isinstance(column, list):
        return list(map(unwrap_value, column))
    if isinstance(column, np.ndarray) and column.shape[1:] == (1,):
        return column[:, 0]
    return column


def _are_whole(column: Column) -> bool:
    """Return whether all cells are integers or strings of digits; 1.0 and True are not.

    Args:
        column: The cells.
    """
    for cell in column:
        if isinstance(cell, str):
            is_whole = cell.strip().isdigit()
        else:
            # `isinstance` would accept booleans.
            is_whole = type(cell) is int
        if not is_whole:
            return False
    return True


def read_graded_answers(roles: PredictionRoles) -> Predictions | None:
    """Read which answers are correct, from a table without scores and confidences.

    Args:
        roles: The columns that may be the answers, the labels, and the correctness.

    Returns:
        Predictions of kind="confidence" with `answers_once`, whose confidences are all 1. None if the table
        has scores or a confidence, or if no columns show which answers are correct.

    Example:
        >>> from rightreasons.io.options import PredictionOptions
        >>> from rightreasons.io.prediction_proposals import find_prediction_roles
        >>> columns = {"text": ["2 + 2", "3 + 3"], "answer": ["4", "5"], "correct": [1, 0]}
        >>> roles = find_prediction_roles(columns, "log.jsonl", PredictionOptions())
        >>> read_graded_answers(roles).references.tolist()
        [True, False]
        >>> with_confidence = {**columns, "confidence": [0.9, 0.8]}
        >>> read_graded_answers(find_prediction_roles(with_confidence, "log.jsonl", PredictionOptions()))
    """
    if roles.is_scored or roles.confidences or not _can_grade(roles):
        return None
    # Predictions of this kind need a confidence. It is 1 for all answers.
    n_rows = len(next(iter(roles.columns.values())))
    return _make_predictions(roles, np.ones(n_rows), {}, answers_once=True)


def _can_grade(roles: PredictionRoles) -> bool:
    """Return whether a table has a column of correctness, or a model's answers to compare with labels.

    Args:
        roles: The columns that may be the answers, the labels, and the correctness.
    """
    has_several_answers = len(roles.answers) > 1
    is_from_model = _has_model_answers(roles)
    if roles.correct:
        # One of two columns of answers may be the gold answer, and the table one of items. A heading of a
        # model's answers shows that it is not.
        return is_from_model or not has_several_answers
    # Only one column of answers can be compared with one column of labels.
    if not roles.answers or has_several_answers or len(roles.labels) != 1:
        return False
    return is_from_model


def _has_model_answers(roles: PredictionRoles) -> bool:
    """Return whether a column of answers is certainly a model's, because "answer" may be the gold answer.

    Args:
        roles: The columns that may be the answers, and all columns.
    """
    # Only logs of a model have the column `UNREAD`, and only a model's answers are chosen by their cells.
    if UNREAD in roles.columns or roles.is_proposed("answers"):
        return True
    return any(make_heading_key(name) in MODEL_ANSWER_HEADINGS for name in roles.answers)


def _make_predictions(
    roles: PredictionRoles,
    confidence: NDArray[Any],
    columns_by_role: Mapping[str, tuple[str, ...]],
    *,
    scores: str | None = "probabilities",
    answers_once: bool = False,
) -> Predictions:
    """Return the confidence in each answer, and whether the answer is correct.

    Args:
        roles: The columns that may be the correctness, the answers and the labels.
        confidence: (N,) confidence in each answer.
        columns_by_role: Role, such as "confidence" -> the columns that were read, without those that show
            correctness.
        scores: The kind of the confidence, such as "probabilities"; None if it is not known.
        answers_once: Whether the file has no confidences, so that all values of `confidence` are 1.
    """
    correctness = read_correctness(roles)
    if correctness.doubt:
        warnings.warn(correctness.doubt, stacklevel=2)
    is_correct = correctness.is_correct
    # A reply without a readable answer counts as incorrect.
    if UNREAD in roles.columns:
        is_unread = np.array(roles.columns[UNREAD], dtype=np.bool_)
        is_correct = is_correct & ~is_unread
    return Predictions(
        confidence,
        is_correct,
        kind="confidence",
        scores=scores,
        ids=find_ids(roles.columns),
        columns=roles.columns,
        taken={**columns_by_role, "right": correctness.columns},
        answers_once=answers_once,
        doubt=correctness.doubt,
    )


# ------------------------------------------------------------------------------- correctness


@attach_options("correct_column")
def read_correctness(roles: PredictionRoles) -> Correctness:
    """Read which answers are correct, from a column of correctness, or from the answers and the labels.

    Args:
        roles: The columns that may be the correctness, the answers and the labels.

    Raises:
        OptionError: If there are no such columns, or several that may be the same.
        ValueError: If a cell is neither true nor false, or if the answers are not labels.
    """
    if len(roles.correct) == 1:
        return _read_flags(roles, roles.correct[0])
    can_compare = len(roles.answers) == 1 and len(roles.labels) == 1
    if not roles.correct and can_compare:
        return _compare_answers(roles, roles.answers[0], roles.labels[0])
    raise _make_correctness_error(roles)


def _make_correctness_error(roles: PredictionRoles) -> OptionError:
    """Return the error for a table that does not show which answers are correct.

    Args:
        roles: The columns that may be the correctness (none, or several) and the labels.
    """
    got = f"its columns are: {format_list(list(roles.columns))}"
    if roles.correct:
        got = f"got {' and '.join(roles.correct)}"
    # The message suggests an expression, with the column of labels if there is only one.
    label = "LABEL"
    if len(roles.labels) == 1:
        label = quote_column(roles.labels[0])
    comparison = write_expression(f"ANSWER == {label}")
    return OptionError(
        "Expected a column that shows whether each answer is correct "
        f"({', '.join(PREDICTION_HEADINGS['correct'][:4])}) in {roles.source_name}, or a column "
        f"of answers (prediction) and a column of labels, but {got}; name it with "
        f"`correct_column`, which may also be a comparison: '{comparison}'.",
        option="correct_column",
    )


def _read_flags(roles: PredictionRoles, name: str) -> Correctness:
    """Read which answers are correct from a column of 1 and 0, true and false, or yes and no.

    Args:
        roles: The roles, with all columns.
        name: The column.

    Raises:
        ValueError: If a cell has another value.
    """
    # (N,) codes of the cells, which are positions among the distinct values: each is parsed only once.
    codes, values = factorize(roles.columns[name])
    texts = np.array([str(value).strip().lower() for value in values], dtype=object)
    comparison = write_expression(f'{quote_column(name)} == "WORD"')
    check_all(
        texts[codes],
        lambda text: text in _TRUE_WORDS or text in _FALSE_WORDS,
        f"1 and 0, true and false, or yes and no, in column {name!r} of {roles.source_name} (for "
        f"other words, `correct_column` may compare: '{comparison}')",
        unit="item",
    )
    is_true = np.isin(texts, list(_TRUE_WORDS))
    return Correctness(is_true[codes], (name,))


def _compare_answers(roles: PredictionRoles, answer: str, label: str) -> Correctness:
    """Compare the class of each answer with the class of its label.

    Args:
        roles: The roles, with all columns.
        answer: The column of the answers.
        label: The column of the labels.

    Returns:
        Which answers are correct, with a doubt if far more would be in another order of the classes.

    Raises:
        OptionError: If both columns are the same, or if a row has no label.
        ValueError: If no answer is a label.
    """
    if answer == label:
        raise OptionError(
            f"Expected answers and labels in two columns of {roles.source_name}, but got "
            f"{answer!r} for both. Name the column of the labels with `label_column`.",
            option="label_column",
        )
    answer_column = LocatedColumn(
        location=f"the column {answer!r} of {roles.source_name}",
        values=_respell_answers(roles.columns[answer], roles.columns[label]),
    )
    label_column = LocatedColumn(
        location=f"the column {label!r} of {roles.source_name}",
        values=roles.columns[label],
    )
    # Errors suggest an expression, which also shows how to remove brackets around answers.
    comparison = write_expression(f'{quote_column(answer)}.strip("( )") == {quote_column(label)}')
    remedy = (
        "Mark the correct answers with `correct_column`, for example by an expression such as "
        f"'{comparison}'"
    )
    answers, gold = _match_with_labels(answer_column, label_column, remedy)
    # An empty cell has the id -1.
    is_answered = answers.ids >= 0
    _check_labeled(gold, label_column.location)
    # An empty answer may be a refusal, which is incorrect, or missing in the file.
    if not is_answered.all():
        warnings.warn(
            f"{(~is_answered).sum():,} of {len(is_answered):,} rows have no answer in "
            f"{answer!r}, and count as incorrect. Exclude these rows with `where`.",
            stacklevel=2,
        )
    has_label_among_answers = np.isin(answers.ids, gold.ids).any()
    if len(is_answered) >= MIN_ANSWERS and not has_label_among_answers:
        answer_words = _list_distinct_texts(answer_column.values)
        label_words = _list_distinct_texts(label_column.values)
        raise ValueError(
            f"Expected some answers in {answer_column.location} among the labels {label_words}, but "
            f"got {answer_words}. {remedy}."
        )
    is_correct = np.asarray(answers.ids == gold.ids)
    doubt = _find_order_doubt(answers.ids, gold)
    return Correctness(is_correct, (answer, label), doubt)


def _find_order_doubt(answers: NDArray[np.int64], gold: LabelColumn) -> str:
    """Return a sentence if far more answers would be correct in another order of the classes; "" otherwise.

    For example, answers may count the classes from 1, and labels from 0.

    Args:
        answers: (N,) class number of each answer, -1 for a missing answer.
        gold: The labels as numbers of the same classes, and the names of the classes.
    """
    if len(gold.names) > MAX_WORDS:
        return ""
    # Words have no order to confuse. If all answers in words are incorrect, the file is a list of
    # errors, which any other order of the classes would fit better.
    is_correct = answers == gold.ids
    may_be_shifted = is_correct.any() or all(map(is_number, gold.names))
    if not may_be_shifted:
        return ""
    # The check expects scores: 1 for the class of the answer, and 0 for the other classes.
    is_answered = answers >= 0
    scores = np.eye(len(gold.names))[answers[is_answered]]
    return suggest_class_order(scores, gold.ids[is_answered], gold.names)


def _check_labeled(gold: LabelColumn, location: str) -> None:
    """Check that each row has a label, because answers without a label are neither correct nor incorrect.

    Args:
        gold: The labels, with the id -1 for a row without a label.
        location: The column and the file, for error messages.

    Raises:
        OptionError: If a row has no label.
    """
    is_labeled = gold.ids >= 0
    if not is_labeled.all():
        raise OptionError(
            f"Expected a label in each row of {location}, but row {is_labeled.argmin()} has no "
            f"label ({(~is_labeled).sum():,} of {len(is_labeled):,} rows). Keep only the labeled "
            "rows with `where`.",
            option="where",
        )


def _list_distinct_texts(column: Column) -> str:
    """Return the distinct values of a column as a phrase, for error messages."""
    texts = dict.fromkeys(str(value) for value in column)
    return format_list(list(texts))


def _respell_answers(answers: Column, labels: Column) -> Column:
    """Return answers in the spelling of the labels, such as "positive" for "POSITIVE".

    Args:
        answers: (N,) answers.
        labels: (N,) labels.

    Returns:
        (N,) answers. They are unchanged if two answers are spellings of the same word, because these may be
        two classes.
    """
    # Folded spelling -> original spelling.
    answer_by_word = list_words(answers)
    label_by_word = list_words(labels)
    texts = {value for value in iterate_distinct(answers) if isinstance(value, str)}
    if len(answer_by_word) != len(texts):
        return answers
    label_by_answer = {}
    for word, answer in answer_by_word.items():
        if word in label_by_word:
            label_by_answer[answer] = label_by_word[word]
    # (N,) codes of the cells, which are positions among the distinct values: each is replaced only once.
    codes, values = factorize(answers)
    respelled = [label_by_answer.get(str(value).strip(), value) for value in values]
    return np.array(respelled, dtype=object)[codes]


def _match_with_labels(
    answers: LocatedColumn, labels: LocatedColumn, remedy: str
) -> tuple[LabelColumn, LabelColumn]:
    """Return the answers and the labels as numbers of the same classes.

    Args:
        answers: The column of the answers.
        labels: The column of the labels.
        remedy: Advice on values that are in doubt, for error messages.
    """
    # A file may store numbers of classes with their names (`NamedLabels`). The names of the labels, or
    # else those of the answers, apply to both columns.
    if isinstance(labels.values, NamedLabels):
        names = labels.values.names
    elif isinstance(answers.values, NamedLabels):
        names = answers.values.names
    else:
        values_by_location = {
            answers.location: answers.values,
            labels.location: labels.values,
        }
        resolved = resolve_label_columns(values_by_location, remedy=remedy)
        return resolved[answers.location], resolved[labels.location]
    resolved_answers = resolve_labels(
        answers.values, names, first=0, source=answers.location, remedy=remedy
    )
    gold = resolve_labels(labels.values, names, first=0, source=labels.location, remedy=remedy)
    return resolved_answers, gold

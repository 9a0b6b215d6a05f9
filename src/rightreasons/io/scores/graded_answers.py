"""Answers that are correct or not: by a column that says so, or by the answers and the labels.

`read_confidence` reads the confidence in answers, `read_graded_answers` answers that have none.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.class_order import suggest_class_order
from rightreasons.core.labels.ids import LabelColumn, resolve_label_columns, resolve_labels
from rightreasons.core.labels.numbers import NUMBER_BY_WORD
from rightreasons.core.ordering import factorize
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_all
from rightreasons.io.cells import is_number, parse_numbers, unwrap_value
from rightreasons.io.columns import (
    Column,
    Columns,
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
"""Fewer answers may all be incorrect, without being written otherwise than the labels."""

MAX_WORDS = 100
"""More words are free answers, whose order means nothing."""


def _list_spellings(number: int) -> set[str]:
    """Return the words of true (1) or false (0), and the numbers themselves."""
    words = {word for word, meaning in NUMBER_BY_WORD.items() if meaning == number}
    return words | {f"{number}", f"{number}.0"}


_TRUE_WORDS = _list_spellings(1)
_FALSE_WORDS = _list_spellings(0)


@dataclasses.dataclass(frozen=True, eq=False)
class Correctness:
    """Which answers of a file are correct.

    Attributes:
        is_correct: (N,) whether each answer is correct.
        columns: The column that says it, or those of the answers and of the labels.
        doubt: A sentence if another order of the classes would fit far better; "" otherwise.
    """

    is_correct: NDArray[np.bool_]
    columns: tuple[str, ...]
    doubt: str = ""


def read_confidence(roles: PredictionRoles) -> Predictions:
    """Read the confidence in each answer, and whether the answer is correct.

    Args:
        roles: The columns that may hold the confidence, and those that show which answers are correct.

    Raises:
        OptionError: If several columns may be the confidence, or nothing says which answers are correct.
        ValueError: If the column holds no confidences.
    """
    source_name = roles.source_name
    name = require_column(
        roles.confident,
        roles.columns,
        "confidence",
        PREDICTION_HEADINGS["confidence"],
        "confidence_column",
        source_name,
    )
    kind = settle_kind(roles.options.scores)
    numbers = parse_numbers(_unwrap_column(roles.columns[name]), name)
    # Numbers that are negative throughout are logarithms of probabilities.
    if kind is None and numbers.size and numbers.max() <= 0 and numbers.min() < 0:
        kind = "log_probabilities"
    confidence = scale_percentages(numbers, roles, kind, name)
    expected = f"the confidence in each answer, from 0 to 1, in column {name!r} of {source_name}"
    if confidence.ndim != 1:
        raise ValueError(f"Expected {expected}, but the column holds lists.")
    # Percentages may well be whole.
    if roles.options.scores != "percentages" and _are_whole(roles.columns[name]):
        raise ValueError(
            f"Expected {expected}, but the column holds whole numbers, which look like predicted "
            "classes."
        )
    if kind in (None, "probabilities"):
        # NaN passes, which later checks refuse with a message about missing values.
        check_all(confidence, lambda value: not (value < 0 or value > 1), expected)
    return _make_predictions(roles, confidence, {"confidence": (name,)}, scores=kind)


def _unwrap_column(column: Column) -> Column:
    """Return the values of a column of lists of one, such as [[0.9], [0.8]]; other columns as they are."""
    if isinstance(column, list):
        return list(map(unwrap_value, column))
    if isinstance(column, np.ndarray) and column.shape[1:] == (1,):
        return column[:, 0]
    return column


def _are_whole(column: Column) -> bool:
    """Return whether all cells are whole numbers, or texts of digits; 1.0 and True are not whole here."""
    for cell in column:
        if isinstance(cell, str):
            is_whole = cell.strip().isdigit()
        else:
            # Booleans are instances of int as well, but of another type.
            is_whole = type(cell) is int
        if not is_whole:
            return False
    return True


def read_graded_answers(roles: PredictionRoles) -> Predictions | None:
    """Read which answers are correct, from a table without scores and confidences.

    Args:
        roles: The columns of the answers, of the labels, and of correctness.

    Returns:
        Predictions with `answers_once`, of kind="confidence"; None if there are scores or a
        confidence, or if nothing says which answers are correct.

    Example:
        >>> from rightreasons.io.options import PredictionOptions
        >>> from rightreasons.io.prediction_proposals import find_prediction_roles
        >>> columns = {"text": ["2 + 2", "3 + 3"], "answer": ["4", "5"], "correct": [1, 0]}
        >>> roles = find_prediction_roles(columns, "log.jsonl", PredictionOptions())
        >>> read_graded_answers(roles).references.tolist()
        [True, False]
        >>> confident = {**columns, "confidence": [0.9, 0.8]}
        >>> read_graded_answers(find_prediction_roles(confident, "log.jsonl", PredictionOptions()))
    """
    if roles.is_scored or roles.confident or not _can_grade(roles):
        return None
    # An answer without a confidence has the confidence 1.
    n_rows = len(next(iter(roles.columns.values())))
    return _make_predictions(roles, np.ones(n_rows), {}, answers_once=True)


def _can_grade(roles: PredictionRoles) -> bool:
    """Return whether a column says which answers are correct, or answers can be compared with labels.

    Args:
        roles: The columns of the answers, of the labels, and of correctness.
    """
    has_several_answers = len(roles.answers) > 1
    is_from_model = _has_model_answers(roles)
    if roles.correct:
        # With two columns of answers, one of which is the gold answer, it has to be clear that these
        # are predictions at all.
        return is_from_model or not has_several_answers
    # Of several columns of answers, or of labels, it is not clear which to compare.
    if not roles.answers or has_several_answers or len(roles.labels) != 1:
        return False
    return is_from_model


def _has_model_answers(roles: PredictionRoles) -> bool:
    """Return whether a column of answers is surely a model's: "answer" may also be the gold answer.

    Args:
        roles: The columns of the answers, and all columns.
    """
    # Logs of a model have the column `UNREAD`, and cells are only proposed as a model's answers.
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
        roles: The columns that show which answers are correct.
        confidence: (N,) confidence in each answer.
        columns_by_role: What was read -> its columns, apart from those of correctness.
        scores: The kind of the confidence; None if it is not known.
        answers_once: Whether there are no confidences, and `confidence` is 1 throughout.
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
    """Read which answers are correct: from a column that says so, or from the answers and the labels.

    Args:
        roles: The columns that may be the correctness, the answers and the labels.

    Raises:
        OptionError: If there are no such columns, or several.
        ValueError: If a cell is neither true nor false, or the answers are no labels.
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
        roles: The columns, of which none or several may be the correctness.
    """
    got = f"its columns are: {format_list(list(roles.columns))}"
    if roles.correct:
        got = f"got {' and '.join(roles.correct)}"
    # The message proposes an expression, with the column of labels if it is known.
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
        ValueError: If a cell holds another word.
    """
    # Each distinct value is parsed once; `codes` (N,) are the positions of the cells among them.
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
    """Compare the class that each answer names with the class that its label names.

    Args:
        roles: The roles, with all columns.
        answer: The column of the answers.
        label: The column of the labels.

    Returns:
        Which answers are correct, with a doubt if another order of the classes fits far better.

    Raises:
        OptionError: If both are one column, or a row has no label.
        ValueError: If no answer is a label.
    """
    if answer == label:
        raise OptionError(
            f"Expected answers and labels in two columns of {roles.source_name}, but got "
            f"{answer!r} for both. Name the column of the labels with `label_column`.",
            option="label_column",
        )
    answer_location = f"the column {answer!r} of {roles.source_name}"
    label_location = f"the column {label!r} of {roles.source_name}"
    # Location -> values: errors about a value show where it is.
    column_by_location = {
        answer_location: _respell_answers(roles.columns, answer, label),
        label_location: roles.columns[label],
    }
    comparison = write_expression(f'{quote_column(answer)}.strip("( )") == {quote_column(label)}')
    remedy = (
        "Mark the correct answers with `correct_column`, for example by an expression such as "
        f"'{comparison}'"
    )
    # Both are numbers of the same classes, -1 for an empty cell.
    answers, gold = _resolve_both(column_by_location, remedy)
    is_answered = answers.ids >= 0
    _check_labeled(gold, label_location)
    # A refusal to answer is incorrect, but the file may also lack answers.
    if not is_answered.all():
        warnings.warn(
            f"{(~is_answered).sum():,} of {len(is_answered):,} rows have no answer in "
            f"{answer!r}, and count as incorrect. Exclude these rows with `where`.",
            stacklevel=2,
        )
    has_label_among_answers = np.isin(answers.ids, gold.ids).any()
    if len(is_answered) >= MIN_ANSWERS and not has_label_among_answers:
        answer_words = _list_distinct_texts(column_by_location[answer_location])
        label_words = _list_distinct_texts(column_by_location[label_location])
        raise ValueError(
            f"Expected some answers in {answer_location} among the labels {label_words}, but got "
            f"{answer_words}. {remedy}."
        )
    is_correct = np.asarray(answers.ids == gold.ids)
    doubt = _find_order_doubt(answers.ids, gold)
    return Correctness(is_correct, (answer, label), doubt)


def _find_order_doubt(answers: NDArray[np.int64], gold: LabelColumn) -> str:
    """Return a sentence if another order of the classes would make far more answers correct; "" otherwise.

    For example, if answers count the classes from 1, and labels from 0.

    Args:
        answers: (N,) class number of each answer, -1 for no answer.
        gold: The labels, as numbers of the same classes.
    """
    if len(gold.names) > MAX_WORDS:
        return ""
    # The order of words is known: if all answers are incorrect, this is a list of errors, which any
    # other order of the classes would fit better.
    is_correct = answers == gold.ids
    may_be_shifted = is_correct.any() or all(map(is_number, gold.names))
    if not may_be_shifted:
        return ""
    # One-hot scores: 1 for the class of the answer, and 0 for the others.
    is_answered = answers >= 0
    scores = np.eye(len(gold.names))[answers[is_answered]]
    return suggest_class_order(scores, gold.ids[is_answered], gold.names)


def _check_labeled(gold: LabelColumn, location: str) -> None:
    """Check that each row has a label: without one, its answer is neither correct nor incorrect.

    Args:
        gold: The labels.
        location: Where they are, for errors.

    Raises:
        OptionError: If a row has none.
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
    """Return the distinct values of a column as a phrase, for errors."""
    texts = dict.fromkeys(str(value) for value in column)
    return format_list(list(texts))


def _respell_answers(columns: Columns, answer: str, label: str) -> Column:
    """Return the answers in the spelling of the labels, as "positive" for "POSITIVE".

    Args:
        columns: Column by name.
        answer: The column of the answers.
        label: The column of the labels.

    Returns:
        The answers; unchanged if they have two spellings of one word, which may mean two classes.
    """
    answer_words = list_words(columns[answer])
    label_words = list_words(columns[label])
    texts = {value for value in iterate_distinct(columns[answer]) if isinstance(value, str)}
    if len(answer_words) != len(texts):
        return columns[answer]
    label_by_answer = {}
    for word, text in answer_words.items():
        if word in label_words:
            label_by_answer[text] = label_words[word]
    # Each distinct value is replaced once; `codes` (N,) are the positions of the cells among them.
    codes, values = factorize(columns[answer])
    respelled = [label_by_answer.get(str(value).strip(), value) for value in values]
    return np.array(respelled, dtype=object)[codes]


def _resolve_both(columns: Mapping[str, Column], remedy: str) -> tuple[LabelColumn, LabelColumn]:
    """Return the answers and the labels as numbers of the same classes.

    Args:
        columns: Location, for errors -> its values: the answers first, then the labels.
        remedy: What a person can do about doubt, for errors.
    """
    (answer_location, answers), (label_location, labels) = columns.items()
    # A file may store numbers of classes with their names (`NamedLabels`), in either column. The
    # names of the labels have precedence, and are those of the other column as well.
    if isinstance(labels, NamedLabels):
        names = labels.names
    elif isinstance(answers, NamedLabels):
        names = answers.names
    else:
        resolved_answers, gold = resolve_label_columns(columns, remedy=remedy).values()
        return resolved_answers, gold
    resolved_answers = resolve_labels(
        answers, names, first=0, source=answer_location, remedy=remedy
    )
    gold = resolve_labels(labels, names, first=0, source=label_location, remedy=remedy)
    return resolved_answers, gold

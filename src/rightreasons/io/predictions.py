"""Finds a model's predictions in the columns of a user's file: class scores and labels, or confidence and correctness.

The names of the columns say what they are, or options do; where neither does, their cells propose it:

- scores: one column of a usual name with a list of scores per item (or P(class 1)), or one column per class, such as
  `p_negative, p_positive` or `logit0, logit1, logit2`;
- labels: names or numbers of the classes, resolved by `resolve_labels`;
- confidence in the given answer, with a column that says whether it was correct, or with the answer and the label.
  Scores, where there are any, come first.

usual_headings.json has the usual names of each. `read_predictions` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import parse_class_column
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.class_order import suggest_class_order
from rightreasons.core.labels.mapping import LabelRow, label_rows
from rightreasons.core.labels.matching import match_columns
from rightreasons.core.labels.names import BY_NUMBER, check_label_names, fold_name
from rightreasons.core.labels.numbers import parse_label_numbers
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_all
from rightreasons.io.cells import parse_cell
from rightreasons.io.columns import (
    Column,
    Columns,
    check_column_name,
    check_unique_columns,
    collect_results,
    quote_column,
    quote_field,
    require_column,
)
from rightreasons.io.headings import PREDICTION_HEADINGS, make_heading_key
from rightreasons.io.label_columns import (
    NamedLabels,
    parse_renamed_labels,
    rename_values,
    select_single_labels,
)
from rightreasons.io.logs import UNREAD, select_confident_answers
from rightreasons.io.opened_columns import get_columns, read_columns
from rightreasons.io.options import PredictionOptions, ScoreOptions
from rightreasons.io.prediction_proposals import find_prediction_roles
from rightreasons.io.prediction_roles import PredictionRoles
from rightreasons.io.reading import parse_table
from rightreasons.io.roles import warn_of_doubts
from rightreasons.io.scores.class_headings import find_label_in_heading, list_words
from rightreasons.io.scores.graded_answers import read_confidence, read_graded_answers
from rightreasons.io.scores.results import ModelAnswers, Predictions, find_ids
from rightreasons.io.scores.score_classes import (
    are_numbers,
    is_vector,
    match_labels,
    name_classes,
)
from rightreasons.io.scores.score_columns import ScoreColumns
from rightreasons.io.scores.score_tables import Scores, ScoreTable, read_scores
from rightreasons.io.scores.typed_values import is_answer, iterate_distinct, to_typed_values

MIN_CONFIDENCE = 0.5
"""P(class 1) that is never smaller is the confidence in the given answer."""

MAX_INTEGER = 2**63
"""Larger whole numbers are no numbers of classes."""


@accept_options_as_keywords(PredictionOptions)
def read_predictions(
    path: Any, *, answers_alone: bool = False, options: PredictionOptions
) -> Predictions:
    """Read a file of predictions in the format of its suffix, or a table of them.

    Args:
        path: Anything that `as_table` takes, or a data.yaml of `rightreasons look`.
        answers_alone: Whether answers that have neither scores nor a confidence will do; see `read_graded_answers`.
        options: The fields of `PredictionOptions`, each of which may be given as a keyword:
            - label_column: The column of the labels; None where its name is a usual one. As the other columns that are
              named, it may be a field (`output.label`) or an expression over columns.
            - label_names: The names of the classes in the order of their numbers, matched with those that the columns
              of scores have; or a new name for each label, as "old=new".
            - first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
            - score_columns, confidence_column, correct_column, scores, log_filter (of a log of a harness).

    Returns:
        The predictions, and the labels or whether each answer was right.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not have the format of its suffix, lacks a column, or leaves open which is meant.

    Example:
        >>> read = read_predictions({"confidence": [0.9, 0.6], "correct": [1, 0]})
        >>> from rightreasons.calibration import calibration_error
        >>> calibration_error(read.predictions, read.references, kind=read.kind).ece
        0.35
    """
    columns, options, source_name = read_columns(path, options)
    return find_predictions(columns, source_name, answers_alone=answers_alone, options=options)


@accept_options_as_keywords(ScoreOptions, exclude=("confidence_column", "correct_column"))
@attach_options("score_columns")
def read_answers(path: Any, *, options: ScoreOptions) -> ModelAnswers:
    """Read a file or a table of predictions without labels; a label column is ignored.

    Args:
        path: As in `read_predictions`: scores, or one column of answers (or "predictions") with a whole number
            or a text per item. A column `id` is kept.
        options: score_columns, scores and log_filter.

    Returns:
        The scores, or the answers where there are no scores.

    Raises:
        ValueError: If the file does not have the format of its suffix, or has neither scores nor answers.
    """
    columns, options, source_name = read_columns(path, options)
    roles = find_prediction_roles(columns, source_name, options.of_predictions())
    # Of two columns that agree, either may be the answers.
    warn_of_doubts(roles.doubts)
    columns = roles.columns
    if roles.answers and not roles.is_scored:
        name = require_column(
            roles.answers, columns, "answers", PREDICTION_HEADINGS["answer"], "", source_name
        )
        unread = None
        if UNREAD in columns:
            unread = np.array(columns[UNREAD], dtype=np.bool_)
        answers = _read_answer_column(columns[name], name)
        return ModelAnswers(None, answers, ids=find_ids(columns), unread=unread)
    scores = read_scores(roles)
    # The examples of a suite are of one number of classes.
    if isinstance(scores.table, list):
        raise ValueError(
            f"Expected as many scores for each item of {source_name}, but the rows differ in length."
        )
    return ModelAnswers(
        scores.table,
        label_names=scores.columns.class_names,
        kind=scores.kind,
        ids=find_ids(columns),
    )


@accept_options_as_keywords(PredictionOptions)
def parse_predictions(text: str, *, options: PredictionOptions) -> Predictions:
    r"""Read predictions from a pasted text: JSON, one JSON object per line, or comma- or tab-separated values.

    Example:
        >>> parsed = parse_predictions("p_no,p_yes,label\n0.9,0.1,no\n0.2,0.8,yes\n")
        >>> parsed.predictions.tolist(), parsed.references.tolist(), parsed.label_names, parsed.scores
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], ('no', 'yes'), 'probabilities')
        >>> parsed = parse_predictions("answer,confidence,correct\nParis,0.9,1\nRome,0.4,0\n")
        >>> parsed.kind, parsed.predictions.tolist(), parsed.references.tolist()
        ('confidence', [0.9, 0.4], [True, False])
    """
    columns = get_columns(parse_table(text, "the text"), "the text")
    return find_predictions(columns, "the text", options=options)


@accept_options_as_keywords(PredictionOptions)
@attach_options("score_columns", "label_column")
def find_predictions(
    columns: Columns,
    source_name: str = "the table",
    *,
    with_labels: bool = True,
    answers_alone: bool = False,
    options: PredictionOptions,
) -> Predictions:
    """Find scores and labels, or confidence and correctness, among named columns.

    Args:
        columns: Column by name, in order.
        source_name: The name of the table, for errors.
        with_labels: Whether to read the labels; a table without them is then refused.
        answers_alone: As in `read_predictions`.
        options: As in `read_predictions`.

    Raises:
        ValueError: If there is no column of scores or of labels, or more than one.
    """
    for option in ("confidence_column", "correct_column", "label_column"):
        name = getattr(options, option)
        if name is not None:
            check_column_name(columns, name, option, source_name)
    # A log may hold several answers per item.
    columns = select_confident_answers(columns, source_name)
    roles = find_prediction_roles(columns, source_name, options)
    warn_of_doubts(roles.doubts)
    predictions = _read_roles(roles, with_labels=with_labels, answers_alone=answers_alone)
    return dataclasses.replace(predictions, roles=roles.describe(predictions.taken))


def _read_roles(roles: PredictionRoles, *, with_labels: bool, answers_alone: bool) -> Predictions:
    """Read the predictions from the columns that have a role."""
    # Answers without scores are enough for accuracy.
    if answers_alone:
        answers = read_graded_answers(roles)
        if answers is not None:
            return answers
    options = roles.options
    for option in ("confidence_column", "correct_column"):
        if getattr(options, option) is None:
            continue
        # An option that names a confidence comes before scores.
        if options.score_columns is not None:
            raise OptionError(
                f"Expected `score_columns` or `{option}`, but got both.",
                option=("score_columns", option),
            )
        return read_confidence(roles)
    if roles.confident and not roles.is_scored:
        return read_confidence(roles)
    # Correctness alone has no confidence to calibrate.
    if roles.answer_candidates and not roles.is_scored:
        raise _make_answer_question(roles)
    if with_labels and not roles.labels and roles.correct:
        raise OptionError(
            f"Expected the confidence in each answer of {roles.source_name}, in addition to "
            f"{roles.correct[0]!r}, or scores with labels, but its columns are "
            f"{format_list(list(roles.columns))}; `confidence_column` or `label_column` names it.",
            option=("confidence_column", "label_column"),
        )
    return _read_scores_and_labels(roles, with_labels=with_labels)


def _make_answer_question(roles: PredictionRoles) -> OptionError:
    """Return the question which of several columns holds the answers, or the labels."""
    candidates = roles.answer_candidates
    shown = format_list([repr(name) for name in candidates])
    labels = roles.labels or roles.label_headings
    terms = [quote_field(name, roles.columns) for name in candidates]
    if not labels:
        comparison = f"{terms[-1]} == {terms[0]}"
        return OptionError(
            f"Expected a heading that says which column holds the labels of {roles.source_name}, but {shown} hold "
            "the same values: `correct_column` compares the answers of a system with the labels, as in "
            f"'{{{{ {comparison} }}}}'.",
            option="correct_column",
        )
    comparison = f"{terms[0]} == {quote_field(labels[0], roles.columns)}"
    return OptionError(
        f"Expected one column of answers in {roles.source_name}, but {shown} hold the values of {labels[0]!r}, as the "
        "answers of several systems do: `correct_column` reads those of one, as in "
        f"'{{{{ {comparison} }}}}'.",
        option="correct_column",
    )


# ----------------------------------------------------------------------------- scores and labels


@dataclasses.dataclass(frozen=True, eq=False)
class LabelReading:
    """The labels of a file, as far as options and the columns of scores say what they are.

    Attributes:
        column: Their column.
        location: Where they are, for errors.
        values: The labels, with the new names that options give them.
        label_names: The names of the classes by an option or a ClassLabel; None otherwise.
    """

    column: str
    location: str
    values: Column
    label_names: Sequence[str] | None


def _read_scores_and_labels(roles: PredictionRoles, *, with_labels: bool) -> Predictions:
    """Read scores, and the labels as classes of these."""

    def find_label() -> str | None:
        if not with_labels:
            return None
        return require_column(
            roles.labels,
            roles.columns,
            "labels",
            PREDICTION_HEADINGS["label"],
            "label_column",
            roles.source_name,
        )

    label, scores = collect_results(find_label, lambda: read_scores(roles))
    used_columns = (*scores.columns.columns, label)
    check_unique_columns(roles.columns, used_columns, roles.source_name)
    _check_probabilities(roles, scores)
    label_names = roles.options.label_names
    if label is None:
        if parse_renamed_labels(label_names):
            label_names = None
        names, table = name_classes(scores.columns, scores.table, label_names, roles.source_name)
        return _make_predictions(roles, scores, table, names)

    reading = _read_labels(roles, label, scores)
    columns = _find_classes_in_headings(reading, scores)
    names, table = name_classes(columns, scores.table, reading.label_names, roles.source_name)
    first_label = roles.options.first_label
    # transformers numbers these from 0.
    if make_heading_key(label) == "label_ids":
        first_label = 0
    has_headings = scores.columns.class_names is not None and reading.label_names is None
    labels, names = match_labels(
        reading.values, reading.location, names, table, first_label, headings=has_headings
    )
    predictions = _make_predictions(roles, scores, table, names)
    doubt = ""
    # Names settle which class is meant; numbers do not.
    may_be_in_other_order = labels.how == BY_NUMBER or are_numbers(labels.names)
    if may_be_in_other_order and isinstance(table, np.ndarray):
        doubt = suggest_class_order(table, labels.ids, names)
    match = labels.how
    if labels.reason:
        match += f", as {labels.reason}"
    mapping: tuple[LabelRow, ...] = label_rows(reading.values, labels)
    return dataclasses.replace(
        predictions,
        references=labels.ids,
        taken={**predictions.taken, "labels": (label,)},
        label_match=match,
        mapping=mapping,
        doubt=doubt,
    )


def _make_predictions(
    roles: PredictionRoles, scores: Scores, table: ScoreTable, names: tuple[str, ...] | None
) -> Predictions:
    """Return predictions without labels; numbers of classes are no names, and nor is that of one of two."""
    if names is not None and (len(names) == 1 or are_numbers(names)):
        names = None
    return Predictions(
        predictions=table,
        references=None,
        label_names=names,
        scores=scores.kind,
        ids=find_ids(roles.columns),
        columns=roles.columns,
        taken={"scores": scores.columns.columns},
        remark=scores.remark,
    )


def _check_probabilities(roles: PredictionRoles, scores: Scores) -> None:
    """Refuse P(class 1) that is never below 0.5 where a column of answers holds several classes.

    Raises:
        OptionError: If this must be the confidence in the given answer.
    """
    if roles.options.score_columns is not None or len(roles.answers) != 1:
        return
    answer = roles.answers[0]
    # A column of one answer tells nothing about the scores.
    values = set(map(str, iterate_distinct(roles.columns[answer])))
    if len(values) < 2 or isinstance(scores.table, list) or not is_vector(scores.table):
        return
    if scores.table.min() >= MIN_CONFIDENCE:
        raise OptionError(
            f"Expected P(class 1) in the column {scores.columns.columns[0]!r} of {roles.source_name}, "
            f"but none is below 0.5, and {answer!r} holds several classes: name it with "
            "`confidence_column`, or with `score_columns`.",
            option=("confidence_column", "score_columns"),
        )


def _read_labels(roles: PredictionRoles, label: str, scores: Scores) -> LabelReading:
    """Read the labels, and the names of the classes that options or a ClassLabel give."""
    location = f"the column {label!r} of {roles.source_name}"
    label_names: Sequence[str] | None = roles.options.label_names
    values = select_single_labels(roles.columns[label], location)
    new_names = parse_renamed_labels(label_names)
    # New names rename the labels, and name no columns of scores.
    if new_names:
        label_names = None
        values = rename_values(values, new_names, location)
    if not isinstance(values, NamedLabels):
        return LabelReading(label, location, values, label_names)
    # The choices of an item have no names.
    if isinstance(scores.table, list):
        return LabelReading(label, location, values.numbers, label_names)
    class_names = scores.columns.class_names
    if label_names is None and (class_names is None or are_numbers(class_names)):
        label_names = values.names
    return LabelReading(label, location, values, label_names)


def _find_classes_in_headings(reading: LabelReading, scores: Scores) -> ScoreColumns:
    """Return the columns of scores with the labels that their headings end in, unless they name labels already."""
    columns = scores.columns
    has_headings = columns.class_names is not None
    if reading.label_names is not None or not (has_headings or is_vector(scores.table)):
        return columns
    words = list_words(reading.values)
    headings = columns.class_names or columns.columns
    # One heading that is a label settles that all are.
    if has_headings and words.keys() & set(map(fold_name, headings)):
        return columns
    classes = tuple(find_label_in_heading(heading, words) for heading in headings)
    # Two columns of one label name no classes.
    if not all(classes) or len(set(classes)) < len(classes):
        return columns
    return dataclasses.replace(columns, class_names=classes)


# --------------------------------------------------------------------------------- other readings


def list_label_scores(
    path: Any, *, label_names: Sequence[str] | None = None, options: ScoreOptions
) -> tuple[dict[str, str], str | None, bool]:
    """Find the scores of several labels that an item may have, each by itself.

    Args:
        path: As in `read_predictions`.
        label_names: The names of the labels in the order of their numbers; None for what the columns say.
        options: As in `read_predictions`.

    Returns:
        Label -> the column of its scores, or an expression for it; the kind of the scores, as in `Predictions`; and
        whether the labels are names of columns, whose order means nothing.

    Raises:
        ValueError: If there is one score per item.
    """
    columns, options, source_name = read_columns(path, options)
    predictions = find_predictions(
        columns, source_name, with_labels=False, options=options.of_predictions()
    )
    score_columns = predictions.taken["scores"]
    table = predictions.predictions
    if isinstance(table, list) or table.ndim < 2:
        raise ValueError(
            f"Expected scores of as many labels for each item of {source_name}, but got "
            f"{format_list(score_columns)}."
        )
    classes = tuple(parse_class_column(name)[1] for name in score_columns)
    # A column of lists has a position for each class.
    if len(score_columns) == 1:
        classes = tuple(map(str, range(table.shape[1])))
        lists = quote_column(score_columns[0])
        score_columns = tuple(f"{{{{ {lists}[{position}] }}}}" for position in classes)
    if label_names is None:
        return dict(zip(classes, score_columns, strict=True)), predictions.scores, True

    # Numbers are in the order of the names already.
    names = check_label_names(label_names)
    order = np.arange(len(classes))
    if parse_label_numbers(classes) is None or len(names) != len(classes):
        order = match_columns(
            classes,
            names,
            source=f"the columns of scores in {source_name}",
            target="`label_names`",
        )
    ordered_columns = [score_columns[position] for position in order]
    return dict(zip(names, ordered_columns, strict=True)), predictions.scores, False


def _read_answer_column(column: Column, name: str) -> NDArray[np.int64] | list[str]:
    """Return answers that are all texts, or all whole numbers.

    Raises:
        ValueError: If a cell is neither, or texts write lists.
    """
    values = to_typed_values(column)
    are_texts = bool(values) and isinstance(values[0], str)
    are_lists = are_texts and all(isinstance(parse_cell(value), list) for value in values)

    def is_valid(value: Any) -> bool:
        if isinstance(value, str) != are_texts or not is_answer(value) or are_lists:
            return False
        return are_texts or abs(value) < MAX_INTEGER

    check_all(
        values, is_valid, f"texts, or whole numbers below 2**63, in column {name!r}", unit="item"
    )
    # Numbers of classes may be written as fractions.
    return values if are_texts else np.asarray(values, dtype=np.int64)

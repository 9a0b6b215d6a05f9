"""Reads a model's predictions from the columns of a file: class scores and labels, or confidence and correctness.

Options or usual headings identify the columns; otherwise they are chosen by their cells:

- scores: one column with a list of scores per item (or P(class 1)), or one column per class, such as
  `p_negative, p_positive` or `logit0, logit1, logit2`;
- labels: names or numbers of the classes, matched by `resolve_labels`;
- confidence in the given answer, with a column of correctness, or with the answer and the label. If there are scores as
  well, these are read.

`usual_headings.json` lists the usual headings. `read_predictions` is the entry point.
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
from rightreasons.core.labels.mapping import label_rows
from rightreasons.core.labels.matching import match_columns
from rightreasons.core.labels.names import (
    BY_NUMBER,
    check_label_names,
    fold_name,
    parse_label_numbers,
)
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
    write_expression,
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
"""Minimum confidence in the given answer of two classes; P(class 1) may be smaller."""

MAX_INTEGER = 2**63
"""Upper limit of whole numbers that are answers, as numbers of classes."""


@accept_options_as_keywords(PredictionOptions)
def read_predictions(
    path: Any, *, answers_alone: bool = False, options: PredictionOptions
) -> Predictions:
    """Read a file of predictions in the format of its suffix, or a table of predictions.

    Args:
        path: Anything that `as_table` accepts, or a data.yaml of `rightreasons look`.
        answers_alone: Whether answers without scores and confidences are accepted; see `read_graded_answers`.
        options: The fields of `PredictionOptions`, each of which may be given as a keyword:
            - label_column: The column of the labels; None for a column with a usual heading. Like all columns
              that are named, it may be a field (`output.label`) or an expression over columns.
            - label_names: The names of the classes in the order of their numbers, which are matched with the names in
              the headings of scores; or a new name for each label, such as "old=new".
            - first_label: The number of the first class if labels are numbers, 0 or 1; None to derive it.
            - score_columns, confidence_column, correct_column, scores, log_filter (of a log of a harness).

    Returns:
        The predictions, and the labels or whether each answer is correct.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not have the format of its suffix, if a column is missing, or if several columns
            may have a role.

    Example:
        >>> predictions = read_predictions({"confidence": [0.9, 0.6], "correct": [1, 0]})
        >>> from rightreasons.calibration import calibration_error
        >>> calibration_error(predictions.predictions, predictions.references, kind=predictions.kind).ece
        0.35
    """
    columns, options, source_name = read_columns(path, options)
    return find_predictions(columns, source_name, answers_alone=answers_alone, options=options)


@accept_options_as_keywords(ScoreOptions, exclude=("confidence_column", "correct_column"))
@attach_options("score_columns")
def read_answers(path: Any, *, options: ScoreOptions) -> ModelAnswers:
    """Read the scores or the answers of a model, without labels.

    Args:
        path: Anything that `as_table` accepts, with columns of scores, or one column of answers (a whole number
            or a string per item). A column `id` is read as well; a column of labels is ignored.
        options: score_columns, scores and log_filter.

    Returns:
        The scores, or the answers if there are no scores.

    Raises:
        ValueError: If the file does not have the format of its suffix, or has neither scores nor answers.
    """
    columns, options, source_name = read_columns(path, options)
    roles = find_prediction_roles(columns, source_name, options.of_predictions())
    # A warning reports columns that were chosen by their cells, such as one of two that agree.
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
    # All items have the same classes, so the rows must not differ in length.
    if isinstance(scores.table, list):
        raise ValueError(
            f"Expected the same number of scores for each item of {source_name}, but the rows "
            "differ in length."
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
        columns: Columns by their names, in the order of the table.
        source_name: Name of the table, for error messages.
        with_labels: Whether to read the labels. If so, a table without labels is refused.
        answers_alone: Whether answers without scores and confidences are accepted.
        options: Options that name columns and classes, as in `read_predictions`.

    Raises:
        ValueError: If no column, or several, may be the scores, or the labels.
    """
    for option in ("confidence_column", "correct_column", "label_column"):
        name = getattr(options, option)
        if name is not None:
            check_column_name(columns, name, option, source_name)
    # The columns of a log of sampled answers are reduced to correctness and confidence.
    columns = select_confident_answers(columns, source_name)
    roles = find_prediction_roles(columns, source_name, options)
    warn_of_doubts(roles.doubts)
    predictions = _read_roles(roles, with_labels=with_labels, answers_alone=answers_alone)
    return dataclasses.replace(predictions, roles=roles.describe(predictions.taken))


def _read_roles(roles: PredictionRoles, *, with_labels: bool, answers_alone: bool) -> Predictions:
    """Read scores with labels, a confidence with correctness, or only answers, by the roles of the columns.

    Args:
        roles: The columns that may contain labels, answers, scores or a confidence.
        with_labels: Whether to read labels in addition to scores.
        answers_alone: Whether answers without scores and confidences are accepted.

    Raises:
        OptionError: If options contradict each other, or columns are missing.
    """
    if answers_alone:
        answers = read_graded_answers(roles)
        if answers is not None:
            return answers
    options = roles.options
    # A confidence that an option names is preferred to scores that only headings identify.
    for option in ("confidence_column", "correct_column"):
        if getattr(options, option) is None:
            continue
        if options.score_columns is not None:
            raise OptionError(
                f"Expected `score_columns` or `{option}`, but got both.",
                option=("score_columns", option),
            )
        return read_confidence(roles)
    if roles.confidences and not roles.is_scored:
        return read_confidence(roles)
    if roles.answer_candidates and not roles.is_scored:
        raise _make_answer_question(roles)
    # Correctness is of no use without a confidence, or scores without labels.
    if with_labels and not roles.labels and roles.correct:
        raise OptionError(
            f"Expected a column with the confidence in each answer of {roles.source_name}, in "
            f"addition to {roles.correct[0]!r}, or a column of labels for the scores, but its "
            f"columns are {format_list(list(roles.columns))}; name it with `confidence_column` "
            "or `label_column`.",
            option=("confidence_column", "label_column"),
        )
    return _read_scores_and_labels(roles, with_labels=with_labels)


def _make_answer_question(roles: PredictionRoles) -> OptionError:
    """Return the error that asks which of several columns is the answers, or the labels.

    Args:
        roles: The roles, with the columns that may be answers in `answer_candidates`.
    """
    candidates = roles.answer_candidates
    names = format_list(list(map(repr, candidates)))
    first_term = quote_field(candidates[0], roles.columns)
    labels = roles.labels or roles.label_headings
    if not labels:
        comparison = write_expression(
            f"{quote_field(candidates[-1], roles.columns)} == {first_term}"
        )
        return OptionError(
            f"Expected a heading that identifies the column of labels in {roles.source_name}, "
            f"but {names} hold the same values. Compare the answers of a system with the labels "
            f"in `correct_column`, as in '{comparison}'.",
            option="correct_column",
        )
    comparison = write_expression(f"{first_term} == {quote_field(labels[0], roles.columns)}")
    return OptionError(
        f"Expected one column of answers in {roles.source_name}, but {names} hold the values of "
        f"{labels[0]!r}, as the answers of several systems do. Choose the answers of one system "
        f"with `correct_column`, as in '{comparison}'.",
        option="correct_column",
    )


# ----------------------------------------------------------------------------- scores and labels


@dataclasses.dataclass(frozen=True, eq=False)
class LabelReading:
    """The labels of a file before they are matched with the scores of classes.

    Attributes:
        column: The column of the labels.
        location: The column and the table, for error messages.
        values: (N,) labels, with the new names that an option gives them.
        label_names: The names of the classes from an option or a ClassLabel; None if there are no such names.
    """

    column: str
    location: str
    values: Column
    label_names: Sequence[str] | None


def _read_scores_and_labels(roles: PredictionRoles, *, with_labels: bool) -> Predictions:
    """Read the scores of the classes, and each label as one of these classes.

    Args:
        roles: The columns of scores and labels.
        with_labels: Whether to read labels; otherwise `references` is None.

    Raises:
        OptionError: If the scores or the labels are missing; one error reports both.
    """

    def find_label_column() -> str | None:
        """Return the column of labels; None if labels are not requested."""
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

    label, scores = collect_results(find_label_column, lambda: read_scores(roles))
    used_columns = (*scores.columns.columns, label)
    check_unique_columns(roles.columns, used_columns, roles.source_name)
    _check_probabilities(roles, scores)
    if label is None:
        label_names = roles.options.label_names
        # Entries such as "old=new" rename labels, and do not name the classes of scores.
        if parse_renamed_labels(label_names):
            label_names = None
        names, table = name_classes(scores.columns, scores.table, label_names, roles.source_name)
        return _make_predictions(roles, scores, table, names)
    return _add_labels(roles, scores, label)


def _add_labels(roles: PredictionRoles, scores: Scores, label: str) -> Predictions:
    """Return scores as predictions, with each label as the number of a class.

    Args:
        roles: The roles, with all columns, and the options `label_names` and `first_label`.
        scores: The scores, with the columns from which they were read.
        label: The column of the labels.
    """
    reading = _read_labels(roles, label, scores)
    columns = _find_classes_in_headings(reading, scores)
    names, table = name_classes(columns, scores.table, reading.label_names, roles.source_name)
    first_label = roles.options.first_label
    # The labels under this heading are written by transformers, which counts classes from 0.
    if make_heading_key(label) == "label_ids":
        first_label = 0
    has_headings = scores.columns.class_names is not None and reading.label_names is None
    labels, names = match_labels(
        reading.values, reading.location, names, table, first_label, headings=has_headings
    )
    # The scores may have the classes in another order than the labels. If the classes were matched
    # by name, the names of the scores may be exchanged.
    doubt = ""
    is_by_number = labels.how == BY_NUMBER or are_numbers(labels.names)
    if isinstance(table, np.ndarray):
        doubt = suggest_class_order(table, labels.ids, names, is_by_name=not is_by_number)
    match = labels.how
    if labels.reason:
        match += f", as {labels.reason}"
    predictions = _make_predictions(roles, scores, table, names)
    return dataclasses.replace(
        predictions,
        references=labels.ids,
        taken={**predictions.taken, "labels": (label,)},
        label_match=match,
        mapping=label_rows(reading.values, labels),
        doubt=doubt,
    )


def _make_predictions(
    roles: PredictionRoles, scores: Scores, table: ScoreTable, names: tuple[str, ...] | None
) -> Predictions:
    """Return scores as predictions, without labels.

    Args:
        roles: The roles, with all columns of the file.
        scores: The scores, with the columns from which they were read.
        table: The scores in the order of the classes.
        names: The names of the classes; None if they are unknown. They are dropped if they are numbers, or if
            there is only one.
    """
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
    """Check that a single column of scores is P(class 1), and not the confidence in each answer.

    If no score is below 0.5 although the answers are of both classes, the scores are confidences.

    Args:
        roles: The roles. The check applies if there is one column of answers, and no option names the
            scores.
        scores: The scores.

    Raises:
        OptionError: If the scores are confidences.
    """
    if roles.options.score_columns is not None or len(roles.answers) != 1:
        return
    answer = roles.answers[0]
    values = set(map(str, iterate_distinct(roles.columns[answer])))
    # If all answers are of one class, P(class 1) may be high in every row.
    if len(values) < 2 or isinstance(scores.table, list) or not is_vector(scores.table):
        return
    if scores.table.min() >= MIN_CONFIDENCE:
        raise OptionError(
            f"Expected P(class 1) in the column {scores.columns.columns[0]!r} of "
            f"{roles.source_name}, but no value is below 0.5, and {answer!r} holds several "
            "classes. Name the column with `confidence_column` if it holds the confidence in "
            "the answers, and with `score_columns` otherwise.",
            option=("confidence_column", "score_columns"),
        )


def _read_labels(roles: PredictionRoles, label: str, scores: Scores) -> LabelReading:
    """Read the labels of a file, and the class names that an option or a ClassLabel gives.

    Args:
        roles: The roles, with all columns, and the option `label_names`.
        label: The column of the labels.
        scores: The scores. Class names of a ClassLabel are not used if headings of scores name the classes.
    """
    location = f"the column {label!r} of {roles.source_name}"
    label_names: Sequence[str] | None = roles.options.label_names
    values = select_single_labels(roles.columns[label], location)
    new_names = parse_renamed_labels(label_names)
    # Entries such as "old=new" rename the labels, and do not name the classes of the scores.
    if new_names:
        label_names = None
        values = rename_values(values, new_names, location)
    if not isinstance(values, NamedLabels):
        return LabelReading(label, location, values, label_names)
    # Lists of scores are those of choices, which have numbers and no names.
    if isinstance(scores.table, list):
        return LabelReading(label, location, values.numbers, label_names)
    class_names = scores.columns.class_names
    if label_names is None and (class_names is None or are_numbers(class_names)):
        label_names = values.names
    return LabelReading(label, location, values, label_names)


def _find_classes_in_headings(reading: LabelReading, scores: Scores) -> ScoreColumns:
    """Name the class of each column of scores by the label in its heading, such as "good" in "prob of good".

    Args:
        reading: The labels of the file.
        scores: The scores, with the columns from which they were read.

    Returns:
        The columns with labels as `class_names`. They are unchanged if the classes have names that are
        labels, or from an option, or if the headings do not contain distinct labels.
    """
    columns = scores.columns
    has_class_names = columns.class_names is not None
    # An option, or a ClassLabel, names the classes.
    if reading.label_names is not None:
        return columns
    if not has_class_names and not is_vector(scores.table):
        return columns
    label_by_word = list_words(reading.values)
    headings = columns.class_names or columns.columns
    # If one class name equals a label, no class name is shortened to a label that it contains.
    if has_class_names:
        for heading in headings:
            if fold_name(heading) in label_by_word:
                return columns
    classes = tuple(find_label_in_heading(heading, label_by_word) for heading in headings)
    if not all(classes) or len(set(classes)) < len(classes):
        return columns
    return dataclasses.replace(columns, class_names=classes)


# --------------------------------------------------------------------------------- other readings


def list_label_scores(
    path: Any, *, label_names: Sequence[str] | None = None, options: ScoreOptions
) -> tuple[dict[str, str], str | None, bool]:
    """Find the scores of each label of a multi-label file, for audits of one label at a time.

    Args:
        path: Anything that `as_table` accepts, or a data.yaml.
        label_names: The names of the labels in the order of their numbers; None for the names in the
            headings.
        options: Options that name columns, as in `read_predictions`.

    Returns:
        A tuple of three: label -> the column or expression of its scores; the kind of the scores
        ("probabilities", "logits", …), or None; and whether the labels are from headings of columns, so
        that their order has no meaning.

    Raises:
        ValueError: If items do not have a score for each of several labels.
    """
    columns, options, source_name = read_columns(path, options)
    predictions = find_predictions(
        columns, source_name, with_labels=False, options=options.of_predictions()
    )
    score_columns = predictions.taken["scores"]
    table = predictions.predictions
    if isinstance(table, list) or table.ndim < 2:
        raise ValueError(
            f"Expected scores of the same number of labels for each item of {source_name}, but "
            f"got {format_list(score_columns)}."
        )
    if len(score_columns) > 1:
        classes = tuple(parse_class_column(name)[1] for name in score_columns)
    else:
        # In a column of lists, labels are known by the positions of their scores.
        classes = tuple(str(position) for position in range(table.shape[1]))
        lists = quote_column(score_columns[0])
        score_columns = tuple(write_expression(f"{lists}[{position}]") for position in classes)
    if label_names is None:
        return dict(zip(classes, score_columns, strict=True)), predictions.scores, True

    names = check_label_names(label_names)
    # Columns that are numbered like the names have the same order.
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
    """Return the answers in a column: a list of strings, or (N,) whole numbers.

    Args:
        column: The cells. Strings of numbers, as in csv files, are read as numbers.
        name: Name of the column, for error messages.

    Raises:
        ValueError: If the cells are neither all strings nor all whole numbers, or if they are lists in JSON.
    """
    values = to_typed_values(column)
    are_texts = bool(values) and isinstance(values[0], str)
    # Strings that are lists in JSON are scores, and not answers.
    are_lists = are_texts and all(isinstance(parse_cell(value), list) for value in values)

    def is_valid(value: Any) -> bool:
        if are_lists or isinstance(value, str) != are_texts:
            return False
        if not is_answer(value):
            return False
        return are_texts or abs(value) < MAX_INTEGER

    check_all(
        values, is_valid, f"texts, or whole numbers below 2**63, in column {name!r}", unit="item"
    )
    if are_texts:
        return values
    # The values may be floats such as 2.0, which become integers.
    return np.asarray(values, dtype=np.int64)

"""How a table would be read: the role of each column, the class of each label with the rule, and doubts."""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.ids import LabelColumn
from rightreasons.core.labels.mapping import LabelRow, label_rows
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_list, pluralize
from rightreasons.core.validation import check_logits, check_one_of
from rightreasons.io import tables
from rightreasons.io.arrow_tables import convert_for_json
from rightreasons.io.choices.forms import (
    ChoiceForm,
    describe_unread_choices,
    find_choice_form,
    find_known_form,
    propose_choice_form,
)
from rightreasons.io.choices.right_choices import parse_whole_number
from rightreasons.io.columns import (
    Columns,
    add_nested_columns,
    get_nested_features,
    get_values,
    quote_column,
    quote_field,
    write_expression,
)
from rightreasons.io.contents import describe_contents
from rightreasons.io.descriptions import Description, read_description
from rightreasons.io.headings import (
    LABEL_HEADINGS,
    MODEL_ANSWER_HEADINGS,
    TEXT_HEADINGS,
    find_usual_column,
    list_usual_columns,
    make_heading_key,
)
from rightreasons.io.label_columns import get_labels, select_single_labels
from rightreasons.io.opened_columns import get_columns, list_named_columns, name_source
from rightreasons.io.options import (
    CheckOptions,
    ChoiceOptions,
    LookOptions,
    PredictionOptions,
    ScoreOptions,
    TextOptions,
)
from rightreasons.io.prediction_proposals import find_prediction_roles
from rightreasons.io.prediction_roles import PredictionRoles
from rightreasons.io.predictions import find_predictions
from rightreasons.io.proposals.agreement import find_marked_classes
from rightreasons.io.proposals.answer_columns import (
    describe_answer_columns,
    describe_confidence_columns,
    describe_unread_columns,
)
from rightreasons.io.proposals.nested_fields import spread_fields
from rightreasons.io.reading import as_table
from rightreasons.io.roles import Role, Roles, add_role_columns, describe_columns_and_fields
from rightreasons.io.row_checks import (
    Outcomes,
    RowDoubt,
    RowRoles,
    RowTable,
    check_answer_copies,
    check_rows,
    describe_unused_columns,
    settle_doubts,
)
from rightreasons.io.row_tables import choose_checked_split, judge_predictions, make_row_table
from rightreasons.io.scores.graded_answers import read_graded_answers
from rightreasons.io.scores.results import Predictions

KINDS = ("classification", "multiple_choice", "question_answering", "predictions")
"""Kinds of tables: items of one of three tasks, or predictions of a model."""

MAX_ITEMS = 3
"""Maximum number of items that are displayed."""


@dataclasses.dataclass(frozen=True)
class Resolution(Result):
    """How a table would be read.

    Attributes:
        kind: "predictions", "multiple_choice", "classification" or "question_answering".
        splits: Name of a split -> number of rows.
        columns: Role, such as "text", "label" or "scores" -> the columns that have it.
        roles: The roles again, each with the reason and the column that comes second.
        mapping: A row for every value of the labels, with its count, its class, and the rule by which it was matched.
        label_names: The names of the classes; empty if there are none.
        items: The first items as they would be read; the first rows unchanged if the table cannot be read.
        doubts: Sentences on what a person should check. If the table cannot be read, the first one is the reason.
        readable: Whether the table can be read.
        row_doubts: Doubts from the checks of the rows; see `check_rows`.
        unused: A sentence with the unused columns that have few values, and their counts; "" if there are none.
        comparison: The expression that compares answers with labels, such as "{{ pred == gold }}", if both columns
            were chosen by their cells; "" otherwise.
        has_confidence: Whether predictions have scores or a confidence; False if they are only answers.
    """

    kind: str
    splits: Mapping[str, int]
    columns: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    mapping: tuple[LabelRow, ...] = ()
    label_names: tuple[str, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()
    doubts: tuple[str, ...] = ()
    readable: bool = True
    row_doubts: tuple[RowDoubt, ...] = ()
    unused: str = ""
    comparison: str = ""
    has_confidence: bool = True


def resolve(table: Any, label_names: Sequence[str] | None = None) -> Resolution:
    """Describe how a table would be read, with doubts instead of errors if something is ambiguous.

    Args:
        table: Anything that `as_table` accepts, or a data.yaml.
        label_names: The names of the classes in the order of their numbers, or new names such as "old=new";
            None for those in the data.

    Returns:
        The kind of the table, its columns by role, the class of each label, the first items, and doubts.

    Raises:
        TypeError: If the source has no rows.
        FileNotFoundError: If a path does not exist.
        ValueError: If the source is not a table at all, or if a data.yaml names an unknown task.

    Example:
        >>> resolution = resolve({"p_no": [0.9, 0.2], "p_yes": [0.1, 0.8], "label": [0, 1]})
        >>> resolution.kind, resolution.columns["scores"]
        ('predictions', ('p_no', 'p_yes'))
        >>> [(row.value, row.label, row.rule) for row in resolution.mapping]
        [('0', 'no', 'by number, as the names of the columns show this'), \
('1', 'yes', 'by number, as the names of the columns show this')]
        >>> resolve({"text": ["Fine.", "Dull."], "label": ["up", "down"]}).label_names
        ('down', 'up')
    """
    description = read_description(table)
    if label_names is not None:
        settings = {**description.settings, "label_names": label_names}
        description = dataclasses.replace(description, settings=settings)
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        resolution = _resolve(description)
    # Warnings of the readers are doubts as well. A dictionary drops those that repeat a doubt.
    doubts = dict.fromkeys(resolution.doubts)
    for record in records:
        doubts[str(record.message)] = None
    return dataclasses.replace(resolution, doubts=tuple(doubts))


def _resolve(description: Description) -> Resolution:
    """Describe how a table would be read; see `resolve`.

    Args:
        description: The source of the table, with the settings of its data.yaml.
    """
    table_name = name_source(description)
    opened = as_table(description, source_name=table_name)
    if isinstance(opened, datasets.Dataset):
        parts = {"": opened}
    else:
        parts = dict(opened)
    # Options may name fields of objects and expressions, which become columns.
    names = list_named_columns(description.complete(PredictionOptions()))
    first_table = next(iter(parts.values()))
    columns = get_columns(add_nested_columns(first_table, names), table_name)
    kind = _find_kind(description, columns, parts, table_name)
    if kind != "predictions":
        parts = tables.divide_splits(opened)
    # A table without splits counts as one split.
    if "" in parts:
        default_split = getattr(opened, "split", None) or tables.ONLY_SPLIT
        parts = {str(default_split): parts[""]}

    try:
        resolution, outcomes = _read_table(kind, description, columns, parts, table_name)
    except (TypeError, ValueError) as error:
        reasons = [str(error)]
        if kind == "classification" and not _has_texts(columns):
            reasons.append(
                "No column holds texts. If the table holds answers or scores of a model, set `kind` to "
                "predictions."
            )
        return Resolution(
            kind=kind,
            splits=_count_rows(parts),
            items=_list_rows(columns),
            doubts=tuple(reasons),
            readable=False,
        )

    doubts = list(resolution.doubts)
    # A user who names the kind needs no hint at another one.
    if "kind" not in description.settings:
        doubts += _describe_other_kind(resolution, columns, table_name)
    # A user who names the task or the texts knows them.
    is_named = bool(description.settings.keys() & {"task", "text_column"})
    if resolution.kind == "classification" and not is_named:
        has_label = bool(resolution.columns.get("label"))
        doubts += describe_unread_choices(first_table, has_label=has_label)
    doubts += _describe_unlabeled_rows(resolution.mapping)
    resolution = dataclasses.replace(
        resolution,
        splits=resolution.splits or _count_rows(parts),
        columns={name: names for name, names in resolution.columns.items() if names},
        doubts=tuple(doubts),
    )
    return _add_row_doubts(resolution, description, parts, outcomes)


def _read_table(
    kind: str, description: Description, columns: Columns, parts: tables.Parts, table_name: str
) -> tuple[Resolution, Outcomes | None]:
    """Read a table with the reader of its kind.

    Args:
        kind: One of `KINDS`.
        description: The source, with the settings of its data.yaml.
        columns: The columns of the first split by their names.
        parts: Name of a split -> its table.
        table_name: Name of the table, for error messages.

    Returns:
        How the table was read, and which predictions are correct; None for items, and for predictions
        without labels.

    Raises:
        TypeError: If a cell does not have the type of its column.
        ValueError: If the table cannot be read as one of this kind.
    """
    if kind == "predictions":
        return _read_predictions(description, columns, table_name)
    if kind == "multiple_choice":
        return _read_choices(description, parts, table_name), None
    if kind == "question_answering":
        return _read_questions(description, parts), None
    return _read_texts(description, parts, table_name), None


def _add_row_doubts(
    resolution: Resolution,
    description: Description,
    parts: tables.Parts,
    outcomes: Outcomes | None,
) -> Resolution:
    """Check the rows of a table, and add the doubts and the unused columns to its description.

    Args:
        resolution: How the table was read, with its kind, columns and roles.
        description: The source, whose data.yaml may list checks that the user settled.
        parts: Name of a split -> its table.
        outcomes: Which predictions are correct; None if the table has no predictions.
    """
    if description.complete(TextOptions()).drop_empty:
        parts = _drop_empty_texts(parts, resolution.columns.get("text", ()))
    rows = make_row_table(parts, resolution.columns, outcomes)
    row_doubts: list[RowDoubt] = []
    # Questions repeat their context, and have several correct answers. Both look like faults of rows.
    if resolution.kind != "question_answering":
        settled = description.complete(LookOptions()).settled_checks
        row_doubts = settle_doubts([*resolution.row_doubts, *check_rows(rows)], settled)
    return dataclasses.replace(
        resolution,
        row_doubts=tuple(row_doubts),
        unused=_describe_unused(rows, resolution.roles),
    )


def _drop_empty_texts(parts: tables.Parts, columns: Sequence[str]) -> tables.Parts:
    """Return tables without the rows that `drop_empty` leaves out of the items.

    Args:
        parts: Name of a split -> its table.
        columns: The column of the texts; empty if there is none.
    """
    kept_parts = {}
    for split, table in parts.items():
        is_kept = np.ones(len(table), dtype=np.bool_)
        for column in columns:
            # A template has been evaluated as a column only if the table has its name.
            if column in table.column_names:
                is_kept &= [bool(str(text or "").strip()) for text in get_values(table, column)]
        kept_parts[split] = table.select(np.flatnonzero(is_kept))
    return kept_parts


def _count_rows(parts: tables.Parts) -> dict[str, int]:
    return {split: len(table) for split, table in parts.items()}


def _describe_other_kind(resolution: Resolution, columns: Columns, table_name: str) -> list[str]:
    """Return a sentence on another kind that a table may have; an empty list if no other kind is likely.

    Predictions with texts may be items for another model, and items without labels may be predictions.

    Args:
        resolution: How the table was read, with its kind, its columns and their roles.
        columns: The columns of the first split by their names.
        table_name: Name of the table, for error messages.
    """
    sentence = ""
    if resolution.kind == "predictions":
        sentence = _describe_items(columns, resolution.roles)
    elif not resolution.columns.get("label"):
        sentence = _describe_answers(columns, table_name)
    return [sentence] if sentence else []


def _has_texts(columns: Columns) -> bool:
    """Return whether a column, or a field of objects in one, contains texts."""
    contents = describe_contents({**columns, **spread_fields(columns, in_lists=True)})
    return bool(contents.list_texts(contents))


def _describe_answers(columns: Columns, table_name: str) -> str:
    """Return a sentence on columns that may be answers of a model; "" if there are no such columns.

    Columns that share their values, as labels and answers do, may be labels and the answers to them.

    Args:
        columns: Columns of items without labels by their names.
        table_name: Name of the table, for error messages.
    """
    try:
        roles = find_prediction_roles(columns, table_name, PredictionOptions())
    # The table cannot be read as predictions, so there is nothing to report.
    except ValueError:
        return ""
    if not roles.answer_candidates:
        return ""
    names = format_list(list(map(repr, roles.answer_candidates)))
    return (
        f"{names} have values in common. If some of these columns are answers of a model, set "
        "`kind` to predictions."
    )


def _describe_items(columns: Columns, roles: Sequence[Role]) -> str:
    """Return a sentence on the texts in a table of predictions, which may be items for another model.

    Args:
        columns: Columns by their names.
        roles: The roles of the columns that were read.

    Returns:
        The sentence; "" if there are no texts, or if a heading or an option identifies the answers.
    """
    if not _is_comparison_proposed(roles):
        return ""
    contents = describe_contents({**columns, **spread_fields(columns)})
    texts = contents.list_texts(contents)
    if not texts:
        return ""
    return (
        f"The texts of {texts[0]!r} may also be items for another model. Set `kind` to "
        "predictions to use the answers, or to items to use the texts and their labels."
    )


def _is_comparison_proposed(roles: Sequence[Role]) -> bool:
    """Return whether the columns that show correctness were chosen by their cells, not by a heading."""
    return any(role.name == "right" and role.source == "content" for role in roles)


def _describe_unused(rows: RowTable, roles: Sequence[Role]) -> str:
    """Return sentences on the columns that are not read, and on their possible roles; "" if there are none.

    Args:
        rows: The rows, with the roles of their columns.
        roles: The roles, each with its source: "option", "heading" or "content".
    """
    sentences = [
        describe_unused_columns(rows),
        describe_unread_columns(rows),
        describe_answer_columns(rows),
    ]
    # Labels that were chosen by their cells may be correctness instead, next to a confidence.
    if any(role.name == "label" and role.source == "content" for role in roles):
        sentences.append(describe_confidence_columns(rows))
    return " ".join(sentence for sentence in sentences if sentence)


def _describe_unlabeled_rows(mapping: Sequence[LabelRow]) -> list[str]:
    """Return a sentence with the number of rows without a label; an empty list if all rows have one.

    Args:
        mapping: Distinct values of the labels, each with its count and the rule by which it was matched:
            "no label" for values such as "" and "-1".
    """
    unlabeled = [row for row in mapping if row.rule == "no label"]
    if not unlabeled:
        return []
    values = [row.value or "nothing" for row in unlabeled]
    n_rows = sum(row.count for row in unlabeled)
    remedy = ""
    # An empty cell has no name that could be replaced.
    if any(row.value for row in unlabeled):
        remedy = ". If one of these values is a label, rename it with `label_names`"
    doubt = (
        f"Results that need labels leave out {pluralize(n_rows, 'row')} without a label "
        f"({format_list(values)}){remedy}."
    )
    return [doubt]


def _find_kind(
    description: Description, columns: Columns, parts: tables.Parts, table_name: str
) -> str:
    """Return the kind of a table, such as "predictions" or "multiple_choice".

    The settings of a data.yaml decide first, then the headings of known formats, then the cells.

    Args:
        description: The source, with the settings of its data.yaml.
        columns: The columns of the first split by their names.
        parts: Name of a split -> its table.
        table_name: Name of the table, for error messages.

    Returns:
        One of `KINDS`.

    Raises:
        OptionError: If the settings name an unknown task.
    """
    settings = description.settings
    first_table = next(iter(parts.values()))
    if settings.get("kind") == "predictions":
        return "predictions"
    # Either an article per row, as in the files of SQuAD, or a question per row.
    has_paragraphs = tables.find_paragraphs(first_table) is not None
    if has_paragraphs or columns.keys() >= set(tables.EXTRACTIVE_ANSWERS):
        return "question_answering"
    if settings.keys() & set(ScoreOptions.list_names()):
        return "predictions"
    if settings.get("task"):
        return str(check_one_of(settings["task"], KINDS, "task"))
    if settings.keys() & {"prompt_column", "choices_column"}:
        return "multiple_choice"

    # From here on, the table has items of this kind unless it has predictions.
    form = find_known_form(first_table, settings.get("label_column"))
    item_kind = "multiple_choice"
    if form is None or "text_column" in settings:
        item_kind = "classification"
    if settings.get("kind") == "items":
        return item_kind
    # Settings about checks of the rows do not tell anything about columns.
    has_column_settings = bool(settings.keys() - set(CheckOptions.list_names()))
    if form is None and not has_column_settings and _has_only_answers(columns):
        return "predictions"
    options = description.complete(PredictionOptions())
    if _has_predictions(columns, table_name, options, form):
        return "predictions"
    has_named_texts = bool(settings.keys() & {"text_column", "text_pair_column"})
    if form is not None or has_named_texts:
        return item_kind
    if propose_choice_form(first_table) is not None:
        return "multiple_choice"
    return item_kind


def _has_only_answers(columns: Columns) -> bool:
    """Return whether the headings are those of a model's answers, but not of texts or labels.

    Such a table is read as predictions. The error then reports that the labels are missing.
    """
    keys = set(map(make_heading_key, columns))
    if keys & {*TEXT_HEADINGS, *LABEL_HEADINGS}:
        return False
    return bool(keys & MODEL_ANSWER_HEADINGS)


def _has_predictions(
    columns: Columns, table_name: str, options: PredictionOptions, form: ChoiceForm | None
) -> bool:
    """Return whether a table has scores, a confidence, or answers that can be graded.

    Args:
        columns: Columns by their names.
        table_name: Name of the table, for error messages.
        options: Options that name columns.
        form: The known multiple-choice format of the table; None if it has no such format.
    """
    is_known_format = form is not None
    try:
        roles = find_prediction_roles(columns, table_name, options)
        # The headings of a known format are better evidence than the cells.
        if roles.proposals and is_known_format:
            return False
        if _has_answered_texts(roles):
            return False
        # If several columns may contain the answers, the reader of predictions asks for one.
        if roles.answer_candidates:
            return True
        if roles.is_scored or roles.confidences:
            return True
        return read_graded_answers(roles) is not None
    # The reader of predictions will report the same error. In a known format of items, however, a
    # column such as "correct" is the correct choice and not a prediction.
    except ValueError:
        return not is_known_format


def _has_answered_texts(roles: PredictionRoles) -> bool:
    """Return whether a table has texts, and columns that only their cells suggest as predictions.

    These columns may be other properties of the texts, so that the table is read as items.

    Args:
        roles: The columns that may be labels, answers, scores or a confidence. A role is proposed if
            only the cells suggest its columns.
    """
    # If labels and answers were proposed together, no labels are left for items.
    has_answers = roles.is_proposed("answers") and not roles.is_proposed("labels")
    # Numbers that are neither probabilities nor logits may be measurements of the texts.
    has_measures = roles.is_proposed("scores") and roles.scores[0].kind is None
    if not has_answers and not has_measures and not roles.answer_candidates:
        return False
    # Other scores, or a heading such as "confidence", show that the table has predictions.
    if roles.is_scored and not has_measures:
        return False
    if roles.confidences and not roles.is_proposed("confidence"):
        return False
    if find_usual_column(roles.columns, TEXT_HEADINGS) is not None:
        return True
    return bool(describe_contents(roles.columns).list_texts(roles.columns))


def _read_predictions(
    description: Description, columns: Columns, table_name: str
) -> tuple[Resolution, Outcomes | None]:
    """Read a table of predictions, and judge which of them are correct.

    Args:
        description: The source, with the settings of its data.yaml.
        columns: Columns by their names.
        table_name: Name of the table, for error messages.

    Returns:
        How the table was read (without its splits), and which predictions are correct, or None if the
        table has no labels.

    Raises:
        ValueError: If the table cannot be read as predictions.
    """
    options = description.complete(PredictionOptions())
    predictions = find_predictions(columns, table_name, answers_alone=True, options=options)
    # Commands that read the table later refuse invalid scores.
    check_logits(predictions.predictions, scores=predictions.scores or "probabilities")
    resolution = Resolution(
        kind="predictions",
        splits={},
        roles=predictions.roles,
        columns=predictions.taken,
        mapping=predictions.mapping,
        label_names=predictions.label_names or (),
        items=_list_rows(columns),
        doubts=tuple(_describe_order(predictions.mapping, options.label_names)),
        comparison=_write_comparison(predictions),
        has_confidence=not predictions.answers_once,
    )
    return resolution, judge_predictions(predictions)


def _write_comparison(predictions: Predictions) -> str:
    """Return the expression that compares answers with labels, such as "{{ pred == gold }}".

    Args:
        predictions: The columns of the table, the roles that were found, and `references`: whether each
            answer is correct.

    Returns:
        The expression; "" if a heading identifies the columns, or if labels and answers differ in their
        spelling, so that the expression would not find the same answers correct.
    """
    columns = predictions.taken.get("right", ())
    if not _is_comparison_proposed(predictions.roles) or len(columns) != 2:
        return ""
    answer_column, label_column = columns
    answers = predictions.columns[answer_column]
    labels = predictions.columns[label_column]
    is_equal = list(map(operator.eq, answers, labels))
    if not np.array_equal(is_equal, np.asarray(predictions.references)):
        return ""
    answer = quote_field(answer_column, predictions.columns)
    label = quote_field(label_column, predictions.columns)
    return write_expression(f"{answer} == {label}")


def _read_texts(description: Description, parts: tables.Parts, table_name: str) -> Resolution:
    """Read a table of texts to classify, and describe its columns, its labels and doubts about them.

    Args:
        description: The source, with the settings of its data.yaml.
        parts: Name of a split -> its table.
        table_name: Name of the table, for error messages.

    Returns:
        How the table was read, without its splits.

    Raises:
        TypeError: If a cell is not a string.
        ValueError: If the table cannot be read as texts to classify.
    """
    options = description.complete(TextOptions(require_labels=False))
    names = (options.text_column, options.text_pair_column, options.label_column)
    parts = {split: add_nested_columns(table, names) for split, table in parts.items()}
    try:
        roles_by_part, labels = tables.read_text_labels(parts, options, table_name)
    except OptionError:
        # A user who has to name the texts may have to name the labels too: this call reports both.
        tables.read_text_labels(parts, options.replace(require_labels=True), table_name)
        raise
    roles = next(iter(roles_by_part.values()))
    parts = add_role_columns(parts, roles_by_part)
    # Opening all splits raises the errors that other commands would raise.
    opened = tables.open_dataset(datasets.DatasetDict(parts), options=_name_columns(options, roles))
    first_items = next(iter(opened.values()))
    first_table = next(iter(parts.values()))
    doubts = list(roles.doubts)
    mapping: tuple[LabelRow, ...] = ()
    label_names: tuple[str, ...] = ()
    label = roles.get("label")
    if label is None:
        doubts += _describe_missing_labels(roles, first_table)
    else:
        mapping = _map_labels(parts, labels, label.columns[0], table_name)
        label_names = tuple(first_items.features["label"].names)
        doubts += _describe_label_doubts(label, mapping, first_table.column_names)
    doubts += _describe_order(mapping, options.label_names)
    return Resolution(
        kind="classification",
        splits={},
        roles=roles.roles,
        columns={role.name: role.columns for role in roles.roles},
        mapping=mapping,
        label_names=label_names,
        items=_list_items(first_items),
        doubts=tuple(doubts),
    )


def _map_labels(
    parts: tables.Parts, labels: Mapping[str, LabelColumn], column: str, table_name: str
) -> tuple[LabelRow, ...]:
    """Return a row for each distinct label of all splits: its value, its count, its class and the rule.

    Args:
        parts: Name of a split -> its table.
        labels: Name of a split -> its labels as numbers of classes, and the rule for each value.
        column: The column of the labels.
        table_name: Name of the table, for error messages.
    """
    rows_by_split = []
    for split, label_column in labels.items():
        values = select_single_labels(get_labels(parts[split], column, table_name), column)
        rows_by_split.append(label_rows(values, label_column))
    return _merge_label_rows(rows_by_split)


def _name_columns(options: TextOptions, roles: Roles) -> TextOptions:
    """Return the options with the columns that were chosen by their cells, as if the user had named them.

    Reading with these options does not report the same doubts again.

    Args:
        options: The options.
        roles: The roles of the columns, each with its source: "option", "heading" or "content".
    """
    option_by_role = {
        "text": "text_column",
        "text pair": "text_pair_column",
        "label": "label_column",
    }
    changes: dict[str, str] = {}
    for role in roles.roles:
        if role.source == "content":
            option = option_by_role[role.name]
            changes[option] = role.columns[0]
    if not changes:
        return options
    return options.replace(**changes)


def _list_innermost_names(table: datasets.Dataset) -> list[str]:
    """Return the columns of a table, with the innermost fields in place of columns of objects.

    For example, a column "meta" of objects {"date": …} is replaced by "meta.date".

    Args:
        table: The table.
    """
    fields = get_nested_features(table.features)
    names: list[str] = []
    for column in table.column_names:
        inner_fields = [field for field in fields if field.startswith(f"{column}.")]
        # A field of objects, such as "meta.author", is replaced by its own fields.
        parents = {field.rpartition(".")[0] for field in inner_fields}
        leaves = [field for field in inner_fields if field not in parents]
        names += leaves or [column]
    return list(dict.fromkeys(names))


def _describe_missing_labels(roles: Roles, table: datasets.Dataset) -> list[str]:
    """Return a sentence that asks for the labels and lists candidates; an empty list if all columns are used.

    Args:
        roles: The roles of the columns that were read, without the role "label".
        table: The table of the first split.
    """
    used: set[str] = set()
    for role in roles.roles:
        used.update(role.columns)
    unused = [name for name in _list_innermost_names(table) if name not in used]
    if not unused:
        return []
    contents = describe_columns_and_fields(table)
    names = [name for name in unused if name in contents]
    one_hot_columns = find_marked_classes(contents, names)
    if one_hot_columns:
        return [_describe_one_hot_labels(one_hot_columns)]
    # The likeliest come first: columns of classes, then of votes, then the others in table order.
    candidates = (*contents.list_classes(names), *contents.list_votes(names), *unused)
    ordered = list(dict.fromkeys(candidates))
    remedy = f"Choose one of {format_list(ordered)} with `label_column`."
    if len(ordered) == 1:
        remedy = f"If {ordered[0]} holds the labels, name it with `label_column`."
    return [f"No column is used as labels. {remedy}"]


def _describe_one_hot_labels(columns: Sequence[str]) -> str:
    """Return a sentence on one-hot columns of labels, with the expression that reads them.

    Args:
        columns: Columns of 0 and 1, exactly one of which is 1 in each row.
    """
    entries = []
    for name in columns:
        entries.append(f"{name!r}: {quote_column(name)} | int")
    # The expression makes an object such as {'joy': joy | int, 'fear': fear | int}.
    members = ", ".join(entries)
    expression = write_expression(f"{{{members}}}")
    return (
        f"No column is used as labels, but each row has a 1 in one of {format_list(columns)}. "
        f"Read these columns with `label_column`, as in '{expression}'."
    )


def _describe_label_doubts(
    label: Role, mapping: Sequence[LabelRow], column_names: Sequence[str]
) -> list[str]:
    """Return sentences on two doubts: labels may be in another column, or have only one class.

    Args:
        label: The role of the labels: their column, and the source "option", "heading" or "content".
        mapping: Distinct values of the labels, each with its class.
        column_names: The columns of the table.
    """
    column = label.columns[0]
    doubts = []
    usual_columns = list_usual_columns(column_names, LABEL_HEADINGS)
    alternatives = [name for name in usual_columns if name != column]
    if alternatives and label.source == "heading":
        doubts.append(
            f"The column {column!r} is used as labels, but {', '.join(alternatives)} may hold "
            "the labels instead."
        )
    labels = {row.label for row in mapping if row.label}
    if len(labels) == 1:
        doubts.append(
            f"All items of {column!r} have the same label. Choose another column with "
            "`label_column`."
        )
    return doubts


def _read_choices(description: Description, parts: tables.Parts, table_name: str) -> Resolution:
    """Read a table of multiple-choice items, and describe its columns and labels.

    Args:
        description: The source, with the settings of its data.yaml.
        parts: Name of a split -> its table.
        table_name: Name of the table, for error messages.

    Returns:
        How the table was read, without its splits.

    Raises:
        TypeError: If a prompt or a choice is not a string.
        ValueError: If the table cannot be read as multiple choice.
    """
    options = description.complete(ChoiceOptions(require_labels=False))
    opened = tables.open_multiple_choice(datasets.DatasetDict(parts), options=options)
    items = next(iter(opened.values()))
    first_table = next(iter(parts.values()))
    table, form = find_choice_form(first_table, options, table_name)
    columns = {"prompt": form.prompt, "choices": form.choices}
    if form.label is None:
        doubt = "No column is used for the correct choices. Name the column with `label_column`."
        return Resolution(
            kind="multiple_choice",
            splits={},
            columns=columns,
            items=_list_items(items),
            doubts=(doubt,),
        )
    columns["label"] = (form.label,)
    return Resolution(
        kind="multiple_choice",
        splits={},
        roles=_list_proposed_roles(first_table, columns, options),
        columns=columns,
        mapping=_map_choices(get_values(table, form.label), items["label"][:]),
        items=_list_items(items),
        row_doubts=_check_choice_items(opened[choose_checked_split(opened)]),
    )


def _check_choice_items(items: datasets.Dataset) -> tuple[RowDoubt, ...]:
    """Return the doubts on multiple-choice items that the rows of their table cannot show.

    The rows may hold the choices in any columns, and the labels as letters, texts or numbers from 1.

    Args:
        items: The items of the split that an audit would use, with "choices" and positions as labels.
    """
    texts = tuple(name for name in ("prompt", "choices") if name in items.column_names)
    roles = RowRoles(texts, label="label", has_positions=True)
    doubt = check_answer_copies(RowTable(items, roles))
    return () if doubt is None else (doubt,)


def _list_proposed_roles(
    table: datasets.Dataset, columns: Mapping[str, tuple[str, ...]], options: ChoiceOptions
) -> tuple[Role, ...]:
    """Return the roles of columns that neither an option nor a known format identifies, only their cells.

    Args:
        table: The table of the first split.
        columns: The role "prompt", "choices" or "label" -> the columns that were read.
        options: Options that name the columns of these roles.
    """
    known_columns: dict[str, tuple[str, ...]] = {}
    form = find_known_form(table, options.label_column)
    if form is not None:
        known_columns = {"prompt": form.prompt, "choices": form.choices}
        if form.label is not None:
            known_columns["label"] = (form.label,)
    option_values = {
        "prompt": options.prompt_column,
        "choices": options.choices_column,
        "label": options.label_column,
    }
    roles = []
    for name, names in columns.items():
        is_named = option_values[name] is not None
        if not is_named and names != known_columns.get(name):
            roles.append(Role(name, names, "content", "by its cells"))
    return tuple(roles)


def _map_choices(values: Sequence[Any], labels: Sequence[int]) -> tuple[LabelRow, ...]:
    """Return which choice each value of a column of correct choices means, the most frequent first.

    Args:
        values: (N,) cells of the column, such as "B" or 2.
        labels: (N,) positions of the correct choices from 0, -1 for an item without one.

    Returns:
        A row for each distinct pair of a value and a position, with its count and the rule.
    """
    texts = map(str, values)
    counts = Counter(zip(texts, labels, strict=True))
    rows = []
    for (value, label), count in counts.most_common():
        choice = "" if label < 0 else f"choice {label}"
        rule = _describe_choice_rule(value, label)
        rows.append(LabelRow(value, count, choice, rule))
    return tuple(rows)


def _describe_choice_rule(value: str, label: int) -> str:
    """Return the rule by which a value identifies a choice: by number, by letter or by text.

    Args:
        value: The cell as a string, such as "2" or "(B)".
        label: The position of the choice from 0; -1 if the item has no correct choice.
    """
    if label < 0:
        return "no label"
    number = parse_whole_number(value)
    if number is not None:
        return f"by number, counted from {number - label}"
    # A letter may have brackets or a period: "(B)", "B.".
    is_letter = len(value.strip("() .")) == 1
    return "by letter" if is_letter else "by text"


def _read_questions(description: Description, parts: tables.Parts) -> Resolution:
    """Read a table of extractive question answering, and return its columns and first questions.

    Args:
        description: The source.
        parts: Name of a split -> its table; only the first table is read.

    Returns:
        How the table was read. A single split has its number of questions; the splits are empty if there
        are several.

    Raises:
        ValueError: If the table cannot be read as questions with a context and answers.
    """
    table = next(iter(parts.values()))
    source = table
    # A row of SQuAD has several questions, so the file is opened again to get a row per question.
    if tables.find_paragraphs(table) is not None:
        source = description.source
    questions = tables.open_questions(source)
    splits = {}
    if len(parts) == 1:
        splits = {tables.ONLY_SPLIT: len(questions)}
    return Resolution(
        kind="question_answering",
        splits=splits,
        # These columns always have the same names.
        columns={name: (name,) for name in tables.EXTRACTIVE_ANSWERS},
        items=_list_items(questions),
    )


def _list_rows(columns: Columns) -> tuple[Mapping[str, Any], ...]:
    """Return the first `MAX_ITEMS` rows of a table, each as an object of JSON by column."""
    rows = []
    cells_by_row = zip(*columns.values(), strict=False)
    for cells in itertools.islice(cells_by_row, MAX_ITEMS):
        row = dict(zip(columns, cells, strict=True))
        rows.append(_make_plain(row))
    return tuple(rows)


def _list_items(data: datasets.Dataset) -> tuple[Mapping[str, Any], ...]:
    n_items = min(MAX_ITEMS, len(data))
    items = data.select(range(n_items))
    return tuple(map(_make_plain, items.to_list()))


def _merge_label_rows(rows_by_split: Iterable[Sequence[LabelRow]]) -> tuple[LabelRow, ...]:
    """Merge the label mappings of several splits: rows that differ only in their count are added up.

    Args:
        rows_by_split: The mapping of each split: a row for each value of its labels.

    Returns:
        The merged rows, the most frequent value first.
    """
    counts: Counter[LabelRow] = Counter()
    for row in itertools.chain.from_iterable(rows_by_split):
        # With the count set to 0, rows of the same value, class and rule are equal.
        key = dataclasses.replace(row, count=0)
        counts[key] += row.count
    rows = []
    for key, count in counts.most_common():
        rows.append(dataclasses.replace(key, count=count))
    return tuple(rows)


def _describe_order(mapping: Sequence[LabelRow], label_names: Sequence[str] | None) -> list[str]:
    """Return a sentence if numbers were assigned to classes only by order; an empty list otherwise.

    Args:
        mapping: Distinct values of the labels, each with its class and the rule by which it was matched.
        label_names: The class names in the order of their numbers, if the user gave them; None otherwise.
    """
    if label_names is not None:
        return []
    for row in mapping:
        is_by_order = row.rule.startswith(BY_NUMBER) and row.value != row.label
        # The rule ends in "say it" if the names contain their numbers, as LABEL_1 does.
        if is_by_order and "say it" not in row.rule:
            return ["Numbers were assigned to classes by their order. Check the table of labels."]
    return []


def _make_plain(row: Mapping[str, Any]) -> Any:
    """Return a row with values of JSON only: a date becomes a string, and NaN becomes None."""
    text = json.dumps(row, default=convert_for_json)
    return json.loads(text, parse_constant=lambda _: None)

"""What would be read of a table: which column is what, which value is which class by what rule, what is doubtful."""

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
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_logits, check_one_of
from rightreasons.io import tables
from rightreasons.io.arrow_tables import convert_for_json
from rightreasons.io.choices.forms import (
    ChoiceForm,
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
)
from rightreasons.io.proposals.nested_fields import spread_fields
from rightreasons.io.reading import as_table
from rightreasons.io.roles import Role, Roles, add_role_columns, describe_columns_and_fields
from rightreasons.io.row_checks import RowDoubt, RowTable, check_rows, describe_unused_columns
from rightreasons.io.row_tables import judge_predictions, make_row_table
from rightreasons.io.scores.graded_answers import read_graded_answers
from rightreasons.io.scores.results import Predictions

KINDS = ("classification", "multiple_choice", "question_answering", "predictions")
"""What a table may hold."""

MAX_ITEMS = 3
"""Number of items that are shown."""


@dataclasses.dataclass(frozen=True)
class Resolution(Result):
    """What would be read of a table.

    Attributes:
        kind: "predictions", "multiple_choice", "classification" or "question_answering".
        splits: Name of a split -> number of rows.
        columns: What is read -> the columns that it is read from.
        roles: The roles of these columns, with the reason and the column that comes second.
        mapping: The mapping table: every value of the labels with its count, its class, and the rule by which it was matched.
        label_names: The names of the classes; () if there are none.
        items: The first items, as they are read; the first rows, as they are, if it cannot be read.
        doubts: What a person should look at, in sentences; the first one says why the table cannot be read, if it
            cannot.
        readable: Whether it can be read.
        row_doubts: What the checks of the rows found; see `check_rows`.
        unused: The columns of few values that are not used, with their counts, in a sentence; "" for none.
        comparison: The expression that compares the answers with the labels, if only their cells propose which columns
            they are; "" otherwise.
        has_confidence: Whether predictions have scores or a confidence, and are not answers alone.
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
    """Describe how a table would be read, and what is doubtful about it, without failing on doubt.

    Args:
        table: Anything that `as_table` takes, or a data.yaml.
        label_names: The names of the classes in the order of their numbers, or new names as "old=new".

    Returns:
        The kind of the table, its columns by role, the class of each label, the first items, and doubts.

    Raises:
        TypeError: As `as_table`.
        FileNotFoundError: As `as_table`.
        ValueError: As `as_table`, if there is no table at all, or if a data.yaml names an unknown task.

    Example:
        >>> found = resolve({"p_no": [0.9, 0.2], "p_yes": [0.1, 0.8], "label": [0, 1]})
        >>> found.kind, found.columns["scores"], [(row.value, row.label, row.rule) for row in found.mapping]
        ('predictions', ('p_no', 'p_yes'), [('0', 'no', 'by number, as the names of the columns say it'), \
('1', 'yes', 'by number, as the names of the columns say it')])
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
    # What a reader warns about may be among the doubts already.
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
    parts = _name_parts(opened)
    # Fields and expressions that options name are columns as well.
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
    splits = {name: len(table) for name, table in parts.items()}
    try:
        fields = _read_kind(kind, description, columns, parts, table_name)
    except (TypeError, ValueError) as error:
        doubts = [str(error)]
        remedy = _describe_textless_table(kind, columns)
        if remedy:
            doubts.append(remedy)
        return Resolution(
            kind, splits, items=_list_rows(columns), doubts=tuple(doubts), readable=False
        )
    fields = {"splits": splits, **fields}
    fields["columns"] = {name: names for name, names in fields["columns"].items() if names}
    fields["doubts"] = (
        *fields.get("doubts", ()),
        *_describe_other_kind(kind, description, columns, fields, table_name),
        *_describe_unlabeled_rows(fields.get("mapping", ())),
    )
    rows = make_row_table(parts, fields["columns"], fields.pop("outcomes", None))
    # Questions repeat their context, and have several right answers: both look like faults of rows.
    if kind != "question_answering":
        settled = description.complete(LookOptions()).settled_checks
        fields["row_doubts"] = tuple(check_rows(rows, settled))
    fields["unused"] = _describe_unused(rows, fields.get("roles", ()))
    return Resolution(kind=kind, **fields)


def _read_kind(
    kind: str, description: Description, columns: Columns, parts: tables.Parts, table_name: str
) -> dict[str, Any]:
    """Read a table as one of its kind, and return the fields of its `Resolution`.

    Args:
        kind: One of `KINDS`.
        description: The source, with the settings of its data.yaml.
        columns: The columns of the first split.
        parts: The table of each split.
        table_name: What the table is called, for errors.

    Returns:
        Fields by name, `columns` always, and `outcomes` for predictions.

    Raises:
        TypeError: If a cell has another type than its column needs.
        ValueError: If the table cannot be read as that kind.
    """
    if kind == "predictions":
        return _read_predictions(description, columns, table_name)
    if kind == "multiple_choice":
        return _read_choices(description, parts, table_name)
    if kind == "question_answering":
        return _read_questions(description, parts, table_name)
    return _read_texts(description, parts, table_name)


def _describe_other_kind(
    kind: str,
    description: Description,
    columns: Columns,
    fields: Mapping[str, Any],
    table_name: str,
) -> list[str]:
    """Return the sentence that names another kind which a table may be; [] if there is none.

    Args:
        kind: The kind that was assumed.
        description: The source; if it says the kind, nothing else is possible.
        columns: The columns of the first split.
        fields: What was read, with the roles and columns.
        table_name: What the table is called, for errors.
    """
    sentence = ""
    if "kind" in description.settings:
        return []
    if kind == "predictions":
        sentence = _describe_items(columns, fields.get("roles", ()))
    elif "label" not in fields["columns"]:
        sentence = _describe_answers(columns, table_name)
    return [sentence] if sentence else []


def _describe_textless_table(kind: str, columns: Columns) -> str:
    """Return the remedy for a table of texts to classify that has no texts; "" for other tables.

    Args:
        kind: The kind that was assumed.
        columns: The columns, whose fields may be texts as well.
    """
    if kind != "classification":
        return ""
    contents = describe_contents({**columns, **spread_fields(columns, in_lists=True)})
    if contents.list_texts(contents):
        return ""
    return (
        "No column holds texts. If the table holds answers or scores of a model, set `kind` to "
        "predictions."
    )


def _describe_answers(columns: Columns, table_name: str) -> str:
    """Describe which columns of items without labels may be labels and answers; "" for none.

    Args:
        columns: Column by name.
        table_name: What the table is called, for errors.
    """
    try:
        roles = find_prediction_roles(columns, table_name, PredictionOptions())
    # A table that cannot be predictions is no second kind.
    except ValueError:
        return ""
    if not roles.answer_candidates:
        return ""
    names = format_list(list(map(repr, roles.answer_candidates)))
    return (
        f"{names} hold the same values. If some of these columns are answers of a model, set "
        "`kind` to predictions."
    )


def _describe_items(columns: Columns, roles: Sequence[Role]) -> str:
    """Describe that predictions with texts may also be items to ask a model about; "" if they cannot.

    This is possible if only the cells suggest which columns are answers and labels.

    Args:
        columns: Column by name.
        roles: The roles of the columns that were read.
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
    """Return whether only the cells suggest which columns show that an answer is correct."""
    return any(role.name == "right" and role.source == "content" for role in roles)


def _describe_unused(rows: RowTable, roles: Sequence[Role]) -> str:
    """Describe the columns that are not read, and what they may be; "" if nothing is to be said.

    Args:
        rows: The rows, with the roles of their columns.
        roles: The roles, with the reason for each.
    """
    sentences = [describe_unused_columns(rows), describe_answer_columns(rows)]
    for role in roles:
        # Labels that no heading names may also say which answers are correct.
        if role.name == "label" and role.source == "content":
            sentences.append(describe_confidence_columns(rows))
            break
    return " ".join(sentence for sentence in sentences if sentence)


def _name_parts(opened: Any) -> dict[str, datasets.Dataset]:
    """Return the tables of the splits by their names; "" is that of the only one."""
    if isinstance(opened, datasets.Dataset):
        return {"": opened}
    return dict(opened)


def _describe_unlabeled_rows(mapping: Sequence[LabelRow]) -> list[str]:
    """Return a sentence about the rows whose value is no label, with their number; [] for none.

    Args:
        mapping: Every value of the labels, with its count and its class.
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
        f"{n_rows:,} rows have no label ({format_list(values)}), and are left out of results that "
        f"need labels{remedy}."
    )
    return [doubt]


def _find_kind(
    description: Description, columns: Columns, parts: tables.Parts, table_name: str
) -> str:
    """Decide what a table holds: predictions, multiple choice, questions on a context, or texts.

    What the description says comes first, then known columns, then what the cells suggest.

    Args:
        description: The source, with the settings of its data.yaml.
        columns: The columns of the first split.
        parts: The table of each split.
        table_name: What the table is called, for errors.

    Returns:
        One of `KINDS`.

    Raises:
        OptionError: If the description names an unknown task.
    """
    settings = description.settings
    first_table = next(iter(parts.values()))
    if settings.get("kind") == "predictions":
        return "predictions"
    # SQuAD as it is released, or one question per row.
    has_paragraphs = tables.find_paragraphs(first_table) is not None
    if has_paragraphs or columns.keys() >= set(tables.EXTRACTIVE_ANSWERS):
        return "question_answering"
    if settings.keys() & set(ScoreOptions.list_names()):
        return "predictions"
    if settings.get("task"):
        return str(check_one_of(settings["task"], KINDS, "task"))
    if settings.keys() & {"prompt_column", "choices_column"}:
        return "multiple_choice"
    form = find_known_form(first_table, settings.get("label_column"))
    item_kind = "multiple_choice"
    if form is None or "text_column" in settings:
        item_kind = "classification"
    if settings.get("kind") == "items":
        return item_kind
    # Settled doubts about rows say nothing about columns.
    has_column_settings = bool(settings.keys() - set(CheckOptions.list_names()))
    if form is None and not has_column_settings and _has_answers_alone(columns):
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


def _has_answers_alone(columns: Columns) -> bool:
    """Return whether a table has a model's answers by a heading, but neither texts nor labels.

    Such a table is read as predictions, which reports that the labels are missing.
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
        columns: Column by name.
        table_name: What the table is called, for errors.
        options: Options that name columns.
        form: The known multiple-choice format of the table; None for none.
    """
    try:
        roles = find_prediction_roles(columns, table_name, options)
        # The headings of a known format say more than cells do.
        if roles.proposals and form is not None:
            return False
        if _has_answered_texts(roles):
            return False
        # The reader of predictions asks which of several columns holds the answers.
        if roles.answer_candidates:
            return True
        if roles.is_scored or roles.confident:
            return True
        return read_graded_answers(roles) is not None
    # Predictions with a fault are reported as such. In a known format of items, a column such as
    # "correct" is the right choice, and no prediction.
    except ValueError:
        return form is None


def _has_answered_texts(roles: PredictionRoles) -> bool:
    """Return whether a table with texts has predictions only by its cells, so that it is one of items.

    Columns that look like answers may then be something else about the texts.

    Args:
        roles: The columns that may be labels, answers, scores or a confidence.
    """
    # If labels and answers were proposed together, no labels are left for items.
    has_answers = roles.is_proposed("answers") and not roles.is_proposed("labels")
    # Numbers under the names of classes may be measurements of the texts.
    has_measures = roles.is_proposed("scores") and roles.scores[0].kind is None
    if not has_answers and not has_measures and not roles.answer_candidates:
        return False
    # Scores, or a confidence by its heading, show that these are predictions.
    if roles.is_scored and not has_measures:
        return False
    if roles.confident and not roles.is_proposed("confidence"):
        return False
    if find_usual_column(roles.columns, TEXT_HEADINGS) is not None:
        return True
    return bool(describe_contents(roles.columns).list_texts(roles.columns))


def _read_predictions(
    description: Description, columns: Columns, table_name: str
) -> dict[str, Any]:
    """Read a table of predictions, and return the fields of its `Resolution`.

    Args:
        description: The source, with the settings of its data.yaml.
        columns: Column by name.
        table_name: What the table is called, for errors.

    Raises:
        ValueError: If it cannot be read as predictions.
    """
    options = description.complete(PredictionOptions())
    predictions = find_predictions(columns, table_name, answers_alone=True, options=options)
    # Other commands would refuse invalid scores.
    check_logits(predictions.predictions, scores=predictions.scores or "probabilities")
    return {
        "roles": predictions.roles,
        "columns": predictions.taken,
        "mapping": predictions.mapping,
        "label_names": predictions.label_names or (),
        "items": _list_rows(columns),
        "doubts": tuple(_describe_order(predictions.mapping, options.label_names)),
        "outcomes": judge_predictions(predictions),
        "comparison": _describe_comparison(predictions),
        "has_confidence": not predictions.answers_once,
    }


def _describe_comparison(predictions: Predictions) -> str:
    """Return the expression that compares proposed answers with labels, as "{{ pred == gold }}".

    Args:
        predictions: Answers whose columns only the cells suggest; for others, nothing is returned.

    Returns:
        The expression; "" if it would not find the same answers correct, because labels are spelled
        otherwise than answers.
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


def _read_texts(description: Description, parts: tables.Parts, table_name: str) -> dict[str, Any]:
    """Read a table of texts to classify, and return the fields of its `Resolution`.

    Args:
        description: The source, with the settings of its data.yaml.
        parts: The table of each split.
        table_name: What the table is called, for errors.

    Raises:
        TypeError: If a cell is not a text.
        ValueError: If the table cannot be read as texts to classify.
    """
    options = description.complete(TextOptions(require_labels=False))
    names = (options.text_column, options.text_pair_column, options.label_column)
    parts = {split: add_nested_columns(table, names) for split, table in parts.items()}
    try:
        roles_by_part, labels = tables.read_text_labels(parts, options, table_name)
    except OptionError:
        # If columns have to be named, the error about missing labels is of use as well.
        tables.read_text_labels(parts, options.replace(require_labels=True), table_name)
        raise
    roles = next(iter(roles_by_part.values()))
    parts = add_role_columns(parts, roles_by_part)
    # All splits are opened, so that what is shown can also be used.
    opened = tables.open_dataset(datasets.DatasetDict(parts), options=_name_columns(options, roles))
    first_split = next(iter(opened.values()))
    first_table = next(iter(parts.values()))
    doubts = list(roles.doubts)
    mapping: tuple[LabelRow, ...] = ()
    label_names: tuple[str, ...] = ()
    label = roles.get("label")
    if label is None:
        doubts += _describe_missing_labels(roles, first_table)
    else:
        mapping = _map_labels(parts, labels, label.columns[0], table_name)
        label_names = tuple(first_split.features["label"].names)
        doubts += _describe_label_doubts(label, mapping, first_table.column_names)
    return {
        "roles": roles.roles,
        "columns": {role.name: role.columns for role in roles.roles},
        "mapping": mapping,
        "label_names": label_names,
        "items": _list_items(first_split),
        "doubts": (*doubts, *_describe_order(mapping, options.label_names)),
    }


def _map_labels(
    parts: tables.Parts, labels: Mapping[str, LabelColumn], column: str, table_name: str
) -> tuple[LabelRow, ...]:
    """Return every value of the labels of all splits, with its count, its class and the rule.

    Args:
        parts: The table of each split.
        labels: The labels of each split, as numbers of classes.
        column: The column of the labels.
        table_name: What the table is called, for errors.
    """
    rows_by_split = []
    for split, label_column in labels.items():
        values = select_single_labels(get_labels(parts[split], column, table_name), column)
        rows_by_split.append(label_rows(values, label_column))
    return _merge_label_rows(rows_by_split)


def _name_columns(options: TextOptions, roles: Roles) -> TextOptions:
    """Return the options with the columns that their cells proposed, as if the user had named them.

    Their doubts are not reported a second time then.

    Args:
        options: The options.
        roles: The roles of the columns.
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


def _list_leaves(table: datasets.Dataset) -> list[str]:
    """Return the columns of a table, with the innermost fields in place of columns of objects.

    For example, "meta.date" in place of "meta".
    """
    fields = get_nested_features(table.features)
    names: list[str] = []
    for column in table.column_names:
        inner_fields = [field for field in fields if field.startswith(f"{column}.")]
        # A field that holds fields itself is replaced by these.
        parents = {field.rpartition(".")[0] for field in inner_fields}
        leaves = [field for field in inner_fields if field not in parents]
        names += leaves or [column]
    return list(dict.fromkeys(names))


def _describe_missing_labels(roles: Roles, table: datasets.Dataset) -> list[str]:
    """Return a sentence with the columns that may be the labels of a table without any; [] for none.

    Args:
        roles: The roles of the columns.
        table: The table of the first split.
    """
    used: set[str] = set()
    for role in roles.roles:
        used.update(role.columns)
    unused = [name for name in _list_leaves(table) if name not in used]
    if not unused:
        return []
    contents = describe_columns_and_fields(table)
    names = list(filter(contents.__contains__, unused))
    marks = find_marked_classes(contents, names)
    if marks:
        return [_describe_marks(marks)]
    # Columns that repeat as labels do come first, then the others in the order of the table.
    candidates = (*contents.list_classes(names), *contents.list_votes(names), *unused)
    ordered = list(dict.fromkeys(candidates))
    return [
        f"No column is used as labels. Choose one of {format_list(ordered)} with `label_column`."
    ]


def _describe_marks(columns: Sequence[str]) -> str:
    """Describe one-hot columns of labels, with the expression that reads them.

    Args:
        columns: Columns of 0 and 1, of which one is 1 in each row.
    """
    entries = []
    for name in columns:
        entries.append(f"{name!r}: {quote_column(name)} | int")
    # An object by class, such as {'joy': joy | int, 'fear': fear | int}.
    members = ", ".join(entries)
    expression = write_expression(f"{{{members}}}")
    return (
        f"No column is used as labels, but each row has a 1 in one of {format_list(columns)}. "
        f"Read these columns with `label_column`, as in '{expression}'."
    )


def _describe_label_doubts(
    label: Role, mapping: Sequence[LabelRow], column_names: Sequence[str]
) -> list[str]:
    """Return sentences about labels that may be in another column, or that are all one class.

    Args:
        label: The role of the labels.
        mapping: Every value of the labels, with its class.
        column_names: The columns of the table.
    """
    column = label.columns[0]
    doubts = []
    alternatives = list_usual_columns(column_names, LABEL_HEADINGS)
    # If the labels are an expression, all columns are alternatives.
    if column in alternatives:
        alternatives.remove(column)
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


def _read_choices(description: Description, parts: tables.Parts, table_name: str) -> dict[str, Any]:
    """Read a table of multiple-choice items, and return the fields of its `Resolution`.

    Args:
        description: The source, with the settings of its data.yaml.
        parts: The table of each split.
        table_name: What the table is called, for errors.

    Raises:
        TypeError: If a prompt or a choice is no text.
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
        return {"columns": columns, "items": _list_items(items), "doubts": (doubt,)}
    columns["label"] = (form.label,)
    return {
        "roles": _describe_choice_roles(first_table, columns, options),
        "columns": columns,
        "mapping": _map_choices(get_values(table, form.label), items["label"][:]),
        "items": _list_items(items),
    }


def _describe_choice_roles(
    table: datasets.Dataset, columns: Mapping[str, tuple[str, ...]], options: ChoiceOptions
) -> tuple[Role, ...]:
    """Return the roles of those columns that only their cells suggest.

    Args:
        table: The table of the first split.
        columns: "prompt", "choices" and "label" -> the columns that were read.
        options: Options that name columns.
    """
    columns_of_form: dict[str, tuple[str, ...]] = {}
    form = find_known_form(table, options.label_column)
    if form is not None:
        columns_of_form = {"prompt": form.prompt, "choices": form.choices}
        if form.label is not None:
            columns_of_form["label"] = (form.label,)
    option_values = {
        "prompt": options.prompt_column,
        "choices": options.choices_column,
        "label": options.label_column,
    }
    roles = []
    for name, names in columns.items():
        is_named = option_values[name] is not None
        if not is_named and names != columns_of_form.get(name):
            roles.append(Role(name, names, "content", "by its cells"))
    return tuple(roles)


def _map_choices(values: Sequence[Any], labels: Sequence[int]) -> tuple[LabelRow, ...]:
    """Return which choice each value of a column of right choices means, the most frequent first.

    Args:
        values: (N,) cells of the column.
        labels: (N,) positions of the right choices, -1 for none.

    Returns:
        A row for each pair of a value and a position, with its count and the rule.
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
    """Return the rule by which a value names a right choice: by number, by letter or by text.

    Args:
        value: The cell as a text.
        label: The position of the choice; -1 for none.
    """
    if label < 0:
        return "no label"
    number = parse_whole_number(value)
    if number is not None:
        return f"by number, counted from {number - label}"
    # A letter may be in brackets: "(B)".
    is_letter = len(value.strip("() .")) == 1
    return "by letter" if is_letter else "by text"


def _read_questions(
    description: Description, parts: tables.Parts, table_name: str
) -> dict[str, Any]:
    """Read a table of questions on a context, and return the fields of its `Resolution`.

    Args:
        description: The source.
        parts: The table of each split.
        table_name: What the table is called, for errors.

    Raises:
        ValueError: If it cannot be read as such.
    """
    table = next(iter(parts.values()))
    # A file in the form of SQuAD has several questions per row, and is opened as a whole.
    is_nested = tables.find_paragraphs(table) is not None
    questions = tables.open_questions(description.source if is_nested else table)
    fields = {
        # These columns always have the same names.
        "columns": {name: (name,) for name in tables.EXTRACTIVE_ANSWERS},
        "items": _list_items(questions),
    }
    if len(parts) == 1:
        fields["splits"] = {tables.ONLY_SPLIT: len(questions)}
    return fields


def _list_rows(columns: Columns) -> tuple[Mapping[str, Any], ...]:
    """Return the first rows of a table as objects of JSON, one value per column."""
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
    """Merge the rows of label mappings of several splits, and add up the counts of equal ones.

    Args:
        rows_by_split: The rows of each split.

    Returns:
        The rows, the most frequent first.
    """
    counts: Counter[LabelRow] = Counter()
    for row in itertools.chain.from_iterable(rows_by_split):
        # Rows are equal if they differ in nothing but their count.
        key = dataclasses.replace(row, count=0)
        counts[key] += row.count
    rows = []
    for key, count in counts.most_common():
        rows.append(dataclasses.replace(key, count=count))
    return tuple(rows)


def _describe_order(mapping: Sequence[LabelRow], label_names: Sequence[str] | None) -> list[str]:
    """Return a sentence if numbers were matched with class names only by their order; [] otherwise.

    Args:
        mapping: Every value of the labels, with its class and the rule.
        label_names: Names that the user gave in their order; None for none.
    """
    if label_names is not None:
        return []
    for row in mapping:
        is_by_order = row.rule.startswith(BY_NUMBER) and row.value != row.label
        # Names such as LABEL_1 say their number themselves.
        if is_by_order and "say it" not in row.rule:
            return ["Numbers were assigned to classes by their order. Check the table of labels."]
    return []


def _make_plain(row: Mapping[str, Any]) -> Any:
    """Return a row as JSON has it: a date as text, NaN as nothing."""
    text = json.dumps(row, default=convert_for_json)
    return json.loads(text, parse_constant=lambda _: None)

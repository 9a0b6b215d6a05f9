"""What would be read of a table: which column is what, which value is which class by what rule, what is doubtful."""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import datasets
import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.mapping import LabelRow, label_rows
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_logits
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
        mapping: The mapping table: every value of the labels with its count, its class, and the rule by which they met.
        label_names: The names of the classes; () where there are none.
        items: The first items, as they are read; the first rows, as they are, where it cannot be read.
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
    """Say how a table would be read, and what is doubtful about it; nothing is guessed that would then be refused.

    Args:
        table: Anything that `as_table` takes, or a data.yaml.
        label_names: The names of the classes in the order of their numbers, or new names as "old=new".

    Returns:
        A `Resolution`.

    Raises:
        TypeError: As `as_table`.
        FileNotFoundError: As `as_table`.
        ValueError: As `as_table`, where there is no table at all.

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
        description = dataclasses.replace(
            description, settings={**description.settings, "label_names": label_names}
        )
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        resolution = _resolve(description)
    # A doubt that a reader warns about may be among those of the roles as well.
    doubts = (*resolution.doubts, *(str(record.message) for record in records))
    return dataclasses.replace(resolution, doubts=tuple(dict.fromkeys(doubts)))


def _resolve(description: Description) -> Resolution:
    table_name = name_source(description)
    opened = as_table(description, source_name=table_name)
    parts = _name_parts(opened)
    # Fields and expressions that options name are columns as well.
    names = list_named_columns(description.complete(PredictionOptions()))
    columns = get_columns(add_nested_columns(next(iter(parts.values())), names), table_name)
    kind = _find_kind(description, columns, parts, table_name)
    if kind != "predictions":
        parts = tables.divide_splits(opened)
    # A table without splits is one of its own.
    if "" in parts:
        default_split = getattr(opened, "split", None) or tables.ONLY_SPLIT
        parts = {str(default_split): parts[""]}
    splits = {name: len(table) for name, table in parts.items()}
    readers: dict[str, Callable[..., dict[str, Any]]] = {
        "predictions": _read_predictions,
        "multiple_choice": _read_choices,
        "question_answering": _read_questions,
        "classification": _read_texts,
    }
    # Predictions are columns of one table, items have splits.
    source: Any = columns if kind == "predictions" else parts
    try:
        fields = readers[kind](description, source, table_name)
    except (TypeError, ValueError) as error:
        doubts = tuple(filter(None, (str(error), _describe_textless_table(kind, columns))))
        return Resolution(kind, splits, items=_list_rows(columns), doubts=doubts, readable=False)
    fields = {"splits": splits, **fields}
    fields["columns"] = {name: names for name, names in fields["columns"].items() if names}
    doubts = fields.get("doubts", ())
    unlabeled = _describe_unlabeled_rows(fields.get("mapping", ()))
    other_kind = ""
    if "kind" not in description.settings and kind == "predictions":
        other_kind = _describe_items(columns, fields.get("roles", ()))
    elif "kind" not in description.settings and "label" not in fields["columns"]:
        other_kind = _describe_answers(columns, table_name)
    fields["doubts"] = (*doubts, *filter(None, [other_kind]), *unlabeled)
    rows = make_row_table(parts, fields["columns"], fields.pop("outcomes", None))
    # Questions on one text share it, and have many right answers.
    if kind != "question_answering":
        settled = description.complete(LookOptions()).settled_checks
        fields["row_doubts"] = tuple(check_rows(rows, settled))
    fields["unused"] = _describe_unused(rows, fields.get("roles", ()))
    return Resolution(kind=kind, **fields)


def _describe_textless_table(kind: str, columns: Columns) -> str:
    """Return what a table without any texts may be instead of items; "" for other tables."""
    contents = describe_contents({**columns, **spread_fields(columns, in_lists=True)})
    if kind != "classification" or contents.list_texts(contents):
        return ""
    return (
        "No column holds texts: if these are answers or scores of a model, say `kind` predictions."
    )


def _describe_answers(columns: Columns, table_name: str) -> str:
    """Return which columns of items without labels may hold labels and answers; "" for none."""
    try:
        roles = find_prediction_roles(columns, table_name, PredictionOptions())
    except ValueError:
        return ""
    if not roles.answer_candidates:
        return ""
    names = format_list(list(map(repr, roles.answer_candidates)))
    return f"{names} hold the same values: if some of them are answers of a model, say `kind` predictions."


def _describe_items(columns: Columns, roles: Sequence[Role]) -> str:
    """Return the sentence that names both kinds if answers that only their cells propose stand next to texts."""
    is_proposed = any(role.name == "right" and role.source == "content" for role in roles)
    if not is_proposed:
        return ""
    contents = describe_contents({**columns, **spread_fields(columns)})
    texts = contents.list_texts(contents)
    if not texts:
        return ""
    return (
        f"The texts of {texts[0]!r} may be items of another model as well: `kind` settles it, predictions "
        "for these answers or items for the texts and their labels."
    )


def _describe_unused(rows: RowTable, roles: Sequence[Role]) -> str:
    """Return the sentences about the columns that are not read."""
    sentences = [describe_unused_columns(rows), describe_answer_columns(rows)]
    # Flags that no heading calls labels may say which answers are correct.
    if any(role.name == "label" and role.source == "content" for role in roles):
        sentences.append(describe_confidence_columns(rows))
    return " ".join(filter(None, sentences))


def _name_parts(opened: Any) -> dict[str, datasets.Dataset]:
    """Return the tables of the splits by their names; "" is that of the only one."""
    if isinstance(opened, datasets.Dataset):
        return {"": opened}
    return dict(opened)


def _describe_unlabeled_rows(mapping: Sequence[LabelRow]) -> list[str]:
    unlabeled = [row for row in mapping if row.rule == "no label"]
    if not unlabeled:
        return []
    values = format_list([row.value or "nothing" for row in unlabeled])
    n_rows = sum(map(operator.attrgetter("count"), unlabeled))
    remedy = ""
    # Empty cells cannot be renamed.
    if any(row.value for row in unlabeled):
        remedy = "; where that is one, `label_names` renames it"
    return [
        f"{n_rows:,} rows have no label ({values}), and are left out of what needs one{remedy}."
    ]


def _find_kind(
    description: Description, columns: Columns, parts: tables.Parts, table_name: str
) -> str:
    given = description.settings
    if given.get("kind") == "predictions":
        return "predictions"
    # SQuAD as it is released, or one question per row.
    has_paragraphs = tables.find_paragraphs(next(iter(parts.values()))) is not None
    if has_paragraphs or columns.keys() >= {*tables.EXTRACTIVE_ANSWERS}:
        return "question_answering"
    if given.keys() & set(ScoreOptions.list_names()):
        return "predictions"
    if given.get("task"):
        return str(given["task"])
    if given.keys() & {"prompt_column", "choices_column"}:
        return "multiple_choice"
    form = find_known_form(next(iter(parts.values())), given.get("label_column"))
    is_text = form is None or "text_column" in given
    item_kind = "classification" if is_text else "multiple_choice"
    if given.get("kind") == "items":
        return item_kind
    # What is settled about rows says nothing about columns.
    is_described = form is not None or bool(given.keys() - set(CheckOptions.list_names()))
    if not is_described and _has_answers_alone(columns):
        return "predictions"
    options = description.complete(PredictionOptions())
    if _has_predictions(columns, table_name, options, form):
        return "predictions"
    # Texts that the user names are no choices.
    has_named_texts = bool(given.keys() & {"text_column", "text_pair_column"})
    if form is not None or has_named_texts:
        return item_kind
    proposal = propose_choice_form(next(iter(parts.values())))
    return item_kind if proposal is None else "multiple_choice"


def _has_answers_alone(columns: Columns) -> bool:
    """Return whether a table has a model's answers, and neither texts nor labels."""
    keys = set(map(make_heading_key, columns))
    # Such a table may be predictions that lack their labels.
    if keys & {*TEXT_HEADINGS, *LABEL_HEADINGS}:
        return False
    return bool(keys & MODEL_ANSWER_HEADINGS)


def _has_predictions(
    columns: Columns, table_name: str, options: PredictionOptions, form: ChoiceForm | None
) -> bool:
    """Return whether a table has scores, a confidence, or graded answers."""
    try:
        roles = find_prediction_roles(columns, table_name, options)
        if roles.proposals and form is not None:
            # The known headings of a format say more than numbers that add up to 1.
            return False
        if _has_answered_texts(roles):
            return False
        # Which of several columns holds the answers is a question of the reader of predictions.
        if roles.answer_candidates:
            return True
        return roles.is_scored or bool(roles.confident) or read_graded_answers(roles) is not None
    except ValueError:
        # "correct" may be the right choice of an item.
        return form is None


def _has_answered_texts(roles: PredictionRoles) -> bool:
    """Return whether a table has texts, and what may be answers to them only by its cells: these are items."""
    # Labels and answers that were proposed together leave no labels for items.
    has_answers = roles.is_proposed("answers") and not roles.is_proposed("labels")
    # Columns that are called as the classes may be measures of the texts.
    has_measures = roles.is_proposed("scores") and roles.scores[0].kind is None
    if not has_answers and not has_measures and not roles.answer_candidates:
        return False
    # Scores, or a heading of confidences, say that the table holds predictions.
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
    options = description.complete(PredictionOptions())
    predictions = find_predictions(columns, table_name, answers_alone=True, options=options)
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
    """Return the expression that compares proposed answers with labels; "" if there are none, or it errs."""
    columns = predictions.taken.get("right", ())
    is_proposed = any(
        role.name == "right" and role.source == "content" for role in predictions.roles
    )
    if not is_proposed or len(columns) != 2:
        return ""
    answer_column, label_column = columns
    answers = predictions.columns[answer_column]
    labels = predictions.columns[label_column]
    # Labels may be spelled otherwise than answers, which an expression does not know.
    is_equal = list(map(operator.eq, answers, labels))
    if not np.array_equal(is_equal, np.asarray(predictions.references)):
        return ""
    answer = quote_field(answer_column, predictions.columns)
    label = quote_field(label_column, predictions.columns)
    return f"{{{{ {answer} == {label} }}}}"


def _read_texts(description: Description, parts: tables.Parts, table_name: str) -> dict[str, Any]:
    options = description.complete(TextOptions(require_labels=False))
    names = (options.text_column, options.text_pair_column, options.label_column)
    parts = {split: add_nested_columns(table, names) for split, table in parts.items()}
    try:
        roles_by_part, labels = tables.read_text_labels(parts, options, table_name)
    except OptionError:
        # A person who has to name columns is told about those of the labels as well.
        tables.read_text_labels(parts, options.replace(require_labels=True), table_name)
        raise
    roles = next(iter(roles_by_part.values()))
    parts = add_role_columns(parts, roles_by_part)
    doubts = list(roles.doubts)
    # Every split is opened, so that nothing is shown that a command would then refuse.
    opened = tables.open_dataset(datasets.DatasetDict(parts), options=_name_columns(options, roles))
    first_split = next(iter(opened.values()))
    column_names = next(iter(parts.values())).column_names
    mapping: tuple[LabelRow, ...] = ()
    label_names: tuple[str, ...] = ()
    label = roles.get("label")
    if label is None:
        doubts += _describe_missing_labels(roles, next(iter(parts.values())))
    else:
        column = label.columns[0]
        rows_by_part = []
        for split, label_column in labels.items():
            values = select_single_labels(get_labels(parts[split], column, table_name), column)
            rows_by_part.append(label_rows(values, label_column))
        mapping = _merge_label_rows(rows_by_part)
        label_names = tuple(first_split.features["label"].names)
        doubts += _describe_label_doubts(label, mapping, column_names)
    return {
        "roles": roles.roles,
        "columns": {role.name: role.columns for role in roles.roles},
        "mapping": mapping,
        "label_names": label_names,
        "items": _list_items(first_split),
        "doubts": (*doubts, *_describe_order(mapping, options.label_names)),
    }


def _name_columns(options: TextOptions, roles: Roles) -> TextOptions:
    """Return the options with the columns that only their cells proposed, which were told already."""
    options_by_role = {
        "text": "text_column",
        "text pair": "text_pair_column",
        "label": "label_column",
    }
    proposals: dict[str, str] = {}
    for role in roles.roles:
        if role.source == "content":
            proposals[options_by_role[role.name]] = role.columns[0]
    return options.replace(**proposals) if proposals else options


def _list_leaves(table: datasets.Dataset) -> list[str]:
    """Return the columns of a table; in place of one of objects, the fields in it."""
    fields = get_nested_features(table.features)
    names: list[str] = []
    for name in table.column_names:
        inner = [field for field in fields if field.startswith(f"{name}.")]
        # A field that holds fields is no leaf.
        parents = {field.rpartition(".")[0] for field in inner}
        leaves = list(itertools.filterfalse(parents.__contains__, inner))
        names += leaves or [name]
    return list(dict.fromkeys(names))


def _describe_missing_labels(roles: Roles, table: datasets.Dataset) -> list[str]:
    used: set[str] = set()
    for role in roles.roles:
        used.update(role.columns)
    unused = list(itertools.filterfalse(used.__contains__, _list_leaves(table)))
    if not unused:
        return []
    contents = describe_columns_and_fields(table)
    names = list(filter(contents.__contains__, unused))
    # What repeats as labels do comes first, and then the others, in the order of the table.
    candidates = (*contents.list_classes(names), *contents.list_votes(names), *unused)
    ordered = list(dict.fromkeys(candidates))
    marks = find_marked_classes(contents, names)
    if marks:
        return [_describe_marks(marks)]
    return [
        f"No column is taken for the labels; `label_column` names one of {format_list(ordered)}."
    ]


def _describe_marks(columns: Sequence[str]) -> str:
    """Return the expression that makes labels of a column of 0 and 1 for each class."""
    entries = []
    for name in columns:
        entries.append(f"{name!r}: {quote_column(name)} | int")
    expression = f"{{{{ {{{', '.join(entries)}}} }}}}"
    return (
        f"No column is taken for the labels, but each row has a 1 in one of {format_list(columns)}: "
        f"`label_column` reads them, as in '{expression}'."
    )


def _describe_label_doubts(
    label: Role, mapping: Sequence[LabelRow], column_names: Sequence[str]
) -> list[str]:
    column = label.columns[0]
    doubts = []
    alternatives = list_usual_columns(column_names, LABEL_HEADINGS)
    # An expression is none of the columns.
    if column in alternatives:
        alternatives.remove(column)
    if alternatives and label.source == "heading":
        doubts.append(
            f"The column {column!r} is taken for the labels; {', '.join(alternatives)} may be meant "
            "instead."
        )
    labels = {row.label for row in mapping}
    labels.discard("")
    # Nothing can be measured about a single class.
    if len(labels) == 1:
        doubts.append(
            f"All items of {column!r} have one label; `label_column` names another column."
        )
    return doubts


def _read_choices(description: Description, parts: tables.Parts, table_name: str) -> dict[str, Any]:
    options = description.complete(ChoiceOptions(require_labels=False))
    opened = tables.open_multiple_choice(datasets.DatasetDict(parts), options=options)
    items = next(iter(opened.values()))
    table, form = find_choice_form(next(iter(parts.values())), options, table_name)
    columns = {"prompt": form.prompt, "choices": form.choices}
    if form.label is None:
        doubt = "No column is taken for the right choices; `label_column` names it."
        return {"columns": columns, "items": _list_items(items), "doubts": (doubt,)}
    columns["label"] = (form.label,)
    mapping = _map_choices(get_values(table, form.label), items["label"][:])
    return {
        "roles": _describe_choice_roles(next(iter(parts.values())), columns, options),
        "columns": columns,
        "mapping": mapping,
        "items": _list_items(items),
    }


def _describe_choice_roles(
    table: datasets.Dataset, columns: Mapping[str, tuple[str, ...]], options: ChoiceOptions
) -> tuple[Role, ...]:
    """Return the roles of the columns that neither an option nor a known format says, but their cells."""
    known_columns: dict[str, tuple[str, ...]] = {}
    form = find_known_form(table, options.label_column)
    if form is not None:
        known_columns = {"prompt": form.prompt, "choices": form.choices}
        if form.label is not None:
            known_columns["label"] = (form.label,)
    is_named = {
        "prompt": options.prompt_column is not None,
        "choices": options.choices_column is not None,
        "label": options.label_column is not None,
    }
    roles = []
    for name, names in columns.items():
        if not is_named[name] and names != known_columns.get(name):
            roles.append(Role(name, names, "content", "by its cells"))
    return tuple(roles)


def _map_choices(values: Sequence[Any], labels: Sequence[int]) -> tuple[LabelRow, ...]:
    """Return which choice each value of a column of right choices means, the most frequent first."""
    pairs = zip(map(str, values), labels, strict=True)
    rows = []
    for (value, label), count in Counter(pairs).most_common():
        rule = _describe_choice_rule(value, label)
        # -1 is an item without a right choice.
        choice = "" if label < 0 else f"choice {label}"
        rows.append(LabelRow(value, count, choice, rule))
    return tuple(rows)


def _describe_choice_rule(value: str, label: int) -> str:
    """Return how a right choice is written: by its number, its letter or its text."""
    if label < 0:
        return "no label"
    number = parse_whole_number(value)
    if number is not None:
        return f"by number, counted from {number - label}"
    return "by letter" if len(value.strip("() .")) == 1 else "by text"


def _read_questions(
    description: Description, parts: tables.Parts, table_name: str
) -> dict[str, Any]:
    table = next(iter(parts.values()))
    # A file in the form of SQuAD has several questions per row.
    is_nested = tables.find_paragraphs(table) is not None
    questions = tables.open_questions(description.source if is_nested else table)
    # Questions to read have fixed names of columns.
    fields = {
        "columns": {name: (name,) for name in tables.EXTRACTIVE_ANSWERS},
        "items": _list_items(questions),
    }
    if len(parts) == 1:
        fields["splits"] = {tables.ONLY_SPLIT: len(questions)}
    return fields


def _list_rows(columns: Columns) -> tuple[Mapping[str, Any], ...]:
    """Return the first rows of a table as they are."""
    rows = []
    for cells in itertools.islice(zip(*columns.values(), strict=False), MAX_ITEMS):
        row = dict(zip(columns, cells, strict=True))
        rows.append(_make_plain(row))
    return tuple(rows)


def _list_items(data: datasets.Dataset) -> tuple[Mapping[str, Any], ...]:
    n_items = min(MAX_ITEMS, len(data))
    items = data.select(range(n_items))
    return tuple(map(_make_plain, items.to_list()))


def _merge_label_rows(rows_by_split: Iterable[Sequence[LabelRow]]) -> tuple[LabelRow, ...]:
    """Add up the counts of equal rows of the mapping tables of all splits."""
    counts: Counter[LabelRow] = Counter()
    for row in itertools.chain(*rows_by_split):
        # Rows that differ in their count alone are one.
        key = dataclasses.replace(row, count=0)
        counts[key] += row.count
    rows = []
    for key, count in counts.most_common():
        rows.append(dataclasses.replace(key, count=count))
    return tuple(rows)


def _describe_order(mapping: Sequence[LabelRow], label_names: Sequence[str] | None) -> list[str]:
    """Return the doubt about names that numbers got by their order alone."""
    if label_names is not None:
        return []
    for row in mapping:
        is_by_order = row.rule.startswith(BY_NUMBER) and row.value != row.label
        # Names such as LABEL_1 say their number themselves.
        if is_by_order and "say it" not in row.rule:
            return ["Numbers became classes by their order: check the table of labels."]
    return []


def _make_plain(row: Mapping[str, Any]) -> Any:
    """Return a row as JSON has it: a date as text, NaN as nothing."""
    text = json.dumps(row, default=convert_for_json)
    return json.loads(text, parse_constant=lambda _: None)

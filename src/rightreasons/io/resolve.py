"""What would be read of a table: which column is what, which value is which class by what rule, what is doubtful."""

from __future__ import annotations

import dataclasses
import itertools
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import datasets

from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import BY_NUMBER, LabelRow, format_list, label_rows
from rightreasons.core.results import Result
from rightreasons.core.validation import check_logits
from rightreasons.io import tables
from rightreasons.io.columns import (
    LABEL_COLUMNS,
    TEXT_COLUMNS,
    Columns,
    column_key,
    columns_in,
    labels_of,
    named_in,
    one_label_each,
    source_name,
    values_of,
    with_nested,
)
from rightreasons.io.options import ChoiceOptions, PredictionOptions, ScoreOptions, TextOptions
from rightreasons.io.predictions import (
    GIVEN_ANSWERS,
    find_predictions,
    roles_of,
    without_scores,
)
from rightreasons.io.reading import Described, as_table, described, in_json
from rightreasons.io.tables import choice_form, known_form, whole_number

SHOWN = 3
"""How many items are shown."""


@dataclasses.dataclass(frozen=True)
class Resolution(Result):
    """What would be read of a table.

    Attributes:
        kind: "predictions", "multiple_choice", "classification" or "question_answering".
        splits: Name of a split -> number of rows.
        columns: What is read -> the columns that it is read from.
        mapping: The mapping table: every value of the labels with its count, its class, and the rule by which they met.
        label_names: The names of the classes; () where there are none.
        items: The first items, as they are read; the first rows, as they are, where it cannot be read.
        doubts: What a person should look at, in sentences; the first one says why the table cannot be read, if it
            cannot.
        readable: Whether it can be read.
    """

    kind: str
    splits: Mapping[str, int]
    columns: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    mapping: tuple[LabelRow, ...] = ()
    label_names: tuple[str, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()
    doubts: tuple[str, ...] = ()
    readable: bool = True


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
    description = described(table)
    if label_names is not None:
        description = dataclasses.replace(
            description, given={**description.given, "label_names": label_names}
        )
    where = source_name(description)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened = as_table(description, where=where)
    doubts = [str(warning.message) for warning in caught]
    parts = {"": opened} if isinstance(opened, datasets.Dataset) else dict(opened)
    named = named_in(description.options(PredictionOptions()))
    columns = columns_in(with_nested(next(iter(parts.values())), named), where)
    kind = _kind(description, columns, parts, where)
    if kind != "predictions":
        parts = tables.parts_of(opened)
    only = str(getattr(opened, "split", None) or tables.ONLY_SPLIT)
    parts = {name or only: part for name, part in parts.items()}
    splits = {name: len(part) for name, part in parts.items()}
    readers: dict[str, Callable[..., dict[str, Any]]] = {
        "predictions": _predictions,
        "multiple_choice": _choices,
        "question_answering": _questions,
        "classification": _texts,
    }
    try:
        found = readers[kind](description, columns if kind == "predictions" else parts, where)
    except (TypeError, ValueError) as error:
        return Resolution(
            kind, splits, items=_rows(columns), doubts=(str(error), *doubts), readable=False
        )
    without = [row for row in found.get("mapping", ()) if row.rule == "no label"]
    if without:
        shown = format_list([row.value or "nothing" for row in without])
        told_so = f"{sum(row.count for row in without):,} rows have no label ({shown})"
        remedy = (
            "; where that is one, `label_names` renames it"
            if any(row.value for row in without)
            else ""
        )
        doubts.insert(0, f"{told_so}, and are left out of what needs one{remedy}.")
    found["columns"] = {what: which for what, which in found["columns"].items() if which}
    return Resolution(
        **{"kind": kind, "splits": splits, **found, "doubts": (*found.get("doubts", ()), *doubts)}
    )


def _kind(description: Described, columns: Columns, parts: tables.Parts, where: str) -> str:
    given = description.given
    if "paragraphs" in columns or columns.keys() >= {
        *tables.EXTRACTIVE_ANSWERS
    }:  # in the form of SQuAD, or flat
        return "question_answering"
    if given.keys() & set(ScoreOptions.list_names()):
        return "predictions"
    if given.get("task") or given.keys() & {"prompt_column", "choices_column"}:
        return str(given.get("task") or "multiple_choice")
    form = known_form(next(iter(parts.values())), given.get("label_column"))
    lower = {column_key(name) for name in columns}
    if lower & GIVEN_ANSWERS and not (form or given or lower & {*TEXT_COLUMNS, *LABEL_COLUMNS}):
        return "predictions"  # which lack labels
    try:
        roles = roles_of(columns, where, description.options(PredictionOptions()))
        scored = roles.scored or bool(roles.confident) or without_scores(roles) is not None
    except ValueError:
        scored = form is None  # "correct" may be the right choice of an item
    if scored:
        return "predictions"
    return "classification" if form is None or "text_column" in given else "multiple_choice"


def _predictions(description: Described, columns: Columns, where: str) -> dict[str, Any]:
    options = description.options(PredictionOptions())
    read = find_predictions(columns, where, answers_alone=True, options=options)
    check_logits(read.predictions, scores=read.scores or "probabilities")
    return {
        "columns": read.taken,
        "mapping": read.mapping,
        "label_names": read.label_names or (),
        "items": _rows(columns),
        "doubts": tuple(
            filter(None, (read.doubt, *_order_told(read.mapping, options.label_names)))
        ),
    }


def _texts(description: Described, parts: tables.Parts, where: str) -> dict[str, Any]:
    options = description.options(TextOptions(require_labels=False))
    named = (options.text_column, options.text_pair_column, options.label_column)
    parts = {part: with_nested(data, named) for part, data in parts.items()}
    data = next(iter(parts.values()))
    try:
        meant, labels = tables.read_meant(parts, options, where)
    except OptionError:  # where a person has to name columns, those of the labels are among them
        tables.read_meant(parts, options.replace(require_labels=True), where)
        raise
    text, pair, label = next(iter(meant.values()))
    # Every split is opened, so that nothing is found that a command would then refuse.
    opened = tables.open_dataset(datasets.DatasetDict(parts), options=options)
    first = next(iter(opened))
    columns = {
        "text": (text,),
        "text pair": (pair,) if pair else (),
        "label": (label,) if label else (),
    }
    mapping: tuple[LabelRow, ...] = ()
    doubts = []
    others = [name for name in data.column_names if name not in (text, pair)]
    if label is None and others:
        doubts.append(
            f"No column is taken for the labels; `label_column` names one of {', '.join(others)}."
        )
    if label is not None:
        mapping = _merged(
            label_rows(one_label_each(labels_of(parts[part], label, where), label), column)
            for part, column in labels.items()
        )
        others = [
            name
            for name in data.column_names
            if column_key(name) in LABEL_COLUMNS and name != label
        ]
        if others and options.label_column is None:
            doubts.append(
                f"The column {label!r} is taken for the labels; {', '.join(others)} may be meant instead."
            )
    if len({row.label for row in mapping if row.label}) == 1:
        doubts.append(
            f"All items of {label!r} have one label; `label_column` names another column."
        )
    return {
        "columns": columns,
        "mapping": mapping,
        "label_names": tuple(opened[first].features["label"].names) if label is not None else (),
        "items": _items(opened[first]),
        "doubts": (*doubts, *_order_told(mapping, options.label_names)),
    }


def _choices(description: Described, parts: tables.Parts, where: str) -> dict[str, Any]:
    options = description.options(ChoiceOptions(require_labels=False))
    opened = tables.open_multiple_choice(datasets.DatasetDict(parts), options=options)
    first = next(iter(opened))
    data, form = choice_form(next(iter(parts.values())), options, where)
    columns = {
        "prompt": form.prompt,
        "choices": form.choices,
        "label": (form.label,) if form.label else (),
    }
    mapping: tuple[LabelRow, ...] = ()
    if form.label is not None:
        pairs = Counter(
            zip(map(str, values_of(data, form.label)), opened[first]["label"][:], strict=True)
        )
        mapping = tuple(
            LabelRow(value, count, "" if place < 0 else f"choice {place}", _rule(value, place))
            for (value, place), count in pairs.most_common()
        )
    return {"columns": columns, "mapping": mapping, "items": _items(opened[first])}


def _questions(description: Described, parts: tables.Parts, where: str) -> dict[str, Any]:
    first = next(iter(parts.values()))
    opened = tables.open_questions(
        description.source if "paragraphs" in first.column_names else first
    )
    splits = {} if len(parts) > 1 else {"splits": {tables.ONLY_SPLIT: len(opened)}}
    return {
        "columns": {name: (name,) for name in tables.EXTRACTIVE_ANSWERS},
        "items": _items(opened),
        **splits,
    }


def _rows(columns: Columns) -> tuple[Mapping[str, Any], ...]:
    """Return the first rows of a table as they are."""
    rows = itertools.islice(zip(*columns.values(), strict=False), SHOWN)
    return tuple(_plain(dict(zip(columns, row, strict=True))) for row in rows)


def _items(data: datasets.Dataset) -> tuple[Mapping[str, Any], ...]:
    return tuple(map(_plain, data.select(range(min(SHOWN, len(data)))).to_list()))


def _rule(value: str, place: int) -> str:
    """Say how a right choice is told: by its number, its letter or its text."""
    if place < 0:
        return "no label"
    number = whole_number(value)
    if number is not None:
        return f"by number, counted from {number - place}"
    return "by letter" if len(value.strip("() .")) == 1 else "by text"


def _merged(parts: Iterable[Sequence[LabelRow]]) -> tuple[LabelRow, ...]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in (row for part in parts for row in part):
        counts[row.value, row.label, row.rule] += row.count
    return tuple(
        LabelRow(value, count, label, rule) for (value, label, rule), count in counts.most_common()
    )


def _order_told(mapping: Sequence[LabelRow], label_names: Sequence[str] | None) -> list[str]:
    """Say that names which numbers got by their order, and from nobody, should be looked at."""
    by_order = [row for row in mapping if row.rule.startswith(BY_NUMBER) and row.value != row.label]
    if label_names is not None or not by_order or all("say it" in row.rule for row in by_order):
        return []
    return ["Numbers became classes by their order: check the table of labels."]


def _plain(row: Mapping[str, Any]) -> Any:
    """Return a row as JSON has it: a date as text, NaN as nothing."""
    return json.loads(json.dumps(row, default=in_json), parse_constant=lambda _: None)

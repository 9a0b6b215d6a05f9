"""Opens data sets, from files, folders, the catalog or the hub, in the common schema of a task.

Texts to classify: id, text, perhaps text_pair, label. Multiple choice: id, prompt, choices, label. Extractive question
answering: id, question, context, answers. A split, its labeled items or some of its rows may be chosen.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
import re
import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.choices import TASKS
from rightreasons.core.errors import OptionError, attach_options, make_unknown_name_error
from rightreasons.core.labels.ids import LabelColumn
from rightreasons.core.labels.names import fold_name
from rightreasons.core.labels.numbers import describe_ambiguous_offset, find_first_number
from rightreasons.core.options import accept_options_as_keywords, parse_names
from rightreasons.core.sentences import format_list, format_value
from rightreasons.core.validation import (
    check_all,
    check_columns,
    check_count,
    check_ids,
    check_kind,
    check_one_of,
    check_same_length,
    check_seed,
)
from rightreasons.core.yaml_files import read_yaml
from rightreasons.datasets.builder import CATALOG
from rightreasons.datasets.issues.correcting import correct_dataset
from rightreasons.datasets.question_answering import question_features, read_questions
from rightreasons.io import columns, label_columns
from rightreasons.io.arrow_tables import Splits
from rightreasons.io.columns import add_nested_columns, get_nested_features
from rightreasons.io.descriptions import read_description
from rightreasons.io.files.splits import NAMES_OF_SPLITS
from rightreasons.io.headings import (
    ID_HEADINGS,
    USUAL_HEADINGS,
    find_usual_column,
    is_first_row,
    list_usual_columns,
)
from rightreasons.io.options import (
    ChoiceOptions,
    FileForm,
    SourceOptions,
    TableOptions,
    TextOptions,
)
from rightreasons.io.proposals.choices import (
    ChoiceProposal,
    propose_choices,
    propose_right_choice,
)
from rightreasons.io.reading import as_table
from rightreasons.io.roles import (
    FIRST_TEXT_HEADINGS,
    Role,
    Roles,
    add_role_columns,
    describe_columns_and_fields,
    describe_proposal,
    find_text_roles,
    warn_of_doubts,
)
from rightreasons.io.row_codes import find_repeats

TEST_SPLITS = ("test", "validation", "dev", "valid", "val")
"""The names of the splits to evaluate on, the preferred one first."""


def choose_split(
    splits: Mapping[str, datasets.Dataset],
    split: str | None = None,
    *,
    where: str,
    preferred: Sequence[str] = TEST_SPLITS,
    others: bool = False,
) -> str:
    """Choose one split of a data set.

    Args:
        splits: The items of each split by its name.
        split: The name of the split; None to look for one.
        where: What the data is called, for errors.
        preferred: The names to look for, the best one first.
        others: Whether any other split will do where there is none of these. The only split of a data set always does.

    Returns:
        `split`, or else the first of the candidates with a labeled item, or else the first candidate.

    Raises:
        ValueError: If there is no split of this name, or no candidate.

    Example:
        >>> some, none = (datasets.Dataset.from_dict({"label": [label]}) for label in (1, -1))
        >>> choose_split({"train": some, "test": none, "validation": some}, where="the data")
        'validation'
    """
    if split is not None:
        if split not in splits:
            raise make_unknown_name_error(f"split of {where}", split, splits)
        return split
    known: Iterable[str] = splits if others or len(splits) == 1 else ()
    candidates = [name for name in dict.fromkeys((*preferred, *known)) if name in splits]
    if not candidates:
        raise OptionError(
            f"Expected a split of {where} that is called one of {', '.join(preferred)}, but its splits are "
            f"{', '.join(splits)}: name the one to use with `split`.",
            option="split",
        )
    return next((name for name in candidates if labeled_rows(splits[name])), candidates[0])


def labeled_rows(data: datasets.Dataset) -> list[int]:
    """Return the rows that have a label: public test splits often come with -1 for each, or without the column."""
    labels = data["label"][:] if "label" in data.column_names else []
    return [
        row
        for row, label in enumerate(labels)
        if label is not None and (isinstance(label, str) or label >= 0)
    ]


def labeled_items(data: datasets.Dataset) -> datasets.Dataset:
    """Return the items that have a label, in their order.

    Args:
        data: Items with a column `label`, -1 or None for none; without it, none has a label.
    """
    return data.select(labeled_rows(data))


def limited(data: datasets.Dataset, limit: int | None, seed: int) -> datasets.Dataset:
    """Keep at most `limit` rows of a data set that has a column `id`, chosen by `chosen_rows`; None keeps them all."""
    check_seed(seed)
    if limit is None or check_count(limit, "limit") >= len(data):
        return data
    return data.select(chosen_rows(data["id"][:], limit, seed=seed))


def chosen_rows(
    ids: Sequence[str], limit: int, *, seed: int = 0, groups: Sequence[Any] | None = None
) -> NDArray[np.int64]:
    """Choose rows by (seed, id): their order, their labels and the other rows do not matter.

    Each id has its own pseudo-random rank; the lowest ranks are kept. Hence a smaller choice is part of a larger one.
    Every limit on a number of items in this package means this choice.

    Args:
        ids: N unique ids.
        limit: How many to keep, at most N.
        seed: The seed of the ranks.
        groups: N names of what belongs together, None for a row on its own: it is kept or left out as one, by the rank
            of its name, so that fewer rows may be chosen.

    Returns:
        (limit,) row numbers, ascending; with groups, fewer where the next one is too large, but always the first.

    Example:
        >>> chosen_rows(["a", "b", "c", "d"], 2)
        array([2, 3])
        >>> chosen_rows(["a", "b", "c", "d", "e"], 4, groups=["x", "y", "x", "y", "y"])
        array([1, 3, 4])
    """
    limit = check_count(limit, "limit", minimum=0)
    check_seed(seed)
    if groups is not None:
        check_same_length(ids=ids, groups=groups)
    names = (
        ids
        if groups is None
        else [ids[row] if name is None else name for row, name in enumerate(groups)]
    )
    keys = (f"{seed}/{name}".encode("utf-8", "surrogatepass") for name in names)
    ranks = np.array(
        [int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") for key in keys],
        np.uint64,
    )
    order = np.argsort(ranks, kind="stable")
    if groups is not None and 0 < limit < len(order):
        borders = np.flatnonzero(np.diff(ranks[order])) + 1  # a group ends before each of them
        within = borders[borders <= limit]
        limit = int(within[-1] if within.size else borders[0] if borders.size else len(order))
    return np.sort(order[:limit])


# ---------------------------------------------------------------------------------------------------- the common schema


ONLY_SPLIT = "data"
"""The name of the only split of a table without splits."""

Parts: TypeAlias = "Mapping[str, datasets.Dataset]"
"""The tables of the splits by their names; the only one of a data set without splits is called ""."""

Make = Callable[[datasets.Dataset, str], datasets.Dataset]
OptionsOfTable = TypeVar("OptionsOfTable", bound=TableOptions)


@accept_options_as_keywords(TextOptions)
@attach_options("text_column", "label_column")
def open_dataset(name_or_path: Any, config: str | None = None, *, options: TextOptions) -> Splits:
    """Open a classification data set.

    Args:
        name_or_path: Anything that `as_table` takes, or a data.yaml of `rightreasons look`.
        config: A configuration of the data set.
        options: The fields of `TextOptions`, each of which may be given as a keyword:
            - split: A split; None for all of them.
            - text_column: The column of the texts; None for the first usual name (text, sentence, content, …). A dotted
              name is a field of the objects in a column: `question.stem`.
            - text_pair_column: The column of the second texts; None for the partner of a usual first name (sentence1
              and sentence2, premise and hypothesis, …).
            - label_column: The column of the labels; None for the first usual name (label, class, category, …).
            - id_column: The column of the ids; None for a usual one if its values are unique, and otherwise row
              numbers.
            - label_names: The names of the classes in the order of their ids; None for those of a ClassLabel, or else
              the sorted words, or else the numbers. Labels are looked up among them by name before a number is taken
              for a position (docs/data.md has the rules). Entries "old=new" rename the labels.
            - first_label: The number of the first class where labels are numbers, 0 or 1; None to find out from the
              labels.
            - column_names: The column names of a csv or tsv file without a header, or of rows that are lists.
            - separator: What separates the cells of a csv file; None for what its first lines show.
            - quote: The quotation mark around cells, "none" for none; None for what the file shows.
            - encoding: The encoding of a text file; None for UTF-8, or what it shows.
            - line_format: The names of the columns of lines without separators, as in "label text".
            - log_filter: The filter or scorer of a log whose answers are meant, where there are several.
            - data_dir: The folder of local copies of the catalog's sources.
            - known_issues: off to read data of the catalog as released, or a file of further known issues
              (docs/data.md); None corrects those of this package.
            - revision: A revision on the hub.
            - require_labels: Whether to refuse a data set without labels; otherwise it has no column `label`.
            - drop_empty: Whether to leave out rows with an empty text instead of refusing them.
            - keep_empty: Whether to keep them, as "", where there are no second texts, for a caller that names them.
            - limit: The maximum number of items per split, chosen by (seed, id) alone (see `chosen_rows`), whatever
              their order and their labels.
            - seed: The seed of that choice.

    Returns:
        A Dataset if `split` is given or there are no splits (one file), otherwise a DatasetDict. Columns: `id`
        (string, unique), `text`, `text_pair` where there is one, `label` (ClassLabel, -1 where it is unknown), and all
        other columns unchanged.

    Raises:
        TypeError: If a text is not a string or a label has a type that no class can have.
        ValueError: If a column or a split is missing, a text is empty, a label is unknown or in doubt, an id occurs
            twice, or the columns are those of multiple choice and `text_column` names none of them.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull.", "Grand."], "verdict": ["up", "down", "up"]})
        >>> data = open_dataset(rows, label_column="verdict")
        >>> data[0], data.features["label"].names
        ({'id': '0', 'text': 'Fine.', 'label': 1}, ['down', 'up'])
    """
    name, tables, options = _opened(name_or_path, config, options)
    named = (options.text_column, options.text_pair_column, options.label_column)
    tables = {part: columns.add_nested_columns(data, named) for part, data in tables.items()}
    known = (
        None
        if options.text_column
        else (known_form(data, options.label_column) for data in tables.values())
    )
    form = next(filter(None, known or ()), None)
    if form is not None:
        raise OptionError(
            f"Expected texts to classify in {name}, but its columns {', '.join((*form.prompt, *form.choices))} are "
            "those of multiple choice, which is for multiple-choice and causal language models; text_column= names a "
            "column of texts.",
            option="text_column",
        )
    # Labels that are not required are read where options or headings say so.
    roles, labels = read_text_labels(tables, options, name, propose_labels=options.require_labels)
    tables = add_role_columns(tables, roles)
    warn_of_doubts(next(iter(roles.values())).doubts)

    def make(data: datasets.Dataset, part: str) -> datasets.Dataset:
        text = str(roles[part].get_column("text"))
        pair = roles[part].get_column("text pair")
        label = roles[part].get_column("label")
        texts = [text, *([pair] if pair else [])]
        columns.check_unique_columns(data, (*texts, label), name)
        ids, id_column = _ids(data, options.id_column, part, name)
        repeats = find_repeats(data, ID_HEADINGS, texts) if id_column is None else {}
        keeps = options.keep_empty and pair is None
        values = {column: columns.get_texts(data, column, name) for column in texts}
        rows = _rows_with_words(values, options.drop_empty or keeps, name)
        rows = np.arange(len(data)) if keeps else rows
        if len(rows) < len(data):  # the ids keep the numbers of the rows
            data, ids = data.select(rows), ids.take(pa.array(rows))
            repeats = {name: values.take(pa.array(rows)) for name, values in repeats.items()}
        made: dict[str, tuple[Any, Any]] = {"id": (ids, datasets.Value("string"))}
        for column, source in zip(("text", "text_pair"), texts, strict=False):
            kept = (
                pc.fill_null(values[source], "") if keeps else values[source].take(pa.array(rows))
            )
            made[column] = (kept, datasets.Value("string"))
        if label is not None:
            made["label"] = (
                labels[part].ids[rows],
                datasets.ClassLabel(names=list(labels[part].names)),
            )
        for column, values_of_rows in repeats.items():
            made[column] = (values_of_rows, datasets.Value("string"))
        return limited(
            _assemble(data, made, (text, pair, label, id_column)), options.limit, options.seed
        )

    return _make_corrected(tables, options, make, name)


@accept_options_as_keywords(ChoiceOptions)
@attach_options("prompt_column", "choices_column", "label_column")
def open_multiple_choice(
    name_or_path: Any, config: str | None = None, *, options: ChoiceOptions
) -> Splits:
    """Open a multiple-choice data set.

    It recognizes the usual formats by their columns: {prompt, choices, label}, HellaSwag, PIQA, SocialIQA, COPA, aNLI,
    ARC, CommonsenseQA and OpenBookQA (on the hub and as released), SWAG, Winogrande, CosmosQA, ReClor, LogiQA, AGIEval,
    MedQA, MedMCQA, AQuA-RAT, RACE, MMLU, a question with columns A, B, C, D and a letter as its answer, and else
    a question with a column for each choice, counted from 0 or 1 or lettered (choice_0, choice_1, …; option_a, …), of
    which an item may leave the last ones empty.

    Args:
        name_or_path: As in `open_dataset`.
        config: A configuration of the data set.
        options: The fields of `ChoiceOptions`, each of which may be given as a keyword:
            - split: A split; None for all of them.
            - prompt_column: The column of the prompts, or several, joined by a space; None for those of a known format.
            - choices_column: The column with the list of choices, or one column per choice; None for those of a known
              format.
            - label_column: The column of the right choice: its mark in the list of choices, its number, its letter, or
              its text, the same for all rows, by its number or as a ClassLabel; None for a known format.
            - id_column: As in `open_dataset`.
            - first_label: The number of the first choice, 0 or 1; None for that of the known format, or to find out: 0
              if 0 occurs in any split, 1 if all from 1 to the number of choices do, and otherwise it is in doubt.
            - column_names, separator, quote, encoding, log_filter: As in `open_dataset`.
            - data_dir: The folder of local copies of the catalog's sources.
            - known_issues: off to read data of the catalog as released, or a file of further known issues
              (docs/data.md); None corrects those of this package.
            - revision: A revision on the hub.
            - require_labels: Whether to refuse a data set without labels; otherwise its labels are -1.
            - limit: The maximum number of items per split, chosen as in `open_dataset`.
            - seed: The seed of that choice.

    Returns:
        As `open_dataset`, with the columns `id`, `prompt`, `choices` (list of strings), `label` (the index of the right
        choice, -1 where there is none), and all other columns unchanged.

    Raises:
        TypeError: If a prompt or a choice is not a string.
        ValueError: If a column or a split is missing, an item has fewer than two choices, or a label is none of them.

    Example:
        >>> rows = datasets.Dataset.from_dict(
        ...     {"goal": ["Open a jar"], "sol1": ["Twist the lid."], "sol2": ["Sing."], "label": [0]}
        ... )
        >>> open_multiple_choice(rows)[0]
        {'id': '0', 'prompt': 'Open a jar', 'choices': ['Twist the lid.', 'Sing.'], 'label': 0}
    """
    name, tables, options = _opened(name_or_path, config, options)
    forms = {part: choice_form(data, options, name) for part, data in tables.items()}
    numbers = frozenset(
        number for data, form in forms.values() for number in numbers_in(data, form)
    )

    def make(_: datasets.Dataset, part: str) -> datasets.Dataset:
        data, form = forms[part]
        if form.seen is not None:
            form = dataclasses.replace(form, seen=numbers)
        prompts, choices, labels = read_choices(
            data, form, name, require_labels=options.require_labels
        )
        ids, id_column = _ids(data, options.id_column, part, name)
        text = datasets.Value("string")
        made = {
            "id": (ids, text),
            "prompt": (prompts, text),
            "choices": (choices, datasets.List(text)),
            "label": (labels, datasets.Value("int64")),
        }
        if id_column is None:
            for column, values in find_repeats(data, ID_HEADINGS, form.prompt).items():
                made[column] = (values, text)
        columns_read = (*form.prompt, *form.choices, form.label, id_column)
        columns_read += tuple(
            name for each in columns_read if each for name in columns.list_read_names(each)
        )
        return limited(_assemble(data, made, columns_read), options.limit, options.seed)

    return _make_corrected(tables, options, make, name)


def open_splits(
    name_or_path: Any, config: str | None = None, *, task: str = "classification", **options: Any
) -> dict[str, datasets.Dataset]:
    """Open every split of a data set in the common schema of a task.

    Args:
        name_or_path: As in `open_dataset`.
        config: A configuration of the data set.
        task: "classification" (`open_dataset`) or "multiple_choice" (`open_multiple_choice`).
        **options: Further options of that function, apart from `split`.

    Returns:
        The items of each split by its name; a table without splits is called "data", unless it has a name.

    Raises:
        TypeError: As `open_dataset` and `open_multiple_choice`.
        ValueError: As these, or if there is no such task.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull."], "label": ["up", "down"]})
        >>> {name: items["label"][:] for name, items in open_splits({"train": rows, "test": rows}).items()}
        {'train': [1, 0], 'test': [1, 0]}
        >>> list(open_splits(rows))
        ['data']
    """
    check_one_of(task, TASKS, "task")
    opened = open_multiple_choice if task == "multiple_choice" else open_dataset
    tables = opened(name_or_path, config, **options)
    if isinstance(tables, datasets.Dataset):
        return {str(tables.split or ONLY_SPLIT): tables}
    return {str(name): table for name, table in tables.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class SourceRows:
    """The rows of a split as their owner has them.

    Attributes:
        table: All columns, under their own names.
        ids: The id of each row in what `open_dataset` returns, which may leave rows out.
        names: Common column (text, text_pair, label, id) -> the column of `table` that it is read from. An expression
            such as "{{title}} {{body}}" and row numbers are no column.
    """

    table: datasets.Dataset
    ids: list[str]
    names: dict[str, str]


@accept_options_as_keywords(TextOptions)
def open_source_rows(name_or_path: Any, *, options: TextOptions) -> dict[str, SourceRows]:
    """Open the rows of each split under the names that their owner gave the columns.

    Args:
        name_or_path: As in `open_dataset`.
        options: As in `open_dataset`.

    Returns:
        The rows of each split by its name, as in `open_splits`.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull."], "label": ["up", "down"], "year": [1, 2]})
        >>> source = open_source_rows(rows, text_column="review")["data"]
        >>> source.names, source.table.column_names
        ({'text': 'review', 'label': 'label'}, ['review', 'label', 'year'])
    """
    name, tables, options = _opened(name_or_path, None, options)
    # Options may name fields of objects, which have a role, too.
    fields = (options.text_column, options.text_pair_column, options.label_column)
    tables_with_fields = {split: add_nested_columns(data, fields) for split, data in tables.items()}
    roles = find_text_roles(tables_with_fields, options, name)
    sources = {}
    for split, data in tables.items():
        ids, id_column = _ids(data, options.id_column, split, name)
        column_by_role = {
            "text": roles[split].get_column("text"),
            "text_pair": roles[split].get_column("text pair"),
            "label": roles[split].get_column("label"),
            "id": id_column,
        }
        own_names = {}
        for common, column in column_by_role.items():
            # Expressions and fields of objects have a role, but are no column of the table.
            if column in data.column_names:
                own_names[common] = str(column)
        # A single table has the name that `open_splits` gives it.
        split_name = split or str(data.split or ONLY_SPLIT)
        sources[split_name] = SourceRows(data, ids.to_pylist(), own_names)
    return sources


def open_task_items(
    name_or_path: Any,
    source: SourceOptions,
    task: str | None = None,
    *,
    label_names: Sequence[str] | None = None,
    require_labels: bool = True,
) -> tuple[str, dict[str, datasets.Dataset]]:
    """Open every split of a data set whose columns tell its task where it is not named.

    Args:
        name_or_path: As in `open_dataset`.
        source: Where the data is and what its columns mean.
        task: "classification" or "multiple_choice"; None to find out: multiple choice where there are prompts and
            choices, or else classification.
        label_names: The names of the classes, of classification alone; None for those that `source` or the data has.
        require_labels: As in `open_dataset`.

    Returns:
        The task, and the items of each split by its name.

    Raises:
        ValueError: As `open_splits`.
    """
    task = task or read_description(name_or_path).settings.get("task")
    if task is None and (source.prompt_column or source.choices_column):
        task = "multiple_choice"
    if task is None and (label_names is not None or getattr(source, "text_pair_column", None)):
        task = "classification"

    names: dict[str, Any] = {} if label_names is None else {"label_names": label_names}
    refused: list[ValueError] = []
    for each in ("multiple_choice", "classification") if task is None else (task,):
        try:
            options = {**source.source(each), **names}
            return each, open_splits(name_or_path, **options, require_labels=require_labels)
        except ValueError as error:
            refused.insert(0, error)
    if task is not None:
        raise refused[0]
    options = dict.fromkeys(name for error in refused for name in getattr(error, "option", ()))
    raise OptionError(
        " As multiple choice: ".join(dict.fromkeys(map(str, refused))), option=tuple(options)
    )


# ------------------------------------------------------------------------------------------------------------- private


def _opened(
    name_or_path: Any, config: str | None, options: OptionsOfTable
) -> tuple[str, Parts, OptionsOfTable]:
    """Return what a data set is called in errors, its tables, and the options that its description completes."""
    description = read_description(name_or_path)
    options = description.complete(options)
    name = (
        os.fspath(description.source)
        if isinstance(description.source, (str, os.PathLike))
        else "the data set"
    )
    form = FileForm(**{name: getattr(options, name) for name in FileForm.list_names()})
    tables = as_table(
        description,
        config,
        data_dir=options.data_dir,
        known_issues=options.known_issues,
        revision=options.revision,
        form=form,
    )
    parts = parts_of(tables)
    return (
        name,
        {
            part: columns.add_nested_columns(data, (options.id_column,))
            for part, data in parts.items()
        },
        options,
    )


def parts_of(tables: Splits) -> dict[str, datasets.Dataset]:
    """Return the splits of a data set: its own, or those that a column `split` names in every row, or "" for none.

    Example:
        >>> rows = datasets.Dataset.from_dict({"text": ["Fine.", "Dull.", "Odd."], "split": ["train", "Dev", "train"]})
        >>> {part: data["text"][:] for part, data in parts_of(rows).items()}
        {'train': ['Fine.', 'Odd.'], 'validation': ['Dull.']}
    """
    if not isinstance(tables, datasets.Dataset):
        return dict(tables)
    column = find_usual_column(tables.column_names, ("split",))
    known = {word: split for split, words in NAMES_OF_SPLITS.items() for word in words}
    named = [
        known.get(str(value).lower())
        for value in ([] if column is None else columns.get_values(tables, column))
    ]
    splits = [split for split in NAMES_OF_SPLITS if split in named]
    if None in named or len(splits) < 2:
        return {"": tables}
    table, info, names = (
        tables.with_format("arrow")[:],
        datasets.DatasetInfo(features=tables.features),
        pa.array(named),
    )
    return {
        split: datasets.Dataset(table.filter(pc.equal(names, split)), info=info) for split in splits
    }


def _make_corrected(tables: Parts, options: OptionsOfTable, make: Make, name: str) -> Splits:
    """Make one split, or all of them, with the issues of a user's own table corrected."""
    # The issues of a data set of the catalog were corrected when it was loaded.
    if options.known_issues is None or name in CATALOG:
        return _each(tables, options.split, make, name)
    # A rule may compare a split with others, so all of them are made.
    corrected = correct_dataset(_each(tables, None, make, name), options.known_issues)
    if isinstance(corrected, datasets.Dataset):
        # This one says it if the table has no such split.
        _each(tables, options.split, make, name)
        return corrected
    if options.split is None:
        return corrected
    return corrected[choose_split(corrected, options.split, where=name)]


def _each(tables: Parts, split: str | None, make: Make, name: str) -> Splits:
    """Make one split, or all of them."""
    if "" in tables:
        if split not in (None, tables[""].split):
            raise ValueError(
                f"Expected a split {split!r} of {name}, but it is one table without splits."
            )
        return make(tables[""], "")
    if split is None:
        return datasets.DatasetDict({part: make(data, part) for part, data in tables.items()})
    return make(tables[choose_split(tables, split, where=name)], split)


def read_text_labels(
    tables: Parts, options: TextOptions, name: str, *, propose_labels: bool = True
) -> tuple[dict[str, Roles], dict[str, LabelColumn]]:
    """Find the roles of the columns of each split, and read its labels.

    Returns:
        The roles in each split, and the labels of each split that has some. The classes are those of all splits.
    """
    roles = find_text_roles(tables, options, name, propose_labels=propose_labels)
    tables = add_role_columns(tables, roles)
    labeled = {}
    for part, found_roles in roles.items():
        label = found_roles.get_column("label")
        if label is not None:
            labeled[part] = (tables[part], label)
    return roles, label_columns.read_labels(labeled, options.label_names, options.first_label, name)


def _rows_with_words(
    texts: Mapping[str, pa.ChunkedArray | pa.Array], drop_empty: bool, name: str
) -> NDArray[np.int64]:
    """Check that every text has words, and return the rows to keep."""
    full = np.ones(len(next(iter(texts.values()))), dtype=np.bool_)
    for column, values in texts.items():
        empty = np.asarray(
            pc.fill_null(pc.or_(pc.utf8_is_space(values), pc.equal(values, "")), True)
        )
        if empty.any() and not drop_empty:
            raise OptionError(
                f"Expected a text in each row of the column {column!r} of {name}, but row {empty.argmax()} is empty; "
                "`drop_empty` leaves such rows out.",
                option="drop_empty",
            )
        full &= ~empty
    if not full.any():
        raise ValueError(f"Expected at least one text in {name}, but there is none.")
    return np.flatnonzero(full)


def _ids(
    data: datasets.Dataset, id_column: str | None, part: str, name: str
) -> tuple[pa.Array | pa.ChunkedArray, str | None]:
    """Return unique ids, and the column that they come from (None: row numbers)."""
    column = columns.find_column(data, id_column, ID_HEADINGS, "id_column", name)
    if column is not None:
        ids = columns.read_names(columns.get_cells(columns.get_arrow_column(data, column)))
        if id_column is not None:
            check_ids(ids, column)
        if id_column or (
            len(ids.arrow.unique()) == len(ids) and not pc.any(pc.equal(ids.arrow, "")).as_py()
        ):
            return ids.arrow, column
    numbers = pa.array(np.arange(len(data))).cast(pa.string())
    return pc.binary_join_element_wise(f"{part}-", numbers, "") if part else numbers, None


def _assemble(
    data: datasets.Dataset, made: Mapping[str, tuple[Any, Any]], taken: Sequence[str | None]
) -> datasets.Dataset:
    """Put the common columns first and the columns that were not read after them."""
    info = datasets.DatasetInfo(description=data.info.description, citation=data.info.citation)
    info.features = datasets.Features({column: feature for column, (_, feature) in made.items()})
    schema = info.features.arrow_schema
    arrays = [
        values.cast(kind)
        if isinstance(values, (pa.Array, pa.ChunkedArray))
        else pa.array(values, kind)
        for kind, (values, _) in zip(schema.types, made.values(), strict=True)
    ]
    # Otherwise datasets would pickle and digest the whole table.
    fingerprint = datasets.fingerprint.generate_random_fingerprint()
    table = pa.Table.from_arrays(arrays, schema=schema)
    common = datasets.Dataset(table, info=info, split=data.split, fingerprint=fingerprint)
    rest = [column for column in data.column_names if column not in taken and column not in made]
    if not rest:
        return common
    return datasets.concatenate_datasets(
        [common, data.select_columns(rest)], split=data.split, axis=1
    )


EXTRACTIVE_ANSWERS = ("id", "question", "context", "answers")
"""The columns of a question on a context, with the spans that answer it: {text, answer_start}, a list each."""


def open_questions(
    name_or_path: Any,
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> datasets.Dataset:
    """Open a data set of questions whose answers are spans of a context.

    Args:
        name_or_path: "squad", a JSON file in the form of SQuAD 1.1, any other file or hub id with the columns `id`,
            `question`, `context` and `answers` ({text, answer_start}, a list each), or a Dataset with them.
        split: A split; a file or a Dataset has none, and any name gives all of it.
        data_dir: The folder of local copies of the catalog's sources.
        limit: The maximum number of questions, chosen as in `open_dataset`.
        seed: The seed of that choice.

    Returns:
        The questions; those without an answer (SQuAD 2.0 has them) are left out.

    Raises:
        ValueError: If a column or a split is not there, an id comes twice, or no question has an answer.
    """
    check_kind(data_dir, "data_dir", str | os.PathLike | None)
    name, tables, _ = _opened(
        name_or_path, None, TableOptions(data_dir=None if data_dir is None else os.fspath(data_dir))
    )
    if "" in tables:
        rows = tables[""]
    elif split is None and len(tables) > 1:
        raise OptionError(
            f"Expected `split` for {name}, which has the splits {', '.join(tables)}.",
            option="split",
        )
    else:
        rows = tables[choose_split(tables, split, where=name, others=True)]
    paragraphs = find_paragraphs(rows)
    if paragraphs is not None:
        if paragraphs != "paragraphs":
            rows = rows.rename_column(paragraphs, "paragraphs")
        rows = datasets.Dataset.from_list(
            list(read_questions(rows, name)), features=question_features()
        )
    check_columns(rows.column_names, EXTRACTIVE_ANSWERS, name)
    ids = check_ids(columns.get_values(rows, "id"), f"id of {name}")
    if not isinstance(rows.features["id"], datasets.Value):  # unlike ids, which are one of JSON
        rows = rows.remove_columns("id").add_column("id", ids)
    held = columns.get_values(rows, "answers")
    check_all(
        held,
        _are_answers,
        f"`answers` in {name} to be objects of two lists, `text` and `answer_start`",
    )
    answered = [row for row, answers in enumerate(held) if answers is not None and answers["text"]]
    if not answered:
        raise ValueError(f"Expected questions with answers in {name}, but there is none.")
    return limited(rows.select(answered), limit, seed)


def find_paragraphs(data: datasets.Dataset) -> str | None:
    """Return the column of SQuAD's paragraphs, whatever its heading: lists of objects of a context and its questions."""
    fields = get_nested_features(data.features)
    for name in data.column_names:
        # Articles without any question have no fields.
        if name == "paragraphs" or {f"{name}.context", f"{name}.qas"} <= fields.keys():
            return str(name)
    return None


def _are_answers(answers: Any) -> bool:
    lists = answers if isinstance(answers, dict) else {}
    texts, starts = lists.get("text"), lists.get("answer_start")
    return answers is None or (
        isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts)
    )


load_data = open_dataset
"""The name by which people look for it."""


@dataclasses.dataclass(frozen=True)
class ChoiceForm:
    """The columns of a format.

    Attributes:
        prompt: The columns of the prompt, joined by spaces.
        choices: One column with the list of choices (or of objects {text, label}, or an object {"A": …, "B": …}), or
            one column per choice.
        label: The column of the right choice; None where there is none.
        first_label: The number of the first choice where labels are numbers.
        counted: Whether the user says that labels are numbers.
        seen: Where no known format says whether numbers begin at 0 or 1, those of all splits; None where one does.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str | None
    first_label: int = 0
    counted: bool = False
    seen: frozenset[int] | None = None


_Items: TypeAlias = "Sequence[tuple[list[str], list[str]]]"

_USUAL: Mapping[str, Sequence[str]] = USUAL_HEADINGS["choices"]

FORMS_VARIABLE = "RIGHTREASONS_CHOICE_FORMS"
"""The environment variable that names a file like choice_forms.yaml, whose formats come first."""

# Where no known format fits: a column per choice, counted from 0 or 1 (choice_0, Option 1) or lettered (answer_a).
_COUNTED = re.compile(
    r"(choice|option|answer|candidate|ending|hypothesis)[ _-]?([0-9]{1,2}|[a-z])", re.IGNORECASE
)
# A choice that begins with its letter: "(A) yes", "A) yes", "A. yes".
_MARKED = re.compile(r"\s*\(?([A-Z])[).:]\s*(.*\S)\s*", re.DOTALL)


@functools.cache
def _known_forms(extra: str | None) -> tuple[tuple[frozenset[str], ChoiceForm], ...]:
    """Return the formats with the columns that each needs: those of a user's file, then ours."""
    forms = []
    files = [Path(extra)] if extra else []
    for file in (*files, Path(__file__).with_name("choice_forms.yaml")):
        for row in read_yaml(file):
            needed = {
                name
                for each in (*row["prompt"], *row["choices"])
                for name in columns.list_read_names(each)
            }
            for label in row["label"]:
                form = ChoiceForm(
                    tuple(row["prompt"]), tuple(row["choices"]), label, row.get("first_label", 0)
                )
                forms.append((frozenset(needed), form))
    return tuple(forms)


def known_form(
    data: datasets.Dataset | columns.Columns, label_column: str | None
) -> ChoiceForm | None:
    """Return the known format that a table has, if any; one whose label is the column named, where one is named."""
    present = (
        {*data.column_names, *get_nested_features(data.features)}
        if isinstance(data, datasets.Dataset)
        else {*data}
    )
    return next((form for form in _forms(present, ()) if label_column in (None, form.label)), None)


def _forms(present: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the known formats that columns have, letter case aside; `prompt` names those of the prompt, if any."""
    by_lower = {name.lower(): name for name in sorted(present)}
    known = []
    for needed, form in _known_forms(os.environ.get(FORMS_VARIABLE)):
        if needed <= {*present}:
            known.append(form)
        elif {name.lower() for name in needed} <= by_lower.keys():
            parts = [
                [by_lower.get(name.lower(), name) for name in part]
                for part in (form.prompt, form.choices)
            ]
            if not any(
                map(columns.is_expression, itertools.chain(*parts))
            ):  # which spells its columns itself
                label = by_lower.get(str(form.label).lower(), form.label)
                known.append(
                    dataclasses.replace(
                        form, prompt=tuple(parts[0]), choices=tuple(parts[1]), label=label
                    )
                )
    return known or [*filter(None, [_counted_form(present, prompt)])]


def _counted_form(present: Collection[str], prompt: tuple[str, ...]) -> ChoiceForm | None:
    """Return the format of columns that are named like choices and counted."""
    series: dict[tuple[str, bool], dict[int, str]] = {}
    for match in filter(None, map(_COUNTED.fullmatch, sorted(present))):
        number = match[2].isdigit()
        place = int(match[2]) if number else ord(match[2].lower()) - ord("a")
        series.setdefault((match[1].lower(), number), {})[place] = match[0]
    usual = {what: find_usual_column(sorted(present), each) for what, each in _USUAL.items()}
    prompt = prompt or tuple(name for what in ("passage", "question") if (name := usual[what]))
    if prompt and usual["choices"]:
        return ChoiceForm(prompt, (usual["choices"],), usual["label"], seen=frozenset())
    for (_, number), places in series.items():
        first = min(places)
        if (
            prompt
            and len(places) > 1
            and first <= number
            and {*places} == {*range(first, first + len(places))}
        ):
            counts = (
                number and first == 0
            )  # so do labels; where choices count from 1, labels may count from 0
            choices = tuple(places[place] for place in sorted(places))
            return ChoiceForm(prompt, choices, usual["label"], seen=None if counts else frozenset())
    return None


def propose_choice_form(data: datasets.Dataset) -> ChoiceProposal | None:
    """Propose the columns of items with choices by their cells; None if a heading says that there are texts."""
    # The first row of a table without a heading proposes nothing.
    if is_first_row(data.column_names) or list_usual_columns(
        data.column_names, FIRST_TEXT_HEADINGS
    ):
        return None
    return propose_choices(describe_columns_and_fields(data))


def choice_form(
    data: datasets.Dataset, options: ChoiceOptions, name: str
) -> tuple[datasets.Dataset, ChoiceForm]:
    """Find the format of a data set: the columns that the user named, and otherwise a known format.

    Returns:
        The data set, with the nested columns of the format as separate columns, and the format.
    """
    nested = get_nested_features(data.features)
    present = {*data.column_names, *nested}
    prompt, choices = (
        _names(named, present) for named in (options.prompt_column, options.choices_column)
    )
    if prompt and choices:
        label = find_usual_column(data.column_names, _USUAL["label"])
        form = ChoiceForm(prompt, choices, label, seen=frozenset())
    else:
        known = _forms(present, prompt)
        proposal = None
        if not known and options.choices_column is None:
            proposal = propose_choice_form(data)
        if proposal is not None:
            warn_of_doubts([proposal.in_words])
            form = ChoiceForm(proposal.prompt, proposal.choices, proposal.label, seen=frozenset())
            known = [form]
        if not known:
            raise OptionError(
                f"Expected prompts and choices in {name} in a known format, but its columns are "
                f"{format_list((*data.column_names, *nested))}; name them with prompt_column= and choices_column="
                f"{columns.describe_missing_heading(data)}.",
                option=("prompt_column", "choices_column"),
            )
        known.sort(key=lambda each: not columns.list_read_names(str(each.label)) <= present)
        form = known[0]
        label = form.label if columns.list_read_names(str(form.label)) <= present else None
        form = dataclasses.replace(
            form, prompt=prompt or form.prompt, choices=choices or form.choices, label=label
        )
    form = dataclasses.replace(form, label=options.label_column or form.label)
    if form.label is None:
        form = _propose_right_choice(data, form)
    if options.first_label is not None:
        form = dataclasses.replace(form, first_label=options.first_label, counted=True)
    data = add_nested_columns(data, (*form.prompt, *form.choices, form.label))
    read = {
        "prompt_column": form.prompt,
        "choices_column": form.choices,
        "label_column": _names(form.label),
    }
    for option, named in read.items():
        for column in named:
            columns.check_column_name(data, column, option, name)
        columns.check_unique_columns(data, named, name)
    return data, form


def _propose_right_choice(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Return a format with the only column whose values point into the choices as that of the right ones."""
    label = propose_right_choice(describe_columns_and_fields(data), form.choices)
    if not label:
        return form
    reason = "each of its values is a choice of its row"
    role = Role("label", (label,), "content", reason)
    warn_of_doubts([describe_proposal("right choices", role, "label_column")])
    return dataclasses.replace(form, label=label, first_label=0, seen=frozenset())


def read_choices(
    data: datasets.Dataset, form: ChoiceForm, name: str, *, require_labels: bool
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the prompts, the choices and the labels of every row, which there have to be, or not."""
    if form.label is None and require_labels:
        columns.require_column((), data, "right choices", _USUAL["label"], "label_column", name)
    parts = zip(
        *(columns.get_texts(data, each, name).to_pylist() for each in form.prompt), strict=True
    )
    # A passage that an item does not have is left out.
    prompts = [" ".join(filter(None, (part.strip() for part in row if part))) for row in parts]
    check_all(prompts, bool, f"a prompt in each row of {name}")
    cells = zip(*(columns.get_values(data, each) for each in form.choices), strict=True)
    items = [_choices(each, row, name) for row, each in enumerate(cells)]
    labels = [-1] * len(items) if form.label is None else _labels(data, items, form, name)
    return prompts, [texts for texts, _ in items], labels


def _names(named: str | Sequence[str] | None, present: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of columns, which a text may list with commas where it is none itself."""
    if not isinstance(named, str):
        return tuple(named or ())
    parts = tuple(parse_names(named) or ())
    return parts if named not in present and {*parts} <= {*present} else (named,)


def _choices(cells: Sequence[Any], row: int, name: str) -> tuple[list[str], list[str]]:
    """Return the texts of the choices, and their names ("A", "1", …) where the data has them."""
    content: Any = cells[0]
    marks: list[Any] = []
    if len(cells) > 1:
        content = list(cells)
        while content and content[-1] in (None, ""):  # this item has fewer choices than others
            content.pop()
    elif isinstance(content, dict):
        lettered = {key: content[key] for key in sorted(content) if content[key] is not None}
        if lettered and all(
            len(key) == 1 and key.isascii() and key.isalpha() for key in content
        ):  # {"A": …, "B": …}
            content, marks = list(lettered.values()), list(lettered)
        else:  # {"text": […], "label": ["A", "B", …]}
            content, marks = content.get("text"), content.get("label") or []
    elif isinstance(content, list) and all(
        isinstance(choice, (dict, type(None))) for choice in content
    ):
        # [{"text": …, "label": …}, …]
        marks = [choice.get("label") for choice in content if choice]
        content = [None if choice is None else choice.get("text") for choice in content]
    if not isinstance(content, list) or set(map(type, content)) - {str}:
        raise TypeError(
            f"Expected the choices in {name} to be a list of texts, but row {row} holds {content!r}."
        )
    if len(content) < 2:
        raise ValueError(
            f"Expected at least two choices in each row of {name}, but row {row} has {len(content)}."
        )
    marked = [_MARKED.fullmatch(choice) for choice in content]
    letters = zip(marked, string.ascii_uppercase, strict=False)
    each_has_its_own = all(mark and mark[1] == letter for mark, letter in letters)
    texts = (
        [mark[2] for mark in marked if mark]
        if each_has_its_own
        else [choice.strip() for choice in content]
    )
    return texts, list(map(str, marks))


# ------------------------------------------------------------------------------------------------------- right choices


def numbers_in(data: datasets.Dataset, form: ChoiceForm) -> set[int]:
    """Return the whole numbers in the column of right choices, or among the names of its ClassLabel."""
    if form.label is None:
        return set()
    feature = data.features[form.label]
    values = (
        feature.names
        if isinstance(feature, datasets.ClassLabel)
        else columns.get_values(data, form.label)
    )
    plain = {value for value in values if isinstance(value, (int, float, str))}
    return {number for value in plain if (number := whole_number(value)) is not None}


def _labels(data: datasets.Dataset, items: _Items, form: ChoiceForm, name: str) -> list[int]:
    """Read the column of right choices, in the one way that all of its values can be read.

    The names in a ClassLabel are read like texts; where they name no choices, its numbers are those of the choices.
    """
    values = label_columns.get_labels(data, str(form.label), name)
    if not isinstance(values, label_columns.NamedLabels):
        return _read(values, items, form, name)
    try:
        return _read(
            values, items, dataclasses.replace(form, seen=frozenset(numbers_in(data, form))), name
        )
    except ValueError:
        if {len(texts) for texts, _ in items} != {len(values.names)}:
            raise
        return [-1 if value is None else value for value in values.numbers]


def _read(values: columns.Column, items: _Items, form: ChoiceForm, name: str) -> list[int]:
    rows = [
        row
        for row, value in enumerate(values)
        if not _is_no_label(value, (*items[row][0], *items[row][1]))
    ]
    numbers = {number for row in rows if (number := whole_number(values[row])) is not None} | (
        form.seen or set()
    )
    most, start = max(len(texts) for texts, _ in items), cast("int | None", form.first_label)
    if (
        form.seen is not None and not form.counted
    ):  # None in doubt; a number of no choice is refused where it is read
        start = 0 if max(numbers, default=0) > most else find_first_number(numbers, most, None)
    letters = [*string.ascii_uppercase]
    ways: dict[str, Callable[[Any, list[str], list[str]], int | None]] = {
        "mark": lambda value, _, marks: _position(str(_plain(value)), marks),
        "number": lambda value, texts, _: _number(value, len(texts), start or 0),
        "letter": lambda value, texts, _: _position(
            str(value).strip("() ."), letters[: len(texts)]
        ),  # also "(B)"
        "text": lambda value, texts, _: (
            _position(value.strip(), texts) if isinstance(value, str) else None
        ),
    }
    readings = {way: [read(values[row], *items[row]) for row in rows] for way, read in ways.items()}
    complete = {way: reading for way, reading in readings.items() if None not in reading}
    if form.counted and "number" in complete:
        complete = {"number": complete["number"]}
    where = f"the column {form.label!r} of {name}"
    if not complete:
        unread = [
            row
            for row, *places in zip(rows, *readings.values(), strict=True)
            if {*places} == {None}
        ]
        but = (
            f"row {unread[0]} holds {format_value(values[unread[0]], 40)}"
            if unread
            else "they are mixed"
        )
        raise ValueError(
            f"Expected the number, the letter or the text of a choice in each row of {where}, but {but}; first_label= "
            "says whether numbers count from 0 or from 1."
        )
    way, reading = next(iter(complete.items()))
    if way == "number" and start is None and rows:
        doubt = describe_ambiguous_offset(numbers, most, "first_label says it")
        raise ValueError(
            f"Expected numbers of choices in {where}, but they are {format_list(sorted(numbers))}{doubt}."
        )
    for other, otherwise in (
        complete.items() if way != "mark" else ()
    ):  # a mark is the choice's own name
        for row, first, second in zip(rows, reading, otherwise, strict=True):
            if first != second:
                raise ValueError(
                    f"Expected one meaning for {where}, but row {row} holds {values[row]!r}, which is choice {first} "
                    f"by {way} and choice {second} by {other}; with first_label it is a number."
                )
    labels = dict(zip(rows, reading, strict=True))
    return [-1 if (label := labels.get(row)) is None else label for row in range(len(values))]


def _is_no_label(value: Any, names: Sequence[str]) -> bool:
    """Tell whether a value marks an item without a right choice; -1 and a hyphen may be the names of choices."""
    if isinstance(value, str):
        text = value.strip()
        return not text or (text in ("-1", "-1.0", "-") and text not in names)
    return value is None or value == -1 or value != value


def whole_number(value: Any) -> int | None:
    """Return the whole number from 0 that a value is or writes; None for another value.

    Example:
        >>> whole_number("2.0"), whole_number(1.0), whole_number("-1"), whole_number("B")
        (2, 1, None, None)
    """
    value = _plain(value)
    match = re.fullmatch(r"\s*([0-9]{1,18})(?:\.0+)?\s*", value) if isinstance(value, str) else None
    value = int(match[1]) if match else value
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _plain(value: Any) -> Any:
    """Return a whole float, as a column with a missing number has them, as the number that it was."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _position(value: str, names: Sequence[str]) -> int | None:
    """Return the place of a name; letter case, spaces and hyphens aside where no two names become one by that."""
    if value in names:
        return names.index(value)
    keys = [fold_name(name) for name in names]
    return keys.index(fold_name(value)) if keys.count(fold_name(value)) == 1 else None


def _number(value: Any, n_choices: int, first: int) -> int | None:
    number = whole_number(value)
    return number - first if number is not None and 0 <= number - first < n_choices else None

"""Opens data sets, from files, folders, the catalog or the hub, in the common schema of a task.

Texts to classify: id, text, perhaps text_pair, label. Multiple choice: id, prompt, choices, label. Extractive question
answering: id, question, context, answers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.choices import TASKS
from rightreasons.core.errors import OptionError, did_you_mean, one_line, unknown_name
from rightreasons.core.label_names import LabelColumn
from rightreasons.core.options import takes
from rightreasons.core.validation import check_ids, check_one_of, read_json
from rightreasons.datasets.builder import CATALOG, load_dataset
from rightreasons.datasets.squad import question_features, read_squad
from rightreasons.io import columns
from rightreasons.io.choices import choice_form, known_form, numbers_in, read_choices
from rightreasons.io.columns import read_labels
from rightreasons.io.files import (
    FILE_TYPES,
    data_type,
    dataset_of,
    nested_names,
    read_file,
    short_reason,
    unpacked,
    with_nested,
)
from rightreasons.io.options import ChoiceOptions, SourceOptions, TableOptions, TextOptions
from rightreasons.io.splits import choose_split, limited

# -------------------------------------------------------------------------------------------------------------- folders


MAX_ENTRIES = 10_000
"""The maximum number of files and folders below a folder of data."""

_KEYWORDS = {
    "train": "train|training",
    "validation": "validation|valid|dev|val",
    "test": "test|testing|eval|evaluation",
}
_SEPARATOR = "[-._ 0-9]"
_IN_FOLDERS = {
    split: re.compile(f"(?:.*{_SEPARATOR})?(?:{words})(?:{_SEPARATOR}.*)?") for split, words in _KEYWORDS.items()
}
_IN_FILES = {split: re.compile(f"(?:.*{_SEPARATOR})?(?:{words}){_SEPARATOR}.*") for split, words in _KEYWORDS.items()}
_SHARD = re.compile(r"^data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*$")
_NOT_DATA = frozenset(("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"))
# Where no name tells a split, the files of the most common type are the data; of the first of these in a draw.
_PREFERRED = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
_DESCRIBED = re.compile(r"^(?:configs|dataset_info)\s*:", re.MULTILINE)

Splits: TypeAlias = "datasets.Dataset | datasets.DatasetDict"


def read_folder(path: Path, config: str | None, column_names: Sequence[str] | None) -> Splits:
    """Read a folder; `read_tables` tells more.

    Raises:
        ValueError: If it holds no data files, one of them cannot be read, or those of a split have different columns.
    """
    if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
        refuse_config(path, config)
        return _by_datasets(path, lambda: datasets.load_from_disk(str(path)))
    if _is_described(path):
        return _by_datasets(path, lambda: datasets.load_dataset(str(path), config, cache_dir=_cache_of(path)))
    if not _data_files(path):
        return _by_datasets(path, lambda: datasets.load_dataset(str(path), config, cache_dir=_cache_of(path)))
    refuse_config(path, config)
    tables = {
        split: _joined([path / file for file in names], column_names) for split, names in split_files(path).items()
    }
    return datasets.DatasetDict(
        {split: dataset_of(table, path, split) for split, table in _same_columns(tables).items()}
    )


def _cache_of(path: Path) -> str:
    """Return a cache for this folder as it is: datasets knows one by its name and the names of its files alone."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(path.resolve().rglob("*")):
        if file.is_file():
            digest.update(f"{file}|{file.stat().st_size}|{file.stat().st_mtime_ns}".encode("utf-8", "surrogatepass"))
    return os.path.join(datasets.config.HF_DATASETS_CACHE, "folders", digest.hexdigest())


def split_files(path: Path) -> dict[str, list[str]]:
    """Return the data files of each split of a folder, relative to it.

    Raises:
        ValueError: If there is none.
    """
    files = _data_files(path)
    if not files:
        raise ValueError(f"Expected data files in {path}, but there is none of type {', '.join(FILE_TYPES)}.")
    return _splits(files, path)


def refuse_config(path: Path, config: str | None) -> None:
    """Refuse a configuration of what has none: silence would mean that it was heeded."""
    if config is not None:
        raise ValueError(f"Expected no configuration for {path}, which has none, but got {config!r}.")


def _by_datasets(path: Path, read: Callable[[], Splits]) -> Splits:
    try:
        return read()
    except Exception as error:  # whatever a damaged folder makes of the libraries behind `datasets`
        raise ValueError(
            "Expected a folder of data files or a folder written by save_to_disk, but "
            f"{path} cannot be read: {short_reason(error)}."
        ) from error


def _is_described(path: Path) -> bool:
    """Tell whether a card says which files belong to which configuration, or of which types the columns are."""
    try:
        card = (path / "README.md").read_bytes()[: 1 << 20].decode("utf-8-sig", "replace")
    except OSError:
        return False
    header = re.match(r"---\s*\n(.*?)\n---", card, re.DOTALL)
    return header is not None and _DESCRIBED.search(header[1]) is not None


def _data_files(path: Path) -> list[str]:
    """Return the data files below a folder, sorted, hidden ones left out, relative to it and with slashes."""
    files, n_entries = [], 0
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        if n_entries > MAX_ENTRIES:
            raise ValueError(f"Expected at most {MAX_ENTRIES:,} files in a folder of data, but {path} holds more.")
        subfolders[:] = sorted(name for name in subfolders if not name.startswith((".", "__")))
        for name in sorted(names):
            if not name.startswith((".", "__")) and name not in _NOT_DATA and data_type(Path(name)) in FILE_TYPES:
                files.append((Path(folder) / name).relative_to(path).as_posix())
    return files


def _splits(files: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return the files of each split: by shards, else by folders, else by names of files; else all are `train`."""

    def named(file: str, rule: str) -> list[str]:
        if rule == "shards":
            return _SHARD.findall(file)
        names = Path(file).parent.parts if rule == "folders" else (Path(file).name,)
        words = _IN_FOLDERS if rule == "folders" else _IN_FILES
        return [split for split, word in words.items() if any(map(word.fullmatch, names))]

    for rule in ("shards", "folders", "files"):
        splits: dict[str, list[str]] = {}
        for file in files:
            names = named(file, rule)
            if len(names) > 1:
                raise ValueError(
                    f"Expected each file of {path} to belong to one split by its name, but {file} is named after "
                    f"{' and '.join(names)}."
                )
            for split in names:
                splits.setdefault(split, []).append(file)
        if splits:
            order = [*_KEYWORDS, *splits]
            return {split: splits[split] for split in sorted(splits, key=order.index)}
    types = Counter(data_type(Path(file)) for file in files)
    kind = max(types, key=lambda suffix: (types[suffix], -_PREFERRED.index(suffix)))
    return {"train": [file for file in files if data_type(Path(file)) == kind]}


def _joined(files: Sequence[Path], column_names: Sequence[str] | None) -> pa.Table:
    """Read the files of a split, one after the other."""
    tables: list[pa.Table] = []
    for file in files:
        separated = data_type(file) in (".csv", ".tsv")
        table = read_file(file, column_names if separated else None)
        if tables and set(table.column_names) != set(tables[0].column_names):
            raise ValueError(
                f"Expected the same columns in all files of a split, but {files[0]} has "
                f"{', '.join(tables[0].column_names)} and {file} has {', '.join(table.column_names)}."
            )
        tables.append(table)
    try:
        return pa.concat_tables(
            [table.select(tables[0].column_names) for table in tables], promote_options="permissive"
        )
    except pa.ArrowException as error:
        raise ValueError(
            f"Expected columns of the same types in all files of a split, but those of {files[0]} and others differ: "
            f"{short_reason(error)}."
        ) from None


def _same_columns(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Fill the columns that a split lacks with nulls: a public test split often comes without labels."""
    fields = {field.name: field for table in reversed(list(tables.values())) for field in table.schema}
    filled = {}
    for split, table in tables.items():
        for name in fields.keys() - set(table.column_names):
            table = table.append_column(fields[name], pa.nulls(table.num_rows, fields[name].type))
        filled[split] = table
    return filled


# ---------------------------------------------------------------------------------------------------- the common schema


ONLY_SPLIT = "data"
"""The name of the only split of a table without splits."""

Make = Callable[[datasets.Dataset, str], datasets.Dataset]


@takes(TextOptions)
def open_dataset(name_or_path: Any, config: str | None = None, *, options: TextOptions) -> Splits:
    """Open a classification data set.

    Args:
        name_or_path: A name of `available_datasets()`, a csv, tsv, jsonl, json or parquet file, a folder of data files
            or of `save_to_disk`, a hub id, a Dataset, or a mapping from split names to Datasets.
            A tsv file has no quoting.
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
            - column_names: The column names of a csv or tsv file without a header.
            - data_dir: The folder of local copies of the catalog's sources.
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
    name, tables = _opened(name_or_path, config, options)
    tables = _with_nested(tables, (options.text_column, options.text_pair_column, options.label_column))
    if options.text_column is None:
        _refuse_choices(tables, options.label_column, name)
    # The class names are those of all splits together: one split may lack a class.
    labels = _labels(tables, options, name)

    def make(data: datasets.Dataset, part: str) -> datasets.Dataset:
        text, pair = _text_columns(data, options, name)
        label = find_label_column(data, options.label_column, options.require_labels, name)
        texts = [text, *([pair] if pair else [])]
        ids, id_column = _ids(data, options.id_column, part, name)
        keeps = options.keep_empty and pair is None
        rows = _rows_with_words(data, texts, options.drop_empty or keeps, name)
        rows = np.arange(len(data)) if keeps else rows
        if len(rows) < len(data):  # the ids keep the numbers of the rows
            data, ids = data.select(rows), ids.take(pa.array(rows))
        made: dict[str, tuple[Any, Any]] = {"id": (ids, datasets.Value("string"))}
        for column, source in zip(("text", "text_pair"), texts, strict=False):
            values = _arrow(data, source)
            made[column] = (pc.fill_null(values, "") if keeps else values, datasets.Value("string"))
        if label is not None:
            made["label"] = (labels[part].ids[rows], datasets.ClassLabel(names=list(labels[part].names)))
        return limited(_assemble(data, made, (text, pair, label, id_column)), options.limit, options.seed)

    return _each(tables, options.split, make, name)


@takes(ChoiceOptions)
def open_multiple_choice(name_or_path: Any, config: str | None = None, *, options: ChoiceOptions) -> Splits:
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
            - column_names: The column names of a csv or tsv file without a header.
            - data_dir: The folder of local copies of the catalog's sources.
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
    name, tables = _opened(name_or_path, config, options)
    unlabeled = options.replaced(require_labels=False)
    numbers: set[int] = set()
    for part in [tables] if isinstance(tables, datasets.Dataset) else tables.values():
        numbers |= numbers_in(*choice_form(part, unlabeled, name))

    def make(data: datasets.Dataset, part: str) -> datasets.Dataset:
        data, form = choice_form(data, options, name)
        if form.seen is not None:
            form = dataclasses.replace(form, seen=frozenset(numbers))
        prompts, choices, labels = read_choices(data, form, name)
        ids, id_column = _ids(data, options.id_column, part, name)
        text = datasets.Value("string")
        made = {
            "id": (ids, text),
            "prompt": (prompts, text),
            "choices": (choices, datasets.List(text)),
            "label": (labels, datasets.Value("int64")),
        }
        columns_read = (*form.prompt, *form.choices, form.label, id_column)
        return limited(_assemble(data, made, columns_read), options.limit, options.seed)

    return _each(tables, options.split, make, name)


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
    if task is None and (source.prompt_column or source.choices_column):
        task = "multiple_choice"
    if task is None and (label_names is not None or getattr(source, "text_pair_column", None)):
        task = "classification"

    def opened(task: str) -> dict[str, datasets.Dataset]:
        names: dict[str, Any] = {} if label_names is None else {"label_names": label_names}
        return open_splits(name_or_path, **source.source(task), **names, require_labels=require_labels)

    if task is not None:
        return task, opened(task)
    try:
        return "multiple_choice", opened("multiple_choice")
    except ValueError as no_choices:
        try:
            return "classification", opened("classification")
        except ValueError as no_texts:
            raise ValueError(f"{no_texts} As multiple choice: {no_choices}") from no_texts


def read_tables(
    name_or_path: Any,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    column_names: Sequence[str] | None = None,
) -> Splits:
    """Read a data set with its columns unchanged.

    Args:
        name_or_path: A name of the catalog, a file, a folder, a hub id, a Dataset, or a mapping from split names to
            Datasets.
        config: A configuration of the data set.
        data_dir: The folder of local copies of the catalog's sources.
        revision: A revision on the hub.
        column_names: The column names of a csv or tsv file without a header.

    Returns:
        A DatasetDict, or a Dataset where there are no splits: one file, or the output of `Dataset.save_to_disk`.

    Raises:
        TypeError: If the argument is neither a name nor a path nor a data set.
        FileNotFoundError: If a path does not exist.
        ValueError: If a name is unknown, or a file is not of the type that its suffix says.
    """
    if isinstance(name_or_path, datasets.Dataset):
        return name_or_path
    if isinstance(name_or_path, Mapping):
        for part, rows in name_or_path.items():
            if not isinstance(rows, datasets.Dataset):
                raise TypeError(f"Expected a Dataset for each split, but {one_line(part)} is {one_line(rows)}.")
        return datasets.DatasetDict(name_or_path)
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise TypeError(
            f"Expected a data set by its name, its path or as a Dataset, but got {type(name_or_path).__name__}."
        )
    name = os.fspath(name_or_path)
    if name in CATALOG:
        return load_dataset(name, config, data_dir=data_dir, revision=revision)
    path = Path(name).expanduser()
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except OSError as error:  # a name that no file can have
        raise FileNotFoundError(
            f"Expected a data set, but there is none at {name[:60]!r}…: {error.strerror}."
        ) from None
    if is_file:
        refuse_config(path, config)
        return dataset_of(read_file(path, column_names), path)
    if is_folder:
        return read_folder(path, config, column_names)
    return _hub(name, config, revision)


# ------------------------------------------------------------------------------------------------------------- private


def _hub(name: str, config: str | None, revision: str | None) -> Splits:
    looks_like_a_path = name.startswith((".", "/", "~")) or data_type(Path(name)) in FILE_TYPES
    if looks_like_a_path or name.count("/") > 1:
        raise FileNotFoundError(f"Expected a data set at {name}, but there is no such file or folder.")
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"Expected a data set of this package, a file, a folder or a data set on the hub, but {name!r} cannot be "
            f"read as any of them ({type(error).__name__}: {short_reason(error)}).{did_you_mean(name, CATALOG, n=2)} "
            f"This package has: {', '.join(sorted(CATALOG))}."
        ) from error


def _opened(name_or_path: Any, config: str | None, options: TableOptions) -> tuple[str, Splits]:
    """Return what a data set is called in errors, and its tables."""
    name = os.fspath(name_or_path) if isinstance(name_or_path, (str, os.PathLike)) else "the data set"
    read = {key: getattr(options, key) for key in ("data_dir", "revision", "column_names")}
    return name, _with_nested(read_tables(name_or_path, config, **read), (options.id_column,))


def _with_nested(tables: Splits, names: Iterable[str | None]) -> Splits:
    if isinstance(tables, datasets.Dataset):
        return with_nested(tables, names)
    return datasets.DatasetDict({part: with_nested(data, names) for part, data in tables.items()})


def _each(tables: Splits, split: str | None, make: Make, name: str) -> Splits:
    """Make one split, or all of them."""
    if isinstance(tables, datasets.Dataset):
        name_of_table = str(tables.split) if tables.split is not None else None
        if split is not None and split != name_of_table:
            raise ValueError(f"Expected a split {split!r} of {name}, but it is one table without splits.")
        return make(tables, "")
    if split is None:
        return datasets.DatasetDict({part: make(data, part) for part, data in tables.items()})
    if split not in tables:
        raise unknown_name(f"split of {name}", split, tables)
    return make(tables[split], split)


def _text_columns(data: datasets.Dataset, options: TextOptions, name: str) -> tuple[str, str | None]:
    pair = options.text_pair_column
    if pair is not None:
        columns.named_column(data, pair, "text_pair_column", name)
    if options.text_column is not None:
        return columns.named_column(data, options.text_column, "text_column", name), pair
    if pair is None:
        for usual in columns.PAIR_COLUMNS:
            first, second = (columns.usual_column(data, (part,)) for part in usual)
            if first is not None and second is not None:
                return first, second
    firsts = (*columns.TEXT_COLUMNS, *(first for first, _ in columns.PAIR_COLUMNS))
    usual_text = columns.usual_column(data, [column for column in firsts if column != pair])
    if usual_text is None:
        raise columns.no_column(data, "texts", columns.TEXT_COLUMNS, "text_column", name)
    return usual_text, pair


def _refuse_choices(tables: Splits, label_column: str | None, name: str) -> None:
    """Refuse items of multiple choice: the position of the right choice is no class of the prompt."""
    for data in (tables,) if isinstance(tables, datasets.Dataset) else tables.values():
        form = known_form({*data.column_names, *nested_names(data)}, label_column)
        if form is not None:
            raise OptionError(
                f"Expected texts to classify in {name}, but its columns {', '.join((*form.prompt, *form.choices))} are "
                "those of multiple choice, which is for multiple-choice and causal language models "
                "(open_multiple_choice); text_column= names a column of texts.",
                option="text_column",
            )


def find_label_column(data: datasets.Dataset, label_column: str | None, required: bool, name: str) -> str | None:
    """Return the column of labels, the named one or a usual one; None where there need not be one."""
    if label_column is not None:
        return columns.named_column(data, label_column, "label_column", name)
    column = columns.usual_column(data, columns.LABEL_COLUMNS)
    if column is None and required:
        raise columns.no_column(data, "labels", columns.LABEL_COLUMNS, "label_column", name)
    return column


def _labels(tables: Splits, options: TextOptions, name: str) -> dict[str, LabelColumn]:
    """Read the labels of every split that has some; the only table of a data set without splits is called ""."""
    labeled = {}
    for part, data in ({"": tables} if isinstance(tables, datasets.Dataset) else tables).items():
        column = find_label_column(data, options.label_column, options.require_labels, name)
        if column is not None:
            labeled[part] = (data, column)
    return read_labels(labeled, options.label_names, options.first_label, name)


def _rows_with_words(data: datasets.Dataset, texts: Sequence[str], drop_empty: bool, name: str) -> NDArray[np.int64]:
    """Check that every text is a string with words, and return the rows to keep."""
    full = np.ones(len(data), dtype=np.bool_)
    for column in texts:
        values = _arrow(data, column)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            # Most texts have a letter or a digit of ASCII, which Arrow finds fast; Python looks at the others.
            clear = pc.fill_null(pc.match_substring_regex(values, "[0-9A-Za-z]"), False)
            doubtful = np.flatnonzero(~clear.to_numpy())
        else:
            doubtful = np.arange(len(data))
        for row, text in zip(doubtful.tolist(), values.take(pa.array(doubtful)).to_pylist(), strict=True):
            if text is not None and not isinstance(text, str):
                raise TypeError(
                    f"Expected texts in the column {column!r} of {name}, but row {row} holds {text!r} "
                    f"({type(text).__name__})."
                )
            if text is None or not text.strip():
                if not drop_empty:
                    raise ValueError(
                        f"Expected a text in each row of the column {column!r} of {name}, but row {row} is empty; "
                        "drop_empty=True leaves such rows out."
                    )
                full[row] = False
    if not full.any():
        raise ValueError(f"Expected at least one text in {name}, but there is none.")
    return np.flatnonzero(full)


def _ids(data: datasets.Dataset, id_column: str | None, part: str, name: str) -> tuple[pa.Array, str | None]:
    """Return unique ids, and the column that they come from (None: row numbers)."""
    if id_column is not None:
        column = columns.named_column(data, id_column, "id_column", name)
        return pa.array(check_ids(data[column][:], column), pa.string()), column
    usual_id = columns.usual_column(data, columns.ID_COLUMNS)
    if usual_id is not None:
        values = data[usual_id][:]
        ids = [str(value) for value in values]
        if None not in values and len(set(ids)) == len(ids):
            return pa.array(ids, pa.string()), usual_id
    numbers = pa.array(np.arange(len(data))).cast(pa.string())
    return pc.binary_join_element_wise(f"{part}-", numbers, "") if part else numbers, None


def _assemble(
    data: datasets.Dataset, made: Mapping[str, tuple[Any, Any]], taken: Sequence[str | None]
) -> datasets.Dataset:
    """Put the common columns first and the columns that were not read after them."""
    info = datasets.DatasetInfo(description=data.info.description, citation=data.info.citation)
    info.features = datasets.Features({column: feature for column, (_, feature) in made.items()})
    schema = info.features.arrow_schema
    arrays = [_as_type(values, schema.field(column).type) for column, (values, _) in made.items()]
    table = pa.Table.from_arrays(arrays, schema=schema)
    # Otherwise datasets would pickle and digest the whole table; its texts are those of `data`.
    plain = [column for column, (values, _) in made.items() if not isinstance(values, (pa.Array, pa.ChunkedArray))]
    content = [part.serialize() for part in table.select(plain).to_batches()]
    digest = hashlib.blake2b(b"".join(content), digest_size=16).hexdigest()
    state = (data._fingerprint, *map(str, taken), str(info.features), str(arrays[0][:1]), digest)
    common = datasets.Dataset(table, info=info, split=data.split, fingerprint=datasets.fingerprint.Hasher.hash(state))
    rest = [column for column in data.column_names if column not in taken and column not in made]
    if not rest:
        return common
    return datasets.concatenate_datasets([common, data.select_columns(rest)], split=data.split, axis=1)


def _arrow(data: datasets.Dataset, column: str) -> pa.ChunkedArray:
    return data.select_columns([column]).with_format("arrow")[:].column(column)


def _as_type(values: Any, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    return values.cast(kind) if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, kind)


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
    path = Path(os.fspath(name_or_path)) if isinstance(name_or_path, (str, os.PathLike)) else None
    name = str(path) if path is not None else "the data set"
    tables: Any
    rows_of_squad = None if path is None or data_type(path) != ".json" or not path.is_file() else _squad(path)
    if rows_of_squad is not None:
        tables = datasets.Dataset.from_list(rows_of_squad, features=question_features())
    else:
        tables = read_tables(name_or_path, data_dir=data_dir)
    if isinstance(tables, datasets.Dataset):
        rows = tables
    elif split is None and len(tables) > 1:
        raise OptionError(f"Expected `split` for {name}, which has the splits {', '.join(tables)}.", option="split")
    else:
        rows = tables[choose_split(tables, split, where=name, others=True)]
    missing = [column for column in EXTRACTIVE_ANSWERS if column not in rows.column_names]
    if missing:
        raise ValueError(
            f"Expected the columns {', '.join(EXTRACTIVE_ANSWERS)} in {name}, but {', '.join(missing)} is missing; it "
            f"has {', '.join(rows.column_names)}."
        )
    check_ids(rows["id"][:], f"id of {name}")
    answered = [row for row, answers in enumerate(rows["answers"][:]) if _has_answer(answers, row, name)]
    if not answered:
        raise ValueError(f"Expected questions with answers in {name}, but there is none.")
    return limited(rows.select(answered), limit, seed)


def _has_answer(answers: Any, row: int, name: str) -> bool:
    if answers is None:
        return False
    lists = answers if isinstance(answers, dict) else {}
    texts, starts = lists.get("text"), lists.get("answer_start")
    if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
        raise ValueError(
            f"Expected `answers` in {name} to be objects of two lists, `text` and `answer_start`, but row {row} holds "
            f"{str(answers)[:60]!r}."
        )
    return bool(texts)


def _squad(path: Path) -> list[dict[str, Any]] | None:
    """Return the questions of a file in the form of SQuAD, or None for another file."""
    with unpacked(path) as file:
        try:
            content = read_json(file)
        except ValueError:
            return None  # what is wrong with it, the reader of files says
        data = content.get("data") if isinstance(content, dict) else None
        if isinstance(data, list) and data and isinstance(data[0], dict) and "paragraphs" in data[0]:
            return list(read_squad(file))
    return None


load_data = open_dataset
"""The name by which people look for it."""

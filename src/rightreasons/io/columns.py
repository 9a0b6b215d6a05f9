"""Columns: their usual names, the labels in them, and those of a file of predictions."""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import class_column, columns_of, ingest, is_tensor, kind_of
from rightreasons.core.errors import OptionError, did_you_mean, naming, one_line
from rightreasons.core.label_names import (
    BY_NAME,
    LabelColumn,
    MatchTerms,
    check_label_names,
    folded,
    listing,
    match_labels,
    resolve_label_columns,
)
from rightreasons.core.validation import parse_json, read_text
from rightreasons.io.files import check_separator, data_type, dataset_of, nested_names, read_parquet, unpacked
from rightreasons.io.logs import inspect_columns, is_inspect, is_lm_eval, lm_eval_columns, read_archive

USUAL_COLUMNS: Mapping[str, Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("usual_columns.json").read_text("utf-8")
)
"""Usual names of columns in lower case, the likeliest first: of items, of predictions, of judgments."""

TEXT_COLUMNS = USUAL_COLUMNS["items"]["text"]
PAIR_COLUMNS = USUAL_COLUMNS["items"]["pairs"]
LABEL_COLUMNS = USUAL_COLUMNS["items"]["label"]
ID_COLUMNS = USUAL_COLUMNS["items"]["id"]


Column: TypeAlias = "Sequence[Any] | NDArray[Any]"
Columns: TypeAlias = "Mapping[str, Column]"


def named_column(table: datasets.Dataset | Columns, column: str, option: str, where: str) -> str:
    """Check that a column named by the user exists; a Dataset also has dotted names of fields within its columns.

    Raises:
        ValueError: If it is missing; the nearest name is given.
    """
    names = _names(table)
    if column not in names:
        hint = did_you_mean(column, names + (nested_names(table) if isinstance(table, datasets.Dataset) else []))
        raise OptionError(
            f"Expected the column {column!r} that `{option}` names in {where}, but its columns are {listing(names)}."
            f"{hint}",
            option=option,
        )
    return column


def usual_column(table: datasets.Dataset | Columns, usual: Sequence[str]) -> str | None:
    """Find the first of some usual names, which are in lower case, ignoring case.

    Example:
        >>> usual_column({"ID": [1], "label": [0]}, ("item", "id"))
        'ID'
    """
    return next((name for known in usual for name in _names(table) if name.lower() == known), None)


def no_column(
    table: datasets.Dataset | Columns, what: str, usual: Sequence[str], option: str, where: str
) -> ValueError:
    """Build the error for a column that has none of the usual names."""
    return OptionError(
        f"Expected a column with the {what} in {where} (one of {', '.join(usual)}), but its columns are "
        f"{listing(_names(table))}; name it with {option}=.",
        option=option,
    )


def _names(table: datasets.Dataset | Columns) -> list[str]:
    return list(table.column_names if isinstance(table, datasets.Dataset) else table)


# --------------------------------------------------------------------------------------------------------------- labels


REMEDY = (
    "label_names= names the classes, or renames labels as in label_names='old=new,…', first_label= says where numbers "
    "begin, label_column= names another column"
)


@naming("label_names", "first_label", "label_column")
def read_labels(
    parts: Mapping[str, tuple[datasets.Dataset, str]],
    label_names: Sequence[str] | None,
    first_label: int | None,
    name: str,
    *,
    remedy: str = REMEDY,
) -> dict[str, LabelColumn]:
    """Read the labels of all splits; see `foundations.label_names` for the rules.

    The classes are those that the user names, or else those of a ClassLabel, or else those that the labels give. A
    ClassLabel of other names, or of the same names in another order, is matched by name.

    Args:
        parts: Each split with its label column.
        label_names: The names that the user gives, or a new name for each label, as "true=POSITIVE"; None to derive
            them.
        first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
        name: The name of the data set, for errors.
        remedy: What a person can do about doubt, for errors.

    Returns:
        The labels of each split, with the same names.
    """
    renamed = _renamed(label_names)
    if renamed:
        label_names = None
    where = {
        split: f"the column {column!r} of {name}" + (f" (split {split})" if len(parts) > 1 else "")
        for split, (_, column) in parts.items()
    }
    named = {
        split: tuple(data.features[column].names)
        for split, (data, column) in parts.items()
        if isinstance(data.features[column], datasets.ClassLabel)
    }
    known, whose = None if label_names is None else check_label_names(label_names), "`label_names`"
    if known is None and named:
        first_named = next(iter(named))
        known, whose = named[first_named], where[first_named]
    values = {split: data[column][:] for split, (data, column) in parts.items()}
    plain = {where[split]: values[split] for split in parts if split not in named}
    resolved = resolve_label_columns(plain, known, first=first_label, remedy=remedy)
    columns = {split: resolved[where[split]] for split in parts if split not in named}
    numbers = {split: _numbers(values[split], names, where[split]) for split, names in named.items()}
    classes = known or ()
    for split, names in named.items():
        if names == classes:
            columns[split] = LabelColumn(numbers[split], names, BY_NAME)
            continue
        seen = {
            label for other, its in numbers.items() if named[other] == names for label in np.unique(its) if label >= 0
        }
        used = [label for label in np.unique(numbers[split]) if label >= 0]
        match = match_labels(
            names, classes, used=used, seen=seen, first=first_label, terms=MatchTerms(where[split], whose, remedy)
        )
        # An id of -1 reads the last entry.
        ids = np.append(match.class_of, -1)[numbers[split]]
        columns[split] = LabelColumn(ids, classes, match.how, match.reason)
    if not renamed:
        return columns
    return {split: _rename(column, renamed, where[split]) for split, column in columns.items()}


def _renamed(label_names: Sequence[str] | None) -> dict[str, str]:
    """Return the new name of each label where every entry is "old=new"; none where they are plain names."""
    if not label_names or isinstance(label_names, str) or not all(isinstance(name, str) for name in label_names):
        return {}
    parts = [name.partition("=") for name in label_names]
    pairs = [(old.strip(), new.strip()) for old, _, new in parts]
    if not all(old and new for old, new in pairs):
        return {}
    check_label_names([old for old, _ in pairs], "label_names")
    return dict(pairs)


def _rename(column: LabelColumn, renamed: Mapping[str, str], where: str) -> LabelColumn:
    """Give labels new names; several may have one. A label that has its new name already keeps it.

    Raises:
        ValueError: If a label that occurs has no new name.
    """
    classes = tuple(dict.fromkeys(renamed.values()))
    table = np.full(len(column.names) + 1, -1, dtype=np.int64)
    new = {folded(old): classes.index(name) for old, name in renamed.items()}
    new = {**{folded(name): place for place, name in enumerate(classes)}, **new}
    used = set(np.unique(column.ids).tolist())
    for label, name in enumerate(column.names):
        table[label] = new.get(folded(name), -1)
        if table[label] < 0 and label in used:
            raise OptionError(
                f"Expected a new name for each label in `label_names`, but {name!r} of {where} is not among "
                f"{listing(list(renamed))}.",
                option="label_names",
            )
    return LabelColumn(table[column.ids], classes, BY_NAME, "renamed as asked")


def _numbers(values: Column, names: Sequence[str], where: str) -> NDArray[np.int64]:
    """Return the numbers of a ClassLabel, -1 where there is none."""
    ids = np.fromiter((-1 if value is None else value for value in values), dtype=np.int64, count=len(values))
    wrong = np.flatnonzero((ids < -1) | (ids >= len(names)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(
            f"Expected labels from 0 to {len(names) - 1} ({listing(names)}) in {where}, but row {row} holds {ids[row]}."
        )
    return ids


# ------------------------------------------------------------------------------------- columns of a file of predictions


SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet", ".eval")


class NamedLabels(list[str | None]):
    """The names of labels whose file stores numbers and, as a ClassLabel of `datasets`, their names.

    Args:
        numbers: The numbers; None and -1 are no label.
        names: The names of the classes.
        column: The name of the column, for errors.
        where: The file, for errors.
    """

    def __init__(self, numbers: Column, names: Sequence[str], column: str, where: object) -> None:
        self.names = tuple(names)
        self.numbers = numbers
        ids = _numbers(numbers, names, f"the column {column!r} of {where}")
        super().__init__(None if label < 0 else self.names[label] for label in ids.tolist())


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector of cyclic garbage, which walks through a growing table again and again and finds no cycle.

    Example:
        >>> with collection_paused():
        ...     gc.isenabled()
        False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@collection_paused()
def read_columns(source: Any, headings: Sequence[str] = (), *, log_filter: str | None = None) -> Columns:
    """Read the columns of a table, or of a file in the format of its suffix; the cells of a csv or tsv file stay texts.

    Args:
        source: A .csv, .tsv, .jsonl, .json (a list of objects, an object of lists, or lines), .npz or .parquet file, or
            a compressed one (`.csv.gz`); also a samples file of lm-evaluation-harness, or a log of inspect_ai (.json,
            .eval); or a DataFrame of pandas or polars, a Table of pyarrow, a Dataset of datasets, or columns by their
            names.
        headings: Names of columns. Where there are some, a JSON object of single values without any of them, nor with
            one of a column of `CLASS_COLUMNS`, is read as answers by ids: the columns `id` and `prediction`.
        log_filter: The filter or scorer of a log whose answers are meant, where there are several.

    Raises:
        TypeError: If it is neither a table nor a path.
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not have the format of its suffix, has no row, or columns of different lengths.
    """
    if not isinstance(source, (str, os.PathLike)):
        return check_columns(_table_columns(source), "the table")
    path = Path(source)
    suffix = data_type(path)
    if suffix not in SUFFIXES:
        raise ValueError(f"Expected a file that ends in {', '.join(SUFFIXES)}, but got {path.name!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"Expected a file of predictions at {path}, but there is no such file.")
    with unpacked(path) as file:
        if suffix == ".npz":
            columns = _npz(file)
        elif suffix == ".parquet":
            columns = _parquet(file)
        elif suffix == ".eval":
            columns = inspect_columns(read_archive(file), file.name, scorer=log_filter)
        else:
            columns = _text_columns(read_text(file, file.name), suffix, file.name, headings, log_filter)
        return check_columns(columns, file.name)


def parse_columns(text: str) -> Columns:
    """Read the columns of a pasted text: JSON, one JSON object per line, or comma- or tab-separated values."""
    text = text.strip().removeprefix("\ufeff").lstrip()
    if not text:
        raise ValueError("Expected a table of predictions, but the text is empty.")
    if text[0] in "[{":
        suffix = ".json"
    else:
        suffix = ".tsv" if "\t" in text.split("\n", 1)[0] else ".csv"
    return check_columns(_text_columns(text, suffix, "the text"), "the text")


def check_distinct(names: Sequence[str], where: str) -> Sequence[str]:
    """Check that no two columns have one name."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"Expected distinct columns in {where}, but {twice!r} comes twice: {listing(names)}.")
    return names


def check_columns(columns: Columns, where: str) -> Columns:
    """Check that there are rows, the same number in each column."""
    single = next((name for name, column in columns.items() if not hasattr(column, "__len__")), None)
    if single is not None:
        raise TypeError(f"Expected a list in the column {single!r} of {where}, but got {one_line(columns[single])}.")
    lengths = {name: len(column) for name, column in columns.items()}
    if not lengths or not max(lengths.values()):
        raise ValueError(f"Expected at least one row in {where}, but it is empty.")
    first, rows = next(iter(lengths.items()))
    odd = next((name for name, length in lengths.items() if length != rows), None)
    if odd is not None:
        raise ValueError(
            f"Expected columns of one length in {where}, but {first!r} has {rows:,} rows and {odd!r} {lengths[odd]:,}."
        )
    return columns


# ------------------------------------------------------------------------------------------------------------- private


def _table_columns(source: Any) -> Columns:
    table = None if is_tensor(source) else columns_of(source)
    if table is None and isinstance(source, Mapping):
        return {str(name): column for name, column in source.items()}
    if table is None:
        raise TypeError(f"Expected a file or a table of predictions, but got {kind_of(source)}.")
    names = check_distinct(list(map(str, table[0])), "the table")
    columns = {name: ingest(column, name) for name, column in zip(names, table[1], strict=True)}
    return _with_names(columns, getattr(source, "features", None), "the table")


def _with_names(columns: dict[str, Column], features: Any, where: Any) -> Columns:
    """Put names in the place of the numbers of ClassLabels."""
    for name, feature in features.items() if isinstance(features, datasets.Features) else ():
        if isinstance(feature, datasets.ClassLabel):
            columns[name] = NamedLabels(columns[name], feature.names, name, where)
    return columns


def _are_answers_by_id(content: Mapping[str, Any], headings: Sequence[str]) -> bool:
    names = {name.lower() for name in content}
    kinds = set(map(type, content.values()))
    record = not names.isdisjoint(headings) or any(class_column(name)[0] for name in names)
    return bool(headings) and not record and (kinds == {str} or kinds == {int})


def _text_columns(
    text: str, suffix: str, where: str, headings: Sequence[str] = (), log_filter: str | None = None
) -> Columns:
    if suffix in (".csv", ".tsv"):
        return _separated(text, "\t" if suffix == ".tsv" else ",", where)
    if suffix == ".jsonl":
        return _lines(text, where, log_filter)
    try:
        content = parse_json(text, where)
    except ValueError as error:
        if "Extra data" not in str(error):
            raise
        return _lines(text, where, log_filter)  # one object per line, in a file that is called .json
    if is_inspect(content):
        return inspect_columns(content, where, scorer=log_filter)
    if isinstance(content, Mapping):
        if is_lm_eval(content):
            return lm_eval_columns([content], where, filter_name=log_filter)
        if all(isinstance(column, list) for column in content.values()):
            nested = [column for column in content.values() if column and isinstance(column[0], Mapping)]
            # {"data": [{...}, …]} is how many tools wrap their records.
            return _rows_to_columns(nested[0], "item", where) if len(content) == len(nested) == 1 else dict(content)
        if _are_answers_by_id(content, headings):
            return {"id": list(content), "prediction": list(content.values())}
        content = [content]
    if isinstance(content, list):
        return _rows_to_columns(content, "item", where)
    raise ValueError(f"Expected a list of objects, or an object of lists, in {where}.")


def _lines(text: str, where: str, log_filter: str | None) -> Columns:
    lines = enumerate(io.StringIO(text, newline=None), start=1)
    rows = [parse_json(line, where, line=number) for number, line in lines if line.strip()]
    if rows and is_lm_eval(rows[0]):
        return lm_eval_columns(rows, where, filter_name=log_filter)
    return _rows_to_columns(rows, "line", where)


def _rows_to_columns(rows: list[Any], unit: str, where: str) -> Columns:
    if not rows:
        raise ValueError(f"Expected at least one row in {where}, but it is empty.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"Expected one JSON object per {unit} in {where}, but {unit} {number} is {str(row)[:40]!r}."
            )
        if row.keys() != rows[0].keys():
            odd = sorted(map(str, set(row) ^ set(rows[0])))
            raise ValueError(
                f"Expected the same keys in every {unit} of {where}, but {unit} {number} differs in {listing(odd)}."
            )
    return {str(name): [row[name] for row in rows] for name in rows[0]}


def _separated(text: str, separator: str, where: str) -> Columns:
    """Read cells as texts: `NA` is a word, `007` keeps its zeros, and a tsv file has no quoting."""
    options: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if separator == "\t" else {"skipinitialspace": True}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, **options)
    limit = csv.field_size_limit(max(len(text), 1))  # a cell may be as long as the text
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise ValueError(f"Expected a table with headings in {where}, but it cannot be read: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise ValueError(f"Expected a table with headings in {where}, but it is empty.")
    names, body = check_distinct([name.strip() for name in rows[0]], where), rows[1:]
    check_separator(names, separator == "\t", where)
    odd = next((number for number, row in enumerate(body) if len(row) != len(names)), None)
    if odd is not None:
        raise ValueError(
            f"Expected {len(names)} cells ({', '.join(names)}) in each row of {where}, but row {odd} has "
            f"{len(body[odd])}."
        )
    return dict(zip(names, zip(*body, strict=True), strict=True)) if body else {name: [] for name in names}


def _npz(path: Path) -> Columns:
    # allow_pickle=False: an array of objects could run code. MemoryError: a header may ask for 1e12 rows.
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, MemoryError):
        raise ValueError(f"Expected plain numpy arrays in {path.name}, but it cannot be read as such.") from None
    single = next((name for name, column in columns.items() if column.ndim == 0), None)
    if single is not None:
        raise ValueError(f"Expected arrays of one entry per item in {path.name}, but {single!r} is a single value.")
    return columns


def _parquet(path: Path) -> Columns:
    try:
        data = dataset_of(read_parquet(path), path)
        return _with_names(data.data.to_pydict(), data.features, path)
    except ValueError as error:  # people who upload a file do not know its folder
        raise ValueError(str(error).replace(str(path), path.name)) from None

"""Reads the columns of a file of predictions: csv, tsv, jsonl, json, npz or parquet, unchanged and in their order."""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.data.opening.compressed import data_type, unpacked
from rightreasons.data.opening.files import check_separator, dataset_of, read_parquet
from rightreasons.data.opening.logs.inspect import inspect_columns, is_inspect, read_archive
from rightreasons.data.opening.logs.lm_eval import is_lm_eval, lm_eval_columns
from rightreasons.foundations.arrays import class_column, columns_of, ingest, is_tensor, kind_of
from rightreasons.foundations.bounds import parse_json, read_text
from rightreasons.foundations.label_names import listed
from rightreasons.foundations.sentences import one_line
from rightreasons.foundations.validation import unknown_name

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet", ".eval")

Column: TypeAlias = "Sequence[Any] | NDArray[Any]"
Columns: TypeAlias = "Mapping[str, Column]"


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
        odd = next((row for row, n in enumerate(numbers) if n is not None and not -1 <= n < len(names)), None)
        if odd is not None:
            raise ValueError(
                f"Expected labels from 0 to {len(names) - 1} in the column {column!r} of {where}, but row {odd} holds "
                f"{numbers[odd]}."
            )
        super().__init__(None if n is None or n < 0 else self.names[n] for n in numbers)


def column_called(
    columns: Columns, usual: Sequence[str], *, named: str | None = None, option: str = "", where: str = ""
) -> str | None:
    """Return the column that the user names, or the one with the first of its usual names; None where there is none.

    Args:
        columns: The columns.
        usual: Names in lower case, the likeliest first.
        named: What the user calls it; None where a usual name is meant.
        option: The argument that names it, for errors.
        where: The file, for errors.

    Raises:
        ValueError: If the named column is missing.

    Example:
        >>> column_called({"ID": [1], "label": [0]}, ("item", "id"))
        'ID'
    """
    if named is None:
        return next((name for known in usual for name in columns if name.lower() == known), None)
    if named not in columns:
        raise unknown_name(f"column of {where} in `{option}`", named, columns)
    return named


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
    names = list(map(str, table[0]))
    twice = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if twice is not None:
        raise ValueError(f"Expected distinct columns in the table, but {twice!r} comes twice: {listed(names)}.")
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
                f"Expected the same keys in every {unit} of {where}, but {unit} {number} differs in {listed(odd)}."
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
    names, body = [name.strip() for name in rows[0]], rows[1:]
    check_separator(names, separator == "\t", where)
    twice = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if twice is not None:
        raise ValueError(f"Expected distinct columns in {where}, but {twice!r} comes twice: {', '.join(names)}.")
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

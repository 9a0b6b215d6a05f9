"""Reads tables from wherever a user keeps them, with their columns unchanged.

The source is a name of the catalog, a hub id, a file (csv, tsv, JSON lines, json, parquet), or a folder (of data files,
or written by `save_to_disk`). `datasets.py` decides what the columns mean.
"""

from __future__ import annotations

import csv
import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets

from rightreasons.data.builders.catalog import CATALOG, load_dataset

FILE_TYPES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")

ONLY_SPLIT = "data"
"""The name of the only split of a table without splits."""

Splits: TypeAlias = "datasets.Dataset | datasets.DatasetDict"


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
        return datasets.DatasetDict(name_or_path)
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise TypeError(
            f"Expected a data set by its name, its path or as a Dataset, but got {type(name_or_path).__name__}."
        )
    name = os.fspath(name_or_path)
    if name in CATALOG:
        return load_dataset(name, config, data_dir=data_dir, revision=revision)
    path = Path(name).expanduser()
    if path.is_file():
        return _file(path, column_names)
    if path.is_dir():
        return _folder(path, config)
    return _hub(name, config, revision)


def splits_of(tables: Splits) -> dict[str, datasets.Dataset]:
    """Return each split by its name; a table without splits is called `ONLY_SPLIT`, unless it has a name."""
    if isinstance(tables, datasets.Dataset):
        return {str(tables.split or ONLY_SPLIT): tables}
    return {str(name): table for name, table in tables.items()}


# ---------------------------------------------------------------------------------------------------------------- files


def _file(path: Path, column_names: Sequence[str] | None) -> datasets.Dataset:
    kind = path.suffix.lower()
    if kind not in FILE_TYPES:
        raise ValueError(f"Expected a file of type {', '.join(FILE_TYPES)}, but got {path}.")
    if kind == ".parquet":
        try:
            return datasets.Dataset.from_parquet(str(path))
        except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
            raise ValueError(f"Expected a parquet file, but {path} cannot be read as one.") from error
    if kind in (".csv", ".tsv"):
        columns: dict[str, list[Any]] = dict(_columns(path, "\t" if kind == ".tsv" else ",", column_names))
        rows = len(next(iter(columns.values()), []))
    else:
        records = list(_records(path))
        # Every key of any record is a column; what a record lacks is None.
        keys = list(dict.fromkeys(key for record in records for key in record))
        columns = {key: [record.get(key) for record in records] for key in keys}
        rows = len(records)
    if not rows:
        raise ValueError(f"Expected at least one row in {path}, but it has none.")
    try:
        return datasets.Dataset.from_dict(columns)
    except (TypeError, ValueError) as error:  # pyarrow's errors are ValueErrors too
        raise ValueError(f"Expected values of one type in each column of {path}, but {error}.") from error


def _columns(path: Path, delimiter: str, names: Sequence[str] | None) -> Iterator[tuple[str, list[str]]]:
    """Read a table as text: `NA` is a word, `007` keeps its zeros, and a tsv file has no quoting."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            if delimiter == "\t":
                reader = csv.reader(stream, delimiter=delimiter, quoting=csv.QUOTE_NONE)
            else:
                reader = csv.reader(stream, delimiter=delimiter)
            rows = [row for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"Expected a table in UTF-8 text, but {path} cannot be read as one: {error}.") from error
    if names is None:
        names, rows = (rows[0], rows[1:]) if rows else ((), [])
    if len(set(names)) < len(names):
        raise ValueError(f"Expected distinct column names in {path}, but got {', '.join(names)}.")
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise ValueError(
                f"Expected {len(names)} columns ({', '.join(names)}) in each row of {path}, but row {number} has "
                f"{len(row)}."
            )
    for position, name in enumerate(names):
        yield name, [row[position] for row in rows]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            whole = json.loads(text)
            # {"data": [...]} is how many tools wrap their records.
            lists = [value for value in whole.values() if isinstance(value, list)] if isinstance(whole, dict) else []
            records = lists[0] if len(lists) == 1 else whole
        else:
            records = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"Expected JSON in UTF-8, but {path} cannot be read as such: {error}.") from error
    if not isinstance(records, list):
        raise ValueError(f"Expected a list of records in {path}, but it holds one {type(records).__name__}.")
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(
                f"Expected each record of {path} to be an object, but record {number} is {type(record).__name__}."
            )
        yield record


def _folder(path: Path, config: str | None) -> Splits:
    if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
        return datasets.load_from_disk(str(path))
    try:
        return datasets.load_dataset(str(path), config)
    except (datasets.exceptions.DatasetGenerationError, OSError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"Expected a folder of data files or a folder written by save_to_disk, but {path} cannot be read: {error}"
        ) from error


def _hub(name: str, config: str | None, revision: str | None) -> Splits:
    looks_like_a_path = name.startswith((".", "/", "~")) or Path(name).suffix.lower() in FILE_TYPES
    if looks_like_a_path or name.count("/") > 1:
        raise FileNotFoundError(f"Expected a data set at {name}, but there is no such file or folder.")
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        near = difflib.get_close_matches(name, CATALOG, n=2, cutoff=0.5)
        hint = f" Did you mean {' or '.join(repr(known) for known in near)}?" if near else ""
        raise ValueError(
            f"Expected a data set of this package, a file, a folder or a data set on the hub, but {name!r} cannot be "
            f"read as any of them ({type(error).__name__}: {error}).{hint} This package has: "
            f"{', '.join(sorted(CATALOG))}."
        ) from error

"""Reads a folder of data files with the reader of files, and through `datasets` what that wrote or a card describes.

The name of a file, or of a folder above it, tells its split, by the rules of `datasets.load_dataset`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import datasets
import pyarrow as pa

from rightreasons.data.opening.compressed import data_type
from rightreasons.data.opening.files import FILE_TYPES, dataset_of, read_file, short_reason

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
_SHARD = re.compile(r"data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*")
_NOT_DATA = frozenset(("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"))
# Where no name tells a split, the files of the most common type are the data; of the first of these in a draw.
_PREFERRED = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
_DESCRIBED = re.compile(r"^(?:configs|dataset_info)\s*:", re.MULTILINE)

Splits: TypeAlias = "datasets.Dataset | datasets.DatasetDict"
Rule = Callable[[str], Sequence[str]]


def read_folder(path: Path, config: str | None, column_names: Sequence[str] | None) -> Splits:
    """Read a folder; `read_tables` tells more.

    Raises:
        ValueError: If it holds no data files, one of them cannot be read, or those of a split have different columns.
    """
    if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
        refuse_config(path, config)
        return _by_datasets(path, lambda: datasets.load_from_disk(str(path)))
    if _is_described(path):
        return _by_datasets(path, lambda: datasets.load_dataset(str(path), config))
    files = [file for file in _files(path) if data_type(Path(file)) in FILE_TYPES]
    if not files:
        return _by_datasets(path, lambda: datasets.load_dataset(str(path), config))
    refuse_config(path, config)
    tables = {
        split: _joined([path / file for file in names], column_names) for split, names in _splits(files, path).items()
    }
    return datasets.DatasetDict(
        {split: dataset_of(table, path, split) for split, table in _same_columns(tables).items()}
    )


def split_files(path: Path) -> dict[str, list[str]]:
    """Return the data files of each split of a folder, relative to it.

    Raises:
        ValueError: If there is none.
    """
    files = [file for file in _files(path) if data_type(Path(file)) in FILE_TYPES]
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


def _files(path: Path) -> Iterator[str]:
    """Yield the files below a folder, sorted, hidden ones left out, relative to it and with slashes."""
    n_entries = 0
    for folder, subfolders, files in os.walk(path):
        n_entries += len(subfolders) + len(files)
        if n_entries > MAX_ENTRIES:
            raise ValueError(f"Expected at most {MAX_ENTRIES:,} files in a folder of data, but {path} holds more.")
        subfolders[:] = sorted(name for name in subfolders if not name.startswith((".", "__")))
        for name in sorted(files):
            if not name.startswith((".", "__")) and name not in _NOT_DATA:
                yield (Path(folder) / name).relative_to(path).as_posix()


def _splits(files: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return the files of each split: by shards, else by folders, else by names of files; else all are `train`."""
    rules: tuple[Rule, ...] = (
        lambda file: _SHARD.findall(file) if _SHARD.fullmatch(file) else (),
        lambda file: [
            split for split, word in _IN_FOLDERS.items() if any(map(word.fullmatch, Path(file).parent.parts))
        ],
        lambda file: [split for split, word in _IN_FILES.items() if word.fullmatch(Path(file).name)],
    )
    for rule in rules:
        splits: dict[str, list[str]] = {}
        for file in files:
            named = rule(file)
            if len(named) > 1:
                raise ValueError(
                    f"Expected each file of {path} to belong to one split by its name, but {file} is named after "
                    f"{' and '.join(named)}."
                )
            for split in named:
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

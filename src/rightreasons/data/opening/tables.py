"""Reads tables from wherever a user keeps them, with their columns unchanged.

The source is a name of the catalog, a hub id, a file (csv, tsv, JSON lines, json, parquet), or a folder (of data files,
or written by `save_to_disk`). `datasets.py` decides what the columns mean.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.data.builders.catalog import CATALOG, load_dataset
from rightreasons.data.opening.compressed import data_type
from rightreasons.data.opening.files import FILE_TYPES, dataset_of, read_file, short_reason
from rightreasons.data.opening.folders import Splits, read_folder, refuse_config
from rightreasons.foundations.sentences import one_line

ONLY_SPLIT = "data"
"""The name of the only split of a table without splits."""


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


def splits_of(tables: Splits) -> dict[str, datasets.Dataset]:
    """Return each split by its name; a table without splits is called `ONLY_SPLIT`, unless it has a name."""
    if isinstance(tables, datasets.Dataset):
        return {str(tables.split or ONLY_SPLIT): tables}
    return {str(name): table for name, table in tables.items()}


# ------------------------------------------------------------------------------------------------------------- private


def _hub(name: str, config: str | None, revision: str | None) -> Splits:
    looks_like_a_path = name.startswith((".", "/", "~")) or data_type(Path(name)) in FILE_TYPES
    if looks_like_a_path or name.count("/") > 1:
        raise FileNotFoundError(f"Expected a data set at {name}, but there is no such file or folder.")
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        near = difflib.get_close_matches(name, CATALOG, n=2, cutoff=0.5)
        hint = f" Did you mean {' or '.join(repr(known) for known in near)}?" if near else ""
        raise ValueError(
            f"Expected a data set of this package, a file, a folder or a data set on the hub, but {name!r} cannot be "
            f"read as any of them ({type(error).__name__}: {short_reason(error)}).{hint} This package has: "
            f"{', '.join(sorted(CATALOG))}."
        ) from error

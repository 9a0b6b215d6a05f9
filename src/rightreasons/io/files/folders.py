"""Folders of data: files that `save_to_disk` or the hub wrote, or files whose names contain their splits.

`read_folder` reads one.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import datasets
import pyarrow as pa

from rightreasons.core.validation import check_at_most
from rightreasons.io.arrow_tables import Splits, concatenate_tables, make_dataset, short_reason
from rightreasons.io.files.compressed import FILE_TYPES, get_data_type, strip_compression
from rightreasons.io.files.readers import read_file
from rightreasons.io.files.splits import assign_files
from rightreasons.io.options import NO_FORM, FileForm

MAX_ENTRIES = 10_000
"""Largest number of files and folders below a folder of data."""

MAX_CARD_BYTES = 1 << 20
"""Number of bytes of a README.md that are read."""

# Files with the suffix of data that describe data.
_NOT_DATA = frozenset(
    ("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json")
)
# The YAML at the beginning of a card.
_DESCRIBED = re.compile(r"---\s*\n(?:(?!---).*\n)*?(?:configs|dataset_info)\s*:")


def read_folder(path: Path, config: str | None, form: FileForm) -> Splits:
    """Read a folder of data files, or one that `save_to_disk` or the hub wrote.

    Args:
        path: The folder.
        config: A configuration that its card describes; None for the default.
        form: How csv and tsv files are to be read.

    Returns:
        The Dataset of each split; one Dataset if `save_to_disk` wrote one.

    Raises:
        ValueError: If it cannot be read, has a configuration that nothing describes, or holds
            devices or pipes, whose content may never end.
    """
    _check_plain_files(path)
    is_saved = (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()
    # If a card describes the files, `datasets` knows how to read them.
    files: list[str] = []
    if not is_saved and not _has_described_files(path):
        files = _list_data_files(path)
    if config is not None and (is_saved or files):
        raise make_config_error(path, config)
    if not files:
        return _load_with_datasets(path, config, is_saved)

    tables = {}
    for split, names in assign_files(files, path).items():
        tables[split] = _read_split([path / name for name in names], form)
    parts = {}
    for split, table in _complete_columns(tables).items():
        parts[split] = make_dataset(table, str(path), split)
    return datasets.DatasetDict(parts)


def make_config_error(path: Path, config: str) -> ValueError:
    """Return the error for a configuration of data that has none."""
    return ValueError(
        f"Expected no configuration, because {path} has no configurations, but got {config!r}."
    )


# ------------------------------------------------------------------------------- files


def _check_plain_files(path: Path) -> None:
    """Check that a folder has only plain files, and not too many of them.

    Raises:
        ValueError: If it has a device or pipe, whose content may never end, or too many entries.
    """
    n_entries = 0
    devices = []
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        check_at_most(n_entries, MAX_ENTRIES, "files and folders", path)
        for name in names:
            file = os.path.join(folder, name)
            # A broken link does not exist by this test; it is never opened.
            if os.path.exists(file) and not os.path.isfile(file):
                devices.append(os.path.relpath(file, path))
    if devices:
        raise ValueError(
            f"Expected regular files in {path}, but {devices[0]} is a device or a pipe, which "
            "may never end."
        )


def _has_described_files(path: Path) -> bool:
    """Return whether the card of a folder, README.md, describes its files or columns for `datasets`."""
    try:
        with (path / "README.md").open("rb") as stream:
            card = stream.read(MAX_CARD_BYTES).decode("utf-8-sig", "replace")
    # There is no card.
    except OSError:
        return False
    return _DESCRIBED.match(card) is not None


def _list_data_files(path: Path) -> list[str]:
    """Return the data files below a folder, sorted, as paths with slashes relative to it.

    Raises:
        ValueError: If a file is there twice, compressed and not.
    """
    files = []
    for folder, subfolders, names in os.walk(path):
        # os.walk descends into the folders that are left in this list, in its order.
        subfolders[:] = sorted(name for name in subfolders if not _is_hidden(name))
        for name in sorted(names):
            is_data = name not in _NOT_DATA and get_data_type(name) in FILE_TYPES
            if is_data and not _is_hidden(name):
                files.append((Path(folder) / name).relative_to(path).as_posix())
    file_by_plain_path: dict[Path, str] = {}
    for file in files:
        plain_path = strip_compression(file)
        if plain_path in file_by_plain_path:
            raise ValueError(
                f"Expected each file once in {path}, but {file} and "
                f"{file_by_plain_path[plain_path]} are the same file with and without "
                "compression."
            )
        file_by_plain_path[plain_path] = file
    return files


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__"))


# ------------------------------------------------------------------------------- `datasets`


def _load_with_datasets(path: Path, config: str | None, is_saved: bool) -> Splits:
    """Load a folder with the library `datasets`.

    Args:
        path: The folder.
        config: The configuration; None for the default.
        is_saved: Whether `save_to_disk` wrote the folder.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        if is_saved:
            return datasets.load_from_disk(str(path))
        return datasets.load_dataset(str(path), config, cache_dir=_get_cache(path))
    # A damaged folder may raise any error of the libraries on which `datasets` depends.
    except Exception as error:
        raise ValueError(
            "Expected a folder of data files or a folder written by save_to_disk, but "
            f"{path} cannot be read: {short_reason(error)}."
        ) from error


def _get_cache(path: Path) -> str:
    """Return a cache folder for the present content of a folder of data.

    `datasets` recognizes a folder only by its name and the names of its files, and would return the
    former content of a file that has changed. The name of this cache therefore depends on sizes and
    times of change.
    """
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(path.resolve().rglob("*")):
        if file.is_file():
            status = file.stat()
            key = f"{file}|{status.st_size}|{status.st_mtime_ns}"
            digest.update(key.encode("utf-8", "surrogatepass"))
    return os.path.join(datasets.config.HF_DATASETS_CACHE, "folders", digest.hexdigest())


# ------------------------------------------------------------------------------- splits


def _read_split(files: Sequence[Path], form: FileForm) -> pa.Table:
    """Read the files of a split as one table, in the order of the files.

    Args:
        files: The files, which must have the same columns.
        form: How csv and tsv files are to be read.

    Raises:
        ValueError: If a file has several splits, or other columns.
    """
    tables: list[pa.Table] = []
    for file in files:
        # The form is about separated cells; a folder may have files of other types as well.
        is_separated = get_data_type(file) in (".csv", ".tsv")
        table = read_file(file, form if is_separated else NO_FORM)
        if isinstance(table, dict):
            raise ValueError(
                f"Expected the rows of one split in {file}, but it has the splits "
                f"{', '.join(table)}."
            )
        if tables and set(table.column_names) != set(tables[0].column_names):
            raise ValueError(
                f"Expected the same columns in all files of a split, but {files[0]} has "
                f"{', '.join(tables[0].column_names)} and {file} has "
                f"{', '.join(table.column_names)}."
            )
        tables.append(table)
    return concatenate_tables(tables, str(files[0].parent))


def _complete_columns(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the tables of splits with the same columns, filled with nulls if a split lacks one.

    Public test splits often lack the labels.

    Args:
        tables: Split -> its table.
    """
    fields: dict[str, pa.Field] = {}
    for table in tables.values():
        for field in table.schema:
            fields.setdefault(field.name, field)
    completed = {}
    for split, table in tables.items():
        missing = [field for name, field in fields.items() if name not in table.column_names]
        # Appending a table without rows adds its columns.
        empty_table = pa.schema(missing).empty_table()
        completed[split] = pa.concat_tables([table, empty_table], promote_options="default")
    return completed

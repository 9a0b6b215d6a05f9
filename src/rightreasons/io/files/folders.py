"""Folders of data: from `save_to_disk` or the hub, of files whose names contain their splits, or of texts by label.

`read_folder` is the entry point.
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
from rightreasons.io.files.text_folders import read_text_folder
from rightreasons.io.options import NO_FORM, FileForm

MAX_ENTRIES = 10_000
"""Maximum number of files and folders below a folder of data."""

MAX_CARD_BYTES = 1 << 20
"""Maximum number of bytes of a README.md that are read."""

# Files of descriptions with a suffix of files of data.
_NOT_DATA = frozenset(
    ("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json")
)
# The beginning of a card whose YAML describes files or columns.
_DESCRIBED = re.compile(r"---\s*\n(?:(?!---).*\n)*?(?:configs|dataset_info)\s*:")


def read_folder(path: Path, config: str | None, form: FileForm) -> Splits:
    """Read a folder of data files, of text files by label, or from `save_to_disk` or the hub.

    Args:
        path: The folder.
        config: A configuration that the card of the folder describes; None for the default.
        form: Options on how csv and tsv files are read.

    Returns:
        A DatasetDict of the splits, or a Dataset if `save_to_disk` wrote a single one.

    Raises:
        ValueError: If the folder cannot be read, if it does not have the configuration, or if it contains
            devices or pipes, whose content may never end.
    """
    _check_plain_files(path)
    is_saved = (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()
    # `datasets` reads folders from `save_to_disk`, and folders whose card describes the files.
    files: list[str] = []
    if not is_saved and not _has_described_files(path):
        files = _list_data_files(path)
    if config is not None and (is_saved or files):
        raise make_config_error(path, config)
    tables: dict[str, pa.Table] = {}
    if not files and not is_saved and config is None:
        tables = read_text_folder(path)
    if not files and not tables:
        return _load_with_datasets(path, config, is_saved)

    if files:
        for split, names in assign_files(files, path).items():
            tables[split] = _read_split([path / name for name in names], form)
    parts = {}
    for split, table in _complete_columns(tables).items():
        parts[split] = make_dataset(table, str(path), split)
    return datasets.DatasetDict(parts)


def make_config_error(path: Path, config: str) -> ValueError:
    """Return the error for a configuration of a file or folder that has no configurations."""
    return ValueError(
        f"Expected no configuration, because {path} has no configurations, but got {config!r}."
    )


# ------------------------------------------------------------------------------- files


def _check_plain_files(path: Path) -> None:
    """Check that a folder has only plain files, and not too many of them.

    Args:
        path: The folder, which is searched at any depth.

    Raises:
        ValueError: If it contains a device or a pipe, whose content may never end, or too many entries.
    """
    n_entries = 0
    devices = []
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        check_at_most(n_entries, MAX_ENTRIES, "files and folders", path)
        for name in names:
            file = os.path.join(folder, name)
            # A broken link is ignored, because it does not exist for this check.
            if os.path.exists(file) and not os.path.isfile(file):
                devices.append(os.path.relpath(file, path))
    if devices:
        raise ValueError(
            f"Expected regular files in {path}, but {devices[0]} is a device or a pipe, which "
            "may never end."
        )


def _has_described_files(path: Path) -> bool:
    """Return whether the card of a folder (README.md) describes its files or columns for `datasets`."""
    try:
        with (path / "README.md").open("rb") as stream:
            card = stream.read(MAX_CARD_BYTES).decode("utf-8-sig", "replace")
    # The folder has no card.
    except OSError:
        return False
    return _DESCRIBED.match(card) is not None


def _list_data_files(path: Path) -> list[str]:
    """Return the data files below a folder, sorted, as paths with slashes relative to it.

    Args:
        path: The folder. Hidden files and folders, and descriptions such as dataset_info.json, are skipped.

    Raises:
        ValueError: If the folder contains a file twice, with and without compression.
    """
    files = []
    for folder, subfolders, names in os.walk(path):
        # `os.walk` descends into the folders that remain in this list, in the order of the list.
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
    """Return a cache folder for the current content of a folder of data.

    `datasets` identifies a folder only by its name and the names of its files, and would return the old
    content of a changed file from its cache. Therefore, the name of this cache depends on the sizes and
    the modification times of the files.
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
        form: Options on how csv and tsv files are read.

    Raises:
        ValueError: If a file has several splits, or if the columns of two files differ.
    """
    tables: list[pa.Table] = []
    for file in files:
        # The options are about separated cells, but a folder may contain files of other types as well.
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
    """Add missing columns of nulls to the tables of splits, so that all have the same columns.

    For example, public test splits often have no labels.

    Args:
        tables: Name of a split -> its table.
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

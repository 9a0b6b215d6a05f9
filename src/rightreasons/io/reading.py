"""Entry point for data: `as_table` makes a Dataset, or a DatasetDict of splits, from any source of rows.

Files are read with limits on their size, see `rightreasons.io.files`; a column of values without a common
type of Arrow is stored as JSON. A data.yaml contains the location of a table and the meaning of its
columns, see `rightreasons.io.descriptions`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import pyarrow as pa

from rightreasons.core.arrays import describe_kind, is_tensor, read_columns
from rightreasons.core.hub import use_hub_or_cache
from rightreasons.core.sentences import suggest_similar_names
from rightreasons.core.validation import check_ids, check_kind
from rightreasons.datasets.builder import CATALOG, load_dataset
from rightreasons.datasets.issues.table import KnownIssues
from rightreasons.io.arrow_tables import Splits, make_dataset, make_table, only_part, short_reason
from rightreasons.io.descriptions import SUFFIXES, read_description
from rightreasons.io.files.compressed import BLOCK_BYTES, FILE_TYPES, get_data_type
from rightreasons.io.files.documents import Parsed, make_document_table
from rightreasons.io.files.folders import make_config_error, read_folder
from rightreasons.io.files.readers import read_file
from rightreasons.io.files.splits import find_split
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.joins import join_files
from rightreasons.io.options import NO_FORM, FileForm
from rightreasons.io.row_filters import filter_rows

NAMED_TYPES = (*FILE_TYPES, *SUFFIXES)
"""Suffixes of files of data, and of descriptions of data."""

MAX_DOWNLOAD_BYTES = 1 << 32
"""Maximum size of a file that is downloaded from an address."""

MAX_HUB_ID_CHARACTERS = 200
"""Maximum number of characters of an id on the hub."""

LABEL_COLUMN = "label"
"""Name of the column for labels from a separate file next to the items."""


def as_table(
    source: Any,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    known_issues: KnownIssues = None,
    revision: str | None = None,
    form: FileForm = NO_FORM,
    source_name: str = "",
) -> Splits:
    """Read any source of rows as a Dataset, with its columns and their features unchanged.

    Args:
        source: A name of the catalog; a file (csv, tsv, jsonl, json, parquet, npz, a log of lm-evaluation-harness or
            inspect_ai), perhaps compressed; its address (https://, hf://, s3://, …); a folder of files or of
            `save_to_disk`; a hub id; a data.yaml of `rightreasons look`. Or in memory: a Dataset in any format, also
            streamed; a DataFrame of pandas or polars; a Table of pyarrow; a list of dictionaries; a dictionary of
            columns; the result of a pipeline of transformers or of `Trainer.predict`; a mapping from split names to
            any of these.
        config: A configuration of a data set of the catalog or the hub.
        data_dir: The folder of local copies of the catalog's sources.
        known_issues: Known issues to correct in a data set of the catalog, as in `load_dataset`; None for those of
            this package.
        revision: A revision on the hub.
        form: Options on how a file is read; each one that is None is inferred from the file.
        source_name: Name of the source, for error messages; "" for its path.

    Returns:
        A Dataset, or a DatasetDict if there are splits. A column of values of different types is a column of JSON,
        which raises no error until it is used.

    Raises:
        TypeError: If the source has no rows.
        FileNotFoundError: If a path does not exist.
        ValueError: If a name is unknown, or if a file does not have the type of its suffix.

    Example:
        >>> as_table([{"id": 7, "text": "Fine."}, {"id": "b", "text": "Dull."}])["id"][:]
        [7, 'b']
        >>> as_table({"train": {"text": ["Fine."]}, "dev": {"text": ["Dull."]}})["dev"].num_rows
        1
    """
    check_kind(config, "config", str | None)
    check_kind(form, "form", FileForm)
    description = read_description(source)
    form = description.complete(form)
    table = _open_source(
        description.source,
        config or description.settings.get("config"),
        data_dir=data_dir,
        known_issues=known_issues,
        revision=revision,
        form=form,
        source_name=source_name,
    )
    if form.where is None:
        return table
    return filter_rows(table, form.where)


def parse_table(text: str, source_name: str) -> datasets.Dataset:
    """Read a pasted text as a table: JSON, one JSON object per line, or separated values.

    Args:
        text: The text.
        source_name: Name of the source, for error messages.

    Raises:
        ValueError: If the text is empty, or not a table.
    """
    # A text that was copied from a file may begin with a byte order mark.
    text = text.strip().removeprefix("\ufeff").lstrip()
    if not text:
        raise ValueError(f"Expected a table of predictions, but {source_name} is empty.")
    first_line = text.partition("\n")[0]
    suffix = ".csv"
    if text.startswith(("[", "{")):
        suffix = ".json"
    # Cells that were copied from a spreadsheet are separated by tabs.
    elif "\t" in first_line:
        suffix = ".tsv"
    # The readers of files need a path.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pasted{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return only_part(_open_file(path, NO_FORM, source_name), source_name)


def _open_source(
    source: Any,
    config: str | None,
    *,
    data_dir: str | os.PathLike[str] | None,
    known_issues: KnownIssues,
    revision: str | None,
    form: FileForm,
    source_name: str,
) -> Splits:
    """Read all rows of a source, which is not a data.yaml; see `as_table` for the arguments."""
    if isinstance(source, JoinedFiles):
        return join_files(source, form, as_table)
    if not isinstance(source, (str, os.PathLike)):
        return _open_object(source, form, source_name or "the data set")
    name = os.fspath(source)
    # A name of the catalog is preferred to a path. A folder with this name can be given as "./copa".
    if name in CATALOG:
        choice = True if known_issues is None else known_issues
        return load_dataset(name, config, data_dir=data_dir, revision=revision, known_issues=choice)
    if "://" in name:
        with _download(name) as path:
            return _open_file(path, form, source_name or name)
    path = Path(name).expanduser()
    # Unlike methods of Path, these functions accept names that are too long for a path.
    if os.path.isfile(path):
        if config is not None:
            raise make_config_error(path, config)
        return _open_file(path, form, source_name or str(path))
    if os.path.isdir(path):
        return read_folder(path, config, form)
    return _load_from_hub(name, config, revision)


# ------------------------------------------------------------------------------- objects in memory


def _open_object(source: Any, form: FileForm, source_name: str) -> Splits:
    """Make a Dataset of an object in memory, or one for each of its splits.

    Args:
        source: A Dataset, a table of another library, rows, columns, or a mapping of splits.
        form: Options on how rows are read, such as the names of columns for rows that are lists.
        source_name: Name of the source, for error messages.

    Raises:
        TypeError: If the object has no rows.
    """
    if isinstance(source, datasets.Dataset):
        return source.with_format(None)
    if isinstance(source, datasets.IterableDataset):
        rows = list(source.with_format(None))
        return datasets.Dataset.from_list(rows, features=source.features)
    if not _has_splits(source):
        return _make_splits(_read_object(source, form, source_name), source_name)
    parts = {}
    for name, table in source.items():
        part = _open_object(table, form, f"{name} of {source_name}")
        parts[name] = only_part(part, source_name)
    return datasets.DatasetDict(parts)


def _has_splits(source: Any) -> bool:
    """Return whether an object maps names of splits to tables, rather than headings to columns.

    A list of rows may also be a column of objects. It counts as a table if its key is the name of a split,
    such as "train".

    Args:
        source: Any object.
    """
    if not isinstance(source, Mapping) or not source:
        return False
    for name, table in source.items():
        has_split_name = isinstance(name, str) and bool(find_split(name))
        if not _is_table(table) and not (has_split_name and _has_rows(table)):
            return False
    return True


def _is_table(value: Any) -> bool:
    """Return whether a value is a Dataset, or a table of another library such as pandas."""
    if isinstance(value, (datasets.Dataset, datasets.IterableDataset)):
        return True
    return hasattr(type(value), "columns")


def _has_rows(value: Any) -> bool:
    """Return whether a value is a list of rows (objects or lists), or a dictionary of columns (lists)."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(column, (list, tuple)) for column in value.values())
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(row, (Mapping, list, tuple)) for row in value)


def _read_object(source: Any, form: FileForm, source_name: str) -> Parsed:
    """Make a table of Arrow from rows or columns in memory.

    Args:
        source: A table of another library, rows, columns, or the result of `Trainer.predict`.
        form: Options on how rows are read, such as the names of columns for rows that are lists.
        source_name: Name of the source, for error messages.

    Returns:
        The table, or the tables of splits.

    Raises:
        TypeError: If the object has neither rows nor columns.
    """
    if hasattr(source, "predictions") and hasattr(source, "label_ids"):
        source = _get_trainer_columns(source)
    # A tensor has an attribute "columns" as well, but it does not contain names of columns.
    table = None if is_tensor(source) else read_columns(source)
    if table is not None:
        headings, columns = table
        names = list(map(str, headings))
        check_ids(names, f"column of {source_name}")
        source = dict(zip(names, columns, strict=True))
    if isinstance(source, Mapping):
        return make_table(source, source_name)
    if not _has_rows(source):
        raise TypeError(
            "Expected a data set by its name, its path or as a table (a DataFrame, a Dataset, "
            f"rows, columns), but got {describe_kind(source)}."
        )
    # The reader of JSON documents needs dictionaries and lists, and no other mappings or tuples.
    rows = []
    for row in source:
        rows.append(dict(row) if isinstance(row, Mapping) else list(row))
    return make_document_table(rows, form, source_name)


def _get_trainer_columns(output: Any) -> dict[str, Any]:
    """Return the columns `logits` and `label_ids` from the result of `Trainer.predict` of transformers.

    Args:
        output: The result, with the attributes `predictions` and `label_ids`.
    """
    logits = output.predictions
    # Some models return further outputs, such as hidden states, after the logits.
    if isinstance(logits, tuple):
        logits = logits[0]
    columns = {"logits": logits}
    if output.label_ids is not None:
        columns["label_ids"] = output.label_ids
    return columns


# ------------------------------------------------------------------------------- files and addresses


def _open_file(path: Path, form: FileForm, source_name: str) -> Splits:
    parsed = read_file(path, form, source_name)
    if isinstance(parsed, pa.Table):
        parsed = _add_labels_of_other_file(parsed, path)
    return _make_splits(parsed, source_name)


def _make_splits(parsed: Parsed, source_name: str) -> Splits:
    """Make a Dataset of a table, or a DatasetDict of the tables of splits."""
    if not isinstance(parsed, dict):
        return make_dataset(parsed, source_name)
    parts = {}
    for split, table in parsed.items():
        parts[split] = make_dataset(table, source_name, split)
    return datasets.DatasetDict(parts)


def find_label_file(path: Path) -> Path | None:
    """Return the file of labels next to a file of items, such as `dev-labels.lst` for `dev.jsonl`.

    AI2 releases aNLI, PIQA and SocialIQA in this format, with a label per line in the order of the items.

    Args:
        path: The file of the items.

    Returns:
        The file of labels; None if there is no such file.
    """
    if path.suffix != ".jsonl":
        return None
    file = path.with_name(f"{path.stem}-labels.lst")
    return file if file.is_file() else None


def _add_labels_of_other_file(table: pa.Table, path: Path) -> pa.Table:
    """Add the labels from the file next to a file of items as the column `label`; see `find_label_file`.

    Args:
        table: The items. They are returned unchanged if there is no such file, or if they have labels.
        path: The file of the items.

    Raises:
        ValueError: If the number of labels differs from the number of items.
    """
    file = find_label_file(path)
    if file is None or LABEL_COLUMN in table.column_names:
        return table
    labels: list[Any] = file.read_text("utf-8").split()
    if len(labels) != table.num_rows:
        raise ValueError(
            f"Expected a label in {file} for each of the {table.num_rows:,} items of "
            f"{path.name}, but got {len(labels):,} labels."
        )
    # Labels are words, or numbers of choices with -1 for an item without a label.
    if all(label.removeprefix("-").isdecimal() for label in labels):
        labels = list(map(int, labels))
    return table.append_column(LABEL_COLUMN, pa.array(labels))


@contextmanager
def _download(address: str) -> Iterator[Path]:
    """Download a file into a temporary folder, as a context manager.

    Args:
        address: The address, such as "https://example.org/data.csv".

    Yields:
        The downloaded file, which exists as long as the block runs.

    Raises:
        ValueError: If the file cannot be read, or is larger than `MAX_DOWNLOAD_BYTES`.
    """
    import fsspec

    name = PurePosixPath(address.partition("?")[0]).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            with fsspec.open(address, "rb") as stream, path.open("wb") as target:
                # The loop stops after the block that exceeds the limit.
                while target.tell() <= MAX_DOWNLOAD_BYTES:
                    block = stream.read(BLOCK_BYTES)
                    if not block:
                        break
                    target.write(block)
        # Each protocol raises its own types of errors.
        except Exception as error:
            raise ValueError(
                f"Expected a file at {address}, but it cannot be read: {short_reason(error)}."
            ) from error
        if path.stat().st_size > MAX_DOWNLOAD_BYTES:
            raise ValueError(
                f"Expected at most {MAX_DOWNLOAD_BYTES:,} bytes at {address}, but the file is "
                "larger."
            )
        yield path


def _load_from_hub(name: str, config: str | None, revision: str | None) -> Splits:
    """Load a data set of the hub by its id.

    Args:
        name: The id.
        config: The configuration; None for the default.
        revision: The revision; None for the latest one.

    Raises:
        FileNotFoundError: If the name looks like a path, which does not exist.
        ValueError: If the hub has no such data set, or if it cannot be read.
    """
    is_path = name.startswith((".", "/", "~")) or get_data_type(name) in NAMED_TYPES
    if is_path or name.count("/") > 1 or len(name) > MAX_HUB_ID_CHARACTERS:
        raise FileNotFoundError(
            f"Expected a data set at {name[:MAX_HUB_ID_CHARACTERS]}, but there is no such file or "
            "folder."
        )
    # Without a network, a data set may be in the cache.
    use_hub_or_cache()
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__}: {short_reason(error)}"
        raise ValueError(
            "Expected a data set of this package, a file, a folder or a data set on the hub, but "
            f"{name!r} cannot be read as any of them ({reason})."
            f"{suggest_similar_names(name, CATALOG, n=2)} "
            f"This package has: {', '.join(sorted(CATALOG))}."
        ) from error

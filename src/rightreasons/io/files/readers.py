"""The one reader of files: `read_file` reads a file of any type, compressed or not, as a table."""

from __future__ import annotations

import codecs
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rightreasons.core.errors import OptionError
from rightreasons.io.arrow_tables import make_table
from rightreasons.io.files.compressed import COMPRESSIONS, FILE_TYPES, get_data_type, unpack_file
from rightreasons.io.files.documents import Parsed, read_json_file
from rightreasons.io.files.openers import read_array, read_labeled_lines
from rightreasons.io.files.parquet import read_parquet
from rightreasons.io.files.separated import find_separator, read_separated
from rightreasons.io.files.text_files import (
    CONTROL_CHARACTERS,
    UTF16_MARKS,
    find_encoding,
    read_head,
)
from rightreasons.io.files.workbooks import read_workbook
from rightreasons.io.harnesses.inspect_logs import inspect_columns, read_archive
from rightreasons.io.log_forms import is_log, log_columns
from rightreasons.io.options import NO_FORM, FileForm

TYPES_WITHOUT_HEADING = (".csv", ".tsv", ".json")
"""Types of files whose columns an option may name."""


def read_file(path: Path, form: FileForm = NO_FORM, source_name: str = "") -> Parsed:
    """Read a file with its columns unchanged.

    Args:
        path: The file; its suffix is one of `FILE_TYPES`, perhaps followed by one of `COMPRESSIONS`. Text with
            another suffix is read as what its first lines show: JSON, or separated cells.
        form: How it is to be read.
        source_name: What it is called in errors; "" for its path.

    Returns:
        The table, or the tables of its splits. A column of unlike values is one of JSON.

    Raises:
        ValueError: If it is of another type, is damaged or passes a limit, or has no rows.
    """
    source_name = source_name or str(path)
    with unpack_file(path, source_name=source_name) as file:
        if form.line_format is not None:
            encoding = find_encoding(file, source_name, form.encoding)
            lines = read_labeled_lines(file, form.line_format, encoding, source_name)
            return make_table(lines, source_name)
        suffix = get_data_type(file)
        if suffix not in FILE_TYPES:
            suffix = _find_type_of_text(file, form)
        _check_type(suffix, form, source_name)
        parsed = _read_type(suffix, file, form, source_name)
    for table in _list_tables(parsed):
        if not table.num_rows or not table.num_columns:
            raise ValueError(f"Expected at least one row in {source_name}, but the table is empty.")
    return parsed


def _list_tables(parsed: Parsed) -> Iterator[pa.Table]:
    """Yield the table of a file, or those of its splits."""
    if isinstance(parsed, dict):
        yield from parsed.values()
    else:
        yield parsed


def _find_type_of_text(path: Path, form: FileForm) -> str:
    """Return the type of a text file with an unusual suffix, by its first lines.

    Args:
        path: The file.
        form: How it is to be read, with names of columns or a separator.

    Returns:
        ".json", ".csv" or ".tsv"; "" if the file is no text, or no table.
    """
    head = read_head(path)
    # latin-1 decodes any bytes, which is enough to find separators.
    encoding = "utf-16" if head[:2] in UTF16_MARKS else "latin-1"
    text = head.removeprefix(codecs.BOM_UTF8).decode(encoding, "replace").lstrip()
    # Pictures and programs have control characters.
    if CONTROL_CHARACTERS.search(text):
        return ""
    if text.startswith(("{", "[")):
        return ".json"
    separator = find_separator(path, encoding, form, default="\t")
    if not separator.is_certain and not form.column_names:
        return ""
    return ".tsv" if separator.character == "\t" else ".csv"


def _check_type(suffix: str, form: FileForm, source_name: str) -> None:
    """Check that files of a type can be read, and that options fit the type.

    Args:
        suffix: The type, such as ".csv".
        form: How the file is to be read.
        source_name: What it is called in errors.

    Raises:
        OptionError: If the type is unknown.
        ValueError: If columns are named for a file that has headings.
    """
    if suffix not in FILE_TYPES:
        raise OptionError(
            f"Expected a file of type {', '.join(FILE_TYPES)} (or compressed: "
            f"{', '.join(COMPRESSIONS)}), or a text file with such content, but got "
            f"{source_name}. If each line begins with a label, set `line_format` to 'label text'.",
            option=("column_names", "separator", "text_column", "line_format"),
        )
    if form.column_names is not None and suffix not in TYPES_WITHOUT_HEADING:
        raise ValueError(
            "Expected `column_names` only for a csv, tsv or json file, but got `column_names` "
            f"for {source_name}."
        )


def _read_type(suffix: str, path: Path, form: FileForm, source_name: str) -> Parsed:
    """Read a file by the reader of its type.

    Args:
        suffix: The type, one of `FILE_TYPES`.
        path: The file, unpacked.
        form: How it is to be read.
        source_name: What it is called in errors.

    Returns:
        The table, or the tables of its splits.

    Raises:
        ValueError: If it is damaged, or passes a limit.
    """
    if suffix in (".csv", ".tsv"):
        return read_separated(path, form, source_name, suffix)
    if suffix in (".json", ".jsonl"):
        return read_json_file(path, form, source_name, has_lines=suffix == ".jsonl")
    if suffix == ".parquet":
        table = read_parquet(path, source_name)
        # Logs of lighteval are stored as parquet.
        if is_log(dict.fromkeys(table.column_names)):
            return make_table(log_columns(table.to_pylist(), source_name), source_name)
        return table

    columns: dict[str, Any]
    if suffix == ".npz":
        columns = _read_arrays(path, source_name)
    elif suffix == ".npy":
        columns = read_array(path, source_name)
    elif suffix == ".xlsx":
        columns = read_workbook(path, form.rows, source_name)
    else:
        # The remaining type is ".eval", an archive of inspect_ai.
        log = read_archive(path)
        columns = inspect_columns(log, source_name, scorer=form.log_filter)
    return make_table(columns, source_name)


def _read_arrays(path: Path, source_name: str) -> dict[str, Any]:
    """Return the arrays of a .npz file by their names.

    Raises:
        ValueError: If it cannot be read, or holds arrays of objects.
    """
    try:
        # Arrays of objects could run code when they are loaded.
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    # A header may claim a shape that does not fit into the memory.
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, MemoryError):
        raise ValueError(
            f"Expected plain numpy arrays in {source_name}, but the arrays cannot be read."
        ) from None

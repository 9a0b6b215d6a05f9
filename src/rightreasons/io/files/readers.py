"""Reader of files of any type: `read_file` reads a file, which may be compressed, as a table."""

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
from rightreasons.io.harnesses.inspect_logs import read_archive, read_inspect_columns
from rightreasons.io.log_forms import is_log, read_log_columns
from rightreasons.io.options import NO_FORM, FileForm

TYPES_WITHOUT_HEADING = (".csv", ".tsv", ".json")
"""Types of files without headings at times, whose columns an option may name."""


def read_file(path: Path, form: FileForm = NO_FORM, source_name: str = "") -> Parsed:
    """Read a file with its columns unchanged.

    Args:
        path: The file. Its suffix is one of `FILE_TYPES`, perhaps followed by one of `COMPRESSIONS`. If a text file
            has another suffix, its first lines show whether it is JSON or has separated cells.
        form: Options on how the file is read.
        source_name: Name of the file, for error messages; "" for its path.

    Returns:
        The table, or the tables of its splits. A column of values of different types is a column of JSON.

    Raises:
        ValueError: If the file has another type, is damaged, exceeds a limit, or has no rows.
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
        form: Options on how the file is read, perhaps with the names of columns or the separator.

    Returns:
        ".json", ".csv" or ".tsv"; "" if the file is not a text file, or not a table.
    """
    head = read_head(path)
    # latin-1 can decode any bytes, and separators are the same in most encodings.
    encoding = "utf-16" if head[:2] in UTF16_MARKS else "latin-1"
    text = head.removeprefix(codecs.BOM_UTF8).decode(encoding, "replace").lstrip()
    # Files with control characters, such as pictures and programs, are not text files.
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
        form: Options on how the file is read, perhaps with the names of columns.
        source_name: Name of the file, for error messages.

    Raises:
        OptionError: If the type is unknown.
        ValueError: If an option names columns although files of this type have headings.
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
        form: Options on how the file is read.
        source_name: Name of the file, for error messages.

    Returns:
        The table, or the tables of its splits.

    Raises:
        ValueError: If the file is damaged, or exceeds a limit.
    """
    if suffix in (".csv", ".tsv"):
        return read_separated(path, form, source_name, suffix)
    if suffix in (".json", ".jsonl"):
        return read_json_file(path, form, source_name, has_lines=suffix == ".jsonl")
    if suffix == ".parquet":
        table = read_parquet(path, source_name)
        # A parquet file may be a log of lighteval.
        if is_log(dict.fromkeys(table.column_names)):
            return make_table(read_log_columns(table.to_pylist(), source_name), source_name)
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
        columns = read_inspect_columns(log, source_name, scorer=form.log_filter)
    return make_table(columns, source_name)


def _read_arrays(path: Path, source_name: str) -> dict[str, Any]:
    """Return the arrays of a .npz file by their names.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.

    Raises:
        ValueError: If the file cannot be read, or contains arrays of objects.
    """
    try:
        # Arrays of objects are refused, because they could run code when they are loaded.
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    # A MemoryError is raised for a header with a shape that does not fit into the memory.
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, MemoryError):
        raise ValueError(
            f"Expected plain numpy arrays in {source_name}, but the arrays cannot be read."
        ) from None

"""Measures a file that a stranger has sent, before any of it is held in memory: a small file may hold a large table."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rightreasons.data.opening.compressed import data_type, unpacked
from rightreasons.data.opening.stored_columns import read_columns
from rightreasons.foundations.bounds import (
    MAX_COLUMNS,
    MAX_UNPACKED_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_CELLS,
    MAX_UPLOAD_ROWS,
)

_BLOCK = 1 << 20
_BATCH = 1 << 14  # rows of a parquet file that are measured at a time


def check_upload(path: str | Path) -> Path:
    r"""Check that a file, and what it holds, are within the limits of a public page.

    The sizes of an archive come from its directory, those of a parquet file from its footer and from its texts, which
    stay packed; a compressed file is unpacked to disk until the limit.

    Args:
        path: The file. What cannot be read is left to its reader, which says so.

    Returns:
        The file.

    Raises:
        ValueError: If it has more bytes, rows, columns or values than `foundations/bounds.py` allows.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "long.csv"
        >>> _ = file.write_text("label\n" + "1\n" * 1_000_001)
        >>> check_upload(file)
        Traceback (most recent call last):
        ...
        ValueError: Expected at most 1,000,000 rows in long.csv, but it has 1,000,001.
    """
    path = Path(path)
    _at_most(MAX_UPLOAD_BYTES, "bytes", path.stat().st_size, path.name)
    try:
        with unpacked(path, MAX_UNPACKED_BYTES) as file:
            kind = data_type(path)
            if kind in (".npz", ".eval"):
                _check_archive(file, path.name)
            elif kind == ".parquet":
                _check_parquet(file, path.name)
            else:
                _check_text(file, path.name, separated=kind in (".csv", ".tsv"))
    except ValueError as error:  # a visitor knows the file by its name, not by its path on the server
        raise ValueError(str(error).replace(str(path), path.name)) from None
    return path


def column_names(path: str | Path) -> list[str]:
    """List the columns of an uploaded table, for a visitor to say what they are; none where it cannot be read."""
    try:
        return list(read_columns(check_upload(path)))
    except (TypeError, ValueError):
        return []


# ------------------------------------------------------------------------------------------------------------- private


def _at_most(limit: int, unit: str, number: int, name: str) -> None:
    if number > limit:
        raise ValueError(f"Expected at most {limit:,} {unit} in {name}, but it has {number:,}.")


def _check_text(file: Path, name: str, *, separated: bool) -> None:
    lines = commas = 0
    _at_most(MAX_UNPACKED_BYTES, "bytes", file.stat().st_size, name)
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            commas += block.count(b",") + block.count(b"\t")
    _at_most(MAX_UPLOAD_ROWS, "rows", lines - separated, name)
    _at_most(MAX_UPLOAD_CELLS, "values", lines + commas, name)


def _check_archive(file: Path, name: str) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _at_most(MAX_COLUMNS, "files", len(entries), name)
            _at_most(MAX_UNPACKED_BYTES, "bytes once it is unpacked", sum(entry.file_size for entry in entries), name)
            for entry in entries:
                if entry.filename.endswith(".npy"):
                    with archive.open(entry) as stream:
                        _check_array(stream, name)
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, SyntaxError):
        return


def _check_array(stream: Any, name: str) -> None:
    """Compare the shape that the header of an array says; an entry may have no bytes at all."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        shape, _, kind = readers[np.lib.format.read_magic(stream)](stream)
    except (KeyError, ValueError):
        raise ValueError(f"Expected plain numpy arrays in {name}, but it cannot be read as such.") from None
    _at_most(MAX_UPLOAD_ROWS, "rows", shape[0] if shape else 1, name)
    _at_most(MAX_UPLOAD_CELLS, "values", math.prod(shape), name)
    _at_most(MAX_UNPACKED_BYTES, "bytes once it is unpacked", math.prod(shape) * kind.itemsize, name)


def _check_parquet(file: Path, name: str) -> None:
    try:
        with pq.ParquetFile(file) as table:
            footer = table.metadata
            groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
            chunks = [group.column(number) for group in groups for number in range(footer.num_columns)]
            texts = [
                footer.schema.column(number).path
                for number in range(footer.num_columns)
                if footer.schema.column(number).physical_type == "BYTE_ARRAY"
            ]
            rows, columns = footer.num_rows, footer.num_columns
    except (OSError, pa.ArrowException):
        return
    _at_most(MAX_UPLOAD_ROWS, "rows", rows, name)
    _at_most(MAX_COLUMNS, "columns", columns, name)
    _at_most(MAX_UPLOAD_CELLS, "values", sum(chunk.num_values for chunk in chunks), name)
    size = sum(group.total_byte_size for group in groups)
    _at_most(MAX_UNPACKED_BYTES, "bytes once it is unpacked", size, name)
    # A text that comes often is stored once.
    try:
        with pq.ParquetFile(file, read_dictionary=texts) as table:
            length = 0
            for batch in table.iter_batches(_BATCH):
                length += sum(_length(array) for array in batch.columns)
                _at_most(MAX_UNPACKED_BYTES, "bytes of text", length, name)
    except (OSError, pa.ArrowException):
        return


def _length(array: Any) -> int:
    """Return the bytes of the texts of an array, each as often as it comes."""
    return sum(_lengths(array))


def _lengths(array: Any) -> Iterator[int]:
    kind = array.type
    if pa.types.is_dictionary(kind) and len(array.dictionary):
        lengths = pc.binary_length(array.dictionary)
        yield pc.sum(pc.take(lengths.cast(pa.int64()), array.indices)).as_py() or 0
    elif pa.types.is_struct(kind):
        for field in array.flatten():
            yield from _lengths(field)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _lengths(array.flatten())
    elif pa.types.is_map(kind):
        yield from _lengths(array.items)
    else:
        yield array.nbytes

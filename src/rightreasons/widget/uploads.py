"""Measures a file that a stranger has sent, before any of it is held in memory: a small file may hold a large table."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rightreasons.core.validation import (
    MAX_COLUMNS,
    MAX_UNPACKED_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOAD_CELLS,
    MAX_UPLOAD_ROWS,
    check_at_most,
)
from rightreasons.io.columns import read_columns
from rightreasons.io.options import ScoreOptions
from rightreasons.io.reading import data_type, parquet_values, read_parquet, unpacked

_BLOCK = 1 << 20


def check_upload(path: str | Path) -> Path:
    r"""Check that a file, and what it holds, are within the limits of a public page.

    The sizes of an archive come from its directory, those of a parquet file from its footer and from its texts, which
    stay packed; a compressed file is unpacked to disk until the limit.

    Args:
        path: The file. What cannot be read is left to its reader, which says so.

    Returns:
        The file.

    Raises:
        ValueError: If it has more bytes, rows, columns or values than `core/validation.py` allows.

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
    check_at_most(path.stat().st_size, MAX_UPLOAD_BYTES, "bytes", path.name)
    with unpacked(path, MAX_UNPACKED_BYTES, path.name) as file:
        kind = data_type(file)
        if kind in (".npz", ".eval"):
            _check_archive(file, path.name)
        elif kind == ".parquet":
            _check_parquet(file, path.name)
        else:
            _check_text(file, path.name, separated=kind in (".csv", ".tsv"))
    return path


def column_names(path: str | Path) -> list[str]:
    """List the columns of an uploaded table, for a visitor to say what they are; none where it cannot be read."""
    try:
        return list(read_columns(check_upload(path), ScoreOptions())[0])
    except (TypeError, ValueError):
        return []


# ------------------------------------------------------------------------------------------------------------- private


def _check_text(file: Path, name: str, *, separated: bool) -> None:
    lines = commas = 0
    check_at_most(file.stat().st_size, MAX_UNPACKED_BYTES, "bytes", name)
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            lines += block.count(b"\n")
            commas += block.count(b",") + block.count(b"\t")
    check_at_most(lines - separated, MAX_UPLOAD_ROWS, "rows", name)
    check_at_most(lines + commas, MAX_UPLOAD_CELLS, "values", name)


def _check_archive(file: Path, name: str) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            check_at_most(len(entries), MAX_COLUMNS, "files", name)
            size = sum(entry.file_size for entry in entries)
            check_at_most(size, MAX_UNPACKED_BYTES, "bytes once it is unpacked", name)
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
    check_at_most(shape[0] if shape else 1, MAX_UPLOAD_ROWS, "rows", name)
    check_at_most(math.prod(shape), MAX_UPLOAD_CELLS, "values", name)
    check_at_most(math.prod(shape) * kind.itemsize, MAX_UNPACKED_BYTES, "bytes once it is unpacked", name)


def _check_parquet(file: Path, name: str) -> None:
    try:
        with pq.ParquetFile(file) as table:
            footer, n_values = table.metadata, parquet_values(table)
            size = sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
            check_at_most(footer.num_rows, MAX_UPLOAD_ROWS, "rows", name)
            check_at_most(footer.num_columns, MAX_COLUMNS, "columns", name)
            check_at_most(n_values, MAX_UPLOAD_CELLS, "values", name)
            check_at_most(size, MAX_UNPACKED_BYTES, "bytes once it is unpacked", name)
        read_parquet(file, name, MAX_UNPACKED_BYTES)
    except (OSError, pa.ArrowException):
        return

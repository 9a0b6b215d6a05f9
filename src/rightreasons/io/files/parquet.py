"""Parquet files, read within limits: a small one may hold more than the memory does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from rightreasons.core.json_files import MAX_NESTING
from rightreasons.core.limits import MAX_COLUMNS
from rightreasons.core.validation import check_ids
from rightreasons.io.arrow_tables import list_levels, short_reason
from rightreasons.io.files.compressed import get_max_bytes, make_size_error

BYTES_PER_VALUE = 8
"""What a value takes in memory, apart from the characters of a text."""


def read_parquet(path: Path, source_name: str) -> pa.Table:
    """Read a parquet file with its columns unchanged, unless it would fill the memory.

    A small file can hold a large table, because equal texts are stored once.

    Args:
        path: The file.
        source_name: What it is called in errors.

    Raises:
        ValueError: If it is no parquet file, or holds more than `get_max_bytes`.
    """
    max_bytes = get_max_bytes(path)
    with _open_parquet(path, source_name) as file:
        schema = file.schema_arrow
        _check_columns(file, source_name)
        # The footer has the number of values, but not the size of the texts.
        n_bytes = BYTES_PER_VALUE * _count_values(file.metadata)
        text_columns = _list_text_columns(file.schema)
    if n_bytes > max_bytes:
        raise make_size_error(path, source_name, max_bytes)

    # Texts are read as dictionaries, in which equal ones are stored once, until their size is known.
    with _open_parquet(path, source_name, read_dictionary=text_columns) as file:
        table = file.read()
    for column in table.columns:
        n_bytes += sum(map(_count_text_bytes, column.chunks))
    if n_bytes > max_bytes:
        raise make_size_error(path, source_name, max_bytes)
    return table.cast(_expand_dictionaries(schema))


@contextmanager
def _open_parquet(path: Path, source_name: str, **options: Any) -> Iterator[pa.parquet.ParquetFile]:
    """Open a parquet file as a context manager, in which errors of Arrow become sentences.

    Args:
        path: The file.
        source_name: What it is called in errors.
        **options: Arguments of `ParquetFile`.

    Raises:
        ValueError: If it cannot be opened or read.
    """
    try:
        with pa.parquet.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError, OverflowError, UnicodeError) as error:
        raise ValueError(
            f"Expected a parquet file, but {source_name} cannot be read as one: "
            f"{short_reason(error)}."
        ) from None


def _check_columns(file: pa.parquet.ParquetFile, source_name: str) -> None:
    """Check that the columns of a file have distinct names, and are neither too many nor nested too deeply.

    Raises:
        ValueError: If they do not.
    """
    schema = file.schema_arrow
    check_ids(schema.names, f"column of {source_name}")
    depth = max((len(list_levels(kind)) for kind in schema.types), default=0)
    # The schema of the file counts the fields of objects as columns.
    if len(file.schema) > MAX_COLUMNS or depth > MAX_NESTING:
        raise ValueError(
            f"Expected at most {MAX_COLUMNS:,} columns of at most {MAX_NESTING} levels of "
            f"nesting in {source_name}, but the file exceeds one of these limits."
        )


def _count_values(metadata: pa.parquet.FileMetaData) -> int:
    """Return the number of values in all columns of a file, those inside lists included.

    Args:
        metadata: The footer of the file, with the number for each column of each group of rows.
    """
    n_values = 0
    for group_number in range(metadata.num_row_groups):
        group = metadata.row_group(group_number)
        for column_number in range(group.num_columns):
            n_values += group.column(column_number).num_values
    return n_values


def _list_text_columns(schema: pa.parquet.ParquetSchema) -> list[str]:
    """Return the paths of the columns of texts, those inside lists and objects included."""
    columns = [schema.column(number) for number in range(len(schema))]
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _count_text_bytes(array: pa.Array) -> int:
    """Return the bytes of all texts in an array, each counted as often as it occurs.

    Args:
        array: A column; texts are dictionaries, also in fields of objects and in lists.
    """
    if isinstance(array, pa.DictionaryArray):
        # A column of many repeated texts exceeds 32 bits.
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if isinstance(array, pa.StructArray):
        return sum(map(_count_text_bytes, array.flatten()))
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return _count_text_bytes(array.flatten())
    return 0


def _expand_dictionaries(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types of the values in place of dictionaries, as those of pandas categories."""
    fields = []
    for field in schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        fields.append(field.with_type(kind))
    return pa.schema(fields, schema.metadata)

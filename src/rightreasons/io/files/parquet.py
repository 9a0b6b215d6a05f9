"""Reader of parquet files with limits, because a small file may contain a table larger than the memory."""

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
"""Number of bytes of a value in memory, without the characters of a string."""


def read_parquet(path: Path, source_name: str) -> pa.Table:
    """Read a parquet file with its columns unchanged, unless it is too large for the memory.

    A small file may contain a large table, because equal strings are stored only once.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.

    Raises:
        ValueError: If the file is not a parquet file, or has more bytes in memory than `get_max_bytes`.
    """
    max_bytes = get_max_bytes(path)
    with _open_parquet(path, source_name) as file:
        schema = file.schema_arrow
        _check_columns(file, source_name)
        # The footer of the file has the number of values, but not the size of strings.
        n_bytes = BYTES_PER_VALUE * _count_values(file.metadata)
        text_columns = _list_text_columns(file.schema)
    if n_bytes > max_bytes:
        raise make_size_error(path, source_name, max_bytes)

    # Strings are read as dictionaries, which store equal ones only once, until their size is known.
    with _open_parquet(path, source_name, read_dictionary=text_columns) as file:
        table = file.read()
    for column in table.columns:
        n_bytes += sum(map(_count_text_bytes, column.chunks))
    if n_bytes > max_bytes:
        raise make_size_error(path, source_name, max_bytes)
    return table.cast(_expand_dictionaries(schema))


@contextmanager
def _open_parquet(path: Path, source_name: str, **options: Any) -> Iterator[pa.parquet.ParquetFile]:
    """Open a parquet file as a context manager, which converts errors of Arrow to a ValueError.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.
        **options: Arguments of `ParquetFile`.

    Raises:
        ValueError: If the file cannot be opened, or cannot be read in the block.
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
    """Check the names, the number and the nesting of the columns of a file.

    Args:
        file: The open file.
        source_name: Name of the file, for error messages.

    Raises:
        ValueError: If names repeat, or if there are too many columns or levels of nesting.
    """
    schema = file.schema_arrow
    check_ids(schema.names, f"column of {source_name}")
    depths = [len(list_levels(arrow_type)) for arrow_type in schema.types]
    depth = max(depths, default=0)
    # In the schema of the file, the fields of objects are columns as well.
    if len(file.schema) > MAX_COLUMNS or depth > MAX_NESTING:
        raise ValueError(
            f"Expected at most {MAX_COLUMNS:,} columns of at most {MAX_NESTING} levels of "
            f"nesting in {source_name}, but the file exceeds one of these limits."
        )


def _count_values(metadata: pa.parquet.FileMetaData) -> int:
    """Return the number of values in all columns of a file, including values in lists.

    Args:
        metadata: The footer of the file, with the number of values in each column of each group of rows.
    """
    n_values = 0
    for group_number in range(metadata.num_row_groups):
        group = metadata.row_group(group_number)
        for column_number in range(group.num_columns):
            n_values += group.column(column_number).num_values
    return n_values


def _list_text_columns(schema: pa.parquet.ParquetSchema) -> list[str]:
    """Return the paths of the columns of strings, including those inside lists and objects."""
    columns = [schema.column(number) for number in range(len(schema))]
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _count_text_bytes(array: pa.Array) -> int:
    """Return the number of bytes of all strings in an array, repeated ones included.

    Args:
        array: A column, in which strings are dictionaries, even in fields of objects and in lists.
    """
    if isinstance(array, pa.DictionaryArray):
        # With many repeated strings, the sum may exceed 32 bits.
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if isinstance(array, pa.StructArray):
        return sum(map(_count_text_bytes, array.flatten()))
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return _count_text_bytes(array.flatten())
    return 0


def _expand_dictionaries(schema: pa.Schema) -> pa.Schema:
    """Replace dictionary types in a schema, such as those of pandas categories, by the types of their values."""
    fields = []
    for field in schema:
        arrow_type = field.type
        if pa.types.is_dictionary(arrow_type):
            arrow_type = arrow_type.value_type
        fields.append(field.with_type(arrow_type))
    return pa.schema(fields, schema.metadata)

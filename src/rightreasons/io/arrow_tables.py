"""Tables of Arrow from columns of any type, and Datasets from such tables.

`make_table` makes a table, and `make_dataset` a Dataset of a table. A column of values without a common
type of Arrow is stored as JSON, and `read_values` returns its original values.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import datasets
import numpy as np
import pyarrow as pa

from rightreasons.core.arrays import to_array_or_list
from rightreasons.core.json_files import MAX_NESTING
from rightreasons.core.limits import MAX_COLUMNS
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_at_most

Splits: TypeAlias = "datasets.Dataset | datasets.DatasetDict"
"""A single table, or a table per split."""

AGAIN = "(2) "
"""Prefix of a repeated heading, which no option or usual heading has."""

MAX_REASON_CHARACTERS = 200
"""Maximum length of the message of another library within an error message of this package."""

MAX_SPARSE_FIELDS = 32
MIN_FILLED_SHARE = 0.25
"""Objects with more fields, of which a smaller share is filled, have mostly different keys, and become JSON."""

_UNFIT_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


# ------------------------------------------------------------------------------- data sets


def make_dataset(table: pa.Table, source_name: str, split: str | None = None) -> datasets.Dataset:
    """Make a Dataset of a table of Arrow.

    Args:
        table: The table, whose metadata may contain the features of `datasets`.
        source_name: Name of the source, for error messages.
        split: The name of the split; None if it has no name.

    Raises:
        ValueError: If `datasets` cannot read the features in the metadata.
    """
    # Without a fingerprint, `datasets` would pickle and digest the whole table, which takes longer than
    # reading it, and is only of use for tables on a disk.
    fingerprint = datasets.fingerprint.generate_random_fingerprint()
    try:
        named_split = None if split is None else datasets.NamedSplit(split)
        return datasets.Dataset(table, split=named_split, fingerprint=fingerprint)
    # The metadata is from a parquet file, and may be malformed in any way.
    except Exception as error:
        raise ValueError(
            f"Expected columns that `datasets` can hold in {source_name}, but the "
            f"conversion failed: {short_reason(error)}."
        ) from error


def only_part(tables: Splits, source_name: str) -> datasets.Dataset:
    """Return the only split of a source of rows.

    Args:
        tables: A Dataset, or a DatasetDict of one split.
        source_name: Name of the source, for error messages.

    Raises:
        ValueError: If there are several splits.
    """
    if isinstance(tables, datasets.Dataset):
        return tables
    if len(tables) > 1:
        raise ValueError(
            f"Expected one table in {source_name}, but it has the splits "
            f"{', '.join(map(str, tables))}."
        )
    return next(iter(tables.values()))


def short_reason(error: Exception) -> str:
    """Return the first line of another library's error, to be quoted in an error message.

    The line is truncated to `MAX_REASON_CHARACTERS`. For an error without a message, it is the name of the
    type.
    """
    reason = str(error).strip().partition("\n")[0].rstrip(". ")
    # The message of a KeyError is only the key.
    if isinstance(error, KeyError):
        reason += " is missing"
    if len(reason) > MAX_REASON_CHARACTERS:
        return f"{reason[:MAX_REASON_CHARACTERS]}…"
    return reason or type(error).__name__


# ------------------------------------------------------------------------------- tables


def make_table(columns: Mapping[str, Any], source_name: str) -> pa.Table:
    """Make a table of Arrow; a column of values without a common type is stored as JSON.

    Args:
        columns: Heading -> a list, an array or a column of Arrow.
        source_name: Name of the table, for error messages.

    Raises:
        TypeError: If a column is not a list or array.
        ValueError: If columns have different lengths, or there are too many.

    Example:
        >>> make_table({"id": ["a", 7], "p": np.array([0.5, 1.0])}, "the table").schema.types
        [JsonType(extension<arrow.json>), DataType(double)]
    """
    check_at_most(len(columns), MAX_COLUMNS, "columns", source_name)
    arrays: dict[str, Any] = {}
    for heading, cells in columns.items():
        if not _is_column(cells):
            raise TypeError(
                f"Expected a list in the column {heading!r} of {source_name}, but got "
                f"{format_value(cells)}."
            )
        name = str(heading)
        # A lazy column contains a column of Arrow, and needs no conversion.
        values = cells
        if not isinstance(cells, LazyArrowColumn):
            values = to_array_or_list(cells, name)
        arrays[name] = make_column(values, name, source_name)
    _check_lengths(arrays, source_name)
    return pa.table(arrays)


def _is_column(cells: Any) -> bool:
    """Return whether an object is a sequence of cells, and not a string or an array of a single number."""
    if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__"):
        return False
    return getattr(cells, "ndim", 1) != 0


def _check_lengths(arrays: Mapping[str, Any], source_name: str) -> None:
    """Check that all columns have the length of the first one.

    Args:
        arrays: Heading -> column.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If a column has another length.
    """
    first_name = next(iter(arrays), "")
    for name, array in arrays.items():
        n_rows = len(arrays[first_name])
        if len(array) != n_rows:
            raise ValueError(
                f"Expected columns of one length in {source_name}, but {first_name!r} has "
                f"{n_rows:,} rows and {name!r} {len(array):,}."
            )


def concatenate_tables(tables: Sequence[pa.Table], source_name: str) -> pa.Table:
    """Concatenate the rows of tables with the same columns; a column of different types becomes JSON.

    Args:
        tables: The tables, in the order of the rows.
        source_name: Name of the source, for error messages.
    """
    columns = {}
    for name in tables[0].column_names:
        parts = [table.column(name) for table in tables]
        columns[name] = concatenate_columns(parts, name, source_name)
    # The metadata contains the features of `datasets`.
    return pa.table(columns).replace_schema_metadata(tables[0].schema.metadata)


def concatenate_columns(
    parts: Sequence[pa.Array | pa.ChunkedArray], name: str, source_name: str
) -> pa.ChunkedArray | pa.Array:
    """Concatenate the parts of a column; parts of different types become JSON.

    Parts of integers and parts of floats become floats.

    Args:
        parts: The parts, in the order of the rows.
        name: The heading of the column, for error messages.
        source_name: Name of the table, for error messages.
    """
    # Arrow only converts types to a common one in tables, so that each part becomes a table.
    tables = [pa.table({"": part}) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0)
    except pa.ArrowException:
        values = itertools.chain.from_iterable(map(read_values, parts))
        return make_column(list(values), name, source_name)


class _DigestSink:
    """A file that stores only the digest of the bytes that are written to it.

    Args:
        prefix: Bytes that are digested first.
    """

    # Arrow expects these attributes and methods of a file.
    closed = False

    def __init__(self, prefix: bytes = b"") -> None:
        self.digest = hashlib.blake2b(prefix, digest_size=16)

    def write(self, data: Any) -> int:
        """Add bytes to the digest, and return their number."""
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Do nothing: there is no file."""


def digest_table(table: pa.Table, prefix: bytes = b"") -> str:
    """Return a digest of the content of a table, as 32 hexadecimal digits.

    The digest does not depend on metadata or on the division of rows into chunks.

    Args:
        table: The table.
        prefix: Bytes that are digested before the content.
    """
    content = table.replace_schema_metadata(None).combine_chunks()
    # The table is digested block by block as a stream of Arrow, without a copy in memory.
    sink = _DigestSink(prefix)
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), content.schema) as stream:
        stream.write_table(content)
    return sink.digest.hexdigest()


# ------------------------------------------------------------------------------- columns


def make_column(values: Any, name: str, source_name: str) -> pa.Array:
    """Make a column of Arrow; values without a common type of Arrow are stored as JSON.

    These are values of different types, integers of more than 64 bits, strings with half of a surrogate
    pair, and objects with mostly different keys.

    Args:
        values: A list, an array or a column of Arrow.
        name: The heading of the column, for error messages.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If a value is nested too deeply, or can be stored neither in Arrow nor in JSON.
    """
    if isinstance(values, np.ndarray) and values.ndim > 1:
        # All rows have the same length. The elements of all rows form one array, with an offset per row.
        cells = make_column(values.reshape(-1, *values.shape[2:]), name, source_name)
        offsets = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
        return pa.LargeListArray.from_arrays(offsets, cells)
    try:
        # Arrow cannot store a heading with half of a surrogate pair, for which this raises an error.
        name.encode()
        column = pa.array(values)
    except _UNFIT_ERRORS:
        return _make_mixed_column(values, name, source_name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if _has_sparse_fields(column):
        return _make_json_column(values)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()

    levels = list_levels(column.type)
    if len(levels) > MAX_NESTING:
        raise ValueError(
            f"Expected at most {MAX_NESTING} levels of nesting in {source_name}, but the column "
            f"{name!r} is nested deeper."
        )
    for fields in levels:
        # Arrow truncates a key at a NUL, so that two keys might become equal.
        if any("\0" in field.name for field in fields):
            return _make_json_column(values)
    return column


def _make_mixed_column(values: Any, name: str, source_name: str) -> pa.Array:
    """Make a column of values without a common type of Arrow: strings with missing values, or else JSON.

    Args:
        values: The values.
        name: The heading of the column, for error messages.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If a value or the heading cannot be stored in JSON.
    """
    # In pandas, a missing string is NaN.
    with contextlib.suppress(*_UNFIT_ERRORS):
        return pa.array(values, pa.string(), from_pandas=True)
    try:
        name.encode()
        return _make_json_column(values)
    except (ValueError, RecursionError):
        escaped_name = name.encode("ascii", "backslashreplace").decode()
        raise ValueError(
            f"Expected values that a table can hold in the column {escaped_name!r} of "
            f"{source_name}, but a value cannot be stored."
        ) from None


def _has_sparse_fields(column: pa.Array) -> bool:
    """Return whether a column has objects of many keys, most of which are missing in each object.

    Arrow would add the keys of all objects to each object, with nulls as values.

    Args:
        column: The column of Arrow.
    """
    if not pa.types.is_struct(column.type) or column.type.num_fields <= MAX_SPARSE_FIELDS:
        return False
    n_cells: int = len(column) * column.type.num_fields
    n_filled = 0
    for field in column.flatten():
        n_filled += len(field) - field.null_count
    return n_filled < MIN_FILLED_SHARE * n_cells


def list_levels(arrow_type: pa.DataType) -> list[list[pa.Field]]:
    """Return the fields inside a nested type, as one list per level of nesting.

    Args:
        arrow_type: The type. For example, a list of objects has two levels, and a string has none.
    """
    levels = []
    fields = _list_fields(arrow_type)
    while fields:
        levels.append(fields)
        inner_fields = []
        for field in fields:
            inner_fields += _list_fields(field.type)
        fields = inner_fields
    return levels


def _list_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    return [arrow_type.field(number) for number in range(arrow_type.num_fields)]


# ------------------------------------------------------------------------------- JSON in cells


def _make_json_column(values: Iterable[Any]) -> pa.Array:
    """Make a column of JSON, with a null for None."""
    texts = []
    for value in values:
        text = None if value is None else json.dumps(value, default=convert_for_json)
        texts.append(text)
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))


def convert_for_json(value: Any) -> Any:
    """Convert a value that JSON does not support: an array to a list, any other value to a string."""
    # Arrays and numbers of numpy, and tensors, have this method.
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def read_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return the values of a column of Arrow as objects of Python; JSON is parsed.

    Args:
        column: The column.

    Example:
        >>> read_values(make_column(["a", 7, None], "id", "the table"))
        ['a', 7, None]
    """
    if not isinstance(column.type, pa.JsonType):
        values: list[Any] = column.to_pylist()
        return values
    texts = column.cast(pa.string()).to_pylist()
    return [None if text is None else json.loads(text) for text in texts]

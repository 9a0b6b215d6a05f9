"""Tables in JSON: documents in any of the usual orientations, and JSON lines.

`read_json_file` reads a file, and `make_document_table` a document that is already parsed. Each key
that occurs in a record is a column.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import pyarrow as pa

from rightreasons.core.errors import OptionError
from rightreasons.core.json_files import MAX_JSON_CHARACTERS, parse_json
from rightreasons.core.limits import MAX_COLUMNS
from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import check_all, check_at_most
from rightreasons.io.arrow_tables import concatenate_columns, make_column, make_table
from rightreasons.io.files.compressed import MIN_ALLOWED_BYTES
from rightreasons.io.files.record_paths import (
    find_records,
    name_classes,
    select_records,
    unwrap_records,
)
from rightreasons.io.files.splits import find_split
from rightreasons.io.files.text_files import find_encoding, iterate_lines
from rightreasons.io.harnesses.inspect_logs import is_inspect, read_inspect_columns
from rightreasons.io.log_forms import complete_log, is_log, read_log_columns
from rightreasons.io.options import FileForm
from rightreasons.io.score_cells import make_pipeline_columns

Object: TypeAlias = "Mapping[str, Any]"
"""An object of JSON."""

Parsed: TypeAlias = "pa.Table | dict[str, pa.Table]"
"""The table of a file, or name of a split -> its table."""

N_RECORDS_AT_A_TIME = 1 << 14
"""Number of records that are converted to Arrow at a time."""

BYTES_PER_CELL = 8
"""Minimum number of bytes of a cell in memory."""


def read_json_file(path: Path, form: FileForm, source_name: str, *, has_lines: bool) -> Parsed:
    """Read a file of JSON as a table: one document, or an object in each line.

    Args:
        path: The file.
        form: Options on how the document is read.
        source_name: Name of the file, for error messages.
        has_lines: Whether the suffix is that of JSON lines. Otherwise the first lines show the format.

    Returns:
        The table, or the tables of its splits.

    Raises:
        ValueError: If the file is not JSON, exceeds a limit, or has no list of records.
    """
    encoding = find_encoding(path, source_name, form.encoding, can_be_cp1252=False)
    with path.open(encoding=encoding, newline="") as stream:
        is_read_by_line = has_lines or _has_json_lines(stream, source_name)
        stream.seek(0)
        if is_read_by_line:
            return _read_json_lines(stream, form, source_name, path.stat().st_size)
        # One character more than allowed is enough to see that the document is too long.
        content = parse_json(stream.read(MAX_JSON_CHARACTERS + 1), source_name)
    # Some harnesses write a log as several files.
    content = complete_log(content, path)
    return make_document_table(content, form, source_name, path.stat().st_size)


# ------------------------------------------------------------------------------- lines


def _has_json_lines(stream: IO[str], source_name: str) -> bool:
    """Return whether the first line that is not blank is a whole object, and another object follows.

    Args:
        stream: The open file, whose position is after the first lines when this function returns.
        source_name: Name of the file, for error messages.
    """
    filled_lines = filter(str.strip, iterate_lines(stream, source_name))
    first_lines = list(itertools.islice(filled_lines, 2))
    first_characters = [line.lstrip()[0] for line in first_lines]
    if first_characters != ["{", "{"]:
        return False
    try:
        return isinstance(parse_json(first_lines[0], source_name), dict)
    # The first line of an indented document is not valid JSON.
    except ValueError:
        return False


def _read_json_lines(stream: IO[str], form: FileForm, source_name: str, n_bytes: int) -> pa.Table:
    """Read JSON lines as a table; the lines of a log of a harness become columns of answers.

    Args:
        stream: The open file.
        form: Options on how the file is read, with the filter of a log.
        source_name: Name of the file, for error messages.
        n_bytes: The size of the file, which limits the size of the table.

    Raises:
        ValueError: If a line is not an object in JSON.
    """
    chunks = _parse_lines(stream, source_name)
    first_records: list[Any] = []
    for records in chunks:
        # A chunk of blank lines has no records.
        if records:
            first_records = records
            break
    all_chunks = itertools.chain([first_records], chunks)
    if first_records and is_log(first_records[0]):
        samples = list(itertools.chain.from_iterable(all_chunks))
        return make_table(read_log_columns(samples, source_name, form.log_filter), source_name)
    return make_record_table(all_chunks, source_name, unit="line", n_bytes=n_bytes)


def _parse_lines(stream: IO[str], source_name: str) -> Iterator[list[Any]]:
    """Yield the parsed values of JSON lines, `N_RECORDS_AT_A_TIME` lines at a time.

    Args:
        stream: The open file, whose blank lines are skipped.
        source_name: Name of the file, for error messages, which also contain the number of the line.
    """
    numbered_lines = enumerate(iterate_lines(stream, source_name), start=1)
    while chunk := list(itertools.islice(numbered_lines, N_RECORDS_AT_A_TIME)):
        values = []
        for number, line in chunk:
            text = line.strip()
            if text:
                values.append(_parse_line(line, source_name, number))
        yield values


def _parse_line(line: str, source_name: str, number: int) -> Any:
    """Parse a line of JSON.

    Args:
        line: The line, with its line end.
        source_name: Name of the file, for error messages.
        number: Number of the line, from 1.

    Raises:
        ValueError: If the line is not JSON. The message says what to do if the file ends within it.
    """
    try:
        return parse_json(line.strip(), source_name, line=number)
    except ValueError as error:
        # A harness that was stopped leaves an incomplete line without an end.
        if line.endswith(("\n", "\r")) or number == 1:
            raise
        raise ValueError(
            f"{error} The file ends in this line; delete it to read the "
            f"{pluralize(number - 1, 'line')} before it."
        ) from None


# ------------------------------------------------------------------------------- documents


def make_document_table(content: Any, form: FileForm, source_name: str, n_bytes: int = 0) -> Parsed:
    """Make the table of a JSON document: of records, of columns, of splits, or of a log.

    Args:
        content: The parsed document.
        form: Options on how the document is read, with the path of the records in it.
        source_name: Name of the file, for error messages.
        n_bytes: The size of the file, which limits the size of the table.

    Returns:
        The table, or the tables of its splits.

    Raises:
        OptionError: If an option has to select the records, or to name the columns of rows of values.
        ValueError: If there is no list of records.
    """
    if form.rows is not None:
        content = select_records(content, form.rows, source_name)
        form = form.replace(rows=None)
    if is_inspect(content):
        columns = read_inspect_columns(content, source_name, scorer=form.log_filter)
        return make_table(columns, source_name)
    # A single sample of a log, which is an object, is read as a list of one.
    if is_log(content):
        content = [content]
    if isinstance(content, Mapping):
        return _make_object_table(content, form, source_name, n_bytes)
    return _make_list_table(content, form, source_name, n_bytes)


def _make_object_table(content: Object, form: FileForm, source_name: str, n_bytes: int) -> Parsed:
    """Make the table of a document that is an object, in the first orientation that fits.

    Args:
        content: The document, such as {"a": [1, 2]}, {"data": [{"a": 1}]} or {"train": [{"a": 1}]}.
        form: Options on how the document is read.
        source_name: Name of the file, for error messages.
        n_bytes: The size of the file, which limits the size of the table.

    Returns:
        The table, or the tables of its splits.

    Raises:
        ValueError: If columns have different lengths, or records are not objects.
    """
    # The format "split" of pandas, MLflow and Weights & Biases: {"columns": [...], "data": [[...], ...]}.
    if _has_columns_and_rows(content):
        names = tuple(map(str, content["columns"]))
        named_form = form.replace(column_names=names)
        return _make_list_table(content["data"], named_form, source_name, n_bytes)

    if _are_splits(content):
        tables: dict[str, Any] = {}
        for name, rows in content.items():
            split_name = f"{name} of {source_name}"
            tables[name] = make_document_table(rows, form, split_name, n_bytes)
        return tables
    wrapped_records = _find_wrapped_records(content)
    if _are_columns(content, wrapped_records):
        return make_table(content, source_name)
    if wrapped_records is not None:
        return _make_list_table(wrapped_records, form, source_name, n_bytes)
    # The default format of pandas: {"a": {"0": 1, "1": 2}}.
    if _are_indexed_columns(content):
        columns = {name: list(cells.values()) for name, cells in content.items()}
        return make_table(columns, source_name)

    records = find_records(content, source_name)
    if records is None:
        records = _list_keyed_records(content)
    elif "features" in content:
        # A page of the datasets server contains the names of classes.
        records = name_classes(unwrap_records(records), content["features"])
    return _make_list_table(records, form, source_name, n_bytes)


def _have_type(values: Iterable[Any], kind: type) -> bool:
    """Return whether all values of JSON have a type."""
    # A set of types is much quicker than a check of each value.
    return set(map(type, values)) <= {kind}


def _list_lists(content: Object) -> list[list[Any]]:
    """Return the values of an object that are lists."""
    return [value for value in content.values() if isinstance(value, list)]


def _has_columns_and_rows(content: Object) -> bool:
    """Return whether an object contains rows and the names of their columns: {"columns": […], "data": [[…], …]}."""
    names = content.get("columns")
    rows = content.get("data")
    if not isinstance(names, list) or not isinstance(rows, list):
        return False
    return bool(names) and _have_type(rows, list)


def _are_splits(content: Object) -> bool:
    """Return whether an object has names of splits as its keys, and lists of rows as its values."""
    n_row_lists = sum(map(_is_row_list, content.values()))
    if not content or n_row_lists < len(content):
        return False
    return all(map(find_split, content))


def _is_row_list(value: Any) -> bool:
    """Return whether a value is a list whose first member is an object or a list."""
    if not isinstance(value, list) or not value:
        return False
    return isinstance(value[0], (dict, list))


def _has_records(rows: list[Any]) -> bool:
    """Return whether the first member of a list is an object."""
    return bool(rows) and isinstance(rows[0], dict)


def _find_wrapped_records(content: Object) -> list[Any] | None:
    """Return the only list of rows among the values of an object, such as {"data": [{…}, …], "version": 2}.

    Args:
        content: The object, whose other values may be settings and lists of keywords.

    Returns:
        The list; None if there is no such list, if there are several, or if it may also be a column.
    """
    row_lists = list(filter(_is_row_list, content.values()))
    if len(row_lists) != 1:
        return None
    rows: list[Any] = row_lists[0]
    if _has_records(rows):
        return rows
    # A list of lists is a table if it is the only list, next to settings. Otherwise it may be a column.
    is_only_list = len(_list_lists(content)) == 1
    if is_only_list and len(content) > 1:
        return rows
    return None


def _are_columns(content: Object, wrapped_records: list[Any] | None) -> bool:
    """Return whether the values of an object are the columns of a table, such as {"a": [1, 2], "b": [3, 4]}.

    Args:
        content: The object.
        wrapped_records: The only value that may be a list of records, from `_find_wrapped_records`; None if
            there is no such value.
    """
    lists = _list_lists(content)
    if not lists or len(lists) < len(content):
        return False
    lengths = set(map(len, lists))
    if len(lengths) > 1:
        # A list of records and one of its schema differ in length. Any other lists are columns, whose
        # different lengths will be reported by an error.
        return not any(map(_has_records, lists))
    # A single list of records is a table, and not a column.
    return wrapped_records is None or len(lists) > 1


def _are_indexed_columns(content: Object) -> bool:
    """Return whether an object has columns of cells by row number, such as {"a": {"0": 1, "1": 2}}.

    Args:
        content: The object.
    """
    columns = list(content.values())
    if not _have_type(columns, dict):
        return False
    # An object without values, or with empty ones, has no cells.
    if not columns or not columns[0]:
        return False
    # Keys of JSON are strings.
    n_rows = len(columns[0])
    row_numbers = list(map(str, range(n_rows)))
    return all(list(cells) == row_numbers for cells in columns)


def _list_keyed_records(content: Object) -> list[dict[str, Any]]:
    """Return the records in an object by ids: [{"id": "q1", "text": "Why?"}] for {"q1": {"text": "Why?"}}.

    If a value is not an object, the whole object is a single record.
    """
    if not content or not _have_type(content.values(), dict):
        return [dict(content)]
    records = []
    for key, record in content.items():
        records.append({"id": key, **record})
    return records


def _make_list_table(content: Any, form: FileForm, source_name: str, n_bytes: int) -> pa.Table:
    """Make the table of a list: of records, of samples of a log, of pipeline outputs, or of rows of values.

    Args:
        content: The list.
        form: Options on how the document is read, with the names of the columns of rows of values.
        source_name: Name of the file, for error messages.
        n_bytes: The size of the file, which limits the size of the table.

    Raises:
        OptionError: If rows are lists of values, and no option names the columns.
        ValueError: If the value is not a list, or its members are not records.
    """
    if not isinstance(content, list):
        raise ValueError(
            f"Expected a list of records in {source_name}, but got a single "
            f"{type(content).__name__}."
        )
    if content and _have_type(content, dict):
        content = unwrap_records(content)
    if content and is_log(content[0]):
        return make_table(read_log_columns(content, source_name, form.log_filter), source_name)
    pipeline_columns = make_pipeline_columns(content)
    if pipeline_columns:
        return make_table(pipeline_columns, source_name)
    if content and _have_type(content, list):
        content = _name_cells(content, form.column_names, source_name)
    # An empty list becomes an empty table, which the reader of files refuses.
    chunks = _divide(content, N_RECORDS_AT_A_TIME)
    return make_record_table(chunks, source_name, unit="record", n_bytes=n_bytes)


def _divide(values: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield a list in chunks."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _name_cells(
    rows: Sequence[list[Any]], column_names: Sequence[str] | None, source_name: str
) -> list[dict[str, Any]]:
    """Return rows of values as records, with a key per column.

    Args:
        rows: The rows.
        column_names: The names of the columns from an option or the document; None if there are no names.
        source_name: Name of the document, for error messages.

    Raises:
        OptionError: If there are no names, or if the number of values of a row differs from theirs.
    """
    if column_names is None:
        raise OptionError(
            f"Expected records with named columns in {source_name}, but the rows are lists of "
            "values. Name the columns with `column_names`.",
            option="column_names",
        )
    n_columns = len(column_names)
    records = []
    for number, row in enumerate(rows):
        if len(row) != n_columns:
            raise OptionError(
                f"Expected {n_columns} columns in {source_name}, but row {number} has {len(row)} "
                "values. Give a name for each column with `column_names`.",
                option="column_names",
            )
        record = dict(zip(column_names, row, strict=True))
        records.append(record)
    return records


# ------------------------------------------------------------------------------- records


def make_record_table(
    chunks: Iterable[list[Any]], source_name: str, *, unit: str, n_bytes: int = 0
) -> pa.Table:
    """Make a table of records, with a column for each key that occurs in a record, and nulls for missing values.

    Args:
        chunks: Lists of records.
        source_name: Name of the source, for error messages.
        unit: Word for a record in error messages: "record" (counted from 0) or "line" (counted from 1).
        n_bytes: The size of the file, which limits the size of the table.

    Raises:
        ValueError: If a record is not an object, or if records have so few keys in common that the table
            would be much larger than the file.
    """
    arrays_by_key: dict[str, list[pa.Array]] = {}
    n_rows = 0
    for records in chunks:
        _check_objects(records, source_name, unit, n_rows)
        # The keys of earlier chunks, followed by the new keys of this chunk.
        keys = dict.fromkeys(itertools.chain(arrays_by_key, *records))
        check_at_most(len(keys), MAX_COLUMNS, "columns", source_name)
        n_rows_read = n_rows + len(records)
        n_table_bytes = BYTES_PER_CELL * n_rows_read * len(keys)
        if n_table_bytes > max(MIN_ALLOWED_BYTES, BYTES_PER_CELL * n_bytes):
            raise ValueError(
                f"Expected records with the same keys in {source_name}, but {n_rows_read:,} "
                f"records have {len(keys):,} different keys, and most records lack most keys."
            )
        for key in keys:
            if key not in arrays_by_key:
                # The column is null for the records of earlier chunks.
                arrays_by_key[key] = [pa.nulls(n_rows)] if n_rows else []
            cells = [record.get(key) for record in records]
            arrays_by_key[key].append(make_column(cells, key, source_name))
        n_rows = n_rows_read
    columns = {}
    for key, arrays in arrays_by_key.items():
        columns[key] = concatenate_columns(arrays, key, source_name)
    return pa.table(columns)


def _check_objects(records: Sequence[Any], source_name: str, unit: str, n_earlier: int) -> None:
    """Check that all records are objects.

    Args:
        records: The records of a chunk.
        source_name: Name of the source, for error messages.
        unit: Word for a record in error messages: "record" (counted from 0) or "line" (counted from 1).
        n_earlier: The number of records in earlier chunks.

    Raises:
        ValueError: If a record is not an object.
    """
    # This check is much quicker than the loop below, and nearly always succeeds.
    if _have_type(records, dict):
        return
    first_number = n_earlier + 1 if unit == "line" else n_earlier
    check_all(
        records,
        lambda record: isinstance(record, dict),
        f"each {unit} of {source_name} to be an object",
        unit=unit,
        first=first_number,
    )

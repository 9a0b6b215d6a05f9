"""Reads one file of rows (csv, tsv, JSON lines, json, parquet) into an Arrow table, within the limits of `bounds`.

A csv or tsv file holds texts alone: `NA` is a word, `007` keeps its zeros, and an empty cell is an empty text. A tsv
file has no quoting.
"""

from __future__ import annotations

import bisect
import bz2
import csv
import gc
import gzip
import itertools
import json
import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from rightreasons.core.label_names import listing
from rightreasons.core.validation import (
    MAX_CELL_CHARACTERS,
    MAX_COLUMNS,
    MAX_JSON_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_NESTING,
    parse_json,
)

EXPANSION = 100
"""A file may hold this many times its size, or `SMALL` bytes if that is more."""

SMALL = 1 << 28

_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)
_BLOCK = 1 << 20


def _zipped(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(files) != 1:
        raise ValueError(f"Expected one file in {path}, but it holds {len(files):,}: unpack it into a folder.")
    return archive.open(files[0])


COMPRESSIONS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(str(path), compression="zstd"),
    ".zip": _zipped,
}
"""How each kind of compressed file is opened; a .zip holds one file."""


def data_type(path: Path) -> str:
    """Return the suffix that tells the format of a file, compressed or not.

    Example:
        >>> data_type(Path("a.csv")), data_type(Path("b/a.JSONL.gz"))
        ('.csv', '.jsonl')
    """
    return Path(plain_name(path)).suffix.lower()


def plain_name(path: Path) -> str:
    """Return the name of a file without the suffix of its compression.

    Example:
        >>> plain_name(Path("b/dev.jsonl.gz"))
        'dev.jsonl'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


@contextmanager
def unpacked(path: Path, maximum: int | None = None) -> Iterator[Path]:
    """Unpack a compressed file for as long as it is read; another file is left where it is.

    Args:
        path: The file.
        maximum: The number of bytes that it may hold; None for `EXPANSION` times its size, or `SMALL` if that is more.

    Yields:
        The unpacked file, which keeps its name. Errors that name it name the compressed one.

    Raises:
        ValueError: If it is damaged, holds more than `maximum`, or is a .zip of several files.
    """
    compression = path.suffix.lower()
    if compression not in COMPRESSIONS:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / plain_name(path)
        allowed = max(SMALL, EXPANSION * path.stat().st_size) if maximum is None else maximum
        try:
            with COMPRESSIONS[compression](path) as source, plain.open("wb") as target:
                left = allowed
                while left >= 0 and (block := source.read(_BLOCK)):
                    left -= target.write(block)
        except _DAMAGED:
            raise ValueError(f"Expected a file compressed as {compression}, but {path} cannot be unpacked.") from None
        if left < 0:
            raise ValueError(
                f"Expected {path}, which has {path.stat().st_size:,} bytes, to hold at most {allowed:,}, but it holds "
                "more."
            )
        shutil.copystat(path, plain)
        try:
            yield plain
        except ValueError as error:
            names = {str(plain): str(path), plain.name: path.name}
            sentence = re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], str(error))
            raise ValueError(sentence) from None


# -------------------------------------------------------------------------------------- nested columns: `question.stem`


def nested_names(data: datasets.Dataset) -> list[str]:
    """Return the dotted names of all fields within the columns, those in lists of objects included.

    Example:
        >>> row = {"id": 1, "question": {"stem": "Why?", "choices": [{"text": "So.", "label": "A"}]}}
        >>> nested_names(datasets.Dataset.from_list([row]))
        ['question.stem', 'question.choices', 'question.choices.text', 'question.choices.label']
    """
    return [name for field in data.features.arrow_schema for name, _ in _fields(field.name, field.type)]


def with_nested(data: datasets.Dataset, names: Iterable[Any]) -> datasets.Dataset:
    """Add the columns that have these dotted names; names of other columns, or of none, change nothing.

    A field of a list of objects becomes a list; where an object is missing, so is its field.

    Example:
        >>> rows = datasets.Dataset.from_list([{"q": {"stem": "Why?", "choices": [{"text": "So."}, {"text": "No."}]}}])
        >>> data = with_nested(rows, ["q.stem", "q.choices.text"])
        >>> data["q.stem"][:], data["q.choices.text"][:]
        (['Why?'], [['So.', 'No.']])
    """
    types = {name: kind for field in data.features.arrow_schema for name, kind in _fields(field.name, field.type)}
    wanted = [name for name in dict.fromkeys(names) if name in types and name not in data.column_names]
    if not wanted:
        return data
    added = {}
    for name in wanted:
        root = max((column for column in data.column_names if name.startswith(f"{column}.")), key=len)
        steps = name.removeprefix(f"{root}.").split(".")
        values = data.select_columns([root]).with_format("arrow")[:].column(root).to_pylist()
        added[name] = pa.array([_pick(value, steps) for value in values], types[name])
    return datasets.concatenate_datasets([data, datasets.Dataset(pa.table(added))], split=data.split, axis=1)


def _fields(name: str, kind: pa.DataType, lists: int = 0) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the fields below a column with their types, each as a list where it is in one."""
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind, lists = kind.value_type, lists + 1
    if pa.types.is_struct(kind):
        for field in kind:
            listed = field.type
            for _ in range(lists):
                listed = pa.list_(listed)
            yield f"{name}.{field.name}", listed
            yield from _fields(f"{name}.{field.name}", field.type, lists)


def _pick(value: Any, steps: Sequence[str]) -> Any:
    if not steps or value is None:
        return value
    if isinstance(value, list):
        return [_pick(part, steps) for part in value]
    return _pick(value.get(steps[0]), steps[1:])


FILE_TYPES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")

LABELS_SUFFIX = "-labels.lst"
"""The end of the name of a file of labels, one per line, beside a file of items: `dev-labels.lst` and `dev.jsonl`."""

_CHUNK = 1 << 14  # rows that become Arrow arrays at a time
_TEXT = 1 << 22  # characters of JSON lines that are parsed at a time
_BLOCK_BYTES = 1 << 25  # bytes that Arrow parses at a time
_UNFIT = (pa.ArrowException, ValueError, TypeError, OverflowError)

Record = dict[str, Any]
Chunk = tuple[Sequence[int], list[Any]]  # the numbers of the records in the file, and the records


def read_file(path: Path, column_names: Sequence[str] | None = None) -> pa.Table:
    """Read a file with its columns unchanged.

    Args:
        path: The file; its suffix is one of `FILE_TYPES`, perhaps followed by one of `COMPRESSIONS`.
        column_names: The column names of a csv or tsv file without a header.

    Returns:
        The table. Items whose labels are in a file of their own (see `LABELS_SUFFIX`) have them in the column `label`.

    Raises:
        ValueError: If the suffix is another, the file is damaged or passes a limit, or it has no rows.
    """
    kind = data_type(path)
    if kind not in FILE_TYPES:
        types = f"{', '.join(FILE_TYPES)} (or compressed: {', '.join(COMPRESSIONS)})"
        raise ValueError(f"Expected a file of type {types}, but got {path}.")
    if column_names is not None and kind not in (".csv", ".tsv"):
        raise ValueError(f"Expected `column_names` for a csv or tsv file alone, but got them for {path}.")
    with unpacked(path) as file:
        if kind == ".parquet":
            table = read_parquet(file)
        elif kind in (".csv", ".tsv"):
            table = _separated(file, column_names)
        else:
            table = _json(file, lines=kind == ".jsonl")
    if not table.num_rows or not table.num_columns:
        raise ValueError(f"Expected at least one row in {path}, but it has none.")
    return _with_label_file(table, path)


def read_batches(path: Path, size: int) -> Iterator[pa.Table]:
    """Read a file in batches of rows, in bounded memory but for .json; otherwise as `read_file`.

    Args:
        path: The file.
        size: Maximum rows per batch of a parquet file; batches of other types are smaller or similar.
    """
    kind = data_type(path)
    with unpacked(path, maximum=1 << 62) as file:
        if kind == ".parquet":
            with _parquet(file) as parquet:
                for batch in parquet.iter_batches(size):
                    yield pa.Table.from_batches([batch])
        elif kind in (".csv", ".tsv"):
            for number, table in enumerate(_cells(file, _column_names(file, None), pa.csv.open_csv, header=True)):
                yield table if number else table.slice(1)
        elif kind == ".jsonl":
            with _utf8(file) as stream:
                for chunk in _records(stream, file):
                    if chunk[1]:
                        yield _table([chunk], file, "line")
        else:
            yield read_file(file)


def check_separator(headings: Sequence[str], tabs: bool, where: object) -> None:
    """Refuse a table whose only heading holds what separates columns elsewhere, as in what spreadsheets write."""
    expected, others = (
        ("tabs", {"commas": ",", "semicolons": ";"}) if tabs else ("commas", {"semicolons": ";", "tabs": "\t"})
    )
    for name, separator in others.items():
        if len(headings) == 1 and separator in headings[0]:
            raise ValueError(
                f"Expected {expected} between the columns of {where}, but its first line has {name}: {headings[0]!r}."
            )


def dataset_of(table: pa.Table, path: Path, split: str | None = None) -> datasets.Dataset:
    """Make a Dataset of what `read_file` returned.

    Raises:
        ValueError: If the file describes its columns in a way that `datasets` does not know.
    """
    fingerprint = None
    if path.is_file():
        # Otherwise datasets would pickle and digest the whole table, which takes longer than reading it.
        status = path.stat()
        state = (str(path.resolve()), status.st_mtime_ns, status.st_size, str(table.schema), table.num_rows)
        fingerprint = datasets.fingerprint.Hasher.hash(state)
    try:
        name = None if split is None else datasets.NamedSplit(split)
        return datasets.Dataset(table, split=name, fingerprint=fingerprint)
    except Exception as error:  # the description is a part of a parquet file, and may hold anything
        raise ValueError(
            f"Expected columns that `datasets` can hold in {path}, but it cannot: {short_reason(error)}."
        ) from error


def short_reason(error: Exception) -> str:
    """Return the first line of another library's error."""
    reason = str(error).strip().partition("\n")[0].rstrip(". ") + (" is missing" if isinstance(error, KeyError) else "")
    return (reason if len(reason) <= 200 else f"{reason[:200]}…") or type(error).__name__


def _with_label_file(table: pa.Table, path: Path) -> pa.Table:
    file = path.with_name(Path(plain_name(path)).stem + LABELS_SUFFIX)
    if "label" in table.column_names or not file.is_file():
        return table
    with _utf8(file) as stream:
        labels = [line.strip() for line in _lines(stream, file)]
    while labels and not labels[-1]:
        labels.pop()
    if len(labels) != table.num_rows:
        raise ValueError(
            f"Expected a label for each of the {table.num_rows} rows of {path} in {file}, but it has {len(labels)}."
        )
    return table.append_column("label", pa.array(labels, pa.string()))


# ---------------------------------------------------------------------------------------------------------------- text


@contextmanager
def _utf8(path: Path) -> Iterator[IO[str]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError:
        raise ValueError(f"Expected UTF-8 text in {path}, but it holds other bytes.") from None


def _lines(stream: IO[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_CHARACTERS + 1), ""), start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            raise _long_line(path, number)
        yield line


def _long_line(path: Path, number: int) -> ValueError:
    return ValueError(
        f"Expected at most {MAX_LINE_CHARACTERS:,} characters per line in {path}, but line {number} has more."
    )


# ------------------------------------------------------------------------------------------------- csv and tsv


def _column_names(path: Path, column_names: Sequence[str] | None) -> list[str]:
    """Return the names of the columns; none for an empty file."""
    first = next(_rows(path), [])
    names = list(first if column_names is None else column_names)
    if column_names is None:
        check_separator(first, data_type(path) == ".tsv", path)
    if len(set(names)) < len(names):
        raise ValueError(f"Expected distinct column names in {path}, but got {listing(names)}.")
    if max(len(names), len(first)) > MAX_COLUMNS:
        raise ValueError(f"Expected at most {MAX_COLUMNS:,} columns in {path}, but it has {len(first):,}.")
    return names if first else []


def _separated(path: Path, column_names: Sequence[str] | None) -> pa.Table:
    header = column_names is None
    tables = list(_cells(path, _column_names(path, column_names), pa.csv.read_csv, header=header))
    return tables[0].slice(int(header)) if tables else pa.table({})


def _cells(path: Path, names: Sequence[str], read: Callable[..., Any], *, header: bool) -> Iterator[pa.Table]:
    """Yield the rows, the first included, that a reader of Arrow gives at once or in batches; every cell is a text."""
    tabs = data_type(path) == ".tsv"
    last = ""
    if not names:
        return
    try:
        rows = read(
            path,
            read_options=pa.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES),
            parse_options=pa.csv.ParseOptions(
                delimiter="\t" if tabs else ",", quote_char=False if tabs else '"', newlines_in_values=not tabs
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[], strings_can_be_null=False
            ),
        )
        for table in [rows] if isinstance(rows, pa.Table) else map(pa.Table.from_batches, zip(rows, strict=True)):
            _check_cells(table, path)
            last = str(table[-1][-1]) if table.num_rows else last
            yield table
    except (pa.ArrowException, OSError) as error:
        _check_rows(path, names, header)
        raise ValueError(f"Expected a table in {path}, but it cannot be read: {short_reason(error)}.") from None
    # The last cell runs to the end of the file where a quotation mark is never closed.
    raw = ('"' + last.replace('"', '""')).encode()
    with open(path, "rb") as stream:
        stream.seek(max(0, path.stat().st_size - len(raw)))
        if not tabs and stream.read() == raw:
            _check_rows(path, names, header)


def _check_rows(path: Path, names: Sequence[str], header: bool) -> None:
    """Read the rows with Python's reader, which tells what is wrong and where."""
    for number, row in enumerate(_rows(path), start=-1 if header else 0):
        if len(row) != len(names):
            raise ValueError(
                f"Expected {len(names)} columns ({listing(names)}) in each row of {path}, but row {number} has "
                f"{len(row)}."
            )


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows that are not blank, as Python's csv module reads them; every quotation mark must be closed."""
    tabs, end = data_type(path) == ".tsv", "end of the table"
    previous: list[str] = []
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        with _utf8(path) as stream:
            # A cell that is still open at the end of the file swallows the row that is added.
            reader = csv.reader(
                itertools.chain(_lines(stream, path), ("\n", f"{end}\n")),
                delimiter="\t" if tabs else ",",
                quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
            )
            for row in filter(None, reader):
                if previous:
                    yield previous
                previous = row
    except csv.Error:
        raise ValueError(
            f"Expected a table in which every cell has at most {MAX_CELL_CHARACTERS:,} characters, but line "
            f"{reader.line_num} of {path} cannot be read as such: is a quotation mark open?"
        ) from None
    finally:
        csv.field_size_limit(limit)
    if previous != [end]:
        raise ValueError(f"Expected every quotation mark in {path} to be closed, but the last cell is still open.")


def _check_cells(table: pa.Table, path: Path) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest > MAX_CELL_CHARACTERS:
            raise ValueError(
                f"Expected at most {MAX_CELL_CHARACTERS:,} bytes per cell in {path}, but the column {name!r} holds a "
                f"cell of {longest:,}."
            )


# ------------------------------------------------------------------------------------------------- json and JSON lines


def _json(path: Path, *, lines: bool) -> pa.Table:
    with _utf8(path) as stream:
        if lines or _is_json_lines(stream, path):
            stream.seek(0)
            return _table(_records(stream, path), path, "line")
        stream.seek(0)
        content = parse_json(stream.read(MAX_JSON_CHARACTERS + 1).removeprefix("\ufeff"), str(path))
    records = _listed(content, path)
    starts = range(0, len(records), _CHUNK)
    return _table(((range(n, n + _CHUNK), records[n : n + _CHUNK]) for n in starts), path, "record")


def _is_json_lines(stream: IO[str], path: Path) -> bool:
    """Tell whether the first line that is not blank is an object, and another one follows."""
    full = (line for line in _lines(stream, path) if line.strip())
    first, second = next(full, ""), next(full, "")
    if not (first.lstrip().startswith("{") and second.lstrip().startswith("{")):
        return False
    try:
        return isinstance(parse_json(first, str(path)), dict)
    except ValueError:
        return False


def _listed(content: Any, path: Path) -> list[Record]:
    """Find the records in a document: a list of them, or an object that holds one."""
    if isinstance(content, dict):
        values = list(content.values())
        lists = [value for value in values if isinstance(value, list)]
        if len(lists) == 1:  # {"data": [...]} is how many tools wrap their records
            content = lists[0]
        elif lists and len(lists) == len(values) and len({len(column) for column in lists}) == 1:
            content = [dict(zip(content, row, strict=True)) for row in zip(*lists, strict=True)]
        elif values and all(isinstance(value, dict) for value in values):
            content = [{"id": key, **record} for key, record in content.items()]
    if not isinstance(content, list):
        raise ValueError(f"Expected a list of records in {path}, but it holds one {type(content).__name__}.")
    return content


def _records(stream: IO[str], path: Path) -> Iterator[Chunk]:
    """Yield the records of JSON lines in chunks; a chunk with a line that is anything but one object is read again."""
    scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
    first, rest = 1, ""
    while True:
        text = stream.read(_TEXT)
        lines = (rest + text).removeprefix("\ufeff" if first == 1 else "").replace("\r\n", "\n").split("\n")
        rest = lines.pop() if text else ""
        if len(rest) > MAX_LINE_CHARACTERS:
            raise _long_line(path, first + len(lines))
        collects = gc.isenabled()
        gc.disable()  # the search for circles, which JSON cannot hold, would take as long as the parsing
        try:
            scanned = list(map(scan, lines, itertools.repeat(0)))  # ends early at what is no JSON
        except (ValueError, RecursionError):
            scanned = []
        finally:
            if collects:
                gc.enable()
        if [end for _, end in scanned] == list(map(len, lines)):
            yield range(first, first + len(lines)), [record for record, _ in scanned]
        else:
            full = [(number, line.strip()) for number, line in enumerate(lines, start=first) if line.strip()]
            yield (
                [number for number, _ in full],
                [parse_json(line, str(path), line=number) for number, line in full],
            )
        first += len(lines)
        if not text:
            return


def _table(chunks: Iterable[Chunk], path: Path, unit: str) -> pa.Table:
    """Make a table of numbered records; every key of any record is a column, and what a record lacks is null."""
    tables: list[pa.Table] = []
    keys: dict[str, None] = {}
    n_rows, n_bytes = 0, path.stat().st_size
    for numbers, records in chunks:
        if set(map(type, records)) - {dict}:
            number, record = next((n, r) for n, r in zip(numbers, records, strict=False) if not isinstance(r, dict))
            raise ValueError(
                f"Expected each {unit} of {path} to be an object, but {unit} {number} is {type(record).__name__}."
            )
        chunk_keys = dict.fromkeys(itertools.chain.from_iterable(records))
        keys |= chunk_keys
        n_rows += len(records)
        if len(keys) > MAX_COLUMNS:
            raise ValueError(f"Expected at most {MAX_COLUMNS:,} columns in {path}, but its records have more keys.")
        if 8 * n_rows * len(keys) > max(SMALL, 8 * n_bytes):
            raise ValueError(
                f"Expected records with the same keys in {path}, but {n_rows:,} records have {len(keys):,} keys, most "
                "of which are missing from most of them."
            )
        if chunk_keys:
            columns = {key: _column(numbers, records, key, path, unit) for key in chunk_keys}
            tables.append(pa.table(columns))
        elif records:
            tables.append(pa.table({"": pa.nulls(len(records))}))
    try:
        return pa.concat_tables(tables, promote_options="permissive").select(list(keys)) if tables else pa.table({})
    except pa.ArrowException as error:
        raise ValueError(
            f"Expected values of one type in each column of {path}, but Arrow cannot join them: {short_reason(error)}."
        ) from None


def _column(numbers: Sequence[int], records: Sequence[Record], key: str, path: Path, unit: str) -> pa.Array:
    values = [record.get(key) for record in records]
    try:
        key.encode()
        column = pa.array(values)
    except _UNFIT:
        raise _odd_value(numbers, values, key, path, unit) from None
    if _depth(column.type) > MAX_NESTING:
        raise ValueError(f"Expected at most {MAX_NESTING} levels in {path}, but the column {key!r} is nested deeper.")
    return column


def _odd_value(numbers: Sequence[int], values: Sequence[Any], key: str, path: Path, unit: str) -> ValueError:
    """Tell which value does not fit into a column: the first one that Arrow refuses, alone or after those before it."""

    def misfit(column: Sequence[Any]) -> type[Exception] | None:
        try:
            pa.array(column)
        except _UNFIT as error:
            return type(error)
        return None

    last = len(values) - 1  # where the key itself does not fit
    place = bisect.bisect_left(range(last), True, key=lambda number: misfit(values[: number + 1]) is not None)
    value = values[place]
    alone = misfit([value])
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
    expected, held = "values of one type", f"{shown} ({type(value).__name__})"
    if alone is OverflowError:
        expected, held = "whole numbers of at most 64 bits", shown
    elif alone is not None and isinstance(value, str):
        expected, held = "Unicode text", "half of a character"
    return ValueError(f"Expected {expected} in the column {key!r} of {path}, but {unit} {numbers[place]} holds {held}.")


def _depth(kind: pa.DataType) -> int:
    deepest, level = 0, [kind]
    while level:
        deepest += 1
        level = [outer.field(number).type for outer in level for number in range(outer.num_fields)]
    return deepest - 1


# ------------------------------------------------------------------------------------------------------------- parquet


@contextmanager
def _parquet(path: Path, **options: Any) -> Iterator[pa.parquet.ParquetFile]:
    try:
        with pa.parquet.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError, OverflowError, UnicodeError) as error:
        raise ValueError(f"Expected a parquet file, but {path} cannot be read as one: {short_reason(error)}.") from None


def read_parquet(path: Path) -> pa.Table:
    """Read a parquet file; one that would fill the memory is refused."""
    allowed = max(SMALL, EXPANSION * path.stat().st_size)
    with _parquet(path) as file:
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"Expected distinct column names in {path}, but {double!r} comes more than once.")
        if len(file.schema) > MAX_COLUMNS or any(_depth(field) > MAX_NESTING for field in file.schema_arrow.types):
            raise ValueError(
                f"Expected at most {MAX_COLUMNS:,} columns of at most {MAX_NESTING} levels in {path}, but it has more."
            )
        if 8 * parquet_values(file) + text_bytes(path, allowed - 8 * parquet_values(file)) > allowed:
            raise ValueError(
                f"Expected {path}, which has {path.stat().st_size:,} bytes, to hold at most {allowed:,}, but it holds "
                "more."
            )
        table = pa.parquet.read_table(path)
        plain = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
        return table.cast(pa.schema(plain, table.schema.metadata))


def parquet_values(file: pa.parquet.ParquetFile) -> int:
    """Return how many values a parquet file holds, those inside lists included, as its footer says."""
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    return sum(group.column(number).num_values for group in groups for number in range(group.num_columns))


def text_bytes(path: Path, allowed: int) -> int:
    """Return the bytes of all texts of a parquet file, without making them: one that comes often is stored once.

    Args:
        path: The file.
        allowed: Where the count stops.

    Returns:
        The bytes, or a number beyond `allowed` where there are more; 0 where a bound shows that there are not.
    """
    with _parquet(path) as file:
        leaves = [file.schema.column(number) for number in range(len(file.schema))]
    texts = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    size = 0
    with _parquet(path, read_dictionary=[leaf.path for leaf in texts]) as file:
        rest = {leaf.path.partition(".")[0] for leaf in texts} - _clear_texts(file, texts, allowed)
        columns = sorted(rest) if rest <= set(file.schema_arrow.names) else None  # a name may hold a dot
        for batch in file.iter_batches(1 << 14, columns=columns) if rest else ():
            size += sum(map(_text_bytes, batch.columns))
            if size > allowed:
                break
    return size


def _clear_texts(file: pa.parquet.ParquetFile, texts: Sequence[Any], allowed: int) -> set[str]:
    """Return the columns of texts that cannot expand beyond what is allowed, from the dictionary of each row group.

    A row of a column with a dictionary comes with all of it; its values, each at most as long as the longest entry, and
    what the file holds besides bound the column.
    """
    flat = [leaf.path for leaf in texts if "." not in leaf.path and leaf.max_repetition_level == 0]
    clear, bound = set(flat), 0
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        chunks = {group.column(place).path_in_schema: group.column(place) for place in range(group.num_columns)}
        for batch in file.iter_batches(1, row_groups=[number], columns=flat) if group.num_rows and flat else ():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                # A damaged file may name a column in its schema that its row group lacks.
                if isinstance(column, pa.DictionaryArray) and len(column.dictionary) > 1 and name in chunks:
                    longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                    bound += chunks[name].num_values * longest + chunks[name].total_uncompressed_size
                else:
                    clear.discard(name)
            break
    return clear if bound <= allowed else set()


def _text_bytes(array: pa.Array) -> int:
    """Return the bytes of all texts in an array, dictionaries expanded."""
    if isinstance(array, pa.DictionaryArray):
        lengths = pc.binary_length(array.dictionary)
        return pc.sum(lengths.cast(pa.int64()).take(array.indices)).as_py() or 0
    if isinstance(array, pa.StructArray):
        return sum(map(_text_bytes, array.flatten()))
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return _text_bytes(array.flatten())
    return 0

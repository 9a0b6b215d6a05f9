"""The one door of data: `as_table` makes a Dataset, or those of several splits, of anything that holds rows.

A csv or tsv file holds texts alone: `NA` is a word, `007` keeps its zeros, and an empty cell is an empty text. A tsv
file has no quoting. A column of values that no other type of Arrow holds together is one of JSON. Files are read within
limits.

A data.yaml can say where a table is and what its columns mean. `rightreasons look` writes one, and every command takes
it:

    data: reviews.csv               # relative to this file; or a name, an address, a hub id
    separator: ";"                  # how the file is read
    text_column: "{{ title }}: {{ body }}"          # a column, or an expression of jinja over columns
    label_column: stars
    label_names: [bad, good]        # in the order of their numbers, or ["1=bad", "2=good"]
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import dataclasses
import functools
import gzip
import hashlib
import itertools
import lzma
import mmap
import os
import re
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias, TypeVar

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from rightreasons.core.arrays import describe_kind, is_tensor, read_columns
from rightreasons.core.errors import OptionError
from rightreasons.core.hub import use_hub_or_cache
from rightreasons.core.json_files import MAX_JSON_CHARACTERS, MAX_NESTING, parse_json, read_text
from rightreasons.core.limits import MAX_CELL_CHARACTERS, MAX_COLUMNS, MAX_LINE_CHARACTERS
from rightreasons.core.options import Options, check_options, format_names
from rightreasons.core.sentences import format_list, suggest_similar_names
from rightreasons.core.store import write_text
from rightreasons.core.validation import check_all, check_at_most, check_ids, check_kind
from rightreasons.datasets.builder import CATALOG, load_dataset
from rightreasons.datasets.issues.table import KnownIssues
from rightreasons.io.arrow_tables import (
    AGAIN,
    Splits,
    list_levels,
    make_column,
    make_dataset,
    make_table,
    only_part,
    read_values,
    short_reason,
)
from rightreasons.io.harnesses.inspect_logs import inspect_columns, is_inspect, read_archive
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.joins import join_files
from rightreasons.io.log_forms import complete_log, is_log, log_columns
from rightreasons.io.openers import read_array, read_labeled_lines, read_workbook
from rightreasons.io.options import (
    NO_FORM,
    ChoiceOptions,
    FileForm,
    LookOptions,
    PredictionOptions,
    TextOptions,
)
from rightreasons.io.record_paths import find_records, select_records, unwrap_records
from rightreasons.io.row_filters import filter_rows
from rightreasons.io.score_cells import spread_token_logprobs

EXPANSION = 100
"""A file may hold this many times its size, or `SMALL` bytes if that is more."""

SMALL = 1 << 28

_DAMAGED = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    RuntimeError,
    NotImplementedError,
)
_BLOCK = 1 << 20


COMPRESSIONS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(str(path), compression="zstd"),
    ".zip": zipfile.ZipFile,
}
"""How each kind of compressed file is opened; a .zip holds one file of data."""


def _member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    """Open the only file of data in a .zip, or its only file."""
    names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    seen = [
        name
        for name in names
        if not name.startswith("__MACOSX/") and not Path(name).name.startswith(".")
    ]
    data = [name for name in seen if data_type(name) in FILE_TYPES] or seen
    if len(data) != 1:
        raise ValueError(
            f"Expected one table in {path}, but it holds {format_list(data) or 'no file'}: unpack it into a folder."
        )
    return archive.open(data[0])


def data_type(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells the format of a file, compressed or not.

    Example:
        >>> data_type("a.csv"), data_type(Path("b/a.JSONL.gz"))
        ('.csv', '.jsonl')
    """
    return plain_path(path).suffix.lower()


def plain_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file without the suffix of its compression.

    Example:
        >>> plain_path("b/dev.jsonl.gz").as_posix()
        'b/dev.jsonl'
    """
    whole = Path(path)
    return whole.with_suffix("") if whole.suffix.lower() in COMPRESSIONS else whole


@contextmanager
def unpacked(path: Path, maximum: int | None = None, where: str = "") -> Iterator[Path]:
    """Unpack a compressed file for as long as it is read; another file is left where it is.

    Args:
        path: The file.
        maximum: The number of bytes that it may hold; None for `EXPANSION` times its size, or `SMALL` if that is more.
        where: What it is called in errors; "" for its path.

    Yields:
        The unpacked file, which keeps its name; of a .zip, the file in it.

    Raises:
        ValueError: If it is damaged, holds more than `maximum`, or is a .zip of several files.
    """
    compression, where = path.suffix.lower(), where or str(path)
    if compression not in COMPRESSIONS:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        allowed = max(SMALL, EXPANSION * path.stat().st_size) if maximum is None else maximum
        try:
            with contextlib.ExitStack() as opened:
                source: Any = opened.enter_context(COMPRESSIONS[compression](path))
                if compression == ".zip":
                    source = opened.enter_context(_member(source, path))
                plain = Path(
                    folder,
                    Path(source.name).name if compression == ".zip" else plain_path(path).name,
                )
                target, left = opened.enter_context(plain.open("wb")), allowed
                while left >= 0 and (block := source.read(_BLOCK)):
                    left -= target.write(block)
        except _DAMAGED:
            raise ValueError(
                f"Expected a file compressed as {compression}, but {where} cannot be unpacked."
            ) from None
        if left < 0:
            raise _too_full(path, where, allowed)
        shutil.copystat(path, plain)
        yield plain


def _too_full(path: Path, where: str, allowed: int) -> ValueError:
    n_bytes = path.stat().st_size
    return ValueError(
        f"Expected {where}, which has {n_bytes:,} bytes, to hold at most {allowed:,}, but it holds more."
    )


FILE_TYPES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".npz", ".npy", ".xlsx", ".eval")

SEPARATORS = ",;\t|^"
_SAMPLE, _LONG_LINE = 20, 1 << 17  # lines of a file that tell its separator, and characters of them
_CHUNK = 1 << 14  # rows that become Arrow arrays at a time
_BLOCK_BYTES = 1 << 25  # bytes that Arrow parses at a time
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")

Record = dict[str, Any]
Parsed: TypeAlias = "pa.Table | dict[str, pa.Table]"


def read_file(path: Path, form: FileForm = NO_FORM, where: str = "") -> Parsed:
    """Read a file with its columns unchanged.

    Args:
        path: The file; its suffix is one of `FILE_TYPES`, perhaps followed by one of `COMPRESSIONS`. Text of another
            suffix is read as what its first lines show: JSON, or cells that are separated.
        form: How it is to be read.
        where: What it is called in errors; "" for its path.

    Returns:
        The table, or the tables of its splits. A column of unlike values is one of JSON.

    Raises:
        ValueError: If it is of no such type, is damaged or passes a limit, or has no rows.
    """
    where = where or str(path)
    with unpacked(path, where=where) as file:
        if form.line_format is not None:
            encoding = _encoding(file, where, form.encoding)
            return make_table(read_labeled_lines(file, form.line_format, encoding, where), where)
        kind = data_type(file)
        if kind not in FILE_TYPES:
            kind = _shown_type(file, form)
        if kind not in FILE_TYPES:
            types = f"{', '.join(FILE_TYPES)} (or compressed: {', '.join(COMPRESSIONS)})"
            sentence = (
                f"Expected a file of type {types}, or text of such content, but got {where}; for "
                "lines that begin with a label, say `line_format` 'label text'."
            )
            raise OptionError(
                sentence, option=("column_names", "separator", "text_column", "line_format")
            )
        if form.column_names is not None and kind not in (".csv", ".tsv", ".json"):
            raise ValueError(
                f"Expected `column_names` for a csv, tsv or json file alone, but got them for {where}."
            )
        if kind == ".parquet":
            table: Parsed = read_parquet(file, where)
            if isinstance(table, pa.Table) and is_log(dict.fromkeys(table.column_names)):
                table = make_table(log_columns(table.to_pylist(), where), where)
        elif kind == ".npz":
            table = make_table(_arrays(file, where), where)
        elif kind == ".npy":
            table = make_table(read_array(file, where), where)
        elif kind == ".xlsx":
            table = make_table(read_workbook(file, where), where)
        elif kind == ".eval":
            table = make_table(
                inspect_columns(read_archive(file), where, scorer=form.log_filter), where
            )
        elif kind in (".csv", ".tsv"):
            table = _separated(file, form, where, kind)
        else:
            table = _json(file, form, where, lines=kind == ".jsonl")
    for part in table.values() if isinstance(table, dict) else [table]:
        if not part.num_rows or not part.num_columns:
            raise ValueError(f"Expected at least one row in {where}, but it has none.")
    return table


def _shown_type(path: Path, form: FileForm) -> str:
    """Return the type of a text file that its first lines show, "" for none."""
    with path.open("rb") as stream:
        head = stream.read(_BLOCK)
    encoding = "utf-16" if head[:2] in _UTF16 else "latin-1"
    text = head.removeprefix(codecs.BOM_UTF8).decode(encoding, "replace").lstrip()
    if _CONTROL.search(text):
        return ""
    if text[:1] in ("{", "["):
        return ".json"
    separator, _, is_table = _separator(path, encoding, form, "\t")
    return (".tsv" if separator == "\t" else ".csv") if is_table or form.column_names else ""


def _arrays(path: Path, where: str) -> dict[str, Any]:
    # allow_pickle=False: an array of objects could run code. MemoryError: a header may ask for 1e12 rows.
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, MemoryError):
        raise ValueError(
            f"Expected plain numpy arrays in {where}, but it cannot be read as such."
        ) from None
    return columns


# -------------------------------------------------------------------------------------------------- columns and records


class _DigestSink:
    """A file that keeps only the digest of what is written to it.

    Args:
        prefix: Bytes that are digested first.
    """

    closed = False

    def __init__(self, prefix: bytes = b"") -> None:
        self.digest = hashlib.blake2b(prefix, digest_size=16)

    def write(self, data: Any) -> int:
        """Digest some bytes, and return their number."""
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Do nothing: there is no file."""


def digest_table(table: pa.Table, prefix: bytes = b"") -> str:
    """Return the digest of the content of a table, which depends on nothing else.

    Args:
        table: The table.
        prefix: Bytes that are digested before the content.
    """
    # Metadata, and how the rows are divided into chunks, are not content.
    content = table.replace_schema_metadata(None).combine_chunks()
    # The bytes of a large table are digested as they are made, and never held together.
    sink = _DigestSink(prefix)
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), content.schema) as stream:
        stream.write_table(content)
    return sink.digest.hexdigest()


def records_table(chunks: Iterable[list[Any]], where: str, unit: str, n_bytes: int = 0) -> pa.Table:
    """Make a table of records; every key of any record is a column, and what a record lacks is null.

    Args:
        chunks: The records, a part of them at a time.
        where: What they are from, for errors.
        unit: What a record is called there.
        n_bytes: The size of the file: few bytes may not become many cells.
    """
    parts: dict[str, list[pa.Array]] = {}
    n_rows = 0
    for records in chunks:
        if set(map(type, records)) - {dict}:
            expected, first = f"each {unit} of {where} to be an object", n_rows + (unit == "line")
            check_all(
                records, lambda record: isinstance(record, dict), expected, unit=unit, first=first
            )
        keys = dict.fromkeys(itertools.chain(parts, *records))
        check_at_most(len(keys), MAX_COLUMNS, "columns", where)
        if 8 * (n_rows + len(records)) * len(keys) > max(SMALL, 8 * n_bytes):
            raise ValueError(
                f"Expected records with the same keys in {where}, but {n_rows + len(records):,} records have "
                f"{len(keys):,} keys, most of which are missing from most of them."
            )
        for key in keys:
            before = parts.setdefault(key, [pa.nulls(n_rows)] if n_rows else [])
            before.append(make_column([record.get(key) for record in records], key, where))
        n_rows += len(records)
    return pa.table({key: _joined(column, key, where) for key, column in parts.items()})


def concatenated(tables: Sequence[pa.Table], where: str) -> pa.Table:
    """Put tables of the same columns below one another; one of unlike types is one of JSON."""
    names, metadata = tables[0].column_names, tables[0].schema.metadata
    columns = {
        name: _joined([table.column(name) for table in tables], name, where) for name in names
    }
    return pa.table(columns).replace_schema_metadata(metadata)


def _joined(
    parts: Sequence[pa.Array | pa.ChunkedArray], key: str, where: str
) -> pa.ChunkedArray | pa.Array:
    tables = [pa.table({"": part}) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0)
    except pa.ArrowException:  # of unlike types: JSON
        return make_column([value for part in parts for value in read_values(part)], key, where)


# ------------------------------------------------------------------------------------------------- csv and tsv


def _encoding(path: Path, where: str, given: str | None, *, usual: bool = True) -> str:
    """Return the encoding of a text: the given one, that of its mark, UTF-8, or else the usual cp1252, which is told.

    Args:
        path: The file.
        where: What it is called, for errors.
        given: The encoding that is given.
        usual: Whether it may be cp1252: JSON is not written in it.
    """
    with path.open("rb") as stream:
        head = stream.read(_BLOCK)
    given = given or ("utf-16" if head[:2] in _UTF16 else None)
    try:
        with path.open(encoding=given or "utf-8-sig", newline="") as content:
            text = content.read(_BLOCK)
            deque(iter(partial(content.read, _BLOCK), ""), maxlen=0)
        if "\0" not in text:  # UTF-16 without its mark
            return given or "utf-8-sig"
    except LookupError:
        raise OptionError(
            f"Expected the name of an encoding, but got {given!r}.", option="encoding"
        ) from None
    except UnicodeError:  # also a file in "utf-16" that does not begin as one
        text = head.decode("cp1252", "replace")
    if given is not None or not usual or "\ufffd" in text or _CONTROL.search(text):
        raise OptionError(
            f"Expected {given or 'UTF-8'} text in {where}, but it holds other bytes; `encoding` says which.",
            option="encoding",
        )
    warnings.warn(
        f"{where} is not in UTF-8 and is read as cp1252, as spreadsheets write it; `encoding` says otherwise.",
        stacklevel=2,
    )
    return "cp1252"


def _separator(path: Path, encoding: str, form: FileForm, usual: str) -> tuple[str, int, bool]:
    """Return the separator of a table by its first lines, the number of lines before it, and whether it is certain."""
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        lines = list(filter(None, (stream.readline(_LONG_LINE) for _ in range(_SAMPLE))))
    declared = re.fullmatch(r"sep=(.)\s*", lines[0]) if lines else None  # how Excel is told
    if declared or form.separator is not None:
        separator = form.separator or (declared[1] if declared else usual)
        return (
            separator.replace("\\t", "\t"),
            int(declared is not None),
            True,
        )  # as it is typed on a command line
    for separator in dict.fromkeys(usual + SEPARATORS):
        with contextlib.suppress(csv.Error):  # a cell that is too long
            rows = list(filter(None, csv.reader(lines, delimiter=separator)))
            rows = rows[:-1] if len(lines) == _SAMPLE else rows  # the last record may go on
            if rows and len(rows[0]) > 1 and len(set(map(len, rows))) == 1:
                return separator, 0, True
    first = lines[0] if lines else ""
    return next((each for each in usual + SEPARATORS if each in first), usual), 0, False


def _quotes(path: Path, form: FileForm, where: str) -> bool:
    """Tell whether a tsv file quotes its cells, which few do, and its texts may begin with a quotation mark.

    It does where all rows have as many cells if it does, but not otherwise, or marks within such a cell are doubled, or
    its first heading is quoted, as R does, or it is in UTF-16, as Excel writes it.
    """
    quoted = _quoted_widths(path, form, where) if _holds(path, b'"') else set()
    if len(quoted) != 1 or max(quoted) == 1:
        return False
    mark = re.escape(str(form.separator))
    doubled = re.compile(f'(?:^|{mark})"[^{mark}]*""[^{mark}\r\n]')
    with path.open(encoding=form.encoding, newline="") as text:
        lines = filter(str.strip, text)
        first = next(lines, "")
        n_marks = first.count(str(form.separator))
        return bool(
            form.encoding == "utf-16" or re.match(f'"[^{mark}"]+"({mark}|$)', first)
        ) or any(
            line.count(str(form.separator)) != n_marks or doubled.search(line) for line in lines
        )


def _holds(path: Path, mark: bytes) -> bool:
    if not path.stat().st_size:  # which cannot be mapped
        return False
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(mark) >= 0


def _quoted_widths(path: Path, form: FileForm, where: str) -> set[int]:
    """Return the numbers of cells of the rows whose cells are quoted; none where the marks are no quotes."""
    try:
        return {len(row) for row in _rows(path, form.replace(quote='"'), where, strict=True) if row}
    except csv.Error:
        return set()


def _rows(
    path: Path,
    form: FileForm,
    where: str,
    *,
    strict: bool = False,
    skipped: int = 0,
    added: Iterable[str] = (),
) -> Iterator[list[str]]:
    """Yield the rows of a table as Python reads them, without so many of its first lines and with some at its end."""
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    quote = None if form.quote == "none" else form.quote
    quoting: Any = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    try:
        with path.open(encoding=form.encoding, newline="") as stream:
            lines = itertools.chain(itertools.islice(_lines(stream, where), skipped, None), added)
            separator = form.separator or ","
            yield from csv.reader(
                lines, delimiter=separator, quotechar=quote, quoting=quoting, strict=strict
            )
    finally:
        csv.field_size_limit(limit)


def _find_first_row(rows: Iterable[list[str]]) -> tuple[list[str], int]:
    """Return the first row with words, or else the first row, and how many lines to skip for it; [] if there is none.

    Tables that a spreadsheet exported may begin with rows of empty cells. Empty lines are no rows, and need no skipping.
    """
    first_row: list[str] = []
    for n_lines, row in enumerate(rows):
        if any(cell.strip() for cell in row):
            # Rows of empty cells before it are skipped with it.
            return row, n_lines if len(first_row) > 1 else 0
        first_row = first_row or row
    return first_row, 0


def _headings(first: Sequence[str], names: Sequence[str] | None, where: str) -> list[str]:
    """Return the names of the columns, each once: an empty or a repeated heading gets a name of its own."""
    headings = list(first if names is None else names)
    if names is not None:
        check_ids(names, f"column name of {where}")
    check_at_most(max(len(headings), len(first)), MAX_COLUMNS, "columns", where)
    seen: dict[str, None] = {}
    for place, heading in enumerate(headings):
        name = heading.strip() or f"(column {place + 1})"
        while name in seen:
            name = AGAIN + name
        seen[name] = None
    return list(seen)


def _separated(path: Path, form: FileForm, where: str, kind: str) -> pa.Table:
    for name, given in (("separator", form.separator), ("quote", form.quote)):
        if given not in (None, "none", "\\t") and len(str(given)) != 1:
            raise OptionError(
                f"Expected one character in `{name}`, but got {given!r}.", option=name
            )
    encoding = _encoding(path, where, form.encoding)
    separator, skipped, _ = _separator(path, encoding, form, "\t" if kind == ".tsv" else ",")
    form = form.replace(encoding=encoding, separator=separator)
    if form.quote is None:
        form = form.replace(quote='"' if kind == ".csv" or _quotes(path, form, where) else "none")
    quote = "" if form.quote == "none" else str(form.quote)
    still_open = ValueError(
        f"Expected every quotation mark in {where} to be closed, but the last cell is still open."
    )
    try:
        first, n_blank = _find_first_row(_rows(path, form, where, skipped=skipped))
    except csv.Error:
        most = f"at most {MAX_CELL_CHARACTERS:,} characters"
        raise ValueError(
            f"Expected cells of {most} in {where}, but one is longer: is a quotation mark open?"
        ) from None
    if not first:
        return pa.table({})
    # Where headings are given, empty cells above others are data.
    if form.column_names is None:
        skipped += n_blank
    names = _headings(first, form.column_names, where)
    # Quotation marks within cells follow a backslash where they are not doubled; few files have any backslash, which is
    # seen several times faster.
    escapes = (
        quote
        and _holds(path, b"\\")
        and _holds(path, b'\\"')
        and not _quoted_widths(path, form, where)
    )
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(
                column_names=names,
                block_size=_BLOCK_BYTES,
                skip_rows=skipped,
                encoding=encoding.replace("utf-8-sig", "utf8"),
                use_threads=False,  # several would not know the number of a row that is refused
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=separator,
                quote_char=quote or False,
                escape_char="\\" if escapes else False,
                newlines_in_values=bool(quote),
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError, LookupError) as error:
        odd = _ODD_ROW.search(str(error))
        if odd is None:
            raise ValueError(
                f"Expected a table in {where}, but it cannot be read: {short_reason(error)}."
            ) from None
        if quote and odd[3].count(quote) % 2:
            raise still_open from None
        row = int(odd[1]) - 1 - (form.column_names is None)
        above = "" if row and len(names) > 1 else ", and lines above the heading are to be deleted"
        raise OptionError(
            f"Expected {len(names)} columns ({format_list(names)}) in each row of {where}, but row {row} has {odd[2]}; "
            f"`separator` and `quote` say what stands between and around cells{above}.",
            option=("separator", "quote"),
        ) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        check_at_most(
            longest, MAX_CELL_CHARACTERS, "bytes", f"each cell of the column {name!r} of {where}"
        )
    if table.num_rows and quote:
        # The last cell runs to the end of the file where a quotation mark is never closed.
        last = quote + str(table[-1][-1]).replace(quote, 2 * quote)
        opened, closed = (end.encode(encoding.removesuffix("-sig")) for end in (last, last + quote))
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - len(closed)))
            end = stream.read()
        # A mark within the last cell, as in `a"b`, looks the same.
        if end.endswith(opened) and end != closed and _is_open(path, form, where):
            raise still_open
    rows = _with_cells(table.slice(int(form.column_names is None)))
    if form.column_names is None and len(first) > 1:
        alike = np.flatnonzero(pc.equal(rows[0], first[0]).to_numpy())
        again = next(
            (
                row
                for row in alike.tolist()
                if [str(column[row]) for column in rows.columns] == first
            ),
            None,
        )
        if again is not None:  # as where files were joined
            raise ValueError(
                f"Expected items below the headings of {where}, but row {again} repeats them: delete it."
            )
    return rows


_ODD_ROW = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+): (.*)", re.DOTALL)


def _is_open(path: Path, form: FileForm, where: str) -> bool:
    """Tell by Python's reader whether a quotation mark is never closed: the last cell then holds an added row."""
    try:
        return deque(_rows(path, form, where, added=("\n", "end\n")), maxlen=1).pop() != ["end"]
    except csv.Error:  # a cell without an end
        return True


def _with_cells(table: pa.Table) -> pa.Table:
    """Leave out rows of separators alone, as spreadsheets write them below a table; a blank line is no row either."""
    empty = functools.reduce(pc.and_, [pc.equal(column, "") for column in table.columns])
    return (
        table.filter(pc.invert(empty)) if table.num_columns > 1 and pc.any(empty).as_py() else table
    )


# ------------------------------------------------------------------------------------------------- json and JSON lines


def _json(path: Path, form: FileForm, where: str, *, lines: bool) -> Parsed:
    encoding = _encoding(path, where, form.encoding, usual=False)
    with path.open(encoding=encoding, newline="") as stream:
        if lines or _is_json_lines(stream, where):
            stream.seek(0)
            chunks = _records(stream, where)
            first = next((chunk for chunk in chunks if chunk), [])
            if first and is_log(first[0]):
                rows = [*first, *itertools.chain.from_iterable(chunks)]
                return make_table(log_columns(rows, where, form.log_filter), where)
            return records_table(
                itertools.chain([first], chunks), where, "line", path.stat().st_size
            )
        stream.seek(0)
        content = parse_json(stream.read(MAX_JSON_CHARACTERS + 1), where)
    content = complete_log(content, path)
    return document_table(content, form, where, path.stat().st_size)


def document_table(content: Any, form: FileForm, where: str, n_bytes: int = 0) -> Parsed:
    """Find the table, or the tables of splits, in a document of JSON, in any of the usual orientations."""
    if form.rows is not None:
        content = select_records(content, form.rows, where)
        form = form.replace(rows=None)
    if is_inspect(content):
        return make_table(inspect_columns(content, where, scorer=form.log_filter), where)
    if is_log(content):
        content = [content]
    if isinstance(content, Mapping):
        values = list(content.values())
        lists = [value for value in values if isinstance(value, list)]
        nested = [value for value in lists if value and isinstance(value[0], (dict, list))]
        records = (
            nested[0]
            if len(nested) == 1 and (len(lists) < len(values) or isinstance(nested[0][0], dict))
            else None
        )
        # Of pandas ("split"), MLflow, Weights & Biases.
        rows, names = content.get("data"), content.get("columns")
        if (
            rows in lists
            and names in lists
            and names
            and all(isinstance(row, list) for row in rows)
        ):
            form = form.replace(column_names=tuple(map(str, names)))
            content = rows
        elif values and nested == values and all(map(split_of, content)):
            tables: dict[str, Any] = {}
            for name, part in content.items():
                tables[str(name)] = document_table(part, form, f"{name} of {where}", n_bytes)
            return tables
        elif values and lists == values and _are_columns(lists, records):
            return make_table(content, where)
        elif records is not None and (len(lists) == 1 or isinstance(records[0], dict)):
            content = records  # {"data": [...]} is how many tools wrap them, beside lists of keywords and the like
        elif values and all(isinstance(value, dict) for value in values):
            if values[0] and all(
                list(value) == [str(row) for row in range(len(values[0]))] for value in values
            ):
                return make_table(
                    {name: list(value.values()) for name, value in content.items()}, where
                )  # of pandas
            inner = find_records(content, where)
            content = inner or [{"id": key, **record} for key, record in content.items()]
        else:
            content = find_records(content, where) or [content]
    if not isinstance(content, list):
        raise ValueError(
            f"Expected a list of records in {where}, but it holds one {type(content).__name__}."
        )
    if content and all(isinstance(record, dict) for record in content):
        content = unwrap_records(content)
    if content and is_log(content[0]):
        return make_table(log_columns(content, where, form.log_filter), where)
    if found := pipeline_columns(content):
        return make_table(found, where)
    if content and all(isinstance(row, list) for row in content):
        content = rows_of(content, form, where)
    starts = range(0, len(content), _CHUNK)
    return records_table(
        (content[start : start + _CHUNK] for start in starts), where, "record", n_bytes
    )


def _are_columns(lists: Sequence[list[Any]], records: list[Any] | None) -> bool:
    """Return whether lists are the columns of a table, and not one of records beside shorter ones."""
    have_records = any(rows and isinstance(rows[0], dict) for rows in lists)
    # Columns have one length; a schema beside the rows has another.
    if len(set(map(len, lists))) > 1:
        return not have_records
    return records is None or len(lists) > 1


def rows_of(rows: list[list[Any]], form: FileForm, where: str) -> list[Any]:
    """Return records of rows of values whose columns have names."""
    names = form.column_names
    odd = next((number for number, row in enumerate(rows) if len(row) != len(names or row)), None)
    if names is None or odd is not None:
        but = (
            "its rows are lists of values"
            if odd is None
            else f"row {odd} has {len(rows[odd])} values"
        )
        raise OptionError(
            f"Expected {'names of columns' if names is None else f'{len(names)} columns'} in {where}, but {but}; "
            "`column_names` names them.",
            option="column_names",
        )
    return [dict(zip(names, row, strict=True)) for row in rows]


def pipeline_columns(items: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns of what a pipeline of transformers returned for each item; {} of anything else.

    Example:
        >>> pipeline_columns([{"label": "up", "score": 0.9}])
        {'prediction': ['up'], 'confidence': [0.9]}
        >>> pipeline_columns([[{"label": "up", "score": 0.75}, {"label": "down", "score": 0.25}]])
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    logprobs = spread_token_logprobs(items)
    if logprobs:
        return {f"logit_{token}": column for token, column in logprobs.items()}
    if not _are_class_scores(items) and not all(map(_are_class_scores, items)):
        return {}
    if _are_class_scores(items):
        return {
            "prediction": [item["label"] for item in items],
            "confidence": [item["score"] for item in items],
        }
    by_class = [{str(each["label"]): each["score"] for each in item} for item in items]
    return {
        f"p_{label}": [item.get(label) for item in by_class]
        for label in dict.fromkeys(itertools.chain(*by_class))
    }


def _are_class_scores(cells: Any) -> bool:
    are_objects = (
        isinstance(cells, (list, tuple))
        and bool(cells)
        and all(isinstance(cell, Mapping) for cell in cells)
    )
    return are_objects and all(cell.keys() == {"label", "score"} for cell in cells)


def _lines(stream: IO[str], where: str) -> Iterator[str]:
    for number, line in enumerate(
        iter(partial(stream.readline, MAX_LINE_CHARACTERS + 1), ""), start=1
    ):
        if len(line) > MAX_LINE_CHARACTERS:
            raise ValueError(
                f"Expected at most {MAX_LINE_CHARACTERS:,} characters per line in {where}, but line {number} has more."
            )
        yield line


def _is_json_lines(stream: IO[str], where: str) -> bool:
    """Tell whether the first line that is not blank is an object, and another one follows."""
    full = (line for line in _lines(stream, where) if line.strip())
    first, second = next(full, ""), next(full, "")
    if not (first.lstrip().startswith("{") and second.lstrip().startswith("{")):
        return False
    try:
        return isinstance(parse_json(first, where), dict)
    except ValueError:
        return False


def _records(stream: IO[str], where: str) -> Iterator[list[Any]]:
    """Yield the records of JSON lines in chunks."""
    numbered = enumerate(_lines(stream, where), start=1)
    while chunk := list(itertools.islice(numbered, _CHUNK)):
        yield [
            parse_json(line.strip(), where, line=number) for number, line in chunk if line.strip()
        ]


# ------------------------------------------------------------------------------------------------------------- splits


NAMES_OF_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_MARK = "[-._ 0-9]"
_SPLIT_NAMES = {
    split: re.compile(f"(?:.*{_MARK})?(?:{'|'.join(words)})(?:{_MARK}.*)?", re.IGNORECASE)
    for split, words in NAMES_OF_SPLITS.items()
}


def split_of(name: str) -> str:
    """Return the split that a name of a folder, of a file without its suffix, or of a key tells; "" for none.

    Raises:
        ValueError: If it tells two.

    Example:
        >>> split_of("my_Dev-2"), split_of("contested")
        ('validation', '')
    """
    splits = [split for split, words in _SPLIT_NAMES.items() if words.fullmatch(name)]
    if len(splits) > 1:
        raise ValueError(
            f"Expected each file of one split by its name, but {name} is named after {' and '.join(splits)}."
        )
    return splits[0] if splits else ""


# ------------------------------------------------------------------------------------------------------------- parquet


@contextmanager
def _parquet(path: Path, where: str, **options: Any) -> Iterator[pa.parquet.ParquetFile]:
    try:
        with pa.parquet.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError, OverflowError, UnicodeError) as error:
        raise ValueError(
            f"Expected a parquet file, but {where} cannot be read as one: {short_reason(error)}."
        ) from None


def read_parquet(path: Path, where: str) -> pa.Table:
    """Read a parquet file; one that would fill the memory is refused."""
    allowed = max(SMALL, EXPANSION * path.stat().st_size)
    with _parquet(path, where) as file:
        names, schema = file.schema_arrow.names, file.schema_arrow
        check_ids(names, f"column of {where}")
        if len(file.schema) > MAX_COLUMNS or any(
            len(list_levels(field)) > MAX_NESTING for field in schema.types
        ):
            raise ValueError(
                f"Expected at most {MAX_COLUMNS:,} columns of at most {MAX_NESTING} levels in {where}, but it has more."
            )
        groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
        # How many values there are, those inside lists included, as the footer says.
        numbers = 8 * sum(
            group.column(number).num_values
            for group in groups
            for number in range(group.num_columns)
        )
        leaves = [file.schema.column(number) for number in range(len(file.schema))]
    if numbers > allowed:
        raise _too_full(path, where, allowed)
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    with _parquet(
        path, where, read_dictionary=texts
    ) as file:  # a text that comes often is held once
        table = file.read()
    if (
        numbers + sum(_text_bytes(part) for column in table.columns for part in column.chunks)
        > allowed
    ):
        raise _too_full(path, where, allowed)
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return table.cast(pa.schema(plain, schema.metadata))


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


SUFFIXES = (".yaml", ".yml")

DESCRIPTION = "data.yaml"
"""What `look` calls the description of data; one in a folder is read with the folder."""

NAMED_TYPES = (*FILE_TYPES, *SUFFIXES)
"""What the name of a file of data ends in, or that of a description of one."""

OptionsOfTable = TypeVar("OptionsOfTable", bound=Options)

KEYS = tuple(
    dict.fromkeys(
        (
            "data",
            "items",
            "answers",
            "join",
            "config",
            "task",
            *TextOptions.list_names(),
            *ChoiceOptions.list_names(),
            *PredictionOptions.list_names(),
            *LookOptions.list_names(),
        )
    )
)
"""What a data.yaml may say."""


@dataclasses.dataclass(frozen=True)
class Described:
    """A table, and what is said about its file and its columns."""

    source: Any
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def options(self, options: OptionsOfTable) -> OptionsOfTable:
        """Return options with what the description says where they leave it open."""
        changed = options.get_changes()
        new = {
            name: value
            for name, value in self.given.items()
            if name in options.list_names() and name not in changed
        }
        for name, value in new.items():
            if isinstance(value, list):
                new[name] = (
                    format_names(value) if name == "score_columns" else tuple(map(str, value))
                )
        return options.replace(**new) if new else options


def described(source: Any) -> Described:
    """Read what a data.yaml says; anything else is itself, with nothing said about it.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no mapping, says something unknown, or does not say where the data is.

    Example:
        >>> described("reviews.csv").source
        'reviews.csv'
    """
    if isinstance(source, Described):
        # A folder with a description is read as that says, apart from what is said here.
        inner = described(source.source)
        return Described(inner.source, {**inner.given, **source.given})
    if not isinstance(source, (str, os.PathLike)):
        return Described(source)
    path = Path(source)
    if path.suffix.lower() not in SUFFIXES:
        description = path / DESCRIPTION
        return described(description) if _describes_data(description) else Described(source)
    import yaml

    try:
        content = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"Expected YAML in {path}, but it cannot be read as such: {reason}."
        ) from None
    is_joined = isinstance(content, dict) and {"items", "answers"} <= content.keys()
    if not is_joined and (
        not isinstance(content, dict) or not isinstance(content.get("data"), str)
    ):
        raise ValueError(f"Expected {path} to say where the data is, as in `data: reviews.csv`.")
    check_options(content, KEYS, str(path))
    if is_joined:
        items, answers = (_resolve_beside(path, str(content[key])) for key in ("items", "answers"))
        source = JoinedFiles(items, answers, content.get("join"))
        joined = {"data", "items", "answers", "join"}
        return description_of(
            {"data": source, **{key: content[key] for key in content if key not in joined}}
        )
    return description_of({**content, "data": _resolve_beside(path, content["data"])})


def _describes_data(path: Path) -> bool:
    """Return whether a file is a description that `look` wrote; other tools have files of that name."""
    # A name that is too long for a path is none, too.
    if not os.path.isfile(path):
        return False
    import yaml

    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError, OSError):
        content = yaml.safe_load(read_text(path))
        return isinstance(content, dict) and set(content) <= set(KEYS)
    return False


def _resolve_beside(path: Path, name: str) -> str:
    """Return the path of a file that a data.yaml names relative to itself; a name of another kind as it is."""
    file = path.parent / name
    return str(file) if file.exists() else name


def description_of(content: Mapping[str, Any]) -> Described:
    """Return what the content of a data.yaml says, whose data is told from here."""
    given = {name: value for name, value in content.items() if value is not None and name != "data"}
    return Described(content["data"], given)


def write_description(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a data.yaml of what is not None."""
    import yaml

    kept = {name: value for name, value in content.items() if value is not None and value != ()}
    plain = {
        name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()
    }
    return write_text(path, yaml.safe_dump(plain, allow_unicode=True, sort_keys=False))


MAX_ENTRIES = 10_000
"""The maximum number of files and folders below a folder of data."""

MAX_DOWNLOAD = 1 << 32
"""The maximum number of bytes of a file that is read from an address."""


_SEVERAL = re.compile(r"[-._ ]*\d+([-._ ]*of[-._ ]*\d+)?$")
"""How the names of the parts of one file end."""

_SHARD = re.compile(r"^data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*$")
_NOT_DATA = frozenset(
    ("config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json")
)
# Where no name tells a split, the files of the most common type are the data; of the first of these in a draw.
_PREFERRED = (
    ".parquet",
    ".csv",
    ".tsv",
    ".jsonl",
    ".json",
    ".npz",
    ".npy",
    ".xlsx",
    ".eval",
)
_DESCRIBED = re.compile(r"---\s*\n(?:(?!---).*\n)*?(?:configs|dataset_info)\s*:")


def as_table(
    source: Any,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    known_issues: KnownIssues = None,
    revision: str | None = None,
    form: FileForm = NO_FORM,
    where: str = "",
) -> Splits:
    """Read anything that holds rows, with its columns and their features unchanged.

    Args:
        source: A name of the catalog; a file (csv, tsv, jsonl, json, parquet, npz, a log of lm-evaluation-harness or
            inspect_ai), perhaps compressed; its address (https://, hf://, s3://, …); a folder of files or of
            `save_to_disk`; a hub id; a data.yaml of `rightreasons look`. Or in memory: a Dataset in any format, also
            streamed; a DataFrame of pandas or polars; a Table of pyarrow; a list of dictionaries; a dictionary of
            columns; what a pipeline of transformers or `Trainer.predict` returns; a mapping from split names to any of
            these.
        config: A configuration of a data set of the catalog or the hub.
        data_dir: The folder of local copies of the catalog's sources.
        known_issues: As in `load_dataset`, for data sets of the catalog; None corrects them.
        revision: A revision on the hub.
        form: How a file is to be read where it does not say so.
        where: What the source is called in errors; "" for its path.

    Returns:
        A Dataset, or a DatasetDict where there are splits. A column of unlike values is one of JSON: it refuses nothing
        until it is used.

    Raises:
        TypeError: If it holds no rows.
        FileNotFoundError: If a path does not exist.
        ValueError: If a name is unknown, or a file is not of the type that its suffix says.

    Example:
        >>> as_table([{"id": 7, "text": "Fine."}, {"id": "b", "text": "Dull."}])["id"][:]
        [7, 'b']
        >>> as_table({"train": {"text": ["Fine."]}, "dev": {"text": ["Dull."]}})["dev"].num_rows
        1
    """
    check_kind(config, "config", str | None)
    check_kind(form, "form", FileForm)
    description = described(source)
    form = description.options(form)
    table = _open_table(
        description,
        config or description.given.get("config"),
        data_dir=data_dir,
        known_issues=known_issues,
        revision=revision,
        form=form,
        where=where,
    )
    if form.where is None:
        return table
    return filter_rows(table, form.where)


def _open_table(
    description: Described,
    config: str | None,
    *,
    data_dir: str | os.PathLike[str] | None,
    known_issues: KnownIssues,
    revision: str | None,
    form: FileForm,
    where: str,
) -> Splits:
    """Read all rows of a table; see `as_table`."""
    source = description.source
    if isinstance(source, JoinedFiles):
        return join_files(source, form, as_table)
    if not isinstance(source, (str, os.PathLike)):
        return _in_memory(source, form, where or "the data set")
    name = os.fspath(source)
    if name in CATALOG:
        choice = True if known_issues is None else known_issues
        return load_dataset(name, config, data_dir=data_dir, revision=revision, known_issues=choice)
    if "://" in name:
        with _downloaded(name) as path:
            return _file(path, form, where or name)
    path = Path(name).expanduser()
    if os.path.isfile(path):
        if config is not None:
            raise _no_config(path, config)
        return _file(path, form, where or str(path))
    if os.path.isdir(path):
        return _folder(path, config, form)
    return _hub(name, config, revision)


def parse_table(text: str, where: str) -> datasets.Dataset:
    """Read a pasted text: JSON, one JSON object per line, or separated values."""
    text = text.strip().removeprefix("\ufeff").lstrip()
    if not text:
        raise ValueError(f"Expected a table of predictions, but {where} is empty.")
    suffix = ".json" if text[0] in "[{" else ".tsv" if "\t" in text.split("\n", 1)[0] else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pasted{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return only_part(_file(path, NO_FORM, where), where)


def _no_config(path: Path, config: str) -> ValueError:
    """Refuse a configuration of what has none: silence would mean that it was heeded."""
    return ValueError(f"Expected no configuration for {path}, which has none, but got {config!r}.")


# ----------------------------------------------------------------------------------------------------------- in memory


def _in_memory(source: Any, form: FileForm, where: str) -> Splits:
    if isinstance(source, datasets.Dataset):
        return source.with_format(None)
    if isinstance(source, datasets.IterableDataset):
        rows = list(source.with_format(None))
        return datasets.Dataset.from_list(rows, features=source.features)
    if (
        isinstance(source, Mapping)
        and source
        and all(_is_part(name, part) for name, part in source.items())
    ):
        parts = {
            name: only_part(_in_memory(part, form, f"{name} of {where}"), where)
            for name, part in source.items()
        }
        return datasets.DatasetDict(parts)
    return make_dataset(_arrow_table(source, form, where), where)


def _arrow_table(source: Any, form: FileForm, where: str) -> Any:
    if hasattr(source, "predictions") and hasattr(source, "label_ids"):  # of Trainer.predict
        scores = (
            source.predictions[0] if isinstance(source.predictions, tuple) else source.predictions
        )
        columns = {"logits": scores, "label_ids": source.label_ids}
        source = {name: column for name, column in columns.items() if column is not None}
    table = None if is_tensor(source) else read_columns(source)
    if table is not None:
        names = list(map(str, table[0]))
        check_ids(names, f"column of {where}")
        source = dict(zip(names, table[1], strict=True))
    if isinstance(source, Mapping):
        return make_table(source, where)
    if _holds_rows(source):
        rows = [dict(row) if isinstance(row, Mapping) else list(row) for row in source]
        return document_table(rows, form, where)
    raise TypeError(
        f"Expected a data set by its name, its path or as a table (a DataFrame, a Dataset, rows, columns), but got "
        f"{describe_kind(source)}."
    )


def _is_part(name: Any, value: Any) -> bool:
    """Tell whether the value of a name is the table of a split, and no column."""
    if isinstance(value, (datasets.Dataset, datasets.IterableDataset)) or hasattr(
        type(value), "columns"
    ):
        return True
    return isinstance(name, str) and bool(split_of(name)) and _holds_rows(value)


def _holds_rows(value: Any) -> bool:
    """Tell whether a value is a list of rows or a dictionary of columns."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(column, (list, tuple)) for column in value.values())
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(row, (Mapping, list, tuple)) for row in value)
    )


# ------------------------------------------------------------------------------------------------- files and addresses


LABEL_COLUMN = "label"
"""Name of the column that the labels of a file next to the items get."""


def find_label_file(path: Path) -> Path | None:
    """Return the file of labels that belongs to a file of items: `dev-labels.lst` to `dev.jsonl`.

    This is how AI2 releases aNLI, PIQA and SocialIQA: one label per line, in the order of the items.

    Returns:
        The file, or None if there is none.
    """
    if path.suffix != ".jsonl":
        return None
    file = path.with_name(f"{path.stem}-labels.lst")
    return file if file.is_file() else None


def _add_labels_of_other_file(table: pa.Table, path: Path) -> pa.Table:
    """Return a table with the labels of the file next to it; unchanged if there are none."""
    file = find_label_file(path)
    if file is None or LABEL_COLUMN in table.column_names:
        return table
    labels: list[Any] = file.read_text("utf-8").split()
    if len(labels) != table.num_rows:
        raise ValueError(
            f"Expected a label in {file} for each of the {table.num_rows:,} items of {path.name}, "
            f"but it has {len(labels):,}."
        )
    if all(label.removeprefix("-").isdecimal() for label in labels):
        labels = [int(label) for label in labels]
    return table.append_column(LABEL_COLUMN, pa.array(labels))


def _file(path: Path, form: FileForm, where: str) -> Splits:
    parsed = read_file(path, form, where)
    if isinstance(parsed, pa.Table):
        parsed = _add_labels_of_other_file(parsed, path)
    if isinstance(parsed, dict):
        return datasets.DatasetDict(
            {split: make_dataset(part, where, split) for split, part in parsed.items()}
        )
    return make_dataset(parsed, where)


@contextmanager
def _downloaded(address: str) -> Iterator[Path]:
    """Copy the file at an address here."""
    import fsspec

    name = PurePosixPath(address.partition("?")[0]).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            with fsspec.open(address, "rb") as stream, path.open("wb") as target:
                while target.tell() <= MAX_DOWNLOAD and (block := stream.read(1 << 20)):
                    target.write(block)
        except Exception as error:  # of any protocol
            raise ValueError(
                f"Expected a file at {address}, but it cannot be read: {short_reason(error)}."
            ) from error
        if path.stat().st_size > MAX_DOWNLOAD:
            raise ValueError(
                f"Expected at most {MAX_DOWNLOAD:,} bytes at {address}, but there are more."
            )
        yield path


def _hub(name: str, config: str | None, revision: str | None) -> Splits:
    looks_like_a_path = name.startswith((".", "/", "~")) or data_type(name) in NAMED_TYPES
    if looks_like_a_path or name.count("/") > 1 or len(name) > 200:
        raise FileNotFoundError(
            f"Expected a data set at {name[:200]}, but there is no such file or folder."
        )
    use_hub_or_cache()
    try:
        return datasets.load_dataset(name, config, revision=revision)
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"Expected a data set of this package, a file, a folder or a data set on the hub, but {name!r} cannot be "
            f"read as any of them ({type(error).__name__}: {short_reason(error)}).{suggest_similar_names(name, CATALOG, n=2)} "
            f"This package has: {', '.join(sorted(CATALOG))}."
        ) from error


# -------------------------------------------------------------------------------------------------------------- folders


def _check_plain_files(path: Path) -> None:
    """Refuse a folder with a device or a pipe, whose content may never end."""
    n_entries = 0
    devices = []
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        check_at_most(n_entries, MAX_ENTRIES, "files and folders", path)
        for name in names:
            file = os.path.join(folder, name)
            # A broken link is no file either, and is never opened.
            if os.path.exists(file) and not os.path.isfile(file):
                devices.append(os.path.relpath(file, path))
    if devices:
        raise ValueError(
            f"Expected plain files in {path}, but {devices[0]} is none, and may never end."
        )


def _folder(path: Path, config: str | None, form: FileForm) -> Splits:
    _check_plain_files(path)
    saved = (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()
    files = () if saved or _is_described(path) else _data_files(path)
    if config is not None and (saved or files):
        raise _no_config(path, config)
    if not files:
        try:
            if saved:
                return datasets.load_from_disk(str(path))
            return datasets.load_dataset(str(path), config, cache_dir=_cache_of(path))
        except (
            Exception
        ) as error:  # whatever a damaged folder makes of the libraries behind `datasets`
            expected = "Expected a folder of data files or a folder written by save_to_disk"
            raise ValueError(
                f"{expected}, but {path} cannot be read: {short_reason(error)}."
            ) from error
    splits = _splits(files, path)
    tables = {
        split: _one_below_another([path / file for file in names], form)
        for split, names in splits.items()
    }
    # A public test split often comes without labels: it has nulls in the columns that others have.
    fields = {
        field.name: field for table in reversed(list(tables.values())) for field in table.schema
    }
    for split, table in tables.items():
        lacking = pa.schema(
            [field for name, field in fields.items() if name not in table.column_names]
        )
        tables[split] = pa.concat_tables([table, lacking.empty_table()], promote_options="default")
    return datasets.DatasetDict(
        {split: make_dataset(table, str(path), split) for split, table in tables.items()}
    )


def _cache_of(path: Path) -> str:
    """Return a cache for this folder as it is: datasets knows one by its name and the names of its files alone."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(path.resolve().rglob("*")):
        if file.is_file():
            digest.update(
                f"{file}|{file.stat().st_size}|{file.stat().st_mtime_ns}".encode(
                    "utf-8", "surrogatepass"
                )
            )
    return os.path.join(datasets.config.HF_DATASETS_CACHE, "folders", digest.hexdigest())


def _is_described(path: Path) -> bool:
    """Tell whether a card says which files belong to which configuration, or of which types the columns are."""
    try:
        card = (path / "README.md").read_bytes()[: 1 << 20].decode("utf-8-sig", "replace")
    except OSError:
        return False
    return _DESCRIBED.match(card) is not None


def _data_files(path: Path) -> list[str]:
    """Return the data files below a folder, sorted, hidden ones left out, relative to it and with slashes."""
    files, n_entries = [], 0
    for folder, subfolders, names in os.walk(path):
        n_entries += len(subfolders) + len(names)
        check_at_most(n_entries, MAX_ENTRIES, "files and folders", path)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith((".", "__")))
        for name in sorted(names):
            if (
                not name.startswith((".", "__"))
                and name not in _NOT_DATA
                and data_type(name) in FILE_TYPES
            ):
                files.append((Path(folder) / name).relative_to(path).as_posix())
    plain = {plain_path(file): file for file in files}
    twice = next((file for file in files if file not in plain.values()), None)
    if twice is not None:
        again = plain[plain_path(twice)]
        raise ValueError(
            f"Expected each file once in {path}, but {again} and {twice} are one, compressed."
        )
    return files


def _splits(files: Sequence[str], path: Path) -> dict[str, list[str]]:
    """Return the files of each split: by shards, else by folders, else by names of files; else all are `train`."""
    rules: dict[str, Callable[[str], Iterable[str]]] = {
        "shards": _SHARD.findall,
        "folders": lambda file: {split_of(name) for name in Path(file).parent.parts},
        "files": lambda file: [split_of(plain_path(file).stem)],
    }
    for rule, named in rules.items():
        found: dict[str, list[str]] = {}
        for file in files:
            for split in filter(None, named(file)):
                found.setdefault(split, []).append(file)
        splits: dict[str, list[str]] = {}
        for split, held in found.items():
            _refuse_versions(split, held, path)
            splits |= _variants(split, held) if rule == "files" else {split: held}
        if splits:
            read = {*itertools.chain(*splits.values())}
            unread = [
                file
                for file in files
                if file not in read and data_type(file) in map(data_type, read)
            ]
            if unread:
                warnings.warn(
                    f"{format_list(unread)} of {path} tells no split by its name, and is not read.",
                    stacklevel=2,
                )
            order = ["train", "validation", "test", *splits]
            return {split: splits[split] for split in sorted(splits, key=order.index)}
    types = [
        data_type(file)
        for file in sorted(files, key=lambda file: _PREFERRED.index(data_type(file)))
    ]
    kind = Counter(types).most_common(1)[0][0]
    return {"train": [file for file in files if data_type(file) == kind]}


def _variants(split: str, files: Sequence[str]) -> dict[str, list[str]]:
    """Tell the parts of a split, whose names differ in digits alone, from its variants, such as test_hard.csv."""
    parts: dict[str, list[str]] = {}
    for file in files:
        parts.setdefault(_SEVERAL.sub("", plain_path(file).stem), []).append(file)
    plain = (
        [name for name in parts if name.lower() in NAMES_OF_SPLITS[split]]
        if len(parts) > 1
        else list(parts)
    )
    return {split if [name] == plain else name: held for name, held in parts.items()}


def _refuse_versions(split: str, files: Sequence[str], path: Path) -> None:
    """Refuse files of one name and split whose folders are no splits, such as those of several languages."""
    apart: dict[str, str] = {}
    for file in files:
        folders = Path(file).parent.parts
        above = "/".join(itertools.takewhile(lambda name: not split_of(name), folders))
        if apart.setdefault(Path(file).name, above) != above:
            raise ValueError(
                f"Expected each split once in {path}, but {split} is in {apart[Path(file).name] or '.'} and in "
                f"{above or '.'}: name one of these folders."
            )


def _one_below_another(files: Sequence[Path], form: FileForm) -> pa.Table:
    """Read the files of a split, one after the other."""
    tables: list[pa.Table] = []
    for file in files:
        separated = data_type(file) in (".csv", ".tsv")
        parsed = read_file(file, form if separated else NO_FORM)
        if isinstance(parsed, dict):
            raise ValueError(
                f"Expected the rows of one split in {file}, but it has the splits {', '.join(parsed)}."
            )
        if tables and set(parsed.column_names) != set(tables[0].column_names):
            raise ValueError(
                f"Expected the same columns in all files of a split, but {files[0]} has "
                f"{', '.join(tables[0].column_names)} and {file} has {', '.join(parsed.column_names)}."
            )
        tables.append(parsed)
    return concatenated(tables, str(files[0].parent))

"""Tables of separated cells: csv and tsv files.

`read_separated` reads one. All cells are texts: `NA` is a word, `007` keeps its zeros, and an empty
cell is an empty text. Arrow reads the rows; the first lines show what separates cells, and Python's
slower reader settles how they are quoted.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from rightreasons.core.errors import OptionError
from rightreasons.core.limits import MAX_CELL_CHARACTERS, MAX_COLUMNS
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_at_most, check_ids
from rightreasons.io.arrow_tables import AGAIN, short_reason
from rightreasons.io.files.text_files import contains_bytes, find_encoding, iterate_lines
from rightreasons.io.options import FileForm

SEPARATORS = ",;\t|^"
"""Characters that may separate cells, the likeliest first."""

N_SAMPLE_LINES = 20
"""Number of lines that show the separator of a file."""

MAX_SAMPLE_CHARACTERS = 1 << 17
"""Number of characters of each of them that are read."""

ARROW_BLOCK_BYTES = 1 << 25
"""Number of bytes that Arrow parses at a time."""

# Excel begins a file with the separator of its cells.
_DECLARATION = re.compile(r"sep=(.)\s*")
# How Arrow refuses a row.
_INVALID_ROW = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+): (.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Separator:
    """What separates the cells of a table.

    Attributes:
        character: The character.
        n_lines: Number of lines before the table that declare it, 0 or 1.
        is_certain: Whether it is given, declared, or gives all sampled rows as many cells.
    """

    character: str
    n_lines: int
    is_certain: bool


def read_separated(path: Path, form: FileForm, source_name: str, suffix: str) -> pa.Table:
    """Read a csv or tsv file as a table of texts.

    Args:
        path: The file.
        form: How it is to be read: its separator, quotation mark and encoding, each of which may be
            found out.
        source_name: What it is called in errors.
        suffix: Its type, ".csv" or ".tsv".

    Raises:
        OptionError: If rows have different numbers of cells, or an option is wrong.
        ValueError: If a quotation mark is never closed, or a limit is passed.
    """
    _check_characters(form)
    encoding = find_encoding(path, source_name, form.encoding)
    separator = find_separator(path, encoding, form, default="\t" if suffix == ".tsv" else ",")
    form = form.replace(encoding=encoding, separator=separator.character)
    if form.quote is None:
        is_quoted = suffix == ".csv" or _has_quoted_cells(path, form, source_name)
        form = form.replace(quote='"' if is_quoted else "none")

    first_row, n_blank_lines = _read_first_row(path, form, source_name, separator.n_lines)
    if not first_row:
        return pa.table({})
    names = _name_columns(first_row, form.column_names, source_name)
    has_heading = form.column_names is None
    n_skipped = separator.n_lines
    # Rows of empty cells above the headings are skipped; without headings, they are data.
    if has_heading:
        n_skipped += n_blank_lines

    table = _parse_with_arrow(path, form, names, n_skipped, source_name)
    _check_cells(table, source_name)
    _check_last_cell(path, form, table, source_name)
    # The row of the headings was read as data.
    rows = _drop_empty_rows(table.slice(int(has_heading)))
    if has_heading:
        _check_repeated_heading(rows, first_row, source_name)
    return rows


def _check_characters(form: FileForm) -> None:
    r"""Check that the separator and the quotation mark that options give are single characters.

    A tab may be written as "\t", and no quotation mark as "none".

    Raises:
        OptionError: If one is longer.
    """
    for option in ("separator", "quote"):
        character = getattr(form, option)
        if character in (None, "none", "\\t"):
            continue
        if len(character) != 1:
            raise OptionError(
                f"Expected one character in `{option}`, but got {character!r}.", option=option
            )


# ------------------------------------------------------------------------------- separators


def find_separator(path: Path, encoding: str, form: FileForm, default: str) -> Separator:
    """Find the character that separates the cells of a table: the given one, or by the first lines.

    A separator is certain if it divides all of these lines into the same number of cells.

    Args:
        path: The file.
        encoding: Its encoding.
        form: How it is to be read, perhaps with a separator.
        default: The likeliest separator.
    """
    lines = _read_first_lines(path, encoding)
    first_line = lines[0] if lines else ""
    # Excel writes a line "sep=;" before the table.
    declaration = _DECLARATION.fullmatch(first_line)
    n_lines = 0 if declaration is None else 1
    if form.separator is not None:
        # A tab is typed as two characters on a command line.
        return Separator(form.separator.replace("\\t", "\t"), n_lines, is_certain=True)
    if declaration is not None:
        return Separator(declaration[1], n_lines, is_certain=True)

    candidates = dict.fromkeys(default + SEPARATORS)
    for character in candidates:
        if _has_equal_rows(lines, character):
            return Separator(character, n_lines, is_certain=True)
    # Rows that differ in their number of cells are refused later, with the row to blame.
    for character in candidates:
        if character in first_line:
            return Separator(character, n_lines, is_certain=False)
    return Separator(default, n_lines, is_certain=False)


def _read_first_lines(path: Path, encoding: str) -> list[str]:
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        lines = [stream.readline(MAX_SAMPLE_CHARACTERS) for _ in range(N_SAMPLE_LINES)]
    return [line for line in lines if line]


def _has_equal_rows(lines: Sequence[str], separator: str) -> bool:
    """Return whether a separator divides all lines into the same number of cells, two or more.

    Args:
        lines: The first lines of a file.
        separator: The character.
    """
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    # A cell is too long.
    except csv.Error:
        return False
    # The last record of a sample may continue on further lines of the file.
    if len(lines) == N_SAMPLE_LINES:
        rows = rows[:-1]
    widths = set(map(len, rows))
    return len(widths) == 1 and max(widths) > 1


# ------------------------------------------------------------------------------- quotation marks


def _get_quote(form: FileForm) -> str:
    """Return the quotation mark around cells, "" for none."""
    if form.quote is None or form.quote == "none":
        return ""
    return form.quote


def _has_quoted_cells(path: Path, form: FileForm, source_name: str) -> bool:
    """Return whether a tsv file quotes its cells.

    Few do, and a text may begin with a quotation mark. Cells are taken to be quoted if all rows have
    the same number of cells then, and if a second sign speaks for it; see `_needs_quotes`.

    Args:
        path: The file.
        form: How it is to be read, with its encoding and separator.
        source_name: What it is called in errors.
    """
    if not contains_bytes(path, b'"'):
        return False
    widths = _list_quoted_widths(path, form, source_name)
    if len(widths) != 1 or widths == {1}:
        return False
    return _needs_quotes(path, form)


def _needs_quotes(path: Path, form: FileForm) -> bool:
    """Return whether a tsv file has a sign that its cells are quoted.

    It is in UTF-16, as Excel writes it; its first heading is quoted, as R does; rows differ in
    their number of separators; or marks within a quoted cell are doubled.

    Args:
        path: The file.
        form: How it is to be read, with its encoding and separator.
    """
    separator = str(form.separator)
    escaped = re.escape(separator)
    quoted_heading = re.compile(f'"[^{escaped}"]+"({escaped}|$)')
    doubled_quote = re.compile(f'(?:^|{escaped})"[^{escaped}]*""[^{escaped}\r\n]')
    with path.open(encoding=form.encoding, newline="") as stream:
        lines = filter(str.strip, stream)
        heading = next(lines, "")
        if form.encoding == "utf-16" or quoted_heading.match(heading):
            return True
        n_separators = heading.count(separator)
        for line in lines:
            if line.count(separator) != n_separators or doubled_quote.search(line):
                return True
    return False


def _list_quoted_widths(path: Path, form: FileForm, source_name: str) -> set[int]:
    """Return the distinct numbers of cells per row if cells were quoted; none if quotes are invalid.

    Args:
        path: The file.
        form: How it is to be read otherwise.
        source_name: What it is called in errors.
    """
    rows = _iterate_rows(path, form.replace(quote='"'), source_name, is_strict=True)
    try:
        return {len(row) for row in rows if row}
    # Text follows a closed quotation mark.
    except csv.Error:
        return set()


def _has_escaped_quotes(path: Path, quote: str, form: FileForm, source_name: str) -> bool:
    r"""Return whether quotation marks within cells follow a backslash, and are not doubled."""
    # Few files have a backslash, and a single byte is found several times faster than two.
    if not quote or not contains_bytes(path, b"\\") or not contains_bytes(path, b'\\"'):
        return False
    return not _list_quoted_widths(path, form, source_name)


# ------------------------------------------------------------------------------- rows


def _iterate_rows(
    path: Path,
    form: FileForm,
    source_name: str,
    *,
    is_strict: bool = False,
    n_skipped: int = 0,
    added_lines: Iterable[str] = (),
) -> Iterator[list[str]]:
    """Yield the rows of a table as Python reads them.

    Args:
        path: The file.
        form: How it is to be read.
        source_name: What it is called in errors.
        is_strict: Whether to raise `csv.Error` for text after a closed quotation mark.
        n_skipped: Number of lines to skip.
        added_lines: Lines to read after the last one.
    """
    quote = _get_quote(form)
    # Python's limit is one of the whole process.
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        with path.open(encoding=form.encoding, newline="") as stream:
            lines = itertools.islice(iterate_lines(stream, source_name), n_skipped, None)
            yield from csv.reader(
                itertools.chain(lines, added_lines),
                delimiter=form.separator or ",",
                quotechar=quote or None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
                strict=is_strict,
            )
    finally:
        csv.field_size_limit(limit)


def _read_first_row(
    path: Path, form: FileForm, source_name: str, n_skipped: int
) -> tuple[list[str], int]:
    """Return the first row of a table that has text, and how many lines of empty cells are above it.

    Tables that a spreadsheet exported may begin with rows of empty cells.

    Args:
        path: The file.
        form: How it is to be read.
        source_name: What it is called in errors.
        n_skipped: The number of lines before the table.

    Returns:
        The cells of the row, [] if there is none, and the number of lines.

    Raises:
        ValueError: If a cell is too long, as after a quotation mark that is never closed.
    """
    try:
        return _find_first_row(_iterate_rows(path, form, source_name, n_skipped=n_skipped))
    except csv.Error:
        raise ValueError(
            f"Expected cells of at most {MAX_CELL_CHARACTERS:,} characters in {source_name}, but "
            "a cell is longer. Check whether a quotation mark is left open."
        ) from None


def _find_first_row(rows: Iterable[list[str]]) -> tuple[list[str], int]:
    """Return the first row with text, and the number of lines of empty cells above it.

    Args:
        rows: The rows of a table; [] for an empty line.

    Returns:
        The row and the number of lines to skip before it. If no row has text, the first one that is
        not [], and 0.
    """
    first_empty_row: list[str] = []
    for n_lines, row in enumerate(rows):
        if any(cell.strip() for cell in row):
            # Arrow skips empty lines itself, but not lines of separators.
            n_skipped = n_lines if len(first_empty_row) > 1 else 0
            return row, n_skipped
        if not first_empty_row:
            first_empty_row = row
    return first_empty_row, 0


def _name_columns(
    first_row: Sequence[str], column_names: Sequence[str] | None, source_name: str
) -> list[str]:
    """Return distinct names of the columns of a table.

    Args:
        first_row: The cells of its first row, which are the headings unless names are given.
        column_names: The names that an option gives; None for the headings.
        source_name: What the table is called in errors.

    Returns:
        The names: "(column 3)" for an empty heading, and "(2) label" for a repeated one.

    Raises:
        ValueError: If given names repeat, or there are too many columns.
    """
    headings: Sequence[str] = first_row
    if column_names is not None:
        check_ids(column_names, f"column name of {source_name}")
        headings = column_names
    check_at_most(max(len(headings), len(first_row)), MAX_COLUMNS, "columns", source_name)
    names: dict[str, None] = {}
    for position, heading in enumerate(headings, start=1):
        name = heading.strip() or f"(column {position})"
        while name in names:
            name = AGAIN + name
        names[name] = None
    return list(names)


def _parse_with_arrow(
    path: Path, form: FileForm, names: list[str], n_skipped: int, source_name: str
) -> pa.Table:
    """Read all rows of a table with Arrow as texts, the row of headings included.

    Args:
        path: The file.
        form: How it is to be read: its encoding, separator and quotation mark.
        names: The names of the columns.
        n_skipped: The number of lines before the headings.
        source_name: What it is called in errors.

    Raises:
        OptionError: If a row has another number of cells.
        ValueError: If it cannot be read.
    """
    quote = _get_quote(form)
    encoding = str(form.encoding)
    escapes = _has_escaped_quotes(path, quote, form, source_name)
    read_options = pa.csv.ReadOptions(
        column_names=names,
        block_size=ARROW_BLOCK_BYTES,
        skip_rows=n_skipped,
        encoding=encoding.replace("utf-8-sig", "utf8"),
        # With several threads, Arrow does not know the number of a row that it refuses.
        use_threads=False,
    )
    parse_options = pa.csv.ParseOptions(
        delimiter=form.separator,
        quote_char=quote or False,
        escape_char="\\" if escapes else False,
        newlines_in_values=bool(quote),
    )
    # All cells stay texts, "NA" and empty ones included.
    convert_options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[],
        strings_can_be_null=False,
    )
    try:
        return pa.csv.read_csv(
            path,
            read_options=read_options,
            parse_options=parse_options,
            convert_options=convert_options,
        )
    except (pa.ArrowException, OSError, LookupError) as error:
        raise _explain_refusal(error, form, names, source_name) from None


def _explain_refusal(
    error: Exception, form: FileForm, names: list[str], source_name: str
) -> ValueError:
    """Return our error for a table that Arrow refuses, with the row that is to blame.

    Args:
        error: The error of Arrow.
        form: How the table was read.
        names: The names of its columns.
        source_name: What it is called in errors.
    """
    refusal = _INVALID_ROW.search(str(error))
    if refusal is None:
        return ValueError(
            f"Expected a table in {source_name}, but it cannot be read: {short_reason(error)}."
        )
    number, n_cells, row_text = refusal.groups()
    quote = _get_quote(form)
    # An open quotation mark makes the lines below it a part of its cell.
    if quote and row_text.count(quote) % 2:
        return _make_open_quote_error(source_name)
    # Arrow counts rows from 1, the headings included.
    row = int(number) - 1
    if form.column_names is None:
        row -= 1
    # A title above the headings has fewer cells than the rows.
    remedy = ""
    if row == 0 or len(names) == 1:
        remedy = ", and delete the lines above the headings"
    return OptionError(
        f"Expected {len(names)} columns ({format_list(names)}) in each row of {source_name}, but "
        f"row {row} has {n_cells}. Set `separator` and `quote` to the characters between and "
        f"around cells{remedy}.",
        option=("separator", "quote"),
    )


def _make_open_quote_error(source_name: str) -> ValueError:
    return ValueError(
        f"Expected every quotation mark in {source_name} to be closed, but the last cell is still "
        "open."
    )


def _check_cells(table: pa.Table, source_name: str) -> None:
    """Check that no cell is too long."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        cells = f"each cell of the column {name!r} of {source_name}"
        check_at_most(longest, MAX_CELL_CHARACTERS, "bytes", cells)


def _check_last_cell(path: Path, form: FileForm, table: pa.Table, source_name: str) -> None:
    """Check that the last quotation mark of a file is closed: an open cell runs to its end.

    Args:
        path: The file.
        form: How it was read.
        table: Its rows.
        source_name: What it is called in errors.

    Raises:
        ValueError: If the last cell is open.
    """
    quote = _get_quote(form)
    if not quote or not table.num_rows:
        return
    # The last bytes of the file are compared with the last cell, written with an open quotation mark
    # and with a closed one. Marks within a cell are doubled in the file.
    text = str(table[-1][-1]).replace(quote, 2 * quote)
    encoding = str(form.encoding).removesuffix("-sig")
    open_cell = f"{quote}{text}".encode(encoding)
    closed_cell = f"{quote}{text}{quote}".encode(encoding)
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - len(closed_cell)))
        end = stream.read()
    if not end.endswith(open_cell) or end == closed_cell:
        return
    # A mark within the last cell, as in `a"b`, has the same bytes: a slower reader decides.
    if _is_last_cell_open(path, form, source_name):
        raise _make_open_quote_error(source_name)


def _is_last_cell_open(path: Path, form: FileForm, source_name: str) -> bool:
    """Return whether the last cell of a file is quoted and never closed.

    A line that is added to the file then becomes a part of this cell, and not a separate row.

    Args:
        path: The file.
        form: How it was read.
        source_name: What it is called in errors.
    """
    rows = _iterate_rows(path, form, source_name, added_lines=("\n", "end\n"))
    try:
        last_row = deque(rows, maxlen=1).pop()
    # An open cell may be too long.
    except csv.Error:
        return True
    return last_row != ["end"]


def _drop_empty_rows(table: pa.Table) -> pa.Table:
    """Drop rows whose cells are all empty, as spreadsheets write them below a table."""
    # In a single column, an empty row is an empty text.
    if table.num_columns < 2:
        return table
    is_empty = pc.equal(table.column(0), "")
    for column in table.columns[1:]:
        is_empty = pc.and_(is_empty, pc.equal(column, ""))
    if not pc.any(is_empty).as_py():
        return table
    return table.filter(pc.invert(is_empty))


def _check_repeated_heading(rows: pa.Table, heading: list[str], source_name: str) -> None:
    """Check that no row repeats the headings, as in a file that was joined from several.

    Args:
        rows: The rows below the headings.
        heading: The cells of the headings.
        source_name: What the table is called in errors.

    Raises:
        ValueError: If a row does.
    """
    # A single word may well be a heading and a cell.
    if len(heading) < 2:
        return
    # Only rows that repeat the first heading are compared as a whole.
    candidates = np.flatnonzero(pc.equal(rows[0], heading[0]).to_numpy())
    for row in candidates.tolist():
        cells: list[Any] = [str(column[row]) for column in rows.columns]
        if cells == heading:
            raise ValueError(
                f"Expected items below the headings of {source_name}, but row {row} repeats the "
                "headings. Delete this row."
            )

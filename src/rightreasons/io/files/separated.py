"""Tables of separated cells: csv and tsv files.

`read_separated` is the entry point. All cells are strings: `NA` is a word, `007` keeps its zeros, and an
empty cell is an empty string. Arrow reads the rows. The first lines show the separator, and Python's slower
reader finds out whether cells are quoted.
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
"""Number of lines that are read to find the separator of a file."""

MAX_SAMPLE_CHARACTERS = 1 << 17
"""Maximum number of characters of each of these lines."""

ARROW_BLOCK_BYTES = 1 << 25
"""Number of bytes that Arrow parses at a time."""

# The first line of some files of Excel, which declares the separator.
_DECLARATION = re.compile(r"sep=(.)\s*")
# The error message of Arrow for a row with another number of cells.
_INVALID_ROW = re.compile(r"Row #(\d+): Expected \d+ columns, got (\d+): (.*)", re.DOTALL)

# A cell of the line below the headings of a table of Markdown, as in "|:---|---:|".
_RULE = re.compile(r":?-{3,}:?")

# The end of a long row in a message of Arrow.
_CUT = " ..."


@dataclasses.dataclass(frozen=True)
class Separator:
    """The character that separates the cells of a table.

    Attributes:
        character: The character.
        n_lines: Number of lines in front of the table that declare the character, 0 or 1.
        is_certain: Whether the character is given by an option, declared by the file, or divides all sampled rows into
            the same number of cells.
    """

    character: str
    n_lines: int
    is_certain: bool


def read_separated(path: Path, form: FileForm, source_name: str, suffix: str) -> pa.Table:
    """Read a csv or tsv file as a table of strings.

    Args:
        path: The file.
        form: Options on how the file is read: its separator, quotation mark and encoding. Each one that is
            None is inferred from the file.
        source_name: Name of the file, for error messages.
        suffix: The type of the file, ".csv" or ".tsv".

    Raises:
        OptionError: If rows have different numbers of cells, or an option is invalid.
        ValueError: If a quotation mark is never closed, or a limit is exceeded.
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
    # Rows of empty cells above the headings are skipped. In a file without headings, they are data.
    if has_heading:
        n_skipped += n_blank_lines

    table = _parse_with_arrow(path, form, names, n_skipped, source_name)
    _check_cells(table, source_name)
    _check_last_cell(path, form, table, source_name)
    # Arrow read the row of the headings as data.
    rows = _drop_empty_rows(table.slice(int(has_heading)))
    if has_heading:
        _check_repeated_heading(rows, first_row, source_name)
        rows = _drop_rule(rows)
    return rows


def _check_characters(form: FileForm) -> None:
    r"""Check that the options `separator` and `quote` are single characters.

    The separator may also be "\t" for a tab, and the quotation mark "none" for unquoted cells.

    Args:
        form: Options, of which `separator` and `quote` are checked; None is accepted for both.

    Raises:
        OptionError: If an option has another number of characters.
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
    """Find the character that separates the cells of a table, from an option or the first lines.

    Args:
        path: The file.
        encoding: The encoding of the file.
        form: Options on how the file is read, perhaps with the separator.
        default: The likeliest separator, which is tried first.
    """
    lines = _read_first_lines(path, encoding)
    first_line = lines[0] if lines else ""
    # Excel may write a line "sep=;" in front of the table.
    declaration = _DECLARATION.fullmatch(first_line)
    n_lines = 0 if declaration is None else 1
    if form.separator is not None:
        # On a command line, a tab is typed as a backslash and a "t".
        return Separator(form.separator.replace("\\t", "\t"), n_lines, is_certain=True)
    if declaration is not None:
        return Separator(declaration[1], n_lines, is_certain=True)

    candidates = dict.fromkeys(default + SEPARATORS)
    for character in candidates:
        if _has_equal_rows(lines, character):
            return Separator(character, n_lines, is_certain=True)
    # No separator leads to rows of equal length. The reader will report the first row that differs.
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
    # A cell is longer than the limit of the csv module.
    except csv.Error:
        return False
    # The last row may be incomplete, because a quoted cell may continue after the sample.
    if len(lines) == N_SAMPLE_LINES:
        rows = rows[:-1]
    widths = set(map(len, rows))
    return len(widths) == 1 and max(widths) > 1


# ------------------------------------------------------------------------------- quotation marks


def _get_quote(form: FileForm) -> str:
    """Return the quotation mark around cells; "" if cells are not quoted."""
    if form.quote is None or form.quote == "none":
        return ""
    return form.quote


def _has_quoted_cells(path: Path, form: FileForm, source_name: str) -> bool:
    """Return whether the cells of a tsv file are quoted.

    In few files they are, and a text may begin with a quotation mark. Two conditions have to be true: if
    cells are read as quoted, all rows have the same number of cells; and the file has another sign of
    quoted cells, see `_has_sign_of_quotes`.

    Args:
        path: The file.
        form: Options on how the file is read, with its encoding and separator.
        source_name: Name of the file, for error messages.
    """
    if not contains_bytes(path, b'"'):
        return False
    widths = _list_quoted_widths(path, form, source_name)
    if len(widths) != 1 or widths == {1}:
        return False
    return _has_sign_of_quotes(path, form)


def _has_sign_of_quotes(path: Path, form: FileForm) -> bool:
    """Return whether a tsv file has a sign that its cells are quoted.

    There are four signs: the file is in UTF-16, like those of Excel; the first heading is quoted, as R
    does it; rows differ in their number of separators; or quotation marks within a quoted cell are
    doubled.

    Args:
        path: The file.
        form: Options on how the file is read, with its encoding and separator.
    """
    separator = str(form.separator)
    escaped = re.escape(separator)
    # A quoted heading is followed by a separator or the end of the line.
    quoted_heading = re.compile(f'"[^{escaped}"]+"({escaped}|$)')
    # A quoted cell with a doubled quotation mark that is not at its end, as in "say ""yes"" twice".
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
    """Return the distinct numbers of cells per row if cells are read as quoted.

    Args:
        path: The file.
        form: Options on how the file is read, with its encoding and separator.
        source_name: Name of the file, for error messages.

    Returns:
        The numbers; an empty set if text follows a closed quotation mark, which is invalid.
    """
    rows = _iterate_rows(path, form.replace(quote='"'), source_name, is_strict=True)
    try:
        return {len(row) for row in rows if row}
    # In strict mode, text after a closed quotation mark is an error.
    except csv.Error:
        return set()


def _has_escaped_quotes(path: Path, quote: str, form: FileForm, source_name: str) -> bool:
    r"""Return whether quotation marks within cells are escaped by a backslash, instead of doubled."""
    # Few files have a backslash, and searching for one byte is several times faster than for two.
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
    """Yield the rows of a table, read by Python's csv module.

    Args:
        path: The file.
        form: Options on how the file is read: its encoding, separator and quotation mark.
        source_name: Name of the file, for error messages.
        is_strict: Whether to raise `csv.Error` for text after a closed quotation mark.
        n_skipped: Number of lines to skip.
        added_lines: Further lines to read after the end of the file.
    """
    quote = _get_quote(form)
    # The limit of the csv module applies to the whole process, and is restored at the end.
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
    """Return the first row of a table that has text, and the number of lines of empty cells above it.

    Tables that were exported from a spreadsheet may begin with rows of empty cells.

    Args:
        path: The file.
        form: Options on how the file is read: its encoding, separator and quotation mark.
        source_name: Name of the file, for error messages.
        n_skipped: The number of lines in front of the table.

    Returns:
        The cells of the row, which are empty if the table has no row, and the number of lines.

    Raises:
        ValueError: If a cell is too long, for example because a quotation mark is never closed.
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
        rows: The rows of a table; an empty list for an empty line.

    Returns:
        The row, and the number of lines that Arrow has to skip in front of it. If no row has text, the first
        row with cells, and 0.
    """
    first_empty_row: list[str] = []
    for n_lines, row in enumerate(rows):
        if any(cell.strip() for cell in row):
            # Arrow skips empty lines by itself, but not lines of only separators.
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
        first_row: The cells of the first row, which are the headings unless an option names the columns.
        column_names: The names from the option; None if the first row has the headings.
        source_name: Name of the table, for error messages.

    Returns:
        The names, with "(column 3)" for an empty heading, and "(2) label" for a repeated one.

    Raises:
        ValueError: If names from the option repeat, or if there are too many columns.
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
    """Read all rows of a table with Arrow as strings, including the row of headings.

    Args:
        path: The file.
        form: Options on how the file is read: its encoding, separator and quotation mark.
        names: The names of the columns.
        n_skipped: The number of lines in front of the headings.
        source_name: Name of the file, for error messages.

    Raises:
        OptionError: If the number of cells of a row differs from the number of columns.
        ValueError: If the file cannot be read.
    """
    quote = _get_quote(form)
    encoding = str(form.encoding)
    escapes = _has_escaped_quotes(path, quote, form, source_name)
    read_options = pa.csv.ReadOptions(
        column_names=names,
        block_size=ARROW_BLOCK_BYTES,
        skip_rows=n_skipped,
        encoding=encoding.replace("utf-8-sig", "utf8"),
        # With several threads, Arrow does not report the number of an invalid row.
        use_threads=False,
    )
    parse_options = pa.csv.ParseOptions(
        delimiter=form.separator,
        quote_char=quote or False,
        escape_char="\\" if escapes else False,
        newlines_in_values=bool(quote),
    )
    # All cells remain strings, including "NA" and empty cells.
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
        raise _make_parsing_error(error, path, form, names, source_name) from None


def _make_parsing_error(
    error: Exception, path: Path, form: FileForm, names: list[str], source_name: str
) -> ValueError:
    """Return the error for a table that Arrow cannot parse, with the invalid row if Arrow reports it.

    Args:
        error: The error of Arrow.
        path: The file.
        form: Options by which the file was read: its names of columns, separator and quotation mark.
        names: The names of the columns.
        source_name: Name of the file, for error messages.
    """
    match = _INVALID_ROW.search(str(error))
    if match is None:
        return ValueError(
            f"Expected a table in {source_name}, but it cannot be read: {short_reason(error)}."
        )
    number, n_cells, row_text = match.groups()
    quote = _get_quote(form)
    # With an odd number of quotation marks, one is open, and its cell contains the lines below it.
    is_open = quote and row_text.count(quote) % 2 == 1
    # Arrow reports only the beginning of a long row, in which a closed cell looks open.
    if is_open and row_text.endswith(_CUT):
        is_open = _is_last_cell_open(path, form, source_name)
    if is_open:
        return _make_open_quote_error(source_name)
    # Arrow counts rows from 1, and includes the row of headings.
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
    """Check that no cell is longer than `MAX_CELL_CHARACTERS` bytes."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        longest = pc.max(pc.binary_length(column)).as_py() or 0
        cells = f"each cell of the column {name!r} of {source_name}"
        check_at_most(longest, MAX_CELL_CHARACTERS, "bytes", cells)


def _check_last_cell(path: Path, form: FileForm, table: pa.Table, source_name: str) -> None:
    """Check that the last cell of a file is closed, because a cell with an open quotation mark never ends.

    Args:
        path: The file.
        form: Options by which the file was read: its encoding, separator and quotation mark.
        table: The rows of the file.
        source_name: Name of the file, for error messages.

    Raises:
        ValueError: If the last cell is open.
    """
    quote = _get_quote(form)
    if not quote or not table.num_rows:
        return
    # The last bytes of the file are compared with the last cell, with and without a closing quotation
    # mark. Quotation marks within a cell are doubled in the file.
    text = str(table[-1][-1]).replace(quote, 2 * quote)
    encoding = str(form.encoding).removesuffix("-sig")
    open_cell = f"{quote}{text}".encode(encoding)
    closed_cell = f"{quote}{text}{quote}".encode(encoding)
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - len(closed_cell)))
        end = stream.read()
    if not end.endswith(open_cell) or end == closed_cell:
        return
    # An unquoted cell such as `a"b` may have the same bytes, so that a slower reader has to decide.
    if _is_last_cell_open(path, form, source_name):
        raise _make_open_quote_error(source_name)


def _is_last_cell_open(path: Path, form: FileForm, source_name: str) -> bool:
    """Return whether the last cell of a file is quoted and never closed.

    If it is open, a line that is added to the file becomes a part of the cell, and not a separate row.

    Args:
        path: The file.
        form: Options by which the file was read: its encoding, separator and quotation mark.
        source_name: Name of the file, for error messages.
    """
    rows = _iterate_rows(path, form, source_name, added_lines=("\n", "end\n"))
    try:
        last_row = deque(rows, maxlen=1).pop()
    # With the added lines, an open cell may exceed the limit of the csv module.
    except csv.Error:
        return True
    return last_row != ["end"]


def _drop_empty_rows(table: pa.Table) -> pa.Table:
    """Drop rows whose cells are all empty, which spreadsheets may write below a table."""
    # In a table of one column, an empty cell is a value, and not the end of the table.
    if table.num_columns < 2:
        return table
    is_empty = pc.equal(table.column(0), "")
    for column in table.columns[1:]:
        is_empty = pc.and_(is_empty, pc.equal(column, ""))
    if not pc.any(is_empty).as_py():
        return table
    return table.filter(pc.invert(is_empty))


def _drop_rule(rows: pa.Table) -> pa.Table:
    """Drop the line that separates the headings from the rows in a table of Markdown.

    Args:
        rows: The rows below the headings.
    """
    if len(rows) == 0:
        return rows
    cells = [column[0].as_py().strip() for column in rows.columns]
    filled_cells = [cell for cell in cells if cell]
    # A single column of dashes may be a text.
    if len(filled_cells) < 2 or not all(map(_RULE.fullmatch, filled_cells)):
        return rows
    return rows.slice(1)


def _check_repeated_heading(rows: pa.Table, heading: list[str], source_name: str) -> None:
    """Check that no row repeats the headings, as in a file that was concatenated from several.

    Args:
        rows: The rows below the headings.
        heading: The cells of the row of headings.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If a row repeats the headings.
    """
    # In a table of one column, a cell may equal the heading by accident.
    if len(heading) < 2:
        return
    # Only rows that repeat the first heading have to be compared as a whole.
    candidates = np.flatnonzero(pc.equal(rows[0], heading[0]).to_numpy())
    for row in candidates.tolist():
        cells: list[Any] = [str(column[row]) for column in rows.columns]
        if cells == heading:
            raise ValueError(
                f"Expected items below the headings of {source_name}, but row {row} repeats the "
                "headings. Delete this row."
            )

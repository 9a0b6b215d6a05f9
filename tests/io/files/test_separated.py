"""Tables of separated cells: separators, quotation marks, headings and invalid rows."""

from __future__ import annotations

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.files.separated import (
    N_SAMPLE_LINES,
    find_separator,
    read_separated,
)
from rightreasons.io.options import FileForm


def read(path, text, suffix=".csv", **form):
    """Write a file, and return its cells by column."""
    file = path / f"table{suffix}"
    file.write_bytes(text.encode(form.get("encoding") or "utf-8"))
    return read_separated(file, FileForm(**form), "the file", suffix).to_pydict()


@pytest.mark.parametrize(
    ("text", "character", "is_certain", "n_lines"),
    [
        ("a,b\n1,2\n", ",", True, 0),
        ("a;b\n1,5;2\n3;4\n", ";", True, 0),
        ("a\tb\n1\t2\n", "\t", True, 0),
        ("a|b\n1|2\n", "|", True, 0),
        ("sep=^\na^b\n", "^", True, 1),
        # Commas and semicolons divide all rows equally: the comma is the likelier separator.
        ("a,b;c\n1,2;3\n", ",", True, 0),
        # No separator divides all rows equally.
        ("a;b\n1;2;3\n", ";", False, 0),
        ("a\n1,2\n", ",", False, 0),
        ("a\n1\n", ",", False, 0),
        ("", ",", False, 0),
    ],
)
def test_the_separator_divides_all_rows_equally(tmp_path, text, character, is_certain, n_lines):
    file = tmp_path / "table.csv"
    file.write_text(text)

    separator = find_separator(file, "utf-8", FileForm(), default=",")

    assert separator == (type(separator))(character, n_lines, is_certain)


def test_an_option_precedes_the_declaration_of_the_separator(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("sep=;\na\tb\n")

    separator = find_separator(file, "utf-8", FileForm(separator="\\t"), default=",")

    assert (separator.character, separator.n_lines, separator.is_certain) == ("\t", 1, True)
    assert find_separator(file, "utf-8", FileForm(), default=",").character == ";"


@pytest.mark.parametrize(
    ("n_lines", "character"), [(N_SAMPLE_LINES, ","), (N_SAMPLE_LINES - 1, ";")]
)
def test_the_last_row_of_a_sample_may_be_incomplete(tmp_path, n_lines, character):
    # The last line has one cell more than the other ones.
    file = tmp_path / "table.csv"
    file.write_text("a,b;c\n" * (n_lines - 1) + "1,2,3;4\n")

    assert find_separator(file, "utf-8", FileForm(), default=",").character == character


@pytest.mark.parametrize(
    ("text", "form", "columns"),
    [
        ("a,b\n007,NA\n,\n", {}, {"a": ["007"], "b": ["NA"]}),
        # In a single column, an empty cell is a value.
        ('a\nx\n""\ny\n', {}, {"a": ["x", "", "y"]}),
        ("a,b\nx,\n,y\n", {}, {"a": ["x", ""], "b": ["", "y"]}),
        ("a,a,\n1,2,3\n", {}, {"a": ["1"], "(2) a": ["2"], "(column 3)": ["3"]}),
        (",\n,\na,b\n1,2\n", {}, {"a": ["1"], "b": ["2"]}),
        ("\n\na,b\n1,2\n", {}, {"a": ["1"], "b": ["2"]}),
        ("1,2\n", {"column_names": ("x", "y")}, {"x": ["1"], "y": ["2"]}),
        ("'a';'b'\n'1;2';'3'\n", {"quote": "'"}, {"a": ["1;2"], "b": ["3"]}),
        ('a,b\n"x""y",2\n', {}, {"a": ['x"y'], "b": ["2"]}),
        ('a,b\n"x\\"y",2\n', {}, {"a": ['x"y'], "b": ["2"]}),
        ('a,b\n"x,2\n', {"quote": "none"}, {"a": ['"x'], "b": ["2"]}),
        ("", {}, {}),
        # The same row as the headings is data in a table of one column.
        ("a\na\n", {}, {"a": ["a"]}),
    ],
)
def test_cells_are_strings(tmp_path, text, form, columns):
    assert read(tmp_path, text, **form) == columns


@pytest.mark.parametrize(
    ("text", "first_cell"),
    [
        # Quoted: the first heading, a doubled quotation mark, or a separator in a cell.
        ('"a"\tb\n"x"\t2\n', "x"),
        ('a\tb\n"x ""y"" z"\t2\n', 'x "y" z'),
        ('a\tb\n"x\ty"\t2\n', "x\ty"),
        # Not quoted: a text may begin with a quotation mark, or rows would be of unequal lengths.
        ('a\tb\n"x"\t2\n', '"x"'),
        ('a\tb\n"x\t2\n', '"x'),
        ("a\tb\nx\t2\n", "x"),
    ],
)
def test_a_tsv_file_needs_a_sign_of_quoted_cells(tmp_path, text, first_cell):
    assert read(tmp_path, text, ".tsv")["a"] == [first_cell]


@pytest.mark.parametrize(
    ("text", "form", "word", "option"),
    [
        ("a,b\n1,2\n1,2,3\n", {}, "row 1 has 3", ("separator", "quote")),
        ("1,2\n1,2,3\n", {"column_names": ("x", "y")}, "row 1 has 3", ("separator", "quote")),
        # A title above the headings has fewer cells.
        ("Title\na,b\n1,2\n", {}, "above the headings", ("separator", "quote")),
        ("a,b\n1,2,3\n", {}, "above the headings", ("separator", "quote")),
        ("a,b\n1,2\n", {"separator": ",,"}, "one character", ("separator",)),
        ("a,b\n1,2\n", {"quote": "''"}, "one character", ("quote",)),
    ],
)
def test_invalid_rows_and_options_are_refused(tmp_path, text, form, word, option):
    with pytest.raises(OptionError, match=word) as error:
        read(tmp_path, text, **form)
    assert error.value.option == option


def test_a_later_row_of_another_length_is_not_a_title(tmp_path):
    with pytest.raises(OptionError) as error:
        read(tmp_path, "a,b\n1,2\n1,2,3\n")

    assert "above the headings" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('a,b\n1,"open\n', "still open"),
        ('a,b\n1,"open\n1,2\n', "still open"),
        ("a,b\n1,2\na,b\n", "row 1 repeats"),
    ],
)
def test_open_cells_and_repeated_headings_are_refused(tmp_path, text, word):
    with pytest.raises(ValueError, match=word):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text", ['a,b\n1,x"y\n', 'a,b\n1,"closed"\n', 'a,b\n1,"x"""', "a,b\na,c\n"]
)
def test_closed_cells_are_accepted(tmp_path, text):
    assert len(read(tmp_path, text)["a"]) == 1

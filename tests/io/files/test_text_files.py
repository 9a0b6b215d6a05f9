"""Encodings of text files, and limits of their lines."""

from __future__ import annotations

import io

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.files import text_files
from rightreasons.io.files.text_files import contains_bytes, find_encoding, iterate_lines


def find(path, content, encoding=None, **options):
    file = path / "text.txt"
    file.write_bytes(content)
    return find_encoding(file, "the file", encoding, **options)


@pytest.mark.parametrize(
    ("content", "encoding", "expected"),
    [
        ("é".encode(), None, "utf-8-sig"),
        ("é".encode("utf-16"), None, "utf-16"),
        (b"", None, "utf-8-sig"),
        ("é".encode("latin-1"), "latin-1", "latin-1"),
        # An option precedes the mark of the byte order.
        ("é".encode("utf-16"), "utf-16-le", "utf-16-le"),
    ],
)
def test_the_encoding_of_a_file(tmp_path, content, encoding, expected):
    assert find(tmp_path, content, encoding) == expected


def test_a_spreadsheet_is_read_as_cp1252_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="cp1252"):
        assert find(tmp_path, "café".encode("cp1252")) == "cp1252"


@pytest.mark.parametrize(
    ("content", "options", "word"),
    [
        (b"entr\xe9e", {"can_be_cp1252": False}, "bytes are invalid"),
        (b"entr\xe9e", {"encoding": "ascii"}, "ascii text"),
        (b"entr\xe9e\x01", {}, "bytes are invalid"),
        # cp1252 has no character with this number.
        (b"entr\xe9e\x81", {}, "bytes are invalid"),
        ("ab".encode("utf-16-le"), {}, "NUL"),
        (b"ab", {"encoding": "nonsense"}, "nonsense"),
    ],
)
def test_bytes_of_another_encoding_are_refused(tmp_path, content, options, word):
    with pytest.raises(OptionError, match=word) as error:
        find(tmp_path, content, **options)
    assert error.value.option == ("encoding",)


def test_bytes_are_found_also_at_the_beginning(tmp_path):
    file = tmp_path / "text.txt"
    file.write_bytes(b"abc")
    empty = tmp_path / "empty.txt"
    empty.touch()

    assert contains_bytes(file, b"a")
    assert contains_bytes(file, b"bc")
    assert not contains_bytes(file, b"d")
    assert not contains_bytes(empty, b"a")


def test_a_line_of_the_largest_length_is_read_and_a_longer_one_is_not(monkeypatch):
    monkeypatch.setattr(text_files, "MAX_LINE_CHARACTERS", 4)

    # The end of the line counts.
    assert list(iterate_lines(io.StringIO("abc\nab\n"), "the file")) == ["abc\n", "ab\n"]
    with pytest.raises(ValueError, match="line 2"):
        list(iterate_lines(io.StringIO("abc\nabcd\n"), "the file"))

"""Sentences quote what somebody handed in: in one line, and not endless."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from rightreasons.core.errors import format_error, is_user_error
from rightreasons.core.sentences import MAX_MESSAGE_CHARS
from rightreasons.core.validation import check_kind


def test_what_a_sentence_quotes_is_one_line_and_not_endless():
    told = format_error(ValueError("Expected a column, but got a\nb\u202e."))
    assert told == r"Expected a column, but got a\nb\u202e."
    assert (
        len(format_error(ValueError(f"Expected a column, but got {'x' * 100_000}.")))
        == MAX_MESSAGE_CHARS
    )


def test_errors_of_the_operating_system_are_sentences(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        tmp_path.read_text("utf-8")
    assert (
        format_error(caught.value) == f"Expected access to '{tmp_path}', but got: is a directory."
    )


def test_kinds():
    check_kind("a", "text", str)
    check_kind(None, "text", str | None)
    check_kind(Path("a"), "path", str | os.PathLike)
    check_kind(5, "n", int | None)
    with pytest.raises(
        TypeError, match=r"^Expected `path` to be a text or a path, but got 5 \(int\)\.$"
    ):
        check_kind(5, "path", str | os.PathLike[str])
    with pytest.raises(
        TypeError, match=r"^Expected `options` to be a mapping, but got \[1\] \(list\)\.$"
    ):
        check_kind([1], "options", dict[str, int] | None)


def test_an_error_of_the_network_is_none_of_ours():
    error = httpx.ConnectError("[Errno -2] Name or service not known")
    assert is_user_error(error)
    assert format_error(error) == (
        "Expected an answer from the network, but got ConnectError: [Errno -2] Name or service not known."
    )
    assert not is_user_error(KeyError("text"))

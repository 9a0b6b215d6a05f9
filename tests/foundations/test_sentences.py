"""Sentences quote what somebody handed in: in one line, and not endless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from rightreasons.analysis.intervals import Interval
from rightreasons.foundations.sentences import LONGEST, checks_kinds, in_one_sentence, is_expected


def test_what_a_sentence_quotes_is_one_line_and_not_endless():
    @checks_kinds
    def name(column: str) -> None:
        raise ValueError(f"Expected a column, but got {column}.")

    with pytest.raises(ValueError, match=r"^Expected a column, but got a\\nb\\u202e\.$"):
        name("a\nb\u202e")
    with pytest.raises(ValueError, match="Expected a column, but got x") as caught:
        name("x" * 100_000)
    assert len(str(caught.value)) == LONGEST


def test_paths_where_another_library_exchanges_the_class(monkeypatch, tmp_path):
    @checks_kinds
    def size(path: Path) -> int:
        return len(path.name)

    # datasets.streaming does it to the modules of builders.
    monkeypatch.setitem(globals(), "Path", type("xPath", (Path,), {}))
    assert size(tmp_path / "abc") == 3
    with pytest.raises(TypeError, match="Expected `path` to be a Path, but got 5"):
        size(5)


def test_errors_of_the_operating_system_are_sentences_of_the_same_kind(tmp_path):
    @checks_kinds
    def read(path: Path) -> str:
        return path.read_text("utf-8")

    with pytest.raises(IsADirectoryError, match=f"^Expected access to '{tmp_path}', but got: is a directory.$"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="^Expected access to '.*none', but got: no such file or directory.$"):
        read(tmp_path / "none")


def test_what_lists_and_mappings_hold_where_a_hint_names_a_class_of_ours():
    @checks_kinds
    def widths(intervals: Sequence[Interval], *, by_name: Mapping[str, Interval] | None = None) -> int:
        return len(intervals)

    interval = Interval(0.0, 1.0, 0.95, "none", None)
    assert widths([interval], by_name={"a": interval}) == 1
    with pytest.raises(TypeError, match=r"Expected `intervals` to be a list of Interval, but got \[5\]"):
        widths([5])
    with pytest.raises(TypeError, match="Expected `by_name` to be a mapping of Interval, but got"):
        widths([], by_name={"a": 5})


def test_an_error_of_the_network_is_none_of_ours():
    error = httpx.ConnectError("[Errno -2] Name or service not known")
    assert is_expected(error)
    assert in_one_sentence(error) == (
        "Expected an answer from the network, but got ConnectError: [Errno -2] Name or service not known."
    )
    assert not is_expected(KeyError("text"))

"""Sentences quote what somebody handed in: in one line, and not endless."""

from __future__ import annotations

import pytest

from rightreasons.foundations.sentences import LONGEST, checks_kinds


def test_what_a_sentence_quotes_is_one_line_and_not_endless():
    @checks_kinds
    def name(column: str) -> None:
        raise ValueError(f"Expected a column, but got {column}.")

    with pytest.raises(ValueError, match=r"^Expected a column, but got a\\nb\\u202e\.$"):
        name("a\nb\u202e")
    with pytest.raises(ValueError, match="Expected a column, but got x") as caught:
        name("x" * 100_000)
    assert len(str(caught.value)) == LONGEST

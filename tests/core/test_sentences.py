"""Messages quote what somebody handed in: in one line, of bounded length."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.core.sentences import (
    add_article,
    escape_name,
    format_value,
    pluralize,
    suggest_similar_names,
)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 items"), (1, "1 item"), (2, "2 items"), (1_000_000, "1,000,000 items")],
)
def test_only_one_is_singular(count, expected):
    assert pluralize(count, "item") == expected


def test_an_irregular_plural_is_given():
    assert pluralize(1, "text was", "texts were") == "1 text was"
    assert pluralize(2, "text was", "texts were") == "2 texts were"


def test_a_name_is_escaped_only_if_it_is_not_printable():
    assert escape_name("é漢") == "é漢"
    assert escape_name("é\n漢\u200b") == r"é\n漢\u200b"


def test_the_length_of_a_quoted_value_is_exact():
    assert escape_name("x" * 80) == "x" * 80
    assert escape_name("x" * 81) == "x" * 79 + "…"
    # Two of the characters are quotes.
    assert format_value("x" * 78) == repr("x" * 78)
    assert format_value("x" * 79) == repr("x" * 79)[:79] + "…"


def test_a_long_table_is_described_by_type_and_shape():
    assert format_value(np.ones((1000, 2, 3))) == "an ndarray of 1,000 × 2 × 3"
    # A vector begins as its values do.
    assert format_value(np.arange(1000)).startswith("array([ 0, 1")
    assert format_value(np.ones((1, 2))) == "array([[1., 1.]])"


def test_a_value_that_cannot_be_printed_is_described_by_its_type():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert format_value(Broken()) == "an object of Broken"


@pytest.mark.parametrize("noun", ["array", "Estimator", "index", "option", "unit", "ndarray"])
def test_nouns_that_begin_with_a_vowel_sound_have_an(noun):
    assert add_article(noun) == f"an {noun}"


@pytest.mark.parametrize("noun", ["list", "node", "Tensor"])
def test_other_nouns_have_a(noun):
    assert add_article(noun) == f"a {noun}"


def test_similar_names_are_suggested_and_others_are_not():
    names = ["calibration", "calibrated", "shortcuts"]

    assert suggest_similar_names("calibratoin", names) == " Did you mean 'calibration'?"
    assert suggest_similar_names("calibratio", names, n=2) == (
        " Did you mean 'calibration' or 'calibrated'?"
    )
    assert suggest_similar_names("zzz", names) == ""
    # 2 · 2 common letters of 8 are exactly the least similarity of 0.5; 2 · 2 of 9 are less.
    assert suggest_similar_names("abxx", ["abyy"]) == " Did you mean 'abyy'?"
    assert suggest_similar_names("abxx", ["abyyy"]) == ""

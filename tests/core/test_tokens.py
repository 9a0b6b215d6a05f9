"""Categories of tokens."""

import itertools

import numpy as np
import pytest

from rightreasons.core.tokens import (
    CATEGORIES,
    FUNCTION_WORDS,
    STOP_WORDS,
    assign_categories,
    find_piece_style,
    is_punctuation,
    split_words,
    strip_marks,
)


def categorize(tokens, **options):
    """Return the category of every token of every text."""
    pieces = [piece for row in tokens for piece in row]
    offsets = np.cumsum([0, *map(len, tokens)])
    codes = assign_categories(np.arange(len(pieces)), offsets, pieces, **options)
    return [[CATEGORIES[code] for code in codes[a:b]] for a, b in itertools.pairwise(offsets)]


def test_words_are_the_ones_bert_splits():
    assert split_words("Isn't 3.5% of U.S. films well-known?") == [
        *(
            "isn",
            "'",
            "t",
            "3",
            ".",
            "5",
            "%",
            "of",
            "u",
            ".",
            "s",
            ".",
            "films",
            "well",
            "-",
            "known",
            "?",
        )
    ]


def test_words_of_scripts_without_spaces_or_with_vowel_signs():
    assert split_words("我爱 film电影。") == ["我", "爱", "film", "电", "影", "。"]
    assert split_words("अच्छी फिल्म, می‌خواهم e\u0301!") == [
        "अच्छी",
        "फिल्म",
        ",",
        "می‌خواهم",
        "e\u0301",
        "!",
    ]


def test_every_category_of_word_pieces():
    row = ["the", "unwatch", "##able", "2021", "3,000", ",", "$", "don", "'", "t", "##s", "##."]
    assert categorize([row], style="wordpiece") == [
        [
            *("stop_word", "lexical", "sub_word", "number", "number", "punctuation", "punctuation"),
            *("stop_word", "punctuation", "stop_word", "sub_word", "punctuation"),
        ]
    ]


@pytest.mark.parametrize(("style", "mark"), [("byte_level", "Ġ"), ("metaspace", "▁")])
def test_pieces_without_the_mark_of_a_space_are_sub_words_unless_first_or_after_punctuation(
    style, mark
):
    row = [
        "Un",
        "real",
        f"{mark}plot",
        f"{mark}of",
        f"{mark}well",
        "-",
        "known",
        "s",
        f"{mark}1999",
        ".",
    ]
    assert categorize([row], style=style) == [
        [
            *("lexical", "sub_word", "lexical", "stop_word", "lexical"),
            *("punctuation", "lexical", "sub_word", "number", "punctuation"),
        ]
    ]


def test_the_first_piece_of_each_text_begins_a_word_also_after_an_empty_text():
    assert categorize([["film", "s"], [], ["film"]], style="byte_level") == [
        ["lexical", "sub_word"],
        [],
        ["lexical"],
    ]
    assert categorize([["watch"], [], ["able"], []], style="byte_level") == [
        ["lexical"],
        [],
        ["lexical"],
        [],
    ]


@pytest.mark.parametrize(
    ("style", "row", "expected"),
    [
        # Numbers are words, "..." is no punctuation, "The" is no stop word.
        ("wordpiece", ["[CLS]", "the", "The", "2021", "##s", "##.", "#", "...", "!"],
         "lexical stop_word lexical lexical sub_word sub_word punctuation lexical punctuation"),
        # The first of all is whole; "known" after a mark, and "</s>", are pieces.
        ("byte_level", ["<s>", "Un", "Ġthe", "ĠThe", "Ġwell", "-", "known", "Ġ(", "Ġ", "</s>"],
         "lexical sub_word stop_word lexical lexical punctuation sub_word punctuation punctuation sub_word"),
        ("metaspace", ["the", "▁the", "▁film", ".", "s", "▁"],
         "stop_word stop_word lexical sub_word sub_word punctuation"),
        ("word", ["film", "of", "!", "3"], "lexical stop_word punctuation lexical"),
    ],
)  # fmt: skip
def test_kinds_of_the_released_code(style, row, expected):
    assert categorize([row, []], style=style, kinds="bihani2025") == [expected.split(), []]


def test_the_style_of_a_vocabulary():
    assert find_piece_style({"the": 0, "▁film": 1, "##": 2}) == "metaspace"


def test_byte_level_letters_are_read_as_text():
    # U+2019 in UTF-8 is E2 80 99, which a byte-level vocabulary writes as these three letters.
    assert strip_marks("âĢĻ", "byte_level") == "’"
    assert categorize([["Ġit", "âĢĻ", "s", "Ã©"]], style="byte_level") == [
        ["stop_word", "punctuation", "stop_word", "sub_word"]
    ]


def test_a_mark_of_a_space_that_stands_alone_is_no_word():
    assert categorize([["▁", "film"]], style="metaspace") == [["punctuation", "lexical"]]


def test_emoji_are_lexical_and_ascii_symbols_punctuation():
    assert categorize([["😂", "^", "`", "«"]]) == [
        ["lexical", "punctuation", "punctuation", "punctuation"]
    ]
    assert not is_punctuation("")


def test_stop_words_are_lower_case_and_hold_the_usual_ones():
    assert all(word == word.lower() for word in STOP_WORDS)
    assert {"i", "the", "not", "because", "wouldn't", "themselves", "s", "very"} <= STOP_WORDS
    # Words of content that some lists carry are no function words.
    assert not STOP_WORDS & {"good", "bad", "film", "computer", "fire", "system", "happy", "first"}
    assert sum(len(group.split()) for group in FUNCTION_WORDS.values()) >= len(STOP_WORDS)


def test_stop_words_cover_what_stopwordsiso_and_scikit_learn_agree_are_pronouns_and_auxiliaries():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    for group in ("pronouns", "auxiliaries", "conjunctions"):
        known = [word for word in FUNCTION_WORDS[group].split() if word in text.ENGLISH_STOP_WORDS]
        assert len(known) >= 0.7 * len(FUNCTION_WORDS[group].split())


def test_codes_are_positions_in_the_categories():
    codes = assign_categories(np.array([1, 0]), np.array([0, 2]), ["the", "film"])
    assert [CATEGORIES[code] for code in codes] == ["lexical", "stop_word"]


def test_an_unknown_style_is_told_with_the_nearest():
    with pytest.raises(ValueError, match=r"`piece_style`.*'wordpieces'\. Did you mean 'wordpiece'"):
        categorize([["a"]], style="wordpieces")

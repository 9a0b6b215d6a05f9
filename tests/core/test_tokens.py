"""Words of a text, and the category of each token of a tokenizer."""

import itertools

import numpy as np
import pytest
import regex

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


def categorize(texts, **options):
    """Return the category of every token of every text."""
    tokens = [token for text in texts for token in text]
    offsets = np.cumsum([0, *map(len, texts)])
    codes = assign_categories(np.arange(len(tokens)), offsets, tokens, **options)
    rows = []
    for start, end in itertools.pairwise(offsets):
        rows.append([CATEGORIES[code] for code in codes[start:end]])
    return rows


def test_words_are_split_as_by_bert():
    assert split_words("Isn't 3.5% of U.S. films well-known?") == [
        *("isn", "'", "t", "3", ".", "5", "%", "of", "u", ".", "s", "."),
        *("films", "well", "-", "known", "?"),
    ]


def test_an_ideograph_is_a_word():
    assert split_words("我爱 film电影。") == ["我", "爱", "film", "电", "影", "。"]
    # The first and the last of each block, and their neighbors, which are letters or unassigned.
    for ideograph in "\u3400\u4dbf\u4e00\u9fff\uf900\ufad9\U00020000\U0002a6d6":
        assert split_words(f"a{ideograph}b") == ["a", ideograph, "b"]
    assert split_words("aコb") == ["aコb"]


def test_vowel_signs_and_joiners_belong_to_their_word():
    assert split_words("अच्छी फिल्म, می‌خواهم e\u0301!") == [
        *("अच्छी", "फिल्म", ",", "می‌خواهم", "e\u0301", "!"),
    ]
    # The first combining accent, and a word that ends with one.
    assert split_words("a\u0300b c\u0300") == ["a\u0300b", "c\u0300"]


def test_letters_of_scripts_without_spaces_are_those_of_unicode():
    characters = "".join(map(chr, range(0x300, 0x20000)))
    scripts = regex.compile(r"[\p{Line_Break=Complex_Context}\p{Hiragana}\p{Han}--\p{M}]", regex.V1)
    # Letters of unspaced scripts that the pattern joins to a Latin letter.
    joined = [
        letter for letter in scripts.findall(characters) if len(split_words(f"a{letter}")) == 1
    ]

    # The vowels AM of Thai and Lao are signs, and the others are iteration marks and numerals of
    # Han, historic kana, and symbols.
    assert not [letter for letter in joined if "\u0e00" <= letter < "\u2e80" and letter not in "ำຳ"]


@pytest.mark.parametrize("text", ["👨\u200d👩\u200d👧", "👍🏽", "❤️", "🏳️\u200d🌈", "1️⃣", "นี้", "กำ"])
def test_what_a_reader_sees_as_one_sign_is_one_word(text):
    assert regex.findall(r"\X", text) == [text]
    assert split_words(f"a {text}{text}b") in (["a", text, text, "b"], ["a", f"{text}{text}b"])


def test_every_category_of_word_pieces():
    tokens = [
        *("the", "unwatch", "##able", "2021", "3,000", ",", "$", "don", "'", "t", "##s", "##."),
    ]

    assert categorize([tokens], style="wordpiece") == [
        [
            *("stop_word", "lexical", "sub_word", "number", "number", "punctuation"),
            *("punctuation", "stop_word", "punctuation", "stop_word", "sub_word", "punctuation"),
        ]
    ]


def test_two_number_signs_are_punctuation_and_not_an_empty_piece():
    assert categorize([["##", "##s"]], style="wordpiece") == [["punctuation", "sub_word"]]


@pytest.mark.parametrize("token", ["2021", "-5", "+3,000.5", "1:2", "1/2"])
def test_numbers_may_have_signs_and_separators(token):
    assert categorize([[token]]) == [["number"]]


@pytest.mark.parametrize("token", ["2nd", "1..2", "5%", "１a"])
def test_other_tokens_with_digits_are_words(token):
    assert categorize([[token]]) == [["lexical"]]


@pytest.mark.parametrize(("style", "mark"), [("byte_level", "Ġ"), ("metaspace", "▁")])
def test_a_piece_begins_a_word_by_its_mark_or_first_or_after_punctuation(style, mark):
    tokens = ["Un", "real", f"{mark}plot", f"{mark}of", f"{mark}well", "-", "known", "s"]
    tokens += [f"{mark}1999", "."]

    assert categorize([tokens], style=style) == [
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


RELEASED_CASES = {
    # Numbers are words, "..." is not punctuation, and "The" is not a stop word.
    "wordpiece": {
        "[CLS]": "lexical",
        "the": "stop_word",
        "The": "lexical",
        "2021": "lexical",
        "##s": "sub_word",
        "##.": "sub_word",
        "#": "punctuation",
        "...": "lexical",
        "!": "punctuation",
    },
    # The first token of a text is whole. "known" after a mark, and "</s>", are pieces.
    "byte_level": {
        "<s>": "lexical",
        "Un": "sub_word",
        "Ġthe": "stop_word",
        "ĠThe": "lexical",
        "Ġwell": "lexical",
        "-": "punctuation",
        "known": "sub_word",
        "Ġ(": "punctuation",
        "Ġ": "punctuation",
        "</s>": "sub_word",
    },
    "metaspace": {
        "the": "stop_word",
        "▁the": "stop_word",
        "▁film": "lexical",
        ".": "sub_word",
        "s": "sub_word",
        "▁": "punctuation",
    },
    "word": {"film": "lexical", "of": "stop_word", "!": "punctuation", "3": "lexical"},
}


@pytest.mark.parametrize(("style", "cases"), RELEASED_CASES.items())
def test_categories_of_the_released_code(style, cases):
    categories = categorize([[*cases], []], style=style, kinds="bihani2025")

    assert categories == [[*cases.values()], []]


def test_the_released_code_takes_the_first_token_of_each_text_as_a_word():
    categories = categorize([[".", "."], [".", "the"]], style="metaspace", kinds="bihani2025")

    assert categories == [["punctuation", "sub_word"], ["punctuation", "sub_word"]]


@pytest.mark.parametrize(
    ("vocabulary", "style"),
    [
        ({"the": 0, "▁film": 1, "##": 2}, "metaspace"),
        (["the", "##s"], "wordpiece"),
        (["Ġthe", "Ġof", "##s"], "byte_level"),
        # A mark alone does not show a style.
        (["##", "Ġ", "▁"], "word"),
        # As many of both: the first of the known styles.
        (["▁the", "##s"], "wordpiece"),
        ([], "word"),
    ],
)
def test_the_style_of_a_vocabulary_is_that_of_most_marks(vocabulary, style):
    assert find_piece_style(vocabulary) == style


def test_byte_level_letters_are_read_as_text():
    # U+2019 in UTF-8 is E2 80 99, which a byte-level vocabulary writes as these three letters.
    assert strip_marks("âĢĻ", "byte_level") == "’"
    assert categorize([["Ġit", "âĢĻ", "s", "Ã©"]], style="byte_level") == [
        ["stop_word", "punctuation", "stop_word", "sub_word"]
    ]


@pytest.mark.parametrize(
    ("token", "text"),
    [
        # The ends of the ranges of bytes that stand for themselves, and what lies beyond them.
        ("!~", "!~"),
        # C2 A1 (¡), C2 AC (¬), C2 AE (®) and C3 BF (ÿ).
        ("Â¡Â¬Â®Ã¿", "¡¬®ÿ"),
        # Bytes 7F, A0 behind C2, and AD behind C2: the 34th, 67th and 68th other byte.
        ("aġb", "a\x7fb"),
        ("aÂłb", "a\xa0b"),
        ("aÂŃb", "a\xadb"),
        # The first other byte, and the letter behind that of the last one.
        ("aĀb", "a\x00b"),
        ("ańb", "ab"),
        ("Ġthe", "the"),
        # A letter that is not of the alphabet is left out, and half a character is replaced.
        ("a漢b", "ab"),
        ("aâĢ", "a\ufffd"),
    ],
)
def test_every_byte_has_a_letter(token, text):
    assert strip_marks(token, "byte_level") == text


@pytest.mark.parametrize(
    ("token", "style", "text"),
    [
        ("##ing", "wordpiece", "ing"),
        ("##", "wordpiece", "##"),
        ("a##", "wordpiece", "a##"),
        ("▁▁the", "metaspace", "the"),
        ("##▁Ġ", "word", "##▁Ġ"),
    ],
)
def test_marks_are_stripped_in_their_own_style(token, style, text):
    assert strip_marks(token, style) == text


def test_a_mark_alone_is_not_a_word():
    assert categorize([["▁", "film"]], style="metaspace") == [["punctuation", "lexical"]]


def test_emoji_are_lexical_and_ascii_symbols_punctuation():
    assert categorize([["😂", "^", "`", "«"]]) == [
        ["lexical", "punctuation", "punctuation", "punctuation"]
    ]


@pytest.mark.parametrize("text", ["...", "$", "^`", "«»", "。", "+"])
def test_punctuation_and_ascii_symbols(text):
    assert is_punctuation(text)


@pytest.mark.parametrize("text", ["", "a", "5", "a.", ".a", "€", "\n", "\x7f", "😂"])
def test_other_texts_are_not_punctuation(text):
    assert not is_punctuation(text)


def test_stop_words_are_lower_case_function_words():
    assert all(word == word.lower() for word in STOP_WORDS)
    usual = {"i", "the", "not", "because", "wouldn't", "themselves", "s", "very"}
    assert usual <= STOP_WORDS
    # Content words that some lists contain.
    content = {"good", "bad", "film", "computer", "fire", "system", "happy", "first"}
    assert not STOP_WORDS & content
    assert sum(len(group.split()) for group in FUNCTION_WORDS.values()) >= len(STOP_WORDS)


@pytest.mark.parametrize("group", ["pronouns", "auxiliaries", "conjunctions"])
def test_most_function_words_are_stop_words_of_scikit_learn(group):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    words = FUNCTION_WORDS[group].split()

    shared = [word for word in words if word in text.ENGLISH_STOP_WORDS]

    assert len(shared) >= 0.7 * len(words)


def test_codes_follow_the_ids_and_not_the_vocabulary():
    codes = assign_categories(np.array([1, 0]), np.array([0, 2]), ["the", "film"])

    assert [CATEGORIES[code] for code in codes] == ["lexical", "stop_word"]
    assert codes.dtype == np.int8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"style": "wordpieces"}, "`piece_style`.*Did you mean 'wordpiece'"),
        ({"kinds": "bihani"}, "`kinds`.*Did you mean 'bihani2025'"),
    ],
)
def test_unknown_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        categorize([["a"]], **options)

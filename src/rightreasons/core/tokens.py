"""Words of a text, and categories of tokens: words, function words, pieces, punctuation, numbers.

`split_words` defines a word for every word-level statistic of this package. `assign_categories`
gives each token of a tokenizer one of `CATEGORIES`, by the rules of this package or by those of the
code that Bihani and Rayz (2025) released.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.choices import TOKEN_KINDS
from rightreasons.core.validation import check_one_of

# Letters of scripts that are written without spaces, each of which is a word: ideographs, hiragana,
# and those of Thai, Lao, Burmese, Khmer and related scripts (Unicode: Line_Break=Complex_Context).
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u3096\u309d-\u309f"
_SOUTHEAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u19de\u19df\u1a20-\u1a7c\u1aa0-\u1aad"
    "\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaac2\uaadb-\uaadf\U00011700-\U0001172b\U0001173a-\U00011746"
)
_UNSPACED = _IDEOGRAPHS + _HIRAGANA + _SOUTHEAST_ASIAN
_LETTERS = rf"[^\W{_UNSPACED}]"

# What follows a letter or a mark belongs to it: vowel signs of Indic scripts, combining accents,
# joiners, variation selectors, skin tones and the letters of regional flags. \w does not match
# them, but for the vowels AM of Thai and Lao.
_SIGN_CATEGORIES = ("Mn", "Mc", "Me")
_SIGNS = "\u200c\u200d\u0e33\u0eb3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f" + "".join(
    chr(code)
    for code in range(0x300, 0x10000)
    if unicodedata.category(chr(code)) in _SIGN_CATEGORIES
)
# Two of these letters are the flag of a country.
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_MARK = rf"(?:[^\w\s{_FLAG_LETTERS}]|[{_UNSPACED}])"

WORD_PATTERN = re.compile(
    rf"{_LETTERS}+(?:[{_SIGNS}]+{_LETTERS}*)*"
    rf"|{_MARK}[{_SIGNS}]*(?:(?<=\u200d){_MARK}[{_SIGNS}]*)*"
    rf"|[{_FLAG_LETTERS}]{{1,2}}[{_SIGNS}]*"
)
"""Pattern of one word, one letter of a script without spaces, one punctuation mark, or one emoji.

Texts are split as by BERT. A word consists of letters with their vowel signs, digits and
underscores. Scripts without spaces have no such borders, so that each of their letters, with its
signs, counts as a word. An emoji includes its skin tone, and the emoji that are joined to it.
"""

PIECE_STYLES = ("word", "wordpiece", "byte_level", "metaspace")
"""How tokens mark the beginning of a word.

- "word": every token is a whole word.
- "wordpiece": a piece that continues a word starts with "##" (BERT, DistilBERT, ELECTRA).
- "byte_level": a piece after a space starts with "Ġ" (RoBERTa, BART, GPT-2).
- "metaspace": a piece after a space starts with "▁" (ALBERT, DeBERTa-v2 and v3, XLM-R, T5).
"""

CATEGORIES = ("lexical", "stop_word", "punctuation", "sub_word", "number")
"""Categories of tokens. Each token has exactly one."""

GRAMMAR_CATEGORIES = ("stop_word", "punctuation", "sub_word")
"""Categories without lexical meaning (Bihani and Rayz 2025, section 2.2). Numbers are lexical."""

_LEXICAL = CATEGORIES.index("lexical")
_STOP_WORD = CATEGORIES.index("stop_word")
_PUNCTUATION = CATEGORIES.index("punctuation")
_SUB_WORD = CATEGORIES.index("sub_word")
_NUMBER = CATEGORIES.index("number")

FUNCTION_WORDS: Mapping[str, str] = json.loads(
    Path(__file__).with_name("function_words.json").read_text("utf-8")
)
"""Closed word classes of English, by part of speech.

The list was compiled for this package from the classes of a grammar (Apache-2.0, as the package).
It takes the place of NLTK's list of stop words, which the paper uses; `shortcut_reliance` takes
that one with stop_words="nltk". Contractions such as "don't" are listed whole, and in the pieces that word
splitters make of them.
"""

STOP_WORDS: frozenset[str] = frozenset(
    word for words in FUNCTION_WORDS.values() for word in words.split()
)
"""Function words of English in lower case. See `FUNCTION_WORDS`."""

_CONTINUATION_MARK = "##"
_SPACE_MARKS = {"byte_level": "Ġ", "metaspace": "▁"}
_NUMBER_PATTERN = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*")


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words, single punctuation marks and emoji.

    Args:
        text: Any text.

    Returns:
        The matches of `WORD_PATTERN` in the lower-case text, in order.

    Example:
        >>> split_words("It's GOOD, isn't it?")
        ['it', "'", 's', 'good', ',', 'isn', "'", 't', 'it', '?']
    """
    return WORD_PATTERN.findall(text.lower())


def assign_categories(
    ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    vocabulary: Sequence[str],
    *,
    style: str = "word",
    kinds: str = "rightreasons",
    stop_words: Collection[str] = STOP_WORDS,
) -> NDArray[np.int8]:
    """Return the category of every token, as an index into `CATEGORIES`.

    A token has the first category that applies: punctuation (all characters are punctuation or
    ASCII symbols), sub-word (a piece that does not begin a word), number, stop word, lexical. A
    piece begins a word if the mark of its style says so, if it is the first of its text, or if it
    follows punctuation. The last rule makes "known" in "well-known" a word in every style, as BERT
    does.

    kinds="bihani2025" follows the code that the paper released: punctuation, then stop word (case
    matters), then sub-word, else lexical. It differs in several ways:

    - There are no numbers.
    - Punctuation is what occurs in `string.punctuation`, so "..." is not punctuation.
    - With "##", a piece is a sub-word, whatever comes before it.
    - With "Ġ" or "▁", a piece without the mark is a sub-word, even after punctuation, unless it is
      the first token of its text (special tokens included).
    - With "▁", punctuation without the mark is a sub-word.

    The code also handles the tokens [CLS] and [SEP] separately. They are never in the head of a
    distribution, so this makes no difference.

    Args:
        ids: (total,) indices into `vocabulary` of the tokens of all texts, text by text.
        offsets: (N + 1,) position of the first token of each text, and the total.
        vocabulary: The distinct tokens.
        style: How tokens mark the beginning of a word, one of `PIECE_STYLES`. Defaults to "word".
        kinds: "rightreasons" (default) or "bihani2025".
        stop_words: Stop words in lower case. Defaults to `STOP_WORDS`.

    Returns:
        (total,) indices into `CATEGORIES`.

    Raises:
        ValueError: If `style` or `kinds` is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2; Du et al. 2021, section 2.1
        (stop words, punctuation and numbers fill the head of the distribution).

    Example:
        >>> pieces = ["the", "film", "##s", "2021", "!"]
        >>> codes = assign_categories(np.arange(5), np.array([0, 5]), pieces, style="wordpiece")
        >>> [CATEGORIES[code] for code in codes]
        ['stop_word', 'lexical', 'sub_word', 'number', 'punctuation']
    """
    check_one_of(style, PIECE_STYLES, "piece_style")
    check_one_of(kinds, TOKEN_KINDS, "kinds")
    if kinds == "bihani2025":
        return _assign_released_categories(ids, offsets, vocabulary, style, stop_words)

    # Each distinct token is classified once. Word beginnings depend on the neighbors of a token, and
    # are found afterwards.
    n_tokens = len(vocabulary)
    is_punctuation_type = np.zeros(n_tokens, dtype=np.bool_)
    is_number_type = np.zeros(n_tokens, dtype=np.bool_)
    is_stop_word_type = np.zeros(n_tokens, dtype=np.bool_)
    for index, token in enumerate(vocabulary):
        text = strip_marks(token, style)
        # A mark without letters represents a space, and counts as punctuation.
        is_punctuation_type[index] = not text or is_punctuation(text)
        number_match = _NUMBER_PATTERN.fullmatch(text)
        is_number_type[index] = number_match is not None
        is_stop_word_type[index] = text.lower() in stop_words

    is_mark = is_punctuation_type[ids]
    begins_word = _find_word_beginnings(ids, offsets, vocabulary, style, is_mark)
    return np.select(
        [is_mark, ~begins_word, is_number_type[ids], is_stop_word_type[ids]],
        [_PUNCTUATION, _SUB_WORD, _NUMBER, _STOP_WORD],
        default=_LEXICAL,
    ).astype(np.int8)


def _find_word_beginnings(
    ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    vocabulary: Sequence[str],
    style: str,
    is_punctuation_mark: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which tokens begin a word, rather than continue the word of the token before.

    Args:
        ids: (total,) indices into `vocabulary` of the tokens of all texts, text by text.
        offsets: (N + 1,) position of the first token of each text, and the total.
        vocabulary: The distinct tokens.
        style: How tokens mark the beginning of a word, one of `PIECE_STYLES`.
        is_punctuation_mark: (total,) whether each token is punctuation.

    Returns:
        (total,) flags.
    """
    if style == "wordpiece":
        # "##" alone is two number signs, and counts as punctuation whatever is returned here.
        is_piece = [token.startswith(_CONTINUATION_MARK) for token in vocabulary]
        continues_word = np.array(is_piece, dtype=np.bool_)[ids]
        return ~continues_word
    if style not in _SPACE_MARKS:
        return np.ones(len(ids), dtype=np.bool_)

    mark = _SPACE_MARKS[style]
    has_mark = [token.startswith(mark) for token in vocabulary]
    begins_word = np.array(has_mark, dtype=np.bool_)[ids]
    # A letter after a hyphen or a bracket begins a word, although there is no space between them.
    begins_word[1:] |= is_punctuation_mark[:-1]
    begins_word[_find_first_tokens(offsets)] = True
    return begins_word


def find_piece_style(vocabulary: Iterable[str]) -> str:
    """Return how the tokens of a vocabulary mark word beginnings, judged by the most frequent mark.

    Args:
        vocabulary: The distinct tokens.

    Returns:
        One of `PIECE_STYLES`; "word" if no token has a mark.

    Example:
        >>> find_piece_style(["the", "##s", "##ing"]), find_piece_style(["Ġthe", "s"])
        ('wordpiece', 'byte_level')
        >>> find_piece_style(["the", "film"])
        'word'
    """
    tokens = list(vocabulary)
    best_style = "word"
    best_count = 0
    for style, mark in {"wordpiece": _CONTINUATION_MARK, **_SPACE_MARKS}.items():
        # A token that consists only of the mark is an ordinary character.
        count = sum(len(token) > len(mark) and token.startswith(mark) for token in tokens)
        if count > best_count:
            best_style = style
            best_count = count
    return best_style


def strip_marks(token: str, style: str) -> str:
    """Return the text of a token, without the mark of a word's beginning or continuation.

    Args:
        token: The token. Tokens of the style "byte_level" have one letter for each byte, which is
            decoded.
        style: One of `PIECE_STYLES`.

    Example:
        >>> strip_marks("##ing", "wordpiece"), strip_marks("▁the", "metaspace")
        ('ing', 'the')
        >>> strip_marks("âĢĻ", "byte_level")
        '’'
    """
    if style == "wordpiece":
        # "##" alone is two number signs.
        if len(token) > len(_CONTINUATION_MARK):
            return token.removeprefix(_CONTINUATION_MARK)
        return token
    if style == "metaspace":
        return token.lstrip(_SPACE_MARKS[style])
    if style == "byte_level":
        raw = bytes(_BYTE_BY_LETTER[letter] for letter in token if letter in _BYTE_BY_LETTER)
        # A piece may end within a character, whose first bytes alone are not text.
        return raw.decode("utf-8", errors="replace").strip()
    return token


def is_punctuation(text: str) -> bool:
    """Return whether all characters are punctuation (Unicode P*) or ASCII symbols, as in BERT.

    Example:
        >>> is_punctuation("..."), is_punctuation("$"), is_punctuation("a."), is_punctuation("")
        (True, True, False, False)
    """
    return bool(text) and all(map(_is_punctuation_character, text))


def _is_punctuation_character(character: str) -> bool:
    """Return whether a character is punctuation by Unicode, or an ASCII sign such as "$"."""
    if unicodedata.category(character).startswith("P"):
        return True
    # Of the ASCII characters, all that are neither letters nor digits: "$", "+" and "^" too.
    if not character.isascii() or not character.isprintable():
        return False
    return not character.isalnum()


def _assign_released_categories(
    ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    vocabulary: Sequence[str],
    style: str,
    stop_words: Collection[str],
) -> NDArray[np.int8]:
    """Return the category of every token by the rules of the code that Bihani and Rayz released.

    Args:
        ids: (total,) indices into `vocabulary` of the tokens of all texts, text by text.
        offsets: (N + 1,) position of the first token of each text, and the total.
        vocabulary: The distinct tokens.
        style: How tokens mark the beginning of a word, one of `PIECE_STYLES`.
        stop_words: Stop words, which are compared with their case.

    Returns:
        (total,) indices into `CATEGORIES`.
    """
    # Each distinct token is categorized once.
    n_tokens = len(vocabulary)
    codes_by_id = np.zeros(n_tokens, dtype=np.int8)
    for index, token in enumerate(vocabulary):
        codes_by_id[index] = _categorize_later_token(token, style, stop_words)
    codes = codes_by_id[ids]
    if style in _SPACE_MARKS:
        # The released code treats the first token of a text as a whole word, with or without a mark.
        for position in _find_first_tokens(offsets).tolist():
            token = vocabulary[ids[position]]
            codes[position] = _categorize_released(token, stop_words)
    return codes


def _categorize_later_token(token: str, style: str, stop_words: Collection[str]) -> int:
    """Return the category of a token that is not the first of its text, as in the released code.

    The released code is that of Bihani and Rayz 2025; see `assign_categories`.

    Args:
        token: The token, with its marks.
        style: How tokens mark the beginning of a word, one of `PIECE_STYLES`.
        stop_words: Stop words, which are compared with their case.

    Returns:
        An index into `CATEGORIES`.
    """
    if style not in _SPACE_MARKS:
        is_piece = style == "wordpiece" and "#" in token
        return _categorize_released(token, stop_words, is_piece=is_piece)
    mark = _SPACE_MARKS[style]
    if mark in token:
        return _categorize_released(token.replace(mark, ""), stop_words)
    if style == "byte_level" and token in string.punctuation:
        return _PUNCTUATION
    return _SUB_WORD


def _categorize_released(token: str, stop_words: Collection[str], *, is_piece: bool = False) -> int:
    """Return the category of a token by the released code, as an index into `CATEGORIES`.

    Args:
        token: The token, without the mark of a word's beginning.
        stop_words: Stop words, which are compared with their case.
        is_piece: Whether the token continues a word.
    """
    # `in` looks for a substring, as the released code does: "()" is punctuation, "..." is not.
    if token in string.punctuation:
        return _PUNCTUATION
    if token in stop_words:
        return _STOP_WORD
    return _SUB_WORD if is_piece else _LEXICAL


def _find_first_tokens(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of the first token of each text that is not empty."""
    starts = offsets[:-1]
    ends = offsets[1:]
    return starts[starts < ends]


# A byte-level vocabulary writes each byte as one printable letter (Radford et al. 2019). Printable
# bytes of Latin-1 stand for themselves, and the others for the letters from U+0100 on.
_PRINTABLE_BYTES = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHER_BYTES = sorted({*range(256)} - {*_PRINTABLE_BYTES})
_BYTE_LETTERS = (*map(chr, _PRINTABLE_BYTES), *map(chr, range(256, 256 + len(_OTHER_BYTES))))
_BYTE_BY_LETTER = dict(zip(_BYTE_LETTERS, (*_PRINTABLE_BYTES, *_OTHER_BYTES), strict=True))

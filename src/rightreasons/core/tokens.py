"""What kind of thing a token is: a word of the lexicon, a function word, punctuation, a number or a piece of a word.

Also the words of a text, in the sense that every word-level statistic of this package uses.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.choices import TOKEN_KINDS
from rightreasons.core.validation import check_one_of

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\W{_IDEOGRAPHS}]"
# Vowel signs, accents of their own, and the joiners between letters, which \w leaves out.
_SIGNS = "".join(
    chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
_SIGNS += "\u200c\u200d"

WORD_PATTERN = re.compile(rf"{_LETTERS}+(?:[{_SIGNS}]+{_LETTERS}*)*|[^\w\s]|[{_IDEOGRAPHS}]")
"""A word (letters with their vowel signs, digits, underscore), one ideograph of Chinese or Japanese, which are written
without spaces, or one mark of punctuation. BERT splits its text in the same way."""

PIECE_STYLES = ("word", "wordpiece", "byte_level", "metaspace")
"""How tokens show where a word begins.

- "word": every token is a whole word.
- "wordpiece": a piece that continues a word starts with "##" (BERT, DistilBERT, ELECTRA).
- "byte_level": a piece after a space starts with "Ġ" (RoBERTa, BART, GPT-2).
- "metaspace": a piece after a space starts with "▁" (ALBERT, DeBERTa-v2 and v3, XLM-R, T5).
"""

CATEGORIES = ("lexical", "stop_word", "punctuation", "sub_word", "number")
"""The categories of tokens; each token has exactly one."""

GRAMMAR_CATEGORIES = ("stop_word", "punctuation", "sub_word")
"""The categories that carry no lexical meaning (Bihani and Rayz 2025, section 2.2). Numbers are lexical there."""

FUNCTION_WORDS: Mapping[str, str] = json.loads(
    Path(__file__).with_name("function_words.json").read_text("utf-8")
)
"""The closed word classes of English, by part of speech: compiled for this package from a grammar's classes
(Apache-2.0 as the package). It serves where the paper uses NLTK's list of stop words; to use that very list, pass it
as `stop_words`. The contractions are what word splitters leave of "don't", "it's" and their
like, and the whole forms."""

STOP_WORDS: frozenset[str] = frozenset(
    word for words in FUNCTION_WORDS.values() for word in words.split()
)
"""The function words of English, lower case; see `FUNCTION_WORDS`."""

_BEGIN_MARKS = {"byte_level": "Ġ", "metaspace": "▁"}
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*")


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words and single marks of punctuation.

    Args:
        text: Any text.

    Returns:
        Its tokens in order, `WORD_PATTERN` on the lower-case text.

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
) -> NDArray[np.int8]:
    """Return the category of every token, as positions in `CATEGORIES`, from flat token ids.

    The first that holds: punctuation (every character is punctuation, or an ASCII symbol), sub-word (the piece does
    not begin a word), number, stop word, lexical. A piece begins a word when its style's mark says so, when it is the
    first of its text, or when it follows punctuation: the last rule makes "known" of "well-known" a word in every
    style, as it is in BERT's.

    kinds="bihani2025" are the rules of the paper's released code: punctuation, then stop word (in the case in which it
    stands), then sub-word, else lexical. There are no numbers; punctuation is what occurs in `string.punctuation`, so
    "..." is none; with "##" a piece is a sub-word; with "Ġ" or "▁" a piece without the mark is one, after punctuation
    too, unless it is the first token of all (special tokens counted); with "▁" punctuation without the mark is a
    sub-word. The code knows two more tokens, [CLS] and [SEP]; they are in no head, so that nothing follows from it.

    Args:
        ids: (total,) positions in `vocabulary` of the tokens of all texts, one text after another.
        offsets: (N + 1,) where each text begins.
        vocabulary: The distinct tokens.
        style: How the tokens show where a word begins, one of `PIECE_STYLES`; default "word".
        kinds: "rightreasons" (default) or "bihani2025".

    Returns:
        (total,) codes.

    Raises:
        ValueError: If the style is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2; Du et al. 2021, section 2.1 (stop words,
        punctuation and numbers fill the head of the distribution).

    Example:
        >>> pieces = ["the", "film", "##s", "2021", "!"]
        >>> codes = assign_categories(np.arange(5), np.array([0, 5]), pieces, style="wordpiece")
        >>> [CATEGORIES[code] for code in codes]
        ['stop_word', 'lexical', 'sub_word', 'number', 'punctuation']
    """
    check_one_of(style, PIECE_STYLES, "piece_style")
    check_one_of(kinds, TOKEN_KINDS, "kinds")
    if kinds == "bihani2025":
        return _released_codes(ids, offsets, vocabulary, style)
    bare = [strip_marks(token, style) for token in vocabulary]
    # A mark of a space that stands alone is no word either.
    punctuation = np.fromiter(
        (not token or is_punctuation(token) for token in bare), dtype=np.bool_, count=len(bare)
    )
    number = np.fromiter(
        (_NUMBER.fullmatch(token) is not None for token in bare), dtype=np.bool_, count=len(bare)
    )
    stop = np.fromiter(
        (token.lower() in STOP_WORDS for token in bare), dtype=np.bool_, count=len(bare)
    )
    is_mark, begins = punctuation[ids], np.ones(len(ids), dtype=np.bool_)
    if style == "wordpiece":
        begins = ~np.array(
            [token.startswith("##") and len(token) > 2 for token in vocabulary], dtype=np.bool_
        )[ids]
    elif style in _BEGIN_MARKS:
        begins = np.array(
            [token.startswith(_BEGIN_MARKS[style]) for token in vocabulary], dtype=np.bool_
        )[ids]
        begins[1:] |= is_mark[:-1]
        begins[_find_first_tokens(offsets)] = True
    return np.select(
        [is_mark, ~begins, number[ids], stop[ids]],
        [CATEGORIES.index(name) for name in ("punctuation", "sub_word", "number", "stop_word")],
        default=CATEGORIES.index("lexical"),
    ).astype(np.int8)


def find_piece_style(vocabulary: Iterable[str]) -> str:
    """Tell how the pieces of a tokenizer's vocabulary show where a word begins: the mark that most of them carry.

    Example:
        >>> find_piece_style(["the", "##s", "##ing"]), find_piece_style(["Ġthe", "s"]), find_piece_style(["the", "film"])
        ('wordpiece', 'byte_level', 'word')
    """
    marks = {"wordpiece": "##", **_BEGIN_MARKS}
    pieces = list(vocabulary)
    counts = {
        style: sum(len(piece) > len(m) and piece.startswith(m) for piece in pieces)
        for style, m in marks.items()
    }
    style = max(counts, key=lambda name: counts[name])
    return style if counts[style] else "word"


def strip_marks(token: str, style: str) -> str:
    """Take the style's marks off a token, and turn byte-level letters back into the text that they stand for.

    Example:
        >>> strip_marks("##ing", "wordpiece"), strip_marks("▁the", "metaspace"), strip_marks("âĢĻ", "byte_level")
        ('ing', 'the', '’')
    """
    if style == "wordpiece":
        return token.removeprefix("##") if len(token) > 2 else token
    if style == "metaspace":
        return token.lstrip("▁")
    if style == "byte_level":
        raw = bytes(_BYTE_OF_LETTER[letter] for letter in token if letter in _BYTE_OF_LETTER)
        # A piece may end inside a character; what it holds of it is no text.
        return raw.decode("utf-8", errors="replace").strip()
    return token


def is_punctuation(text: str) -> bool:
    """Tell whether every character is punctuation (Unicode P*) or an ASCII symbol, as BERT's splitter has it.

    Example:
        >>> is_punctuation("..."), is_punctuation("$"), is_punctuation("a."), is_punctuation("")
        (True, True, False, False)
    """
    return bool(text) and all(
        unicodedata.category(letter)[0] == "P"
        or (letter.isascii() and letter.isprintable() and not letter.isalnum())
        for letter in text
    )


def _released_codes(
    ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    vocabulary: Sequence[str],
    style: str,
) -> NDArray[np.int8]:
    """Return the categories by the rules of the released code of Bihani and Rayz, kinds="bihani2025"."""

    def kind(token: str, piece: bool = False) -> int:
        if token in string.punctuation:
            return CATEGORIES.index("punctuation")
        return CATEGORIES.index(
            "stop_word" if token in STOP_WORDS else "sub_word" if piece else "lexical"
        )

    def inside(token: str) -> int:
        """Return the kind of a token that is not the first of its text."""
        if style not in _BEGIN_MARKS:
            return kind(token, piece=style == "wordpiece" and "#" in token)
        mark = _BEGIN_MARKS[style]
        if mark in token:
            return kind(token.replace(mark, ""))
        punctuation = style == "byte_level" and token in string.punctuation
        return CATEGORIES.index("punctuation" if punctuation else "sub_word")

    codes = np.array([inside(token) for token in vocabulary], dtype=np.int8)[ids]
    if style in _BEGIN_MARKS:
        codes[_find_first_tokens(offsets)] = [
            kind(vocabulary[at]) for at in ids[_find_first_tokens(offsets)].tolist()
        ]
    return codes


def _find_first_tokens(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the first tokens of texts."""
    return offsets[:-1][offsets[:-1] < offsets[1:]]


# The printable letters of a byte-level vocabulary, and the bytes that they stand for (Radford et al. 2019).
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTE_OF_LETTER = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(256 + rank): byte for rank, byte in enumerate(_HIDDEN)
}

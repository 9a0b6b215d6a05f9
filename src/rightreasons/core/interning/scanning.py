"""Find the words of many texts at once, with numpy in place of a regular expression.

`WORD_PATTERN` stays the one definition of a word: whatever `find_words` knows about a character, it
has asked the pattern. Texts are arrays of code points here, so that one step handles hundreds of
thousands of characters.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.interning.runs import Flags, Positions
from rightreasons.core.tokens import WORD_PATTERN

Codes = NDArray[np.uint32]
"""Characters as Unicode code points."""

# Kinds of characters. A character that has not been looked up yet is of no kind.
UNKNOWN = 0
SPACE = 1
# A token by itself: punctuation, or an ideograph.
MARK = 2
# Continues a word but cannot begin one: vowel signs, accents and joiners.
SIGN = 3
LETTER = 4

# One byte for each character of Unicode, filled as characters occur: a corpus has a few hundred.
_KIND_BY_CODE = np.zeros(sys.maxunicode + 1, dtype=np.uint8)


def encode_text(text: str) -> Codes:
    """Return the code points of a text.

    Example:
        >>> encode_text("aé").tolist()
        [97, 233]
    """
    # Lone surrogates, which broken files contain, are characters like any other.
    encoded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(encoded, dtype=np.uint32)


def decode_text(codes: Codes) -> str:
    """Return the text of an array of code points; the inverse of `encode_text`."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def classify_characters(codes: Codes) -> NDArray[np.uint8]:
    """Return the kind of each character.

    Example:
        >>> classify_characters(encode_text("a b!")).tolist() == [LETTER, SPACE, LETTER, MARK]
        True
    """
    kinds = _KIND_BY_CODE[codes]
    if kinds.all():
        return kinds

    unknown = codes[kinds == UNKNOWN]
    for code in np.unique(unknown).tolist():
        _KIND_BY_CODE[code] = _classify_character(chr(code))
    return _KIND_BY_CODE[codes]


def find_words(codes: Codes) -> tuple[Positions, Positions]:
    """Find the words and marks of a text, as `WORD_PATTERN.finditer` does.

    Args:
        codes: (C,) code points of the text.

    Returns:
        (T,) position of the first character of each token, and (T,) position after its last.

    Example:
        >>> starts, ends = find_words(encode_text("it's so"))
        >>> starts.tolist(), ends.tolist()
        ([0, 2, 3, 5], [2, 3, 4, 7])
    """
    kinds = classify_characters(codes)
    in_word = kinds == LETTER
    is_sign = kinds == SIGN
    if is_sign.any():
        in_word |= _find_signs_in_words(in_word, is_sign)

    # Every character that is neither in a word nor white space is a token by itself; that includes
    # a sign without a letter before it. A word begins and ends where its neighbor is not in it.
    is_start = kinds != SPACE
    is_last = is_start.copy()
    is_inside = in_word[1:] & in_word[:-1]
    is_start[1:] &= ~is_inside
    is_last[:-1] &= ~is_inside
    starts = np.flatnonzero(is_start)
    ends = np.flatnonzero(is_last) + 1
    return starts, ends


def _find_signs_in_words(is_letter: Flags, is_sign: Flags) -> Flags:
    """Return which signs follow a letter, directly or after other signs."""
    # At each character, the position of the nearest character up to it that is not a sign. Signs at
    # the very beginning have none; they get position 0, which is a sign itself and thus no letter.
    anchors = np.arange(len(is_sign))
    anchors[is_sign] = 0
    anchors = np.maximum.accumulate(anchors)
    return is_sign & is_letter[anchors]


def _classify_character(character: str) -> int:
    """Return the kind of a character, which shows in what `WORD_PATTERN` does with it."""
    if WORD_PATTERN.match(character) is None:
        return SPACE
    if WORD_PATTERN.fullmatch(f"a{character}") is None:
        return MARK
    if WORD_PATTERN.fullmatch(f"{character}a") is None:
        return SIGN
    return LETTER

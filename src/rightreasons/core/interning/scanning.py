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
# A token by itself: punctuation, an emoji, or a letter of a script without spaces.
MARK = 2
# Continues a word or a mark: vowel signs, accents, joiners and skin tones.
SIGN = 3
LETTER = 4
# Two of these letters are the flag of a country.
FLAG_LETTER = 5

_JOINER = 0x200D

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
    has_signs = bool(is_sign.any())
    if has_signs:
        anchors = _find_anchors(is_sign)
        in_word |= is_sign & in_word[anchors]

    # Every character that is neither in a word nor white space is a token by itself, unless it
    # continues the one before it. A token ends where the next character does not continue it.
    is_start = kinds != SPACE
    is_inside = in_word[1:] & in_word[:-1]
    if has_signs:
        follows_character = is_start[:-1]
        is_inside |= is_sign[1:] & follows_character
        is_inside |= _find_joined_marks(codes, kinds, anchors)
    is_flag_letter = kinds == FLAG_LETTER
    if is_flag_letter.any():
        is_inside |= _find_second_flag_letters(is_flag_letter)
    is_last = is_start.copy()
    is_start[1:] &= ~is_inside
    is_last[:-1] &= ~is_inside
    starts = np.flatnonzero(is_start)
    ends = np.flatnonzero(is_last) + 1
    return starts, ends


def _find_anchors(is_sign: Flags) -> Positions:
    """Return for each character the position of the nearest one up to it that is no sign."""
    # Signs at the very beginning have none; they get position 0, which is a sign itself.
    anchors = np.arange(len(is_sign))
    anchors[is_sign] = 0
    return np.maximum.accumulate(anchors)


def _find_joined_marks(codes: Codes, kinds: NDArray[np.uint8], anchors: Positions) -> Flags:
    """Return which characters, from the second on, are marks that a joiner connects to a mark."""
    # A joiner after a letter is a part of the word, and flags are never joined.
    anchor_kinds = kinds[anchors]
    follows_word = anchor_kinds == LETTER
    follows_flag = anchor_kinds == FLAG_LETTER
    connects = (codes == _JOINER) & ~follows_word & ~follows_flag
    is_mark = kinds == MARK
    is_joined: Flags = connects[:-1] & is_mark[1:]
    return is_joined


def _find_second_flag_letters(is_flag_letter: Flags) -> Flags:
    """Return which characters, from the second on, are the second letter of a flag."""
    # The letters of a run are paired from its beginning.
    positions = np.arange(len(is_flag_letter))
    other_positions = np.where(is_flag_letter, -1, positions)
    run_starts = np.maximum.accumulate(other_positions)
    numbers = positions - run_starts
    is_even = numbers % 2 == 0
    is_second: Flags = is_flag_letter & is_even
    return is_second[1:]


def _classify_character(character: str) -> int:
    """Return the kind of a character, which shows in what `WORD_PATTERN` does with it."""
    if WORD_PATTERN.match(character) is None:
        return SPACE
    if WORD_PATTERN.fullmatch(f"a{character}") is None:
        # Two marks are two tokens.
        is_flag_letter = WORD_PATTERN.fullmatch(character * 2) is not None
        return FLAG_LETTER if is_flag_letter else MARK
    if WORD_PATTERN.fullmatch(f"{character}a") is None:
        return SIGN
    return LETTER

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
    """Return the kind of each character: SPACE, MARK, SIGN, LETTER or FLAG_LETTER.

    A sign, such as an accent, continues a word but does not begin one. A mark, such as "!", is a
    token by itself. Two letters of a flag are one token.

    Args:
        codes: (C,) code points.

    Example:
        >>> classify_characters(encode_text("a b!")).tolist() == [LETTER, SPACE, LETTER, MARK]
        True
    """
    kinds = _KIND_BY_CODE[codes]
    if kinds.all():
        return kinds

    # Add the kinds of characters that occur for the first time to the table.
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
    # A word consists of letters, and of the signs (such as accents) that follow a letter.
    kinds = classify_characters(codes)
    in_word = kinds == LETTER
    is_sign = kinds == SIGN
    has_signs = bool(is_sign.any())
    if has_signs:
        anchors = _find_anchors(is_sign)
        in_word |= is_sign & in_word[anchors]

    # (C - 1,) whether character i + 1 continues the token of character i. Every character that is
    # neither in a word nor white space is a token by itself, with the signs that follow it.
    continues_token = in_word[1:] & in_word[:-1]
    is_visible = kinds != SPACE
    if has_signs:
        continues_token |= is_sign[1:] & is_visible[:-1]
        continues_token |= _find_joined_marks(codes, kinds, anchors)
    is_flag_letter = kinds == FLAG_LETTER
    if is_flag_letter.any():
        continues_token |= _find_second_flag_letters(is_flag_letter)

    is_first = is_visible.copy()
    is_first[1:] &= ~continues_token
    # `is_visible` is not used again, so its array is changed in place.
    is_last = is_visible
    is_last[:-1] &= ~continues_token
    starts = np.flatnonzero(is_first)
    ends = np.flatnonzero(is_last) + 1
    return starts, ends


def _find_anchors(is_sign: Flags) -> Positions:
    """Return, for each character, the position of the character that it modifies.

    Args:
        is_sign: (C,) whether each character is a sign, which modifies the nearest character before
            it that is no sign.

    Returns:
        (C,) positions; the own position for other characters. Signs at the very beginning have the
        position 0, which is a sign itself.
    """
    anchors = np.arange(len(is_sign))
    anchors[is_sign] = 0
    return np.maximum.accumulate(anchors)


def _find_joined_marks(codes: Codes, kinds: NDArray[np.uint8], anchors: Positions) -> Flags:
    """Find the marks that a zero-width joiner connects to the mark before, as in combined emoji.

    Args:
        codes: (C,) code points.
        kinds: (C,) kind of each character.
        anchors: (C,) position of the character that each one modifies, from `_find_anchors`.

    Returns:
        (C - 1,) whether character i + 1 is such a mark.
    """
    # A joiner after a letter is a part of the word, and flags are never joined.
    anchor_kinds = kinds[anchors]
    follows_word = anchor_kinds == LETTER
    follows_flag = anchor_kinds == FLAG_LETTER
    connects = (codes == _JOINER) & ~follows_word & ~follows_flag
    is_mark = kinds == MARK
    is_joined: Flags = connects[:-1] & is_mark[1:]
    return is_joined


def _find_second_flag_letters(is_flag_letter: Flags) -> Flags:
    """Find the second letters of flags: each pair of regional letters, from the left, is one flag.

    Args:
        is_flag_letter: (C,) whether each character is a regional letter.

    Returns:
        (C - 1,) whether character i + 1 is the second letter of a flag.
    """
    positions = np.arange(len(is_flag_letter))
    # For each letter, find the last character before it that is not a regional letter; -1 if there is
    # none. The distance from that character is the number of the letter in its run, from 1.
    other_positions = np.where(is_flag_letter, -1, positions)
    last_other = np.maximum.accumulate(other_positions)
    number_in_run = positions - last_other
    is_even = number_in_run % 2 == 0
    is_second: Flags = is_flag_letter & is_even
    return is_second[1:]


def _classify_character(character: str) -> int:
    """Return the kind of a character, by testing how `WORD_PATTERN` matches it.

    Args:
        character: A single character.

    Returns:
        SPACE, MARK, SIGN, LETTER or FLAG_LETTER.
    """
    if WORD_PATTERN.match(character) is None:
        return SPACE
    # A character that does not continue a word is a mark, or a letter of a flag. Only two letters
    # of flags make one token.
    if WORD_PATTERN.fullmatch(f"a{character}") is None:
        is_flag_letter = WORD_PATTERN.fullmatch(character * 2) is not None
        return FLAG_LETTER if is_flag_letter else MARK
    # A sign continues a word, but cannot begin one.
    if WORD_PATTERN.fullmatch(f"{character}a") is None:
        return SIGN
    return LETTER

"""Exchange what a text has besides its words: marks, spaces, capitals, accents, length, thirds.

Digits and emoji count as marks here. Each function gives a text the feature of another one, its
donor, and leaves everything else as it is.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Sequence

import regex

from rightreasons.shortcuts.swapping.capitals import match_case
from rightreasons.shortcuts.swapping.segments import is_unspaced

_WORD = r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*"
_GRAPHEME = regex.compile(r"\X")
_MARKS = regex.compile(r"[^\p{L}\p{M}\p{N}'’]+")

MIN_ACCENT_CLASS = 200
"""Combining marks of this canonical class or above are accents; lower ones are vowel signs and
similar marks."""


ALL_PARTS = frozenset({"start", "inside", "end", "case"})
"""Parts of the form: before the first word, between words, after the last word, and capitals with
accents."""


def split_form(text: str, reasons: frozenset[str] = frozenset()) -> tuple[list[str], list[str]]:
    """Return the words of a text and the gaps before, between, and after them.

    Args:
        text: Any text.
        reasons: Words and marks in lower case that the user accepts as reasons for a label. A mark
            among them counts as a word, so that it is in no gap.

    Example:
        >>> split_form("A film, 9/10!")
        (['A', 'film'], ['', ' ', ', 9/10!'])
        >>> split_form("A film, 9/10!", reasons=frozenset({"9/10"}))
        (['A', 'film', '9/10'], ['', ' ', ', ', '!'])
    """
    words = []
    gaps = []
    end = 0
    # Every character is in a word or a gap, so that the parts make the text again.
    for match in _compile_words(reasons).finditer(text):
        words.append(match.group())
        gap = text[end : match.start()]
        gaps.append(gap)
        end = match.end()
    gaps.append(text[end:])
    return words, gaps


@functools.lru_cache(maxsize=16)
def _compile_words(reasons: frozenset[str]) -> regex.Pattern[str]:
    """Return the pattern of a word, or of one of the marks and numbers among the reasons.

    Args:
        reasons: Words, marks and numbers, such as "great", ":)" and "9/10".
    """
    marks = []
    # The longest mark comes first, so that ":))" is not read as ":)" and ")".
    for reason in sorted(reasons, key=lambda reason: (-len(reason), reason)):
        has_letter = regex.search(r"\p{L}", reason) is not None
        if not has_letter:
            # No digit may precede or follow: "19/10" does not contain the number "9/10".
            marks.append(rf"(?<!\p{{N}}){regex.escape(reason)}(?!\p{{N}})")
    return regex.compile("|".join([*marks, _WORD]))


def take_form(
    text: str,
    donor: str,
    *,
    parts: frozenset[str] = ALL_PARTS,
    reasons: frozenset[str] = frozenset(),
) -> str | None:
    """Give the words of a text the marks, spaces, capitals, and accents of another text.

    They go to the same relative position of the text. Marks that are reasons for a label stay in
    the text, and are not copied from the donor.

    Args:
        text: Text that keeps its words.
        donor: Text whose form is copied.
        parts: Parts of the form that are exchanged, of `ALL_PARTS`.
        reasons: Words and marks in lower case that the user accepts as reasons for a label.

    Returns:
        The edited text; None if one of the texts has fewer than two words.

    Example:
        >>> take_form("A fine film.", "what a MESS !!")
        'a fine FILM !!'
        >>> take_form("A fine film :)", "what a MESS :( !!", reasons=frozenset({":)", ":("}))
        'a fine FILM :) !!'
    """
    words, gaps = split_form(text, reasons)
    donor_words, donor_gaps = split_form(donor, reasons)
    n_words = len(words)
    if n_words < 2 or len(donor_words) < 2:
        return None
    if "case" in parts:
        words = _take_cases(words, donor_words)

    start, *inner_gaps, end = gaps
    donor_start, *donor_inner_gaps, donor_end = donor_gaps
    if "inside" in parts:
        inner_gaps = _take_inner_gaps(n_words, donor_inner_gaps)
    if "start" in parts:
        start = donor_start
    if "end" in parts:
        end = donor_end

    pieces = [start]
    following_gaps = [*inner_gaps, end]
    for word, gap in zip(words, following_gaps, strict=True):
        pieces.append(word)
        pieces.append(gap)
    return "".join(pieces)


def _scale_position(index: int, n_donor: int, n_words: int) -> int:
    """Return the position of a text that corresponds to one of a donor; never the first word."""
    # The first word of a sentence has a capital, which is no feature of any other word.
    position = round(index * n_words / n_donor)
    position = max(position, 1)
    return min(position, n_words - 1)


def _take_inner_gaps(n_words: int, donor_gaps: Sequence[str]) -> list[str]:
    """Return the gaps between the words of a text: single spaces, and the unusual gaps of a donor.

    Args:
        n_words: Number of words of the text.
        donor_gaps: Gaps between the words of the donor.
    """
    gaps = [" "] * (n_words - 1)
    n_donor = len(donor_gaps) + 1
    for index, gap in enumerate(donor_gaps):
        # Single spaces are in every text, so that only other gaps are copied.
        if gap != " ":
            position = _scale_position(index + 1, n_donor, n_words)
            gaps[position - 1] = gap
    return gaps


def _take_cases(words: Sequence[str], donor_words: Sequence[str]) -> list[str]:
    """Return words with the capitals and accents of a donor instead of their own ones.

    Args:
        words: Words of the text.
        donor_words: Words of the donor. The capitals and accents of each go to the word of the text
            at the same relative position.
    """
    plain_words = list(map(strip_form, words))
    n_donor = len(donor_words)
    for index, donor in enumerate(donor_words):
        if donor == strip_form(donor):
            continue
        # The form of the first word goes to the first word, and never to another one.
        target = 0
        if index > 0:
            target = _scale_position(index, n_donor, len(words))
        word = plain_words[target]
        plain_words[target] = match_case(donor, word)
        add_accents(plain_words, target, donor)
    return plain_words


def is_accent(character: str) -> bool:
    """Return whether a character is a combining accent."""
    return unicodedata.combining(character) >= MIN_ACCENT_CLASS


def strip_form(word: str) -> str:
    """Return a word in lower case without accents."""
    lower = word.lower()
    # Most words are plain, and normalization is slow.
    if lower.isascii():
        return lower
    decomposed = unicodedata.normalize("NFD", lower)
    plain = "".join([letter for letter in decomposed if not is_accent(letter)])
    return unicodedata.normalize("NFC", plain)


def add_accents(words: list[str], target: int, donor: str) -> None:
    """Replace plain letters of words, in place, by the accented letters of a donor.

    Args:
        words: The words of a text.
        target: Index of the word that corresponds to the donor. The accented letter goes to the
            nearest word with its plain letter.
        donor: Word with accents.

    Example:
        >>> words = ["the", "first", "film"]
        >>> add_accents(words, 2, "été")
        >>> words
        ['thé', 'first', 'film']
    """
    indices = range(len(words))
    by_distance = sorted(indices, key=lambda index: abs(index - target))
    lower = donor.lower()
    letters = unicodedata.normalize("NFC", lower)
    for letter in dict.fromkeys(letters):
        plain = strip_form(letter)
        if plain == letter:
            continue
        # A model may look for a certain accented letter, so that no other letter gets the accent.
        for index in by_distance:
            word = words[index]
            if plain in word:
                words[index] = word.replace(plain, letter, 1)
                break


def split_words(text: str) -> tuple[list[str], str]:
    """Return the words of a text and what joins them; in a script without spaces, graphemes."""
    # A grapheme is what a reader sees as one letter, with its vowel signs.
    if is_unspaced(text):
        return _GRAPHEME.findall(text), ""
    return text.split(" "), " "


def take_third(
    text: str,
    donor: str,
    *,
    third: int,
    reasons: frozenset[str] = frozenset(),
) -> str | None:
    """Replace the first (0), middle (1), or last (2) third of a text by that of a donor.

    Words that are reasons for a label stay in the text, and are not copied from the donor.

    Args:
        text: Text of which a third is replaced.
        donor: Text whose third replaces it.
        third: 0, 1 or 2.
        reasons: Words and marks in lower case that the user accepts as reasons for a label.

    Returns:
        The edited text; None if one of the texts has fewer than three words.

    Example:
        >>> take_third("a b c d e f", "u v w x y z", third=2)
        'a b c d y z'
        >>> take_third("a b c d e f", "u v w x y z", third=2, reasons=frozenset("fz"))
        'a b c d y f'
    """
    words, joint = split_words(text)
    donor_words, _ = split_words(donor)
    if min(len(words), len(donor_words)) < 3:
        return None
    position = _find_third(len(words), third)
    donor_position = _find_third(len(donor_words), third)
    segment = donor_words[donor_position]
    if reasons:
        segment = [word for word in segment if not is_reason(word, reasons)]
        segment += [word for word in words[position] if is_reason(word, reasons)]

    words[position] = segment
    return joint.join(words)


def _find_third(n_words: int, third: int) -> slice:
    """Return the slice of the first (0), middle (1), or last (2) third of a text's words.

    Example:
        >>> [_find_third(7, third) for third in range(3)]
        [slice(0, 3, None), slice(2, 5, None), slice(4, 7, None)]
    """
    # Both ends are rounded outwards, so that a word at the border of two thirds is in both.
    start = third * n_words // 3
    end = (third + 1) * n_words / 3
    return slice(start, math.ceil(end))


def is_reason(word: str, reasons: frozenset[str]) -> bool:
    """Return whether a word, with or without the marks around it, is among the reasons.

    Args:
        word: Word of a text, such as "Great!".
        reasons: Words and marks in lower case that the user accepts as reasons for a label.

    Example:
        >>> is_reason("Great!", frozenset({"great"})), is_reason(":)", frozenset({":)"}))
        (True, True)
    """
    lower = word.lower()
    if lower in reasons:
        return True
    plain = _MARKS.sub("", lower)
    return plain in reasons


def take_length(text: str, donor: str) -> str | None:
    """Truncate or repeat a text until it has as many words as a donor.

    In scripts without spaces, graphemes are counted.

    Args:
        text: Text to truncate or repeat.
        donor: Text whose length is copied.

    Returns:
        The edited text; None if the lengths are already equal, or cannot be compared because only
        one of the texts is in a script without spaces.

    Example:
        >>> take_length("a b", "v w x y z"), take_length("a b c", "y z"), take_length("a", "z")
        ('a b a b a', 'a b', None)
    """
    words, joint = split_words(text)
    donor_words, donor_joint = split_words(donor)
    n_words = len(donor_words)
    # Words and graphemes cannot be counted in each other.
    if n_words == len(words) or joint != donor_joint:
        return None
    n_repeats = math.ceil(n_words / len(words))
    repeated = words * n_repeats
    shortened = repeated[:n_words]
    return joint.join(shortened)

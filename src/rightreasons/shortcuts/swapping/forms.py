"""What a text has besides its words: marks, spaces, digits, emoji, capitals, accents, length, and thirds.

Each function gives a text the feature of another one, its donor, and leaves everything else as it is.
"""

from __future__ import annotations

import math
import unicodedata

import regex

from rightreasons.shortcuts.swapping.segments import is_unspaced

_WORD = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*")
_GRAPHEME = regex.compile(r"\X")
_MARKS = regex.compile(r"[^\p{L}\p{M}\p{N}'’]+")

MIN_ACCENT_CLASS = 200
"""Combining marks of this canonical class or above are accents; lower ones are vowel signs and their like."""


def split_form(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text and the gaps before, between, and after them.

    Example:
        >>> split_form("A film, 9/10!")
        (['A', 'film'], ['', ' ', ', 9/10!'])
    """
    words = []
    gaps = []
    end = 0
    for match in _WORD.finditer(text):
        words.append(match.group())
        gaps.append(text[end : match.start()])
        end = match.end()
    return words, [*gaps, text[end:]]


def take_form(
    text: str, donor: str, *, parts: frozenset[str] = frozenset({"start", "inside", "end", "case"})
) -> str | None:
    """Give the words of a text the gaps, the capitals, and the accents of a donor; None if either lacks words.

    What the donor has between or in its words goes to the same relative position of the text.

    Args:
        text: Text that keeps its words.
        donor: Text that lends its form.
        parts: Parts of the form that are exchanged: "start" (before the first word), "inside" (between words), "end"
            (after the last word), "case" (capitals and accents).

    Example:
        >>> take_form("A fine film.", "what a MESS !!")
        'a fine FILM !!'
    """
    words, gaps = split_form(text)
    donor_words, donor_gaps = split_form(donor)
    n_words, n_donor = len(words), len(donor_words)
    if n_words < 2 or n_donor < 2:
        return None

    def position(index: int) -> int:
        return min(max(round(index * n_words / n_donor), 1), n_words - 1)

    new_gaps = list(gaps)
    if "start" in parts:
        new_gaps[0] = donor_gaps[0]
    if "end" in parts:
        new_gaps[-1] = donor_gaps[-1]
    if "inside" in parts:
        new_gaps[1:-1] = [" "] * (n_words - 1)
        for index in range(1, n_donor):
            if donor_gaps[index] != " ":
                new_gaps[position(index)] = donor_gaps[index]
    new_words = words
    if "case" in parts:
        new_words = [strip_form(word) for word in words]
        for index, word in enumerate(donor_words):
            if word != strip_form(word):
                target = 0 if index == 0 else position(index)
                new_words[target] = take_capitals(new_words[target], word)
                add_accents(new_words, target, word)
    pieces = []
    for gap, word in zip(new_gaps, new_words, strict=False):
        pieces += [gap, word]
    return "".join(pieces) + new_gaps[-1]


def is_accent(character: str) -> bool:
    """Return whether a character is a combining accent."""
    return unicodedata.combining(character) >= MIN_ACCENT_CLASS


def strip_form(word: str) -> str:
    """Return a word in lower case without accents."""
    lower = word.lower()
    if lower.isascii():
        return lower
    letters = "".join(
        letter for letter in unicodedata.normalize("NFD", lower) if not is_accent(letter)
    )
    return unicodedata.normalize("NFC", letters)


def take_capitals(word: str, donor: str) -> str:
    """Give a word the capitals of a donor.

    Example:
        >>> take_capitals("film", "MESS"), take_capitals("film", "Chat"), take_capitals("film", "a")
        ('FILM', 'Film', 'film')
    """
    if donor.isupper() and len(donor) > 1:
        return word.upper()
    if donor[:1].isupper():
        return word[:1].upper() + word[1:]
    return word


def add_accents(words: list[str], target: int, donor: str) -> None:
    """Put the accented letters of a donor in place of the same plain letters of the words nearest to a target.

    Example:
        >>> words = ["the", "first", "film"]
        >>> add_accents(words, 2, "été")
        >>> words
        ['thé', 'first', 'film']
    """
    nearest = sorted(range(len(words)), key=lambda index: abs(index - target))
    for letter in dict.fromkeys(unicodedata.normalize("NFC", donor.lower())):
        plain = strip_form(letter)
        if plain == letter:
            continue
        for index in nearest:
            if plain in words[index]:
                words[index] = words[index].replace(plain, letter, 1)
                break


def split_words(text: str) -> tuple[list[str], str]:
    """Return the words of a text and what joins them: graphemes and nothing in a script without spaces."""
    if is_unspaced(text):
        return _GRAPHEME.findall(text), ""
    return text.split(" "), " "


def take_third(
    text: str, donor: str, *, third: int, reasons: frozenset[str] = frozenset()
) -> str | None:
    """Replace the first (0), middle (1), or last (2) third of a text by that of a donor.

    Words that are called reasons stay, and those of the donor do not come: what else stands there is asked about.

    Example:
        >>> take_third("a b c d e f", "u v w x y z", third=2)
        'a b c d y z'
        >>> take_third("a b c d e f", "u v w x y z", third=2, reasons=frozenset("fz"))
        'a b c d y f'
    """
    words, joint = split_words(text)
    donor_words, _ = split_words(donor)
    if len(words) < 3 or len(donor_words) < 3:
        return None
    low, high = third / 3, (third + 1) / 3
    start, stop = int(low * len(words)), math.ceil(high * len(words))
    donor_start, donor_stop = int(low * len(donor_words)), math.ceil(high * len(donor_words))
    middle = donor_words[donor_start:donor_stop]
    if reasons:
        middle = [word for word in middle if not is_reason(word, reasons)]
        middle += [word for word in words[start:stop] if is_reason(word, reasons)]
    return joint.join([*words[:start], *middle, *words[stop:]])


def is_reason(word: str, reasons: frozenset[str]) -> bool:
    """Return whether a word, with or without the marks around it, is called a reason.

    Example:
        >>> is_reason("Great!", frozenset({"great"})), is_reason(":)", frozenset({":)"}))
        (True, True)
    """
    lower = word.lower()
    return lower in reasons or _MARKS.sub("", lower) in reasons


def take_length(text: str, donor: str) -> str | None:
    """Truncate or repeat a text until it has as many words as a donor; None if it has already."""
    words, joint = split_words(text)
    donor_words, donor_joint = split_words(donor)
    n_words = len(donor_words)
    if n_words == len(words) or joint != donor_joint:
        return None
    n_repeats = -(-n_words // len(words))
    return joint.join((words * n_repeats)[:n_words])

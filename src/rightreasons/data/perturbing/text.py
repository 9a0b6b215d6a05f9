"""What all perturbations share: a change, the protected spans of a text, and articles."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

PROTECTED = re.compile(r"(?i:https?://|www\.)\S+|(?<!\S)[^\s@]+@[^\s@]+\.\w+|(?<!\w)[@#]\w+")
"""Addresses, handles and hashtags."""


@dataclasses.dataclass(frozen=True)
class Change:
    """A changed item.

    Attributes:
        texts: Its texts, one per column.
        replaced: (old, new) where one word replaces another everywhere; None otherwise.
    """

    texts: tuple[str, ...]
    replaced: tuple[str, str] | None = None


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Return (first, one past last) of each span that no perturbation may change.

    Example:
        >>> protected_spans("@united see www.a.com")
        [(0, 7), (12, 21)]
    """
    return [match.span() for match in PROTECTED.finditer(text)]


def touches(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Tell whether a span shares a character with any of some others."""
    return any(start < last and first < end for first, last in spans)


def substitute(pattern: re.Pattern[str], write: Callable[[re.Match[str]], str], text: str) -> str:
    """Do `pattern.sub(write, text)` outside the protected spans."""
    protected = protected_spans(text)
    return pattern.sub(lambda match: match.group() if touches(protected, *match.span()) else write(match), text)


def cased_like(model: str, text: str) -> str:
    """Write a text with the capitals of another: all of them, the first, or unchanged.

    Example:
        >>> cased_like("DON'T", "do not"), cased_like("Don't", "do not")
        ('DO NOT', 'Do not')
    """
    letters = [character for character in model if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


# Words that start with a vowel sound, and so take "an", unless the second pattern matches ("a user", "a European").
_AN = re.compile(r"hour|honest|honor|honour|heir|8|1[18](?!\d)|[AEFHILMNORSX](?![a-z])|[aeiou]")
_A = re.compile(r"una(?=n)|uni(?![dmn])|us[aeu]|ut[aeio]|u[bgr][aioqu](?!s)|uk|eu|ewe|one(?![a-z])|once|U(?![a-z])")


def with_article(word: str) -> str:
    """Put "a" or "an" before a word, by its pronunciation.

    Example:
        >>> [with_article(word) for word in ("actor", "user", "hour", "MBA", "European", "uninvited guest")]
        ['an actor', 'a user', 'an hour', 'an MBA', 'a European', 'an uninvited guest']
    """
    lowered = word[:1].lower() + word[1:] if word[1:2].islower() else word
    return f"{'an' if _AN.match(lowered) and not _A.match(lowered) else 'a'} {word}"

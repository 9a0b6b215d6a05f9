"""Perturbations of names, locations and numbers, each replaced throughout an item."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rightreasons.data.perturbing.text import PROTECTED, Change, substitute, with_article
from rightreasons.data.perturbing.words import NAMES, PLACES
from rightreasons.foundations.validation import check_bool, check_fraction, check_texts

Words = Sequence[str] | Mapping[str, Sequence[str]]

_BEFORE = r"(?<![\w@#’'-])(?<!St\. )(?<!Saint )"
_AFTER = r"(?![\w-])"
_ALONE = r"(?! (?:[A-Z]\w|of\b))"  # "New York Times", "Bank of England" are no places

_BEFORE_NUMBER = r"(?<![\w.,:/+-])"
_AFTER_NUMBER = r"(?![\w%/-]|[.,:]\d| %)"
_NUMBER = re.compile(rf"{_BEFORE_NUMBER}(?:[2-9]|[1-9]\d{{1,5}}){_AFTER_NUMBER}")
_EMERGENCY = frozenset({"911", "999", "112"})  # emergency calls, not quantities
_YEARS = range(1900, 2100)


def names(texts: Sequence[str], rng: np.random.Generator, *, names: Words | None = None) -> Iterator[Change]:
    """Replace one first name with another of the same list, everywhere in the item.

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        names: Names, or lists of them by kind; None for common male and female ones.
    """
    yield from _replacements(texts, rng, _groups(NAMES if names is None else names, "names"), "")


def locations(texts: Sequence[str], rng: np.random.Generator, *, places: Words | None = None) -> Iterator[Change]:
    """Replace one city with another or one country with another, everywhere in the item.

    A place that is part of a longer name ("New York Times") stays.

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        places: Places, or lists of them by kind; None for well-known cities and countries.
    """
    yield from _replacements(texts, rng, _groups(PLACES if places is None else places, "places"), _ALONE)


def numbers(
    texts: Sequence[str], rng: np.random.Generator, *, within: float = 0.2, years: bool = False
) -> Iterator[Change]:
    """Replace one whole number with another near it, everywhere in the item.

    This changes numbers from 2 to 999,999 that are not part of a date, time, range, percentage or decimal. The number 1
    stays, and no number becomes it: "1 hour" is no "2 hour".

    Args:
        texts: The texts of an item.
        rng: The source of the random choices.
        within: The maximum distance, as a share of the number, or 1 where that is less; the number of digits stays.
        years: Whether 1900 to 2099 count as numbers.
    """
    share = check_fraction(within, "within", open_ends=True)
    olds = dict.fromkeys(
        match.group()
        for text in texts
        for match in _NUMBER.finditer(_masked(text))
        if match.group() not in _EMERGENCY and (check_bool(years, "years") or int(match.group()) not in _YEARS)
    )
    candidates = {}
    for old in olds:
        value, digits = int(old), len(old)
        step = max(1, math.floor(value * share))
        low, high = max(value - step, 10 ** (digits - 1), 2), min(value + step, 10**digits - 1)
        others = range(low, high + 1) if high - low < 1000 else rng.integers(low, high + 1, size=100).tolist()
        candidates[old] = [str(other) for other in others if str(other) not in olds]
    yield from _drawn(texts, rng, candidates, _BEFORE_NUMBER, _AFTER_NUMBER)


def _groups(words: Words, name: str) -> dict[str, tuple[str, ...]]:
    if isinstance(words, str) or not isinstance(words, (Sequence, Mapping)):
        raise TypeError(f"Expected `{name}` to be a list of words, or lists by kind, but got {words!r}.")
    groups = words if isinstance(words, Mapping) else {name: words}
    return {
        kind: tuple(check_texts(sorted(group) if isinstance(group, (set, frozenset)) else group, name))
        for kind, group in groups.items()
    }


def _replacements(
    texts: Sequence[str], rng: np.random.Generator, groups: Mapping[str, Sequence[str]], after: str
) -> Iterator[Change]:
    kind_of = {word: kind for kind, group in groups.items() for word in group}
    # A longer name first: "New York City" before "New York".
    words = "|".join(re.escape(word) for word in sorted(kind_of, key=len, reverse=True))
    pattern = re.compile(f"{_BEFORE}(?:{words}){_AFTER}{after}")
    masked = [_masked(text) for text in texts]
    olds = dict.fromkeys(match.group() for text in masked for match in pattern.finditer(text))
    candidates = {}
    for old in olds:
        # "a Boston flight" needs a word that goes with "a".
        articled = any(re.search(rf"\b[Aa]n? {re.escape(old)}\b", text) for text in masked)
        candidates[old] = [
            new
            for new in groups[kind_of[old]]
            if not any(re.search(rf"\b{re.escape(new)}\b", text) for text in texts)
            and not (articled and with_article(new).split()[0] != with_article(old).split()[0])
        ]
    yield from _drawn(texts, rng, candidates, _BEFORE, _AFTER + after)


def _drawn(
    texts: Sequence[str], rng: np.random.Generator, candidates: Mapping[str, Sequence[str]], before: str, after: str
) -> Iterator[Change]:
    """Yield every replacement in random order, each made wherever the word is between `before` and `after`.

    The words take turns, however many replacements each has.
    """
    left = {old: [group[i] for i in rng.permutation(len(group))] for old, group in candidates.items()}
    while any(left.values()):
        olds = [old for old, group in left.items() if group]
        for index in rng.permutation(len(olds)):
            old = olds[index]
            new = left[old].pop()
            pattern = re.compile(f"{before}{re.escape(old)}{after}")
            yield Change(tuple(_put(pattern, new, text) for text in texts), (old, new))


def _put(pattern: re.Pattern[str], new: str, text: str) -> str:
    return substitute(pattern, lambda _: new, text)


def _masked(text: str) -> str:
    """Mask protected spans, character for character."""
    return PROTECTED.sub(lambda match: "_" * len(match.group()), text)

"""Changes of a text: words removed or inserted, and words and names replaced by others."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.core.validation import check_count, check_seed
from rightreasons.datasets.perturbing.thesaurus import SOURCE, Thesaurus, load_thesaurus

# ------------------------------------------------------------------------------------------ words


WORDS: Mapping[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""Lists of words by what they are."""


def _make_groups(groups: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
    return dict(zip(groups, map(tuple, groups.values()), strict=True))


NAMES: Mapping[str, tuple[str, ...]] = _make_groups(WORDS["names"])
"""Common first names. A name is replaced by one of its own list, so that pronouns still fit."""

LAST_NAMES: tuple[str, ...] = tuple(WORDS["last_names"])
"""Common last names that are no other words."""

PLACES: Mapping[str, tuple[str, ...]] = _make_groups(WORDS["places"])
"""Cities and countries. A place is replaced by one of its own list."""

PROTECTED = re.compile(r"(?i:https?://|www\.)\S+|(?<!\S)[^\s@]+@[^\s@]+\.\w+|(?<!\w)[@#]\w+")
"""Addresses, handles and hashtags."""

_FIRST_NAMES = tuple(itertools.chain.from_iterable(NAMES.values()))
_FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z]\.)?(?: [A-Z][a-z]+)+\b")
_WORD = re.compile(r"\w+")

Span = tuple[int, int]


def overlaps_any(spans: Sequence[Span], start: int, end: int) -> bool:
    """Return whether a span shares a character with any of some spans."""
    return any(start < span_end and span_start < end for span_start, span_end in spans)


def copy_capitals(model: str, text: str) -> str:
    """Write a text with the capitals of another one.

    Args:
        model: Text whose capitals are copied: all of them, the first one, or none.
        text: Text to write.

    Example:
        >>> copy_capitals("DON'T", "do not"), copy_capitals("Don't", "do not"), copy_capitals("I", "you")
        ('DO NOT', 'Do not', 'You')
    """
    letters = [character for character in model if character.isalpha()]
    # A single capital, such as "I", says nothing about further letters.
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return text.upper()
    if model[:1].isupper():
        return text[:1].upper() + text[1:]
    return text


def delete_words(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some of its words, and without the spaces that they leave.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word; they do not overlap.

    Example:
        >>> delete_words("Who wrote Hamlet, who?", [(0, 3), (18, 21)])
        'wrote Hamlet,?'
    """
    # From the last word on, so that the positions of the earlier ones stay valid.
    for start, end in sorted(spans, reverse=True):
        head = text[:start]
        tail = text[end:]
        has_space_before = head[-1:].isspace()
        has_space_after = tail[:1].isspace()
        if has_space_after and (not head or has_space_before):
            # Of the spaces on both sides, one is enough; a text does not begin with one.
            tail = tail[1:]
        elif has_space_before and not tail[:1].isalnum():
            # A punctuation mark, or the end, comes without a space.
            head = head[:-1]
        text = head + tail
    return text


def insert_word(text: str, place: int, word: str) -> str:
    """Return a text with a word inserted in front of the character at a position.

    Example:
        >>> insert_word("a good film", 2, "copper")
        'a copper good film'
    """
    return f"{text[:place]}{word} {text[place:]}"


# ---------------------------------------------------------------------------------- substitutions


@dataclasses.dataclass(frozen=True)
class Substitution(Result):
    """A span of a text and its replacement.

    Attributes:
        start: First character in the original text.
        end: One past the last.
        original: The original words.
        replacement: The new words, with the original's capitals.
        kind: "synonym", "similar", "antonym" or "name".
        source: Source of the replacement.
    """

    start: int
    end: int
    original: str
    replacement: str
    kind: str
    source: str


Lookup = Callable[[str], Sequence[str]]
"""Replacements of a lower-case word, the likeliest first."""

Lookups = Mapping[str, tuple[Lookup, str]]
"""Kind of substitution -> the function that looks candidates up, and the name of its source."""


def apply_substitutions(text: str, substitutions: Sequence[Substitution]) -> str:
    """Make substitutions in a text.

    Args:
        text: The original text.
        substitutions: Substitutions in any order; their spans must not overlap.

    Returns:
        The changed text.

    Raises:
        ValueError: If the text has other words at a span, or two spans overlap.

    Example:
        >>> apply_substitutions("A good film", [Substitution(2, 6, "good", "bad", "antonym", "WordNet")])
        'A bad film'
    """
    parts = []
    position = 0
    for change in sorted(substitutions, key=lambda change: change.start):
        original = text[change.start : change.end]
        if change.start < position or original != change.original:
            raise ValueError(
                f"Expected {change.original!r} at characters {change.start} to {change.end} of the "
                f"text, apart from other substitutions, but got {original!r}."
            )
        parts.append(text[position : change.start])
        parts.append(change.replacement)
        position = change.end
    parts.append(text[position:])
    return "".join(parts)


def list_lookups(thesaurus: Thesaurus | None = None) -> dict[str, tuple[Lookup, str]]:
    """Collect the sources of replacements for single words.

    Args:
        thesaurus: Synonyms, similar words and antonyms; None for the table of the package.

    Returns:
        Kind of replacement ("synonym", "antonym" or "similar") -> its lookup and the name of its source.

    Example:
        >>> lookup, source = list_lookups()["antonym"]
        >>> lookup("worst"), source
        (('best',), 'WordNet')
    """
    # Results depend on the table that comes with the package, and not on what a machine has.
    thesaurus = thesaurus or load_thesaurus()
    return {
        "synonym": (thesaurus.synonyms, SOURCE),
        "antonym": (thesaurus.antonyms, SOURCE),
        "similar": (thesaurus.similar, SOURCE),
    }


def draw_substitutions(
    text: str,
    spans: Sequence[Span],
    lookups: Lookups,
    *,
    item_id: object,
    seed: int = 0,
    n_candidates: int = 1,
    among: int = 3,
) -> list[Substitution]:
    """Draw replacements for some words of a text, of every kind that has candidates.

    Args:
        text: The text.
        spans: (first, one past last) character of each word that may be replaced.
        lookups: From `list_lookups`.
        item_id: The id of the text. The draw depends only on it and on `seed`.
        seed: The seed.
        n_candidates: Replacements per kind and word; default 1.
        among: The number of likeliest candidates to draw from; default 3.

    Returns:
        The substitutions, one word after another.

    Example:
        >>> lookups = {"antonym": ({"good": ["bad"]}.get, "a list")}
        >>> changes = draw_substitutions("Good film", [(0, 4), (5, 9)], lookups, item_id="0")
        >>> [change.replacement for change in changes]
        ['Bad']
    """
    rng = item_rng(check_seed(seed), item_id)
    check_count(n_candidates, "n_candidates")
    substitutions = []
    for start, end in spans:
        word = text[start:end]
        for kind, (lookup, source) in lookups.items():
            pool_size = max(check_count(among, "among"), n_candidates)
            pool = _find_candidates(word.lower(), lookup)[:pool_size]
            # Every word takes a draw of the same size, however many candidates it has, so that the
            # draws of one kind do not depend on those of another.
            order = rng.permutation(pool_size)
            drawn_candidates = [pool[index] for index in order if index < len(pool)]
            for candidate in drawn_candidates[:n_candidates]:
                substitutions.append(
                    Substitution(
                        start=start,
                        end=end,
                        original=word,
                        replacement=copy_capitals(word, candidate),
                        kind=kind,
                        source=source,
                    )
                )
    return substitutions


def _find_candidates(word: str, lookup: Lookup) -> list[str]:
    """Return the replacements of a word that differ from it."""
    # A lookup of a user may return None for an unknown word.
    candidates = lookup(word) or ()
    return _drop_word(candidates, word)


def _drop_word(words: Iterable[str], excluded: str) -> list[str]:
    return [word for word in words if word != excluded]


def find_names(text: str) -> list[Span]:
    """Find names of people: capitalized words with a common first name, or a common last name.

    Returns:
        (first character, one past the last) of each name, from its first name on.

    Example:
        >>> text = "The Good Film has Robert Redford in it"
        >>> [text[start:end] for start, end in find_names(text)]
        ['Robert Redford']
    """
    spans = []
    for capitalized in _FULL_NAME.finditer(text):
        words = list(_WORD.finditer(capitalized.group()))
        # Two words with a common last name are a name, whatever the first one is.
        has_last_name = len(words) == 2 and words[-1].group() in LAST_NAMES
        # Words before the first name, such as "The" at the beginning of a sentence, are skipped.
        for word in words[:-1]:
            if word.group() in _FIRST_NAMES or has_last_name:
                start = capitalized.start() + word.start()
                spans.append((start, capitalized.end()))
                break
    return spans


def name_substitutions(
    text: str, *, item_id: object, seed: int = 0, pool: Sequence[str] = ()
) -> list[Substitution]:
    """Replace each name of a person: by another of the same text, or else by one of a list.

    Args:
        text: The text.
        item_id: The id of the text. The draw depends only on it and on `seed`.
        seed: The seed.
        pool: Other names, such as the actors of other reviews. Empty for common US names.

    Returns:
        One substitution of kind "name" per name in the text.
    """
    rng = item_rng(check_seed(seed), f"{item_id}|names")
    spans = find_names(text)
    names_in_text = sorted({text[start:end] for start, end in spans})
    substitutions = []
    for start, end in spans:
        name = text[start:end]
        # A name of the same text fits best: it is of the same film, or the same time.
        candidates = _drop_word(names_in_text, name)
        source = "the text"
        if not candidates:
            candidates = _drop_word(pool, name)
            source = "other texts"
        if candidates:
            replacement = candidates[int(rng.integers(len(candidates)))]
        else:
            first_name = _FIRST_NAMES[int(rng.integers(len(_FIRST_NAMES)))]
            last_name = LAST_NAMES[int(rng.integers(len(LAST_NAMES)))]
            replacement = f"{first_name} {last_name}"
            source = "common US names"
        substitutions.append(Substitution(start, end, name, replacement, "name", source))
    return substitutions

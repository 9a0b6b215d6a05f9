"""Changes of a text: words removed or inserted, and words and names replaced by others."""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.core.sentences import capitalize_first
from rightreasons.core.validation import check_count, check_seed
from rightreasons.datasets.perturbing.thesaurus import SOURCE, Thesaurus, load_thesaurus

# ------------------------------------------------------------------------------------------ words


_WORDS_FILE = Path(__file__).with_name("words.json")

WORDS: Mapping[str, Any] = json.loads(_WORDS_FILE.read_text("utf-8"))
"""Lists of words by subject, such as "names" and "places"."""


def _make_word_lists(groups: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(words) for name, words in groups.items()}


NAMES: Mapping[str, tuple[str, ...]] = _make_word_lists(WORDS["names"])
"""Common first names, in lists by gender. A name is replaced by one of its list, so that pronouns fit."""

LAST_NAMES: tuple[str, ...] = tuple(WORDS["last_names"])
"""Common last names that are no other words."""

PLACES: Mapping[str, tuple[str, ...]] = _make_word_lists(WORDS["places"])
"""Cities and countries, in two lists. A place is replaced by one of its list."""

PROTECTED = re.compile(r"(?i:https?://|www\.)\S+|(?<!\S)[^\s@]+@[^\s@]+\.\w+|(?<!\w)[@#]\w+")
"""Addresses, handles and hashtags."""

_FIRST_NAMES = tuple(itertools.chain.from_iterable(NAMES.values()))
_FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z]\.)?(?: [A-Z][a-z]+)+\b")
_WORD = re.compile(r"\w+")

Span = tuple[int, int]


def overlaps_any(spans: Sequence[Span], start: int, end: int) -> bool:
    """Return whether the characters from `start` up to `end` overlap with one of the spans.

    Args:
        spans: (first character, one past the last) of each span.
        start: First character.
        end: One past the last character.
    """
    return any(start < span_end and span_start < end for span_start, span_end in spans)


def copy_capitals(model: str, text: str) -> str:
    """Write a word in capitals, or with a capital first letter, as another word is written.

    Args:
        model: Word whose capitals are copied.
        text: Word to write.

    Example:
        >>> copy_capitals("DON'T", "do not"), copy_capitals("Don't", "do not"), copy_capitals("I", "you")
        ('DO NOT', 'Do not', 'You')
    """
    letters = "".join(character for character in model if character.isalpha())
    # A single capital, such as "I", does not mean that a longer word should be in capitals.
    if len(letters) > 1 and all(map(str.isupper, letters)):
        return text.upper()
    if model[:1].isupper():
        return capitalize_first(text)
    return text


def delete_words(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some of its words, and without the spaces next to them.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word; they do not overlap.

    Example:
        >>> delete_words("Who wrote Hamlet, who?", [(0, 3), (18, 21)])
        'wrote Hamlet,?'
    """
    # Start with the last word, so that the positions of the earlier words stay valid.
    for start, end in sorted(spans, reverse=True):
        head = text[:start]
        tail = text[end:]
        has_space_before = head[-1:].isspace()
        has_space_after = tail[:1].isspace()
        if has_space_after and (not head or has_space_before):
            # Keep one of two spaces, and none at the beginning of the text.
            tail = tail[1:]
        elif has_space_before and not tail[:1].isalnum():
            # Keep no space before a punctuation mark, and none at the end of the text.
            head = head[:-1]
        text = head + tail
    return text


def insert_word(text: str, place: int, word: str) -> str:
    """Return a text with a word, followed by a space, inserted in front of a character.

    Args:
        text: The text.
        place: Position of the character.
        word: The word.

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
        end: One past the last character in the original text.
        original: The original words.
        replacement: The new words, with capitals like the original words.
        kind: "synonym", "similar", "antonym" or "name".
        source: Source of the replacement, such as "WordNet".
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
    # End of the previous substitution.
    position = 0
    for change in sorted(substitutions, key=operator.attrgetter("start")):
        original = text[change.start : change.end]
        overlaps_previous = change.start < position
        if overlaps_previous or original != change.original:
            raise ValueError(
                f"Expected {change.original!r} at characters {change.start} to {change.end} of the "
                f"text, apart from other substitutions, but got {original!r}."
            )
        unchanged = text[position : change.start]
        parts.append(unchanged)
        parts.append(change.replacement)
        position = change.end
    parts.append(text[position:])
    return "".join(parts)


def list_lookups(thesaurus: Thesaurus | None = None) -> dict[str, tuple[Lookup, str]]:
    """Return the functions that look up replacements of a word, by kind of replacement.

    Args:
        thesaurus: Synonyms, similar words and antonyms; None for the table of the package.

    Returns:
        Kind of replacement ("synonym", "antonym" or "similar") -> a function from a word to its
        replacements, and the name of their source.

    Example:
        >>> lookup, source = list_lookups()["antonym"]
        >>> lookup("worst"), source
        (('best',), 'WordNet')
    """
    # The default table comes with the package, so that results do not depend on the machine.
    if thesaurus is None:
        thesaurus = load_thesaurus()
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
    """Draw replacements for some words of a text, such as a synonym and an antonym of each word.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word that may be replaced.
        lookups: Kind of replacement -> a function from a word to its replacements, and the name of their
            source; from `list_lookups`.
        item_id: Id of the text. The draws depend only on the id and on `seed`.
        seed: The seed.
        n_candidates: Number of replacements per kind and word; default 1.
        among: Number of the most frequent replacements to draw from; default 3.

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
            # A user's function may return None for an unknown word.
            candidates = lookup(word.lower()) or ()
            pool = _exclude_word(candidates, word.lower())[:pool_size]
            # The permutation has the same length for every word, however many candidates there are,
            # so that the draws of one kind do not depend on the candidates of another kind.
            order = rng.permutation(pool_size)
            selection = [pool[index] for index in order if index < len(pool)]
            for candidate in selection[:n_candidates]:
                substitution = Substitution(
                    start=start,
                    end=end,
                    original=word,
                    replacement=copy_capitals(word, candidate),
                    kind=kind,
                    source=source,
                )
                substitutions.append(substitution)
    return substitutions


def _exclude_word(words: Iterable[str], excluded: str) -> list[str]:
    return [word for word in words if word != excluded]


def find_names(text: str) -> list[Span]:
    """Find names of people: capitalized words that contain a common first name or a common last name.

    Args:
        text: The text.

    Returns:
        (first character, one past the last) of each name, from its first name on.

    Example:
        >>> text = "The Good Film has Robert Redford in it"
        >>> [text[start:end] for start, end in find_names(text)]
        ['Robert Redford']
    """
    spans = []
    # Each match is a sequence of capitalized words, such as "The Robert Redford".
    for match in _FULL_NAME.finditer(text):
        words = list(_WORD.finditer(match.group()))
        # Two words with a common last name are a name even if the first one is not a common first name.
        has_last_name = len(words) == 2 and words[-1].group() in LAST_NAMES
        # Skip words before the first name, such as "The" at the beginning of a sentence.
        for word in words[:-1]:
            if word.group() in _FIRST_NAMES or has_last_name:
                start = match.start() + word.start()
                end = match.end()
                spans.append((start, end))
                break
    return spans


def name_substitutions(
    text: str, *, item_id: object, seed: int = 0, pool: Sequence[str] = ()
) -> list[Substitution]:
    """Draw a replacement for each name of a person: another name of the text, or else of the pool.

    Args:
        text: The text.
        item_id: Id of the text. The draws depend only on the id and on `seed`.
        seed: The seed.
        pool: Other names, such as the actors of other reviews. If empty, common US names are used.

    Returns:
        One substitution of kind "name" per name in the text.
    """
    rng = item_rng(check_seed(seed), f"{item_id}|names")
    spans = find_names(text)
    names_in_text = sorted({text[start:end] for start, end in spans})
    substitutions = []
    for start, end in spans:
        name = text[start:end]
        # A name of the same text is preferred, because it belongs to the same film or the same time.
        candidates = _exclude_word(names_in_text, name)
        source = "the text"
        if not candidates:
            candidates = _exclude_word(pool, name)
            source = "other texts"
        if candidates:
            replacement = _draw_word(candidates, rng)
        else:
            first_name = _draw_word(_FIRST_NAMES, rng)
            last_name = _draw_word(LAST_NAMES, rng)
            replacement = f"{first_name} {last_name}"
            source = "common US names"
        substitution = Substitution(
            start=start,
            end=end,
            original=name,
            replacement=replacement,
            kind="name",
            source=source,
        )
        substitutions.append(substitution)
    return substitutions


def _draw_word(words: Sequence[str], rng: np.random.Generator) -> str:
    index = int(rng.integers(len(words)))
    return words[index]

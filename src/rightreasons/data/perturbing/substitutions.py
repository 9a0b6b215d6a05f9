"""Substitutions of words: where they may come from, and what a text is after them. Every one is on record."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rightreasons.data.perturbing.wordnet import Thesaurus
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_count, check_same_length, check_seed

KINDS = ("synonym", "antonym", "neighbor", "name")

NAMES_PACKAGE = "names"
"""US census names with their frequencies; found and never imported."""

N_NAMES = 200
"""How many of the commonest first and last names are taken from there."""

_FEW_NAMES = {
    "first": ("James", "Mary", "John", "Patricia", "Robert", "Linda", "Michael", "Barbara", "William", "Elizabeth"),
    "last": ("Smith", "Johnson", "Williams", "Jones", "Brown", "Davis", "Miller", "Wilson", "Moore", "Taylor"),
}

_FULL_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z]\.)?(?: [A-Z][a-z]+)+\b")
_WORD = re.compile(r"\w+")


@dataclasses.dataclass(frozen=True)
class Substitution(Result):
    """One stretch of a text and what stands there instead.

    Attributes:
        start: First character in the original text.
        end: One past the last.
        original: What stood there.
        replacement: What stands there now, with the original's capital.
        kind: "synonym", "antonym", "neighbor" or "name".
        source: Where the replacement came from.
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
"""For each kind of substitution where its candidates come from, and the name of that source."""


def apply_substitutions(text: str, substitutions: Sequence[Substitution]) -> str:
    """Make substitutions in a text.

    Args:
        text: The original text.
        substitutions: In any order; their stretches must not overlap.

    Returns:
        The changed text.

    Raises:
        ValueError: If one does not stand where it says, or two overlap.

    Example:
        >>> apply_substitutions("A good film", [Substitution(2, 6, "good", "bad", "antonym", "WordNet")])
        'A bad film'
    """
    parts, at = [], 0
    for change in sorted(substitutions, key=lambda change: change.start):
        if change.start < at or text[change.start : change.end] != change.original:
            raise ValueError(
                f"Expected {change.original!r} at characters {change.start} to {change.end} of the text, apart from "
                f"other substitutions, but {text[change.start : change.end]!r} stands there."
            )
        parts += [text[at : change.start], change.replacement]
        at = change.end
    return "".join((*parts, text[at:]))


def substitution_lookups(
    thesaurus: Thesaurus | None,
    neighbors: Lookup | None = None,
    *,
    neighbor_source: str = "the model's word embeddings",
) -> dict[str, tuple[Lookup, str]]:
    """Collect where replacements of single words come from, by kind, with the name of each source."""
    found: dict[str, tuple[Lookup, str]] = {}
    if thesaurus is not None:
        found = {"synonym": (thesaurus.synonyms, "WordNet"), "antonym": (thesaurus.antonyms, "WordNet")}
    if neighbors is not None:
        found["neighbor"] = (neighbors, neighbor_source)
    return found


def class_words(texts: Sequence[str], labels: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Part the words of texts among the classes: each goes to the class of whose texts the largest share holds it.

    Args:
        texts: N texts.
        labels: (N,) their classes, given or predicted; a text with a negative one is left out.

    Returns:
        For each class that has a text its lower-case words, sorted. A word of equal shares is in all of these classes.

    Example:
        >>> class_words(["a good film", "a bad film", "bad"], [1, 0, 0])
        {0: ('bad',), 1: ('a', 'film', 'good')}
    """
    check_same_length(texts=texts, labels=labels)
    counts: dict[int, Counter[str]] = {}
    sizes: Counter[int] = Counter()
    for text, label in zip(texts, labels, strict=True):
        if label >= 0:
            sizes[int(label)] += 1
            counts.setdefault(int(label), Counter()).update(set(_WORD.findall(text.lower())))
    largest: dict[str, float] = {}
    for label, found in counts.items():
        for word, count in found.items():
            largest[word] = max(largest.get(word, 0.0), count / sizes[label])
    return {
        label: tuple(sorted(word for word, count in found.items() if count / sizes[label] == largest[word]))
        for label, found in sorted(counts.items())
    }


def word_substitutions(
    text: str,
    spans: Sequence[tuple[int, int]],
    lookups: Lookups,
    *,
    item_id: object,
    seed: int = 0,
    n_candidates: int = 1,
    among: int = 3,
) -> list[Substitution]:
    """Draw replacements of the words at some places of a text, of every kind that knows one.

    Args:
        text: The text.
        spans: (first, one past last) character of each word that may be replaced.
        lookups: From `substitution_lookups`.
        item_id: The id of the text: with `seed` it decides what is drawn, whatever other texts there are.
        seed: The seed.
        n_candidates: Replacements of each kind for each word; default 1.
        among: They are drawn from so many of the likeliest; default 3.

    Returns:
        The substitutions, one word after another.

    Example:
        >>> lookups = {"antonym": ({"good": ["bad"]}.get, "a list")}
        >>> [change.replacement for change in word_substitutions("Good film", [(0, 4), (5, 9)], lookups, item_id="0")]
        ['Bad']
    """
    rng = item_rng(check_seed(seed), item_id)
    check_count(n_candidates, "n_candidates")
    found = []
    for start, end in spans:
        word = text[start:end]
        for kind, (lookup, source) in lookups.items():
            candidates = [other for other in (lookup(word.lower()) or ()) if other != word.lower()]
            pool = candidates[: max(check_count(among, "among"), n_candidates)]
            # The draw is made whether or not it is needed, so that one kind does not move the others.
            order = rng.permutation(max(among, n_candidates))
            chosen = [pool[i] for i in order if i < len(pool)][:n_candidates]
            found += [Substitution(start, end, word, _like(word, other), kind, source) for other in chosen]
    return found


def find_names(text: str) -> list[tuple[int, int]]:
    """Find names of people: capitalized words that begin with a common first name or end with a common last one.

    Example:
        >>> text = "The Good Film has Robert Redford in it"
        >>> [text[start:end] for start, end in find_names(text)]
        ['Robert Redford']
    """
    firsts, lasts = (set(common_names(kind, 2000)) for kind in ("first", "last"))
    found = []
    for match in _FULL_NAME.finditer(text):
        words = [(m.group(), m.start()) for m in _WORD.finditer(match.group())]
        for place, (word, at) in enumerate(words[:-1]):
            if word in firsts or (place == len(words) - 2 and words[-1][0] in lasts and len(words) == 2):
                found.append((match.start() + at, match.end()))
                break
    return found


def name_substitutions(text: str, *, item_id: object, seed: int = 0, pool: Sequence[str] = ()) -> list[Substitution]:
    """Replace each name of a person by another: one of the same text where there is one, else of a list.

    Args:
        text: The text.
        item_id: The id of the text.
        seed: The seed.
        pool: Other names, such as the actors of other reviews; common census names where it is empty.

    Returns:
        One substitution a name that stands in the text.
    """
    rng = item_rng(check_seed(seed), f"{item_id}|names")
    spans = find_names(text)
    own = sorted({text[start:end] for start, end in spans})
    found = []
    for start, end in spans:
        name = text[start:end]
        others = [other for other in own if other != name] or [other for other in pool if other != name]
        if others:
            replacement, source = others[int(rng.integers(len(others)))], "the text" if len(own) > 1 else "other texts"
        else:
            first, last = (common_names(kind, N_NAMES) for kind in ("first", "last"))
            replacement = f"{first[int(rng.integers(len(first)))]} {last[int(rng.integers(len(last)))]}"
            source = "common US names"
        found.append(Substitution(start, end, name, replacement, "name", source))
    return found


@functools.cache
def common_names(kind: str, count: int) -> tuple[str, ...]:
    """Return the commonest US "first" or "last" names: of the package `names`, or ten of each where it is absent."""
    spec = importlib.util.find_spec(NAMES_PACKAGE)
    files = {"first": ("dist.female.first", "dist.male.first"), "last": ("dist.all.last",)}[kind]
    for location in (spec.submodule_search_locations or []) if spec else []:
        paths = [Path(location) / name for name in files]
        if all(path.is_file() for path in paths):
            columns = [[line.split()[0].title() for line in path.read_text("utf-8").splitlines()] for path in paths]
            return tuple(name for column in columns for name in column[: count // len(columns)])
    return _FEW_NAMES[kind][:count]


def _like(word: str, other: str) -> str:
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other

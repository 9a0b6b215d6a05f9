"""Lists of words that predict a label, from which the words of an edit are drawn.

`make_word_list` selects the largest candidates of each label. A `WordList` draws its words by
frequency, and finds words of similar strength.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.segments import get_kind

Floats = NDArray[np.float64]

Key = tuple[int, str]
"""A column of the items and a lower-case word."""

MAX_WORDS = 40
"""Number of words that a list holds for each label."""

N_SIMILAR = 8
"""Number of words of similar frequency among which a neutral word is drawn."""

N_PARTNERS = 5
"""Number of words of similar strength among which the partner of a word is drawn."""

MIN_STRENGTH = 1e-9
"""Smallest strength whose logarithm is taken."""


class Candidate(NamedTuple):
    """A word that competes for a list.

    Attributes:
        size: Size by which it competes.
        strength: Strength of a single occurrence.
        key: Column and word.
        label: Label that it predicts.
    """

    size: float
    strength: float
    key: Key
    label: int


class Group(NamedTuple):
    """Words of a list that replace each other.

    Attributes:
        column: Column of the items.
        label: Label that the words predict.
        kind: Kind of the words, as of `get_kind`.
    """

    column: int
    label: int
    kind: str


@dataclasses.dataclass(frozen=True)
class WordList:
    """Words that predict a label.

    Attributes:
        labels: (column, word) -> label that the word predicts.
        strengths: (column, word) -> strength of a single occurrence, comparable within the list.
        weights: (column, word) -> how often the word is drawn relative to others, such as its
            frequency.
    """

    labels: Mapping[Key, int]
    strengths: Mapping[Key, float]
    weights: Mapping[Key, float]

    def __len__(self) -> int:
        return len(self.labels)

    def restrict(self, keys: Collection[Key]) -> WordList:
        """Return the part of the list that holds some of its words."""
        return WordList(
            labels=_select(self.labels, keys),
            strengths=_select(self.strengths, keys),
            weights=_select(self.weights, keys),
        )

    @functools.cached_property
    def by_label(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words, in the order of the list."""
        words: dict[tuple[int, int], list[str]] = {}
        for (column, word), label in self.labels.items():
            words.setdefault((column, label), []).append(word)
        return words

    @functools.cached_property
    def _cumulative_weights(self) -> dict[Group, tuple[list[str], Floats]]:
        """Words of each group that was drawn from, and the cumulative sum of their weights."""
        return {}

    def _list_candidates(self, group: Group) -> list[str]:
        """Return the words of a label that are of a kind; all words of the label if none is."""
        words = self.by_label.get((group.column, group.label), [])
        # A number in place of a word would make a text that nobody writes.
        same_kind = [word for word in words if get_kind(word) == group.kind]
        return same_kind or words

    def _sum_weights(self, group: Group) -> tuple[list[str], Floats]:
        """Return the words of a group and the cumulative sum of their weights."""
        words = self._list_candidates(group)
        weights = []
        for word in words:
            weights.append(self.weights[group.column, word])
        return words, np.cumsum(weights, dtype=np.float64)

    def draw(
        self,
        column: int,
        label: int,
        kind: str,
        rng: np.random.Generator,
    ) -> str | None:
        """Draw a word of a label, with chances in proportion to `weights`.

        Args:
            column: Column of the items.
            label: Label that the word predicts.
            kind: "word", "number" or "mark"; words of other kinds are drawn if there are none.
            rng: Generator of the draw.

        Returns:
            The word; None if the list has no word of the label.
        """
        group = Group(column, label, kind)
        # The sums are stored, because thousands of words are drawn from each of a few groups.
        if group not in self._cumulative_weights:
            self._cumulative_weights[group] = self._sum_weights(group)
        words, cumulative_weights = self._cumulative_weights[group]
        if not words:
            return None

        # The first word whose cumulative weight exceeds a uniform number.
        threshold = rng.random() * cumulative_weights[-1]
        index = int(np.searchsorted(cumulative_weights, threshold, side="right"))
        # Rounding may carry the number to the total.
        return words[min(index, len(words) - 1)]

    def find_partners(self, key: Key, label: int) -> list[str]:
        """Return the `N_PARTNERS` words of a label that are most similar in strength to a word.

        They are of the same column and kind as the word. Words of other kinds are returned only if
        the label has none of its kind.

        Args:
            key: Column and word.
            label: Label of the partners.
        """
        column, word = key
        strength = max(self.strengths[key], MIN_STRENGTH)

        def rank(partner: str) -> tuple[float, str]:
            """Return the distance of the logarithms of the strengths; the word breaks ties."""
            partner_strength = self.strengths[column, partner]
            # The strength of a suspected word may be 0 or negative.
            ratio = max(partner_strength, MIN_STRENGTH) / strength
            return abs(math.log(ratio)), partner

        group = Group(column, label, get_kind(word))
        candidates = self._list_candidates(group)
        return sorted(candidates, key=rank)[:N_PARTNERS]


Value = TypeVar("Value")


def _select(values: Mapping[Key, Value], keys: Collection[Key]) -> dict[Key, Value]:
    return {key: values[key] for key in keys}


class NeutralWords:
    """Words of a column that predict no label, from rare to frequent.

    Args:
        frequencies: Word -> number of texts with it.
    """

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        # Words of one frequency are in alphabetical order.
        self.words = sorted(frequencies, key=lambda word: (frequencies[word], word))
        counts = [frequencies[word] for word in self.words]
        self.log_frequencies = np.log(np.array(counts, dtype=np.float64))

    def draw(self, frequency: float, rng: np.random.Generator) -> str | None:
        """Draw one of the `N_SIMILAR` words whose frequency is closest; None if there are no words.

        Args:
            frequency: Number of texts with the word to replace.
            rng: Generator of the draw.
        """
        if not self.words:
            return None
        log_frequency = math.log(max(frequency, 1.0))
        middle = int(np.searchsorted(self.log_frequencies, log_frequency))

        # The window is around the frequency, but does not extend beyond the first or last word.
        last_start = max(len(self.words) - N_SIMILAR, 0)
        start = max(middle - N_SIMILAR // 2, 0)
        start = min(start, last_start)
        n_choices = min(N_SIMILAR, len(self.words))
        index = start + int(rng.integers(n_choices))
        return self.words[index]


def make_word_list(
    candidates: Iterable[Candidate],
    frequencies: Mapping[Key, int],
    *,
    reasons: Collection[str] = (),
    suspected: Collection[str] = (),
    max_words: int = MAX_WORDS,
) -> WordList:
    """Return the largest candidates of each label, and all suspected words.

    Args:
        candidates: Words that compete; of each, one label.
        frequencies: (column, word) -> number of training texts with the word.
        reasons: Words that a user calls reasons.
        suspected: Words that a user suspects, which are listed whatever their size.
        max_words: Number of words of each label.
    """
    labels: dict[Key, int] = {}
    strengths: dict[Key, float] = {}
    n_listed: dict[int, int] = {}
    # Ties are broken by strength and word, so that the list does not depend on the order.
    for candidate in sorted(candidates, reverse=True):
        _, word = candidate.key
        # Words that are called reasons may decide: the lists ask what else does.
        if word in reasons:
            continue
        n_words = n_listed.get(candidate.label, 0)
        if n_words < max_words or word in suspected:
            n_listed[candidate.label] = n_words + 1
            labels[candidate.key] = candidate.label
            strengths[candidate.key] = candidate.strength

    # A word that no training text has is drawn as seldom as one that a single text has.
    weights = {}
    for key in labels:
        weights[key] = float(frequencies.get(key, 1))
    return WordList(labels, strengths, weights)

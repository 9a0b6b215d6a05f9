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

from rightreasons.shortcuts.swapping.segments import Token, get_kind

Floats = NDArray[np.float64]

Key = tuple[int, str]
"""A column of the items and a lower-case word."""

MAX_WORDS = 40
"""Maximum number of words of a list for each label."""

N_SIMILAR = 8
"""Number of words of similar frequency among which a neutral word is drawn."""

N_PARTNERS = 5
"""Number of words of similar strength among which the partner of a word is drawn."""

MIN_STRENGTH = 1e-9
"""Smallest strength whose logarithm is taken."""


class Drop(NamedTuple):
    """The effect of leaving out one token of an item.

    Attributes:
        row: Row of the item.
        token: The token.
        size: Margin between the score of the predicted label and the next one, with the token minus
            without it.
    """

    row: int
    token: Token
    size: float


class Candidate(NamedTuple):
    """A word that competes for a list.

    Attributes:
        size: Size by which it competes.
        strength: Strength of a single occurrence.
        key: Column (0, or 1 for second texts) and lower-case word.
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
        """Return a list of only some of the words, with the same labels, strengths and weights.

        Args:
            keys: (column, word) of each word to keep, all of them in the list.
        """
        return WordList(
            labels=_select(self.labels, keys),
            strengths=_select(self.strengths, keys),
            weights=_select(self.weights, keys),
        )

    @functools.cached_property
    def by_label(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words, in the order of the list."""
        words_by_label: dict[tuple[int, int], list[str]] = {}
        for (column, word), label in self.labels.items():
            words_by_label.setdefault((column, label), []).append(word)
        return words_by_label

    @functools.cached_property
    def _cumulative_weights(self) -> dict[Group, tuple[list[str], Floats]]:
        """Words of each group that was drawn from, and the cumulative sum of their weights."""
        return {}

    def _list_candidates(self, group: Group) -> list[str]:
        """Return the words of a group; if it has none, the words of its label of any kind.

        Args:
            group: Column, label and kind of the words. Kinds are "word", "number" and "mark".
        """
        words = self.by_label.get((group.column, group.label), [])
        # A number instead of a word would make an unnatural text.
        same_kind = []
        for word in words:
            if get_kind(word) == group.kind:
                same_kind.append(word)
        return same_kind or words

    def _sum_weights(self, group: Group) -> tuple[list[str], Floats]:
        """Return the M words of a group, and the (M,) cumulative sums of their weights."""
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
        """Sample a word that predicts a label, with a probability in proportion to its weight.

        Args:
            column: Column of the items: 0, or 1 for the second texts of pairs.
            label: Label that the word predicts.
            kind: Kind of the word: "word", "number" or "mark". If the label has none of this kind,
                a word of any kind is sampled.
            rng: Random generator.

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

        # Inverse transform sampling: a uniform number between 0 and the total weight selects the
        # first word whose cumulative weight exceeds it.
        threshold = rng.random() * cumulative_weights[-1]
        index = int(np.searchsorted(cumulative_weights, threshold, side="right"))
        # Rounding may make the number equal to the total, which no cumulative weight exceeds.
        return words[min(index, len(words) - 1)]

    def find_partners(self, key: Key, label: int) -> list[str]:
        """Return the `N_PARTNERS` words of a label that are most similar in strength to a word.

        The partners are of the same column and kind (word, number or mark) as the word. If the
        label has none of its kind, they are of any kind.

        Args:
            key: Column and word, which the list must have.
            label: Label that the partners predict.

        Returns:
            At most `N_PARTNERS` words, the most similar first.
        """
        column, word = key
        # The strength of a word that a user suspects may be 0 or negative, without a logarithm.
        strength = max(self.strengths[key], MIN_STRENGTH)

        def compute_distance(partner: str) -> tuple[float, str]:
            """Return the distance of the log strengths; the word itself breaks ties."""
            partner_strength = max(self.strengths[column, partner], MIN_STRENGTH)
            return abs(math.log(partner_strength / strength)), partner

        group = Group(column, label, get_kind(word))
        candidates = self._list_candidates(group)
        return sorted(candidates, key=compute_distance)[:N_PARTNERS]


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
        """Sample a neutral word that is about as frequent as the word that it replaces.

        Args:
            frequency: Number of texts with the word to replace.
            rng: Random generator.

        Returns:
            One of the `N_SIMILAR` words around this frequency; None if there are no words.
        """
        if not self.words:
            return None
        log_frequency = math.log(max(frequency, 1.0))
        # `words` and `log_frequencies` are sorted from rare to frequent.
        middle = int(np.searchsorted(self.log_frequencies, log_frequency))

        # A window of `n_choices` words around the middle, moved inwards at either end of the list.
        n_choices = min(N_SIMILAR, len(self.words))
        last_start = len(self.words) - n_choices
        start = max(middle - N_SIMILAR // 2, 0)
        start = min(start, last_start)
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
    """Select the `max_words` largest candidates of each label, and all suspected words.

    Args:
        candidates: Candidates, each with its `size`, `strength`, `key` (column, word) and `label`.
            A word has one label only.
        frequencies: (column, word) -> number of training texts with the word.
        reasons: Words that a user accepts as reasons for a label. They are never listed.
        suspected: Words that a user suspects. They are listed however small they are.
        max_words: Maximum number of words per label, apart from suspected words.
    """
    label_by_key: dict[Key, int] = {}
    strength_by_key: dict[Key, float] = {}
    n_words_by_label: dict[int, int] = {}
    # Candidates are compared by size, then strength, then word, so that ties do not depend on the
    # order in which they come.
    for candidate in sorted(candidates, reverse=True):
        _, word = candidate.key
        # A reason may decide a prediction: the lists ask what else does.
        if word in reasons:
            continue
        n_words = n_words_by_label.get(candidate.label, 0)
        if n_words < max_words or word in suspected:
            n_words_by_label[candidate.label] = n_words + 1
            label_by_key[candidate.key] = candidate.label
            strength_by_key[candidate.key] = candidate.strength

    # Words are sampled by frequency. A word in no training text counts as if one text had it.
    weight_by_key = {}
    for key in label_by_key:
        weight_by_key[key] = float(frequencies.get(key, 1))
    return WordList(labels=label_by_key, strengths=strength_by_key, weights=weight_by_key)

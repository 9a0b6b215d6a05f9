"""Count the words of labeled texts, and list those that predict a label.

`TrainingTexts` counts in how many texts of each label every word occurs. From the counts follow the words of largest
local mutual information (`list_by_labels`), neutral words of like frequency, and rare words.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.segments import Segmenter, Text, Token, kind_of

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Key = tuple[int, str]
"""A column of the items and a lower-case word."""

MIN_Z_SCORE = 3.0
"""A word predicts a label if its share of the label is this many standard errors above that of all texts."""

MAX_NEUTRAL_Z_SCORE = 1.5
"""A word is neutral if its share of every label is within this many standard errors of that of all texts."""

MIN_TEXTS = 3
"""Number of texts in which a listed or neutral word must occur."""

MAX_WORDS = 40
"""Number of words that a list holds for each label."""

N_SIMILAR = 8
"""Number of words of similar frequency among which a neutral word is drawn."""

MAX_TEXTS = 20_000
"""Further training texts are left out; they would hardly change the lists."""


@dataclasses.dataclass(frozen=True)
class WordList:
    """Words that predict a label.

    Attributes:
        labels: (column, word) -> label that the word predicts.
        strengths: (column, word) -> strength of a single occurrence, comparable across the words of the list.
        weights: (column, word) -> how often the word is drawn relative to others, such as its frequency.
    """

    labels: Mapping[Key, int]
    strengths: Mapping[Key, float]
    weights: Mapping[Key, float]

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def by_label(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words, in the order of the list."""
        words: dict[tuple[int, int], list[str]] = {}
        for (column, word), label in self.labels.items():
            words.setdefault((column, label), []).append(word)
        return words

    @functools.cached_property
    def _chances(self) -> dict[tuple[int, int, str], tuple[list[str], Floats]]:
        return {}

    def draw(self, column: int, label: int, kind: str, rng: np.random.Generator) -> str | None:
        """Draw a word of a label by frequency, of a kind if the list has any; None if it has no word of the label."""
        if (column, label, kind) not in self._chances:
            words = self.by_label.get((column, label), [])
            same_kind = [word for word in words if kind_of(word) == kind] or words
            weights = np.array([self.weights[column, word] for word in same_kind], dtype=np.float64)
            self._chances[column, label, kind] = same_kind, weights.cumsum()
        words, cumulative = self._chances[column, label, kind]
        if not words:
            return None
        index = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        return words[min(index, len(words) - 1)]

    def find_partners(self, key: Key, label: int) -> list[str]:
        """Return the five words of a label, of the same kind, that are most similar in strength."""
        column, word = key
        words = self.by_label.get((column, label), [])
        same_kind = [other for other in words if kind_of(other) == kind_of(word)] or words
        strength = max(self.strengths[key], 1e-9)

        def distance(other: str) -> tuple[float, str]:
            return abs(math.log(max(self.strengths[column, other], 1e-9) / strength)), other

        return sorted(same_kind, key=distance)[:5]


class TrainingTexts:
    """Labeled texts and the counts of their words.

    Args:
        columns: One list of texts, or two of the same length.
        labels: (N,) label of each, in the numbering of the model; -1 for unlabeled texts, which are left out.
        n_classes: Number of classes of the model.
        segmenter: Splits texts into tokens; None for one that learns from the first column.
        reasons: Words that a user calls reasons; no list holds them.
        suspected: Words that a user suspects; lists hold them whatever their association.
    """

    def __init__(
        self,
        columns: Sequence[Sequence[str]],
        labels: Labels,
        n_classes: int,
        *,
        segmenter: Segmenter | None = None,
        reasons: Iterable[str] = (),
        suspected: Iterable[str] = (),
    ) -> None:
        rows = np.flatnonzero(np.asarray(labels) >= 0)
        # Evenly spaced, as the texts of a file may be sorted by label.
        rows = rows[:: max(1, -(-len(rows) // MAX_TEXTS))]
        self.columns = tuple([column[row] for row in rows.tolist()] for column in columns)
        self.labels = np.asarray(labels, dtype=np.int64)[rows]
        self.n_classes = n_classes
        self.reasons = frozenset(word.lower() for word in reasons)
        self.suspected = tuple(word.lower() for word in suspected)
        learnable = [text for column in self.columns for text in column]
        self.segmenter = segmenter or Segmenter(learnable)
        self._count_words()

    def __len__(self) -> int:
        return len(self.labels)

    def _count_words(self) -> None:
        """Count in how many texts of each label every word occurs."""
        self.index: dict[Key, int] = {}
        texts_of_pairs: list[int] = []
        words_of_pairs: list[int] = []
        for row in range(len(self)):
            item = tuple(column[row] for column in self.columns)
            # An ordered set: ties between words must not depend on hashes.
            for key in dict.fromkeys(token.key for token in self.segmenter.split(item)):
                texts_of_pairs.append(row)
                words_of_pairs.append(self.index.setdefault(key, len(self.index)))
        cells = np.array(words_of_pairs, dtype=np.int64) * self.n_classes
        cells += self.labels[np.array(texts_of_pairs, dtype=np.int64)]
        counts = np.bincount(cells, minlength=len(self.index) * self.n_classes)
        self.counts = counts.reshape(len(self.index), self.n_classes)
        self.n_texts = self.counts.sum(axis=1)

    @functools.cached_property
    def priors(self) -> Floats:
        """(K,) share of each label."""
        return np.asarray(np.bincount(self.labels, minlength=self.n_classes) / max(len(self), 1))

    @functools.cached_property
    def z_scores(self) -> Floats:
        """(V, K) how far each word's share of each label lies above that of all texts, in standard errors."""
        shares = self.counts / self.n_texts[:, None]
        variances = np.maximum(self.priors * (1 - self.priors), 1e-9)
        return np.asarray((shares - self.priors) / np.sqrt(variances / self.n_texts[:, None]))

    @functools.cached_property
    def lmi(self) -> Floats:
        """(V, K) local mutual information of each word and label."""
        shares = self.counts / self.n_texts[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.counts / len(self) * np.log(shares / self.priors)
        return np.where(self.counts > 0, values, 0.0)

    def get_frequency(self, key: Key) -> int:
        """Return the number of texts that a word occurs in; 1 for an unknown word."""
        index = self.index.get(key)
        return 1 if index is None else int(self.n_texts[index])

    def list_by_labels(self) -> WordList:
        """Return the words of largest local mutual information with the label that each predicts."""
        best_labels = self.lmi.argmax(axis=1)
        rows = np.arange(len(self.index))
        is_listed = (self.n_texts >= MIN_TEXTS) & (self.z_scores[rows, best_labels] > MIN_Z_SCORE)
        for row, (_, word) in enumerate(self.index):
            is_listed[row] |= word in self.suspected
        keys = list(self.index)
        candidates = []
        for row in np.flatnonzero(is_listed).tolist():
            label = int(best_labels[row])
            # The z-score without its growth by frequency: how far a single occurrence shifts the label.
            strength = self.z_scores[row, label] / math.sqrt(self.n_texts[row])
            candidates.append((float(self.lmi[row, label]), float(strength), keys[row], label))
        return self.make_list(candidates)

    def make_list(self, candidates: Iterable[tuple[float, float, Key, int]]) -> WordList:
        """Return the largest candidates of each label, of (size, strength, key, label), and all suspected words."""
        labels: dict[Key, int] = {}
        strengths: dict[Key, float] = {}
        n_listed = [0] * self.n_classes
        for _, strength, key, label in sorted(candidates, reverse=True):
            is_room = n_listed[label] < MAX_WORDS or key[1] in self.suspected
            if is_room and key[1] not in self.reasons and key not in labels:
                n_listed[label] += 1
                labels[key] = label
                strengths[key] = strength
        weights = {key: float(self.get_frequency(key)) for key in labels}
        return WordList(labels, strengths, weights)

    @functools.cached_property
    def _neutral(self) -> dict[int, tuple[list[str], Floats]]:
        """Column -> its neutral words of letters alone, by frequency, with the logarithms of these."""
        is_weak = np.abs(self.z_scores).max(axis=1) < MAX_NEUTRAL_Z_SCORE
        is_weak &= (self.n_texts >= MIN_TEXTS) & (self.n_texts < 0.2 * len(self))
        words: dict[int, list[tuple[int, str]]] = {
            column: [] for column in range(len(self.columns))
        }
        keys = list(self.index)
        for row in np.flatnonzero(is_weak).tolist():
            column, word = keys[row]
            if kind_of(word) == "word" and word not in self.suspected:
                words[column].append((int(self.n_texts[row]), word))
        neutral = {}
        for column, counted in words.items():
            counted.sort()
            frequencies = np.log([count for count, _ in counted]) if counted else np.empty(0)
            neutral[column] = [word for _, word in counted], frequencies
        return neutral

    def draw_neutral(self, column: int, frequency: float, rng: np.random.Generator) -> str | None:
        """Draw a word that predicts no label and is about as frequent; None if there is none."""
        words, frequencies = self._neutral[column]
        if not words:
            return None
        middle = int(np.searchsorted(frequencies, math.log(max(frequency, 1.0))))
        low = min(max(middle - N_SIMILAR // 2, 0), max(len(words) - N_SIMILAR, 0))
        return words[low + int(rng.integers(min(N_SIMILAR, len(words))))]

    def is_neutral(self, token: Token) -> bool:
        """Return whether a word predicts no label."""
        index = self.index.get(token.key)
        if index is None or kind_of(token.word) != "word":
            return False
        return bool(np.abs(self.z_scores[index]).max() < MAX_NEUTRAL_Z_SCORE)

    def is_rare(self, token: Token) -> bool:
        """Return whether a word occurs in at most one training text."""
        return kind_of(token.word) == "word" and self.get_frequency(token.key) <= 1

    @functools.cached_property
    def rare_words(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words that occur in a single training text, which has the label."""
        words: dict[tuple[int, int], list[str]] = {}
        keys = list(self.index)
        for row in np.flatnonzero(self.n_texts == 1).tolist():
            column, word = keys[row]
            if kind_of(word) == "word":
                words.setdefault((column, int(self.counts[row].argmax())), []).append(word)
        return words


def get_item(columns: Sequence[Sequence[str]], row: int) -> Text:
    """Return an item of columns."""
    return tuple(str(column[row]) for column in columns)

"""Count the words of labeled texts, and list those that predict a label.

`TrainingTexts` counts in how many texts of each label every word occurs. From the counts follow the words of largest
local mutual information (`list_by_labels`), neutral words of like frequency, and rare words.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.segments import Segmenter, Text, Token, get_kind

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Key = tuple[int, str]
"""A column of the items and a lower-case word."""

Candidate = tuple[float, float, Key, int]
"""Size by which a word competes for a list, strength of a single occurrence, word, and label."""

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

N_PARTNERS = 5
"""Number of words of similar strength among which the partner of a word is drawn."""

MIN_STRENGTH = 1e-9
"""Smallest strength whose logarithm is taken."""

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
    def _cumulative_weights(self) -> dict[tuple[int, int, str], tuple[list[str], Floats]]:
        """(column, label, kind) -> words and the cumulative sum of their weights, as far as drawn from."""
        return {}

    def _list_candidates(
        self,
        column: int,
        label: int,
        kind: str,
    ) -> list[str]:
        """Return the words of a label that are of a kind; all words of the label if none is."""
        words = self.by_label.get((column, label), [])
        same_kind = [word for word in words if get_kind(word) == kind]
        return same_kind or words

    def draw(
        self,
        column: int,
        label: int,
        kind: str,
        rng: np.random.Generator,
    ) -> str | None:
        """Draw a word of a label by frequency; None if the list has no word of the label."""
        group = (column, label, kind)
        if group not in self._cumulative_weights:
            words = self._list_candidates(column, label, kind)
            weights = [self.weights[column, word] for word in words]
            cumulative = np.cumsum(np.array(weights, dtype=np.float64))
            self._cumulative_weights[group] = words, cumulative
        words, cumulative = self._cumulative_weights[group]
        if not words:
            return None
        # Inverse of the cumulative distribution; rounding may carry a draw beyond the end.
        draw = rng.random() * cumulative[-1]
        index = int(np.searchsorted(cumulative, draw, side="right"))
        return words[min(index, len(words) - 1)]

    def find_partners(self, key: Key, label: int) -> list[str]:
        """Return the words of a label, of the same kind, that are most similar in strength."""
        column, word = key
        strength = max(self.strengths[key], MIN_STRENGTH)

        def distance(partner: str) -> tuple[float, str]:
            partner_strength = max(self.strengths[column, partner], MIN_STRENGTH)
            log_ratio = math.log(partner_strength / strength)
            return abs(log_ratio), partner

        candidates = self._list_candidates(column, label, get_kind(word))
        return sorted(candidates, key=distance)[:N_PARTNERS]


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
        step = max(1, -(-len(rows) // MAX_TEXTS))
        rows = rows[::step]
        selected = []
        for column in columns:
            selected.append([column[row] for row in rows.tolist()])
        self.columns = tuple(selected)
        self.labels = np.asarray(labels, dtype=np.int64)[rows]
        self.n_classes = n_classes
        self.reasons = frozenset(word.lower() for word in reasons)
        self.suspected = frozenset(word.lower() for word in suspected)
        if segmenter is None:
            segmenter = Segmenter(itertools.chain.from_iterable(self.columns))
        self.segmenter = segmenter
        self._count_words()

    def __len__(self) -> int:
        return len(self.labels)

    def _count_words(self) -> None:
        """Count in how many texts of each label every word occurs."""
        self.index: dict[Key, int] = {}
        label_by_pair: list[int] = []
        word_by_pair: list[int] = []
        for row, label in enumerate(self.labels.tolist()):
            item = get_item(self.columns, row)
            keys = [token.key for token in self.segmenter.split(item)]
            # An ordered set: ties between words must not depend on hashes.
            for key in dict.fromkeys(keys):
                label_by_pair.append(label)
                word_by_pair.append(self.index.setdefault(key, len(self.index)))
        # One count per cell of the table of words by labels, in a single pass.
        cells = np.array(word_by_pair, dtype=np.int64) * self.n_classes
        cells += np.array(label_by_pair, dtype=np.int64)
        counts = np.bincount(cells, minlength=len(self.index) * self.n_classes)
        self.counts = counts.reshape(len(self.index), self.n_classes)
        self.n_texts = self.counts.sum(axis=1)

    @functools.cached_property
    def keys(self) -> list[Key]:
        """The V words with their columns, in the order of the counts."""
        return list(self.index)

    @functools.cached_property
    def priors(self) -> Floats:
        """(K,) share of each label."""
        counts = np.bincount(self.labels, minlength=self.n_classes)
        return np.asarray(counts / max(len(self), 1))

    @functools.cached_property
    def z_scores(self) -> Floats:
        """(V, K) how far each word's share of each label lies above that of all texts, in standard errors."""
        shares = self.counts / self.n_texts[:, None]
        variances = np.maximum(self.priors * (1 - self.priors), 1e-9)
        errors = np.sqrt(variances / self.n_texts[:, None])
        return np.asarray((shares - self.priors) / errors)

    @functools.cached_property
    def lmi(self) -> Floats:
        """(V, K) local mutual information of each word and label."""
        shares = self.counts / self.n_texts[:, None]
        # The limit of p log p at a count of 0 is 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.counts / len(self) * np.log(shares / self.priors)
        return np.where(self.counts > 0, values, 0.0)

    def get_frequency(self, key: Key) -> int:
        """Return the number of texts that a word occurs in; 1 for an unknown word."""
        index = self.index.get(key)
        # A logarithm is taken of it.
        if index is None:
            return 1
        return int(self.n_texts[index])

    def list_by_labels(self) -> WordList:
        """Return the words of largest local mutual information with the label that each predicts."""
        best_labels = self.lmi.argmax(axis=1)
        best_z_scores = np.take_along_axis(self.z_scores, best_labels[:, None], axis=1)[:, 0]
        is_listed = (self.n_texts >= MIN_TEXTS) & (best_z_scores > MIN_Z_SCORE)
        # What a user suspects is tested, whatever its association.
        for row, (_, word) in enumerate(self.keys):
            is_listed[row] |= word in self.suspected
        candidates = []
        for row in np.flatnonzero(is_listed).tolist():
            label = int(best_labels[row])
            # The z-score without its growth by frequency: how far a single occurrence shifts the label.
            strength = float(best_z_scores[row]) / math.sqrt(self.n_texts[row])
            size = float(self.lmi[row, label])
            candidates.append((size, strength, self.keys[row], label))
        return self.make_list(candidates)

    def make_list(self, candidates: Iterable[Candidate]) -> WordList:
        """Return the largest candidates of each label, and all suspected words."""
        labels: dict[Key, int] = {}
        strengths: dict[Key, float] = {}
        n_listed = [0] * self.n_classes
        for _, strength, key, label in sorted(candidates, reverse=True):
            _, word = key
            # Words that are called reasons may decide: the lists ask what else does.
            if word in self.reasons:
                continue
            if n_listed[label] < MAX_WORDS or word in self.suspected:
                n_listed[label] += 1
                labels[key] = label
                strengths[key] = strength
        weights = {}
        for key in labels:
            weights[key] = float(self.get_frequency(key))
        return WordList(labels, strengths, weights)

    @functools.cached_property
    def _neutral_words(self) -> list[tuple[list[str], Floats]]:
        """Neutral words of each column, by frequency, with the logarithms of their frequencies."""
        largest_z_scores = np.abs(self.z_scores).max(axis=1)
        is_weak = largest_z_scores < MAX_NEUTRAL_Z_SCORE
        # A frequent word is a function word, for which no other word can stand.
        is_moderate = (self.n_texts >= MIN_TEXTS) & (self.n_texts < 0.2 * len(self))
        words: list[list[tuple[int, str]]] = [[] for _ in self.columns]
        for row in np.flatnonzero(is_weak & is_moderate).tolist():
            column, word = self.keys[row]
            if get_kind(word) == "word" and word not in self.suspected:
                words[column].append((int(self.n_texts[row]), word))
        neutral = []
        for counted_words in words:
            counted_words.sort()
            frequencies = np.array([count for count, _ in counted_words], dtype=np.float64)
            column_words = [word for _, word in counted_words]
            neutral.append((column_words, np.log(frequencies)))
        return neutral

    def draw_neutral(
        self,
        column: int,
        frequency: float,
        rng: np.random.Generator,
    ) -> str | None:
        """Draw a word that predicts no label and is about as frequent; None if there is none."""
        words, frequencies = self._neutral_words[column]
        if not words:
            return None
        # A window of the words around the frequency, which is cut off at neither end.
        middle = int(np.searchsorted(frequencies, math.log(max(frequency, 1.0))))
        last_start = max(len(words) - N_SIMILAR, 0)
        start = min(max(middle - N_SIMILAR // 2, 0), last_start)
        n_choices = min(N_SIMILAR, len(words))
        return words[start + int(rng.integers(n_choices))]

    def is_neutral(self, token: Token) -> bool:
        """Return whether a word predicts no label."""
        index = self.index.get(token.key)
        if index is None or get_kind(token.word) != "word":
            return False
        return bool(np.abs(self.z_scores[index]).max() < MAX_NEUTRAL_Z_SCORE)

    def is_rare(self, token: Token) -> bool:
        """Return whether a word occurs in at most one training text."""
        return get_kind(token.word) == "word" and self.get_frequency(token.key) <= 1

    @functools.cached_property
    def rare_words(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words that occur in a single training text, which has the label."""
        words: dict[tuple[int, int], list[str]] = {}
        for row in np.flatnonzero(self.n_texts == 1).tolist():
            column, word = self.keys[row]
            label = int(self.counts[row].argmax())
            if get_kind(word) == "word":
                words.setdefault((column, label), []).append(word)
        return words


def get_item(columns: Sequence[Sequence[str]], row: int) -> Text:
    """Return an item of columns."""
    return tuple(str(column[row]) for column in columns)

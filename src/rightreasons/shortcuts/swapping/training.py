"""Count the words of labeled texts, and list those that predict a label.

`TrainingTexts` counts in how many texts of each label every word occurs. From the counts follow the
words of largest local mutual information (`list_by_labels`), neutral words of like frequency, and
rare words.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.interning import intern_token_lists
from rightreasons.shortcuts.swapping.capitals import WrittenForms
from rightreasons.shortcuts.swapping.segments import Segmenter, Text, Token, get_kind
from rightreasons.shortcuts.swapping.word_lists import (
    Candidate,
    Floats,
    Key,
    NeutralWords,
    WordList,
    make_word_list,
)

Labels = NDArray[np.int64]

MIN_Z_SCORE = 3.0
"""A word predicts a label if its share of the label is this many standard errors above that of all
texts."""

MAX_NEUTRAL_Z_SCORE = 1.5
"""A word is neutral if its share of every label is within this many standard errors of that of all
texts."""

MIN_TEXTS = 3
"""Number of texts in which a listed or neutral word must occur."""

MAX_NEUTRAL_FREQUENCY = 0.2
"""Share of all texts below which a neutral word occurs."""

MAX_TEXTS = 20_000
"""Number of training texts that are counted; further ones would hardly change the lists."""


class TrainingTexts:
    """Labeled texts and the counts of their words.

    Args:
        columns: One list of texts, or two of the same length.
        labels: (N,) label of each text, in the numbering of the model; -1 for unlabeled texts,
            which are left out.
        n_classes: Number of classes of the model.
        segmenter: Splits texts into tokens; None for one that learns from these texts.
        reasons: Words that a user accepts as reasons for a label, which are never listed.
        suspected: Words that a user suspects, which are always listed.

    Attributes:
        keys: The V words with their columns, in the order in which they first occur.
        index: (column, word) -> its position in `keys`.
        counts: (V, K) number of texts of each label that have the word.
        n_texts: (V,) number of texts that have the word.
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
        """Select at most `MAX_TEXTS` labeled texts, and count their words by label."""
        all_labels = np.asarray(labels, dtype=np.int64)
        rows = np.flatnonzero(all_labels >= 0)
        # Evenly spaced, as the texts of a file may be sorted by label.
        step = max(1, math.ceil(len(rows) / MAX_TEXTS))
        rows = rows[::step]
        selected = []
        for column in columns:
            selected.append([column[row] for row in rows.tolist()])
        self.columns = tuple(selected)
        self.labels = all_labels[rows]
        self.n_classes = n_classes
        self.reasons = frozenset(map(str.lower, reasons))
        self.suspected = frozenset(map(str.lower, suspected))
        if segmenter is None:
            segmenter = Segmenter(itertools.chain.from_iterable(self.columns))
        self.segmenter = segmenter
        self._count_words()

    def __len__(self) -> int:
        return len(self.labels)

    def _count_words(self) -> None:
        """Count the texts of each label that have each word.

        Sets `keys`, `index`, `counts` and `n_texts`, and the index that `list_rows` reads.
        """
        token_lists = []
        for row in range(len(self)):
            item = get_item(self.columns, row)
            token_lists.append(self.segmenter.list_keys(item))
        texts = intern_token_lists(token_lists)

        # A word that occurs twice in a text counts as one text.
        distinct = texts.select_distinct()
        # (K, V) in the order of the vocabulary of `texts`.
        counts_by_label = distinct.count_by_label(self.labels, self.n_classes)

        # Words are numbered in the order in which they first occur. Rare words are drawn in this
        # order, so that it must not change between versions.
        _, first_positions = np.unique(texts.ids, return_index=True)
        token_ids = np.argsort(first_positions)
        self.keys = [texts.vocabulary[token_id] for token_id in token_ids.tolist()]
        self.index = {key: index for index, key in enumerate(self.keys)}
        self.counts = np.ascontiguousarray(counts_by_label[:, token_ids].T)
        self.n_texts = self.counts.sum(axis=1)
        self._token_ids = token_ids
        self._row_index = distinct.index_rows()

    def list_rows(self, index: int) -> NDArray[np.int32]:
        """Return the rows of the texts that contain the word at a position of `keys`."""
        token_id = int(self._token_ids[index])
        return self._row_index.list_rows(token_id)

    @functools.cached_property
    def priors(self) -> Floats:
        """(K,) share of each label."""
        counts = np.bincount(self.labels, minlength=self.n_classes)
        n_texts = max(len(self), 1)
        return np.asarray(counts / n_texts)

    @functools.cached_property
    def shares(self) -> Floats:
        """(V, K) share of each label among the texts that have a word."""
        n_texts = self.n_texts[:, None]
        return np.asarray(self.counts / n_texts)

    @functools.cached_property
    def z_scores(self) -> Floats:
        """(V, K) how many standard errors a label is more frequent among the texts with a word.

        The share of the label among these texts is compared with its share among all texts.
        """
        variances = self.priors * (1 - self.priors)
        # If all texts have one label, the variance is 0.
        variances = np.maximum(variances, 1e-9)
        errors = np.sqrt(variances / self.n_texts[:, None])
        distances = self.shares - self.priors
        return np.asarray(distances / errors)

    @functools.cached_property
    def max_z_scores(self) -> Floats:
        """(V,) largest absolute z-score of each word."""
        distances = np.abs(self.z_scores)
        return np.asarray(distances.max(axis=1))

    @functools.cached_property
    def lmi(self) -> Floats:
        """(V, K) local mutual information of each word and label."""
        frequencies = self.counts / len(self)
        # The limit of p log p at a count of 0 is 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            values = frequencies * np.log(self.shares / self.priors)
        return np.where(self.counts > 0, values, 0.0)

    @functools.cached_property
    def frequencies(self) -> Mapping[Key, int]:
        """(column, word) -> number of texts that have the word."""
        return dict(zip(self.keys, self.n_texts.tolist(), strict=True))

    def get_frequency(self, key: Key) -> int:
        """Return the number of texts that a word occurs in; 1 for an unknown word."""
        # A logarithm is taken of it.
        return self.frequencies.get(key, 1)

    def list_by_labels(self) -> WordList:
        """List the words that predict a label, those of largest local mutual information first.

        A word is listed under the label with which it has the largest mutual information, if it is
        in at least `MIN_TEXTS` texts and the label is significantly more frequent among these than
        among all texts. Words that a user suspects are always listed.
        """
        labels = self.lmi.argmax(axis=1)
        rows = np.arange(len(self.keys))
        sizes = self.lmi[rows, labels]
        z_scores = self.z_scores[rows, labels]
        # A z-score grows with the square root of the number of texts. Divided by it, it is the
        # strength of a single occurrence.
        strengths = z_scores / np.sqrt(self.n_texts)
        is_listed = (self.n_texts >= MIN_TEXTS) & (z_scores > MIN_Z_SCORE)
        is_suspected = [word in self.suspected for _, word in self.keys]
        is_listed |= np.array(is_suspected, dtype=np.bool_)

        candidates = []
        for row in np.flatnonzero(is_listed).tolist():
            candidate = Candidate(
                size=float(sizes[row]),
                strength=float(strengths[row]),
                key=self.keys[row],
                label=int(labels[row]),
            )
            candidates.append(candidate)
        return self.make_list(candidates)

    def make_list(self, candidates: Iterable[Candidate]) -> WordList:
        """Return the largest candidates of each label, and all suspected words."""
        return make_word_list(
            candidates,
            self.frequencies,
            reasons=self.reasons,
            suspected=self.suspected,
        )

    @functools.cached_property
    def _neutral_words(self) -> list[NeutralWords]:
        """Words of each column that predict no label, and are neither rare nor frequent."""
        is_neutral = self.max_z_scores < MAX_NEUTRAL_Z_SCORE
        is_neutral &= self.n_texts >= MIN_TEXTS
        # A frequent word is a function word, which few other words can replace.
        is_neutral &= self.n_texts < MAX_NEUTRAL_FREQUENCY * len(self)

        frequencies_by_column: list[dict[str, int]] = [{} for _ in self.columns]
        for row in np.flatnonzero(is_neutral).tolist():
            column, word = self.keys[row]
            if get_kind(word) == "word" and word not in self.suspected:
                frequencies_by_column[column][word] = int(self.n_texts[row])
        return list(map(NeutralWords, frequencies_by_column))

    def draw_neutral(
        self,
        column: int,
        frequency: float,
        rng: np.random.Generator,
    ) -> str | None:
        """Draw a word that predicts no label and is about as frequent; None if there is none."""
        return self._neutral_words[column].draw(frequency, rng)

    def is_neutral(self, token: Token) -> bool:
        """Return whether a word predicts no label."""
        index = self.index.get(token.key)
        if index is None or get_kind(token.word) != "word":
            return False
        return bool(self.max_z_scores[index] < MAX_NEUTRAL_Z_SCORE)

    def is_rare(self, token: Token) -> bool:
        """Return whether a word occurs in at most one training text."""
        return get_kind(token.word) == "word" and self.get_frequency(token.key) <= 1

    @functools.cached_property
    def forms(self) -> WrittenForms:
        """How the words are mostly written, with their capitals."""
        texts = itertools.chain.from_iterable(self.columns)
        return WrittenForms(texts, self.segmenter.split_text)

    @functools.cached_property
    def rare_words(self) -> Mapping[tuple[int, int], list[str]]:
        """(column, label) -> words that occur in only one training text, a text of this label."""
        words: dict[tuple[int, int], list[str]] = {}
        for row in np.flatnonzero(self.n_texts == 1).tolist():
            column, word = self.keys[row]
            label = int(self.counts[row].argmax())
            if get_kind(word) == "word":
                words.setdefault((column, label), []).append(word)
        return words


def get_item(columns: Sequence[Sequence[str]], row: int) -> Text:
    """Return an item of columns."""
    return tuple([str(column[row]) for column in columns])

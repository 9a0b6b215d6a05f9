"""Check that texts predict the label even without the words that are no reasons."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_value
from rightreasons.repairs.own_table import select_rows
from rightreasons.repairs.training_set import TrainingSet
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.segments import Segmenter, Text

MAX_P_VALUE = 0.01
"""Largest p-value by which the texts without the words are taken to predict the label."""

TRAINING_SHARE = 0.75
"""Share of the texts from which the check learns; the others test it."""

MAX_WORDS = 4
"""Number of words that an error names."""


def check_other_signal(training: TrainingSet, words: SpuriousWords) -> None:
    """Check that training texts predict the label even without the spurious words.

    A naive Bayes classifier learns from three quarters of the texts, without the words. If it is no
    better on the other quarter than always predicting the most frequent label, a model that is
    trained on the edited texts could only guess.

    Args:
        training: Labeled training texts.
        words: Spurious words: they predict a label, but are no reasons for it.

    Raises:
        ValueError: If the classifier is not significantly better, by a one-sided binomial test at
            the level .01.
    """
    items = list(map(words.remove, training.items))
    labels = training.labels
    # The parts are random, because the texts of a file may be sorted by label.
    order = np.random.default_rng(0).permutation(len(items))
    n_learning = round(TRAINING_SHARE * len(order))
    learning = order[:n_learning]
    testing = order[n_learning:]
    classifier = NaiveBayes(
        training.segmenter,
        select_rows(items, learning),
        labels[learning],
        n_classes=len(training.label_names),
    )
    predicted = classifier.predict(select_rows(items, testing))
    n_hits = int((predicted == labels[testing]).sum())
    n_tested = len(testing)

    # One-sided binomial test against the accuracy of always predicting the most frequent label:
    # `bdtrc(k - 1, n, p)` is P(X >= k).
    baseline = float(np.bincount(labels[testing]).max() / n_tested)
    p_value = 1.0
    if n_hits:
        p_value = float(special.bdtrc(n_hits - 1, n_tested, baseline))
    if p_value > MAX_P_VALUE:
        raise OptionError(
            f"Expected training texts that predict the label without {enumerate_words(words)} "
            f"too, but without these words {n_hits / n_tested:.1%} of {n_tested:,} held-out texts "
            f"are classified correctly, and {baseline:.1%} by the most frequent label alone, so "
            "no other signal remains to learn. Nothing was written.",
            option="not_reasons",
        )


class NaiveBayes:
    """A naive Bayes classifier over the presence of words and of pairs of adjacent words.

    Pairs add information: "good" may be as frequent in bad reviews, in the pair "not good".

    Args:
        segmenter: Splits texts into words.
        items: Texts to learn from.
        labels: (N,) their labels.
        n_classes: Number of labels.
    """

    def __init__(
        self,
        segmenter: Segmenter,
        items: Sequence[Text],
        labels: NDArray[np.int64],
        n_classes: int,
    ) -> None:
        """Count the texts of each label that have each feature, and store smoothed log-probabilities."""
        self.segmenter = segmenter
        counts: dict[str, NDArray[np.float64]] = {}
        for item, label in zip(items, labels.tolist(), strict=True):
            for feature in self._list_features(item):
                counts.setdefault(feature, np.zeros(n_classes))[label] += 1

        n_texts = np.bincount(labels, minlength=n_classes)
        self.log_priors = np.log((n_texts + 1) / (n_texts.sum() + n_classes))
        self.log_chances = {}
        for feature, n_hits in counts.items():
            # A feature of a single text does not help to classify others.
            if n_hits.sum() > 1:
                # Laplace smoothing: a feature that a label lacks does not rule it out.
                self.log_chances[feature] = np.log((n_hits + 1) / (n_texts + 2))

    def _list_features(self, item: Text) -> list[str]:
        """Return the distinct words and pairs of adjacent words of a text, in order."""
        words = [token.word for token in self.segmenter.split(item)]
        pairs = [f"{word} {following}" for word, following in itertools.pairwise(words)]
        return list(dict.fromkeys([*words, *pairs]))

    def predict(self, items: Sequence[Text]) -> NDArray[np.int64]:
        """Return the most likely label of each text."""
        labels = np.empty(len(items), dtype=np.int64)
        for row, item in enumerate(items):
            likelihoods = self.log_priors.copy()
            for feature in self._list_features(item):
                # Features that were not learned are ignored.
                if feature in self.log_chances:
                    likelihoods += self.log_chances[feature]
            labels[row] = int(likelihoods.argmax())
        return labels


def enumerate_words(words: SpuriousWords) -> str:
    """Return the first `MAX_WORDS` words in quotation marks, and the number of further ones."""
    names = list(map(format_value, words.labels))
    listed_names = ", ".join(names[:MAX_WORDS])
    n_hidden = len(names) - MAX_WORDS
    if n_hidden > 0:
        return f"{listed_names} and {n_hidden} more"
    return listed_names

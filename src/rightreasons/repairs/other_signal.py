"""Check that texts say something about the label besides words that are no reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_value
from rightreasons.repairs.training_set import TrainingSet, list_columns, select_rows
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.segments import Text
from rightreasons.shortcuts.swapping.training import TrainingTexts

MAX_P_VALUE = 0.01
"""Largest p-value by which the texts without the words are taken to predict the label."""

TRAINING_SHARE = 0.75
"""Share of the texts from which the check learns; the others test it."""

MAX_WORDS = 4
"""Number of words that an error names."""


def check_other_signal(training: TrainingSet, words: SpuriousWords) -> None:
    """Refuse to edit texts that say nothing about the label without the words.

    A naive Bayes classifier learns from three quarters of the texts without the words. If it is no better on the other
    quarter than the most frequent label, then whatever is trained on the edited texts would guess.

    Args:
        training: Training texts.
        words: Words that are no reasons.

    Raises:
        ValueError: If it is no better, by a one-sided binomial test at .01.
    """
    items = list(map(words.remove, training.items))
    labels = training.labels
    # At random, as the texts of a file may be sorted by label.
    order = np.random.default_rng(0).permutation(len(items))
    n_learning = round(TRAINING_SHARE * len(order))
    learning, testing = order[:n_learning], order[n_learning:]
    classifier = NaiveBayes(training, select_rows(items, learning), labels[learning])
    predicted = classifier.predict(select_rows(items, testing))
    n_hits = int((predicted == labels[testing]).sum())
    n_tested = len(testing)

    # P(X >= hits) of a binomial count whose chance is the share of the most frequent label.
    baseline = float(np.bincount(labels[testing]).max() / n_tested)
    p_value = 1.0
    if n_hits:
        p_value = float(special.bdtrc(n_hits - 1, n_tested, baseline))
    if p_value > MAX_P_VALUE:
        raise OptionError(
            f"Expected training texts that predict the label without {enumerate_words(words)} too, but without them "
            f"{n_hits / n_tested:.1%} of {n_tested:,} held-out texts are classified correctly, and {baseline:.1%} by "
            "the most frequent label alone: nothing is left to learn, so nothing was written.",
            option="not_reasons",
        )


class NaiveBayes:
    """A naive Bayes classifier over the presence of words.

    Args:
        training: The set whose segmenter splits texts.
        items: Texts to learn from.
        labels: Their labels.
    """

    def __init__(
        self, training: TrainingSet, items: Sequence[Text], labels: NDArray[np.int64]
    ) -> None:
        n_classes = len(training.label_names)
        self.segmenter = training.segmenter
        columns = list_columns(items)
        self.training = TrainingTexts(columns, labels, n_classes, segmenter=self.segmenter)
        n_texts = np.bincount(self.training.labels, minlength=n_classes)
        # One text is added to both outcomes of each word, so that a new word does not rule out a label.
        self.log_chances = np.log((self.training.counts + 1) / (n_texts + 2))
        self.log_priors = np.log((n_texts + 1) / (n_texts.sum() + n_classes))

    def predict(self, items: Sequence[Text]) -> NDArray[np.int64]:
        """Return the most likely label of each text."""
        labels = np.empty(len(items), dtype=np.int64)
        for row, item in enumerate(items):
            rows = set()
            for token in self.segmenter.split(item):
                # A word that no learned text has says nothing.
                if token.key in self.training.index:
                    rows.add(self.training.index[token.key])
            # The order of a set differs between runs, and so would rounding.
            order = sorted(rows)
            likelihoods = self.log_chances[order].sum(axis=0)
            labels[row] = int((self.log_priors + likelihoods).argmax())
        return labels


def enumerate_words(words: SpuriousWords) -> str:
    """Return the first words in quotation marks, and the number of the others."""
    names = list(map(format_value, words.labels))
    listed_names = ", ".join(names[:MAX_WORDS])
    n_hidden = len(names) - MAX_WORDS
    if n_hidden > 0:
        return f"{listed_names} and {n_hidden} more"
    return listed_names

r"""List words that hardly any text of another label has, if a few of them are in most texts.

Texts of all labels share the frequent words of their language, so that even dozens of words that
only one label has are rarely in most texts. But a common source, a template, a style, or another
language leaves such words in every text. This cue is visible in the data, before any model is
queried. Therefore swapping all of these words at once tests a single feature, with the margin of a
single word. `list_exclusive_words` is the entry point.

A word is exclusive to a label if the lower bound of \((p - p_0) / (1 - p_0)\) is at least 0.4,
where p is the label's share of the texts with the word, and \(p_0\) that of all texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.shortcuts.swapping.training import TrainingTexts
from rightreasons.shortcuts.swapping.word_lists import Floats, Key, WordList

Rows = NDArray[np.integer[Any]]

MIN_EXCESS = 0.4
"""Smallest lower bound of the excess of a label's share, relative to the largest possible excess."""

QUANTILE = 1.645
"""Normal quantile of the lower bound, at 95 %."""

MAX_COVERING_WORDS = 80
"""Number of words by which the texts are covered."""

MIN_COVERAGE = 0.8
"""Share of the texts that these words must cover.

In data without a cue, they cover at most .70 (news labeled by its section). Planted sets of 64 nouns
that agree with the label in 95 % of the texts cover .88 or more.
"""


def list_exclusive_words(training: TrainingTexts) -> WordList | None:
    """List the words whose texts nearly all have one label, if a few of them cover most texts.

    Args:
        training: Labeled texts, with the distinct words (`keys`), the number of texts with each word
            (`n_texts`), and the words that the user accepts as reasons for a label (`reasons`).

    Returns:
        All such words; None if the best `MAX_COVERING_WORDS` of them are in less than
        `MIN_COVERAGE` of the texts.

    Example:
        >>> texts = ["red film", "red play", "blue film", "blue play"] * 10
        >>> training = TrainingTexts([texts], np.array([0, 0, 1, 1] * 10), 2)
        >>> list_exclusive_words(training).by_label
        {(0, 0): ['red'], (0, 1): ['blue']}
    """
    excess = compute_excess(training)
    largest = excess.max(axis=1)
    best_labels = excess.argmax(axis=1)
    labels: dict[Key, int] = {}
    strengths: dict[Key, float] = {}
    weights: dict[Key, float] = {}
    rows_by_word = []
    for index in np.flatnonzero(largest >= MIN_EXCESS).tolist():
        key = training.keys[index]
        _, word = key
        # Words that the user accepts as reasons are left out: only other words are suspicious.
        if word in training.reasons:
            continue
        label = int(best_labels[index])
        labels[key] = label
        strengths[key] = float(largest[index])
        weights[key] = float(training.n_texts[index])

        # A text is covered by a word of its own label alone.
        rows = training.list_rows(index)
        text_labels = training.labels[rows]
        rows_by_word.append(rows[text_labels == label])

    n_covered = count_covered(rows_by_word, len(training))
    min_covered = MIN_COVERAGE * len(training)
    if n_covered < min_covered:
        return None
    # The list has all of these words, not only the covering ones, because a text may have several.
    return WordList(labels, strengths, weights)


def compute_excess(training: TrainingTexts) -> Floats:
    r"""Return a lower bound of how much each word raises the share of each label.

    It is the 95 % bound of \((p - p_0) / (1 - p_0)\) for the share p of a label among the texts
    with a word, and its share \(p_0\) among all texts: 0 for a word without information, and 1 for
    a word that no text of another label has.

    Args:
        training: Labeled texts with V distinct words and K labels.

    Returns:
        (V, K) bounds.
    """
    shares = training.shares
    # (V, 1), so that it is combined with the shares of all labels.
    n_texts = training.n_texts[:, None]
    # Wilson's lower bound of p: three texts of one label do not show that no other text has the
    # word.
    squares = QUANTILE**2 / n_texts
    variances = shares * (1 - shares) / n_texts
    centers = shares + squares / 2
    squared_widths = QUANTILE**2 * variances + squares**2 / 4
    half_widths = np.sqrt(squared_widths)
    bounds = (centers - half_widths) / (1 + squares)

    distances = bounds - training.priors
    largest_distances = 1 - training.priors
    # If all texts have one label, the largest distance is 0.
    largest_distances = np.maximum(largest_distances, 1e-9)
    return np.asarray(distances / largest_distances)


def count_covered(rows_by_word: Sequence[Rows], n_texts: int) -> int:
    """Return how many texts contain at least one of the best `MAX_COVERING_WORDS` words.

    The words are selected greedily: the next one is always that with most uncovered texts.

    Args:
        rows_by_word: For each word, the rows of the texts that contain it.
        n_texts: Number of texts.

    Example:
        >>> count_covered([np.array([0, 1]), np.array([1, 2, 3]), np.array([2])], 5)
        4
    """
    is_uncovered = np.ones(n_texts, dtype=np.bool_)
    n_words = min(len(rows_by_word), MAX_COVERING_WORDS)
    # Upper bound of how many uncovered texts each word would cover.
    gains = np.array(list(map(len, rows_by_word)), dtype=np.int64)
    for _ in range(n_words):
        word = _find_best_word(gains, rows_by_word, is_uncovered)
        is_uncovered[rows_by_word[word]] = False
        gains[word] = 0
    n_uncovered = int(is_uncovered.sum())
    return n_texts - n_uncovered


def _find_best_word(
    gains: NDArray[np.int64],
    rows_by_word: Sequence[Rows],
    is_uncovered: NDArray[np.bool_],
) -> int:
    """Return the index of the word that covers most uncovered texts.

    Args:
        gains: Upper bound of how many uncovered texts each word covers. Bounds that turn out too
            large are lowered in place.
        rows_by_word: For each word, the rows of the texts that contain it.
        is_uncovered: (N,) whether a text is not yet covered.
    """
    # A gain only falls while texts are covered. So the word of the largest bound is the best as soon
    # as its bound is exact, and the gains of most words need not be computed again.
    while True:
        word = int(gains.argmax())
        rows = rows_by_word[word]
        gain = int(is_uncovered[rows].sum())
        if gain == gains[word]:
            return word
        gains[word] = gain

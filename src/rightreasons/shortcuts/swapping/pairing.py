"""Pair the words of a list with similar words of other labels, to be swapped one pair at a time.

`pair_words` is the entry point. A word without a similar one is paired with a neutral word.
"""

from __future__ import annotations

import math

from rightreasons.core.resampling import item_rng
from rightreasons.shortcuts.swapping.edits import Pair, draw_similar_neutral
from rightreasons.shortcuts.swapping.segments import get_kind
from rightreasons.shortcuts.swapping.training import TrainingTexts
from rightreasons.shortcuts.swapping.word_lists import MIN_STRENGTH, Key, WordList

MAX_PAIRS = 10
"""Number of word pairs of each list that are swapped one at a time."""

MAX_FREQUENCY_RATIO = 2.0
"""Two words form a pair if neither is more frequent among its label's texts than the other by more
than this."""


def pair_words(training: TrainingTexts, words: WordList, seed: int) -> list[Pair]:
    """Pair the first words of a list with similar ones of other labels, or with neutral words."""
    suspected = training.suspected
    order = sorted(words.labels, key=lambda key: key[1] not in suspected)
    paired: set[Key] = set()
    pairs: list[Pair] = []
    # Words that a user suspects come first, and beyond the usual number.
    n_suspected = 0
    for key in order:
        if key in paired:
            continue
        if len(pairs) >= MAX_PAIRS + n_suspected:
            break
        pair = _make_pair(training, words, key, paired, seed)
        if pair is not None:
            pairs.append(pair)
            n_suspected += bool(suspected & set(pair.words))
    return pairs


def _make_pair(
    training: TrainingTexts,
    words: WordList,
    key: Key,
    paired: set[Key],
    seed: int,
) -> Pair | None:
    """Return the pair of a word, and note its words as paired; None if there is no partner."""
    column, word = key
    label = words.labels[key]
    paired.add(key)
    partner = _find_partner(training, words, key, paired)
    if partner is not None:
        paired.add(partner)
        return Pair(column, (word, partner[1]), (label, words.labels[partner]))

    # The neutral partner is the same for all items, so that the pair has a name.
    rng = item_rng(seed, f"neutral {word}")
    neutral = draw_similar_neutral(training, key, rng)
    if neutral is None:
        return None
    return Pair(column, (word, neutral), (label, -1))


def _find_partner(
    training: TrainingTexts,
    words: WordList,
    key: Key,
    paired: set[Key],
) -> Key | None:
    """Return the word of another label that is most similar in coverage and strength, if any."""
    column, word = key
    coverage = _compute_coverage(training, words, key)
    strength = max(words.strengths[key], MIN_STRENGTH)
    distances = []
    for partner, label in words.labels.items():
        if label == words.labels[key] or partner in paired:
            continue
        if partner[0] != column or get_kind(partner[1]) != get_kind(word):
            continue
        ratio = _compute_coverage(training, words, partner) / coverage
        # A frequent word in place of a rare one would make texts that nobody writes.
        if 1 / MAX_FREQUENCY_RATIO <= ratio <= MAX_FREQUENCY_RATIO:
            strength_ratio = max(words.strengths[partner], MIN_STRENGTH) / strength
            distance = abs(math.log(ratio)) + abs(math.log(strength_ratio))
            distances.append((distance, partner))
    return min(distances)[1] if distances else None


def _compute_coverage(training: TrainingTexts, words: WordList, key: Key) -> float:
    """Return a word's frequency relative to that of its label."""
    # In a file with one positive text in ten, a cue of positive texts is in a tenth of all.
    prior = float(training.priors[words.labels[key]])
    return training.get_frequency(key) / max(prior, 1e-9)

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
"""Largest ratio of the frequencies of two words of a pair, each among the texts of its label."""


def pair_words(training: TrainingTexts, words: WordList, seed: int) -> list[Pair]:
    """Pair the strongest words of a list with similar words of other labels.

    A word without a similar one is paired with a neutral word. There are at most `MAX_PAIRS` pairs,
    not counting those of words that a user suspects, which come first.

    Args:
        training: Labeled texts, with the suspected words.
        words: List of words, the strongest of each label first.
        seed: Seed of the draw of neutral words.
    """
    suspected = training.suspected
    # The sort is stable, so that all other words keep the order of the list.
    ordered_keys = sorted(words.labels, key=lambda key: key[1] not in suspected)
    paired_keys: set[Key] = set()
    pairs: list[Pair] = []
    n_suspected_pairs = 0
    for key in ordered_keys:
        # The word may be the partner of an earlier one.
        if key in paired_keys:
            continue
        if len(pairs) >= MAX_PAIRS + n_suspected_pairs:
            break
        pair = _make_pair(training, words, key, paired_keys, seed)
        if pair is not None:
            pairs.append(pair)
            n_suspected_pairs += bool(suspected & set(pair.words))
    return pairs


def _make_pair(
    training: TrainingTexts,
    words: WordList,
    key: Key,
    paired_keys: set[Key],
    seed: int,
) -> Pair | None:
    """Pair a word with a similar word of another label, or else with a neutral word.

    Args:
        training: Labeled texts, which offer neutral words.
        words: List of words from which the partner is taken.
        key: Column (0, or 1 for second texts) and lower-case word.
        paired_keys: Words that have a partner already. The word and its partner are added.
        seed: Seed of the draw of a neutral word.

    Returns:
        The pair; None if no word of the list is similar, and no neutral word is as frequent.
    """
    column, word = key
    label = words.labels[key]
    paired_keys.add(key)
    partner = _find_partner(training, words, key, paired_keys)
    if partner is not None:
        paired_keys.add(partner)
        _, partner_word = partner
        return Pair(column, (word, partner_word), (label, words.labels[partner]))

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
    paired_keys: set[Key],
) -> Key | None:
    """Find the listed word of another label that is most similar in frequency and strength.

    A partner is in the same column, of the same kind (word, number or mark), and at most
    `MAX_FREQUENCY_RATIO` times as frequent or as rare.

    Args:
        training: Labeled texts, with the frequencies.
        words: List of words, with the label and the strength of each.
        key: Column and word for which a partner is sought.
        paired_keys: Words that have a partner already, and are excluded.

    Returns:
        Column and word of the partner; None if there is none.
    """
    column, word = key
    coverage = _compute_coverage(training, words, key)
    strength = max(words.strengths[key], MIN_STRENGTH)
    candidates = []
    for partner, label in words.labels.items():
        partner_column, partner_word = partner
        if label == words.labels[key] or partner in paired_keys:
            continue
        if partner_column != column or get_kind(partner_word) != get_kind(word):
            continue
        # A frequent word instead of a rare one would make unnatural texts.
        ratio = _compute_coverage(training, words, partner) / coverage
        if 1 / MAX_FREQUENCY_RATIO <= ratio <= MAX_FREQUENCY_RATIO:
            strength_ratio = max(words.strengths[partner], MIN_STRENGTH) / strength
            distance = abs(math.log(ratio)) + abs(math.log(strength_ratio))
            candidates.append((distance, partner))
    if not candidates:
        return None
    # Ties are broken by column and word, in alphabetical order.
    _, nearest = min(candidates)
    return nearest


def _compute_coverage(training: TrainingTexts, words: WordList, key: Key) -> float:
    """Return the number of texts with a word, divided by the share of the label that it predicts.

    Words of a rare label are in fewer texts, although they may be in as large a part of the texts
    of their label.
    """
    prior = float(training.priors[words.labels[key]])
    return training.get_frequency(key) / max(prior, 1e-9)

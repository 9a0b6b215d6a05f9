"""Words of a single label that are in most texts are one feature, and decide what they really do."""

import itertools

import numpy as np
import pytest

from rightreasons.core.intervals import wilson
from rightreasons.shortcuts.judging import Judge, conclude
from rightreasons.shortcuts.swapping.exclusive import (
    MAX_COVERING_WORDS,
    QUANTILE,
    compute_excess,
    count_covered,
    list_exclusive_words,
)
from rightreasons.shortcuts.swapping.training import TrainingTexts
from shortcuts.planted_models import WORDS, draw_texts, insert, measure_rule, read_content

NOUNS = tuple(f"{word}ium" for word in WORDS[:24])
WEIGHT = 1.7
"""The content of a text has log-odds of standard deviation sqrt(14): this weight beats a third."""


def plant_noun(text, label, rng):
    return insert(text, NOUNS[2 * int(rng.integers(12)) + label], rng)


def prefer_noun(text):
    words = set(text.split())
    return WEIGHT * (len(words & {*NOUNS[1::2]}) - len(words & {*NOUNS[::2]})) + read_content(text)


def find_row(measured):
    return next(row for row in measured.rows if row.test == "exclusive words")


def test_a_set_of_words_that_decides_a_third_is_named_with_the_true_share():
    measured = measure_rule(prefer_noun, plant_noun, n_items=400)

    row = find_row(measured)
    # The truth: both nouns of a pair are planted into the same texts.
    texts, _ = draw_texts(400, 1)
    decided = [abs(read_content(text)) < WEIGHT for text in texts]
    assert 0.3 < np.mean(decided) < 0.4
    assert row.effect.interval.low <= np.mean(decided) <= row.effect.interval.high
    assert row.is_decisive
    assert set(row.words) <= set(NOUNS)
    assert conclude(measured, Judge()) == "named"


def test_a_set_of_words_that_a_reader_ignores_decides_nothing():
    measured = measure_rule(read_content, plant_noun, n_items=600)

    assert find_row(measured).decision.level == "small"


def test_texts_without_a_cue_have_no_exclusive_words():
    measured = measure_rule(read_content)

    assert "exclusive words" in measured.untested


def test_words_that_are_called_reasons_do_not_cover():
    texts, labels = draw_texts(800, 1, plant_noun)

    assert list_exclusive_words(TrainingTexts([texts], labels, 2)) is not None
    assert list_exclusive_words(TrainingTexts([texts], labels, 2, reasons=NOUNS)) is None


def test_the_excess_is_the_bound_of_wilson_beyond_the_prior():
    texts = ["a b", "a b", "a", "b", "b c", "c"]
    training = TrainingTexts([texts], np.array([0, 0, 1, 1, 1, 1]), 2)

    excess = compute_excess(training)

    # "a" is in two texts of label 0 and one of label 1; a third of all texts have label 0.
    level = 0.9
    low = wilson(2, 3, confidence_level=level).low
    assert pytest.approx(1.645, abs=1e-3) == QUANTILE
    assert excess[training.index[0, "a"], 0] == pytest.approx((low - 1 / 3) / (2 / 3), abs=1e-3)


def test_the_covering_words_are_those_of_the_greedy_algorithm():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n_texts = 30
        sets = [np.flatnonzero(rng.random(n_texts) < 0.1) for _ in range(12)]
        uncovered = set(range(n_texts))
        for _ in itertools.repeat(None, MAX_COVERING_WORDS):
            best = max(sets, key=lambda rows: len(uncovered & set(rows.tolist())))
            uncovered -= set(best.tolist())

        # Whatever the order of ties, all words together are fewer than the limit.
        assert count_covered(sets, n_texts) == n_texts - len(uncovered)
    # A hundred words of a text each: only the first eighty count.
    assert count_covered([np.array([row]) for row in range(100)], 100) == MAX_COVERING_WORDS

"""Words that give the labels of texts away, by an exact test of every word."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.word_cues import measure_word_cues


def make_texts(n_with, n_of_label, n_others):
    """Texts with a word, some of label 1; others have a word of their own, half of label 1."""
    texts = ["cue"] * n_with + ["other"] * n_others
    labels = [1] * n_of_label + [0] * (n_with - n_of_label) + [0, 1] * (n_others // 2)
    return texts, labels


def test_the_p_value_is_that_of_the_binomial_law_with_holms_correction():
    texts, labels = make_texts(n_with=14, n_of_label=13, n_others=20)

    found = measure_word_cues(texts, labels, ["a", "b"])

    # 23 of 34 labels are 1. Four pairs are tested: cue and other, with either label. Of all pairs, the
    # cue with label 1 has the smallest p-value, so that Holm multiplies it by four.
    p_value = stats.binom.sf(12, 14, 23 / 34)
    assert 4 * p_value > 0.05
    assert found.cues == ()
    assert (found.n_words, found.n_texts) == (2, 34)
    (cue,) = measure_word_cues(texts, labels, ["a", "b"], resampling=Resampling(level=0.8)).cues
    assert (cue.word, cue.label, cue.n_texts, cue.share) == ("cue", "b", 14, 13 / 14)
    assert cue.prior == 23 / 34
    assert cue.p_value == pytest.approx(4 * p_value, rel=1e-12)


def test_a_word_of_a_single_text_is_no_cue_of_a_rare_label():
    # The normal approximation has z = 10 here; the exact chance is that of the label, 1 of 100, for
    # each of 100 words.
    texts = [f"word{number}" for number in range(100)]
    labels = [1] + [0] * 99

    assert measure_word_cues(texts, labels, ["a", "b"]).cues == ()


def test_repetitions_in_a_text_count_once():
    texts, labels = make_texts(n_with=40, n_of_label=40, n_others=40)
    repeated = [f"{text} {text} {text}" for text in texts]

    assert measure_word_cues(repeated, labels, ["a", "b"]) == measure_word_cues(
        texts, labels, ["a", "b"]
    )


def test_rare_words_are_left_out_of_the_tests():
    texts, labels = make_texts(n_with=40, n_of_label=40, n_others=40)
    texts[-1] = "once"

    assert measure_word_cues(texts, labels, ["a", "b"]).n_words == 3
    assert measure_word_cues(texts, labels, ["a", "b"], min_texts=2).n_words == 2


def test_words_are_seldom_found_in_random_labels():
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(60):
        texts = [" ".join(f"w{word}" for word in rng.integers(30, size=6)) for _ in range(80)]
        labels = rng.integers(3, size=80)
        n_found += bool(measure_word_cues(texts, labels, ["a", "b", "c"]).cues)

    # At most .05 of 60, and 9 or more with a chance of .003.
    assert n_found < 9

"""Texts must predict the label without the words that are no reasons."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.repairs.other_signal import NaiveBayes, check_other_signal, enumerate_words
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.segments import Segmenter

WORDS = SpuriousWords({"copper": 0, "marble": 1}, 2)


def make_training(items, labels):
    return SimpleNamespace(
        items=items,
        labels=np.array(labels),
        label_names=("negative", "positive"),
        segmenter=Segmenter(),
    )


def test_chances_of_words_and_of_pairs_of_words_have_one_text_added_to_both_outcomes():
    items = [("good film",), ("good plot",), ("bad film",), ("bad film",), ("bad plot",)]
    classifier = NaiveBayes(Segmenter(), items, np.array([1, 1, 0, 0, 0]), n_classes=2)

    # 3 and 2 of 5 texts, one more each.
    assert np.exp(classifier.log_priors) == pytest.approx([4 / 7, 3 / 7])
    # "good" is in 0 of 3 and 2 of 2 texts, "bad film" in 2 of 3 and 0 of 2.
    assert np.exp(classifier.log_chances["good"]) == pytest.approx([1 / 5, 3 / 4])
    assert np.exp(classifier.log_chances["bad film"]) == pytest.approx([3 / 5, 1 / 4])
    # "good plot" is in a single text.
    assert "good plot" not in classifier.log_chances
    assert classifier.predict([("good film",), ("bad plot",), ("unseen",)]).tolist() == [1, 0, 0]


def test_texts_that_predict_the_label_without_the_words_pass():
    labels = [0, 1] * 40
    items = [(f"{('copper', 'marble')[k]} {('dull', 'fine')[k]} film",) for k in labels]

    check_other_signal(make_training(items, labels), WORDS)


def test_texts_that_say_nothing_without_the_words_are_refused():
    labels = [0, 1] * 40
    items = [(f"{('copper', 'marble')[k]} film",) for k in labels]

    with pytest.raises(OptionError, match="no other signal remains") as error:
        check_other_signal(make_training(items, labels), WORDS)

    assert error.value.option == ("not_reasons",)


def test_a_good_classifier_of_few_texts_may_be_chance():
    # Of 16 texts 4 are tested, two or more of each label. If all are classified correctly, p is at
    # least (1/2)^4 = .06.
    labels = [0, 1] * 8
    items = [(f"{('copper', 'marble')[k]} {('dull', 'fine')[k]} film",) for k in labels]

    with pytest.raises(OptionError, match="no other signal remains"):
        check_other_signal(make_training(items, labels), WORDS)


def test_an_error_names_four_words_and_the_number_of_the_others():
    four = {"w0": 0, "w1": 1, "w2": 0, "w3": 1}
    assert enumerate_words(SpuriousWords(four, 2)) == "'w0', 'w1', 'w2', 'w3'"
    six = {**four, "w4": 0, "w5": 1}
    assert enumerate_words(SpuriousWords(six, 2)) == "'w0', 'w1', 'w2', 'w3' and 2 more"

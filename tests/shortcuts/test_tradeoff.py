"""Score over shortcut rate: the arithmetic of the paper's Table 3, averages, intervals and bad input."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from rightreasons.core.classification import classification_scores
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff


# Bihani and Rayz 2025, Table 3, cells P_sc (%) / T_sc; the F1 is what the two imply (P_sc * T_sc = F1).
#   ALBERT, AG News:  92.11 * 1.02 = 93.95
#   RoBERTa, SST-2:   84.52 * 1.11 = 93.82
#   RoBERTa, TREC:    84.52 * 0.82 = 69.31
@pytest.mark.parametrize(
    ("f1", "rate", "ratio"), [(93.95, 92.11, 1.02), (93.82, 84.52, 1.11), (69.31, 84.52, 0.82)]
)
def test_table_3_is_f1_over_rate(f1, rate, ratio):
    n_items = 10_000
    predictions = np.where(
        np.arange(n_items) < round(100 * f1), 0, 1
    )  # micro F1 of one label is the share that is right
    cued = np.arange(n_items) < round(100 * rate)
    result = shortcut_tradeoff(
        predictions,
        np.zeros(n_items, dtype=int),
        cued,
        average="micro",
        resampling=Resampling(resamples=20),
    )
    assert result.score == pytest.approx(f1 / 100)
    assert result.shortcut_rate == pytest.approx(rate / 100)
    assert round(result.shortcut_tradeoff, 2) == ratio


@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "binary"])
def test_scores_equal_those_of_classification_and_scikit_learn(average):
    rng = np.random.default_rng(0)
    n_classes = 2 if average == "binary" else 4
    labels, predictions = rng.integers(n_classes, size=(2, 300))
    labels[labels == 3] = 2  # a class that is predicted alone counts as well
    cued = rng.random(300) < 0.4
    result = shortcut_tradeoff(
        predictions, labels, cued, average=average, resampling=Resampling(resamples=50)
    )
    assert result.score == pytest.approx(
        classification_scores(predictions, labels, average=average).f1
    )
    assert result.score == pytest.approx(f1_score(labels, predictions, average=average))
    assert result.shortcut_tradeoff == pytest.approx(result.score / cued.mean())


def test_interval_agrees_with_a_bootstrap_over_rows():
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=400)
    predictions = np.where(rng.random(400) < 0.8, labels, 1 - labels)
    cued = rng.random(400) < 0.5
    result = shortcut_tradeoff(predictions, labels, cued, resampling=Resampling(resamples=4000))
    drawn = []
    for _ in range(1500):
        rows = rng.integers(400, size=400)
        drawn.append(f1_score(labels[rows], predictions[rows], average="macro") / cued[rows].mean())
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert result.interval.low == pytest.approx(low, abs=0.03)
    assert result.interval.high == pytest.approx(high, abs=0.04)
    assert result.interval.low < result.shortcut_tradeoff < result.interval.high


def test_items_that_all_agree_leave_a_width():
    result = shortcut_tradeoff([0] * 6, [0] * 6, [True] * 6)
    assert result.shortcut_tradeoff == 1
    assert result.interval.low < 1 <= result.interval.high


def test_without_shortcuts_there_is_nothing_to_divide_by():
    result = shortcut_tradeoff([0, 1], [0, 1], [False, False])
    assert (result.shortcut_tradeoff, result.interval, result.score, result.shortcut_rate) == (
        None,
        None,
        1.0,
        0.0,
    )


def test_an_interval_without_an_upper_end_is_none():
    # One of ten is cued: 0.9^10 = 35 % of the resamples have none.
    result = shortcut_tradeoff([0, 1] * 5, [0, 1] * 5, [True] + [False] * 9)
    assert result.shortcut_tradeoff == 10.0
    assert result.interval is None


def test_binary_f1_without_class_1_is_undefined():
    result = shortcut_tradeoff([0, 0], [0, 0], [True, False], average="binary")
    assert (result.shortcut_tradeoff, result.score, result.interval) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (
            {"cued": [True]},
            ValueError,
            "`predictions`, `references`",
        ),
        (
            {"cued": [1, 0.5]},
            TypeError,
            "False in `cued`",
        ),
        (
            {"predictions": [0, 2], "n_classes": 2},
            ValueError,
            "`predictions` to be between 0",
        ),
        ({"references": [0.5, 1]}, ValueError, "Expected whole numbers in `references`"),
        (
            {"references": []},
            ValueError,
            "in `references`",
        ),
        ({"average": "marco"}, ValueError, "Did you mean 'macro'?"),
        (
            {"references": [0, 2], "average": "binary"},
            ValueError,
            "for average='binary'",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(change, error, sentence):
    inputs = {"predictions": [0, 1], "references": [0, 1], "cued": [True, False], **change}
    with pytest.raises(error) as caught:
        shortcut_tradeoff(**inputs)
    assert sentence in str(caught.value)


def test_resamples_without_a_rare_class_do_not_raise_macro_f1():
    # Two items of class 2, both wrong: F1 is 1, 36/38 and 0, on average .649. Over two classes it would be near 1.
    gold = [0] * 40 + [1] * 18 + [2] * 2
    predicted = [0] * 40 + [1] * 20
    result = shortcut_tradeoff(predicted, gold, [True] * 60)
    assert result.score == pytest.approx((1 + 36 / 38 + 0) / 3)
    assert result.interval.low < result.score < result.interval.high < 0.9


def test_a_rare_class_without_errors_may_err():
    result = shortcut_tradeoff(
        [0] * 40 + [1] * 18 + [2] * 2, [0] * 40 + [1] * 18 + [2] * 2, [True] * 60
    )
    assert result.score == 1
    assert result.interval.low < 0.9


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_n_classes_are_the_labels_of_scikit_learn(average, n_classes):
    rng = np.random.default_rng(3)
    labels, predictions = rng.integers(2, size=(2, 90))
    cued = rng.random(90) < 0.4

    result = shortcut_tradeoff(
        predictions,
        labels,
        cued,
        average=average,
        n_classes=n_classes,
        resampling=Resampling(resamples=50),
    )

    expected = f1_score(
        labels, predictions, average=average, labels=range(n_classes), zero_division=0
    )
    assert result.score == pytest.approx(expected)
    assert result.interval.low < result.shortcut_tradeoff < result.interval.high


def test_a_class_that_never_occurs_has_an_f1_of_zero():
    flags = [True, True]

    assert shortcut_tradeoff([0, 1], [0, 1], flags).score == 1
    # Two classes of F1 1, and one of F1 0.
    assert shortcut_tradeoff([0, 1], [0, 1], flags, n_classes=3).score == pytest.approx(2 / 3)

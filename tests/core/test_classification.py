"""Accuracy and F1 against scikit-learn; classes that never occur; bad input."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from rightreasons.core.classification import (
    accuracy,
    classification_scores,
    compute_macro_f1,
    label_errors,
)
from rightreasons.core.resampling import Resampling


def items(n=200, k=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    return np.where(rng.random(n) < 0.6, labels, rng.integers(0, k, n)), labels


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("k", [2, 4])
def test_sklearn(average, k):
    predictions, labels = items(k=k)
    result = classification_scores(predictions, labels, average=average)
    assert result.accuracy == pytest.approx(accuracy_score(labels, predictions))
    assert result.f1 == pytest.approx(f1_score(labels, predictions, average=average))
    assert result.class_f1 == pytest.approx(f1_score(labels, predictions, average=None))
    assert accuracy(predictions, labels) == result.accuracy


def test_sklearn_binary():
    predictions, labels = items(k=2)
    assert classification_scores(predictions, labels, average="binary").f1 == pytest.approx(
        f1_score(labels, predictions)
    )


def test_classes_that_never_occur():
    # Class 2 of three has neither item nor prediction: no F1, and the macro average leaves it out.
    result = classification_scores([0, 1, 1], [0, 1, 0], n_classes=3)
    assert result.class_f1[2] is None
    assert result.f1 == pytest.approx((2 / 3 + 2 / 3) / 2)
    # Class 1 has items but is never predicted.
    result = classification_scores([0, 0], [0, 1])
    assert result.class_f1[1] == 0
    assert classification_scores([0, 0], [0, 0], average="binary").f1 is None
    json.dumps(result.to_dict())


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda: classification_scores([0, 3], [0, 1], n_classes=2),
            ValueError,
            "label in `predictions` .* item 1 is 3",
        ),
        (
            lambda: classification_scores([0, 1], [0, -1]),
            ValueError,
            "label in `references` to be between 0 and 9999",
        ),
        (lambda: classification_scores([0, 1], [0]), ValueError, "one length, but got 2 and 1"),
        (lambda: classification_scores([0.5], [0]), ValueError, "whole numbers in `predictions`"),
        (lambda: classification_scores([], []), ValueError, "empty"),
        (
            lambda: classification_scores([0], [0], average="Macro"),
            ValueError,
            "Did you mean 'macro'",
        ),
        (
            lambda: classification_scores([0], [2], average="binary"),
            ValueError,
            "two classes for average='binary', but got 3",
        ),
        (
            lambda: classification_scores([0], [0], n_classes=1),
            ValueError,
            "`n_classes` to be at least 2",
        ),
    ],
)
def test_bad_input(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


def macro_f1_interval(predictions, labels, resampling=Resampling()):
    return compute_macro_f1(np.array(predictions), np.array(labels), resampling)[1]


class TestMacroF1Interval:
    def test_a_class_of_two_items_may_err_though_it_never_did(self):
        # All right: the bootstrap alone would give [1, 1].
        interval = macro_f1_interval([0] * 98 + [1, 1], [0] * 98 + [1, 1])
        # The posterior of class 1 has 2 + 1/2 hits, and a half for a miss of its own and one of class 0.
        assert interval.low < 0.9
        assert interval.high == 1

    def test_it_holds_the_figure_and_does_not_depend_on_names(self):
        predictions, labels = [0, 1, 1, 2, 2, 2, 0, 1], [0, 1, 2, 2, 2, 1, 0, 1]
        interval = macro_f1_interval(predictions, labels)
        value = classification_scores(predictions, labels).f1
        assert interval.low < value < interval.high
        # Classes that do not occur change nothing, as the mean is over those that do; nor do they take memory.
        apart = [10**6 * each for each in predictions], [10**6 * each for each in labels]
        assert macro_f1_interval(*apart) == interval

    def test_a_class_alone_and_a_model_that_is_always_wrong(self):
        alone = macro_f1_interval([3] * 12, [3] * 12)
        assert (alone.low < 1, alone.high) == (True, 1)
        wrong = macro_f1_interval([0] * 6, [1] * 6)
        assert (wrong.low, wrong.high > 0) == (0, True)

    def test_many_items_leave_the_width_of_the_bootstrap(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(3, size=4000)
        predictions = np.where(rng.random(4000) < 0.8, labels, (labels + 1) % 3)
        interval = macro_f1_interval(predictions, labels)
        # F1 is near 0.8, whose binomial interval has the width 2 * 1.96 * sqrt(.16 / 4000) = 0.0248.
        assert interval.high - interval.low == pytest.approx(0.0248, rel=0.25)

    def test_it_is_seeded_and_its_level_counts(self):
        items = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1]
        assert macro_f1_interval(*items) == macro_f1_interval(*items)
        wide, narrow = (
            macro_f1_interval(*items, resampling=Resampling(level=level)) for level in (0.99, 0.5)
        )
        assert wide.high - wide.low > narrow.high - narrow.low


def test_labels_that_a_model_contradicts():
    # Usual confidence: class 0 (.9 + .8 + .3) / 3 = .667, class 1 (.9 + .05 + .55) / 3 = .5, class 2 has no item.
    probabilities = [
        [0.9, 0.05, 0.05],
        [0.8, 0.2, 0],
        [0.3, 0.6, 0.1],
        [0.1, 0.9, 0],
        [0.95, 0.05, 0],
        [0.4, 0.55, 0.05],
    ]
    labels = [0, 0, 0, 1, 1, 1]
    assert label_errors(probabilities, labels).tolist() == [4, 2]  # .05 before .3
    assert (
        label_errors([[0.6, 0.4], [0.5, 0.5]], [0, 0]).tolist() == []
    )  # nothing is confidently of a class without items
    with pytest.raises(ValueError, match="probabilities"):
        label_errors([[0.6, 0.4], [0.5, 0.6]], [0, 0])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_cleanlab(k):
    count = pytest.importorskip("cleanlab.count")
    rng = np.random.default_rng(k)
    for n in (20, 200):
        probabilities = rng.dirichlet(np.full(k, 0.7), size=n)
        labels = np.array([rng.choice(k, p=row) for row in probabilities])
        _, rows = count.compute_confident_joint(
            labels, probabilities, return_indices_of_off_diagonals=True, calibrate=False
        )
        assert sorted(label_errors(probabilities, labels).tolist()) == sorted(rows)


def test_very_many_clusters_are_drawn_in_groups():
    # Of one item each they are items, whose cells are drawn without clusters.
    rng = np.random.default_rng(3)
    labels = rng.choice(3, size=7001, p=[0.6, 0.3, 0.1])
    predicted = np.where(rng.random(7001) < 0.8, labels, rng.choice(3, size=7001))
    how = Resampling(resamples=2000)
    value, alone = compute_macro_f1(predicted, labels, how)
    again, grouped = compute_macro_f1(predicted, labels, how, np.arange(7001))
    assert again == value
    assert grouped.low == pytest.approx(alone.low, abs=0.1 * (alone.high - alone.low))
    assert grouped.high == pytest.approx(alone.high, abs=0.1 * (alone.high - alone.low))

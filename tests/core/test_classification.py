"""Accuracy, F1 and label errors: against scikit-learn, cleanlab, plain loops, and by hand."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from rightreasons.core import classification as classification_module
from rightreasons.core.classification import (
    accuracy,
    classification_scores,
    compute_macro_f1,
    label_errors,
)
from rightreasons.core.errors import OptionError
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff


def draw_items(n=200, k=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    predictions = np.where(rng.random(n) < 0.6, labels, rng.integers(0, k, n))
    return predictions, labels


class TestScores:
    @pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
    @pytest.mark.parametrize("k", [2, 4])
    def test_they_agree_with_scikit_learn(self, average, k):
        predictions, labels = draw_items(k=k)

        result = classification_scores(predictions, labels, average=average)

        assert result.accuracy == pytest.approx(accuracy_score(labels, predictions))
        assert result.f1 == pytest.approx(f1_score(labels, predictions, average=average))
        assert result.class_f1 == pytest.approx(f1_score(labels, predictions, average=None))
        assert (result.average, result.n_items) == (average, 200)
        assert accuracy(predictions, labels) == result.accuracy

    def test_binary_f1_agrees_with_scikit_learn(self):
        predictions, labels = draw_items(k=2)

        result = classification_scores(predictions, labels, average="binary")

        assert result.f1 == pytest.approx(f1_score(labels, predictions))

    def test_a_class_that_never_occurs_has_no_f1(self):
        # Classes 0 and 1 have one hit in three labels and predictions each.
        result = classification_scores([0, 1, 1, 3], [0, 1, 0, 3])

        assert result.class_f1 == (2 / 3, 2 / 3, None, 1)
        assert result.f1 == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)

    @pytest.mark.parametrize("n_classes", [None, 3, 5])
    @pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
    def test_a_class_that_never_occurs_counts_as_in_scikit_learn_and_in_the_tradeoff(
        self, average, n_classes
    ):
        predictions, labels = draw_items(k=2)
        options = {"average": average, "n_classes": n_classes}

        f1 = classification_scores(predictions, labels, **options).f1
        tradeoff = shortcut_tradeoff(predictions, labels, [True] * len(labels), **options)

        # Without `labels`, the mean is over the classes that occur; with it, over all of them.
        classes = None if n_classes is None else range(n_classes)
        expected = f1_score(labels, predictions, average=average, labels=classes, zero_division=0)
        assert f1 == pytest.approx(expected)
        assert tradeoff.score == pytest.approx(f1)

    def test_a_class_that_is_never_predicted_has_an_f1_of_0(self):
        result = classification_scores([0, 0], [0, 1])

        assert result.class_f1 == (pytest.approx(2 / 3), 0)
        json.dumps(result.to_dict())

    def test_the_binary_f1_is_that_of_class_1(self):
        assert classification_scores([0, 0], [0, 0], average="binary").f1 is None
        assert classification_scores([0, 1], [0, 1], average="binary").f1 == 1

    def test_there_are_at_least_two_classes(self):
        assert classification_scores([0], [0]).class_f1 == (1, None)
        assert classification_scores([0], [0], n_classes=2).class_f1 == (1, None)

    def test_the_largest_class_may_be_a_label_or_a_prediction(self):
        assert len(classification_scores([2, 0], [0, 0]).class_f1) == 3
        assert len(classification_scores([0, 0], [0, 2]).class_f1) == 3

    @pytest.mark.parametrize(
        ("arguments", "kind", "option", "words"),
        [
            (([0, 3], [0, 1], {"n_classes": 2}), ValueError, None, "item 1 is 3"),
            (([0, 1], [0, -1], {}), ValueError, None, "item 1 is -1"),
            (([0, 1], [0, 10_000], {}), ValueError, None, "9999"),
            (([0, 1], [0], {}), ValueError, None, "one length"),
            (([0.5], [0], {}), ValueError, None, "whole numbers"),
            (([], [], {}), ValueError, None, "empty"),
            (([0], [0], {"average": "Macro"}), OptionError, ("average",), "'macro'"),
            (([0], [2], {"average": "binary"}), OptionError, ("average",), "two classes"),
            (([0], [0], {"n_classes": 1}), OptionError, ("n_classes",), "at least 2"),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments, kind, option, words):
        predictions, references, options = arguments

        with pytest.raises(kind, match=words) as error:
            classification_scores(predictions, references, **options)

        assert getattr(error.value, "option", None) == option

    def test_the_accuracy_needs_as_many_labels_as_predictions(self):
        with pytest.raises(ValueError, match="one length"):
            accuracy([0, 1, 1], [0, 1])


def macro_f1_of_table(table):
    """Return the mean F1 of a table of labels by predictions, over the classes that it has."""
    f1 = []
    for k in range(len(table)):
        total = table[k].sum() + table[:, k].sum()
        f1.append(2 * table[k, k] / total if total else 0.0)
    return np.mean(f1)


def macro_f1_by_a_plain_loop(predicted, labels, resampling, codes=None):
    """Compute the macro F1 of classes 0 to K - 1, which all occur, and its ends."""
    n_items = len(labels)
    k = max(labels.max(), predicted.max()) + 1
    observed = np.zeros((k, k))
    np.add.at(observed, (labels, predicted), 1)
    value = macro_f1_of_table(observed)
    # Half an item of each class is correct, and half is taken for the next class.
    prior = (np.eye(k) + np.roll(np.eye(k), 1, axis=1)) / 2
    used = (observed > 0) | (prior > 0)

    def table_of(counts):
        table = np.zeros((k, k))
        table[used] = counts
        return table

    rng = np.random.default_rng(resampling.seed)
    resamples = []
    n_units = n_items if codes is None else codes.max() + 1
    for _ in range(resampling.resamples):
        if codes is None:
            counts = rng.multinomial(n_items, observed[used] / n_items)
            resamples.append(macro_f1_of_table(table_of(counts)))
            continue
        copies = rng.multinomial(n_units, np.full(n_units, 1 / n_units))
        table = np.zeros((k, k))
        np.add.at(table, (labels, predicted), copies[codes])
        resamples.append(macro_f1_of_table(table))
    posterior = []
    for _ in range(resampling.resamples):
        weights = observed * n_units / n_items + prior
        posterior.append(macro_f1_of_table(table_of(rng.standard_gamma(weights[used]))))

    # The bias-corrected percentile interval, with ties by half.
    resamples = np.array(resamples)
    n_below = (resamples < value - 1e-12).sum() + (np.abs(resamples - value) <= 1e-12).sum() / 2
    margin = 1 / (len(resamples) + 1)
    z0 = stats.norm.ppf(np.clip(n_below / len(resamples), margin, 1 - margin))
    tails = np.array([1 - resampling.level, 1 + resampling.level]) / 2
    corrected = np.quantile(resamples, stats.norm.cdf(2 * z0 + stats.norm.ppf(tails)))
    likely = np.quantile(posterior, tails)
    return value, min(value, corrected[0], likely[0]), max(value, corrected[1], likely[1])


class TestMacroF1:
    resampling = Resampling(level=0.8, resamples=60, seed=3)

    @pytest.mark.parametrize("k", [2, 3, 6])
    @pytest.mark.parametrize("is_clustered", [False, True])
    def test_by_a_plain_loop(self, k, is_clustered):
        predicted, labels = draw_items(n=40, k=k, seed=k)
        codes = np.arange(40) // 3 if is_clustered else None

        value, interval = compute_macro_f1(predicted, labels, self.resampling, codes)

        expected = macro_f1_by_a_plain_loop(predicted, labels, self.resampling, codes)
        assert (value, interval.low, interval.high) == pytest.approx(expected)
        assert (interval.confidence_level, interval.n_resamples) == (0.8, 60)

    @pytest.mark.parametrize("predicted", [[0] * 8 + [1] * 2, [1] * 8 + [0] * 2])
    def test_a_model_that_is_always_or_never_correct_by_a_plain_loop(self, predicted):
        labels = np.array([0] * 8 + [1] * 2)

        value, interval = compute_macro_f1(np.array(predicted), labels, self.resampling)

        expected = macro_f1_by_a_plain_loop(np.array(predicted), labels, self.resampling)
        assert (value, interval.low, interval.high) == pytest.approx(expected)

    def test_draws_do_not_depend_on_how_many_fit_into_memory(self, monkeypatch):
        predicted, labels = draw_items(n=40, k=3)
        whole = compute_macro_f1(predicted, labels, self.resampling)
        monkeypatch.setattr(classification_module, "_MAX_DRAWN_CELLS", 100)

        assert compute_macro_f1(predicted, labels, self.resampling) == whole

    def test_a_class_of_two_items_may_err_though_it_never_did(self):
        labels = np.array([0] * 98 + [1, 1])

        _, interval = compute_macro_f1(labels, labels, Resampling())

        # The bootstrap alone would give [1, 1]. The posterior of class 1 has 2 + 1/2 hits, and a
        # half for a miss of its own and one of class 0.
        assert interval.low < 0.9
        assert interval.high == 1

    def test_classes_that_do_not_occur_change_nothing(self):
        predicted = np.array([0, 1, 1, 2, 2, 2, 0, 1])
        labels = np.array([0, 1, 2, 2, 2, 1, 0, 1])

        value, interval = compute_macro_f1(predicted, labels, Resampling())

        assert value == pytest.approx(classification_scores(predicted, labels).f1)
        assert interval.low < value < interval.high
        # Nor do they take memory.
        apart = compute_macro_f1(10**6 * predicted, 10**6 * labels, Resampling())
        assert apart == (value, interval)

    def test_the_only_class_may_be_taken_for_another(self):
        labels = np.full(12, 3)

        _, interval = compute_macro_f1(labels, labels, Resampling())

        assert interval.low < 1
        assert interval.high == 1

    def test_many_items_leave_the_width_of_the_bootstrap(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(3, size=4000)
        predictions = np.where(rng.random(4000) < 0.8, labels, (labels + 1) % 3)

        _, interval = compute_macro_f1(predictions, labels, Resampling())

        # F1 is near 0.8, whose binomial interval has the width 2 * 1.96 * sqrt(.16 / 4000).
        assert interval.high - interval.low == pytest.approx(0.0248, rel=0.25)

    def test_very_many_clusters_are_drawn_in_groups(self, monkeypatch):
        # Clusters of one item each are items, whose cells are drawn without clusters.
        monkeypatch.setattr(classification_module, "MAX_UNITS", 3000)
        predicted, labels = draw_items(n=3001, k=3)
        resampling = Resampling(resamples=2000)

        value, single = compute_macro_f1(predicted, labels, resampling)
        grouped_value, grouped = compute_macro_f1(predicted, labels, resampling, np.arange(3001))

        assert grouped_value == value
        tolerance = 0.1 * (single.high - single.low)
        assert grouped.low == pytest.approx(single.low, abs=tolerance)
        assert grouped.high == pytest.approx(single.high, abs=tolerance)


class TestLabelErrors:
    def test_by_hand(self):
        # Usual confidence: class 0 (.9 + .8 + .3) / 3 = .667, class 1 (.9 + .05 + .55) / 3 = .5,
        # class 2 has no item.
        probabilities = [
            [0.9, 0.05, 0.05],
            [0.8, 0.2, 0],
            [0.3, 0.6, 0.1],
            [0.1, 0.9, 0],
            [0.95, 0.05, 0],
            [0.4, 0.55, 0.05],
        ]

        # Items 4 and 2 are confidently of another class; .05 is less than .3.
        assert label_errors(probabilities, [0, 0, 0, 1, 1, 1]).tolist() == [4, 2]

    def test_nothing_is_confidently_of_a_class_without_items(self):
        assert label_errors([[0.6, 0.4], [0.5, 0.5]], [0, 0]).tolist() == []

    def test_an_item_may_be_confidently_of_no_class(self):
        # Usual confidence: class 0 (1 + .5) / 2 = .75, class 1 1: item 1 reaches neither.
        assert label_errors([[1, 0], [0.5, 0.5], [0, 1]], [0, 0, 1]).tolist() == []

    def test_a_probability_that_is_exactly_usual_is_enough(self):
        # Usual confidence: class 0 .7 and class 1 .3, which both items have.
        assert label_errors([[0.7, 0.3], [0.7, 0.3]], [0, 1]).tolist() == [1]

    def test_a_probability_of_0_may_be_usual(self):
        # Both items of class 1 have a probability of 0, which all items reach; but item 0 has a
        # larger one of its own class.
        assert label_errors([[1, 0], [1, 0], [1, 0]], [0, 1, 1]).tolist() == [1, 2]

    @pytest.mark.parametrize("k", [2, 3, 5])
    def test_they_agree_with_cleanlab(self, k):
        count = pytest.importorskip("cleanlab.count")
        rng = np.random.default_rng(k)
        for n in (20, 200):
            probabilities = rng.dirichlet(np.full(k, 0.7), size=n)
            labels = np.array([rng.choice(k, p=row) for row in probabilities])
            _, rows = count.compute_confident_joint(
                labels, probabilities, return_indices_of_off_diagonals=True, calibrate=False
            )

            assert sorted(label_errors(probabilities, labels).tolist()) == sorted(rows)

    @pytest.mark.parametrize(
        ("probabilities", "labels", "words"),
        [
            ([[0.6, 0.4], [0.5, 0.6]], [0, 0], "sum to 1"),
            ([[0.6, 0.4], [0.5, 0.5]], [0, 2], "item 1 is 2"),
            ([[0.6, 0.4], [0.5, 0.5]], [0], "one length"),
            ([0.6, 0.5], [0, 1], "shape"),
        ],
    )
    def test_wrong_arguments_are_refused(self, probabilities, labels, words):
        with pytest.raises(ValueError, match=words):
            label_errors(probabilities, labels)


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 0], dtype=np.int8),
        np.array([0]),
        np.array([5_000_000_000, 2, 2]),
        np.array([-1, 4, -1]),
        np.array(["b", "a", "b"]),
    ],
)
def test_classes_are_numbered_as_numpy_does(values):
    distinct, numbers = classification_module._number_values(values)

    expected_values, expected_numbers = np.unique(values, return_inverse=True)
    assert distinct.tolist() == expected_values.tolist()
    assert numbers.tolist() == expected_numbers.tolist()

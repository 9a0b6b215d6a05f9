"""Brier, NLL, selective prediction, MacroCE, ACE, TACE, classwise tables and the summary of all."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.proper_scores import (
    auroc,
    brier_score,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.recalibration import calibration_summary

RAGGED = [[0.9, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.1, 0.7]]


ACE = {"kind": "classwise", "strategy": "quantile"}
"""The options of Nixon et al.'s adaptive calibration error."""


def softmax_rows(n, k, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.normal(size=(n, k)) * 2)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows, np.where(rng.random(n) < 0.7, rows.argmax(axis=1), rng.integers(0, k, n))


def from_confidence(confidence, correct):
    """Two-class rows whose top label is class 0."""
    confidence = np.asarray(confidence, dtype=float)
    return np.column_stack((confidence, 1 - confidence)), 1 - np.asarray(correct, dtype=int)


class TestBrier:
    def test_toy(self):
        # Brier of the confidence: (.05² + .91² + .15² + .35² + .62² + .45²) / 6 = 0.260417; two classes double it
        rows, labels = from_confidence([0.95, 0.91, 0.85, 0.65, 0.62, 0.55], [1, 0, 1, 1, 0, 1])
        squares = (0.05**2 + 0.91**2 + 0.15**2 + 0.35**2 + 0.62**2 + 0.45**2) / 6
        assert squares == pytest.approx(0.260417, abs=1e-6)
        assert brier_score(rows, labels).brier == pytest.approx(2 * squares)
        assert brier_score(rows, labels, kind="positive").brier == pytest.approx(squares)

    def test_sklearn(self):
        rows, labels = softmax_rows(500, 2)
        assert brier_score(rows, labels, kind="positive").brier == pytest.approx(
            brier_score_loss(labels, rows[:, 1])
        )
        rows, labels = softmax_rows(500, 4)
        assert brier_score(rows, labels).brier == pytest.approx(
            ((rows - np.eye(4)[labels]) ** 2).sum(axis=1).mean()
        )

    @pytest.mark.parametrize("n_bins", [1, 5, 15])
    @pytest.mark.parametrize("k", [2, 5])
    def test_parts_add_up(self, n_bins, k):
        rows, labels = softmax_rows(300, k)
        r = brier_score(rows, labels, n_bins=n_bins)
        parts = (
            r.reliability
            - r.resolution
            + r.uncertainty
            + r.within_bin_variance
            - r.within_bin_covariance
        )
        assert parts == pytest.approx(r.brier, abs=1e-12)

    def test_murphy_where_a_bin_holds_one_forecast(self):
        # P(1) = .25 with rate 1/4 and .75 with rate 1/2: REL = .5 (.25)², RES = .5 (.125² + .125²), UNC = 3/8 5/8
        p, y = [0.25] * 4 + [0.75] * 4, [1, 0, 0, 0, 1, 1, 0, 0]
        r = brier_score(p, y, kind="positive", n_bins=4)
        assert r.within_bin_variance == pytest.approx(0, abs=1e-15)
        assert r.within_bin_covariance == pytest.approx(0, abs=1e-15)
        assert r.reliability == pytest.approx(0.5 * 0.0625)
        assert r.resolution == pytest.approx(0.125**2)
        assert r.uncertainty == pytest.approx(15 / 64)

    def test_ends(self):
        perfect = brier_score([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        assert perfect.brier == 0
        assert brier_score([[1.0, 0.0], [0.0, 1.0]], [1, 0]).brier == 2

    def test_bad_input(self):
        with pytest.raises(ValueError, match="kind='positive', but got 3"):
            brier_score(*softmax_rows(5, 3), kind="positive")
        with pytest.raises(ValueError, match="`kind`"):
            brier_score([[0.5, 0.5]], [0], kind="classwise")
        with pytest.raises(ValueError, match="rows of one length"):
            brier_score(RAGGED, [0, 1, 3])


class TestNll:
    def test_sklearn(self):
        rows, labels = softmax_rows(300, 4)
        expected = log_loss(labels, rows, labels=range(4))
        assert negative_log_likelihood(rows, labels).nll == pytest.approx(expected)
        assert negative_log_likelihood(
            np.log(rows) + 7, labels, scores="logits"
        ).nll == pytest.approx(expected)
        assert negative_log_likelihood(
            np.log(rows), labels, scores="log_probabilities"
        ).nll == pytest.approx(expected)

    def test_binary_vectors(self):
        positive = np.array([0.2, 0.9])
        expected = -(math.log(0.8) + math.log(0.9)) / 2
        assert negative_log_likelihood(positive, [0, 1]).nll == pytest.approx(expected)
        assert negative_log_likelihood(
            np.log(positive), [0, 1], scores="log_probabilities"
        ).nll == pytest.approx(expected)

    def test_ragged(self):
        expected = -(math.log(0.9) + math.log(0.3) + math.log(0.7)) / 3
        assert negative_log_likelihood(RAGGED, [0, 1, 3]).nll == pytest.approx(expected)
        logits = [np.log(row) - 3 for row in RAGGED]
        assert negative_log_likelihood(logits, [0, 1, 3], scores="logits").nll == pytest.approx(
            expected
        )

    def test_an_impossible_label_leaves_it_undefined(self):
        result = negative_log_likelihood([[1.0, 0.0], [0.5, 0.5]], [1, 0])
        assert result.nll is None
        assert result.n_impossible == 1
        assert negative_log_likelihood([[0.0, -np.inf]], [1], scores="logits").nll is None

    def test_logits_do_not_underflow(self):
        assert negative_log_likelihood([[0.0, -5000.0]], [1], scores="logits").nll == pytest.approx(
            5000
        )


class TestSelective:
    def test_worked(self):
        # wrong at ranks 2 and 5 of 6: risks 0, 1/2, 1/3, 1/4, 2/5, 2/6; best: 0, 0, 0, 0, 1/5, 2/6
        rows, labels = from_confidence([0.95, 0.91, 0.85, 0.65, 0.62, 0.55], [1, 0, 1, 1, 0, 1])
        result = selective_scores(rows, labels)
        aurc = (0 + 1 / 2 + 1 / 3 + 1 / 4 + 2 / 5 + 2 / 6) / 6
        assert result.aurc == pytest.approx(aurc)
        assert result.e_aurc == pytest.approx(aurc - (1 / 5 + 2 / 6) / 6)
        # right beats wrong in 3 (of .62) + 1 (of .91) of 8 pairs
        assert result.auroc == pytest.approx(4 / 8)

    def test_ties_are_the_mean_over_their_orders(self):
        # two items of .8, one wrong: risk at 1/2 is 0 or 1, at 1 it is 1/2: (1/2 + 1/2) / 2
        rows, labels = from_confidence([0.8, 0.8], [1, 0])
        result = selective_scores(rows, labels)
        assert result.aurc == pytest.approx(0.5)
        assert result.auroc == 0.5

    def test_sklearn_auroc(self):
        rows, labels = softmax_rows(500, 3)
        rows = np.round(rows, 1)
        rows[:, 0] += 1 - rows.sum(axis=1)
        rows = np.clip(rows, 0, 1)
        correct = rows.argmax(axis=1) == labels
        expected = roc_auc_score(correct, rows.max(axis=1))
        assert selective_scores(rows, labels).auroc == pytest.approx(expected, abs=1e-12)

    def test_perfect_ranking(self):
        rows, labels = from_confidence([0.9, 0.8, 0.7], [1, 1, 0])
        result = selective_scores(rows, labels)
        assert (result.e_aurc, result.auroc) == (0, 1)

    def test_undefined_without_both_kinds(self):
        result = selective_scores([[0.9, 0.1]], [0])
        assert (result.aurc, result.e_aurc, result.auroc) == (0, 0, None)
        assert auroc(np.array([0.5]), np.array([False])) is None

    def test_ragged(self):
        assert selective_scores(RAGGED, [0, 1, 3]).aurc == pytest.approx((0 + 0 + 1 / 3) / 3)

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(5, 10), st.booleans()), min_size=1, max_size=30),
        st.randoms(),
    )
    def test_order_does_not_matter(self, items, random):
        rows, labels = from_confidence([c / 10 for c, _ in items], [y for _, y in items])
        order = list(range(len(items)))
        random.shuffle(order)
        first, second = selective_scores(rows, labels), selective_scores(rows[order], labels[order])
        assert second.aurc == pytest.approx(first.aurc, abs=1e-12)
        assert second.auroc == first.auroc
        assert 0 <= first.e_aurc <= first.aurc + 1e-12 <= 1 + 2e-12


class TestMacro:
    def test_toy(self):
        # right: .05 .15 .35 .45, mean .25; wrong: .91 .62, mean .765
        rows, labels = from_confidence([0.95, 0.91, 0.85, 0.65, 0.62, 0.55], [1, 0, 1, 1, 0, 1])
        result = macro_ce(rows, labels)
        assert result.ice_correct == pytest.approx(0.25)
        assert result.ice_wrong == pytest.approx(0.765)
        assert result.macro_ce == pytest.approx(0.5075)
        assert result.ice == pytest.approx((4 * 0.25 + 2 * 0.765) / 6)

    def test_one_group_alone(self):
        result = macro_ce([[0.9, 0.1]], [0])
        assert (result.macro_ce, result.ice_wrong) == (None, None)
        assert result.ice_correct == pytest.approx(0.1)

    def test_it_sees_what_binned_errors_miss(self):
        # Every item at .75, three of four right: no binned error, but the model knows nothing of single items.
        rows, labels = from_confidence([0.75] * 4, [1, 1, 1, 0])
        assert calibration_error(rows, labels).ece == pytest.approx(0)
        assert macro_ce(rows, labels).macro_ce == pytest.approx(0.5)


class TestAdaptive:
    def test_equal_counts_weigh_bins_equally(self):
        rows, labels = softmax_rows(300, 3)
        each = []
        for k in range(3):
            for part in np.array_split(np.argsort(rows[:, k]), 10):
                each.append(abs((labels[part] == k).mean() - rows[part, k].mean()))
        assert calibration_error(rows, labels, n_bins=10, **ACE).ece == pytest.approx(
            np.mean(each), abs=1e-12
        )

    def test_tace_leaves_small_scores_out(self):
        rows, labels = softmax_rows(300, 10)
        result = calibration_error(rows, labels, threshold=0.01, **ACE)
        assert sum(row.count for row in result.bins) == (rows > 0.01).sum()
        assert result.ece != calibration_error(rows, labels, **ACE).ece


class TestSummary:
    def test_each_figure_is_that_of_its_own_function(self):
        rows, labels = softmax_rows(300, 4)
        summary = calibration_summary(np.log(rows), labels, n_bins=10, scores="logits")
        assert summary["ece"] == pytest.approx(calibration_error(rows, labels, n_bins=10).ece)
        assert summary["ece_debiased"] == pytest.approx(
            calibration_error(rows, labels, n_bins=10, debias=True).ece
        )
        assert summary["rmsce"] == pytest.approx(
            calibration_error(rows, labels, n_bins=10, norm="l2").ece
        )
        assert summary["classwise_ece"] == pytest.approx(
            calibration_error(rows, labels, n_bins=10, kind="classwise").ece
        )
        assert summary["ace"] == pytest.approx(
            calibration_error(rows, labels, n_bins=10, **ACE).ece
        )
        tace = calibration_error(rows, labels, n_bins=10, threshold=0.01, **ACE)
        assert summary["tace"] == pytest.approx(tace.ece)
        assert summary["macro_ce"] == pytest.approx(macro_ce(rows, labels).macro_ce)
        assert summary["brier"] == pytest.approx(brier_score(rows, labels).brier)
        assert summary["nll"] == pytest.approx(negative_log_likelihood(rows, labels).nll)
        assert summary["aurc"] == pytest.approx(selective_scores(rows, labels).aurc)
        json.dumps(summary, allow_nan=False)

    def test_ragged_rows_leave_the_class_figures_out(self):
        summary = calibration_summary(RAGGED, [0, 1, 3])
        assert (summary["classwise_ece"], summary["ace"], summary["tace"], summary["brier"]) == (
            None,
            None,
            None,
            None,
        )
        assert summary["accuracy"] == pytest.approx(2 / 3)

    def test_it_does_not_warn_again_and_again(self):
        rng = np.random.default_rng(0)
        positive = 1 / (1 + np.exp(-rng.normal(0, 3, 500)))
        correct = ((positive > 0.5) == (rng.random(500) < positive)).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calibration_summary(positive, correct)


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(2, 4)), elements=st.floats(0.001, 1.0)
    ),
    st.data(),
)
def test_brier_parts_always_add_up(raw, data):
    rows = raw / raw.sum(axis=1, keepdims=True)
    labels = data.draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, rows.shape[1] - 1)))
    r = brier_score(rows, labels, n_bins=4)
    parts = (
        r.reliability
        - r.resolution
        + r.uncertainty
        + r.within_bin_variance
        - r.within_bin_covariance
    )
    assert parts == pytest.approx(r.brier, abs=1e-12)

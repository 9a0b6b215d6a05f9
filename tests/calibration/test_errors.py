"""Calibration error: worked numbers, peers, closed forms where peers are wrong, properties, streams, bad input."""

import json
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from netcal.metrics import ECE, MCE
from scipy import stats
from sklearn.calibration import calibration_curve
from torchmetrics.functional.classification import multiclass_calibration_error

from rightreasons.calibration.confidences import KINDS, parse_top_label
from rightreasons.calibration.error_interval import draw_calibrated_events, resample_bins
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
    calibration_error,
    compute_calibration,
)
from rightreasons.calibration.norms import bound_residual_bias
from rightreasons.core.binning import BinSums
from rightreasons.core.errors import OptionError
from rightreasons.core.resampling import Resampling

# METHODS toy: the confidences of six items and whether each is right, as two-class rows.
CONFIDENCE = np.array([0.95, 0.91, 0.85, 0.65, 0.62, 0.55])
CORRECT = np.array([1, 0, 1, 1, 0, 1])
ROWS = np.column_stack((CONFIDENCE, 1 - CONFIDENCE))
LABELS = 1 - CORRECT


def softmax_rows(n, k, seed=0, sharpness=2.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * sharpness
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    labels = np.where(rng.random(n) < 0.7, rows.argmax(axis=1), rng.integers(0, k, n))
    return rows, labels


class TestWorkedNumbers:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            # bins (.9,1]: |1.86-1|/6; (.8,.9]: .15/6; (.6,.7]: |1.27-1|/6; (.5,.6]: .45/6; sum 1.73/6
            ({"n_bins": 10}, 1.73 / 6),
            # (14/15,1]: .05; (13/15,14/15]: .91; (12/15,13/15]: .15; (9/15,10/15]: .27; (8/15,9/15]: .45; sum 1.83/6
            ({"n_bins": 15}, 1.83 / 6),
            ({"n_bins": 1}, abs(4.53 - 4) / 6),
            # {.55,.62}, {.65,.85}, {.91,.95}: (.17 + .5 + .86) / 6
            ({"n_bins": 3, "strategy": "quantile"}, 0.255),
            # root of (2/6 .43² + 1/6 .15² + 2/6 .135² + 1/6 .45²)
            (
                {"n_bins": 10, "norm": "l2"},
                math.sqrt((2 * 0.43**2 + 0.15**2 + 2 * 0.135**2 + 0.45**2) / 6),
            ),
            ({"n_bins": 10, "norm": "max"}, 0.45),
        ],
    )
    def test_toy(self, options, expected):
        assert calibration_error(ROWS, LABELS, **options).ece == pytest.approx(expected, abs=1e-12)

    def test_fields(self):
        result = calibration_error(ROWS, LABELS, n_bins=10)
        fields = result.to_dict()
        assert next(iter(fields)) == "ece"
        assert fields["mce"] == pytest.approx(0.45)
        assert fields["accuracy"] == pytest.approx(4 / 6)
        assert fields["mean_confidence"] == pytest.approx(4.53 / 6)
        # overconfident: (.9,1] .86 and (.6,.7] .27; underconfident: .15 and .45
        assert fields["overconfidence"] == pytest.approx(1.13 / 6)
        assert fields["underconfidence"] == pytest.approx(0.60 / 6)
        assert fields["overconfidence"] + fields["underconfidence"] == pytest.approx(fields["ece"])
        assert (fields["n_items"], fields["n_bins"]) == (6, 10)
        assert fields["interval"] is None
        assert fields["warning"] is None
        table = fields["bins"]
        assert [row["count"] for row in table] == [0, 0, 0, 0, 0, 1, 2, 0, 1, 2]
        assert table[0]["confidence"] is None
        assert table[0]["accuracy"] is None
        assert table[9] == pytest.approx(
            {
                "lower": 0.9,
                "upper": 1.0,
                "count": 2,
                "confidence": 0.93,
                "accuracy": 0.5,
                "class_index": None,
            }
        )
        json.dumps(fields, allow_nan=False)

    def test_definition_names_what_was_computed(self):
        result = calibration_error(
            ROWS,
            LABELS,
            kind="classwise",
            strategy="quantile",
            norm="l2",
            debias=True,
            threshold=0.01,
            n_bins=3,
        )
        for word in (
            "Classwise",
            "root mean square",
            "3 bins of equal mass",
            "above 0.01",
            "debiased",
        ):
            assert word in result.definition

    def test_classwise_is_the_mean_of_the_classes(self):
        rows, labels = softmax_rows(500, 3)
        each = [
            calibration_error(rows[:, k], (labels == k) * 1, kind="positive").ece for k in range(3)
        ]
        result = calibration_error(rows, labels, kind="classwise")
        assert result.ece == pytest.approx(np.mean(each), abs=1e-12)
        assert len(result.bins) == 45
        assert {row.class_index for row in result.bins} == {0, 1, 2}
        assert calibration_error(rows, labels, kind="classwise", norm="max").ece == pytest.approx(
            result.mce
        )

    def test_two_choices_mean_different_things(self):
        """The figure that one peer calls ECE of a two-class model is another's by a factor (ANCHORS 12)."""
        rows, labels = softmax_rows(400, 2)
        top = calibration_error(rows, labels).ece
        positive = calibration_error(rows, labels, kind="positive").ece
        # Of two classes, the classes' bins mirror each other, up to scores on an edge.
        assert calibration_error(rows, labels, kind="classwise").ece == pytest.approx(
            positive, abs=1e-12
        )
        assert top != pytest.approx(positive, abs=1e-3)
        assert positive == pytest.approx(ECE(15).measure(rows[:, 1], labels), abs=1e-6)
        assert top == pytest.approx(
            float(
                multiclass_calibration_error(
                    torch.tensor(rows), torch.tensor(labels), num_classes=2, n_bins=15
                )
            ),
            abs=1e-6,
        )

    def test_vector_is_the_probability_of_class_1(self):
        rows, labels = softmax_rows(300, 2)
        for kind in ("top_label", "positive", "classwise"):
            whole = calibration_error(rows, labels, kind=kind)
            assert calibration_error(rows[:, 1], labels, kind=kind).ece == pytest.approx(
                whole.ece, abs=1e-12
            )

    def test_ties_go_to_the_first_class(self):
        assert calibration_error([[0.5, 0.5]], [0]).accuracy == 1
        assert calibration_error([[0.5, 0.5]], [1]).accuracy == 0
        assert calibration_error([[0.25, 0.25, 0.5], [0.4, 0.2, 0.4]], [2, 2]).accuracy == 0.5
        many = np.full((1, 40), 1 / 40)  # beyond the loop over few classes
        assert calibration_error(many, [0]).accuracy == 1

    @pytest.mark.parametrize("k", [2, 3, 31, 32, 33, 60])
    def test_top_label_is_argmax(self, k):
        rows, labels = softmax_rows(200, k, seed=k)
        top = parse_top_label(rows, labels)
        assert np.array_equal(top.predicted, rows.argmax(axis=1))
        assert np.array_equal(top.confidence, rows.max(axis=1))


class TestPeers:
    @pytest.mark.parametrize("k", [2, 3, 7])
    @pytest.mark.parametrize("norm", ["l1", "l2", "max"])
    @pytest.mark.parametrize("n_bins", [1, 10, 15])
    def test_torchmetrics(self, k, norm, n_bins):
        rows, labels = softmax_rows(1000, k, seed=k)
        peer = multiclass_calibration_error(
            torch.tensor(rows), torch.tensor(labels), num_classes=k, n_bins=n_bins, norm=norm
        )
        assert calibration_error(rows, labels, norm=norm, n_bins=n_bins).ece == pytest.approx(
            float(peer), abs=1e-6
        )

    @pytest.mark.parametrize("n_bins", [1, 10, 15])
    def test_netcal(self, n_bins):
        rows, labels = softmax_rows(1000, 4)
        confidence, correct = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
        result = calibration_error(rows, labels, n_bins=n_bins)
        assert result.ece == pytest.approx(ECE(n_bins).measure(confidence, correct), abs=1e-6)
        assert result.mce == pytest.approx(MCE(n_bins).measure(confidence, correct), abs=1e-6)

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    @pytest.mark.parametrize("n", [97, 1000])
    def test_sklearn_curve(self, strategy, n):
        rows, labels = softmax_rows(n, 2)
        accuracy, confidence = calibration_curve(labels, rows[:, 1], n_bins=10, strategy=strategy)
        table = calibration_error(rows, labels, kind="positive", n_bins=10, strategy=strategy).bins
        filled = [row for row in table if row.count]
        assert [row.accuracy for row in filled] == pytest.approx(list(accuracy), abs=1e-6)
        assert [row.confidence for row in filled] == pytest.approx(list(confidence), abs=1e-6)

    def test_logits_and_log_probabilities(self):
        rows, labels = softmax_rows(300, 5)
        logits = np.log(rows) + np.arange(300)[:, None]  # a shift a row changes nothing
        expected = calibration_error(rows, labels).ece
        assert calibration_error(logits, labels, scores="logits").ece == pytest.approx(
            expected, abs=1e-12
        )
        assert calibration_error(
            np.log(rows), labels, scores="log_probabilities"
        ).ece == pytest.approx(expected)


class TestEdges:
    """Closed forms where peers are wrong (ANCHORS 13)."""

    def test_confidence_of_exactly_one_belongs_to_the_last_bin(self):
        # (.9, 1] holds 1.0 wrong and .95 right: |1.95 - 1| / 2 = 0.475; a bin of its own for 1.0 would give .525
        rows = [[1.0, 0.0], [0.95, 0.05]]
        assert calibration_error(rows, [1, 0], n_bins=10).ece == pytest.approx(0.475)
        assert calibration_error(rows, [1, 0], n_bins=10).bins[9].count == 2
        peer = multiclass_calibration_error(
            torch.tensor(rows), torch.tensor([1, 0]), num_classes=2, n_bins=10
        )
        assert float(peer) == pytest.approx(0.525)  # the day it is right, this line may go

    def test_probability_of_exactly_zero_belongs_to_the_first_bin(self):
        # (0, .1] with 0.0 (label 1) and 0.05 (label 0): |0.05 - 1| / 2
        result = calibration_error([0.0, 0.05], [1, 0], kind="positive", n_bins=10)
        assert result.bins[0].count == 2
        assert result.ece == pytest.approx(0.475)

    @pytest.mark.parametrize("n_bins", [3, 7, 10, 15, 20, 49, 100])
    def test_every_edge_belongs_to_the_bin_below_it(self, n_bins):
        edges = np.linspace(0, 1, n_bins + 1)
        counts = [
            row.count
            for row in calibration_error(
                edges, np.zeros(n_bins + 1, int), kind="positive", n_bins=n_bins
            ).bins
        ]
        assert counts == [2] + [1] * (n_bins - 1)
        above = np.nextafter(edges[:-1], 2)
        counts = [
            row.count
            for row in calibration_error(
                above, np.zeros(n_bins, int), kind="positive", n_bins=n_bins
            ).bins
        ]
        assert counts == [1] * n_bins

    def test_tied_scores_share_a_quantile_bin(self):
        result = calibration_error(
            [[0.8, 0.2]] * 10, [0] * 8 + [1] * 2, strategy="quantile", n_bins=5
        )
        assert result.ece == pytest.approx(0, abs=1e-12)
        assert [row.count for row in result.bins] == [10, 0, 0, 0, 0]

    def test_one_item(self):
        result = calibration_error(
            [[0.7, 0.3]], [0], strategy="quantile", resampling=Resampling(level=0.95)
        )
        assert result.ece == pytest.approx(0.3)
        assert result.interval.low <= result.interval.high

    def test_perfect_and_worst(self):
        assert calibration_error([[1.0, 0.0]] * 3, [0] * 3).ece == 0
        assert calibration_error([[1.0, 0.0]] * 3, [1] * 3).ece == 1


class TestRagged:
    ROWS = ([0.9, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.1, 0.7], [0.4, 0.6])
    LABELS = (0, 1, 3, 0)

    def test_worked(self):
        # confidences .9 right, .5 wrong, .7 right, .6 wrong in ten bins: (.1 + .5 + .3 + .6) / 4
        result = calibration_error(self.ROWS, self.LABELS, n_bins=10)
        assert result.ece == pytest.approx(0.375)
        assert result.accuracy == 0.5

    def test_logits_take_the_softmax_inside_each_row(self):
        logits = [np.log(row) for row in self.ROWS]
        assert calibration_error(
            logits, self.LABELS, n_bins=10, scores="logits"
        ).ece == pytest.approx(0.375)

    def test_padding_with_impossible_choices_changes_nothing(self):
        padded = np.zeros((4, 4))
        for i, row in enumerate(self.ROWS):
            padded[i, : len(row)] = row
        assert calibration_error(padded, self.LABELS).ece == pytest.approx(
            calibration_error(self.ROWS, self.LABELS).ece
        )

    @pytest.mark.parametrize("kind", ["positive", "classwise"])
    def test_only_the_top_label_makes_sense(self, kind):
        with pytest.raises(
            ValueError, match=rf"rows of one length in `predictions` for kind='{kind}'"
        ):
            calibration_error(self.ROWS, self.LABELS, kind=kind)

    def test_label_beyond_its_own_row(self):
        with pytest.raises(ValueError, match="between 0 and 1, but item 0 is 2"):
            calibration_error(self.ROWS, (2, 1, 3, 0))


class TestThreshold:
    def test_worked(self):
        # above .6: .95 .91 | .85 | .65 .62 in ten bins: (.86 + .15 + .27) / 5; the whole set keeps its accuracy
        result = calibration_error(ROWS, LABELS, n_bins=10, threshold=0.6)
        assert result.ece == pytest.approx(1.28 / 5)
        assert result.accuracy == pytest.approx(4 / 6)
        assert sum(row.count for row in result.bins) == 5

    def test_the_threshold_itself_is_left_out(self):
        assert sum(row.count for row in calibration_error(ROWS, LABELS, threshold=0.55).bins) == 5

    def test_zero_keeps_zeros(self):
        result = calibration_error([0.0, 1.0], [0, 1], kind="positive", threshold=0.0)
        assert sum(row.count for row in result.bins) == 2

    def test_classes_without_a_score_are_left_out(self):
        rows = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]]
        # class 0: |.85 - .5| in one bin; class 1: |.15 - .5|; class 2 has no score above .05
        result = calibration_error(rows, [0, 1], kind="classwise", threshold=0.05, n_bins=1)
        assert result.ece == pytest.approx(0.35)

    def test_nothing_left(self):
        with pytest.raises(ValueError, match=r"at least one score above threshold=0.99"):
            calibration_error(ROWS, LABELS, threshold=0.99)


class TestDebias:
    def test_l2_worked(self):
        # one bin: mean .7, rate .5 of 4: .04 - .25 / 3 < 0 -> 0; rate 0: .49 - 0
        rows = [[0.7, 0.3]] * 4
        assert calibration_error(rows, [0, 0, 1, 1], n_bins=1, norm="l2", debias=True).ece == 0
        assert calibration_error(
            rows, [1] * 4, n_bins=1, norm="l2", debias=True
        ).ece == pytest.approx(0.7)
        # mean .9, rate .5 of 4: sqrt(.16 - .25 / 3)
        result = calibration_error([[0.9, 0.1]] * 4, [0, 0, 1, 1], n_bins=1, norm="l2", debias=True)
        assert result.ece == pytest.approx(math.sqrt(0.16 - 0.25 / 3))

    def test_l2_ignores_bins_of_one(self):
        # (.9, 1]: one item, contributes 0; (.6, .7]: 2 items right, gap .35 of weight 2/3
        rows = [[0.95, 0.05], [0.65, 0.35], [0.65, 0.35]]
        result = calibration_error(rows, [1, 0, 0], n_bins=10, norm="l2", debias=True)
        assert result.ece == pytest.approx(math.sqrt(0.35**2 * 2 / 3))

    def test_l1_closed_form_is_what_resampling_tends_to(self):
        """Kumar et al. draw the accuracies a thousand times; here their expectation is taken."""
        rows, labels = softmax_rows(300, 3)
        plain = calibration_error(rows, labels)
        filled = [row for row in plain.bins if row.count]
        count = np.array([row.count for row in filled])
        accuracy = np.array([row.accuracy for row in filled])
        confidence = np.array([row.confidence for row in filled])
        rng = np.random.default_rng(0)
        drawn = rng.normal(
            accuracy, np.sqrt(accuracy * (1 - accuracy) / count), size=(200_000, len(count))
        )
        resampled = 2 * plain.ece - (np.abs(drawn - confidence) @ count / 300).mean()
        assert calibration_error(rows, labels, debias=True).ece == pytest.approx(
            resampled, abs=2e-4
        )

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_it_removes_most_of_the_bias(self, norm):
        plain, debiased = [], []
        rng = np.random.default_rng(1)
        for _ in range(200):
            p = rng.uniform(0.5, 1, 200)
            labels = (rng.random(200) > p).astype(
                int
            )  # right with chance p: perfectly calibrated, in truth 0
            rows = np.column_stack((p, 1 - p))
            plain.append(calibration_error(rows, labels, norm=norm).ece)
            debiased.append(calibration_error(rows, labels, norm=norm, debias=True).ece)
        assert np.mean(debiased) < 0.75 * np.mean(plain)

    def test_max_has_no_debiased_form(self):
        with pytest.raises(ValueError, match="norm='l2' with debias=True"):
            calibration_error(ROWS, LABELS, norm="max", debias=True)
        with pytest.raises(ValueError, match="norm='l1' or norm='l2'"):
            calibration_error(ROWS, LABELS, norm="max", resampling=Resampling())


def test_the_bin_of_one_item_shows_that_item():
    rows = calibration_error([0.95, 0.62, 0.68, 0.31], [1, 1, 0, 0], n_bins=5).bins
    # Confidence 0.95 and 0.62, 0.68, 0.69 (class 0 of the last), so 3 items in (0.6, 0.8] and 1 in (0.8, 1].
    assert [row.count for row in rows] == [0, 0, 0, 3, 1]
    assert (rows[4].confidence, rows[4].accuracy) == (0.95, 1.0)
    assert rows[3].confidence == pytest.approx(1.99 / 3)
    assert rows[3].accuracy == pytest.approx(2 / 3)
    assert (rows[0].confidence, rows[0].accuracy) == (None, None)


class TestInterval:
    def test_is_seeded_and_leaves_the_estimate_alone(self):
        rows, labels = softmax_rows(500, 3)
        first = calibration_error(rows, labels, resampling=Resampling(level=0.9, seed=1))
        assert (
            first.interval
            == calibration_error(rows, labels, resampling=Resampling(level=0.9, seed=1)).interval
        )
        assert (
            first.interval
            != calibration_error(rows, labels, resampling=Resampling(level=0.9, seed=2)).interval
        )
        assert first.ece == calibration_error(rows, labels).ece
        assert (first.interval.confidence_level, first.interval.n_resamples) == (0.9, 1000)
        assert "basic" in first.interval.method

    @pytest.mark.parametrize("kind", ["top_label", "classwise"])
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_agrees_with_a_bootstrap_over_rows(self, kind, norm):
        rows, labels = softmax_rows(1000, 3)
        options = CalibrationErrorOptions(kind=kind, norm=norm, debias=True)
        result = calibration_error(
            rows, labels, kind=kind, norm=norm, resampling=Resampling(level=0.9, resamples=2000)
        )
        debiased = calibration_error(rows, labels, kind=kind, norm=norm, debias=True).ece
        rng = np.random.default_rng(5)
        drawn = []
        for _ in range(1000):
            picked = rng.integers(1000, size=1000)
            drawn.append(
                compute_calibration(parse_top_label(rows[picked], labels[picked]), options).ece
            )
        # The model is far from calibrated: nothing is cut at 0. Squares are reflected for l2.
        power = 2 if norm == "l2" else 1
        ends = result.ece**power + debiased**power - np.quantile(drawn, [0.95, 0.05]) ** power
        if norm == "l1":  # gaps that noise may have made larger
            sums = BinSums.from_pairs(KINDS[kind].select_pairs(parse_top_label(rows, labels)), 15)
            ends[0] -= bound_residual_bias(sums.bins, stats.norm.isf(0.05))
        low, high = np.clip(ends, 0, 1) ** (1 / power)
        # A few Monte Carlo errors of a 5 % quantile of 1,000 draws, each sd / sqrt(1000) * 2.1.
        tolerance = 4 * np.std(drawn) / math.sqrt(1000) * 2.1
        assert result.interval.low > 0
        assert result.interval.low == pytest.approx(low, abs=tolerance)
        assert result.interval.high == pytest.approx(high, abs=tolerance)

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    @pytest.mark.parametrize(
        ("kind", "label", "gap"),
        [("top_label", 1, 0.8), ("positive", 1, 0.8), ("classwise", 0, 0.2)],
    )
    def test_items_that_are_all_alike_leave_a_width(self, kind, label, gap, norm):
        # Twenty items show none of a share u = 1 - 0.025^(1/20) of others, whose gap is -1 or 1 where these have 0.8.
        result = calibration_error(
            [[0.8, 0.2]] * 20, [label] * 20, kind=kind, norm=norm, resampling=Resampling()
        )
        unseen = 1 - 0.025 ** (1 / 20)
        assert result.ece == pytest.approx(gap)
        assert result.interval.high == pytest.approx(gap + unseen * (1 - gap))
        assert result.interval.low == pytest.approx(max(0.0, gap - unseen * (1 + gap)))

    def test_many_classes_of_a_calibrated_model_may_have_no_error(self):
        # Each class has 15 items: the error of its probability is noise, which debiasing takes off by half.
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(300, 20))
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        found = calibration_error(
            logits, labels, scores="logits", kind="classwise", resampling=Resampling()
        )
        assert found.ece > 0.015
        assert found.interval.low == 0

    def test_a_model_that_is_sure_and_seldom_errs_may_err_more(self):
        # 24 of 24 right, with a confidence of 0.95: Wilson's lower end of the accuracy is 24 / (24 + z²) = 0.862.
        found = calibration_error([0.95] * 24, [1] * 24, kind="confidence", resampling=Resampling())
        assert found.interval.high >= 0.95 - 24 / (24 + 1.96**2)
        rng, covered = np.random.default_rng(0), 0
        for seed in range(100):
            p, right = rng.uniform(0.95, 0.999, size=24), rng.random(24) < 0.93
            ends = calibration_error(
                p, right, kind="confidence", resampling=Resampling(resamples=100, seed=seed)
            ).interval
            covered += ends.low <= 0.9745 - 0.93 <= ends.high
        assert covered >= 93

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_is_about_the_true_error_whichever_estimate_is_shown(self, norm):
        rows, labels = softmax_rows(300, 3)
        plain = calibration_error(rows, labels, norm=norm, resampling=Resampling(level=0.9))
        debiased = calibration_error(
            rows, labels, norm=norm, debias=True, resampling=Resampling(level=0.9)
        )
        assert plain.ece > debiased.ece
        assert plain.interval == debiased.interval

    def test_groups_of_rows_are_as_wide_as_rows(self, monkeypatch):
        import rightreasons.calibration.error_interval as module

        rows, labels = softmax_rows(4000, 3)
        grouped = calibration_error(
            rows, labels, kind="classwise", resampling=Resampling(level=0.9)
        ).interval
        monkeypatch.setattr(module, "BOOTSTRAP_GROUPS", 4000)
        whole = calibration_error(
            rows, labels, kind="classwise", resampling=Resampling(level=0.9)
        ).interval
        assert grouped.high - grouped.low == pytest.approx(whole.high - whole.low, rel=0.15)

    @pytest.mark.parametrize(
        ("over", "norm", "least", "most"),
        [(0.1, "l1", 0.82, 0.97), (0.1, "l2", 0.82, 0.99), (0.03, "l1", 0.82, 0.99)],
    )
    def test_covers_the_truth(self, over, norm, least, most):
        # Right with chance p - over: the true top-label error is `over`. Measured coverage of 90 % intervals.
        covered = sum(low <= over <= high for low, high in self.intervals(over, norm))
        assert least <= covered / 200 <= most

    @pytest.mark.parametrize(("norm", "least"), [("l1", 180), ("l2", 180)])
    def test_covers_zero_when_a_model_is_calibrated(self, norm, least):
        # The low end is above 0 only where the error is among the largest 5 % of those of calibrated models: 190 of 200
        # is expected, with a standard deviation of 3.
        assert sum(low == 0 for low, _ in self.intervals(0.0, norm)) >= least

    @staticmethod
    def intervals(over, norm):
        rng = np.random.default_rng(3)
        for i in range(200):
            p = rng.uniform(0.6, 1, 500)
            labels = (rng.random(500) > p - over).astype(int)
            found = calibration_error(
                np.column_stack((p, 1 - p)),
                labels,
                norm=norm,
                n_bins=10,
                resampling=Resampling(level=0.9, resamples=200, seed=i),
            )
            yield found.interval.low, found.interval.high

    def test_the_sum_of_a_cell_is_drawn_with_the_spread_of_its_mean(self):
        # One bin, two cells: events are 300 pairs of 0.3 and 100 of 0.7, the others 50 of 0.2 and 50 of 0.6.
        scores = np.repeat([0.3, 0.7, 0.2, 0.6], [300, 100, 50, 50])
        sums = BinSums.from_pairs([(scores, np.arange(500) < 400)], 1)
        bins = resample_bins(sums, 20_000, np.random.default_rng(0))
        count, total = bins.count, bins.score
        assert (count == 500).all()
        # A row bootstrap's sum of 500 scores has variance 500 var(score); its share within cells is that of the means.
        assert total.std() == pytest.approx(math.sqrt(500 * scores.var()), rel=0.02)
        assert total.mean() == pytest.approx(scores.sum(), abs=0.1)

    def test_a_calibrated_model_is_drawn_from_its_scores(self):
        sums = BinSums.from_pairs(
            [(np.array([0.1, 0.3, 0.9, 0.7]), np.array([False, True, True, True]))], 2
        )
        drawn = draw_calibrated_events(sums.bins, 20_000, np.random.default_rng(0))
        # Two pairs of mean score 0.2 and two of 0.8: 0.4 and 1.6 events; sd of the mean sqrt(.32 / 20,000) = .004.
        assert drawn.mean(axis=0)[0] == pytest.approx([0.4, 1.6], abs=0.016)
        assert set(np.unique(drawn)) == {0.0, 1.0, 2.0}


probabilities = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 40), st.integers(2, 4)), elements=st.floats(0.001, 1.0)
).map(lambda a: a / a.sum(axis=1, keepdims=True))


@st.composite
def cases(draw):
    rows = draw(probabilities)
    labels = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, rows.shape[1] - 1)))
    return rows, labels


class TestProperties:
    @settings(max_examples=60, deadline=None)
    @given(
        cases(),
        st.sampled_from(["uniform", "quantile"]),
        st.sampled_from(["top_label", "classwise"]),
    )
    def test_order_does_not_matter_and_parts_add_up(self, case, strategy, kind):
        rows, labels = case
        order = np.random.default_rng(0).permutation(len(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = calibration_error(rows, labels, strategy=strategy, kind=kind)
            shuffled = calibration_error(rows[order], labels[order], strategy=strategy, kind=kind)
            rms = calibration_error(rows, labels, strategy=strategy, kind=kind, norm="l2").ece
        assert shuffled.ece == pytest.approx(result.ece, abs=1e-12)
        assert [row.count for row in shuffled.bins] == [row.count for row in result.bins]
        assert result.overconfidence + result.underconfidence == pytest.approx(
            result.ece, abs=1e-12
        )
        # l1 <= l2 <= max, all in [0, 1]
        assert 0 <= result.ece <= rms + 1e-12 <= result.mce + 2e-12 <= 1 + 3e-12
        classes = rows.shape[1] if kind == "classwise" else 1
        assert sum(row.count for row in result.bins) == len(rows) * classes


class TestKindsOfInput:
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    @pytest.mark.parametrize("k", [2, 5, 100])
    def test_softmax_of_every_precision_is_a_row_of_probabilities(self, dtype, k):
        torch.manual_seed(0)
        logits = torch.randn(500, k) * 3
        labels = logits.argmax(dim=1)
        rows = torch.softmax(logits, dim=1).to(dtype)
        exact = calibration_error(torch.softmax(logits.double(), dim=1), labels).ece
        assert calibration_error(rows, labels).ece == pytest.approx(exact, abs=0.02)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_numpy_and_lists(self, dtype):
        rows, labels = softmax_rows(50, 3)
        rows = rows.astype(dtype)
        result = calibration_error(rows, labels.astype(np.int32))
        assert calibration_error(rows.tolist(), labels.tolist()).ece == pytest.approx(result.ece)
        assert calibration_error(np.asfortranarray(rows), labels).ece == pytest.approx(result.ece)
        assert calibration_error(np.column_stack((rows, rows))[:, :3], labels).ece == pytest.approx(
            result.ece
        )

    def test_more_rows_than_a_block(self):
        rows, labels = softmax_rows(70_001, 3)
        confidence, correct = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
        assert calibration_error(rows, labels).ece == pytest.approx(
            ECE(15).measure(confidence, correct), abs=1e-6
        )

    def test_input_is_left_alone(self):
        rows, labels = softmax_rows(50, 3)
        before = rows.copy(), labels.copy()
        rows.flags.writeable = False
        calibration_error(rows, labels, strategy="quantile", resampling=Resampling(level=0.9))
        assert np.array_equal(rows, before[0])
        assert np.array_equal(labels, before[1])


GOOD = [[0.5, 0.5], [0.4, 0.6]]

# Predictions, references, type of the error, words that name what is wrong.
BAD_VALUES = [
    ([[0.5, 0.5], [0.5, 0.33]], [0, 1], ValueError, "row 1 sums to 0.83"),
    ([[0.5, 0.5], [np.nan, 0.5]], [0, 1], ValueError, "row 1 holds NaN"),
    ([[0.5, 0.5], [np.inf, 0.5]], [0, 1], ValueError, "row 1 holds inf"),
    ([[1.7, -0.7]], [0], ValueError, "row 0 holds 1.7"),
    ([[-0.2, 1.2]], [0], ValueError, "row 0 holds -0.2"),
    ([1.7], [1], ValueError, "row 0 holds 1.7"),
    ([[0.5, 0.5], [1.0]], [0, 0], ValueError, "row 1 has 1"),
    (GOOD, [0, 2], ValueError, "item 1 is 2"),
    (GOOD, [0, -1], ValueError, "item 1 is -1"),
    (GOOD, [0, 0.5], ValueError, "item 1 is 0.5"),
    (GOOD, [0.0, 1.0], TypeError, "item 0 is 0.0, a float"),
    (GOOD, ["a", "b"], TypeError, "whole numbers in `references`"),
    (GOOD, [[0], [1]], ValueError, r"got shape \(2, 1\)"),
    (GOOD, [0], ValueError, "got 2 and 1"),
    (GOOD, None, TypeError, "`references`, but got None"),
    (None, [0], TypeError, "`predictions`, but got None"),
    ([], [], ValueError, "at least one row"),
    (np.zeros((0, 2)), [], ValueError, "at least one row"),
    ([[1.0]], [0], ValueError, r"got shape \(1, 1\)"),
    (np.full((2, 2, 2), 0.5), [0, 1], ValueError, r"got shape \(2, 2, 2\)"),
    ("half", [0], TypeError, "an array or a list"),
    ([["a", "b"]], [0], TypeError, "numbers in `predictions`"),
]

# Predictions, name and value of the option, type of the error, words that name what is wrong.
BAD_OPTIONS = [
    (GOOD, "n_bins", 0, ValueError, "but got 0"),
    (GOOD, "n_bins", 2.5, TypeError, "a whole number"),
    (GOOD, "n_bins", True, TypeError, "a whole number"),
    (GOOD, "strategy", "quantiles", ValueError, "mean 'quantile'"),
    (GOOD, "kind", "top", ValueError, "but got 'top'"),
    (GOOD, "norm", "L1", ValueError, "'l2' or 'max'"),
    (GOOD, "norm", 1, TypeError, "'l2' or 'max'"),
    (GOOD, "scores", "probs", ValueError, "'logits' or 'log_probabilities'"),
    (GOOD, "debias", "yes", TypeError, "True or False"),
    (GOOD, "threshold", 1.5, ValueError, "but got 1.5"),
    ([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]], "kind", "positive", ValueError, "but got 3"),
]


@pytest.mark.parametrize(("predictions", "references", "kind", "words"), BAD_VALUES)
def test_an_invalid_value_is_named(predictions, references, kind, words):
    with pytest.raises(kind, match=words) as error:
        calibration_error(predictions, references)

    assert str(error.value).startswith("Expected ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("predictions", "option", "value", "kind", "words"), BAD_OPTIONS)
def test_an_invalid_option_is_named(predictions, option, value, kind, words):
    with pytest.raises(kind, match=words) as error:
        calibration_error(predictions, [0, 1], **{option: value})

    assert error.value.option == (option,)
    assert "\n" not in str(error.value)


def test_scores_outside_the_unit_interval_name_the_option_that_helps():
    with pytest.raises(OptionError, match="between 0 and 1") as error:
        calibration_error([[2.5, -1.5], [0.4, 0.6]], [0, 1])

    assert error.value.option == ("scores",)


def test_logits_of_one_column_are_refused():
    with pytest.raises(ValueError, match="at least two, but"):
        calibration_error([0.3, 2.0], [0, 1], scores="logits")


def test_unknown_option():
    with pytest.raises(TypeError, match="mean 'n_bins'?"):
        calibration_error(ROWS, LABELS, bins=3)

"""The table of figures: by hand on unbalanced items, the same by the Trainer's metrics, and paired tests."""

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from rightreasons.calibration.figures import FIGURES, STATISTICS
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import (
    MIN_WORSE_GAP,
    find_worst_split,
    measure_calibration,
    measure_classes,
    measure_figures,
)
from rightreasons.calibration.paired import (
    COMPARED_FIGURES,
    count_paired_outcomes,
    paired_test,
)
from rightreasons.core.arrays import Ragged
from rightreasons.core.estimates import Estimate, FigureText, estimate_mean, make_estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.page.parts import Headline
from rightreasons.training.metrics import compute_metrics

FEW = Resampling(resamples=20)
PROBABILITIES = [
    [0.7, 0.2, 0.1],
    [0.5, 0.3, 0.2],
    [0.1, 0.1, 0.8],
    [0.6, 0.3, 0.1],
    [0.2, 0.6, 0.2],
]
LABELS = np.array([0, 1, 2, 0, -1])  # right, wrong, right, right, without a label


@pytest.fixture
def items():
    return JudgedItems.of(np.log(np.array(PROBABILITIES)), LABELS)


@pytest.fixture
def many():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(139, 3)) * 2
    labels = np.where(
        rng.random(139) < 0.6, logits.argmax(axis=1), rng.choice(3, size=139, p=[0.6, 0.3, 0.1])
    )
    return JudgedItems.of(logits, labels)


def test_figures_by_hand(items):
    figures = measure_figures(
        items, ["accuracy", "macro_f1", "mean_confidence", "confidence_gap", "brier", "macro_ce"]
    )
    assert len(items) == 4
    assert figures["accuracy"].value == 0.75
    # F1 of class 0: 2 * 2 / (3 + 2); of class 1: 0; of class 2: 1.
    assert figures["macro_f1"].value == pytest.approx((0.8 + 0 + 1) / 3)
    assert figures["mean_confidence"].value == pytest.approx((0.7 + 0.5 + 0.8 + 0.6) / 4)
    assert figures["confidence_gap"].value == pytest.approx(0.65 - 0.75)
    # (0.09 + 0.04 + 0.01) + (0.25 + 0.49 + 0.04) + (0.01 + 0.01 + 0.04) + (0.16 + 0.09 + 0.01)
    assert figures["brier"].value == pytest.approx((0.14 + 0.78 + 0.06 + 0.26) / 4)
    assert figures["macro_ce"].value == pytest.approx(((0.3 + 0.2 + 0.4) / 3 + 0.5) / 2)


def test_the_number_of_bins_is_an_option(many):
    coarse, fine = (
        measure_calibration(dataclasses.replace(many, n_bins=n), keys=["ece"]) for n in (2, 15)
    )
    assert (len(coarse.bins.bins), len(fine.bins.bins)) == (2, 15)
    assert coarse.figures["ece"].value == coarse.bins.ece < fine.figures["ece"].value
    assert sum(accuracy is not None for accuracy in fine.accuracies) == sum(
        row.count > 0 for row in fine.bins.bins
    )


def test_every_figure_of_the_top_labels_is_a_metric_of_the_trainer(many):
    figures = compute_metrics(*STATISTICS)((many.logits, many.top.labels))
    for name, estimate in measure_figures(many, STATISTICS, resampling=FEW).items():
        assert figures[name] == pytest.approx(estimate.value)
        assert estimate.has_interval


def test_choices_of_different_numbers_have_no_figures_by_class():
    logits = Ragged(np.log([0.7, 0.3, 0.2, 0.2, 0.6]), np.array([0, 2, 5]))
    items = JudgedItems.of(logits, np.array([1, 2]))
    figures = measure_figures(items, resampling=FEW)
    assert not {"macro_f1", "brier", "classwise_ece"} & set(figures)
    assert figures["accuracy"].value == 0.5
    assert figures["nll"].value == pytest.approx(-(np.log(0.3) + np.log(0.6)) / 2)


def test_an_impossible_label_has_no_log_loss():
    items = JudgedItems.of(np.array([[0.0, -np.inf], [1.0, 0.0]]), np.array([1, 0]))
    assert measure_figures(items, ["nll"])["nll"].value is None


def test_a_sure_model_that_never_errs_shows_no_gap():
    """All of 24 answers are right at a confidence of 99.3 %: resampling knows of no error, and would be sure of it."""
    items = JudgedItems.of(np.log(np.tile([0.993, 0.007], (24, 1))), np.zeros(24, dtype=int))
    figures = measure_figures(
        items, ["confidence_gap", "brier", "nll", "aurc", "auroc"], resampling=FEW
    )
    gap, brier = figures["confidence_gap"], figures["brier"]
    # With an item at each bound the mean is 24 * -0.007 / 26, the mean square (24 * 0.007^2 + 2) / 26; t(25) = 2.0595.
    center, square = 24 * -0.007 / 26, (24 * 0.007**2 + 2) / 26
    half = 2.0595 * np.sqrt((square - center**2) / 26)
    assert gap.value == pytest.approx(-0.007)
    assert (gap.low, gap.high) == pytest.approx((center - half, center + half), abs=1e-5)
    assert brier.low == 0 < 0.15 < brier.high
    for key in ("nll", "aurc"):
        assert figures[key].value is not None
        assert not figures[key].has_interval
        assert figures[key].method == "no interval: fewer than 5 answers are incorrect"
    assert figures["auroc"].value is None
    text = FigureText(
        "Log loss", "Mean of −log probability of the label.", "Good 1952", unit="nats"
    )
    assert Headline.from_text("nll", text, figures["nll"]).no_interval == figures["nll"].method


def test_five_errors_are_enough_for_the_interval_of_the_log_loss():
    logits = np.log(np.tile([[0.8, 0.2], [0.7, 0.3]], (15, 1)))
    for n_wrong, known in ((4, False), (5, True)):
        labels = np.r_[np.ones(n_wrong, dtype=int), np.zeros(30 - n_wrong, dtype=int)]
        figures = measure_figures(
            JudgedItems.of(logits, labels), ["nll", "aurc", "auroc"], resampling=FEW
        )
        assert {estimate.has_interval for estimate in figures.values()} == {known}


def test_classes_the_most_frequent_first(items):
    classes = measure_classes(items, resampling=FEW)
    assert [one.label for one in classes] == [0, 1, 2]  # 2, 1 and 1 items
    first, second, third = classes
    assert (first.n_items, first.precision.value, first.recall.value) == (2, 2 / 3, 1.0)
    assert (second.precision, second.recall.value) == (None, 0.0)
    assert third.ece.value == pytest.approx((0.1 + 0.2 + 0.2 + 0.1) / 4)


def test_paired_tests_are_of_the_difference(many):
    other = JudgedItems.of(many.logits * 0.3 + np.array([0.5, 0.0, 0.0]), many.top.labels)
    first, second = (
        measure_figures(one, COMPARED_FIGURES, resampling=FEW) for one in (many, other)
    )
    for key in COMPARED_FIGURES:
        test = paired_test(key, many, other, resampling=FEW)
        assert test.difference == pytest.approx(first[key].value - second[key].value)
        assert test.interval.low <= test.interval.high
        assert 0 < test.p_value <= 1
        assert paired_test(key, many, many, resampling=FEW).p_value == 1


def test_the_errors_of_two_models_may_be_equal_though_the_models_are_not():
    # One is too sure by 0.2, the other too unsure by 0.2, both right in 70 of 100: swapping them item by item would mix
    # them into calibrated models, whose difference is seldom that large.
    right = np.tile(np.arange(10) < 7, 10)
    sides = [
        JudgedItems.of(
            np.log(np.column_stack((np.full(100, p), np.full(100, 1 - p)))), np.where(right, 0, 1)
        )
        for p in (0.9, 0.5001)
    ]
    test = paired_test("ece", *sides)
    assert test.difference == pytest.approx(0, abs=2e-4)
    assert test.p_value > 0.5
    assert test.interval.low < 0 < test.interval.high
    one = JudgedItems.of(np.log([[0.9, 0.1]]), np.array([0]))
    assert paired_test("ece", one, one).interval is None


def test_an_interval_of_width_zero_is_none():
    said = "no resample differs, so without interval"
    assert make_estimate(0.5, Interval(0.5, 0.5, 0.95, "BCa bootstrap")) == Estimate(
        0.5, method=said
    )
    assert estimate_mean([0.8, 0.8], FEW) == Estimate(0.8, method=said)
    # A confidence that ranks every right answer above every wrong one does so in each resample too, but need not.
    rows = np.repeat([[2.0, 0.0], [1.0, 0.0]], 10, axis=0)
    ranked = JudgedItems.of(rows, np.repeat([0, 1], 10))
    perfect = measure_figures(ranked, ["auroc"], resampling=FEW)["auroc"]
    assert perfect.value == perfect.high == 1 > perfect.low
    same = paired_test("ece", ranked, ranked, resampling=FEW)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    assert same.interval.low == -same.interval.high < 0


def test_a_single_error_does_not_tell_how_errors_fare():
    # One wrong answer of a hundred has one confidence in every resample that has it.
    logits = np.log(np.column_stack((np.linspace(0.6, 0.9, 100), np.linspace(0.4, 0.1, 100))))
    wrong = measure_figures(
        JudgedItems.of(logits, np.r_[1, np.zeros(99, dtype=int)]), ["macro_ce"], resampling=FEW
    )
    assert {one.method for one in wrong.values()} == {
        "no interval: fewer than 5 answers are incorrect"
    }
    few_right = JudgedItems.of(logits, np.r_[0, np.ones(99, dtype=int)])
    figures = measure_figures(few_right, ["macro_ce", "auroc", "aurc", "nll"], resampling=FEW)
    assert {one.method for one in figures.values()} == {
        "no interval: fewer than 5 answers are correct"
    }


def test_the_mean_confidence_of_two_items_is_hardly_known():
    # 0.7 and 0.9 with an item at each bound: mean 0.65, mean square deviation 0.1525; 0.65 - 3.18245 sqrt(0.1525 / 4).
    items = JudgedItems.of(np.log([[0.7, 0.3], [0.9, 0.1]]), np.array([0, 0]))
    found = measure_figures(items, ["mean_confidence"], resampling=FEW)["mean_confidence"]
    assert (found.value, found.low, found.high) == (
        pytest.approx(0.8),
        pytest.approx(0.0286, abs=5e-5),
        1.0,
    )


def test_the_risk_of_the_most_confident_has_its_longer_arm_above():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.6, 0.99, size=200)
    wrong = rng.random(200) < 0.8 * (1 - confidence)
    items = JudgedItems.of(np.log(np.column_stack((confidence, 1 - confidence))), wrong.astype(int))
    found = measure_figures(items, ["aurc", "ece_sweep"])
    assert found["aurc"].high - found["aurc"].value > found["aurc"].value - found["aurc"].low > 0
    assert found["ece_sweep"].low <= found["ece_sweep"].value <= found["ece_sweep"].high


def copied(items, n):
    """Each item n times, all of them one unit."""
    rows = np.repeat(np.arange(len(items)), n)
    return JudgedItems.of(items.logits[rows], items.top.labels[rows], clusters=rows)


def test_copies_of_an_item_are_one_item(many):
    # Three copies of each of 139 items tell as much as the items do: so wide is every interval, and no test is surer.
    copies = copied(many, 3)
    assert (len(copies), copies.n_units) == (417, 139)
    how = Resampling(resamples=300)
    keys = [key for key in STATISTICS if key not in ("smooth_ece", "ece_sweep", "aurc")]
    keys += [
        "accuracy",
        "macro_f1",
        "mean_confidence",
        "confidence_gap",
        "brier",
        "nll",
        "ece",
        "classwise_ece",
    ]
    plain, clustered = (measure_figures(items, keys, resampling=how) for items in (many, copies))
    for key, one in clustered.items():
        assert one.value == pytest.approx(plain[key].value, abs=0.002)
        width = plain[key].high - plain[key].low
        assert one.high - one.low > 0.72 * width, key
    naive = measure_figures(dataclasses.replace(copies, clusters=None), ["accuracy"])["accuracy"]
    assert naive.high - naive.low < 0.62 * (clustered["accuracy"].high - clustered["accuracy"].low)


def test_copies_of_a_calibrated_model_are_not_called_miscalibrated():
    rng = np.random.default_rng(1)
    rejected = {"items": 0, "units": 0}
    for seed in range(60):
        confidence = np.repeat(rng.uniform(0.5, 1, 40), 5)
        right = np.repeat(rng.random(40), 5) < confidence
        logits = np.log(np.column_stack((confidence, 1 - confidence)))
        items = JudgedItems.of(logits, np.where(right, 0, 1), clusters=np.repeat(np.arange(40), 5))
        how = Resampling(resamples=200, seed=seed)
        for name, judged in (
            ("items", dataclasses.replace(items, clusters=None)),
            ("units", items),
        ):
            rejected[name] += (
                measure_calibration(judged, keys=[], resampling=how).consistency.p_value <= 0.05
            )
    assert rejected["units"] <= 7 < 20 < rejected["items"]


@pytest.mark.parametrize(
    ("n", "sharpened", "low"), [(400, 1.0, 0.0), (400, 2.5, 0.1), (25_000, 1.0, 0.0)]
)
def test_the_interval_of_a_smooth_error_covers_the_0_of_a_calibrated_model(n, sharpened, low):
    rng = np.random.default_rng(3)  # one in 20 models, such as that of seed 2, shows more by chance
    logits = rng.normal(scale=1.5, size=(n, 3))
    labels = np.array([rng.choice(3, p=row) for row in softmax(logits, axis=1)])
    keys = ["smooth_ece", "ece_sweep"]
    figures = measure_figures(JudgedItems.of(log_softmax(sharpened * logits, axis=1), labels), keys)
    for figure in figures.values():
        assert figure.low >= low
        assert (figure.low == 0.0) == (sharpened == 1.0)
        assert figure.low < figure.value < figure.high  # what chance alone shows is above 0


def test_the_smooth_error_lies_inside_its_interval():
    # 40 items that fit better than chance does: the basic bootstrap alone would end below the figure itself.
    confidence = np.tile([0.6, 0.7, 0.8, 0.9], 10)
    right = (
        np.concatenate([np.arange(10) < 10 * share for share in (0.6, 0.7, 0.8, 0.9)])
        .reshape(4, 10)
        .T.ravel()
    )
    logits = np.log(np.stack((confidence, 1 - confidence), axis=1))
    found = measure_figures(
        JudgedItems.of(logits, np.where(right, 0, 1)), ("smooth_ece", "ece_sweep")
    )
    for figure in found.values():
        assert figure.low <= figure.value <= figure.high
        # No error is below the gap, and 30 right of 40 may be as few as Wilson's 0.5981: 0.75 - 0.5981.
        assert figure.high >= 0.1519


def test_items_are_counted_by_which_model_is_correct():
    labels = np.array([0, 0, 0, 0, 0, 0])
    first = JudgedItems.of(np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2), labels)
    second = JudgedItems.of(np.array([[1.0, 0.0]] + [[0.0, 1.0]] * 4 + [[1.0, 0.0]]), labels)

    assert count_paired_outcomes(first, second) == {
        "both_right": 1,
        "first_right": 3,
        "second_right": 1,
        "both_wrong": 1,
    }


def test_the_definition_of_a_figure_depends_on_the_kind_of_confidence():
    figure = FIGURES["accuracy"]

    assert figure.fill_definition(5, "confidence").definition == figure.of_answers
    assert figure.fill_definition(5).definition == figure.definition
    assert "5 bins" in FIGURES["ece"].fill_definition(5, "confidence").definition


def test_only_the_most_frequent_classes_are_measured(items, monkeypatch):
    monkeypatch.setattr("rightreasons.calibration.measure.MAX_CLASSES", 2)

    assert [figures.label for figures in measure_classes(items, resampling=FEW)] == [0, 1]


def test_many_classes_share_their_resamples(items, monkeypatch):
    resampling = Resampling(resamples=1000)
    monkeypatch.setattr("rightreasons.calibration.measure.MAX_CLASS_RESAMPLES", 450)

    methods = {figures.ece.method for figures in measure_classes(items, resampling=resampling)}

    # 450 resamples of three classes are 150 of each.
    assert len(methods) == 1
    assert "150 resamples" in methods.pop()


def make_gap(value, low, high):
    return {"confidence_gap": Estimate(value, low, high)}


@pytest.mark.parametrize(
    ("gap", "worst"),
    [
        # The interval must be farther from 0 than 0.05, and than 0.08, the far end of the primary.
        (make_gap(0.2, 0.08, 0.3), None),
        (make_gap(0.2, 0.0801, 0.3), "other"),
        (make_gap(-0.2, -0.3, -0.0801), "other"),
        (make_gap(-0.2, -0.3, -0.08), None),
        # An interval that contains 0 shows no gap.
        (make_gap(0.2, -0.5, 0.9), None),
        ({"confidence_gap": Estimate(0.9)}, None),
    ],
)
def test_a_split_is_worse_if_its_whole_gap_is_beyond_that_of_the_primary(gap, worst):
    compared = {"test": make_gap(-0.03, -0.08, 0.02), "other": gap}
    assert find_worst_split("test", compared) == worst


def test_a_split_is_worse_only_beyond_the_smallest_gap():
    primary = make_gap(0.0, -0.01, 0.01)
    at_limit = make_gap(0.2, MIN_WORSE_GAP, 0.3)
    assert find_worst_split("test", {"test": primary, "other": at_limit}) is None


def test_the_worst_split_has_the_largest_gap_and_the_first_of_equal_gaps():
    compared = {
        "test": make_gap(0.0, -0.01, 0.01),
        "a": make_gap(0.2, 0.1, 0.3),
        "b": make_gap(-0.4, -0.5, -0.3),
        "c": make_gap(0.4, 0.3, 0.5),
    }
    assert find_worst_split("test", compared) == "b"

"""Sources of confidence compared on the same items: closed forms, and the figures of the other kernels."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.calibration.compare import COMPARED, _Ranked, compare_confidence
from rightreasons.calibration.summary import calibration_summary
from rightreasons.core.resampling import Resampling

FEW = Resampling(resamples=300)


@pytest.fixture(scope="module")
def drawn():
    """Confidences with many ties, an empty bin and both ends of the range."""
    rng = np.random.default_rng(5)
    p = np.concatenate(([0.0, 1.0], np.round(rng.beta(2, 1, 199), 1)))
    return p, rng.random(201) < p**2


def test_figures_are_those_of_the_summary_also_of_resampled_items(drawn):
    p, right = drawn
    weights = np.random.default_rng(6).integers(0, 4, size=(2, len(p)))
    weights[0] = 1
    figures = _Ranked(p, right, 15).figures(weights.astype(float))
    for row, counts in enumerate(weights):
        repeated = np.repeat(np.arange(len(p)), counts)
        summary = calibration_summary(p[repeated], right[repeated], kind="confidence").to_dict()
        summary["confidence_gap"] = summary["mean_confidence"] - summary["accuracy"]
        for key in (*COMPARED, "ece_debiased"):
            assert max(0, figures[key][row]) == pytest.approx(max(0, summary[key]), abs=1e-12), key


def test_differences_tests_and_correction(drawn):
    p, right = drawn
    compared = compare_confidence({"p": p, "same": p, "flat": np.full(len(p), 0.9)}, right, resampling=FEW)
    same, flat, other = compared.pairs
    assert (same.first, same.second, other.first) == ("p", "same", "same")
    assert {test.p_value for test in same.differences.values()} == {1.0}
    assert "accuracy" not in flat.differences
    # A constant ranks nothing: its AUROC is 1/2, and that of p is not.
    auroc = flat.differences["auroc"]
    assert auroc.difference == compared.figures["p"]["auroc"] - 0.5
    assert auroc.interval.low > 0
    # No resample is as far: 2 / 301 of a normal distribution, and somewhat more of Student's t with a degree of
    # freedom less than there are wrong answers: 2 (1 - T(z sqrt(1 - 1/n))).
    n = int(min(right.sum(), (~right).sum()))
    smallest = 2 * stats.t.sf(stats.norm.isf(1 / 301) * np.sqrt(1 - 1 / n), n - 1)
    assert auroc.p_value == pytest.approx(smallest)
    assert 2 / 301 < smallest < 3 / 301
    # Two of the three p-values are the smallest: Holm multiplies the first two by 3 (and by 2, but not below).
    assert flat.p_holm["auroc"] == pytest.approx(3 * smallest)
    assert same.p_holm["auroc"] == 1
    assert flat.differences["brier"].difference == pytest.approx(np.mean((p - right) ** 2 - (0.9 - right) ** 2))


def test_a_handful_of_items_shows_no_difference():
    """Three right above two wrong answers, where the other says the same of all: by chance in 1 of 10 orders."""
    right = [1, 1, 1, 0, 0]
    sources = {"p": [0.95, 0.93, 0.9, 0.8, 0.7], "said": [0.9] * 5, "sure": [1.0] * 5}
    for pair in compare_confidence(sources, right, resampling=FEW).pairs:
        assert set(pair.differences) == {"mean_confidence", "confidence_gap", "ece", "brier"}
    one = compare_confidence({"p": [0.9], "said": [0.7]}, [1], resampling=FEW)
    assert one.pairs[0].differences == {}
    assert one.figures["p"]["brier"] == pytest.approx(0.01)
    # Ten right and four wrong answers: the ranking is tested from five of each on.
    rng = np.random.default_rng(2)
    for wrong, tested in ((4, False), (5, True)):
        found = compare_confidence(
            {"p": rng.random(10 + wrong), "flat": np.full(10 + wrong, 0.9)}, [1] * 10 + [0] * wrong, resampling=FEW
        )
        assert ("auroc" in found.pairs[0].differences) is tested


def test_a_confidence_that_is_alike_for_all_items_is_beaten_by_chance_no_more_often_than_stated():
    """Without the wider quantiles, a random ranking of 5 right and 10 wrong answers beat it in 14% of 300 draws."""
    rng = np.random.default_rng(0)
    right = [1] * 5 + [0] * 10
    tests = [
        compare_confidence({"flat": np.full(15, 0.9), "p": rng.random(15)}, right, resampling=Resampling(resamples=200))
        .pairs[0]
        .differences["auroc"]
        for _ in range(150)
    ]
    assert np.mean([test.p_value < 0.05 for test in tests]) < 0.05
    assert np.mean([not test.interval.low <= 0 <= test.interval.high for test in tests]) < 0.05


def test_a_constant_difference_leaves_a_width():
    # Twelve items show none of a share of 1 - 0.025^(1/12) = 0.2647, whose differences may be -1 or 1.
    confidences = {"sure": [0.9] * 12, "less": [0.8] * 12}
    test = compare_confidence(confidences, [1] * 7 + [0] * 5).pairs[0].differences["mean_confidence"]
    share = 1 - 0.025 ** (1 / 12)
    assert test.interval.low == pytest.approx(0.1 - share * 1.1)
    assert test.interval.high == pytest.approx(0.1 + share * 0.9)


def test_answers_of_their_own():
    confidence = {"one": [0.9, 0.8, 0.7, 0.6], "two": [0.6, 0.7, 0.8, 0.9]}
    compared = compare_confidence(confidence, {"one": [1, 1, 1, 0], "two": [1, 0, 0, 0]}, resampling=FEW)
    accuracy = compared.pairs[0].differences["accuracy"]
    # Two items are right by the first alone: p = 2 * (1/2)^2.
    assert (accuracy.difference, accuracy.p_value) == (0.5, 0.5)
    assert accuracy.interval.low < 0.5 < accuracy.interval.high


def test_figures_that_are_undefined():
    compared = compare_confidence({"p": [0.9, 0.4], "q": [0.2, 0.3]}, [1, 1], resampling=FEW)
    assert compared.figures["p"]["auroc"] is None
    assert "auroc" not in compared.pairs[0].differences
    assert "aurc" not in compared.pairs[0].differences
    assert compared.figures["p"]["aurc"] == 0
    assert compare_confidence({"p": [0.5]}, [0], resampling=FEW).pairs == ()
    assert compared.to_dict()["n_items"] == 2


@pytest.mark.parametrize(
    ("confidences", "correct", "sentence"),
    [
        ({}, [1], "at least one source"),
        ({"p": [1.2]}, [1], "`p` to be at most 1"),
        ({"p": [0.5, 0.5]}, [1], "of one length, but got 2 and 1"),
        ({"p": [0.5, 0.5], "q": [0.5]}, {"p": [1, 0], "q": [1]}, "`p` and `q` of one length"),
        ({"p": [0.5]}, {"q": [1]}, "answers of 'p' were right"),
        ({"p": [float("nan")]}, [1], "finite"),
    ],
)
def test_bad_input(confidences, correct, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_confidence(confidences, correct)

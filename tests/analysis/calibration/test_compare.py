"""Sources of confidence compared on the same items: closed forms, and the figures of the other kernels."""

import numpy as np
import pytest

from rightreasons.analysis import calibration_summary, compare_confidence
from rightreasons.analysis.calibration.compare import COMPARED, _Ranked
from rightreasons.foundations.resampling import Resampling

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
    assert auroc.p_value == pytest.approx(2 / 301)
    # Two of the three p-values are the smallest: Holm multiplies the first two by 3 (and by 2, but not below).
    assert flat.p_holm["auroc"] == pytest.approx(6 / 301)
    assert same.p_holm["auroc"] == 1
    assert flat.differences["brier"].difference == pytest.approx(np.mean((p - right) ** 2 - (0.9 - right) ** 2))


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
    assert "aurc" in compared.pairs[0].differences
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

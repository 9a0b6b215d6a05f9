"""Sources of confidence compared on the same items: closed forms, and the figures of the other kernels."""

import numpy as np
import pytest

from rightreasons.calibration.compare import compare_confidence
from rightreasons.calibration.proper_scores import auroc as area
from rightreasons.core.resampling import Resampling

FEW = Resampling(resamples=300)


@pytest.fixture(scope="module")
def drawn():
    """Confidences with many ties, an empty bin and both ends of the range."""
    rng = np.random.default_rng(5)
    p = np.concatenate(([0.0, 1.0], np.round(rng.beta(2, 1, 199), 1)))
    return p, rng.random(201) < p**2


def test_differences_tests_and_correction(drawn):
    p, right = drawn
    compared = compare_confidence(
        {"p": p, "same": p, "flat": np.full(len(p), 0.9)}, right, resampling=FEW
    )
    same, flat, other = compared
    assert (same.first, same.second, other.first) == ("p", "same", "same")
    assert {test.p_value for test in same.differences.values()} == {1.0}
    # A constant ranks nothing: its AUROC is 1/2, and that of p is not.
    auroc = flat.differences["auroc"]
    assert auroc.difference == area(p, right) - 0.5
    assert auroc.interval.low > 0
    assert auroc.p_value < 1e-6
    # Two of the three p-values are alike: Holm multiplies the first two by 3 (and by 2, but not below).
    assert flat.p_holm["auroc"] == pytest.approx(3 * auroc.p_value)
    assert same.p_holm["auroc"] == 1
    assert flat.differences["brier"].difference == pytest.approx(
        np.mean((p - right) ** 2 - (0.9 - right) ** 2)
    )


def test_a_handful_of_items_shows_no_difference():
    """Three right above two wrong answers, where the other says the same of all: by chance in 1 of 10 orders."""
    right = [1, 1, 1, 0, 0]
    sources = {"p": [0.95, 0.93, 0.9, 0.8, 0.7], "said": [0.9] * 5, "sure": [1.0] * 5}
    for pair in compare_confidence(sources, right, resampling=FEW):
        assert set(pair.differences) == {"mean_confidence", "confidence_gap", "ece", "brier"}
    assert compare_confidence({"p": [0.9], "said": [0.7]}, [1], resampling=FEW)[0].differences == {}
    assert compare_confidence({"p": [0.5]}, [0], resampling=FEW) == ()
    # Ten right and four wrong answers: the ranking is tested from five of each on.
    rng = np.random.default_rng(2)
    for wrong, tested in ((4, False), (5, True)):
        found = compare_confidence(
            {"p": rng.random(10 + wrong), "flat": np.full(10 + wrong, 0.9)},
            [1] * 10 + [0] * wrong,
            resampling=FEW,
        )
        assert ("auroc" in found[0].differences) is tested


def test_a_confidence_that_is_alike_for_all_items_is_beaten_by_chance_no_more_often_than_stated():
    """Without the wider quantiles, a random ranking of 5 right and 10 wrong answers beat it in 14% of 300 draws."""
    rng = np.random.default_rng(0)
    right = [1] * 5 + [0] * 10
    tests = [
        compare_confidence(
            {"flat": np.full(15, 0.9), "p": rng.random(15)},
            right,
            resampling=Resampling(resamples=200),
        )[0].differences["auroc"]
        for _ in range(150)
    ]
    assert np.mean([test.p_value < 0.05 for test in tests]) < 0.05
    assert np.mean([not test.interval.low <= 0 <= test.interval.high for test in tests]) < 0.05


def test_a_constant_difference_leaves_a_width():
    # With an item at each bound: mean (12 * 0.1) / 14, mean square (12 * 0.01 + 2) / 14; t(13) = 2.1604.
    confidences = {"sure": [0.9] * 12, "less": [0.8] * 12}
    tests = compare_confidence(confidences, [1] * 7 + [0] * 5)[0].differences
    # Gaps lie between -1 and 1, so that their differences lie between -2 and 2: 4 is the square of either bound.
    for key, bound in (("mean_confidence", 1), ("confidence_gap", 4)):
        test, center, square = tests[key], 1.2 / 14, (0.12 + 2 * bound) / 14
        assert test.interval.high == pytest.approx(
            center + 2.1604 * np.sqrt((square - center**2) / 14), abs=1e-4
        )
        assert test.p_value == pytest.approx(2 / 2**12, abs=0.002)


def test_a_ranking_without_an_error_leaves_a_width():
    # AUROC 1 beside 1/2; of 6 wrong answers, a share of up to 1 - 0.025^(1/6) may rank otherwise.
    confidences = {"p": np.linspace(0.9, 0.3, 13), "flat": [0.9] * 13}
    auroc = compare_confidence(confidences, [1] * 7 + [0] * 6, resampling=FEW)[0].differences[
        "auroc"
    ]
    unseen = 1 - 0.025 ** (1 / 6)
    assert (auroc.interval.low, auroc.interval.high) == pytest.approx(
        (0.5 - unseen * 1.5, 0.5 + unseen * 0.5)
    )


def test_copies_of_an_item_are_one_item(drawn):
    p, right = drawn
    other = np.clip(p + np.random.default_rng(1).normal(0, 0.2, len(p)), 0, 1)
    rows = np.repeat(np.arange(len(p)), 4)
    one = compare_confidence({"p": p, "other": other}, right, resampling=FEW)[0].differences
    both = {"p": p[rows], "other": other[rows]}
    copies = compare_confidence(both, right[rows], clusters=rows, resampling=FEW)[0].differences
    for key in ("auroc", "brier", "confidence_gap"):
        widths = [found[key].interval.high - found[key].interval.low for found in (one, copies)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1), key


@pytest.mark.parametrize(
    ("confidences", "correct", "words"),
    [
        ({}, [1], "at least one"),
        ({"p": [1.2]}, [1], "at most 1"),
        ({"p": [0.5, 0.5]}, [1], "one length"),
        ({"p": [0.5, 0.5], "q": [0.5]}, [1, 0], "`q` and `correct`"),
        ({"p": [float("nan")]}, [1], "finite"),
    ],
)
def test_invalid_confidences_are_refused(confidences, correct, words):
    with pytest.raises(ValueError, match=words):
        compare_confidence(confidences, correct)


def test_the_number_of_bins_is_limited():
    with pytest.raises(ValueError, match="n_bins"):
        compare_confidence({"p": [0.5]}, [1], n_bins=0)


def test_equal_errors_in_unequal_bins_are_seldom_called_different():
    """Both confidences are 0.1 too high, in some 15 bins and in 3: each p-value up to 0.05 is an error."""
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = 0.9 * rng.beta(2, 1.5, 150)
        right = rng.random(150) < p
        # The means of 0.9 * Beta(2, 1.5) below 0.3, up to 0.6 and above.
        said = np.array([0.196, 0.458, 0.728])[np.digitize(p, (0.3, 0.6))]
        compared = compare_confidence({"p": p + 0.1, "said": said + 0.1}, right, resampling=FEW)
        p_values.append(compared[0].differences["ece"].p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05


def test_three_items_are_no_stronger_evidence_than_three_signs():
    # All bins and all resamples have the same difference, but 3 items give at least 0.5^2.
    compared = compare_confidence({"p": [1.0] * 3, "q": [0.5] * 3}, [1, 1, 1], resampling=FEW)

    ece = compared[0].differences["ece"]
    assert ece.difference == pytest.approx(-0.5)
    assert ece.p_value == 0.25
    # With no spread, the share of items that 3 items may all miss is 1 - 0.025^(1/3).
    unseen = 1 - 0.025 ** (1 / 3)
    assert ece.interval.high <= -0.5 + 1.5 * unseen + 0.5
    assert ece.interval.low >= -1


def test_an_error_and_its_mirror_have_mirrored_tests(drawn):
    p, right = drawn
    other = np.clip(p + 0.1, 0, 1)

    forward = compare_confidence({"p": p, "q": other}, right, resampling=FEW)[0].differences
    backward = compare_confidence({"q": other, "p": p}, right, resampling=FEW)[0].differences

    for key in ("ece", "auroc"):
        assert forward[key].difference == pytest.approx(-backward[key].difference)
        assert forward[key].p_value == pytest.approx(backward[key].p_value)
        assert forward[key].interval.low == pytest.approx(-backward[key].interval.high)
        assert forward[key].interval.high == pytest.approx(-backward[key].interval.low)


def test_the_interval_contains_the_observed_difference(drawn):
    p, right = drawn

    compared = compare_confidence({"p": p, "sure": np.full(len(p), 1.0)}, right, resampling=FEW)

    for test in compared[0].differences.values():
        assert test.interval.low <= test.difference <= test.interval.high
        assert -2 <= test.interval.low < test.interval.high <= 2

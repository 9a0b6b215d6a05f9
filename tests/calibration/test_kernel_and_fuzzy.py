"""Kernel calibration test and fuzzy calibration error, against their definitions."""

import itertools

import numpy as np
import pytest

from rightreasons.calibration.errors import fuzzy_calibration_error
from rightreasons.calibration.smooth import kernel_calibration
from rightreasons.core.resampling import Resampling

FEW = Resampling(resamples=199, seed=3)


def table(n=40, k=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet([2.0, 1.0, 0.5][:k], size=n)
    rows[5] = rows[6]
    return rows, rng.integers(k, size=n)


def brute_force(rows, labels):
    distance = lambda a, b: 0.5 * np.abs(a - b).sum()  # noqa: E731
    pairs = list(itertools.combinations(range(len(rows)), 2))
    width = np.median([distance(rows[i], rows[j]) for i, j in pairs])
    residuals = np.eye(rows.shape[1])[labels] - rows
    return np.mean([np.exp(-distance(rows[i], rows[j]) / width) * residuals[i] @ residuals[j] for i, j in pairs]), width


def test_the_kernel_estimate_is_the_mean_over_pairs():
    rows, labels = table()
    skce, width = brute_force(rows, labels)
    found = kernel_calibration(rows, labels, resampling=FEW)
    assert (found.skce, found.bandwidth) == (pytest.approx(skce), pytest.approx(width))
    logits = kernel_calibration(np.log(rows) + 3, labels, scores="logits", resampling=FEW)
    assert logits.skce == pytest.approx(skce)
    # Two columns of one confidence give twice the product of the residuals and the same distances.
    confidence, right = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
    skce, width = brute_force(np.column_stack((1 - confidence, confidence)), right)
    for given in ((rows, labels, "top_label"), (confidence, right, "confidence")):
        found = kernel_calibration(*given[:2], kind=given[2], resampling=FEW)
        assert (found.skce, found.bandwidth) == (pytest.approx(skce), pytest.approx(width))


def test_the_kernel_test_sees_what_is_wrong_with_all_classes_only():
    # The top class is right as often as it says; the other two are swapped.
    rng = np.random.default_rng(2)
    rows = np.tile([0.6, 0.35, 0.05], (300, 1)) + rng.uniform(-0.02, 0.02, (300, 1)) * [1, -1, 0]
    labels = rng.choice(3, p=[0.6, 0.05, 0.35], size=300)
    assert kernel_calibration(rows, labels, resampling=FEW).p_value == 1 / 200
    assert kernel_calibration(rows, labels, kind="top_label", resampling=FEW).p_value > 0.05


def test_kernel_of_more_items_than_the_maximum():
    rows, labels = table(60)
    found = kernel_calibration(rows, labels, max_items=25, resampling=FEW)
    assert found.n_items == 25
    assert found == kernel_calibration(rows, labels, max_items=25, resampling=FEW)


def test_kernel_of_certain_and_of_equal_predictions():
    certain = kernel_calibration([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 0], resampling=FEW)
    assert (certain.skce, certain.upper, certain.p_value) == (0.0, 0.0, 1.0)
    # Always 0.5 with three of four right: residuals +-(.5, -.5), products +-.5; 3 pairs alike, 3 not: their mean is 0.
    same = kernel_calibration([0.5] * 4, [1, 1, 1, 0], kind="confidence", resampling=FEW)
    assert same.skce == pytest.approx(0.0)
    with pytest.raises(ValueError, match="at least two items"):
        kernel_calibration([[0.5, 0.5]], [0])
    with pytest.raises(ValueError, match="use kind='top_label'"):
        kernel_calibration([[0.5, 0.5], [0.2, 0.3, 0.5]], [0, 0])


def trapezoid(p, low, high):
    quarter = (high - low) / 4
    return np.interp(p, [low - quarter, low + quarter, high - quarter, high + quarter], [0, 1, 1, 0])


@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_fuzzy_error_by_its_definition(n_bins):
    rows, labels = table(70, seed=4)
    rows[3], rows[4] = [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]
    confidence, right = rows.max(axis=1), rows.argmax(axis=1) == labels
    edges = np.linspace(0, 1, n_bins + 1)
    total = weight = 0.0
    for low, high in itertools.pairwise(edges):
        share = trapezoid(confidence, low, high)
        if share.sum():
            gap = (share * right).sum() / share.sum() - (share * confidence).sum() / share.sum()
            total, weight = total + share.sum() * abs(gap), weight + share.sum()
    found = fuzzy_calibration_error(rows, labels, n_bins=n_bins, resampling=FEW)
    assert found.fce == pytest.approx(total / weight)
    assert sum(found.memberships) == pytest.approx(weight)


def test_fuzzy_error_of_one_bin_and_of_empty_ones():
    # One bin from 0 to 1: 0.9 and 0.5 belong to it by 1.5 - 2 * 0.4 = 0.7 and by 1.
    found = fuzzy_calibration_error([0.9, 0.5], [1, 0], n_bins=1, kind="confidence", resampling=FEW)
    assert found.fce == pytest.approx(abs(0.7 * 0.1 - 1 * 0.5) / 1.7)
    found = fuzzy_calibration_error([0.95, 0.95], [1, 0], n_bins=4, kind="confidence", resampling=FEW)
    assert found.gaps[:3] == [None] * 3
    assert found.gaps[3] == pytest.approx(-0.45)


def test_fuzzy_error_against_chance():
    rng = np.random.default_rng(8)
    p = rng.random(400)
    fine = fuzzy_calibration_error(p, rng.random(400) < p, kind="confidence", resampling=FEW)
    assert fine.p_value > 0.05
    assert fine.expected == pytest.approx(fine.fce, rel=0.6)
    wrong = fuzzy_calibration_error(p, rng.random(400) < p**2, kind="confidence", resampling=FEW)
    assert wrong.p_value == 1 / 200

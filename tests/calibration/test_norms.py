"""Norms: closed forms of the raw, the debiased and the finished error."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.calibration.norms import (
    NORMS,
    bound_residual_bias,
    compute_binned_error,
    compute_folded_mean,
    compute_raw_error,
    list_debiased_norms,
    split_error,
)
from rightreasons.core.binning import Bins


def make_bins(count, score, event):
    """Bins of one class."""
    arrays = [np.array([values], dtype=np.float64) for values in (count, score, event)]
    return Bins(*arrays)


# Gaps 0.9 - 0.5 = 0.4 with weight 0.4, and 0.5 - 0.6666… = -1/6 with weight 0.6; one bin is empty.
TWO_BINS = make_bins([4, 6, 0], [3.6, 3.0, 0.0], [2, 4, 0])


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("l1", 0.4 * 0.4 + 0.6 / 6),
        ("l2", np.sqrt(0.4 * 0.16 + 0.6 / 36)),
        ("max", 0.4),
    ],
)
def test_errors_by_hand(norm, expected):
    assert float(compute_binned_error(TWO_BINS, norm=norm)) == pytest.approx(expected)


def test_raw_l2_is_a_mean_of_squares_and_may_be_below_zero():
    assert float(compute_raw_error(TWO_BINS, norm="l2")) == pytest.approx(0.064 + 0.6 / 36)
    # Half of two events at a mean score of one half: 0 - 0.25 / 1.
    bins = make_bins([2], [1], [1])
    assert float(compute_raw_error(bins, norm="l2", debias=True)) == pytest.approx(-0.25)
    assert float(compute_binned_error(bins, norm="l2", debias=True)) == 0


def test_debiased_l1_by_hand():
    # One bin: 2 |g| - E|X| with X ~ N(g, 0.25 / 4).
    bins = make_bins([4], [3.6], [2])
    deviation = np.sqrt(0.25 / 4)
    expected = 0.8 - stats.foldnorm.mean(0.4 / deviation, scale=deviation)
    assert float(compute_raw_error(bins, debias=True)) == pytest.approx(expected)


def test_leading_axes_are_kept_and_classes_are_averaged():
    stacked = Bins(
        *(np.stack([values, values]) for values in (TWO_BINS.count, TWO_BINS.score, TWO_BINS.event))
    )
    assert compute_binned_error(stacked).shape == (2,)
    # A second class without pairs does not count; a second class with them counts half.
    empty = np.zeros((1, 3))
    parts = (TWO_BINS.count, TWO_BINS.score, TWO_BINS.event)
    with_empty = Bins(*(np.concatenate([values, empty]) for values in parts))
    assert compute_binned_error(with_empty) == pytest.approx(compute_binned_error(TWO_BINS))
    calibrated = (np.array([[2.0, 0, 0]]), np.array([[1.0, 0, 0]]), np.array([[1.0, 0, 0]]))
    with_calibrated = Bins(*(np.concatenate(pair) for pair in zip(parts, calibrated, strict=True)))
    assert compute_binned_error(with_calibrated) == pytest.approx(
        compute_binned_error(TWO_BINS) / 2
    )


def test_over_and_underconfidence_add_up_to_the_l1_error():
    over, under = split_error(TWO_BINS)
    assert (float(over), float(under)) == pytest.approx((0.16, 0.1))


@pytest.mark.parametrize(("mean", "deviation"), [(0.3, 0.2), (-0.3, 0.2), (0.0, 1.0), (5.0, 0.1)])
def test_folded_mean_is_that_of_scipy(mean, deviation):
    expected = stats.foldnorm.mean(abs(mean) / deviation, scale=deviation)
    found = compute_folded_mean(np.array(mean), np.array(deviation))
    assert float(found) == pytest.approx(expected)


def test_folded_mean_without_deviation_is_the_absolute_mean():
    assert compute_folded_mean(np.array([-0.3, 0.0]), np.zeros(2)).tolist() == [0.3, 0.0]


def test_residual_bias_vanishes_for_large_gaps():
    # 0.467 deviations at a gap of 0; nothing if the gap is surely above two of them.
    rate = 50.5 / 101
    deviation = np.sqrt(rate * (1 - rate) / 100)
    assert float(bound_residual_bias(make_bins([100], [50], [50]), 2.0)) == pytest.approx(
        (2 - np.sqrt(2)) * np.sqrt(2 / np.pi) * deviation
    )
    assert float(bound_residual_bias(make_bins([100], [90], [50]), 2.0)) < 1e-4


def test_only_norms_with_a_debiased_form_are_named():
    assert list_debiased_norms() == "norm='l1' or norm='l2'"
    assert NORMS["max"].debias is None
    assert float(NORMS["l2"].bound_bias(TWO_BINS, 2.0)) == 0

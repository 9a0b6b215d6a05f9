"""The null model of a calibration error."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.smooth import consistency
from rightreasons.core.resampling import Resampling


def test_one_bin_follows_the_binomial_law():
    # One bin of n = 400 items at confidence 0.8: the error is |k/400 - 0.8|, k ~ Bin(400, 0.8), whose mean absolute
    # deviation is about sqrt(2/pi) * sqrt(0.8 * 0.2 / 400) = 0.7979 * 0.02 = 0.01596.
    labels = [1] * 320 + [0] * 80
    null = consistency(
        calibration_error([0.8] * 400, labels, n_bins=5), resampling=Resampling(resamples=20_000)
    )
    assert null.expected == pytest.approx(0.01596, rel=0.03)
    # |k/400 - 0.8| stays below the two-sided 95 % bound 1.96 * 0.02 = 0.0392, up to the grid of 1/400.
    assert null.upper == pytest.approx(0.0392, abs=1 / 400)
    assert null.p_value == 1.0  # the observed error is 0, and every draw reaches it
    assert null.bars[:3] == (None, None, None)
    assert null.bars[3] == tuple(stats.binom.ppf([0.025, 0.975], 400, 0.8) / 400)


def test_p_values_of_calibrated_models_are_uniform_enough():
    rng = np.random.default_rng(0)
    p_values = []
    for seed in range(200):
        confidence = rng.uniform(0.5, 1, 500)
        labels = (rng.random(500) < confidence).astype(int)
        p_values.append(
            consistency(
                calibration_error(confidence, labels),
                resampling=Resampling(resamples=200, seed=seed),
            ).p_value
        )
    # The law is slightly conservative, so at most 5 % plus three standard errors, 0.05 + 3 * sqrt(0.05 * 0.95 / 200).
    assert np.mean(np.array(p_values) <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert 0.4 < np.mean(p_values) < 0.65


def test_an_overconfident_model_is_found():
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.8, 1, 500)
    labels = (rng.random(500) < confidence - 0.15).astype(int)
    null = consistency(calibration_error(confidence, labels))
    assert null.p_value < 0.01
    assert calibration_error(confidence, labels).ece > null.upper > null.expected


def test_another_error_than_that_of_the_bins_is_refused():
    with pytest.raises(ValueError, match="plain l1 error"):
        consistency(calibration_error([0.9] * 10, [1] * 5 + [0] * 5, norm="l2", debias=True))

"""The share of a property that an imperfect judge finds, corrected by its errors."""

import numpy as np
import pytest

from rightreasons.core.estimates import JudgeRate, estimate_true_share


def test_false_alarms_are_subtracted_and_misses_are_added():
    estimate = estimate_true_share(0.3, 50, JudgeRate(0.8, 20), JudgeRate(0.9, 40))

    # (0.3 - 0.1) / (0.8 - 0.1) = 2/7.
    assert estimate.value == pytest.approx(2 / 7)
    assert estimate.low < 2 / 7 < estimate.high


def test_a_share_below_the_false_alarms_is_zero():
    estimate = estimate_true_share(0.02, 50, JudgeRate(1.0, 20), JudgeRate(0.9, 40))

    assert (estimate.value, estimate.low) == (0.0, 0.0)
    assert estimate.high > 0


def test_a_judge_at_chance_corrects_nothing():
    assert estimate_true_share(0.5, 50, JudgeRate(0.4, 20), JudgeRate(0.6, 40)) is None
    assert estimate_true_share(0.7, 40, JudgeRate(0.5, 10), JudgeRate(0.5, 10)) is None


def test_the_interval_by_hand():
    # z = 1.95996, z^2 = 3.84146: the share is (28 + 1.92073) / 43.84146 = .682476. With two more
    # answers each, sensitivity is 19/22 with the variance .005353, and specificity 10/14 with .014577.
    # Their sum less 1 is .577922, and the center (.682476 + .714286 - 1) / .577922 = .686531.
    # The variance of the share, .682476 * .317524 / 43.84146 = .004943, and .686531^2 * .005353 and
    # .313469^2 * .014577 are .008898 together; sqrt(.008898) z / .577922 = .319914.
    # The center moves by 2 z^2 (.686531 * .005353 - .313469 * .014577) = -.006872 to .679659.
    interval = estimate_true_share(0.7, 40, JudgeRate(0.9, 20), JudgeRate(0.75, 12))

    assert interval.low == pytest.approx(0.679659 - 0.319914, abs=2e-6)
    assert interval.high == pytest.approx(0.679659 + 0.319914, abs=2e-6)


def test_few_known_items_leave_every_share_possible():
    # With one more right and one more wrong: 2/3 and 1/3, a judge at chance.
    estimate = estimate_true_share(0.5, 50, JudgeRate(1.0, 1), JudgeRate(0.1, 1))

    assert (estimate.low, estimate.high) == (0.0, 1.0)


@pytest.mark.parametrize("true_share", [0.0, 0.1, 0.4])
def test_intervals_cover_the_true_share(true_share):
    rng = np.random.default_rng(7)
    n_covered = 0
    for _ in range(400):
        n_true = rng.binomial(80, true_share)
        n_found = rng.binomial(n_true, 0.9) + rng.binomial(80 - n_true, 0.05)
        estimate = estimate_true_share(
            n_found / 80,
            80,
            JudgeRate(rng.binomial(12, 0.9) / 12, 12),
            JudgeRate(rng.binomial(100, 0.95) / 100, 100),
        )
        # Ends below 0 are moved to 0, which may leave no width.
        n_covered += (estimate.low or 0.0) <= true_share <= (estimate.high or 0.0)
    # 95 % of 400, minus three standard deviations.
    assert n_covered >= 367

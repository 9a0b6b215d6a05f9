"""Option order: worked values of the released code, and what it must find."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.probes.option_order import (
    choices_only,
    contextual_calibration,
    position_bias,
    pride_debias,
    pride_prior,
    pride_prior_intervals,
)

OBSERVED = [
    [0.4, 0.3, 0.2, 0.1],
    [0.5, 0.2, 0.2, 0.1],
    [0.3, 0.4, 0.2, 0.1],
    [0.45, 0.25, 0.15, 0.15],
]


def test_pride_worked_values():
    prior = pride_prior(OBSERVED)
    assert prior == pytest.approx([0.4134, 0.2839, 0.1898, 0.1129], abs=5e-5)
    debiased = pride_debias([[0.4, 0.35, 0.15, 0.1]], prior)[0]
    assert debiased == pytest.approx([0.2496, 0.3181, 0.2038, 0.2285], abs=5e-5)
    assert debiased.argmax() == 1


def test_pride_recovers_a_planted_prior():
    rng = np.random.default_rng(0)
    prior = np.array([0.5, 0.3, 0.2])
    items = []
    for content in rng.dirichlet([5, 5, 5], size=40):
        rows = [prior * np.roll(content, shift) for shift in range(3)]
        items.append([row / row.sum() for row in rows])
    found = pride_prior(np.array(items))
    # log P = log prior + log content - log Z; the content averages out over the cycle, and so does Z.
    assert found == pytest.approx(prior, abs=1e-6)


def test_rstd_closed_form():
    # position 0: 3 of 4 found, 1: 1 of 2, 2: never gold. Recalls .75 and .5, mean .625, deviation .125.
    result = position_bias([0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1], 3)
    assert result.recalls == [0.75, 0.5, None]
    assert result.rstd == pytest.approx(0.125)
    assert result.counts == [4, 2, 0]


def test_interval_of_rstd_by_the_noncentral_chi_square():
    # Two positions of 10 items, recalls .9 and .3, smoothed 10/12 and 4/12. n RStd² = (.6)² / 2 = .18 is one squared
    # normal deviate, of variance g = (10/12 * 2/12 + 4/12 * 8/12) / 10 / 2.
    gold = [0] * 10 + [1] * 10
    result = position_bias([0] * 9 + [1] + [1] * 3 + [0] * 7, gold, 2)
    scale = (20 / 144 + 32 / 144) / 10 / 2
    assert result.rstd == pytest.approx(0.3)
    for end, share in ((result.interval.low, 0.975), (result.interval.high, 0.025)):
        assert stats.ncx2.cdf(0.18 / scale, 1, 2 * end**2 / scale) == pytest.approx(share)
    # Unequal positions, tr(CV)² / tr((CV)²) by the matrices themselves.
    gold = [0] * 4 + [1] * 7 + [2] * 12
    picked = [0] * 4 + [1] * 2 + [0] * 5 + [2] * 9 + [0] * 3
    result = position_bias(picked, gold, 4, confidence_level=0.8)
    smoothed, counts = np.array([5 / 6, 3 / 9, 10 / 14]), np.array([4, 7, 12])
    matrix = (np.eye(3) - 1 / 3) @ np.diag(smoothed * (1 - smoothed) / counts)
    scale = np.trace(matrix @ matrix) / np.trace(matrix)
    law = 3 * result.rstd**2 / scale, np.trace(matrix) / scale
    assert stats.ncx2.cdf(*law, 3 * result.interval.high**2 / scale) == pytest.approx(0.1)
    assert stats.ncx2.cdf(*law, 3 * result.interval.low**2 / scale) == pytest.approx(0.9)


@pytest.mark.parametrize("n_each", [1, 5, 400])
def test_interval_of_rstd_without_a_spread(n_each):
    gold = [0, 1, 2] * n_each
    for picked in (gold, [1, 2, 0] * n_each):
        result = position_bias(picked, gold, 3)
        assert result.rstd == result.interval.low == 0
        assert 0 < result.interval.high <= 0.5
    assert position_bias([0, 1], [1, 1], 2).interval is None


def test_intervals_of_the_prior():
    rng = np.random.default_rng(1)
    table = rng.dirichlet([4, 2, 1], size=(25, 3))
    found = pride_prior_intervals(table, confidence_level=0.9)
    prior = pride_prior(table)
    assert [one.low < share < one.high for one, share in zip(found, prior, strict=True)] == [
        True
    ] * 3
    # The same items always leave only the two added ones: mean (25 * prior + 1) / 27, where nothing is cut at 0.
    same = pride_prior_intervals(np.repeat(np.array([OBSERVED]), 25, axis=0))[:2]
    centers = (25 * pride_prior(OBSERVED)[:2] + 1) / 27
    assert [(one.low + one.high) / 2 for one in same] == pytest.approx(centers)


def test_contextual_calibration_undoes_a_bias():
    assert contextual_calibration([[0.75, 0.25]], [0.75, 0.25])[0] == pytest.approx([0.5, 0.5])
    several = contextual_calibration([[0.6, 0.4]], [[0.7, 0.3], [0.8, 0.2]])
    assert several == pytest.approx(contextual_calibration([[0.6, 0.4]], [0.75, 0.25]))
    with pytest.raises(ValueError, match="shape \\(2,\\)"):
        contextual_calibration([[0.6, 0.4]], [0.2, 0.3, 0.5])


def test_what_is_divided_by_is_a_distribution():
    with pytest.raises(ValueError, match="1 in `prior`"):
        pride_debias([[0.6, 0.4]], [-1.0, 2.0])
    with pytest.raises(ValueError, match="`content_free` to sum"):
        contextual_calibration([[0.6, 0.4]], [[0.5, 0.5], [0.5, 0.4]])


def test_choices_only_against_majority():
    result = choices_only([0] * 9 + [1], [0] * 8 + [1, 1])
    assert result.accuracy == 0.9
    assert result.majority == 0.8
    # P(at least 9 of 10 at .8) = 10 * .8^9 * .2 + .8^10 = .268435 + .107374
    assert result.p_value == pytest.approx(0.3758096, abs=1e-6)


def test_a_p_value_of_clusters_that_underflows_is_not_that_of_a_missing_test():
    # 2,000 clusters of two items; all picks are correct but one, and the majority is one half.
    labels = np.tile([0, 1], 2000)
    picks = labels.copy()
    picks[0] = 1
    clusters = np.repeat(np.arange(2000), 2)

    result = choices_only(picks, labels, clusters=clusters)

    # t = 0.49975 / (0.0112 / sqrt(2000)) = 1999 with 1,999 degrees of freedom.
    assert result.p_value == 0.0
    assert choices_only(labels, labels, clusters=clusters).p_value == 1.0

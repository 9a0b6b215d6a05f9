"""What a feature decides: shares by hand, intervals over clusters, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.swaps import deciding_share, fixed_share, paired_share_interval

BEFORE = [0, 1, 2, 1, 0, 0]
SWAPPED = [1, 1, 0, -1, 2, 0]  # three of five change
CONTROL = [0, 0, -1, 1, 0, 0]  # one of five changes
GOALS = [
    1,
    0,
    1,
    -1,
    2,
    0,
]  # of the first, second, third and fifth, two become the goal; the last points at itself


def test_shares_by_hand():
    result = deciding_share(BEFORE, SWAPPED, CONTROL, goals=GOALS)
    assert result.deciding_share == pytest.approx(3 / 6 - 1 / 6)
    assert (result.coverage, result.rate, result.control_rate) == (pytest.approx(5 / 6), 0.6, 0.2)
    assert result.follow_rate == 0.5
    assert result.interval.low < result.deciding_share < result.interval.high
    assert result.follow_interval.low < 0.5 < result.follow_interval.high


def test_without_anything_to_swap_nothing_is_decided():
    result = deciding_share([0, 1], [-1, -1], [-1, -1])
    assert (result.deciding_share, result.rate, result.control_rate, result.follow_rate) == (
        0.0,
        None,
        None,
        None,
    )


def test_clusters_are_the_units():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(20), 10)
    changed = np.repeat(rng.integers(0, 2, 20), 10)  # all items of a cluster change, or none
    before = np.zeros(200, dtype=int)
    alone = deciding_share(before, changed, before)
    together = deciding_share(before, changed, before, clusters=codes)
    assert alone.deciding_share == together.deciding_share
    widths = [result.interval.high - result.interval.low for result in (alone, together)]
    assert widths[1] > 2.5 * widths[0]  # the square root of ten, but for the bounds


def test_an_effect_at_the_margin_is_called_smaller_no_more_often_than_the_level_says():
    # Without control changes, the number of changes is binomial: the sum over all counts is exact.
    n_items = 400
    level = 1 - 2 * 0.0016
    error = 0.0
    for n_changes in range(n_items // 10):
        changes = np.arange(n_items) < n_changes
        interval = paired_share_interval(
            changes, np.zeros(n_items, dtype=bool), confidence_level=level
        )
        if interval.high >= 0.1:
            break
        error += stats.binom.pmf(n_changes, n_items, 0.1)

    assert 0 < error <= 0.0016


def test_a_cluster_whose_items_agree_counts_as_one_item():
    codes = np.repeat(np.arange(30), 6)
    changes = np.repeat(np.arange(30) < 6, 6)
    control = np.zeros(180, dtype=bool)
    clustered = paired_share_interval(changes, control, clusters=codes)
    single = paired_share_interval(changes[::6], control[::6])

    # But for Student's t of 29 in place of the normal quantile.
    assert clustered.low == pytest.approx(single.low, abs=0.02)
    assert clustered.high == pytest.approx(single.high, abs=0.02)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_few_clusters_are_corrected_by_the_quantile_of_the_level(level):
    # The five items of each of 20 clusters agree, so that they count as 20 items. Student's t of 19
    # degrees of freedom replaces that of 99.
    changes = np.repeat(np.arange(20) < 4, 5)
    tail = (1 - level) / 2
    ratio = stats.t.isf(tail, 19) / stats.t.isf(tail, 99)
    n_effective = 20 / ratio**2

    interval = paired_share_interval(
        changes,
        np.zeros(100, dtype=bool),
        clusters=np.repeat(np.arange(20), 5),
        confidence_level=level,
    )

    # Without items that only have the second flag, Tango's upper end is that of Wilson's interval.
    z = stats.norm.isf(tail)
    center = 0.2 + z**2 / (2 * n_effective)
    half_width = z * np.sqrt(0.2 * 0.8 / n_effective + z**2 / (4 * n_effective**2))
    expected = (center + half_width) / (1 + z**2 / n_effective)
    assert interval.high == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_covers(clustered):
    rng, hits, n_draws = np.random.default_rng(1), 0, 400
    for _ in range(n_draws):
        chances = np.repeat(rng.beta(2, 6, 30), 5)  # mean 1/4
        after = (rng.random(150) < chances).astype(int)
        codes = np.repeat(np.arange(30), 5) if clustered else None
        interval = deciding_share(
            np.zeros(150, int), after, np.zeros(150, int), clusters=codes
        ).interval
        hits += interval.low <= 0.25 <= interval.high
    assert hits / n_draws > (0.92 if clustered else 0.85)


def test_predictions_that_stand_whatever_the_rest_is():
    # Four of five are exchanged; three stay. p = (2/4, 2/4), q = (1/4, 3/4): c = 1/2.
    result = fixed_share([0, 0, 1, 1, 0], [0, 1, 1, 1, -1])
    assert (result.rate, result.control_rate, result.coverage) == (0.75, 0.5, 0.8)
    assert result.deciding_share == pytest.approx(4 / 5 * (0.75 - 0.5) / 0.5)
    # Where one label is always predicted, nothing can be told.
    assert fixed_share([1, 1, 1], [1, 1, 1]).deciding_share == 0.0


def test_what_is_refused():
    with pytest.raises(ValueError, match="swapped"):
        deciding_share([0, 1], [0], [0, 1])
    with pytest.raises(ValueError, match="control"):
        deciding_share([0, 1], [0, 1], [0, -2])
    assert (
        deciding_share([0], [1], [0], resampling=Resampling(level=0.9)).interval.confidence_level
        == 0.9
    )

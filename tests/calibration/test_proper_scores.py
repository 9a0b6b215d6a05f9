"""Intervals of the parts of the Brier score: their center by hand, and where resampling alone tells too little."""

import numpy as np
import pytest

from rightreasons.calibration.proper_scores import brier_part_intervals, brier_score
from rightreasons.core.resampling import Resampling

SAID = np.repeat([0.25, 0.75], 200)
"""Two bins of 200 items."""


def came_true(first, second):
    return np.concatenate([np.arange(200) < first, np.arange(200) < second]).astype(int)


def test_the_center_is_the_part_less_its_noise():
    found = brier_part_intervals(SAID, came_true(90, 150))
    # Frequencies 0.45 and 0.75, base rate 0.6; a class has the noise (200/199) (0.45 * 0.55 + 0.75 * 0.25) / 400
    # = 0.0010930, of which the base rate takes back 0.24 / 399 = 0.0006015. Two classes mirror each other.
    assert (found.resolution.low + found.resolution.high) / 2 == pytest.approx(2 * (0.0225 - 0.0004915), abs=1e-6)
    # The gaps are 0.2 and 0.
    assert (found.reliability.low + found.reliability.high) / 2 == pytest.approx(2 * (0.02 - 0.0010930), abs=1e-6)


def test_they_hold_the_parts_and_widen_with_the_level():
    labels = came_true(50, 150)
    parts = brier_score(SAID, labels)
    assert parts.reliability == 0
    found = brier_part_intervals(SAID, labels, resampling=Resampling(level=0.8))
    wide = brier_part_intervals(SAID, labels, resampling=Resampling(level=0.99))
    for name in ("reliability", "resolution"):
        inner, outer = getattr(found, name), getattr(wide, name)
        assert outer.low <= inner.low <= getattr(parts, name) <= inner.high < outer.high
    assert found == brier_part_intervals(SAID, labels, resampling=Resampling(level=0.8))
    assert found.reliability.low == 0 < found.reliability.high


def test_events_that_always_come_true_may_still_differ():
    # No resample has a bin with another frequency; under Jeffreys' prior the rarer bin may well have one.
    labels = np.ones(60, dtype=int)
    found = brier_part_intervals(np.r_[np.full(50, 0.99), np.full(10, 0.9)], labels)
    assert found.resolution.low == 0
    # In a tenth of such posteriors a bin of 10 has a frequency of 0.87 or less: 2 * (1/6)(5/6)(0.12²) = 0.004.
    assert found.resolution.high > 0.004


def test_many_rows_are_resampled_in_groups_and_items_in_any_order():
    rng = np.random.default_rng(0)
    said = rng.random(5000)
    labels = (rng.random(5000) < said).astype(int)
    found = brier_part_intervals(said, labels, resampling=Resampling(resamples=400)).resolution
    # The variance of a uniform rate is 1/12 in each of two classes.
    assert found.low < 1 / 6 < found.high
    few = brier_part_intervals(said[:500], labels[:500], resampling=Resampling(resamples=400)).resolution
    assert (few.high - few.low) / (found.high - found.low) == pytest.approx(10**0.5, rel=0.25)


def test_rows_of_different_lengths_have_no_classes():
    with pytest.raises(ValueError, match="same classes in every item of `predictions`, but rows have different"):
        brier_part_intervals([[0.5, 0.5], [0.2, 0.3, 0.5]], [0, 1])

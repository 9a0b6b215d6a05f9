"""Difficulty of pairs, and groups by difficulty: closed forms."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.by_difficulty import (
    split_by_value,
)
from rightreasons.difficulty.ranking import paired_difficulty


class TestPairs:
    def test_closed_form(self):
        # Differences -2, 0, 1, 3: mean 2/4, variance (6.25 + 0.25 + 0.25 + 6.25) / 4 = 3.25; three are not below 0.
        found = paired_difficulty([1, 2, 3, 4], [3, 2, 2, 1])
        assert found.mean == 0.5
        assert found.std == pytest.approx(math.sqrt(3.25))
        assert found.not_harder == found.ineffective == 0.75
        assert found.differences == [-2.0, 0.0, 1.0, 3.0]
        assert (found.n_pairs, found.interval) == (4, None)

    def test_equal_differences_have_no_interval(self):
        assert paired_difficulty([1, 2], [2, 3], resampling=Resampling()).interval is None

    def test_threshold(self):
        # Only what got harder by more than 1 counts: -2 does, -1 and -0.5 do not.
        found = paired_difficulty([0, 0, 0, 0], [2, 1, 0.5, -1], threshold=1)
        assert (found.not_harder, found.ineffective, found.threshold) == (0.25, 0.75, 1.0)

    def test_p_value_is_wilcoxons(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=(2, 50))
        found = paired_difficulty(
            first, second + 1, resampling=Resampling(level=0.9, resamples=500)
        )
        assert found.p_value == stats.wilcoxon(first - second - 1).pvalue
        assert found.interval.low < found.mean < found.interval.high < 0
        assert paired_difficulty([1, 2], [1, 2]).p_value is None

    def test_swapped_sides_swap_the_sign(self):
        first, second = np.random.default_rng(1).normal(size=(2, 20))
        there, back = paired_difficulty(first, second), paired_difficulty(second, first)
        assert there.mean == pytest.approx(-back.mean)
        assert there.std == pytest.approx(back.std)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="of one length, but got 2 and 1"):
            paired_difficulty([1, 2], [1])
        with pytest.raises(ValueError, match="`perturbed`"):
            paired_difficulty([1.0, 2.0], [1.0, float("nan")])
        with pytest.raises(ValueError, match="threshold"):
            paired_difficulty([1], [1], threshold=-1)
        with pytest.raises(ValueError, match="original"):
            paired_difficulty([], [])


def test_items_of_equal_difficulty_share_a_group_in_any_order():
    # Groups of three and two would part the three items of difficulty 2, whose middle one is in the first.
    for order in itertools.permutations([1.0, 2.0, 2.0, 2.0, 3.0]):
        values = np.array(order)
        assert [sorted(values[group]) for group in split_by_value(values, 2)] == [
            [1.0, 2.0, 2.0, 2.0],
            [3.0],
        ]


def test_fewer_items_than_groups():
    assert [group.tolist() for group in split_by_value(np.array([3.0, 1.0, 2.0]), 10)] == [
        [1],
        [2],
        [0],
    ]

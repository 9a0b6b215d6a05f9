"""Overlap of two distributions: by hand, of two Gaussians, and against scipy's kernel densities."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.difficulty.ranking import distribution_overlap


class TestOverlap:
    def test_shared_bins_by_hand(self):
        # Width 2 * 1 * 16^(-1/3) = 0.79 of a range of 1: two bins with shares (3/4, 1/4) and (1/4, 3/4), so 1/4 + 1/4.
        found = distribution_overlap([0] * 6 + [1] * 2, [0] * 2 + [1] * 6)
        assert found.histogram == 0.5
        # A tenth as wide and moved: the same shares.
        narrow = distribution_overlap([3.0] * 6 + [3.1] * 2, [3.0] * 2 + [3.1] * 6)
        assert narrow.histogram == 0.5

    def test_it_is_symmetric(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=100), rng.normal(1, 2, size=70)
        there, back = distribution_overlap(first, second), distribution_overlap(second, first)
        assert there.histogram == back.histogram
        assert there.kde == pytest.approx(back.kde)

    def test_two_gaussians(self):
        # OVL of N(0, 1) and N(d, 1) is 2 Phi(-d / 2); for d = 2, 0.31731. The kernels widen both: sigma^2 = 1 + h^2.
        rng = np.random.default_rng(0)
        first, second = rng.normal(0, 1, 20_000), rng.normal(2, 1, 20_000)
        found = distribution_overlap(first, second)
        assert found.histogram == pytest.approx(2 * stats.norm.cdf(-1), abs=0.015)
        assert found.kde == pytest.approx(2 * stats.norm.cdf(-1), abs=0.015)

    @pytest.mark.parametrize("sizes", [(300, 200), (9, 6)])
    def test_kernels_are_those_of_scipy(self, sizes):
        rng = np.random.default_rng(1)
        first, second = rng.normal(0, 1, sizes[0]), rng.normal(1, 2, sizes[1])
        grid = np.linspace(-12, 12, 4001)
        densities = [stats.gaussian_kde(sample)(grid) for sample in (first, second)]
        expected = np.trapezoid(np.minimum(*densities), grid)
        assert distribution_overlap(first, second).kde == pytest.approx(expected, abs=1e-4)
        assert distribution_overlap(first, first).kde == pytest.approx(1.0)

    def test_no_spread(self):
        found = distribution_overlap([1, 1], [1, 1])
        assert (found.histogram, found.kde) == (1.0, None)
        assert distribution_overlap([1, 1], [2, 3]).kde is None

    def test_bad_input(self):
        with pytest.raises(ValueError, match="`second`"):
            distribution_overlap([1.0], [float("inf")])

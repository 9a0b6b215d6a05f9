"""Overlap of two distributions: by hand, of two Gaussians, and against scipy's kernel densities."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.ranking import distribution_overlap


class TestOverlap:
    def test_shared_bins_by_hand(self):
        # Width 2 * 1 * 16^(-1/3) = 0.79 of a range of 1: two bins with shares (3/4, 1/4) and (1/4, 3/4), so 1/4 + 1/4.
        found = distribution_overlap([0] * 6 + [1] * 2, [0] * 2 + [1] * 6)
        assert found.edges == [0.0, 0.5, 1.0]
        assert found.histogram == 0.5
        # A tenth as wide and moved: the same shares.
        narrow = distribution_overlap([3.0] * 6 + [3.1] * 2, [3.0] * 2 + [3.1] * 6)
        assert narrow.edges == pytest.approx([3.0, 3.05, 3.1])
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
        found = distribution_overlap(first, second, resampling=Resampling(resamples=200))
        assert found.histogram == pytest.approx(2 * stats.norm.cdf(-1), abs=0.015)
        assert found.kde == pytest.approx(2 * stats.norm.cdf(-1), abs=0.015)
        assert found.interval.low < 2 * stats.norm.cdf(-1) < found.interval.high

    @pytest.mark.parametrize("sizes", [(300, 200), (9, 6)])
    def test_kernels_are_those_of_scipy(self, sizes):
        rng = np.random.default_rng(1)
        first, second = rng.normal(0, 1, sizes[0]), rng.normal(1, 2, sizes[1])
        grid = np.linspace(-12, 12, 4001)
        densities = [stats.gaussian_kde(sample)(grid) for sample in (first, second)]
        expected = np.trapezoid(np.minimum(*densities), grid)
        assert distribution_overlap(first, second).kde == pytest.approx(expected, abs=1e-4)
        assert distribution_overlap(first, first).kde == pytest.approx(1.0)

    def test_sizes(self):
        found = distribution_overlap(np.arange(20_000), np.arange(20_000))
        assert (found.n_first, found.n_second) == (20_000, 20_000)

    def test_no_spread(self):
        found = distribution_overlap([1, 1], [1, 1])
        assert (found.histogram, found.kde, found.edges) == (1.0, None, [0.5, 1.5])
        assert distribution_overlap([1, 1], [2, 3]).kde is None
        apart = distribution_overlap([1] * 20, [2] * 20, resampling=Resampling(resamples=100)).interval
        assert apart.low == 0 < apart.high < 0.5

    @pytest.mark.parametrize(("shift", "size"), [(0.0, 60), (1.0, 60), (5.0, 40)])
    def test_intervals_hold_the_estimate_and_where_samples_are_alike_1(self, shift, size):
        first, second = np.random.default_rng(0).normal(size=(2, size))
        found = distribution_overlap(first, second + shift, resampling=Resampling(resamples=100))
        low, high = found.interval.low, found.interval.high
        assert 0 <= low <= min(found.histogram, found.kde) < max(found.histogram, found.kde) <= high <= 1
        # Two samples of one distribution overlap by less than 1, which the distributions do not.
        assert (high == 1) == (shift == 0)

    def test_samples_of_one_distribution_reach_1_however_many_values_there_are(self):
        # About their estimate alone, the intervals of 6 of these 12 pairs would end between 0.989 and 0.9999.
        pairs = [np.random.default_rng(seed).normal(size=(2, 1000)) for seed in range(12)]
        found = [distribution_overlap(*pair, resampling=Resampling(resamples=100)).interval.high for pair in pairs]
        assert found == [1.0] * 12
        apart = distribution_overlap(pairs[0][0], pairs[0][1] + 0.3, resampling=Resampling(resamples=100))
        assert apart.interval.high < 1

    def test_two_peaks_and_stretched_values(self):
        # One of two peaks is shared: half. Kernels of the values themselves, wide as the peaks are apart, say 0.3.
        rng = np.random.default_rng(0)
        first, second = rng.normal(3, 0.5, size=(2, 100))
        peaks = distribution_overlap(np.where(rng.random(100) < 0.5, first, first - 6), second, resampling=Resampling())
        assert peaks.interval.low < 0.5 < peaks.interval.high
        assert peaks.kde < 0.35
        # Overlap does not change where both are stretched alike: but for the estimates that it holds, nor does this.
        stretched = distribution_overlap(np.exp(first), np.exp(second + 0.4), resampling=Resampling())
        plain = distribution_overlap(first, second + 0.4, resampling=Resampling())
        assert stretched.interval.low == pytest.approx(plain.interval.low, abs=0.02)
        assert stretched.interval.high == pytest.approx(plain.interval.high, abs=0.02)

    def test_seed(self):
        first, second = np.random.default_rng(0).normal(size=(2, 40))
        one, again, other = (
            distribution_overlap(first, second, resampling=Resampling(resamples=200, seed=seed)).interval
            for seed in (3, 3, 4)
        )
        assert one == again != other

    def test_bad_input(self):
        with pytest.raises(ValueError, match="`second`"):
            distribution_overlap([1.0], [float("inf")])

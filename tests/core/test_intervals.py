"""Intervals and paired tests against scipy, statsmodels-free closed forms, and plain loops."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

from rightreasons.core import intervals
from rightreasons.core.intervals import (
    bootstrap,
    bootstrap_mean,
    bootstrap_sums,
    bounded_mean,
    mcnemar,
    paired_bootstrap,
    poisson_binomial_p_value,
    sign_flip_p_value,
    stratified_wilson,
    wilson,
)
from rightreasons.core.resampling import Resampling

SEED = {"rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state": 0}
"""How a function of SciPy takes its seed: by another name before 1.15."""


class TestWilson:
    @pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 7), (8, 10), (50, 50), (1, 1000)])
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_scipy(self, k, n, level):
        peer = stats.binomtest(k, n).proportion_ci(level, method="wilson")
        found = wilson(k, n, confidence_level=level)
        assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=1e-12)

    def test_ends_are_exact(self):
        assert wilson(0, 9).low == 0
        assert wilson(9, 9).high == 1

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [((3, 2), "at most `n_items`, but got 3 of 2"), ((1, 0), "`n_items`"), ((-1, 2), "`successes`")],
    )
    def test_bad_input(self, arguments, sentence):
        with pytest.raises(ValueError, match=sentence):
            wilson(*arguments)


class TestBootstrap:
    def test_few_or_equal_values_with_bounds(self):
        # Equal values have one resample, and few show little: both get the interval with an item at each bound.
        for values in ([1] * 20, [0.5], [0.1, 0.2, 0.9]):
            assert bootstrap_mean(values, bounds=(0, 1)) == bounded_mean(values, low=0, high=1)
        ten = np.linspace(0, 1, 10)
        assert bootstrap_mean(ten, bounds=(0, 1)) == bootstrap_mean(ten)
        # Rounding beyond a bound is cut off.
        assert bootstrap_mean([1 + 1e-15], bounds=(0, 1)).high == 1

    def test_mean_agrees_with_scipy(self):
        values = np.random.default_rng(0).gamma(2, size=80)
        for method in ("percentile", "basic"):
            peer = stats.bootstrap((values,), np.mean, method=method, n_resamples=20_000, **SEED).confidence_interval
            found = bootstrap_mean(values, method=method, resampling=Resampling(resamples=20_000))
            assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.015)
            assert (found.method, found.n_resamples) == (f"{method} bootstrap", 20_000)

    def test_covers_the_truth(self):
        rng = np.random.default_rng(1)
        covered = 0
        for i in range(300):
            interval = bootstrap_mean(rng.normal(size=60), resampling=Resampling(resamples=300, level=0.9, seed=i))
            covered += interval.low <= 0 <= interval.high
        assert 0.84 <= covered / 300 <= 0.95

    def test_clusters_widen_the_interval(self):
        # Five copies of each of 40 values: 200 items that are worth 40.
        base = np.random.default_rng(2).normal(size=40)
        values, names = np.repeat(base, 5), np.repeat([f"item {i}" for i in range(40)], 5)
        clustered = bootstrap_mean(values, clusters=names, resampling=Resampling(resamples=5000))
        alone = bootstrap_mean(base, resampling=Resampling(resamples=5000))
        assert clustered.high - clustered.low == pytest.approx(alone.high - alone.low, rel=0.05)
        naive = bootstrap_mean(values, resampling=Resampling(resamples=5000))
        assert (clustered.high - clustered.low) / (naive.high - naive.low) == pytest.approx(math.sqrt(5), rel=0.08)

    def test_cluster_order_does_not_matter_to_the_grouping(self):
        values, names = np.arange(6.0), np.array(["a", "b", "a", "b", "a", "b"])
        sums = intervals._cluster_sums(values[:, None], names, None)
        assert sums[:, 0].tolist() == [6, 9]

    def test_basic_mirrors_the_quantiles_at_the_mean(self):
        # Skewed, so that the two arms differ: for 2 θ̂ - θ* the long arm of the percentile interval changes its side.
        values = [0.0] * 12 + [1.0, 2.0, 3.0, 40.0]
        mean = 46 / 16
        percentile, basic = (bootstrap_mean(values, method=method) for method in ("percentile", "basic"))
        assert percentile.high - mean > 1.5 * (mean - percentile.low)
        assert (basic.low, basic.high) == pytest.approx((2 * mean - percentile.high, 2 * mean - percentile.low))

    def test_seed(self):
        values = np.arange(20.0)
        first, again, other = (bootstrap_mean(values, resampling=Resampling(seed=seed)) for seed in (3, 3, 4))
        assert first == again != other

    def test_flags_count_as_numbers(self):
        assert bootstrap_mean([True, False, True]) == bootstrap_mean([1, 0, 1])

    def test_groups_of_many_items(self):
        values = np.random.default_rng(0).normal(size=50_000)
        interval = bootstrap_mean(values, resampling=Resampling(resamples=2000))
        assert interval.high - interval.low == pytest.approx(2 * 1.96 / math.sqrt(50_000), rel=0.06)
        # Items in order must not make the groups more alike than chance does.
        ordered = bootstrap_mean(np.sort(values), resampling=Resampling(resamples=2000))
        assert ordered.high - ordered.low == pytest.approx(interval.high - interval.low, rel=0.06)

    def test_sums_and_any_statistic_agree(self):
        rng = np.random.default_rng(0)
        hits, predicted = rng.integers(0, 2, 100), np.ones(100)
        predicted[:20] = 0
        hits[:20] = 0
        table = np.column_stack((hits, predicted))
        by_sums = bootstrap_sums(lambda s: s[..., 0] / s[..., 1], table, resampling=Resampling(resamples=4000))
        by_rows = bootstrap(lambda t: t[:, 0].sum() / t[:, 1].sum(), table, resampling=Resampling(resamples=4000))
        assert by_sums.low == pytest.approx(by_rows.low, abs=0.015)
        assert by_sums.high == pytest.approx(by_rows.high, abs=0.015)

    def test_undefined_resamples_are_left_out_and_counted(self):
        # The ratio needs the one item of which there is a prediction: undefined in (2/3)^3 of the resamples.
        interval = bootstrap_sums(
            lambda s: s[..., 0] / s[..., 1], [[1, 1], [0, 0], [0, 0]], resampling=Resampling(resamples=3000)
        )
        assert (interval.low, interval.high) == (1, 1)
        assert interval.n_resamples == pytest.approx(3000 * 19 / 27, rel=0.05)
        with pytest.raises(ValueError, match="it is undefined"):
            bootstrap_sums(lambda s: s[..., 0] / s[..., 1], [[0, 0]])
        with pytest.raises(ValueError, match="it is undefined"):
            bootstrap(lambda x: None, [1.0])

    def test_any_statistic_takes_clusters_and_several_columns(self):
        interval = bootstrap(
            lambda x, y: float(np.corrcoef(x, y)[0, 1]),
            np.arange(12.0),
            np.arange(12.0) * 2,
            clusters=np.repeat(range(4), 3),
            resampling=Resampling(resamples=50),
        )
        assert interval.low == pytest.approx(1)

    @pytest.mark.parametrize(
        ("call", "sentence"),
        [
            (lambda: bootstrap_mean([]), "at least one value in `values`"),
            (lambda: bootstrap_mean([1, np.nan]), "row 1 holds NaN"),
            (lambda: bootstrap_mean([1, 2], clusters=["a"]), "cluster of each of 2 items, but got 1"),
            (lambda: bootstrap_mean([1, 2], method="bca"), "`method`"),
            (lambda: bootstrap_sums(lambda s: s, [1, 2]), r"shape \(N, S\)"),
            (lambda: bootstrap_sums(lambda s: s, [[1.0], [np.nan]]), "row 1"),
            (lambda: bootstrap(len, [1], [1, 2]), "one length, but got 1, 2"),
            (lambda: bootstrap(len), "at least one item"),
        ],
    )
    def test_bad_input(self, call, sentence):
        with pytest.raises(ValueError, match=sentence):
            call()


class TestPaired:
    def test_equal_models(self):
        assert paired_bootstrap([1, 0, 1], [1, 0, 1]).p_value == 1
        assert mcnemar([True, False], [True, False]).p_value == 1

    @pytest.mark.parametrize(
        "test",
        [
            lambda *pair, seed: paired_bootstrap(*pair, resampling=Resampling(resamples=400, seed=seed)),
        ],
        ids=["bootstrap"],
    )
    def test_level_under_the_null(self, test):
        rng = np.random.default_rng(0)
        rejected = sum(test(rng.normal(size=40), rng.normal(size=40), seed=i).p_value <= 0.1 for i in range(300))
        assert 0.06 <= rejected / 300 <= 0.15

    def test_bootstrap_p_value_is_never_0(self):
        # No resample of twelve differences of 1 is at or below 0: 2 (0 + 1) / (99 + 1).
        test = paired_bootstrap([1] * 12, [0] * 12, resampling=Resampling(resamples=99))
        assert test.p_value == pytest.approx(0.02)

    def test_bootstrap_of_few_items_concludes_no_more_than_their_signs(self):
        # m differences of one sign have the two-sided chance 2 / 2^m; equal pairs say nothing.
        assert paired_bootstrap([1], [0]).p_value == 1
        assert paired_bootstrap([1] * 5 + [0] * 9, [0] * 14).p_value == 2 / 2**5
        assert paired_bootstrap([3, 1, 2] * 2, [0] * 6, clusters=[0, 0, 0, 1, 1, 1]).p_value == 2 / 2**2
        # Where no resample differs there is no interval; where the p-value exceeds 0.05 it holds 0.
        assert paired_bootstrap([1] * 5, [0] * 5).interval is None
        assert paired_bootstrap([1, 2, 3], [0] * 3).interval.low == 0

    def test_signs_of_differences_that_cancel_but_for_rounding(self):
        # 0.1 + 0.1 + 0.1 - 0.3 is 5.6e-17 to a computer: every assignment of signs is as far from 0.
        assert sign_flip_p_value([0.1, 0.1, 0.1, -0.3]) == 1

    def test_bootstrap_interval_and_p_value_agree(self):
        rng = np.random.default_rng(1)
        first, second = (rng.random(300) < 0.8).astype(int), (rng.random(300) < 0.6).astype(int)
        test = paired_bootstrap(first, second)
        assert test.interval.low > 0
        assert test.p_value < 0.05
        assert test.interval.low < test.difference < test.interval.high

    def test_mcnemar(self):
        # b = 8, c = 2: p = 2 (C(10,0) + C(10,1) + C(10,2)) / 2^10
        first, second = [True] * 8 + [False] * 2 + [True] * 5, [False] * 8 + [True] * 2 + [True] * 5
        test = mcnemar(first, second)
        assert test.p_value == pytest.approx(2 * (1 + 10 + 45) / 1024)
        assert test.difference == pytest.approx(6 / 15)
        # 15 of 20 differing items go to the second model.
        test = mcnemar([1] * 5 + [0] * 15 + [1] * 30, [0] * 5 + [1] * 15 + [1] * 30)
        assert test.p_value == pytest.approx(0.041389, abs=1e-6)

    @pytest.mark.parametrize(
        ("call", "kind", "sentence"),
        [
            (lambda: paired_bootstrap([1], [1, 2]), ValueError, "`first` and `second` of one length, but got 1 and 2"),
            (lambda: paired_bootstrap([1], [np.inf]), ValueError, "`second`"),
            (lambda: mcnemar([1, 2], [1, 0]), TypeError, "True or False in `first`"),
            (lambda: mcnemar([True], [True, False]), ValueError, "one length"),
        ],
    )
    def test_bad_input(self, call, kind, sentence):
        with pytest.raises(kind, match=sentence):
            call()


def test_poisson_binomial_by_enumeration():
    chances = np.array([1 / 2, 1 / 3, 1 / 4])
    # All 8 outcomes: P(0) = 1/2 * 2/3 * 3/4 = 6/24, P(3) = 1/24, P(1) = 6/24 + 3/24 + 2/24 = 11/24, P(2) = 6/24.
    # Counts no likelier than 2 (6/24): 0 (6/24), 2 and 3 (1/24): 13/24.
    assert poisson_binomial_p_value(2, chances) == pytest.approx(13 / 24)
    assert poisson_binomial_p_value(3, chances) == pytest.approx(1 / 24)
    assert poisson_binomial_p_value(1, chances) == pytest.approx(1)


@pytest.mark.skipif(not hasattr(stats, "poisson_binom"), reason="SciPy has it since 1.15")
def test_poisson_binomial_of_groups_is_that_of_scipy():
    # 5 trials of 1/2, 3 of 1/3 and, given apart, 4 more of 1/2.
    chances, trials = [1 / 2, 1 / 3, 1 / 2], [5, 3, 4]
    pmf = stats.poisson_binom([1 / 2] * 9 + [1 / 3] * 3).pmf(np.arange(13))
    for successes in range(13):
        expected = pmf[pmf <= pmf[successes] * (1 + 1e-7)].sum()
        assert poisson_binomial_p_value(successes, chances, trials) == pytest.approx(min(expected, 1.0))


def test_poisson_binomial_sums_to_one_and_meets_binomtest():
    for successes in (0, 3, 7, 40):
        exact = stats.binomtest(successes, 40, 0.25).pvalue
        assert poisson_binomial_p_value(successes, np.full(40, 0.25)) == pytest.approx(exact)


class TestStratifiedWilson:
    def test_by_hand(self):
        # Shares 1, 0, 1 of one item each: smoothed 3/4, 1/4, 3/4, so v = 3 (3/16) / 9 = 1/16 and
        # n* = (2/3)(1/3) / (1/16) = 32/9. Wilson of 2/3 with 32/9 items:
        z2, n = 1.959963984540054**2, 32 / 9
        center, half = (2 / 3 + z2 / 2 / n) / (1 + z2 / n), (2 / 9 / n + z2 / 4 / n**2) ** 0.5 * z2**0.5 / (1 + z2 / n)
        interval = stratified_wilson([1, 0, 1], [1, 1, 1])
        assert (interval.low, interval.high) == pytest.approx((center - half, center + half))

    def test_strata_of_one_kind_leave_a_width(self):
        # Rates of 1 in strata of 1, 2 and 6 items: n* = 9 / (1 + 1/2 + 1/6) = 5.4.
        interval = stratified_wilson([1, 2, 6], [1, 2, 6])
        assert interval.high == 1
        assert interval.low == pytest.approx(1 / (1 + 1.959963984540054**2 / 5.4))

    @pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [2, 7, 3, 1], [20] * 6])
    @pytest.mark.parametrize("rate", [0.05, 0.5, 0.97])
    def test_covers(self, sizes, rate):
        rng = np.random.default_rng(0)
        rates = rate ** np.linspace(0.5, 2, len(sizes))
        hits = 0
        for _ in range(400):
            interval = stratified_wilson(rng.binomial(sizes, rates), sizes)
            hits += interval.low <= rates.mean() <= interval.high
        assert hits / 400 > 0.92

    def test_refuses(self):
        with pytest.raises(ValueError, match="but stratum 1 has 3 of 2"):
            stratified_wilson([1, 3], [1, 2])


class TestBoundedMean:
    def test_one_value(self):
        # 1, -1 and 1: mean 1/3, mean square deviation 8/9, t of 2 degrees of freedom.
        interval = bounded_mean([1], low=-1, high=1, confidence_level=0.5)
        half = stats.t.ppf(0.75, 2) * (8 / 9 / 3) ** 0.5
        assert (interval.low, interval.high) == pytest.approx((1 / 3 - half, 1 / 3 + half))

    @pytest.mark.parametrize("n_items", [3, 20, 150])
    @pytest.mark.parametrize(("gain", "loss"), [(0, 0), (0.02, 0.02), (0.3, 0.0), (0.5, 0.4), (0.97, 0.0)])
    def test_covers_differences_of_flags(self, n_items, gain, loss):
        rng = np.random.default_rng(1)
        draws = rng.random((400, n_items))
        values = (draws < gain).astype(float) - (draws > 1 - loss)
        intervals = [bounded_mean(row, low=-1, high=1) for row in values]
        assert np.mean([one.low <= gain - loss <= one.high for one in intervals]) > 0.92
        assert all(one.high > one.low for one in intervals)

    def test_refuses_what_is_out_of_bounds(self):
        with pytest.raises(ValueError, match="at least -1, but item 1 is -2"):
            bounded_mean([0, -2], low=-1, high=1)


class TestSignFlips:
    def test_by_enumeration(self):
        # |sum| of ±1 ±1 ±2 is 4, 2, 2, 0 for half of the assignments: at least 2 in 3 of 4.
        p_value = sign_flip_p_value([1, -1, 2, 0], resampling=Resampling(resamples=20_000))
        assert p_value == pytest.approx(3 / 4, abs=0.01)

    def test_all_zero(self):
        assert sign_flip_p_value([0, 0, 0]) == 1

    def test_is_uniform_under_its_null(self):
        rng = np.random.default_rng(2)
        values = rng.exponential(size=(500, 15)) * rng.choice([-1, 1], size=(500, 15))
        p_values = [
            sign_flip_p_value(row, resampling=Resampling(resamples=199, seed=seed)) for seed, row in enumerate(values)
        ]
        for level in (0.05, 0.2, 0.5):
            assert abs(np.mean(np.array(p_values) <= level) - level) < 3 * (level * (1 - level) / 500) ** 0.5


class TestMannWhitney:
    @pytest.mark.parametrize(("auroc", "m", "n"), [(0.8, 30, 12), (0.5, 8, 8), (0.99, 100, 20), (0.02, 5, 40)])
    def test_its_ends_are_as_far_from_the_estimate_as_their_own_deviation(self, auroc, m, n):
        interval = intervals.mann_whitney(auroc, m, n)
        for end in (interval.low, interval.high):
            # Hanley and McNeil's variance of exponential ranks, with both numbers of items replaced by their mean.
            q1, q2, mean_size = end / (2 - end), 2 * end**2 / (1 + end), (m + n) / 2
            variance = (end * (1 - end) + (mean_size - 1) * (q1 - end**2 + q2 - end**2)) / (m * n)
            assert abs(end - auroc) == pytest.approx(1.959964 * variance**0.5, rel=1e-5)
        assert interval.low < auroc < interval.high

    def test_it_is_symmetric_and_has_a_width_at_the_ends(self):
        one, other = intervals.mann_whitney(1.0, 6, 9), intervals.mann_whitney(0.0, 9, 6)
        assert (one.high, other.low) == (1.0, 0.0)
        assert one.low == pytest.approx(1 - other.high)
        assert 0.5 < one.low < 1
        assert intervals.mann_whitney(0.7, 9, 9, confidence_level=0.5).low > intervals.mann_whitney(0.7, 9, 9).low

    def test_bad_input(self):
        with pytest.raises(ValueError, match="`auroc`"):
            intervals.mann_whitney(1.1, 3, 3)
        with pytest.raises(ValueError, match="`n_second`"):
            intervals.mann_whitney(0.5, 3, 0)


def test_results_are_plain():
    import json

    json.dumps([wilson(1, 2).to_dict(), mcnemar([True], [False]).to_dict(), paired_bootstrap([1, 0], [0, 0]).to_dict()])

"""Intervals and paired tests against scipy, statsmodels-free closed forms, and plain loops."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

import rightreasons.core.bootstrap as bootstrap_module
from rightreasons.core import clusters, intervals
from rightreasons.core.bootstrap import (
    bootstrap,
    bootstrap_mean,
    bootstrap_sums,
    compute_jackknife,
    jackknife,
    make_group_interval,
)
from rightreasons.core.estimates import estimate_rate, estimate_share
from rightreasons.core.intervals import (
    bounded_mean_interval,
    cluster_wilson,
    delong,
    stratified_wilson,
    wilson,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import (
    chances_p_value,
    compare_paired_means,
    mcnemar,
    poisson_binomial_p_value,
    sign_flip_p_value,
    two_rates_p_value,
)

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
        [
            ((3, 2), "at most `n_items`, but got 3 of 2"),
            ((1, 0), "`n_items`"),
            ((-1, 2), "`successes`"),
        ],
    )
    def test_bad_input(self, arguments, sentence):
        with pytest.raises(ValueError, match=sentence):
            wilson(*arguments)


class TestBootstrap:
    def test_bounded_values_take_their_bounds(self):
        # Equal values have one resample, and few show little.
        for values in ([1] * 20, [0.5], [0.1, 0.2, 0.9]):
            assert bootstrap_mean(values, bounds=(0, 1)) == bounded_mean_interval(
                values, low=0, high=1
            )
        # Rounding beyond a bound is cut off.
        assert bootstrap_mean([1 + 1e-15], bounds=(0, 1)).high == 1

    @pytest.mark.parametrize("method", ["basic", "BCa"])
    def test_mean_agrees_with_scipy(self, method):
        values = np.random.default_rng(0).gamma(
            0.7, size=60
        )  # skewed: the methods differ by up to 0.1
        peer = stats.bootstrap(
            (values,), np.mean, method=method, n_resamples=20_000, **SEED
        ).confidence_interval
        how = Resampling(resamples=20_000)
        found = (
            bootstrap_mean(values, resampling=how)
            if method == "BCa"
            else bootstrap(np.mean, values, resampling=how, mirrored=True)
        )
        assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.025)
        assert (found.method, found.n_resamples) == (f"{method} bootstrap", 20_000)

    def test_any_statistic_agrees_with_scipy(self):
        values = np.random.default_rng(5).gamma(0.7, size=40)
        for statistic in (
            np.median,
            np.mean,
        ):  # the acceleration of the mean of skewed values moves both ends
            peer = stats.bootstrap(
                (values,), statistic, n_resamples=4_000, **SEED
            ).confidence_interval
            found = bootstrap(
                lambda x, of=statistic: float(of(x)), values, resampling=Resampling(resamples=4_000)
            )
            assert (found.low, found.high) == pytest.approx((peer.low, peer.high), abs=0.06)

    def test_covers_the_truth(self):
        rng = np.random.default_rng(1)
        covered = 0
        for i in range(300):
            interval = bootstrap_mean(
                rng.normal(size=60), resampling=Resampling(resamples=300, level=0.9, seed=i)
            )
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
        assert (clustered.high - clustered.low) / (naive.high - naive.low) == pytest.approx(
            math.sqrt(5), rel=0.08
        )

    @pytest.mark.parametrize("names", [["a", float("nan"), "b"], [1.0, 2.0, float("nan")]])
    def test_items_without_a_cluster_are_not_one_cluster(self, names):
        with pytest.raises(
            ValueError, match=r"Expected a value in each item of `clusters`, but item \d is NaN"
        ):
            bootstrap_mean(np.arange(3.0), clusters=names)

    def test_cluster_order_does_not_matter_to_the_grouping(self):
        values, names = np.arange(6.0), np.array(["a", "b", "a", "b", "a", "b"])
        sums = clusters.sum_rows(clusters.number_clusters(names, 6), values[:, None])
        assert sums[:, 0].tolist() == [6, 9]

    def test_seed(self):
        values = np.arange(20.0)
        first, again, other = (
            bootstrap_mean(values, resampling=Resampling(seed=seed)) for seed in (3, 3, 4)
        )
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
        by_sums = bootstrap_sums(
            lambda s: s[..., 0] / s[..., 1], table, resampling=Resampling(resamples=4000)
        )
        by_rows = bootstrap(
            lambda t: t[:, 0].sum() / t[:, 1].sum(), table, resampling=Resampling(resamples=4000)
        )
        assert by_sums.low == pytest.approx(by_rows.low, abs=0.015)
        assert by_sums.high == pytest.approx(by_rows.high, abs=0.015)

    def test_undefined_resamples_are_left_out_and_counted(self):
        # The ratio needs the one item of which there is a prediction: undefined in (2/3)^3 of the resamples.
        interval = bootstrap_sums(
            lambda s: s[..., 0] / s[..., 1],
            [[1, 1], [0, 0], [0, 0]],
            resampling=Resampling(resamples=3000),
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
            (
                lambda: bootstrap_mean([1, 2], clusters=["a"]),
                "cluster of each of 2 items, but got 1",
            ),
            (lambda: bootstrap_sums(lambda s: s, [1, 2]), r"shape \(N, S\)"),
            (lambda: bootstrap_sums(lambda s: s, [[1.0], [np.nan]]), "row 1"),
            (lambda: bootstrap(len, [1], [1, 2]), "one length, but got 1, 2"),
            (lambda: bootstrap(len), "at least one item"),
        ],
    )
    def test_bad_input(self, call, sentence):
        with pytest.raises(ValueError, match=sentence):
            call()


class TestManyUnits:
    """Of more units than `LARGE`, any figure is computed of random groups of them."""

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch):
        monkeypatch.setattr(bootstrap_module, "MAX_BOOTSTRAP_UNITS", 999)

    def test_by_hand(self):
        # 40 groups of 25 items; whatever falls into a group, the mean of means is that of the items.
        values = np.sort(np.random.default_rng(0).exponential(size=1000))
        interval = bootstrap(np.mean, values)
        group = np.random.default_rng(5).permutation(1000) % 40
        means = [values[group == number].mean() for number in range(40)]
        assert interval.high - interval.low == pytest.approx(
            2 * stats.t.ppf(0.975, 39) * stats.sem(means)
        )
        assert (interval.low + interval.high) / 2 == pytest.approx(values.mean())
        assert interval.method == "t interval of 40 random groups"

    def test_a_bias_of_the_groups_widens_the_interval_on_its_side(self):
        # Of 40 groups at 3 +- 0 and a whole at 1, the bias is b sqrt(40) - b = 2, so b = 2 / (sqrt(40) - 1) = 0.37562.
        up, down = (make_group_interval(1.0, [1.0 + sign * 2.0] * 40, 0.95) for sign in (1, -1))
        assert (up.low, up.high) == (pytest.approx(1 - 0.37562, abs=1e-5), 1.0)
        assert (down.low, down.high) == (1.0, pytest.approx(1 + 0.37562, abs=1e-5))

    def test_it_covers_the_truth_and_a_jackknife_is_the_same(self):
        rng, hits = np.random.default_rng(1), 0
        for _ in range(300):
            values = rng.uniform(size=1500)  # of variance 1 / 12
            interval = bootstrap(np.var, values)
            hits += interval.low <= 1 / 12 <= interval.high
        # Groups of 38 items are biased by 1 / 38, and the interval allows for a bias that falls more slowly than that.
        assert 0.93 <= hits / 300 <= 0.99
        assert jackknife(np.var, values) == interval

    def test_clusters_are_the_units(self):
        values = np.repeat(np.sort(np.random.default_rng(2).normal(size=1200)), 3)
        clusters = np.repeat(np.arange(1200), 3)
        whole, alone = (
            bootstrap(np.mean, values, clusters=clusters),
            bootstrap(np.mean, values[::3]),
        )
        assert (whole.low, whole.high) == pytest.approx((alone.low, alone.high))
        few = bootstrap(
            np.mean, values[:1500], clusters=clusters[:1500], resampling=Resampling(resamples=50)
        )
        assert few.method != whole.method  # 500 clusters are no more than `LARGE`

    def test_a_figure_that_a_group_lacks_is_bootstrapped(self):
        rare = np.zeros(1000)
        rare[:3] = 1
        interval = bootstrap(
            lambda x: x.mean() if x.any() else None, rare, resampling=Resampling(resamples=50)
        )
        assert "groups" not in interval.method


class TestPaired:
    def test_equal_models(self):
        assert compare_paired_means([1, 0, 1], [1, 0, 1]).p_value == 1
        assert mcnemar([True, False], [True, False]).p_value == 1

    def test_unbounded_values_keep_their_level(self):
        rng = np.random.default_rng(0)
        pairs = rng.lognormal(0, 1.5, size=(300, 2, 40))
        tests = [
            compare_paired_means(
                *pair, low=None, high=None, resampling=Resampling(resamples=200, seed=seed)
            )
            for seed, pair in enumerate(pairs)
        ]
        assert 0.05 <= np.mean([test.p_value <= 0.1 for test in tests]) <= 0.15
        # Where the p-value exceeds 0.05, the interval holds 0.
        assert all(
            test.interval.low <= 0 <= test.interval.high for test in tests if test.p_value > 0.05
        )

    def test_values_that_all_differ_alike_have_no_interval_without_bounds(self):
        assert compare_paired_means([2.0, 3.0], [1.0, 2.0], low=None, high=None).interval is None
        assert compare_paired_means([0.5, 0.75], [0.25, 0.5]).interval.high > 0.25

    def test_signs_of_differences_that_cancel_but_for_rounding(self):
        # 0.1 + 0.1 + 0.1 - 0.3 is 5.6e-17 to a computer: every assignment of signs is as far from 0.
        assert sign_flip_p_value([0.1, 0.1, 0.1, -0.3]) == 1

    def test_mcnemar(self):
        # b = 8, c = 2: p = 2 (C(10,0) + C(10,1)) / 2^10 + C(10,2) / 2^10
        first, second = [True] * 8 + [False] * 2 + [True] * 5, [False] * 8 + [True] * 2 + [True] * 5
        test = mcnemar(first, second)
        assert test.p_value == pytest.approx((2 * (1 + 10) + 45) / 1024)
        assert test.difference == pytest.approx(6 / 15)
        # 15 of 20 differing items go to the second model: the exact p-value less the chance of 5 of 20.
        test = mcnemar([1] * 5 + [0] * 15 + [1] * 30, [0] * 5 + [1] * 15 + [1] * 30)
        assert test.p_value == pytest.approx(0.041389 - math.comb(20, 5) / 2**20, abs=1e-6)
        assert mcnemar([1, 1, 0, 0], [0, 0, 1, 1]).p_value == 1

    def test_mcnemar_rejects_as_often_as_its_level(self):
        # Two models that differ on 5 % of 200 items: the exact test rejects 1 to 2 % at .05.
        rng = np.random.default_rng(4)
        moved, first = rng.random((2000, 200)) < 0.05, rng.random((2000, 200)) < 0.5
        p_values = [
            mcnemar(one, one ^ each).p_value for one, each in zip(first, moved, strict=True)
        ]
        assert 0.025 <= np.mean(np.array(p_values) <= 0.05) <= 0.06

    @pytest.mark.parametrize(
        ("call", "kind", "sentence"),
        [
            (
                lambda: compare_paired_means([1], [1, 0]),
                ValueError,
                "`first` and `second` of one length, but got 1 and 2",
            ),
            (
                lambda: compare_paired_means([1], [np.inf], low=None, high=None),
                ValueError,
                "`second`",
            ),
            (lambda: mcnemar([1, 2], [1, 0]), TypeError, "True or False in `first`"),
            (lambda: mcnemar([True], [True, False]), ValueError, "one length"),
        ],
    )
    def test_bad_input(self, call, kind, sentence):
        with pytest.raises(kind, match=sentence):
            call()


class TestClusters:
    """Ten copies of an item are one item, in every interval and test."""

    names = np.repeat(np.arange(20), 10)

    def test_cluster_wilson_by_hand(self):
        # Shares 1, 1/2, 0 of two items: p = 1/2, v = 3/2 (1 + 0 + 1) / 36 = 1/12, so 3 items agree: (1/4) / (1/12) = 3,
        # less by Student's t of 5 and of 2 degrees of freedom.
        n = 3 * (stats.t.ppf(0.975, 5) / stats.t.ppf(0.975, 2)) ** 2
        found = cluster_wilson([2, 1, 0], [2, 2, 2])
        half = 1.959963984540054 * math.sqrt(1 / 4 / n + 1.959963984540054**2 / 4 / n**2)
        assert found.high == pytest.approx(
            (1 / 2 + 1.959963984540054**2 / 2 / n + half) / (1 + 1.959963984540054**2 / n)
        )

    @pytest.mark.parametrize(("n_clusters", "largest"), [(5, 8), (10, 8), (20, 30)])
    def test_few_clusters_are_covered(self, n_clusters, largest):
        rng = np.random.default_rng(0)
        hits = 0
        for _ in range(1000):
            sizes = rng.integers(1, largest + 1, size=n_clusters)
            found = cluster_wilson(rng.binomial(sizes, rng.beta(2, 1, size=n_clusters)), sizes)
            hits += found.low <= 2 / 3 <= found.high
        assert 0.92 <= hits / 1000 <= 0.98

    def test_flags_of_single_items_are_those_of_wilson(self):
        flags = [True, False, True, True]
        found, plain = (
            estimate_rate(flags, Resampling(), clusters=list("abcd")),
            estimate_share(3, 4, Resampling()),
        )
        assert (found.value, found.low, found.high) == (plain.value, plain.low, plain.high)

    def test_bounded_means(self):
        values = np.random.default_rng(1).beta(2, 3, size=20)
        one, many = (
            bounded_mean_interval(
                np.repeat(values, n), low=0, high=1, clusters=np.repeat(np.arange(20), n)
            )
            for n in (1, 10)
        )
        assert (many.low, many.high) == pytest.approx((one.low, one.high))
        assert one == bounded_mean_interval(values, low=0, high=1)

    def test_sign_flips(self):
        differences = np.random.default_rng(2).normal(0.2, 1, size=20)
        one, many = (
            sign_flip_p_value(np.repeat(differences, n), clusters=np.repeat(np.arange(20), n))
            for n in (1, 10)
        )
        assert one == many == sign_flip_p_value(differences)

    def test_accuracies_of_copies_are_not_told_apart_ten_times(self):
        rng = np.random.default_rng(3)
        rejects = 0
        for seed in range(300):
            one, two = (np.repeat(rng.random(20) < 0.7, 10) for _ in range(2))
            test = compare_paired_means(
                one, two, clusters=self.names, resampling=Resampling(resamples=199, seed=seed)
            )
            rejects += test.p_value <= 0.05
        assert rejects / 300 <= 0.08

    def test_chances(self):
        rng = np.random.default_rng(4)
        rejected = {"clusters": 0, "items": 0}
        for _ in range(500):
            hits = np.repeat(rng.random(20) < 0.25, 10)
            rejected["items"] += chances_p_value(hits, np.full(200, 0.25)) <= 0.05
            rejected["clusters"] += (
                chances_p_value(hits, np.full(200, 0.25), clusters=self.names) <= 0.05
            )
        assert rejected["clusters"] / 500 <= 0.08 < 0.4 < rejected["items"] / 500

    def test_one_cluster_tells_nothing(self):
        assert chances_p_value([1] * 9, [0.5] * 9, clusters=[0] * 9) == 1


def test_two_rates_of_clusters_by_hand():
    # Rates 3/4 and 1/4. The items add (h - 3/4) / 4 inside and (1/4 - h) / 4 outside: by cluster of one of each
    # (1, 0), (1, 0), (1, 1), (0, 0): 1/8, 1/8, -1/8, -1/8; spread sqrt(4/3 * 4/64) = 0.288675; t = 0.5 / 0.288675.
    hits, inside, pairs = [1, 0, 1, 0, 1, 1, 0, 0], [1, 0] * 4, [0, 0, 1, 1, 2, 2, 3, 3]
    expected = 2 * stats.t.sf(0.5 / math.sqrt(4 / 3 * 4 / 64), 3)
    assert two_rates_p_value(hits, inside, clusters=pairs) == pytest.approx(expected)
    # All pairs differ alike: two of 2^5 patterns of signs do.
    assert (
        two_rates_p_value([1, 0] * 5, [1, 0] * 5, clusters=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]) == 2 / 32
    )
    assert two_rates_p_value([1, 0, 1], [1, 1, 1]) == 1.0
    assert two_rates_p_value([1, 0, 1, 0], [1, 1, 0, 0], clusters=[0, 0, 0, 0]) == 1.0


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
        assert poisson_binomial_p_value(successes, chances, trials) == pytest.approx(
            min(expected, 1.0)
        )


def test_poisson_binomial_sums_to_one_and_meets_binomtest():
    for successes in (0, 3, 7, 40):
        exact = stats.binomtest(successes, 40, 0.25).pvalue
        assert poisson_binomial_p_value(successes, np.full(40, 0.25)) == pytest.approx(exact)


class TestStratifiedWilson:
    def test_by_hand(self):
        # Shares 1, 1/2 of one and of four items: mean 3/4. Pairs of the second differ in 2 (1/4) (4/3) = 2/3, those of
        # a further stratum, of the share (2 (3/4) + 1/2) / 3 = 2/3, in 4/9: mean 5/9.
        variance = (5 / 9 / 2 + (2 + 5 / 9) / 4 / 8) / 4
        z2, n = 1.959963984540054**2, 3 / 16 / variance
        center, half = (
            (3 / 4 + z2 / 2 / n) / (1 + z2 / n),
            (3 / 16 / n + z2 / 4 / n**2) ** 0.5 * z2**0.5 / (1 + z2 / n),
        )
        interval = stratified_wilson([1, 2], [1, 4])
        assert (interval.low, interval.high) == pytest.approx((center - half, center + half))

    def test_many_small_strata_are_no_wider_than_they_must(self):
        # 30 strata of two items at .95 and .05: the deviation of the mean is (.95 * .05 / 60)^.5 = .028.
        sizes, rates = np.full(30, 2), np.tile([0.95, 0.05], 15)
        rng = np.random.default_rng(0)
        found = [stratified_wilson(rng.binomial(sizes, rates), sizes) for _ in range(400)]
        assert np.mean([one.high - one.low for one in found]) < 0.125
        assert np.mean([one.low <= 0.5 <= one.high for one in found]) > 0.93

    def test_one_stratum_is_that_of_wilson(self):
        found, plain = stratified_wilson([2], [4]), wilson(2, 4)
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))

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
        interval = bounded_mean_interval([1], low=-1, high=1, confidence_level=0.5)
        half = stats.t.ppf(0.75, 2) * (8 / 9 / 3) ** 0.5
        assert (interval.low, interval.high) == pytest.approx((1 / 3 - half, 1 / 3 + half))

    @pytest.mark.parametrize("n_items", [3, 20, 150])
    @pytest.mark.parametrize(
        ("gain", "loss"), [(0, 0), (0.02, 0.02), (0.3, 0.0), (0.5, 0.4), (0.97, 0.0)]
    )
    def test_covers_differences_of_flags(self, n_items, gain, loss):
        rng = np.random.default_rng(1)
        draws = rng.random((400, n_items))
        values = (draws < gain).astype(float) - (draws > 1 - loss)
        intervals = [bounded_mean_interval(row, low=-1, high=1) for row in values]
        assert np.mean([one.low <= gain - loss <= one.high for one in intervals]) > 0.92
        assert all(one.high > one.low for one in intervals)

    def test_refuses_what_is_out_of_bounds(self):
        with pytest.raises(ValueError, match="at least -1, but item 1 is -2"):
            bounded_mean_interval([0, -2], low=-1, high=1)


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
            sign_flip_p_value(row, resampling=Resampling(resamples=199, seed=seed))
            for seed, row in enumerate(values)
        ]
        for level in (0.05, 0.2, 0.5):
            assert (
                abs(np.mean(np.array(p_values) <= level) - level)
                < 3 * (level * (1 - level) / 500) ** 0.5
            )


class TestJackknife:
    def test_by_hand(self):
        # The mean of 1, 2 and 6 is 3, without bias; its variance is 7 / 3, as that of any mean.
        interval = jackknife(np.mean, [1.0, 2.0, 6.0])
        half = stats.t.ppf(0.975, 2) * (7 / 3) ** 0.5
        assert (interval.low, interval.high) == pytest.approx((3 - half, 3 + half))

    @pytest.mark.parametrize(("n_known", "freedom"), [(None, 3), (3, 2), (9, 3)])
    def test_on_the_logit(self, n_known, freedom):
        # The mean is 1/4, with a standard error of (5/12)^(1/2) / 10.
        interval = jackknife(np.mean, [0.1, 0.2, 0.3, 0.4], on_logit=True, n_known=n_known)
        half = stats.t.ppf(0.975, freedom) * (5 / 12) ** 0.5 / 10 / (1 / 4 * 3 / 4)
        ends = [1 / (1 + 3 * np.exp(sign * half)) for sign in (1, -1)]
        assert (interval.low, interval.high) == pytest.approx(tuple(ends))

    def test_a_bias_moves_the_place_by_three_quarters_of_the_way_to_a_bound(self):
        # Whatever is left out, 0.2 becomes 0.5: a bias of 3 * 0.3, and an error of 0.
        interval = jackknife(lambda x: 0.2 if len(x) == 4 else 0.5, np.arange(4.0), on_logit=True)
        assert (interval.low, interval.high) == pytest.approx((0.05, 0.05))
        interval = jackknife(lambda x: 0.8 if len(x) == 4 else 0.5, np.arange(4.0), on_logit=True)
        assert (interval.low, interval.high) == pytest.approx((0.95, 0.95))

    def test_clusters_are_left_out_whole(self):
        values = np.repeat([1.0, 2.0, 6.0], [1, 2, 1])
        found = compute_jackknife(lambda x: float(x.sum()), values, clusters=["a", "b", "b", "c"])
        # 11 without 1, 4 or 6: 10, 7 and 5, of mean 22/3; their squares around it add up to 38/3.
        assert found == pytest.approx((11, 2 * (22 / 3 - 11), (2 / 3 * 38 / 3) ** 0.5, 3))


class TestDelong:
    def test_by_hand(self):
        # Right at .9, .6, .6 and wrong at .6, .2: placements 1, 3/4, 3/4 and (1 + 1/2 + 1/2) / 3, 1; AUROC 5/6. Half an
        # item at 1/2 more: means 2.75 / 3.5 = 11/14 and (5/3 + 1/4) / 2.5 = 23/30.
        found = delong([0.9, 0.6, 0.6, 0.6, 0.2], [1, 1, 1, 0, 0])
        first = ((3 / 14) ** 2 + 2 * (1 / 28) ** 2 + (2 / 7) ** 2 / 2) / (2.5 * 3.5)
        second = ((1 / 10) ** 2 + (7 / 30) ** 2 + (4 / 15) ** 2 / 2) / (1.5 * 2.5)
        freedom, center = (
            (first + second) ** 2 / (first**2 / 2.5 + second**2 / 1.5),
            (11 / 14 + 23 / 30) / 2,
        )
        z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, freedom)
        n = center * (1 - center) / (first + second) * (z / t) ** 2
        middle, half = 5 / 6 + z**2 / 2 / n, z * (5 / 36 / n + z**2 / 4 / n**2) ** 0.5
        assert found.low == pytest.approx((middle - half) / (1 + z**2 / n))
        assert found.high == pytest.approx((middle + half) / (1 + z**2 / n))

    @pytest.mark.parametrize(
        ("right", "wrong"),
        [
            (lambda rng: rng.normal(1, 5, 12), lambda rng: rng.normal(0, 1, 200)),
            (lambda rng: rng.normal(1, 1, 12), lambda rng: rng.normal(0, 5, 200)),
            (lambda rng: rng.beta(12, 4, 185), lambda rng: rng.beta(0.5, 0.5, 15)),
            (
                lambda rng: rng.integers(1, 4, 100).astype(float),
                lambda rng: rng.integers(0, 3, 12).astype(float),
            ),
        ],
        ids=["wide", "narrow", "U", "ties"],
    )
    def test_covers_groups_of_unequal_spread(self, right, wrong):
        rng = np.random.default_rng(0)
        many = [np.concatenate([draw(rng) for _ in range(1000)]) for draw in (right, wrong)]
        truth = intervals.compute_placements(
            np.concatenate(many), np.arange(sum(map(len, many))) < len(many[0])
        )[0]
        hits = 0
        for _ in range(500):
            one, two = right(rng), wrong(rng)
            found = delong(np.concatenate((one, two)), np.arange(len(one) + len(two)) < len(one))
            hits += found.low <= truth <= found.high
        assert hits / 500 >= 0.92

    def test_clusters_are_units(self):
        rng = np.random.default_rng(1)
        flags = rng.random(60) < 0.6
        scores = rng.normal(flags, 1)
        alone = delong(scores, flags)
        copies = delong(
            np.repeat(scores, 8), np.repeat(flags, 8), clusters=np.repeat(np.arange(60), 8)
        )
        assert copies.high - copies.low == pytest.approx(alone.high - alone.low, rel=0.03)

    def test_it_is_symmetric_and_has_a_width_at_the_ends(self):
        scores, flags = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1]), np.array([1, 1, 1, 0, 0, 0])
        one, other = delong(scores, flags), delong(-scores, flags)
        assert (one.high, other.low) == (1.0, 0.0)
        assert one.low == pytest.approx(1 - other.high)
        # Placements of 1, and half of one at 1/2: center 13/14, v = 2 (3/196 + 9/98) / (2.5 · 3.5), five degrees.
        n = 13 / 196 / (6 / 28 / 8.75) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 5)) ** 2
        assert one.low == pytest.approx(1 / (1 + stats.norm.ppf(0.975) ** 2 / n))

    @pytest.mark.parametrize(("copies", "least"), [(1, 0.93), (4, 0.93)])
    def test_rare_errors_that_all_rank_low_are_covered(self, copies, least):
        flags, hits = np.arange(60) < 50, 0
        truth = stats.norm.cdf(2.5 / 2**0.5)
        for seed in range(400):
            rng = np.random.default_rng(seed)
            scores, times = rng.normal(2.5 * flags, 1), rng.integers(1, 2 * copies, size=60)
            clusters = np.repeat(np.arange(60), times) if copies > 1 else None
            found = delong(np.repeat(scores, times), np.repeat(flags, times), clusters=clusters)
            hits += found.low <= truth <= found.high
        assert hits / 400 >= least

    def test_bad_input(self):
        with pytest.raises(ValueError, match="one kind alone"):
            delong([0.2, 0.4], [1, 1])


def test_results_are_plain():
    import json

    json.dumps(
        [
            wilson(1, 2).to_dict(),
            mcnemar([True], [False]).to_dict(),
            compare_paired_means([1, 0], [0, 0]).to_dict(),
        ]
    )


def test_scores_that_all_tie_have_an_interval():
    interval = delong([0.5] * 24, [1, 0] * 12)
    assert (interval.low, interval.high) == (wilson(6, 12).low, wilson(6, 12).high)

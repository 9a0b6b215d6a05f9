"""Resampled intervals: against SciPy, closed forms and plain loops, and by their coverage."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

import rightreasons.core.bootstrap as bootstrap_module
from rightreasons.core import clusters as clusters_module
from rightreasons.core.bootstrap import (
    bootstrap,
    bootstrap_mean,
    bootstrap_sums,
    compute_jackknife,
    draw_random_groups,
    jackknife,
    make_bca_interval,
    make_group_interval,
    make_quantile_interval,
)
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling

SEED = {"rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state": 0}
"""Argument of SciPy for a seed, whose name changed in 1.15."""


def ends_of(interval):
    return interval.low, interval.high


def width_of(interval):
    return interval.high - interval.low


def divide(sums):
    return sums[..., 0] / sums[..., 1]


class TestQuantiles:
    values = np.arange(101.0)

    def test_ends_are_the_quantiles(self):
        # 5 % of 0, ..., 100 are below 5.
        interval = make_quantile_interval(self.values, 0.9)

        assert ends_of(interval) == pytest.approx((5, 95))
        assert (interval.method, interval.n_resamples) == ("percentile bootstrap", 101)

    def test_ends_are_mirrored_at_the_figure(self):
        # 2 * 40 - 95 and 2 * 40 - 5.
        interval = make_quantile_interval(self.values, 0.9, mirrored_at=40.0)

        assert ends_of(interval) == pytest.approx((-15, 75))
        assert interval.method == "basic bootstrap"

    def test_a_method_may_be_named(self):
        assert make_quantile_interval(self.values, 0.9, method="mine").method == "mine"


class TestBCa:
    """Ends are the quantiles at Phi(z0 + x / (1 - a x)), with x = z0 - z and z0 + z.

    With two units and a level of 50 %, t is 1, and z = sqrt(2 / 1).
    """

    resamples = np.arange(100.0)
    no_skew = np.array([1.0, 2.0, 3.0])

    def ends_by_hand(self, z0, a):
        tails = [
            stats.norm.cdf(z0 + x / (1 - a * x)) for x in (z0 - math.sqrt(2), z0 + math.sqrt(2))
        ]
        # Values from 0 to 99 have their quantiles at 99 times the share.
        return 99 * tails[0], 99 * tails[1]

    def test_without_bias_and_skew(self):
        interval = make_bca_interval(49.5, self.resamples, self.no_skew, 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(0, 0))
        assert (interval.method, interval.n_resamples) == ("BCa bootstrap", 100)

    def test_bias(self):
        # 25 of 100 resamples are below.
        interval = make_bca_interval(24.5, self.resamples, self.no_skew, 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(stats.norm.ppf(0.25), 0))

    def test_a_tie_counts_by_half(self):
        # 24 resamples are below 24, and one is equal but for rounding.
        interval = make_bca_interval(24 + 1e-13, self.resamples, self.no_skew, 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(stats.norm.ppf(0.245), 0))

    @pytest.mark.parametrize(("estimate", "share"), [(-1.0, 0.005), (200.0, 0.995)])
    def test_a_figure_beyond_all_resamples_has_half_of_one_below_or_above(self, estimate, share):
        interval = make_bca_interval(estimate, self.resamples, self.no_skew, 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(stats.norm.ppf(share), 0))

    def test_skew(self):
        # Mean 1 less 0, 0, 3 is 1, 1, -2: cubes -6, squares 6.
        a = -6 / (6 * 6**1.5)
        jackknifed = np.array([0.0, 0.0, 3.0])

        interval = make_bca_interval(49.5, self.resamples, jackknifed, 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(0, a))

    def test_undefined_figures_do_not_count_for_the_skew(self):
        jackknifed = np.array([0.0, np.nan, 0.0, 3.0, np.inf])

        interval = make_bca_interval(49.5, self.resamples, jackknifed, 2, 0.5)

        assert interval == make_bca_interval(
            49.5, self.resamples, np.array([0.0, 0.0, 3.0]), 2, 0.5
        )

    @pytest.mark.parametrize("jackknifed", [[], [np.nan, np.nan], [3.0, 3.0, 3.0 + 1e-14]])
    def test_figures_that_are_undefined_or_equal_have_no_skew(self, jackknifed):
        interval = make_bca_interval(49.5, self.resamples, np.array(jackknifed), 2, 0.5)

        assert ends_of(interval) == pytest.approx(self.ends_by_hand(0, 0))

    def test_an_extreme_skew_reaches_to_the_last_resample(self):
        # One unit of a million is different: a = 1e18 / (6 * (1e12)^1.5) = 1/6. With z0 = 2.58 and
        # z = 6.31 sqrt(2) = 8.93, the divisor 1 - (z0 + z) / 6 is negative.
        jackknifed = np.append(np.zeros(999_999), -1e6)

        interval = make_bca_interval(200.0, self.resamples, jackknifed, 2, 0.9)

        assert interval.high == 99

    def test_one_unit_is_as_wide_as_one_degree_of_freedom_allows(self):
        # t of no degree counts as one: 1 at a level of 50 %, and n / (n - 1) counts as 1.
        interval = make_bca_interval(49.5, self.resamples, np.array([]), 1, 0.5)

        assert interval.low == pytest.approx(99 * stats.norm.cdf(-1))


class TestMeans:
    def test_bounded_values_use_their_bounds(self):
        # Equal values have only one resample, which is not informative.
        for values in ([1] * 20, [0.5], [0.1, 0.2, 0.9]):
            expected = bounded_mean_interval(values, low=0, high=1)
            assert bootstrap_mean(values, bounds=(0, 1)) == expected
        # Rounding beyond a bound is clipped.
        assert bootstrap_mean([1 + 1e-15], bounds=(0, 1)).high == 1

    @pytest.mark.parametrize("method", ["basic", "BCa"])
    def test_means_agree_with_scipy(self, method):
        # Skewed values: the methods differ by up to 0.1.
        values = np.random.default_rng(0).gamma(0.7, size=60)
        peer = stats.bootstrap(
            (values,), np.mean, method=method, n_resamples=20_000, **SEED
        ).confidence_interval
        resampling = Resampling(resamples=20_000)

        if method == "BCa":
            interval = bootstrap_mean(values, resampling=resampling)
        else:
            interval = bootstrap(np.mean, values, resampling=resampling, mirrored=True)

        assert ends_of(interval) == pytest.approx((peer.low, peer.high), abs=0.025)
        assert (interval.method, interval.n_resamples) == (f"{method} bootstrap", 20_000)

    def test_means_are_covered(self):
        rng = np.random.default_rng(1)
        n_covered = 0
        for seed in range(300):
            resampling = Resampling(resamples=300, level=0.9, seed=seed)
            interval = bootstrap_mean(rng.normal(size=60), resampling=resampling)
            n_covered += interval.low <= 0 <= interval.high

        assert 0.84 <= n_covered / 300 <= 0.95

    def test_clusters_widen_the_interval(self):
        # Five copies of each of 40 values: 200 items that are worth 40.
        base = np.random.default_rng(2).normal(size=40)
        values = np.repeat(base, 5)
        names = np.repeat([f"item {i}" for i in range(40)], 5)
        resampling = Resampling(resamples=5000)

        clustered = width_of(bootstrap_mean(values, clusters=names, resampling=resampling))
        single = width_of(bootstrap_mean(base, resampling=resampling))
        independent = width_of(bootstrap_mean(values, resampling=resampling))

        assert clustered == pytest.approx(single, rel=0.05)
        assert clustered / independent == pytest.approx(math.sqrt(5), rel=0.08)

    def test_the_seed_decides_the_draws(self):
        values = np.arange(20.0)

        interval = bootstrap_mean(values, resampling=Resampling(seed=3))

        assert interval == bootstrap_mean(values, resampling=Resampling(seed=3))
        assert interval != bootstrap_mean(values, resampling=Resampling(seed=4))

    def test_flags_count_as_numbers(self):
        assert bootstrap_mean([True, False, True]) == bootstrap_mean([1, 0, 1])

    def test_very_many_items_are_pooled(self):
        # The deviation of the mean of 50,000 standard normal values is 1 / sqrt(50,000).
        values = np.random.default_rng(0).normal(size=50_000)
        resampling = Resampling(resamples=2000)

        width = width_of(bootstrap_mean(values, resampling=resampling))

        assert width == pytest.approx(2 * 1.96 / math.sqrt(50_000), rel=0.06)
        # Sorted items must not make the groups more alike than chance does.
        sorted_width = width_of(bootstrap_mean(np.sort(values), resampling=resampling))
        assert sorted_width == pytest.approx(width, rel=0.06)

    @pytest.mark.parametrize(
        ("arguments", "kind", "words"),
        [
            ({"values": []}, ValueError, "at least one value"),
            ({"values": [1, np.nan]}, ValueError, "row 1"),
            ({"values": [1, 2], "clusters": ["a"]}, ValueError, "cluster of each"),
            ({"values": [1, 2], "resampling": 0.95}, TypeError, "resampling"),
        ],
    )
    def test_wrong_arguments_are_refused(self, arguments, kind, words):
        with pytest.raises(kind, match=words):
            bootstrap_mean(**arguments)


class TestSums:
    def test_by_a_plain_loop(self):
        table = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0]])
        resampling = Resampling(resamples=50, seed=4, level=0.8)
        # Independent items are resampled in the order of their first column.
        units = table[[1, 2, 0]]
        rng = np.random.default_rng([4, 1])
        resamples = []
        for _ in range(50):
            copies = rng.multinomial(3, [1 / 3] * 3)
            resamples.append(divide(copies @ units))
        without_unit = np.array([divide(units.sum(axis=0) - unit) for unit in units])

        interval = bootstrap_sums(divide, table, resampling=resampling)

        expected = make_bca_interval(6 / 5, np.array(resamples), without_unit, 3, 0.8)
        assert ends_of(interval) == pytest.approx(ends_of(expected))

    def test_very_many_units_by_a_plain_loop(self, monkeypatch):
        monkeypatch.setattr(clusters_module, "MAX_UNITS", 3)
        table = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [4.0, 1.0], [5.0, 1.0]])
        resampling = Resampling(resamples=50, seed=4)
        groups = np.random.default_rng(4).integers(3, size=5)
        pooled = np.zeros((3, 2))
        for group, row in zip(groups, table[[1, 2, 0, 3, 4]], strict=True):
            pooled[group] += row

        interval = bootstrap_sums(divide, table, resampling=resampling)

        # Groups that are named as clusters are resampled as they are.
        expected = bootstrap_sums(divide, pooled, clusters=[0, 1, 2], resampling=resampling)
        assert interval == expected

    def test_the_result_does_not_depend_on_blocks(self, monkeypatch):
        table = np.random.default_rng(0).gamma(1.0, size=(20, 2))
        whole = bootstrap_sums(divide, table)
        monkeypatch.setattr(Resampling, "split_into_blocks", lambda *_: [400, 600])

        assert ends_of(bootstrap_sums(divide, table)) == pytest.approx(ends_of(whole))

    def test_sums_agree_with_recomputed_figures(self):
        rng = np.random.default_rng(0)
        hits = rng.integers(0, 2, 100)
        predicted = np.ones(100)
        predicted[:20] = 0
        hits[:20] = 0
        table = np.column_stack((hits, predicted))
        resampling = Resampling(resamples=4000)

        by_sums = bootstrap_sums(divide, table, resampling=resampling)
        by_rows = bootstrap(
            lambda rows: rows[:, 0].sum() / rows[:, 1].sum(), table, resampling=resampling
        )

        assert ends_of(by_sums) == pytest.approx(ends_of(by_rows), abs=0.015)

    def test_undefined_resamples_are_excluded_and_counted(self):
        # The ratio needs the one item with a prediction, which (2/3)³ of the resamples lack.
        table = [[1, 1], [0, 0], [0, 0]]

        interval = bootstrap_sums(divide, table, resampling=Resampling(resamples=3000))

        assert ends_of(interval) == (1, 1)
        assert interval.n_resamples == pytest.approx(3000 * 19 / 27, rel=0.05)

    @pytest.mark.parametrize(
        "compute",
        [
            lambda: bootstrap_sums(divide, [[0, 0]]),
            lambda: bootstrap(lambda values: None, [1.0]),
            lambda: bootstrap(lambda values: np.nan if len(values) == 2 else 1.0, [1.0, 2.0]),
        ],
    )
    def test_an_undefined_figure_is_refused(self, compute):
        with pytest.raises(ValueError, match="undefined"):
            compute()

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ([1, 2], "shape"),
            (np.empty((0, 2)), "at least one item"),
            ([[1.0, 1.0], [1.0, np.nan]], "row 1"),
        ],
    )
    def test_a_table_has_finite_rows(self, table, words):
        with pytest.raises(ValueError, match=words):
            bootstrap_sums(divide, table)


class TestAnyFigure:
    def test_by_a_plain_loop(self):
        values = np.array([4.0, 1.0, 9.0])
        in_order = np.array([1.0, 4.0, 9.0])
        rng = np.random.default_rng(2)
        resamples = [np.median(in_order[rng.integers(3, size=3)]) for _ in range(40)]
        # Medians without 1, 4 and 9, each the mean of the other two.
        without_unit = np.array([6.5, 5.0, 2.5])

        interval = bootstrap(np.median, values, resampling=Resampling(0.8, 40, 2))

        expected = make_bca_interval(4.0, np.array(resamples), without_unit, 3, 0.8)
        assert ends_of(interval) == pytest.approx(ends_of(expected))

    def test_clusters_by_a_plain_loop(self):
        values = np.array([4.0, 1.0, 9.0, 2.0])
        clusters = ["b", "a", "b", "c"]
        members = [[1], [0, 2], [3]]
        rng = np.random.default_rng(2)
        resamples = []
        for _ in range(40):
            rows = [row for unit in rng.integers(3, size=3) for row in members[unit]]
            resamples.append(values[rows].mean())
        without_unit = np.array([15 / 3, 3 / 2, 14 / 3])

        interval = bootstrap(np.mean, values, clusters=clusters, resampling=Resampling(0.8, 40, 2))

        expected = make_bca_interval(4.0, np.array(resamples), without_unit, 3, 0.8)
        assert ends_of(interval) == pytest.approx(ends_of(expected))

    def test_the_skew_comes_from_at_most_so_many_groups(self, monkeypatch):
        monkeypatch.setattr(bootstrap_module, "MAX_JACKKNIFE_GROUPS", 4)
        calls = []

        def record(values):
            calls.append(values.tolist())
            return float(values.mean())

        bootstrap(record, np.arange(10.0), resampling=Resampling(resamples=3, seed=7))

        # Three resamples and all items, then groups of 3, 3, 2 and 2 items left out.
        shuffled = np.random.default_rng([7, 5]).permutation(10)
        groups = (shuffled[:3], shuffled[3:6], shuffled[6:8], shuffled[8:])
        expected = [[value for value in range(10) if value not in group] for group in groups]
        assert calls[3] == list(range(10))
        assert calls[4:] == expected

    def test_the_acceleration_and_the_median_agree_with_scipy(self):
        values = np.random.default_rng(5).gamma(0.7, size=40)
        for statistic in (np.median, np.mean):
            peer = stats.bootstrap(
                (values,), statistic, n_resamples=4_000, **SEED
            ).confidence_interval
            interval = bootstrap(statistic, values, resampling=Resampling(resamples=4_000))

            assert ends_of(interval) == pytest.approx((peer.low, peer.high), abs=0.06)

    def test_columns_are_resampled_together(self):
        interval = bootstrap(
            lambda x, y: float(np.corrcoef(x, y)[0, 1]),
            np.arange(12.0),
            np.arange(12.0) * 2,
            clusters=np.repeat(range(4), 3),
            resampling=Resampling(resamples=50),
        )

        assert interval.low == pytest.approx(1)

    def test_one_item_has_only_itself(self):
        assert ends_of(bootstrap(np.mean, [3.0])) == (3, 3)

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (([1], [1, 2]), "one length"),
            (([],), "at least one item"),
            ((), "at least one item"),
        ],
    )
    def test_columns_have_one_length(self, columns, words):
        with pytest.raises(ValueError, match=words):
            bootstrap(len, *columns)


class TestRandomGroups:
    """With very many units, any figure is computed on random groups."""

    @pytest.fixture(autouse=True)
    def a_thousand_are_many(self, monkeypatch):
        monkeypatch.setattr(bootstrap_module, "MAX_BOOTSTRAP_UNITS", 999)

    def test_by_hand(self):
        # 40 groups of 25 items, whose mean is that of the items.
        values = np.sort(np.random.default_rng(0).exponential(size=1000))
        group = np.random.default_rng(5).permutation(1000) % 40
        means = [values[group == number].mean() for number in range(40)]

        interval = bootstrap(np.mean, values)

        assert width_of(interval) == pytest.approx(2 * stats.t.ppf(0.975, 39) * stats.sem(means))
        assert (interval.low + interval.high) / 2 == pytest.approx(values.mean())
        assert interval.method == "t interval of 40 random groups"

    def test_groups_have_sizes_that_differ_by_one(self):
        groups = draw_random_groups(82)

        assert sorted(len(group) for group in groups) == [2] * 38 + [3] * 2
        assert sorted(np.concatenate(groups)) == list(range(82))

    def test_a_bias_of_the_groups_widens_the_interval_on_its_side(self):
        # 40 groups at 3 and all items at 1 differ by b sqrt(40) - b = 2: b = 0.37562.
        above = make_group_interval(1.0, [3.0] * 40, 0.95)
        below = make_group_interval(1.0, [-1.0] * 40, 0.95)

        assert ends_of(above) == (pytest.approx(1 - 0.37562, abs=1e-5), 1.0)
        assert ends_of(below) == (1.0, pytest.approx(1 + 0.37562, abs=1e-5))

    def test_groups_by_hand(self):
        # Figures 1, 2, 3, 2 have the mean 2 and the deviation sqrt(2/3); three degrees of freedom.
        half_width = stats.t.ppf(0.975, 3) * math.sqrt(2 / 3) / 2

        interval = make_group_interval(2.0, [1.0, 2.0, 3.0, 2.0], 0.95)

        assert ends_of(interval) == pytest.approx((2 - half_width, 2 + half_width))

    @pytest.mark.parametrize(
        ("value", "figures"), [(1.0, [1.0, None]), (1.0, [1.0, np.nan]), (np.inf, [1.0, 2.0])]
    )
    def test_an_undefined_figure_has_no_interval(self, value, figures):
        assert make_group_interval(value, figures, 0.95) is None

    def test_the_figure_is_covered_and_a_jackknife_is_the_same(self):
        rng = np.random.default_rng(1)
        n_covered = 0
        for _ in range(300):
            # The variance of a uniform value is 1/12.
            values = rng.uniform(size=1500)
            interval = bootstrap(np.var, values)
            n_covered += interval.low <= 1 / 12 <= interval.high

        # Groups of 38 items are biased by 1/38, and the interval allows for a bias that falls more
        # slowly than that.
        assert 0.93 <= n_covered / 300 <= 0.99
        assert jackknife(np.var, values) == interval

    def test_the_jackknife_has_the_standard_error_of_the_groups(self):
        values = np.random.default_rng(0).exponential(size=1000)
        figures = [values[rows].mean() for rows in draw_random_groups(1000)]

        result = compute_jackknife(np.mean, values)

        assert result == pytest.approx((values.mean(), 0, stats.sem(figures), 40))

    def test_clusters_are_the_units(self):
        values = np.repeat(np.sort(np.random.default_rng(2).normal(size=1200)), 3)
        clusters = np.repeat(np.arange(1200), 3)

        clustered = bootstrap(np.mean, values, clusters=clusters)
        single = bootstrap(np.mean, values[::3])

        assert ends_of(clustered) == pytest.approx(ends_of(single))

    def test_few_clusters_of_many_items_are_resampled(self):
        values = np.repeat(np.random.default_rng(2).normal(size=500), 3)
        interval = bootstrap(
            np.mean,
            values,
            clusters=np.repeat(np.arange(500), 3),
            resampling=Resampling(resamples=50),
        )

        assert interval.method == "BCa bootstrap"

    @pytest.mark.parametrize("n_items", [999, 1000])
    def test_the_limit_itself_is_resampled(self, n_items):
        interval = bootstrap(np.mean, np.arange(float(n_items)), resampling=Resampling(resamples=9))

        assert (interval.method == "BCa bootstrap") == (n_items == 999)
        assert (compute_jackknife(np.mean, np.arange(float(n_items))).n_groups == 200) == (
            n_items == 999
        )
        method = jackknife(np.mean, np.arange(float(n_items))).method
        assert method.startswith("jackknife") == (n_items == 999)

    def test_a_figure_that_a_group_lacks_is_resampled(self):
        rare = np.zeros(1000)
        rare[:3] = 1

        interval = bootstrap(
            lambda values: values.mean() if values.any() else None,
            rare,
            resampling=Resampling(resamples=50),
        )

        assert interval.method == "BCa bootstrap"


class TestJackknife:
    def test_by_hand(self):
        # The mean of 1, 2 and 6 is 3, without bias; its variance is 7/3, as that of any mean.
        half_width = stats.t.ppf(0.975, 2) * math.sqrt(7 / 3)

        interval = jackknife(np.mean, [1.0, 2.0, 6.0])

        assert ends_of(interval) == pytest.approx((3 - half_width, 3 + half_width))
        assert interval.confidence_level == 0.95

    def test_the_bias_is_subtracted(self):
        # The variance of 1, 2 and 6 is 14/3. Without one of them it is 4, 25/4 and 1/4: mean 7/2,
        # bias 2 (7/2 - 14/3) = -7/3.
        result = compute_jackknife(np.var, [1.0, 2.0, 6.0])

        squares = (4 - 3.5) ** 2 + (6.25 - 3.5) ** 2 + (0.25 - 3.5) ** 2
        assert result == pytest.approx((14 / 3, -7 / 3, math.sqrt(2 / 3 * squares), 3))
        interval = jackknife(np.var, [1.0, 2.0, 6.0])
        assert (interval.low + interval.high) / 2 == pytest.approx(7)

    @pytest.mark.parametrize(("n_known", "freedom"), [(None, 3), (3, 2), (9, 3)])
    def test_on_the_logit(self, n_known, freedom):
        # The mean is 1/4, with a standard error of (5/12)^(1/2) / 10.
        half_width = stats.t.ppf(0.975, freedom) * math.sqrt(5 / 12) / 10 / (1 / 4 * 3 / 4)

        interval = jackknife(np.mean, [0.1, 0.2, 0.3, 0.4], on_logit=True, n_known=n_known)

        ends = [1 / (1 + 3 * np.exp(sign * half_width)) for sign in (1, -1)]
        assert ends_of(interval) == pytest.approx(tuple(ends))

    @pytest.mark.parametrize(("figure", "expected"), [(0.2, 0.05), (0.8, 0.95)])
    def test_a_bias_moves_a_figure_by_three_quarters_of_the_way_to_a_bound(self, figure, expected):
        # Without any item, the figure becomes 0.5: a bias of 3 * 0.3, and an error of 0.
        interval = jackknife(
            lambda values: figure if len(values) == 4 else 0.5, np.arange(4.0), on_logit=True
        )

        assert ends_of(interval) == pytest.approx((expected, expected))

    def test_clusters_are_left_out_whole(self):
        values = np.repeat([1.0, 2.0, 6.0], [1, 2, 1])

        result = compute_jackknife(np.sum, values, clusters=["a", "b", "b", "c"])

        # 11 without 1, 4 or 6: 10, 7 and 5, of mean 22/3; their squares around it add up to 38/3.
        assert result == pytest.approx((11, 2 * (22 / 3 - 11), math.sqrt(2 / 3 * 38 / 3), 3))

    def test_more_units_are_left_out_in_groups(self, monkeypatch):
        monkeypatch.setattr(bootstrap_module, "MAX_JACKKNIFE_GROUPS", 4)
        sizes = []

        def count(values):
            sizes.append(len(values))
            return float(len(values))

        result = compute_jackknife(count, np.arange(10.0))

        assert sizes[0] == 10
        assert sorted(sizes[1:]) == [7, 7, 8, 8]
        assert result.n_groups == 4

"""Confidence intervals in closed form: against SciPy, by hand, and by their coverage."""

import math

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.intervals import (
    bounded_mean_interval,
    cluster_wilson,
    compute_placements,
    compute_wilson_ends,
    delong,
    get_normal_quantile,
    get_student_quantile,
    stratified_wilson,
    wilson,
)

Z = 1.959963984540054
"""Normal quantile of 95 %."""


def ends_of(interval):
    return interval.low, interval.high


def wilson_by_hand(share, n_items):
    """Solve |share - p| = z sqrt(p (1 - p) / n) for p: a quadratic equation."""
    a = 1 + Z**2 / n_items
    b = 2 * share + Z**2 / n_items
    root = math.sqrt(b**2 - 4 * a * share**2)
    return (b - root) / (2 * a), (b + root) / (2 * a)


def student(level_or_freedom, freedom=None):
    """Return the quantile of Student's t for 95 %, or for a level."""
    level = 0.95 if freedom is None else level_or_freedom
    freedom = level_or_freedom if freedom is None else freedom
    return stats.t.ppf(0.5 + level / 2, freedom)


@pytest.mark.parametrize("level", [1.0, 0.0, -0.5, 2])
@pytest.mark.parametrize(
    "compute",
    [
        lambda level: wilson(1, 2, confidence_level=level),
        lambda level: cluster_wilson([1], [2], confidence_level=level),
        lambda level: stratified_wilson([1], [2], confidence_level=level),
        lambda level: bounded_mean_interval([0.5], low=0, high=1, confidence_level=level),
        lambda level: delong([0.2, 0.4], [0, 1], confidence_level=level),
    ],
)
def test_a_confidence_level_is_strictly_between_0_and_1(compute, level):
    with pytest.raises(OptionError, match="strictly between") as error:
        compute(level)

    assert error.value.option == ("confidence_level",)


def test_quantiles_of_a_two_sided_interval():
    assert get_normal_quantile(0.95) == pytest.approx(Z)
    # Student's t of one degree of freedom is Cauchy: its upper quartile is 1.
    assert get_student_quantile(1, 0.5) == pytest.approx(1)
    assert get_student_quantile(0, 0.5) == pytest.approx(1)
    assert get_student_quantile(5, 0.95) == pytest.approx(stats.t.ppf(0.975, 5))


class TestWilson:
    @pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 7), (8, 10), (50, 50), (1, 1000)])
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_it_agrees_with_scipy(self, k, n, level):
        peer = stats.binomtest(k, n).proportion_ci(level, method="wilson")

        interval = wilson(k, n, confidence_level=level)

        assert ends_of(interval) == pytest.approx((peer.low, peer.high), abs=1e-12)
        assert (interval.confidence_level, interval.n_resamples) == (level, None)

    def test_ends_by_hand(self):
        # z = 2 and n = 4: (1/2 + 4/8) / 2 = 1/2, and 2 sqrt(1/16 + 1/16) / 2 = sqrt(1/8).
        ends = compute_wilson_ends(0.5, 4, 2)
        assert ends == pytest.approx((0.5 - math.sqrt(1 / 8), 0.5 + math.sqrt(1 / 8)))
        # A share of 0 has the ends 0 and z² / n / (1 + z² / n) = 1/2.
        assert compute_wilson_ends(0, 4, 2) == (0, pytest.approx(0.5))
        assert compute_wilson_ends(1, 4, 2) == (pytest.approx(0.5), 1)

    def test_ends_of_a_share_of_0_or_1_are_exact(self):
        for n in range(1, 200):
            assert wilson(0, n).low == 0
            assert wilson(n, n).high == 1

    def test_more_successes_than_items_are_refused(self):
        assert wilson(2, 2).high == 1
        with pytest.raises(ValueError, match="at most"):
            wilson(3, 2)

    @pytest.mark.parametrize(
        ("arguments", "kind", "option"),
        [
            ((1, 0), OptionError, "n_items"),
            ((-1, 2), OptionError, "successes"),
            ((0.5, 2), OptionTypeError, "successes"),
            ((1, 2.0), OptionTypeError, "n_items"),
        ],
    )
    def test_counts_are_whole_numbers(self, arguments, kind, option):
        with pytest.raises(kind) as error:
            wilson(*arguments)

        assert error.value.option == (option,)


class TestClusterWilson:
    def test_by_hand(self):
        # Shares 1, 1/2, 0 of two items: p = 1/2, v = 3/2 (1 + 0 + 1) / 36 = 1/12, and
        # p (1 - p) / v = 3, less by Student's t of 5 and of 2 degrees of freedom.
        n_effective = 3 * (student(5) / student(2)) ** 2

        interval = cluster_wilson([2, 1, 0], [2, 2, 2])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(1 / 2, n_effective))

    def test_clusters_are_worth_at_least_their_number(self):
        # Shares 1, 0, 1, 0: v = 4/3 * 4 / 64 = 1/12, so p (1 - p) / v = 3, but 4 clusters of equal
        # size are worth 64 / 16 = 4 items if their items always agree.
        n_effective = 4 * (student(7) / student(3)) ** 2

        interval = cluster_wilson([2, 0, 2, 0], [2, 2, 2, 2])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(1 / 2, n_effective))

    @pytest.mark.parametrize("successes", [[1, 1, 1], [2, 2, 1]])
    def test_clusters_are_worth_at_most_their_items(self, successes):
        # Equal shares have v = 0. Shares of 1/2, 1/2, 1/4 of four items have p = 5/12 and
        # v = 3/2 (1/9 + 1/9 + 4/9) / 144 = 1/144, so that p (1 - p) / v = 35 exceeds 12 items.
        size = 2 if successes == [1, 1, 1] else 4
        n_items = 3 * size
        share = sum(successes) / n_items
        n_effective = n_items * (student(n_items - 1) / student(2)) ** 2

        interval = cluster_wilson(successes, [size] * 3)

        assert ends_of(interval) == pytest.approx(wilson_by_hand(share, n_effective))

    def test_sums_of_weights_need_the_number_of_items(self):
        # Weights of 1/2: the shares are those of 2 items each, and the number of items is given.
        interval = cluster_wilson([0.5, 0.5, 0.5], [1, 1, 1], n_items=6)

        assert ends_of(interval) == pytest.approx(ends_of(cluster_wilson([1, 1, 1], [2, 2, 2])))

    def test_a_share_of_one_counts_clusters(self):
        # (1 + 3)² / (1 + 9) = 1.6 items.
        interval = cluster_wilson([1, 3], [1, 3])

        assert ends_of(interval) == (pytest.approx(1 / (1 + Z**2 / 1.6)), 1)

    def test_one_cluster_is_worth_one_item(self):
        assert ends_of(cluster_wilson([1], [2])) == pytest.approx(wilson_by_hand(1 / 2, 1))

    def test_clusters_of_one_item_give_the_plain_interval(self):
        clustered = cluster_wilson([1, 0, 1, 1], [1, 1, 1, 1])

        assert ends_of(clustered) == pytest.approx(ends_of(wilson(3, 4)))

    @pytest.mark.parametrize(("n_clusters", "largest"), [(5, 8), (10, 8), (20, 30)])
    def test_few_clusters_are_covered(self, n_clusters, largest):
        rng = np.random.default_rng(0)
        n_covered = 0
        for _ in range(1000):
            sizes = rng.integers(1, largest + 1, size=n_clusters)
            successes = rng.binomial(sizes, rng.beta(2, 1, size=n_clusters))
            interval = cluster_wilson(successes, sizes)
            n_covered += interval.low <= 2 / 3 <= interval.high

        assert 0.92 <= n_covered / 1000 <= 0.98

    @pytest.mark.parametrize(
        ("successes", "sizes", "words"),
        [
            ([1, 1], [1, 0], "cluster 1 has 0"),
            ([1, 3], [1, 2], "3 of 2"),
            ([1, -1], [1, 2], "at least 0"),
            ([1], [1, 2], "one length"),
        ],
    )
    def test_counts_fit_the_sizes(self, successes, sizes, words):
        with pytest.raises(ValueError, match=words):
            cluster_wilson(successes, sizes)


class TestStratifiedWilson:
    def test_by_hand(self):
        # Shares 1, 3/4 of one and of four items: mean 7/8. Two items of the second differ in
        # 2 (3/4) (1/4) (4/3) = 1/2 of all cases, those of a further stratum, of the share
        # (2 (7/8) + 1/2) / 3 = 3/4, in 3/8: mean 7/16.
        first_rate = 7 / 16
        second_rate = (3 / 2 + 7 / 16) / 4
        variance = (first_rate / 2 + second_rate / 8) / 4

        interval = stratified_wilson([1, 3], [1, 4])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(7 / 8, 7 / 64 / variance))

    def test_one_stratum_has_the_plain_interval(self):
        assert ends_of(stratified_wilson([2], [4])) == pytest.approx(ends_of(wilson(2, 4)))

    def test_strata_without_errors_leave_a_width(self):
        # Shares of 1 in strata of 1, 2 and 6 items: n* = 9 / (1 + 1/2 + 1/6) = 5.4.
        interval = stratified_wilson([1, 2, 6], [1, 2, 6])

        assert ends_of(interval) == (pytest.approx(1 / (1 + Z**2 / 5.4)), 1)

    def test_many_small_strata_are_not_wide(self):
        # 30 strata of two items at .95 and .05: the deviation of the mean is
        # (.95 * .05 / 60)^.5 = .028, and the width 4 times that.
        sizes = np.full(30, 2)
        rates = np.tile([0.95, 0.05], 15)
        rng = np.random.default_rng(0)
        intervals = [stratified_wilson(rng.binomial(sizes, rates), sizes) for _ in range(400)]

        assert np.mean([interval.high - interval.low for interval in intervals]) < 0.125
        assert np.mean([interval.low <= 0.5 <= interval.high for interval in intervals]) > 0.93

    @pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [2, 7, 3, 1], [20] * 6])
    @pytest.mark.parametrize("rate", [0.05, 0.5, 0.97])
    def test_the_mean_share_is_covered(self, sizes, rate):
        rng = np.random.default_rng(0)
        rates = rate ** np.linspace(0.5, 2, len(sizes))
        n_covered = 0
        for _ in range(400):
            interval = stratified_wilson(rng.binomial(sizes, rates), sizes)
            n_covered += interval.low <= rates.mean() <= interval.high

        assert n_covered / 400 > 0.92

    @pytest.mark.parametrize(
        ("successes", "sizes", "words"),
        [([1, 3], [1, 2], "stratum 1 has 3"), ([0, 0], [1, 0.5], "at least 1")],
    )
    def test_counts_fit_the_sizes(self, successes, sizes, words):
        with pytest.raises(ValueError, match=words):
            stratified_wilson(successes, sizes)


class TestBoundedMean:
    def test_one_value_by_hand(self):
        # 1, -1 and 1: mean 1/3, mean square deviation 8/9, t of 2 degrees of freedom.
        half_width = student(0.5, 2) * math.sqrt(8 / 9 / 3)

        interval = bounded_mean_interval([1], low=-1, high=1, confidence_level=0.5)

        assert ends_of(interval) == pytest.approx((1 / 3 - half_width, 1 / 3 + half_width))

    def test_clusters_of_two_sizes_by_hand(self):
        # Sums 1 and 1 of 1 and 3 values, and of two clusters of 2 values at 0 and 1: 0 and 2. The
        # mean is 4/8, and the deviations are 1/2, -1/2, -1, 1 with the sum of squares 5/2.
        half_width = student(0.5, 3) * math.sqrt(5 / 2) / 8

        interval = bounded_mean_interval(
            [1, 0, 0, 1],
            low=0,
            high=1,
            confidence_level=0.5,
            clusters=["a", "b", "b", "b"],
        )

        assert ends_of(interval) == pytest.approx((1 / 2 - half_width, 1 / 2 + half_width))

    def test_clusters_with_a_negative_bound_by_hand(self):
        # Sums 1 and -1 of 1 and 3 values, and of two clusters of 2 values at -1 and 1: -2 and 2.
        # The mean is 0, so that the sums are the deviations: 1 + 1 + 4 + 4 = 10.
        half_width = student(0.5, 3) * math.sqrt(10) / 8

        interval = bounded_mean_interval(
            [1, 0, 0, -1],
            low=-1,
            high=1,
            confidence_level=0.5,
            clusters=["a", "b", "b", "b"],
        )

        assert ends_of(interval) == pytest.approx((-half_width, half_width))

    def test_the_ends_are_within_the_bounds(self):
        assert ends_of(bounded_mean_interval([2, 4], low=2, high=4)) == (2, 4)

    def test_copies_of_items_add_nothing(self):
        values = np.random.default_rng(1).beta(2, 3, size=20)
        single = bounded_mean_interval(values, low=0, high=1)

        copies = bounded_mean_interval(
            np.repeat(values, 10), low=0, high=1, clusters=np.repeat(np.arange(20), 10)
        )

        assert ends_of(copies) == pytest.approx(ends_of(single))
        assert bounded_mean_interval(values, low=0, high=1, clusters=np.arange(20)) == single

    @pytest.mark.parametrize("n_items", [3, 20, 150])
    @pytest.mark.parametrize(
        ("gain", "loss"), [(0, 0), (0.02, 0.02), (0.3, 0.0), (0.5, 0.4), (0.97, 0.0)]
    )
    def test_differences_of_flags_are_covered(self, n_items, gain, loss):
        rng = np.random.default_rng(1)
        draws = rng.random((400, n_items))
        values = (draws < gain).astype(float) - (draws > 1 - loss)
        intervals = [bounded_mean_interval(row, low=-1, high=1) for row in values]
        covers = [interval.low <= gain - loss <= interval.high for interval in intervals]

        assert np.mean(covers) > 0.92
        assert all(interval.high > interval.low for interval in intervals)

    @pytest.mark.parametrize(("values", "words"), [([0, -2], "at least -1"), ([2, 0], "at most 1")])
    def test_values_out_of_bounds_are_refused(self, values, words):
        with pytest.raises(ValueError, match=words):
            bounded_mean_interval(values, low=-1, high=1)


class TestDelong:
    def test_by_hand(self):
        # Events at .9, .6, .6 and none at .6, .2: placements 1, 3/4, 3/4 and
        # (1 + 1/2 + 1/2) / 3 = 2/3, 1; AUROC 5/6. Half an item at 1/2 more: means
        # 2.75 / 3.5 = 11/14 and (5/3 + 1/4) / 2.5 = 23/30.
        first = ((3 / 14) ** 2 + 2 * (1 / 28) ** 2 + (2 / 7) ** 2 / 2) / (2.5 * 3.5)
        second = ((1 / 10) ** 2 + (7 / 30) ** 2 + (4 / 15) ** 2 / 2) / (1.5 * 2.5)
        freedom = (first + second) ** 2 / (first**2 / 2.5 + second**2 / 1.5)
        center = (11 / 14 + 23 / 30) / 2
        n_effective = center * (1 - center) / (first + second) * (Z / student(freedom)) ** 2

        interval = delong([0.9, 0.6, 0.6, 0.6, 0.2], [1, 1, 1, 0, 0])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(5 / 6, n_effective))

    scores = (0.9, 0.4, 0.6, 0.1)
    events = (1, 1, 0, 0)

    def test_clusters_by_hand(self):
        # Placements 1, 1/2 and 1/2, 1; AUROC 3/4. A cluster has two items, so that half a cluster
        # is one item at 1/2: means (3/2 + 1/2) / 3 = 2/3. Deviations from it, over 3: 1/9, -1/18
        # and -1/18, 1/9; each cluster has 1/18. Half a cluster has (2 (1/2 - 2/3) / 3)² / 2 = 1/162
        # in each kind. v = 2/1 (2/324 + 2/162) = 1/27, with one degree of freedom.
        n_effective = (2 / 3) * (1 / 3) * 27 * (Z / student(1)) ** 2

        interval = delong(self.scores, self.events, clusters=["a", "b", "a", "b"])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(3 / 4, n_effective))

    def test_one_cluster_by_hand(self):
        # Half a cluster is two items at 1/2: means (3/2 + 1) / 4 = 5/8. Deviations, over 4: 3/32,
        # -1/32 and -1/32, 3/32, in all 1/8. Half a cluster: (4 (1/2 - 5/8) / 4)² / 2 = 1/128 in
        # each kind. v = 1/64 + 2/128 = 1/32, with one degree of freedom.
        n_effective = (5 / 8) * (3 / 8) * 32 * (Z / student(1)) ** 2

        interval = delong(self.scores, self.events, clusters=[0, 0, 0, 0])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(3 / 4, n_effective))

    def test_clusters_have_no_more_degrees_of_freedom_than_items(self):
        # As many clusters as items: half a cluster is half an item. Without ties or clusters of
        # several items, only the factor G / (G - 1) = 5/4 differs from the plain interval, in
        # place of Bessel's (m + 1/2) / (m - 1/2).
        scores = [0.9, 0.6, 0.6, 0.6, 0.2]
        first = ((3 / 14) ** 2 + 2 * (1 / 28) ** 2 + (2 / 7) ** 2 / 2) / 3.5**2
        second = ((1 / 10) ** 2 + (7 / 30) ** 2 + (4 / 15) ** 2 / 2) / 2.5**2
        parts = first * 3.5 / 2.5, second * 2.5 / 1.5
        freedom = sum(parts) ** 2 / (parts[0] ** 2 / 2.5 + parts[1] ** 2 / 1.5)
        center = (11 / 14 + 23 / 30) / 2
        variance = 5 / 4 * (first + second)
        n_effective = center * (1 - center) / variance * (Z / student(min(freedom, 4))) ** 2

        interval = delong(scores, [1, 1, 1, 0, 0], clusters=list("abcde"))

        assert ends_of(interval) == pytest.approx(wilson_by_hand(5 / 6, n_effective))

    def test_placements_by_hand(self):
        # Events at 3, 1 and none at 2, 1, 0: 3 is above all, 1 above 0 and tied with 1.
        auroc, placements = compute_placements(
            np.array([3.0, 2.0, 1.0, 1.0, 0.0]), np.array([True, False, True, False, False])
        )

        assert placements.tolist() == [1, 1 / 2, 1.5 / 3, 1.5 / 2, 1]
        assert auroc == pytest.approx(3 / 4)

    @pytest.mark.parametrize(
        ("draw_events", "draw_rest"),
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
    def test_groups_of_unequal_spread_are_covered(self, draw_events, draw_rest):
        rng = np.random.default_rng(0)
        population = np.concatenate([draw_events(rng) for _ in range(1000)])
        n_events = len(population)
        population = np.append(population, [draw_rest(rng) for _ in range(1000)])
        truth, _ = compute_placements(population, np.arange(len(population)) < n_events)

        n_covered = 0
        for _ in range(500):
            scores = draw_events(rng)
            n_events = len(scores)
            scores = np.append(scores, draw_rest(rng))
            interval = delong(scores, np.arange(len(scores)) < n_events)
            n_covered += interval.low <= truth <= interval.high

        assert n_covered / 500 >= 0.92

    def test_copies_of_items_add_nothing(self):
        rng = np.random.default_rng(1)
        flags = rng.random(60) < 0.6
        scores = rng.normal(flags, 1)
        single = delong(scores, flags)

        copies = delong(
            np.repeat(scores, 8), np.repeat(flags, 8), clusters=np.repeat(np.arange(60), 8)
        )

        assert copies.high - copies.low == pytest.approx(single.high - single.low, rel=0.03)

    def test_it_is_symmetric_and_has_a_width_at_the_ends(self):
        scores = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
        flags = np.array([1, 1, 1, 0, 0, 0])

        best = delong(scores, flags)
        worst = delong(-scores, flags)

        assert (best.high, worst.low) == (1.0, 0.0)
        assert best.low == pytest.approx(1 - worst.high)
        # Placements of 1, and half an item at 1/2: mean 13/14, v = 2 (3/196 + 9/98) / (2.5 * 3.5),
        # five degrees of freedom.
        n_effective = 13 / 196 / (6 / 28 / 8.75) * (Z / student(5)) ** 2
        assert best.low == pytest.approx(1 / (1 + Z**2 / n_effective))

    @pytest.mark.parametrize("copies", [1, 4])
    def test_rare_errors_that_all_rank_low_are_covered(self, copies):
        flags = np.arange(60) < 50
        truth = stats.norm.cdf(2.5 / math.sqrt(2))
        n_covered = 0
        for seed in range(400):
            rng = np.random.default_rng(seed)
            scores = rng.normal(2.5 * flags, 1)
            times = rng.integers(1, 2 * copies, size=60)
            clusters = np.repeat(np.arange(60), times) if copies > 1 else None
            interval = delong(np.repeat(scores, times), np.repeat(flags, times), clusters=clusters)
            n_covered += interval.low <= truth <= interval.high

        assert n_covered / 400 >= 0.93

    def test_tied_scores_are_worth_the_items_of_the_rarer_kind(self):
        interval = delong([0.5] * 24, [1, 0, 0] * 8)

        assert ends_of(interval) == pytest.approx(wilson_by_hand(1 / 2, 8))

    def test_deviations_that_cancel_within_a_cluster_do_not_divide_by_zero(self):
        # The event at 2 is between 0 and 3: placements 1/2 and 1, 0, whose deviations cancel.
        interval = delong([2, 0, 3], [1, 0, 0], clusters=["a", "a", "a"])

        assert ends_of(interval) == pytest.approx(wilson_by_hand(1 / 2, 1))

    @pytest.mark.parametrize("events", [[1, 1], [0, 0]])
    def test_both_kinds_must_occur(self, events):
        with pytest.raises(ValueError, match="one kind"):
            delong([0.2, 0.4], events)

    def test_clusters_fit_the_items(self):
        with pytest.raises(ValueError, match="cluster of each"):
            delong([0.5, 0.5], [1, 0], clusters=["a"])

    def test_scores_and_events_have_one_length(self):
        with pytest.raises(ValueError, match="one length"):
            delong([0.5, 0.5, 0.5], [1, 0])

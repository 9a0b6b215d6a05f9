"""Significance tests: by hand, by enumeration, against SciPy, and by how often they reject."""

import math

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import (
    chances_p_value,
    compare_paired_means,
    compute_log_binomial,
    holm,
    mcnemar,
    poisson_binomial_p_value,
    poisson_binomial_p_values,
    sign_flip_p_value,
    two_rates_p_value,
)

TEN_COPIES_OF_20_ITEMS = np.repeat(np.arange(20), 10)


class TestPairedMeans:
    def test_flags_of_independent_items_are_tested_by_mcnemar(self):
        first = [True] * 8
        second = [0] * 5 + [1] * 3

        test = compare_paired_means(first, second)

        # b = 5, c = 0: p = 1 / 2^5.
        assert (test.difference, test.p_value, test.n_items) == (5 / 8, 1 / 32, 8)
        assert test.method == "McNemar's mid-p test"
        differences = np.subtract(first, second, dtype=float)
        assert test.interval == bounded_mean_interval(differences, low=-1, high=1)

    def test_flags_may_have_other_bounds(self):
        test = compare_paired_means([3, 3, 3, 3, 3], [1, 1, 1, 1, 1], low=1, high=3)

        assert (test.difference, test.p_value) == (2, 1 / 32)
        # Differences lie between 1 - 3 and 3 - 1.
        assert test.interval == bounded_mean_interval([2] * 5, low=-2, high=2)

    @pytest.mark.parametrize("value", [0.5, 0.25])
    def test_other_values_are_tested_by_flipping_signs(self, value):
        first = [1, 1, 1, value]
        second = [0, 0, 1, 0.25]

        test = compare_paired_means(first, second, resampling=Resampling(level=0.8))

        differences = np.subtract(first, second)
        assert test.method == "sign flips of the differences"
        assert test.p_value == sign_flip_p_value(differences)
        assert test.interval == bounded_mean_interval(
            differences, low=-1, high=1, confidence_level=0.8
        )

    def test_clusters_are_tested_by_flipping_their_signs(self):
        first = [1, 1, 1, 1, 0, 1]
        second = [0, 0, 0, 1, 1, 1]
        clusters = list("aabbcc")

        test = compare_paired_means(first, second, clusters=clusters)

        differences = np.subtract(first, second)
        assert test.difference == pytest.approx(2 / 6)
        assert test.p_value == sign_flip_p_value(differences, clusters=clusters)
        assert test.interval == bounded_mean_interval(
            differences, low=-1, high=1, clusters=clusters
        )

    @pytest.mark.parametrize("bounds", [{"low": None}, {"high": None}, {"low": None, "high": None}])
    def test_values_without_bounds_are_bootstrapped(self, bounds):
        first = [0.9, 0.8, 0.9, 0.7, 0.6, 0.9]
        second = [0.1, 0.2, 0.4, 0.3, 0.2, 0.5]

        test = compare_paired_means(first, second, **bounds)

        differences = np.subtract(first, second)
        assert test.p_value == sign_flip_p_value(differences)
        assert test.interval == bootstrap_mean(differences)

    def test_an_interval_without_bounds_agrees_with_its_p_value(self):
        rng = np.random.default_rng(0)
        n_rejected = 0
        for seed in range(300):
            first, second = rng.lognormal(0, 1.5, size=(2, 40))
            test = compare_paired_means(
                first, second, low=None, high=None, resampling=Resampling(resamples=200, seed=seed)
            )
            n_rejected += test.p_value <= 0.1
            if test.p_value > 0.05:
                assert test.interval.low <= 0 <= test.interval.high

        assert 0.05 <= n_rejected / 300 <= 0.15

    def test_equal_differences_have_no_interval_without_bounds(self):
        first = [2.0, 3.0, 3.1]
        second = [1.0, 2.0, 2.1]

        assert compare_paired_means(first, second, low=None, high=None).interval is None
        assert compare_paired_means(first, second, low=0, high=9).interval.high > 1

    def test_equal_models_do_not_differ(self):
        assert compare_paired_means([1, 0, 1], [1, 0, 1]).p_value == 1

    def test_copies_of_items_are_not_more_items(self):
        rng = np.random.default_rng(3)
        n_rejected = 0
        for seed in range(300):
            first, second = np.repeat(rng.random((2, 20)) < 0.7, 10, axis=1)
            test = compare_paired_means(
                first,
                second,
                clusters=TEN_COPIES_OF_20_ITEMS,
                resampling=Resampling(resamples=199, seed=seed),
            )
            n_rejected += test.p_value <= 0.05

        assert n_rejected / 300 <= 0.08

    @pytest.mark.parametrize(
        ("first", "second", "bounds", "words"),
        [
            ([1], [1, 0], {}, "one length"),
            ([1], [2], {}, "at most 1"),
            ([-1], [1], {}, "at least 0"),
            ([1], [np.inf], {"low": None, "high": None}, "`second`"),
            ([1e308], [-1e308], {"low": None, "high": None}, "`differences`"),
        ],
    )
    def test_values_are_finite_and_within_bounds(self, first, second, bounds, words):
        with pytest.raises(ValueError, match=words):
            compare_paired_means(first, second, **bounds)


class TestSignFlips:
    def test_by_enumeration(self):
        # |sum| of ±1 ±1 ±2 is 4, 2, 2, 0 for half of the assignments: at least 2 in 3 of 4.
        p_value = sign_flip_p_value([1, -1, 2, 0], resampling=Resampling(resamples=20_000))

        assert p_value == pytest.approx(3 / 4, abs=0.01)

    def test_by_a_plain_loop(self):
        values = np.array([0.25, 1.0, -0.5, 2.0])
        # Draws are for the sorted values.
        draws = np.random.default_rng([7, 2]).integers(2, size=(50, 4), dtype=np.int8)
        n_extreme = 0
        for draw in draws:
            n_extreme += abs(np.sort(values) @ (2.0 * draw - 1)) >= 2.75

        p_value = sign_flip_p_value(values, resampling=Resampling(resamples=50, seed=7))

        assert p_value == (n_extreme + 1) / 51

    def test_the_observed_signs_count(self):
        # 40 equal signs occur in two of 2^40 assignments.
        p_value = sign_flip_p_value([1.0] * 40, resampling=Resampling(resamples=99))

        assert p_value == 1 / 100

    def test_zeros_have_no_sign(self):
        assert sign_flip_p_value([0, 0, 0]) == 1
        assert sign_flip_p_value([0, 3, 0, 1, 2]) == sign_flip_p_value([1, 2, 3])

    def test_differences_that_cancel_but_for_rounding(self):
        # 0.1 + 0.1 + 0.1 - 0.3 is 5.6e-17 to a computer: every assignment is as far from 0.
        assert sign_flip_p_value([0.1, 0.1, 0.1, -0.3]) == 1

    def test_p_values_are_uniform_under_the_null(self):
        rng = np.random.default_rng(2)
        values = rng.exponential(size=(500, 15)) * rng.choice([-1, 1], size=(500, 15))
        p_values = []
        for seed, row in enumerate(values):
            resampling = Resampling(resamples=199, seed=seed)
            p_values.append(sign_flip_p_value(row, resampling=resampling))

        for level in (0.05, 0.2, 0.5):
            deviation = math.sqrt(level * (1 - level) / 500)
            assert abs(np.mean(np.array(p_values) <= level) - level) < 3 * deviation

    def test_copies_of_pairs_add_nothing(self):
        differences = np.random.default_rng(2).normal(0.2, 1, size=20)

        copies = sign_flip_p_value(np.repeat(differences, 10), clusters=TEN_COPIES_OF_20_ITEMS)

        assert copies == sign_flip_p_value(differences)


class TestMcNemar:
    def test_by_hand(self):
        # b = 8, c = 2: p = 2 (C(10,0) + C(10,1)) / 2^10 + C(10,2) / 2^10.
        first = [True] * 8 + [False] * 2 + [True] * 5
        second = [False] * 8 + [True] * 2 + [True] * 5

        test = mcnemar(first, second)

        assert test.p_value == pytest.approx((2 * (1 + 10) + 45) / 1024)
        assert (test.difference, test.n_items) == (6 / 15, 15)
        assert test.interval is None
        # The other way round, only the sign changes.
        assert mcnemar(second, first).p_value == pytest.approx(test.p_value)
        assert mcnemar(second, first).difference == -6 / 15

    def test_the_mid_p_value_is_the_exact_one_less_half_the_observed_outcomes(self):
        # 5 of 20 discordant items: the exact p-value less the chance of 5 of 20.
        test = mcnemar([1] * 5 + [0] * 15 + [1] * 30, [0] * 5 + [1] * 15 + [1] * 30)

        exact = stats.binomtest(5, 20, 0.5).pvalue
        assert test.p_value == pytest.approx(exact - math.comb(20, 5) / 2**20)

    def test_one_discordant_item_of_the_rarer_kind(self):
        # b = 1, c = 3: 2 C(4,0) / 2^4 + C(4,1) / 2^4 = 6/16.
        assert mcnemar([1, 0, 0, 0], [0, 1, 1, 1]).p_value == pytest.approx(6 / 16)

    def test_models_that_are_correct_equally_often_do_not_differ(self):
        assert mcnemar([1, 1, 0, 0], [0, 0, 1, 1]).p_value == 1
        assert mcnemar([True, False], [True, False]).p_value == 1

    def test_it_rejects_about_as_often_as_its_level(self):
        # Two models that differ on 5 % of 200 items; the exact test rejects 1 to 2 % at .05.
        rng = np.random.default_rng(4)
        differs = rng.random((2000, 200)) < 0.05
        first = rng.random((2000, 200)) < 0.5
        second = first ^ differs
        p_values = [mcnemar(first[i], second[i]).p_value for i in range(2000)]

        assert 0.025 <= np.mean(np.array(p_values) <= 0.05) <= 0.06

    @pytest.mark.parametrize(
        ("first", "second", "kind", "words"),
        [
            ([1, 2], [1, 0], TypeError, "`first`"),
            ([1, 0], [1, 2], TypeError, "`second`"),
            ([True], [True, False], ValueError, "one length"),
        ],
    )
    def test_flags_are_true_or_false(self, first, second, kind, words):
        with pytest.raises(kind, match=words):
            mcnemar(first, second)


class TestPoissonBinomial:
    # All 8 outcomes of 1/2, 1/3, 1/4: P(0) = 1/2 * 2/3 * 3/4 = 6/24, P(3) = 1/24,
    # P(1) = 6/24 + 3/24 + 2/24 = 11/24, P(2) = 6/24.
    @pytest.mark.parametrize(
        ("successes", "expected"), [(0, 13 / 24), (1, 1), (2, 13 / 24), (3, 1 / 24)]
    )
    def test_by_enumeration(self, successes, expected):
        p_value = poisson_binomial_p_value(successes, [1 / 2, 1 / 3, 1 / 4])

        assert p_value == pytest.approx(expected)
        assert p_value <= 1

    @pytest.mark.skipif(not hasattr(stats, "poisson_binom"), reason="SciPy has it since 1.15")
    def test_groups_of_trials_agree_with_scipy(self):
        # 5 trials of 1/2, 3 of 1/3, and 4 more of 1/2.
        pmf = stats.poisson_binom([1 / 2] * 9 + [1 / 3] * 3).pmf(np.arange(13))
        for successes in range(13):
            expected = pmf[pmf <= pmf[successes] * (1 + 1e-7)].sum()

            p_value = poisson_binomial_p_value(successes, [1 / 2, 1 / 3, 1 / 2], [5, 3, 4])

            assert p_value == pytest.approx(min(expected, 1.0))

    def test_equal_chances_agree_with_the_binomial_test(self):
        for successes in (0, 3, 7, 40):
            exact = stats.binomtest(successes, 40, 0.25).pvalue
            assert poisson_binomial_p_value(successes, np.full(40, 0.25)) == pytest.approx(exact)

    def test_several_numbers_of_trials_are_tested_as_one_by_one(self):
        # Rows repeat, one row has no trials, and two groups have the same chance.
        chances = [1 / 2, 1 / 3, 1 / 2]
        trials = np.array([[5, 3, 4], [0, 0, 0], [9, 0, 0], [5, 3, 4], [5, 3, 4], [0, 7, 2]])
        successes = [12, 0, 3, 6, 0, 4]

        p_values = poisson_binomial_p_values(successes, chances, trials)

        for count, row, p_value in zip(successes, trials, p_values, strict=True):
            assert p_value == poisson_binomial_p_value(count, chances, row)

    def test_log_binomial(self):
        # 5, 10 and 1 ways.
        ways = np.exp(compute_log_binomial(np.array([5, 5, 7]), np.array([1, 2, 7])))

        assert ways.tolist() == pytest.approx([5, 10, 1])


class TestChances:
    def test_independent_items_are_tested_exactly(self):
        exact = stats.binomtest(9, 10, 0.5).pvalue
        hits = [1] * 9 + [0]

        assert chances_p_value(hits, [0.5] * 10) == pytest.approx(exact)
        assert chances_p_value(hits, [0.5] * 10, clusters=range(10)) == pytest.approx(exact)

    def test_clusters_by_hand(self):
        # d = 1/2 + 3/4 = 5/4 and -1/2 + 1/4 = -1/4: t = 1 / sqrt(25/16 + 1/16), one degree.
        p_value = chances_p_value([1, 1, 0, 1], [0.5, 0.25, 0.5, 0.75], clusters=list("aabb"))

        assert p_value == pytest.approx(2 * stats.t.sf(1 / math.sqrt(26 / 16), 1))

    @pytest.mark.parametrize(
        ("hits", "chances", "clusters"),
        [
            # One cluster; clusters that all meet their chances exactly.
            ([1] * 9, [0.5] * 9, [0] * 9),
            ([1, 0, 1, 0], [0.5] * 4, [0, 0, 1, 1]),
        ],
    )
    def test_what_has_no_variance_is_not_significant(self, hits, chances, clusters):
        assert chances_p_value(hits, chances, clusters=clusters) == 1

    def test_copies_of_items_are_not_more_items(self):
        rng = np.random.default_rng(4)
        chances = np.full(200, 0.25)
        n_rejected = {"clusters": 0, "items": 0}
        for _ in range(500):
            hits = np.repeat(rng.random(20) < 0.25, 10)
            clustered = chances_p_value(hits, chances, clusters=TEN_COPIES_OF_20_ITEMS)
            n_rejected["clusters"] += clustered <= 0.05
            n_rejected["items"] += chances_p_value(hits, chances) <= 0.05

        assert n_rejected["clusters"] / 500 <= 0.08 < 0.4 < n_rejected["items"] / 500

    @pytest.mark.parametrize(
        ("hits", "chances", "clusters", "words"),
        [
            ([1, 0], [0.5], None, "one length"),
            ([1], [1.5], None, "at most 1"),
            ([1], [-0.5], None, "at least 0"),
            ([1, 0], [0.5, 0.5], ["a"], "cluster of each"),
        ],
    )
    def test_chances_fit_the_hits(self, hits, chances, clusters, words):
        with pytest.raises(ValueError, match=words):
            chances_p_value(hits, chances, clusters=clusters)


class TestTwoRates:
    hits = (1, 0, 1, 0, 1, 1, 0, 0)
    inside = (1, 0, 1, 0, 1, 0, 1, 0)

    def test_independent_items_are_tested_by_fisher(self):
        # Rates 3/4 and 1/4.
        expected = stats.fisher_exact([[3, 1], [1, 3]]).pvalue

        assert two_rates_p_value(self.hits, self.inside) == pytest.approx(expected)
        clustered = two_rates_p_value(self.hits, self.inside, clusters=range(8))
        assert clustered == pytest.approx(expected)

    def test_rates_of_unequal_numbers_of_items(self):
        # Two of three selected items are hits, and one of five others.
        p_value = two_rates_p_value([1, 1, 0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0])

        assert p_value == pytest.approx(stats.fisher_exact([[2, 1], [1, 4]]).pvalue)

    def test_clusters_by_hand(self):
        # Rates 3/4 and 1/4. The items add (h - 3/4) / 4 inside and (1/4 - h) / 4 outside: in
        # clusters of one of each (1, 0), (1, 0), (1, 1), (0, 0): 1/8, 1/8, -1/8, -1/8, with the
        # spread sqrt(4/3 * 4/64).
        t = 1 / 2 / math.sqrt(4 / 3 * 4 / 64)

        p_value = two_rates_p_value(self.hits, self.inside, clusters=[0, 0, 1, 1, 2, 2, 3, 3])

        assert p_value == pytest.approx(2 * stats.t.sf(t, 3))

    def test_clusters_of_unequal_size_by_hand(self):
        # Rates 2/3 and 1/2. The items add (h - 2/3) / 3 inside and (1/2 - h) / 2 outside: 1/9, 1/9,
        # -2/9, 1/4, -1/4. Clusters: 1/9 + 1/9 = 2/9 and -2/9; spread sqrt(2/1 * 8/81) = 4/9.
        t = (2 / 3 - 1 / 2) / (4 / 9)

        p_value = two_rates_p_value(
            [1, 1, 0, 0, 1], [1, 1, 1, 0, 0], clusters=["a", "a", "b", "b", "b"]
        )

        assert p_value == pytest.approx(2 * stats.t.sf(t, 1))

    def test_clusters_that_all_differ_equally_are_tested_by_their_signs(self):
        # All 5 pairs differ equally: so do two of 2^5 patterns of signs.
        clusters = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]

        assert two_rates_p_value([1, 0] * 5, [1, 0] * 5, clusters=clusters) == 2 / 32

    @pytest.mark.parametrize(
        ("hits", "inside", "clusters"),
        [
            # All items selected, none, one cluster, and equal rates.
            ([1, 0, 1], [1, 1, 1], None),
            ([1, 0, 1], [0, 0, 0], None),
            ([1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]),
            ([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]),
            ([1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0]),
        ],
    )
    def test_what_has_no_difference_or_variance_is_not_significant(self, hits, inside, clusters):
        assert two_rates_p_value(hits, inside, clusters=clusters) == 1

    @pytest.mark.parametrize(
        ("clusters", "words"), [(["a"], "cluster of each"), (["a", float("nan")], "is NaN")]
    )
    def test_clusters_fit_the_items(self, clusters, words):
        with pytest.raises(ValueError, match=words):
            two_rates_p_value([1, 0], [1, 0], clusters=clusters)


class TestHolm:
    def test_by_hand(self):
        # 4 * 0.01, 3 * 0.02, then 2 * 0.02 raised to 0.06, and 0.5 * 1.
        corrected = holm(np.array([0.5, 0.02, 0.01, 0.02]))

        assert corrected.tolist() == pytest.approx([0.5, 0.06, 0.04, 0.06])

    def test_p_values_do_not_exceed_1(self):
        assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


def test_results_are_plain():
    import json

    tests = [mcnemar([True], [False]), compare_paired_means([1, 0], [0, 0])]

    json.dumps([test.to_dict() for test in tests])

r"""Significance tests of paired differences, rates and counts, and a correction for several tests.

`compare_paired_means` tests whether two models have the same mean on the same items; `mcnemar` and
`sign_flip_p_value` are its two cases. `chances_p_value` tests whether items succeed as often as
expected, and `two_rates_p_value` whether two sets of items succeed equally often. `holm` corrects
the p-values of a family of tests.

Independent items are tested exactly. Items in clusters are tested by the sums of the clusters:
their signs are flipped, or their sum is compared with its standard error by Student's t. All tests
are two-sided.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats
from rightreasons.core.bootstrap import bootstrap_checked_mean, parse_vector
from rightreasons.core.clusters import UnitSums, count_numbered_units, number_clusters, sum_units
from rightreasons.core.intervals import (
    ROUNDING_TOLERANCE,
    Interval,
    make_bounded_mean_interval,
    sum_squares,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_flags, check_same_length, check_vector


@dataclasses.dataclass(frozen=True)
class PairedTest(Result):
    """A test of the difference of two models on the same items.

    Attributes:
        difference: Figure of the first model minus figure of the second.
        p_value: Two-sided p-value of "no difference".
        n_items: Number of items.
        method: Name of the test.
        interval: Confidence interval of the difference. None if the test gives none.
    """

    difference: float
    p_value: float
    n_items: int
    method: str
    interval: Interval | None = None


# --------------------------------------------------------------------------- paired differences


def compare_paired_means(
    first: Any,
    second: Any,
    *,
    low: float | None = 0.0,
    high: float | None = 1.0,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> PairedTest:
    """Test whether two models have the same mean on the same items.

    If all values are equal to one of two bounds, such as whether an answer is correct, the test is
    `mcnemar`; otherwise, and for clusters, it is `sign_flip_p_value`. The interval of the
    difference is `bounded_mean_interval`, whose width is never zero, or `bootstrap_mean` if the
    values have no bounds.

    Args:
        first: (N,) one value per item of the first model, in [low, high].
        second: (N,) one value per item of the second model, in the same order.
        low: Smallest possible value. If None, there is no lower bound.
        high: Largest possible value. If None, there is no upper bound.
        clusters: (N,) cluster names. If None, the items are independent.
        resampling: Confidence level of the interval; number and seed of random signs and resamples.

    Returns:
        The difference of the means, first minus second, with its p-value and interval. The interval
        is None if values without bounds all have the same difference. It includes 0 if the p-value
        of values without bounds exceeds 1 - level.

    Raises:
        ValueError: If a value is out of bounds, or the models have different numbers of items.

    References:
        McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions;
        Fisher (1935), The Design of Experiments, section 21; Agresti, Min (2005), Simple Improved
        Confidence Intervals for Comparing Matched Proportions.

    Example:
        b = 5, c = 0: p = 1 / 2^5; with an item at each bound the mean of the ten differences is
        0.5.

        >>> test = compare_paired_means([1] * 8, [0] * 5 + [1] * 3)
        >>> test.difference, test.p_value, round(test.interval.low, 3)
        (0.625, 0.03125, 0.02)
    """
    pairs = _PairedValues.parse(first, second, clusters, low, high)
    difference = float(pairs.differences.mean())
    units = sum_units(pairs.differences, pairs.codes)
    interval: Interval | None = None
    if low is not None and high is not None:
        interval = make_bounded_mean_interval(
            units, low=low - high, high=high - low, level=resampling.level
        )
        # McNemar's test is only for independent items that are correct or incorrect.
        if pairs.codes is None and pairs.has_only(low, high):
            test = _test_discordant_pairs(pairs.first == high, pairs.second == high)
            return dataclasses.replace(test, difference=difference, interval=interval)

    p_value = _flip_signs(units.sums, resampling)
    if interval is None:
        interval = _make_unbounded_interval(pairs, p_value, resampling)
    return PairedTest(
        difference=difference,
        p_value=p_value,
        n_items=len(pairs.differences),
        method="sign flips of the differences",
        interval=interval,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _PairedValues:
    """Values of two models on the same items.

    Attributes:
        first: (N,) finite values of the first model.
        second: (N,) finite values of the second model.
        differences: (N,) finite differences, first minus second.
        codes: (N,) cluster numbers. None for independent items.
    """

    first: Floats
    second: Floats
    differences: Floats
    codes: NDArray[np.intp] | None

    @classmethod
    def parse(
        cls,
        first: Any,
        second: Any,
        clusters: Any,
        low: float | None,
        high: float | None,
    ) -> _PairedValues:
        """Check the values of two models on the same items, and subtract them.

        Args:
            first: (N,) values of the first model, in [low, high].
            second: (N,) values of the second model, in the same order.
            clusters: (N,) cluster names; None for independent items.
            low: Smallest possible value; None if there is no bound.
            high: Largest possible value; None if there is no bound.
        """
        first_values = parse_vector(first, "first", minimum=low, maximum=high)
        second_values = parse_vector(second, "second", minimum=low, maximum=high)
        n_items = check_same_length(first=first_values, second=second_values)
        # The difference of two finite values may be too large for a float.
        with np.errstate(over="ignore"):
            differences = check_vector(first_values - second_values, "differences")
        return cls(
            first=first_values,
            second=second_values,
            differences=differences,
            codes=number_clusters(clusters, n_items),
        )

    def has_only(self, low: float, high: float) -> bool:
        """Return whether every value is one of two bounds."""
        values = np.concatenate((self.first, self.second))
        return bool(np.isin(values, (low, high)).all())


def _make_unbounded_interval(
    pairs: _PairedValues,
    p_value: float,
    resampling: Resampling,
) -> Interval | None:
    """Compute the bootstrap interval of a mean difference; include 0 if the test does not reject it.

    Args:
        pairs: The paired values.
        p_value: p-value of "no difference", from an exact test.
        resampling: Confidence level, number of resamples, and seed.

    Returns:
        The interval, or None if all differences are equal: no resample would differ.
    """
    if np.ptp(pairs.differences) <= ROUNDING_TOLERANCE:
        return None
    interval = bootstrap_checked_mean(pairs.differences, pairs.codes, resampling)

    # For few skewed differences, the bootstrap interval is a little too narrow. It must not
    # contradict the exact test.
    if p_value > 1 - resampling.level:
        low = min(interval.low, 0.0)
        high = max(interval.high, 0.0)
        interval = dataclasses.replace(interval, low=low, high=high)
    return interval


def sign_flip_p_value(
    differences: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> float:
    """Test whether paired differences are symmetric around 0, by flipping their signs at random.

    The p-value is the share of assignments of signs, including the observed one, whose sum is at
    least as far from 0 as the observed sum. It is valid for any distribution of the differences.
    The signs of a cluster are flipped together. (`scipy.stats.permutation_test` gives the same
    result and takes about thirty times as long.)

    Args:
        differences: (N,) differences of pairs.
        clusters: (N,) cluster names of the pairs. If None, the pairs are independent.
        resampling: Number of random assignments and their seed.

    Returns:
        The p-value, in (0, 1].

    References:
        Fisher (1935), The Design of Experiments, section 21.

    Example:
        >>> sign_flip_p_value([0.5] * 12) < 0.01, sign_flip_p_value([0.5, -0.5])
        (True, 1.0)

        Two clusters agree by chance in one half of all assignments.

        >>> sign_flip_p_value([0.5] * 12, clusters=["a", "b"] * 6) > 0.4
        True
    """
    checked = check_vector(differences, "differences")
    units = sum_units(checked, number_clusters(clusters, len(checked)))
    return _flip_signs(units.sums, resampling)


def _flip_signs(sums: Floats, resampling: Resampling) -> float:
    """Test whether sums of independent units are symmetric around 0, by flipping signs at random.

    Args:
        sums: (G,) sum of the differences of each unit.
        resampling: Number of random assignments of signs, and their seed.

    Returns:
        The two-sided p-value: the share of assignments, including the observed one, whose total is
        at least as far from 0 as the observed total.
    """
    # Zeros have no sign. The others are sorted, so that the random signs do not depend on the order
    # of the items.
    nonzero_sums = np.sort(sums[sums != 0])
    n_sums = len(nonzero_sums)
    # Totals that differ from the observed one only by rounding count as equal to it.
    tolerance = ROUNDING_TOLERANCE * float(np.abs(nonzero_sums).sum())
    threshold = abs(float(nonzero_sums.sum())) - tolerance

    rng = np.random.default_rng([resampling.seed, 2])
    n_extreme = 0
    for n_rounds in resampling.split_into_blocks(n_sums):
        # Signs are bytes, because generating them takes most of the time and memory.
        is_positive = rng.integers(2, size=(n_rounds, n_sums), dtype=np.int8)
        signs = is_positive * np.int8(2) - np.int8(1)
        totals = signs @ nonzero_sums
        n_extreme += int(np.count_nonzero(np.abs(totals) >= threshold))

    # The observed assignment counts, too: no random test may have a p-value of 0.
    return (n_extreme + 1) / (resampling.resamples + 1)


def mcnemar(first: Any, second: Any) -> PairedTest:
    r"""Test whether two models are correct equally often on the same items, by McNemar's mid-p test.

    Exactly one model is correct on b + c items: the first on b, the second on c of them. Under "no
    difference", b is binomial with the chance 1/2. The two-sided mid-p-value counts the observed
    outcome by half:

    \[ p = 2 P(X < \min(b, c)) + P(X = \min(b, c)), \quad X \sim \mathrm{Bin}(b + c, 1/2). \]

    The exact p-value, which counts it in full, rejects far less often than its level.

    Args:
        first: (N,) whether the first model is correct.
        second: (N,) whether the second model is correct, in the same order.

    Returns:
        The difference of the accuracies, (b - c) / N, with its p-value.

    Raises:
        TypeError: If a value is neither True nor False.
        ValueError: If the models have different numbers of items, or none.

    References:
        McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions;
        Fagerland, Lydersen, Laake (2013), The McNemar Test for Binary Matched-pairs Data.

    Example:
        b = 5, c = 0: p = 1 / 2^5.

        >>> mcnemar([True] * 8, [False] * 5 + [True] * 3).p_value
        0.03125
    """
    first_correct = check_flags(first, "first")
    second_correct = check_flags(second, "second")
    check_same_length(first=first_correct, second=second_correct)
    return _test_discordant_pairs(first_correct, second_correct)


def _test_discordant_pairs(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> PairedTest:
    """Test whether two models are correct equally often, by McNemar's mid-p test of checked flags.

    Args:
        first: (N,) whether the first model is correct.
        second: (N,) whether the second model is correct.
    """
    n_first_only = int(np.count_nonzero(first & ~second))
    n_second_only = int(np.count_nonzero(second & ~first))
    n_discordant = n_first_only + n_second_only
    n_rarer = min(n_first_only, n_second_only)

    # The mid-p-value 2 P(X < k) + P(X = k) is P(X <= k) + P(X < k). If both counts are equal, the
    # two tails together contain every outcome.
    p_value = 1.0
    if n_first_only != n_second_only:
        p_value = float(special.bdtr(n_rarer, n_discordant, 0.5))
        if n_rarer > 0:
            p_value += float(special.bdtr(n_rarer - 1, n_discordant, 0.5))

    return PairedTest(
        difference=(n_first_only - n_second_only) / len(first),
        p_value=p_value,
        n_items=len(first),
        method="McNemar's mid-p test",
    )


# ------------------------------------------------------------------------------ counts and rates


def poisson_binomial_p_value(
    successes: int,
    chances: Any,
    trials: Any = 1,
) -> float:
    """Test a number of successes in trials with different chances, exactly.

    The p-value is the probability of all counts that are at most as likely as the observed one, as
    in the exact binomial test. (`scipy.stats.poisson_binom` gives the same probabilities, but takes
    seconds for some thousand trials.)

    Args:
        successes: Observed number of successes.
        chances: (G,) chance of success of each trial, or of each group of trials.
        trials: (G,) number of trials of each group. Defaults to 1.

    Returns:
        The p-value, in (0, 1].

    Example:
        >>> from scipy.stats import binomtest
        >>> exact = poisson_binomial_p_value(9, [0.5], [10])
        >>> bool(np.isclose(exact, binomtest(9, 10, 0.5).pvalue))
        True
    """
    probabilities = np.asarray(chances, dtype=np.float64)
    counts = np.broadcast_to(np.asarray(trials, dtype=np.int64), probabilities.shape)
    p_values = poisson_binomial_p_values([successes], probabilities, counts[np.newaxis])
    return float(p_values[0])


def poisson_binomial_p_values(
    successes: Any,
    chances: Any,
    trials: Any,
) -> Floats:
    """Test several numbers of successes, each of them in trials with different chances.

    Args:
        successes: (M,) observed numbers of successes.
        chances: (G,) chance of success of each group of trials.
        trials: (M, G) number of trials of each group, for each observed number.

    Returns:
        (M,) p-values, as `poisson_binomial_p_value` returns them.
    """
    probabilities = np.asarray(chances, dtype=np.float64)
    counts = np.asarray(trials, dtype=np.int64)
    observed = np.asarray(successes, dtype=np.int64)

    # Trials of equal chance are one binomial.
    distinct_chances, groups = np.unique(probabilities, return_inverse=True)
    counts_by_chance = np.zeros((len(observed), len(distinct_chances)), dtype=np.int64)
    for column, group in enumerate(groups.tolist()):
        counts_by_chance[:, group] += counts[:, column]

    # Equal rows of counts share a distribution, and equal counts of one chance share a binomial.
    distinct_rows, row_indices = np.unique(counts_by_chance, axis=0, return_inverse=True)
    row_indices = row_indices.reshape(-1)
    binomials = []
    for chance, column_counts in zip(distinct_chances.tolist(), distinct_rows.T, strict=True):
        binomials.append(_compute_binomials(column_counts, chance))

    p_values = np.empty(len(observed))
    # Sorted by their rows, the tests of each distribution are neighbors.
    order = np.argsort(row_indices, kind="stable")
    borders = np.searchsorted(row_indices[order], np.arange(len(distinct_rows) + 1))
    for row, (start, stop) in enumerate(itertools.pairwise(borders.tolist())):
        # (n + 1,) probability of each total number of successes. Sums of independent counts are
        # convolutions of their probabilities.
        pmf = np.ones(1)
        for pmf_by_count, n_trials in zip(binomials, distinct_rows[row].tolist(), strict=True):
            pmf = np.convolve(pmf, pmf_by_count[n_trials])
        for test in order[start:stop].tolist():
            # Sum the outcomes that are at most as likely as the observed one. The tolerance of 1e-7
            # includes outcomes whose probabilities are equal except for rounding.
            threshold = pmf[observed[test]] * (1 + 1e-7)
            p_values[test] = min(1.0, pmf[pmf <= threshold].sum())
    return p_values


def _compute_binomials(counts: NDArray[np.int64], chance: float) -> dict[int, Floats]:
    """Return the binomial distribution of each number of trials: number -> (number + 1,) probabilities.

    Args:
        counts: Numbers of trials.
        chance: The chance of success.
    """
    if len(counts) == 0:
        return {}
    distinct_counts = np.unique(counts)
    # One call for all numbers of trials, because scipy checks its arguments in every call.
    sizes = distinct_counts + 1
    ends = np.cumsum(sizes)
    n_trials = np.repeat(distinct_counts, sizes)
    n_successes = np.arange(len(n_trials)) - np.repeat(ends - sizes, sizes)
    probabilities = np.asarray(scipy.stats.binom.pmf(n_successes, n_trials, chance))
    parts = np.split(probabilities, ends[:-1])
    return dict(zip(distinct_counts.tolist(), parts, strict=True))


def compute_log_binomial(n: Any, k: Any) -> Floats:
    """Return the logarithm of the binomial coefficient, the number of ways to choose k of n.

    Args:
        n: Numbers of things, an array or a number.
        k: Numbers of chosen things, from 0 to n.

    Example:
        >>> round(float(np.exp(compute_log_binomial(5, 2))), 6)
        10.0
    """
    # log n! - log k! - log (n - k)!
    log_binomial = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(log_binomial, dtype=np.float64)


def chances_p_value(
    hits: Any,
    chances: Any,
    *,
    clusters: Any = None,
) -> float:
    r"""Test whether items are hits as often as their chances say.

    Independent items are tested exactly, by `poisson_binomial_p_value`. For G clusters, with
    \(d_g\) the number of hits of a cluster minus its expected number,
    \(\sum_g d_g / (\sum_g d_g^2)^{1/2}\) is tested as a Student's t with G - 1 degrees of freedom.

    Args:
        hits: (N,) whether each item is a hit.
        chances: (N,) chance of each item to be a hit.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        The p-value, in (0, 1]; 1 for a single cluster, which is not informative.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a chance is outside [0, 1], or the lengths differ.

    Example:
        Nine of ten are hits at a chance of one half. But they belong to only two clusters.

        >>> hits = [1] * 9 + [0]
        >>> round(chances_p_value(hits, [0.5] * 10), 4)
        0.0215
        >>> chances_p_value(hits, [0.5] * 10, clusters=[0, 1] * 5) > 0.1
        True
    """
    flags = check_flags(hits, "hits")
    expected = check_vector(chances, "chances", minimum=0.0, maximum=1.0)
    n_items = check_same_length(hits=flags, chances=expected)
    return compute_chances_p_value(flags, expected, number_clusters(clusters, n_items))


def compute_chances_p_value(
    is_hit: NDArray[np.bool_], chances: Floats, codes: NDArray[np.intp] | None
) -> float:
    """Test whether the number of hits agrees with the chances of the items to be hits.

    Independent items are tested exactly, and clusters by Student's t, as in `chances_p_value`. The
    arguments are already checked.

    Args:
        is_hit: (N,) whether each item is a hit.
        chances: (N,) chance of each item to be a hit.
        codes: (N,) cluster numbers. If None, the items are independent.

    Returns:
        The two-sided p-value; 1 if the items are a single cluster.
    """
    # Clusters of one item each are independent items.
    n_items = len(is_hit)
    if count_numbered_units(codes, n_items) == n_items:
        return poisson_binomial_p_value(int(is_hit.sum()), chances)

    # (G,) number of hits of each cluster minus its expected number.
    units = sum_units(is_hit - chances, codes)
    spread = math.sqrt(sum_squares(units.sums))
    # The variance between clusters cannot be estimated from one cluster.
    if len(units) == 1 or spread <= ROUNDING_TOLERANCE:
        return 1.0
    t = abs(float(units.sums.sum())) / spread
    return _student_p_value(t, len(units) - 1)


def two_rates_p_value(
    hits: Any,
    inside: Any,
    *,
    clusters: Any = None,
) -> float:
    r"""Test whether selected items are hits as often as all other items.

    Independent items are tested by Fisher's exact test. For G clusters, the difference of the two
    rates is the sum of \(d_g\), the contributions of their items beyond the rates. Divided by
    \((G / (G - 1) \sum_g d_g^2)^{1/2}\), it is tested as a Student's t with G - 1 degrees of
    freedom.

    Args:
        hits: (N,) whether each item is a hit.
        inside: (N,) whether each item is selected.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        The p-value, in (0, 1]; 1 if all items or none are selected, or if there is one cluster.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the lengths differ.

    Example:
        Two of ten selected items are hits, and eight of the ten others.

        >>> hits, inside = [1, 1, *[0] * 8, *[1] * 8, 0, 0], [1] * 10 + [0] * 10
        >>> round(two_rates_p_value(hits, inside), 4)
        0.023
        >>> round(two_rates_p_value(hits, inside, clusters=[item // 2 for item in range(20)]), 4)
        0.051
    """
    flags = check_flags(hits, "hits")
    is_selected = check_flags(inside, "inside")
    n_items = check_same_length(hits=flags, inside=is_selected)
    codes = number_clusters(clusters, n_items)

    n_selected = int(is_selected.sum())
    n_remaining = n_items - n_selected
    if n_selected == 0 or n_remaining == 0:
        return 1.0
    selected_hits = int(flags[is_selected].sum())
    remaining_hits = int(flags[~is_selected].sum())
    if count_numbered_units(codes, n_items) == n_items:
        return _fisher_p_value(selected_hits, n_selected, remaining_hits, n_remaining)

    # How much each item changes the difference of the two rates.
    selected_rate = selected_hits / n_selected
    remaining_rate = remaining_hits / n_remaining
    contributions = np.where(
        is_selected,
        (flags - selected_rate) / n_selected,
        (remaining_rate - flags) / n_remaining,
    )
    units = sum_units(contributions, codes)
    return _test_difference_of_rates(selected_rate - remaining_rate, units)


def _fisher_p_value(
    first_hits: int,
    n_first: int,
    second_hits: int,
    n_second: int,
) -> float:
    """Return the two-sided p-value of Fisher's exact test that two groups have equal rates.

    Args:
        first_hits: Number of items of the first group with the event.
        n_first: Size of the first group.
        second_hits: Number of items of the second group with the event.
        n_second: Size of the second group.
    """
    table = [
        [first_hits, n_first - first_hits],
        [second_hits, n_second - second_hits],
    ]
    return float(scipy.stats.fisher_exact(np.array(table)).pvalue)


def _test_difference_of_rates(difference: float, units: UnitSums) -> float:
    """Test whether a difference of two rates is 0, by Student's t over clusters.

    Args:
        difference: The difference of the rates.
        units: Clusters; `sums` are their contributions, which add up to the difference.

    Returns:
        The two-sided p-value; 1 for a single cluster.
    """
    n_units = len(units)
    if n_units == 1 or difference == 0:
        return 1.0
    correction = n_units / (n_units - 1)
    spread = math.sqrt(correction * sum_squares(units.sums))
    # If all clusters contribute equally, there is no variance for Student's t. Random signs of G
    # clusters would all be equal in two of 2^G cases.
    if spread <= ROUNDING_TOLERANCE:
        return float(2.0 ** (1 - n_units))
    return _student_p_value(abs(difference) / spread, n_units - 1)


def _student_p_value(t: float, freedom: float) -> float:
    """Return the two-sided p-value of an absolute Student's t."""
    return float(2 * special.stdtr(freedom, -t))


# ------------------------------------------------------------------------------- several tests


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct the p-values of a family of tests by Holm's step-down method.

    The i-th smallest of K p-values becomes the maximum over j <= i of (K - j + 1) p_(j), at most 1.

    Args:
        p_values: (K,) p-values.

    Returns:
        (K,) corrected p-values.

    References:
        Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03]))
        array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    n_remaining_tests = np.arange(len(p_values), 0, -1)
    steps = p_values[order] * n_remaining_tests

    # A p-value is never corrected to less than that of a test which is more significant.
    increasing = np.maximum.accumulate(steps)
    corrected = np.empty_like(p_values, dtype=np.float64)
    corrected[order] = np.minimum(increasing, 1.0)
    return corrected

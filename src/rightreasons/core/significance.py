"""Tests over items and clusters of items."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, to_numpy
from rightreasons.core.clusters import sum_with_sizes
from rightreasons.core.intervals import (
    _ROUNDING_TOLERANCE,
    Interval,
    _parse_vector,
    bootstrap_mean,
    bounded_mean_interval,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_flags,
    check_same_length,
    check_vector,
)


@dataclasses.dataclass(frozen=True)
class PairedTest(Result):
    """A test whether two models differ on the same items.

    Attributes:
        difference: Figure of the first model minus figure of the second.
        p_value: Two-sided p-value of "no difference".
        n_items: Number of items.
        method: The test, in words.
        interval: Interval of the difference, where the test gives one.
    """

    difference: float
    p_value: float
    n_items: int
    method: str
    interval: Interval | None = None


def sign_flip_p_value(
    differences: Any, *, clusters: Any = None, resampling: Resampling = Resampling()
) -> float:
    """Test whether paired differences are symmetric around 0, by flipping their signs at random.

    The p-value is two-sided: the share of assignments of signs, the observed one among them, whose sum is at least as
    far from 0. Under the null it is at most uniform, whatever the distribution of the differences. The signs of a
    cluster are flipped together. (`scipy.stats.permutation_test` is the same, and takes some thirty times as long.)

    Args:
        differences: (N,) differences of pairs.
        clusters: (N,) names of the clusters that the pairs belong to; None for independent ones.
        resampling: Number of random assignments and their seed.

    Returns:
        The p-value, in (0, 1].

    References:
        Fisher (1935), The Design of Experiments, section 21.

    Example:
        >>> sign_flip_p_value([0.5] * 12) < 0.01, sign_flip_p_value([0.5, -0.5])
        (True, 1.0)
        >>> sign_flip_p_value([0.5] * 12, clusters=["a", "b"] * 6) > 0.4  # two clusters agree by chance in one half
        True
    """
    sums = sum_with_sizes(check_vector(differences, "differences"), clusters)[:, 0]
    moved = np.sort(sums[sums != 0])
    # Rounding must not tell apart sums that are equal, also where they are 0.
    observed = abs(float(moved.sum())) - _ROUNDING_TOLERANCE * float(np.abs(moved).sum())
    rng = np.random.default_rng([resampling.seed, 2])
    hits = 0
    for rounds in resampling.parts(len(moved)):
        signs = rng.integers(2, size=(rounds, len(moved)), dtype=np.int8) * np.int8(2) - np.int8(1)
        hits += int(np.count_nonzero(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (resampling.resamples + 1)


def mcnemar(first: Any, second: Any) -> PairedTest:
    r"""Test whether two models are right equally often on the same items: McNemar's test with the mid-p-value.

    Of the items on which exactly one model is right, b are the first's and c the second's; under "no difference" b is
    binomial with chance 1/2. The p-value is two-sided, and counts the observed outcome by half:

    \[ p = 2 P(X < \min(b, c)) + P(X = \min(b, c)), \quad X \sim \mathrm{Bin}(b + c, 1/2). \]

    The exact p-value, which counts it whole, rejects far less often than its level.

    Args:
        first: (N,) whether the first model is right.
        second: (N,) whether the second is, in the same order.

    Returns:
        The difference of the accuracies, (b - c) / N, with its p-value.

    References:
        McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions; Fagerland,
        Lydersen, Laake (2013), The McNemar Test for Binary Matched-pairs Data.

    Example:
        b = 5, c = 0: p = 1 / 2^5.

        >>> mcnemar([True] * 8, [False] * 5 + [True] * 3).p_value
        0.03125
    """
    flags_first, flags_second = check_flags(first, "first"), check_flags(second, "second")
    n_items = check_same_length(first=flags_first, second=flags_second)
    b, c = (
        int(np.count_nonzero(flags_first & ~flags_second)),
        int(np.count_nonzero(flags_second & ~flags_first)),
    )
    # Half of the two tails of at most min(b, c), and half of those of less.
    tails = special.bdtr(np.array([min(b, c), max(min(b, c) - 1, 0)]), b + c, 0.5) * (
        1.0,
        min(b, c) > 0,
    )
    p_value = float(tails.sum()) if b != c else 1.0
    return PairedTest((b - c) / n_items, p_value, n_items, "McNemar's mid-p test")


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

    Values at two known bounds alone, such as whether an answer is right, are tested by `mcnemar`, others, and those of
    clusters, by `sign_flip_p_value`. The interval of the difference is that of `bounded_mean_interval`, which never has the
    width zero; of values without bounds it is that of `bootstrap_mean`.

    Args:
        first: (N,) one value per item of the first model, in [low, high].
        second: (N,) the same of the second model, in the same order.
        low: Smallest possible value; None where there is none.
        high: Largest possible value; None where there is none.
        clusters: (N,) names of the clusters that the items belong to; None for independent items.
        resampling: Level of the interval; number of random signs and resamples and their seed.

    Returns:
        The difference of the means, first minus second, with its p-value and interval; None for the interval of values
        without bounds that all differ alike. It holds 0 where a p-value of values without bounds exceeds 1 - level.

    Raises:
        ValueError: If a value is out of bounds, or the models have different numbers of items.

    References:
        McNemar (1947); Fisher (1935), The Design of Experiments, section 21; Agresti, Min (2005).

    Example:
        b = 5, c = 0: p = 1 / 2^5; with an item at each bound the mean of the ten differences is 0.5.

        >>> test = compare_paired_means([1] * 8, [0] * 5 + [1] * 3)
        >>> test.difference, test.p_value, round(test.interval.low, 3)
        (0.625, 0.03125, 0.02)
    """
    values_first, values_second = (
        check_vector(_parse_vector(each, name), name, minimum=low, maximum=high)
        for each, name in ((first, "first"), (second, "second"))
    )
    n_items = check_same_length(first=values_first, second=values_second)
    differences = values_first - values_second
    difference, level = float(differences.mean()), resampling.level
    interval: Interval | None = None
    if low is not None and high is not None:
        ends = {"low": low - high, "high": high - low}
        interval = bounded_mean_interval(
            differences, **ends, confidence_level=level, clusters=clusters
        )
        if (
            clusters is None
            and np.isin(np.concatenate((values_first, values_second)), (low, high)).all()
        ):
            test = mcnemar(values_first == high, values_second == high)
            return dataclasses.replace(test, difference=difference, interval=interval)
    p_value = sign_flip_p_value(differences, clusters=clusters, resampling=resampling)
    if interval is None and np.ptp(differences) > _ROUNDING_TOLERANCE:
        interval = bootstrap_mean(differences, clusters=clusters, resampling=resampling)
        if p_value > 1 - level:
            interval = dataclasses.replace(
                interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0)
            )
    return PairedTest(difference, p_value, n_items, "sign flips of the differences", interval)


def poisson_binomial_p_value(successes: int, chances: Any, trials: Any = 1) -> float:
    """Test a number of successes of trials with different chances, two-sided and exact.

    The p-value is the probability of all counts that are no likelier than the observed one, as in the exact binomial
    test. It is that of `scipy.stats.poisson_binom`, which takes seconds for some thousand trials.

    Args:
        successes: Observed successes.
        chances: (G,) chance of each trial, or of each group of trials.
        trials: (G,) number of trials of each group; default 1.

    Returns:
        The p-value, in (0, 1].

    Example:
        >>> from scipy.stats import binomtest
        >>> exact = poisson_binomial_p_value(9, [0.5], [10])
        >>> bool(np.isclose(exact, binomtest(9, 10, 0.5).pvalue))
        True
    """
    from scipy import stats

    probabilities = np.asarray(chances, dtype=np.float64)
    counts = np.broadcast_to(np.asarray(trials, dtype=np.int64), probabilities.shape)
    distinct, group = np.unique(probabilities, return_inverse=True)
    pmf = np.ones(1)
    # Trials of one chance are a binomial; the counts of the groups add up by convolution.
    for chance, n in zip(
        distinct, np.bincount(group, counts).astype(np.int64).tolist(), strict=True
    ):
        pmf = np.convolve(
            pmf, np.asarray(stats.binom.pmf(np.arange(n + 1), n, chance), dtype=np.float64)
        )
    # The factor keeps symmetric counts together despite rounding.
    return float(min(1.0, pmf[pmf <= pmf[successes] * (1 + 1e-7)].sum()))


def compute_log_binomial(n: Any, k: Any) -> Floats:
    """Return the logarithm of the number of ways to choose k of n.

    Example:
        >>> round(float(np.exp(compute_log_binomial(5, 2))), 6)
        10.0
    """
    return np.asarray(
        special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1),
        dtype=np.float64,
    )


def chances_p_value(hits: Any, chances: Any, *, clusters: Any = None) -> float:
    r"""Test whether items hit as often as their chances say, two-sided.

    Independent items are tested exactly, by `poisson_binomial_p_value`. Of clusters, the sum of their hits less their
    chances \(d_g\) is tested by \(\sum_g d_g / (\sum_g d_g^2)^{1/2}\), as a Student's t of G - 1 degrees of freedom.

    Args:
        hits: (N,) whether each item hit.
        chances: (N,) its chance to.
        clusters: (N,) names of the clusters that the items belong to; None for independent items.

    Returns:
        The p-value, in (0, 1]; 1 for a single cluster, which tells nothing.

    Example:
        Nine of ten hit at a chance of one half; but they are two of two clusters.

        >>> hits = [1] * 9 + [0]
        >>> round(chances_p_value(hits, [0.5] * 10), 4)
        0.0215
        >>> chances_p_value(hits, [0.5] * 10, clusters=[0, 1] * 5) > 0.1
        True
    """
    flags, expected = (
        check_flags(hits, "hits"),
        check_vector(chances, "chances", minimum=0.0, maximum=1.0),
    )
    check_same_length(hits=flags, chances=expected)
    if clusters is None or len(set(to_numpy(clusters, "clusters").tolist())) == len(flags):
        return poisson_binomial_p_value(int(flags.sum()), expected)
    sums = sum_with_sizes(flags - expected, clusters)[:, 0]
    spread = float(np.sqrt((sums**2).sum()))
    if len(sums) == 1 or spread <= _ROUNDING_TOLERANCE:
        return 1.0
    return float(2 * special.stdtr(len(sums) - 1, -abs(float(sums.sum())) / spread))


def two_rates_p_value(hits: Any, inside: Any, *, clusters: Any = None) -> float:
    r"""Test whether some items hit as often as the others, two-sided.

    Independent items are tested by Fisher's exact test. Of clusters, the difference of the two rates is the sum over
    clusters of \(d_g\), what their items add to it beyond the rates, and is divided by
    \((G / (G - 1) \sum_g d_g^2)^{1/2}\), as a Student's t of G - 1 degrees of freedom.

    Args:
        hits: (N,) whether each item hit.
        inside: (N,) whether it is one of the items that are compared with the others.
        clusters: (N,) names of the clusters that the items belong to; None for independent items.

    Returns:
        The p-value, in (0, 1]; 1 where all items are on one side, or in one cluster.

    Example:
        Two of ten hit, and eight of the ten others.

        >>> hits, inside = [1, 1, *[0] * 8, *[1] * 8, 0, 0], [1] * 10 + [0] * 10
        >>> round(two_rates_p_value(hits, inside), 4)
        0.023
        >>> round(two_rates_p_value(hits, inside, clusters=[item // 2 for item in range(20)]), 4)
        0.051
    """
    from scipy import stats

    flags, chosen = check_flags(hits, "hits"), check_flags(inside, "inside").astype(np.bool_)
    n_items = check_same_length(hits=flags, inside=chosen)
    n_inside = int(chosen.sum())
    if not 0 < n_inside < n_items:
        return 1.0
    in_hits, out_hits = int(flags[chosen].sum()), int(flags[~chosen].sum())
    if clusters is None or len(set(to_numpy(clusters, "clusters").tolist())) == n_items:
        table = [[in_hits, n_inside - in_hits], [out_hits, n_items - n_inside - out_hits]]
        return float(stats.fisher_exact(np.array(table)).pvalue)
    first, second = in_hits / n_inside, out_hits / (n_items - n_inside)
    beyond = np.where(chosen, (flags - first) / n_inside, (second - flags) / (n_items - n_inside))
    sums = sum_with_sizes(beyond, clusters)[:, 0]
    if len(sums) == 1 or first == second:
        return 1.0
    spread = float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()))
    # Where all clusters differ alike, signs that are drawn at random are all alike in two of 2^G cases.
    return (
        2.0 ** (1 - len(sums))
        if spread <= _ROUNDING_TOLERANCE
        else float(2 * special.stdtr(len(sums) - 1, -abs(first - second) / spread))
    )


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values of a family by Holm's step-down method; (K,) to (K,).

    The i-th smallest of K becomes max over j <= i of (K - j + 1) p_(j), at most 1.

    References:
        Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03]))
        array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values, dtype=np.float64)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected

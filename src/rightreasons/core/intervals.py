"""Intervals and paired tests over items and over clusters of items that belong together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from rightreasons.core.arrays import as_floats, to_numpy
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_number,
    check_one_of,
    check_same_length,
    check_vector,
)

Floats = NDArray[np.float64]

METHODS = ("percentile", "basic")

MAX_UNITS = 5_000
"""Above this number, units (items or clusters) are pooled into this many random groups and the groups are resampled.

The variance of a resampled sum is then itself estimated from this many groups, so that the width of an interval is
right to 1 / sqrt(2 * 5000) = 1 %, far inside the width's own sampling error on fewer items.
"""

FEW = 10
"""With fewer values than this, resampling does not show how far off their mean may be."""

_TINY = 1e-12
"""Values that differ by no more than this, by rounding, count as equal."""


@dataclasses.dataclass(frozen=True)
class Interval(Result):
    """A confidence interval.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        confidence_level: The share of such intervals that should cover the truth, such as 0.95.
        method: How it was made.
        n_resamples: How many resamples it rests on; None where it has a closed form.
    """

    low: float
    high: float
    confidence_level: float
    method: str
    n_resamples: int | None = None


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


def wilson(successes: int, n_items: int, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the Wilson score interval of a share.

    \[ \frac{\hat p + z^2/2n \pm z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n} \]

    Args:
        successes: Number of successes, from 0 to `n_items`.
        n_items: Number of independent items.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [0, 1].

    References:
        Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference.

    Example:
        >>> interval = wilson(8, 10)
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.4902, 0.9433)
    """
    n = check_count(n_items, "n_items")
    k = check_count(successes, "successes", minimum=0)
    if k > n:
        raise ValueError(f"Expected `successes` to be at most `n_items`, but got {k} of {n}.")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    return _wilson(k / n, n, level, "Wilson score")


def cluster_wilson(successes: Any, sizes: Any, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the Wilson interval of a share of items that come in clusters, by their effective number.

    The share \(\hat p = \sum_g k_g / M\), with \(M = \sum_g m_g\) items in G clusters, has the variance

    \[ v = \frac{G}{G - 1} \sum_g \frac{(k_g - \hat p m_g)^2}{M^2}, \quad n^* = \frac{\hat p (1 - \hat p)}{v}, \]

    and n* takes the place of the number of items. It is limited to the range from \(M^2 / \sum_g m_g^2\), where the
    items of a cluster always agree, to M, where they are independent; where the share is 0 or 1, which gives no v, it
    is the former. So the width is never zero, and clusters of one item each give the plain Wilson interval.

    Args:
        successes: (G,) number of successes in each cluster.
        sizes: (G,) number of items in each cluster, at least 1.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [0, 1].

    Raises:
        ValueError: If the lengths differ, a size is not positive, or a cluster has more successes than items.

    References:
        Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive Counts
        Estimated from Survey Data; Dean, Pagano (2015), Evaluating Confidence Interval Methods for Binomial Proportions
        in Clustered Surveys.

    Example:
        Three clusters that are wholly right or wholly wrong count as three items.

        >>> interval = cluster_wilson([4, 4, 0], [4, 4, 4])
        >>> interval == dataclasses.replace(wilson(2, 3), method=interval.method)
        True
    """
    counts, items, n_clusters, level = _check_counts(successes, sizes, confidence_level, "cluster")
    total = float(items.sum())
    share = float(counts.sum() / total)
    effective = total**2 / float((items**2).sum())
    if n_clusters > 1 and 0 < share < 1:
        variance = n_clusters / (n_clusters - 1) * float(((counts - share * items) ** 2).sum()) / total**2
        effective = max(effective, min(total, share * (1 - share) / variance if variance else total))
    return _wilson(share, effective, level, "Wilson score by the effective number of items")


def stratified_wilson(successes: Any, sizes: Any, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the interval of the mean of the shares of strata, each stratum with a weight of one.

    With shares \(p_f = k_f / n_f\) of F strata and their mean \(\hat p\), it is the Wilson interval of \(\hat p\) for
    the effective number of items

    \[ n^* = \hat p (1 - \hat p) / v, \quad v = \frac1{F^2} \sum_f \frac{\tilde p_f (1 - \tilde p_f)}{n_f}, \quad
       \tilde p_f = \frac{k_f + 1/2}{n_f + 1}, \]

    where the mean is 0 or 1, which gives no n*, for \(F^2 / \sum_f 1/n_f\). So strata that are wholly right or wholly
    wrong, also those of one item, leave an interval of positive width.

    Args:
        successes: (F,) number of successes in each stratum.
        sizes: (F,) number of items in each stratum, at least 1.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [0, 1].

    Raises:
        ValueError: If the lengths differ, a size is not positive, or a stratum has more successes than items.

    References:
        Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive Counts
        Estimated from Survey Data; the shares of the variance are Jeffreys' estimates.

    Example:
        >>> interval = stratified_wilson([1, 0, 1], [1, 1, 1])
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.23, 0.931)
    """
    counts, items, n_strata, level = _check_counts(successes, sizes, confidence_level, "stratum")
    share = float((counts / items).mean())
    effective = n_strata**2 / float((1 / items).sum())
    if 0 < share < 1:
        smoothed = (counts + 0.5) / (items + 1)
        effective = share * (1 - share) * n_strata**2 / float((smoothed * (1 - smoothed) / items).sum())
    return _wilson(share, effective, level, "Wilson score by the effective number of items of the strata")


def bounded_mean(values: Any, *, low: float, high: float, confidence_level: float = 0.95) -> Interval:
    r"""Compute the interval of a mean of bounded values by Student's t after adding one item at each bound.

    \[ \tilde m \pm t_{n+1} \sqrt{\tilde v / (n + 2)} \]

    with the mean and the mean square deviation of the n values, `low` and `high`. The two items keep the width positive
    where all values agree. Over independent values its coverage is at least nominal to about one point (simulated:
    docs/validity.md), at the price of width below about ten values.

    Args:
        values: (n,) independent values in [low, high]; differences of two flags or two shares lie in [-1, 1].
        low: Smallest possible value.
        high: Largest possible value.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [low, high].

    Raises:
        ValueError: If there are no values or one lies outside.

    References:
        Agresti, Min (2005), Simple Improved Confidence Intervals for Comparing Matched Proportions.

    Example:
        (1 + 1 + 0 + 1 - 1) / 5 = 0.4 with the bounds; the mean square deviation is 4/5 - 0.16 = 0.64.

        >>> interval = bounded_mean([1, 1, 0], low=-1, high=1)
        >>> round(interval.low, 3), interval.high
        (-0.593, 1.0)
    """
    checked = check_vector(values, "values", minimum=low, maximum=high)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    items = np.append(checked, (low, high))
    quantile = float(special.stdtrit(len(items) - 1, 0.5 + level / 2))
    center, half = float(items.mean()), quantile * float(items.std()) / float(np.sqrt(len(items)))
    return Interval(
        max(float(low), center - half), min(float(high), center + half), level, "Student's t with an item at each bound"
    )


def mann_whitney(auroc: float, n_first: int, n_second: int, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the interval of an AUROC, the chance that an item of the first kind ranks above one of the second.

    \[ (\theta - \hat\theta)^2 = z^2 \frac{\theta (1 - \theta)}{mn}
        \left(1 + (n^* - 1) \left(\frac{1 - \theta}{2 - \theta} + \frac{\theta}{1 + \theta}\right)\right) \]

    with m and n items of the kinds and \(n^* = (m + n) / 2\), solved for \(\theta\): the variance is that of the end,
    not of the estimate, so the interval has a width where all items of one kind rank above all of the other.

    Args:
        auroc: The estimate, in [0, 1]; equal ranks count one half.
        n_first: Items of the first kind.
        n_second: Items of the second.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [0, 1].

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value is out of its range.

    References:
        Newcombe (2006), Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney Statistic. Part 2,
        method 5.

    Example:
        >>> interval = mann_whitney(1.0, 20, 20)
        >>> 0.85 < interval.low < 0.9, interval.high
        (True, 1.0)
    """
    estimate = check_number(auroc, "auroc", minimum=0.0, maximum=1.0)
    pairs = check_count(n_first, "n_first") * check_count(n_second, "n_second")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    z, mean_size = float(special.ndtri(0.5 + level / 2)), (n_first + n_second) / 2

    def beyond(end: float) -> float:
        variance = end * (1 - end) * (1 + (mean_size - 1) * ((1 - end) / (2 - end) + end / (1 + end))) / pairs
        return (end - estimate) ** 2 - z**2 * variance

    # At 0 and 1 themselves the variance is 0: the other end begins beside them.
    low = 0.0 if estimate == 0 else float(optimize.brentq(beyond, 0.0, min(estimate, 1.0 - 1e-12)))
    high = 1.0 if estimate == 1 else float(optimize.brentq(beyond, max(estimate, 1e-12), 1.0))
    return Interval(low, high, level, "Newcombe's of the Mann-Whitney statistic")


def sign_flip_p_value(differences: Any, *, resampling: Resampling = Resampling()) -> float:
    """Test whether paired differences are symmetric around 0, by flipping their signs at random.

    The p-value is two-sided: the share of assignments of signs, the observed one among them, whose sum is at least as
    far from 0. Under the null it is at most uniform, whatever the distribution of the differences.

    Args:
        differences: (n,) independent differences of pairs.
        resampling: Number of random assignments and their seed.

    Returns:
        The p-value, in (0, 1].

    References:
        Fisher (1935), The Design of Experiments, section 21.

    Example:
        >>> sign_flip_p_value([0.5] * 12) < 0.01, sign_flip_p_value([0.5, -0.5])
        (True, 1.0)
    """
    checked = check_vector(differences, "differences")
    moved = checked[checked != 0]
    # Rounding must not tell apart sums that are equal, also where they are 0.
    observed = abs(float(moved.sum())) - _TINY * float(np.abs(moved).sum())
    rng = np.random.default_rng([resampling.seed, 2])
    hits = 0
    for rounds in resampling.parts(len(moved)):
        signs = rng.integers(2, size=(rounds, len(moved)), dtype=np.int8) * np.int8(2) - np.int8(1)
        hits += int(np.count_nonzero(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (resampling.resamples + 1)


def quantile_interval(
    resamples: Floats, level: float, *, mirrored_at: float | None = None, method: str | None = None
) -> Interval:
    r"""Make an interval of the resampled values of a figure, from their quantiles at \((1 \pm level) / 2\).

    Args:
        resamples: (R,) values of the figure, all finite.
        level: Confidence level.
        mirrored_at: The figure's own value θ̂ for a basic bootstrap, whose ends are 2 θ̂ minus the quantiles; None for a
            percentile bootstrap.
        method: How the interval was made, in words; default "percentile bootstrap" or "basic bootstrap".

    Returns:
        The interval.

    References:
        Davison, Hinkley (1997), Bootstrap Methods and their Application, section 5.2.

    Example:
        >>> values = np.array([0.0, 1.0, 1.0, 4.0, 9.0])
        >>> quantile_interval(values, 0.5).low, quantile_interval(values, 0.5).high
        (1.0, 4.0)
        >>> quantile_interval(values, 0.5, mirrored_at=2.0).low, quantile_interval(values, 0.5, mirrored_at=2.0).high
        (0.0, 3.0)
    """
    low, high = np.quantile(resamples, ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
    if mirrored_at is not None:
        low, high = 2.0 * mirrored_at - high, 2.0 * mirrored_at - low
    words = method or ("percentile bootstrap" if mirrored_at is None else "basic bootstrap")
    return Interval(float(low), float(high), level, words, len(resamples))


def bootstrap_mean(
    values: Any,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of a mean.

    Args:
        values: (N,) one value per item; True and False count as 1 and 0.
        bounds: Smallest and largest possible value of independent items. With them the interval of fewer than `FEW`
            values, or of equal ones, is that of `bounded_mean`, as resampling does not show how far off their mean may
            be. None (default) always resamples: the interval of equal values then has the width zero, and says nothing.
        clusters: (N,) names of the clusters that the items belong to; whole clusters are resampled. None for
            independent items.
        resampling: Level, number of resamples and seed.
        method: "percentile" or "basic" (2 θ̂ - θ*).

    Returns:
        The interval.

    References:
        Efron, Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 14.

    Example:
        >>> interval = bootstrap_mean([0, 1, 1, 1, 0, 1, 1, 1])
        >>> interval.low, interval.high
        (0.375, 1.0)
        >>> bootstrap_mean([1] * 20, bounds=(0, 1)).low < 0.9
        True
    """
    checked = _vector(values, "values")
    if bounds is not None and clusters is None and (len(checked) < FEW or np.ptp(checked) <= _TINY):
        low, high = bounds
        inside = np.clip(checked, low, high)  # rounding may carry a value beyond a bound
        return bounded_mean(inside, low=low, high=high, confidence_level=resampling.level)
    return bootstrap_sums(
        _mean_of_sums,
        np.column_stack((checked, np.ones(len(checked)))),
        clusters=clusters,
        resampling=resampling,
        method=method,
    )


def bootstrap_sums(
    statistic: Callable[[Floats], Any],
    values: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of any figure that is a function of sums over items; all resamples at once.

    Args:
        statistic: Maps (..., S) sums to (...) figures; NaN where the figure is undefined, such resamples are excluded.
        values: (N, S) what each item adds to the S sums.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.
        method: "percentile" or "basic".

    Returns:
        The interval; `n_resamples` is the number of resamples in which the figure was defined.

    Raises:
        ValueError: If the figure is undefined for the items themselves or for every resample.

    Example:
        Precision is hits / predictions: two sums.

        >>> hits, predicted = [1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]
        >>> precision = lambda sums: sums[..., 0] / sums[..., 1]
        >>> bootstrap_sums(precision, np.column_stack((hits, predicted)), resampling=Resampling(seed=1)).high
        1.0
    """
    check_one_of(method, METHODS, "method")
    table = _table(values)
    units = _cluster_sums(table, clusters, np.random.default_rng(resampling.seed))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.asarray(statistic(table.sum(axis=0))))
        resamples = [np.atleast_1d(statistic(weights @ units)) for weights in _weights(resampling, len(units))]
    return _defined_interval(estimate, np.concatenate(resamples), resampling.level, method)


def bootstrap(
    statistic: Callable[..., float | None],
    *columns: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of any figure; recomputed on every resample, so prefer `bootstrap_sums`.

    Args:
        statistic: Takes the columns, resampled, and returns a number, or None where it is undefined.
        *columns: Arrays of N items along their first axis, resampled together.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.
        method: "percentile" or "basic".

    Returns:
        The interval.

    Example:
        >>> interval = bootstrap(lambda x: float(np.median(x)), [1.0, 2.0, 3.0, 4.0, 100.0])
        >>> interval.low, interval.high
        (1.0, 100.0)
    """
    check_one_of(method, METHODS, "method")
    arrays, n_items = _columns(columns)
    members = _members(clusters, n_items)
    n_units = len(members) if members else n_items
    rng = np.random.default_rng(resampling.seed)
    resamples = []
    for _ in range(resampling.resamples):
        units = rng.integers(n_units, size=n_units)
        rows = np.concatenate([members[unit] for unit in units]) if members else units
        resamples.append(_number(statistic(*(array[rows] for array in arrays))))
    return _defined_interval(_number(statistic(*arrays)), np.array(resamples), resampling.level, method)


def paired_bootstrap(
    first: Any,
    second: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> PairedTest:
    r"""Test whether two models have the same mean on the same items, by resampling the items' differences.

    The p-value is that of the percentile interval: twice the smaller share of resampled differences on one side of 0,
    with one added to both counts, so that it is never 0. Few items cannot tell by resampling: the p-value of m items
    (or clusters) that differ is at least \(2^{1 - m}\), that of all of them differing in one direction by chance.

    Args:
        first: (N,) one value per item of the first model, such as whether it is right.
        second: (N,) the same of the second model, in the same order.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.

    Returns:
        The difference of the means with its p-value and percentile interval, which holds 0 where the p-value exceeds
        1 - level; None for the interval where no resample differs, as with one item, or equal differences.

    References:
        Efron, Tibshirani (1993), An Introduction to the Bootstrap, section 16.4.

    Example:
        Three items differ, all in favor of the first: p = 2 / 2^3.

        >>> test = paired_bootstrap([1, 1, 1, 1, 0, 1], [0, 1, 0, 1, 0, 0])
        >>> test.difference, test.p_value, test.interval.low, test.interval.high
        (0.5, 0.25, 0.0, 0.8333333333333334)
    """
    differences = _differences(first, second)
    sums = np.column_stack((differences, np.ones(len(differences))))
    units = _cluster_sums(sums, clusters, np.random.default_rng(resampling.seed))
    resamples = np.concatenate([_mean_of_sums(weights @ units) for weights in _weights(resampling, len(units))])
    tail = min(np.count_nonzero(resamples <= 0), np.count_nonzero(resamples >= 0))
    least = 0.5 ** (np.count_nonzero(units[:, 0]) - 1)
    p_value = float(min(1.0, max(2 * (tail + 1) / (len(resamples) + 1), least)))
    interval = quantile_interval(resamples, resampling.level) if np.ptp(resamples) > _TINY else None
    if interval is not None and p_value > 1 - resampling.level:
        interval = dataclasses.replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))
    return PairedTest(
        float(differences.mean()), p_value, len(differences), "paired bootstrap of the mean difference", interval
    )


def mcnemar(first: Any, second: Any) -> PairedTest:
    r"""Test whether two models are right equally often on the same items: the exact McNemar test.

    Of the items on which exactly one model is right, b are the first's and c the second's; under "no difference" b is
    binomial with chance 1/2. The p-value is two-sided and exact.

    Args:
        first: (N,) whether the first model is right.
        second: (N,) whether the second is, in the same order.

    Returns:
        The difference of the accuracies, (b - c) / N, with its p-value.

    References:
        McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions.

    Example:
        b = 5, c = 0: p = 2 / 2^5.

        >>> mcnemar([True] * 8, [False] * 5 + [True] * 3).p_value
        0.0625
    """
    one, two = check_flags(first, "first"), check_flags(second, "second")
    n_items = check_same_length(first=one, second=two)
    b, c = int(np.count_nonzero(one & ~two)), int(np.count_nonzero(two & ~one))
    from scipy import stats  # loads slowly, and few figures need it

    p_value = float(stats.binomtest(b, b + c, 0.5).pvalue) if b + c else 1.0
    return PairedTest((b - c) / n_items, p_value, n_items, "exact McNemar test")


def paired_means(
    first: Any, second: Any, *, low: float = 0.0, high: float = 1.0, resampling: Resampling = Resampling()
) -> PairedTest:
    """Test whether two models have the same mean on the same items, of values with known bounds.

    Values at the two bounds alone, such as whether an answer is right, are tested by the exact McNemar test, others by
    `sign_flip_p_value`. The interval is that of `bounded_mean` of the differences, which never has the width zero.

    Args:
        first: (N,) one value per item of the first model, in [low, high].
        second: (N,) the same of the second model, in the same order.
        low: Smallest possible value.
        high: Largest possible value.
        resampling: Level of the interval; number of random signs and their seed.

    Returns:
        The difference of the means, first minus second, with its p-value and interval.

    Raises:
        ValueError: If a value is out of bounds, or the models have different numbers of items.

    References:
        McNemar (1947); Fisher (1935), The Design of Experiments, section 21; Agresti, Min (2005).

    Example:
        b = 5, c = 0: p = 2 / 2^5; with an item at each bound the mean of the ten differences is 0.5.

        >>> test = paired_means([1] * 8, [0] * 5 + [1] * 3)
        >>> test.difference, test.p_value, round(test.interval.low, 3)
        (0.625, 0.0625, 0.02)
    """
    one, two = (
        check_vector(_vector(each, name), name, minimum=low, maximum=high)
        for each, name in ((first, "first"), (second, "second"))
    )
    differences = _differences(one, two)
    interval = bounded_mean(differences, low=low - high, high=high - low, confidence_level=resampling.level)
    if np.isin(np.concatenate((one, two)), (low, high)).all():
        return dataclasses.replace(
            mcnemar(one == high, two == high), difference=float(differences.mean()), interval=interval
        )
    return PairedTest(
        float(differences.mean()),
        sign_flip_p_value(differences, resampling=resampling),
        len(differences),
        "sign flips of the differences",
        interval,
    )


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
    if distinct.tolist() == [0.5]:  # both tails are alike
        n = int(counts.sum())
        return float(min(1.0, 2 * special.bdtr(min(successes, n - successes), n, 0.5)))
    pmf = np.ones(1)
    # Trials of one chance are a binomial; the counts of the groups add up by convolution.
    for chance, n in zip(distinct, np.bincount(group, counts).astype(np.int64).tolist(), strict=True):
        pmf = np.convolve(pmf, np.asarray(stats.binom.pmf(np.arange(n + 1), n, chance), dtype=np.float64))
    # The factor keeps symmetric counts together despite rounding.
    return float(min(1.0, pmf[pmf <= pmf[successes] * (1 + 1e-7)].sum()))


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


# ------------------------------------------------------------------------------------------------------------- private


def _check_counts(successes: Any, sizes: Any, confidence_level: float, group: str) -> tuple[Floats, Floats, int, float]:
    counts, items = check_vector(successes, "successes", minimum=0), check_vector(sizes, "sizes", minimum=1)
    n_groups = check_same_length(successes=counts, sizes=items)
    if (counts > items).any():
        row = int(np.flatnonzero(counts > items)[0])
        raise ValueError(
            f"Expected `successes` to be at most `sizes`, but {group} {row} has {counts[row]:g} of {items[row]:g}."
        )
    return counts, items, n_groups, check_fraction(confidence_level, "confidence_level", open_ends=True)


def wilson_ends(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the ends of the Wilson interval of a share of n items, not necessarily a whole number.

    At 0 and 1 one end is exactly that, despite rounding.
    """
    z = quantile
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if share == 0 else float(max(center - half, 0.0)), 1.0 if share == 1 else float(min(center + half, 1.0))


def _wilson(share: float, n: float, level: float, method: str) -> Interval:
    return Interval(*wilson_ends(share, n, float(special.ndtri(0.5 + level / 2))), level, method)


def _weights(resampling: Resampling, n_units: int) -> Iterator[Floats]:
    """Yield (r, n_units) numbers of times that each unit is drawn, until there are enough rows."""
    rng = np.random.default_rng([resampling.seed, 1])
    shares = np.full(n_units, 1.0 / n_units)
    for rounds in resampling.parts(n_units):
        yield rng.multinomial(n_units, shares, size=rounds).astype(np.float64)


def _defined_interval(estimate: float, resamples: Floats, level: float, method: str) -> Interval:
    defined = resamples[np.isfinite(resamples)]
    if not np.isfinite(estimate) or not defined.size:
        raise ValueError("Expected a figure that is defined for the items, but it is undefined.")
    return quantile_interval(defined, level, mirrored_at=estimate if method == "basic" else None)


def _mean_of_sums(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)


def _vector(values: Any, name: str) -> Floats:
    """Check a vector of numbers, or of True and False, which count as 1 and 0."""
    array = to_numpy(values, name)
    return check_vector(array.astype(np.float64) if array.dtype.kind == "b" else array, name)


def _table(values: Any) -> Floats:
    table = as_floats(values, "values")
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"Expected `values` of shape (N, S) with at least one item, but got shape {table.shape}.")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"Expected finite numbers in `values`, but row {row} holds another.")
    return table


def _columns(columns: tuple[Any, ...]) -> tuple[list[NDArray[Any]], int]:
    arrays = [to_numpy(column, f"column {number}") for number, column in enumerate(columns, start=1)]
    if not arrays or any(array.ndim == 0 or len(array) == 0 for array in arrays):
        raise ValueError("Expected columns of at least one item, but one is empty.")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"Expected columns of one length, but got {', '.join(map(str, lengths))}.")
    return arrays, lengths[0]


def _differences(first: Any, second: Any) -> Floats:
    one, two = _vector(first, "first"), _vector(second, "second")
    check_same_length(first=one, second=two)
    return np.asarray(one - two, dtype=np.float64)


def _cluster_codes(clusters: Any, n_items: int) -> NDArray[np.intp] | None:
    if clusters is None:
        return None
    names = to_numpy(clusters, "clusters")
    if names.ndim != 1 or len(names) != n_items:
        raise ValueError(f"Expected `clusters` to name the cluster of each of {n_items} items, but got {len(names)}.")
    if names.dtype == object:
        names = names.astype(np.str_)
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def _cluster_sums(table: Floats, clusters: Any, rng: np.random.Generator | None) -> Floats:
    """Sum the rows of each cluster; with `rng`, put units beyond `MAX_UNITS` into random groups."""
    codes = _cluster_codes(clusters, len(table))
    units = table if codes is None else _sum_by(codes, table)
    if rng is None or len(units) <= MAX_UNITS:
        return units
    return _sum_by(rng.integers(MAX_UNITS, size=len(units)), units, MAX_UNITS)


def _sum_by(codes: NDArray[np.intp], table: Floats, n_groups: int = 0) -> Floats:
    return np.stack([np.bincount(codes, column, minlength=n_groups) for column in table.T], axis=1)


def _members(clusters: Any, n_items: int) -> list[NDArray[np.intp]] | None:
    codes = _cluster_codes(clusters, n_items)
    if codes is None:
        return None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)


# ------------------------------ Figures with their intervals, and the text that goes with a figure wherever it is shown


@dataclasses.dataclass(frozen=True)
class Estimate(Result):
    """A figure with its interval.

    Attributes:
        value: The figure; None where it is undefined.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval; None where there is none.
        level: Confidence level of the interval.
        method: How the interval was made, in words; without an interval, why there is none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"Expected both ends of an interval or neither, but got {self.low} and {self.high}.")

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None


@dataclasses.dataclass(frozen=True)
class FigureText:
    """The text that goes with a figure wherever it is shown.

    Attributes:
        name: Its name.
        definition: One sentence from which a reader can recompute it.
        source: Authors and year, or "Counted".
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: Whether "higher" or "lower" is better; None where neither is.
    """

    name: str
    definition: str
    source: str
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None


def estimate_of(value: float | None, interval: Interval | None) -> Estimate:
    """Join a figure and its interval, if it has one.

    An interval of width zero is none: where no resample differs, resampling does not show how little is known.
    """
    if value is None or interval is None:
        return Estimate(value)
    # Rounding alone may tell the ends apart.
    if interval.high - interval.low <= 1e-9 * max(abs(interval.low), abs(interval.high)):
        return Estimate(value, method="no resample differs, so without interval")
    resamples = f", {interval.n_resamples:,} resamples" if interval.n_resamples else ""
    return Estimate(value, interval.low, interval.high, interval.confidence_level, interval.method + resamples)


def share(hits: int, n_items: int, resampling: Resampling) -> Estimate | None:
    """Return the share of items that hit, with its Wilson interval; None without items.

    Example:
        >>> estimate = share(8, 10, Resampling())
        >>> estimate.value, round(estimate.low, 4), round(estimate.high, 4)
        (0.8, 0.4902, 0.9433)
    """
    if not n_items:
        return None
    return estimate_of(hits / n_items, wilson(hits, n_items, confidence_level=resampling.level))


def mean(values: Any, resampling: Resampling, *, bounds: tuple[float, float] | None = None) -> Estimate | None:
    """Return the mean of values (N,) with its bootstrap interval; None without values.

    Args:
        values: (N,) values.
        resampling: Level, resamples and seed.
        bounds: As in `bootstrap_mean`: what the interval of few or equal values rests on; None where there are none.

    Example:
        >>> estimate = mean([0.0, 1.0, 1.0, 1.0], Resampling())
        >>> estimate.value, estimate.low, estimate.high
        (0.75, 0.25, 1.0)
    """
    if not len(values):
        return None
    interval = bootstrap_mean(values, bounds=bounds, resampling=resampling)
    return estimate_of(float(np.mean(values)), interval)

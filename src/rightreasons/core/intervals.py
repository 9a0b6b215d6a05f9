"""Intervals and tests over items, and over clusters of items that belong together.

Six kinds of intervals: Wilson's of a share (`wilson`, `cluster_wilson`, `stratified_wilson`), Student's t of a bounded
mean (`bounded_mean`), the bootstrap of any figure (`bootstrap_sums`, `bootstrap`), its jackknife (`jackknife`),
DeLong's of an AUROC (`delong`), and that of the calibration error, beside it. Clusters are the units of all.

And one way from a figure with its interval to a verdict: a question names a margin, and whether its figure is small,
large or unknown beside it follows from the interval alone, by two one-sided tests, each at half of the interval's
error. A question that makes several tests widens its intervals with `Resampling.of_family`, so that its verdict as a
whole keeps the level.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Result, as_floats, in_order, to_numpy
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.errors import counted
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_kind,
    check_same_length,
    check_vector,
)

Floats = NDArray[np.float64]

MAX_UNITS = 5_000
"""Above this number, units (items or clusters) are pooled into this many random groups and the groups are resampled.

The variance of a resampled sum is then itself estimated from this many groups, so that the width of an interval is
right to 1 / sqrt(2 * 5000) = 1 %, far inside the width's own sampling error on fewer items.
"""

MAX_LEFT_OUT = 200
"""Groups of units that a bootstrap of any figure leaves out one after the other."""

LARGE, N_GROUPS = 20_000, 40
"""With more units than the first, any figure is computed of so many random groups of them, and not of resamples."""

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


def cluster_wilson(
    successes: Any, sizes: Any, *, confidence_level: float = 0.95, n_items: int | None = None
) -> Interval:
    r"""Compute the Wilson interval of a share of items that come in clusters, by their effective number.

    The share \(\hat p = \sum_g k_g / M\), with \(M = \sum_g m_g\) items in G clusters, has the variance

    \[ v = \frac{G}{G - 1} \sum_g \frac{(k_g - \hat p m_g)^2}{M^2}, \quad
       n^* = \frac{\hat p (1 - \hat p)}{v} \left(\frac{t_{M - 1}}{t_{G - 1}}\right)^2, \]

    and n* takes the place of the number of items; the quantiles t tell how little a few clusters show of v. Before
    them, n* is limited to the range from \(M^2 / \sum_g m_g^2\), where the items of a cluster always agree, to M, where
    they are independent; where the share is 0 or 1, which gives no v, it is the former. So the width is never zero, and
    clusters of one item each give the plain Wilson interval.

    Args:
        successes: (G,) number of successes in each cluster.
        sizes: (G,) number of items in each cluster, or the sum of their weights; above 0.
        confidence_level: Such as 0.95.
        n_items: Number of items where they are weighted; None (default) for the sum of the sizes.

    Returns:
        The interval, inside [0, 1].

    Raises:
        ValueError: If the lengths differ, a size is not positive, or a cluster has more successes than items.

    References:
        Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive Counts
        Estimated from Survey Data; Dean, Pagano (2015), Evaluating Confidence Interval Methods for Binomial Proportions
        in Clustered Surveys.

    Example:
        Three clusters that are wholly right count as three items.

        >>> interval = cluster_wilson([4, 4, 4], [4, 4, 4])
        >>> interval == dataclasses.replace(wilson(3, 3), method=interval.method)
        True
    """
    counts, items, n_clusters, level = _check_counts(successes, sizes, confidence_level, "cluster")
    total = float(items.sum())
    share = float(counts.sum() / total)
    effective = total**2 / float((items**2).sum())
    if n_clusters > 1 and 0 < share < 1:
        variance = (
            n_clusters / (n_clusters - 1) * float(((counts - share * items) ** 2).sum()) / total**2
        )
        most = n_items or total
        effective = max(effective, min(most, share * (1 - share) / variance if variance else most))
        effective *= (_student(most - 1, level) / _student(n_clusters - 1, level)) ** 2
    return _wilson(share, effective, level, "Wilson score by the effective number of items")


def stratified_wilson(successes: Any, sizes: Any, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the interval of the mean of the shares of strata, each stratum with a weight of one.

    With shares \(p_f = k_f / n_f\) of F strata and their mean \(\hat p\), it is the Wilson interval of \(\hat p\) for
    the effective number of items

    \[ n^* = \hat p (1 - \hat p) / v, \quad v = \frac1{F^2} \sum_f \frac{d_f}{2 n_f}, \quad
       d_f = \frac{(n_f - 1) \hat d_f + \bar d}{n_f}, \quad \hat d_f = \frac{2 p_f (1 - p_f) n_f}{n_f - 1}, \]

    where \(d_f\) is the chance that two items of a stratum differ. Its mean \(\bar d\) is that of the strata of two
    items or more and of one further stratum, in which it is \(2 \tilde p (1 - \tilde p)\), with
    \(\tilde p = (F \hat p + 1/2) / (F + 1)\). Where the mean of the shares is 0 or 1, which gives no n*, and of one
    stratum, it is \(F^2 / \sum_f 1/n_f\). So strata that are wholly right or wholly wrong, also those of one item,
    leave an interval of positive width.

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
        Estimated from Survey Data.

    Example:
        >>> interval = stratified_wilson([1, 0, 1], [1, 1, 1])
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.201, 0.941)
    """
    counts, items, n_strata, level = _check_counts(
        successes, check_vector(sizes, "sizes", minimum=1), confidence_level, "stratum"
    )
    shares = counts / items
    share = float(shares.mean())
    effective = n_strata**2 / float((1 / items).sum())
    if n_strata > 1 and 0 < share < 1:
        pairs, smoothed = items[items > 1], (n_strata * share + 0.5) / (n_strata + 1)
        differ = 2 * shares * (1 - shares) * items / np.maximum(items - 1, 1)
        mean_differ = (differ[items > 1].sum() + 2 * smoothed * (1 - smoothed)) / (len(pairs) + 1)
        differ = ((items - 1) * differ + mean_differ) / items
        effective = share * (1 - share) * n_strata**2 / float((differ / 2 / items).sum())
    return _wilson(
        share, effective, level, "Wilson score by the effective number of items of the strata"
    )


def bounded_mean(
    values: Any, *, low: float, high: float, confidence_level: float = 0.95, clusters: Any = None
) -> Interval:
    r"""Compute the interval of a mean of bounded values by Student's t after adding one item at each bound.

    \[ \tilde m \pm t_{G+1} \frac{\sqrt{\sum_g (s_g - \tilde m n_g)^2}}{\sum_g n_g}, \quad
       \tilde m = \sum_g s_g / \sum_g n_g, \]

    over the G clusters of \(n_g\) values with the sum \(s_g\), and two more of the mean size, one at each bound;
    without clusters, over the values, `low` and `high`. The two keep the width positive where all values agree. Its
    coverage is at least nominal to about one point (simulated: docs/evidence/validity.md), at the price of width below
    about ten values.

    Args:
        values: (N,) values in [low, high]; differences of two flags or two shares lie in [-1, 1].
        low: Smallest possible value.
        high: Largest possible value.
        confidence_level: Such as 0.95.
        clusters: (N,) names of the clusters that the values belong to; None for independent values.

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
    sums, sizes = _with_sizes(checked, clusters).T
    size = sizes.mean()
    sums, sizes = np.append(sums, (low * size, high * size)), np.append(sizes, (size, size))
    center = float(sums.sum() / sizes.sum())
    half = (
        _student(len(sums) - 1, level)
        * float(np.sqrt(((sums - center * sizes) ** 2).sum()))
        / float(sizes.sum())
    )
    return Interval(
        max(float(low), center - half),
        min(float(high), center + half),
        level,
        "Student's t with an item at each bound",
    )


def delong(
    scores: Any, events: Any, *, confidence_level: float = 0.95, clusters: Any = None
) -> Interval:
    r"""Compute the interval of an AUROC, the chance that an item with the event scores above one without it.

    It is the Wilson interval of the AUROC \(\hat\theta\) for the effective number of items

    \[ n^* = \frac{\tilde\theta (1 - \tilde\theta)}{v} \left(\frac{z}{t}\right)^2, \quad
       v = \frac{s_1^2}{m + 1/2} + \frac{s_0^2}{n + 1/2} \]

    with the variances of the placements of the m items with the event (the share of the others below each) and of the n
    without, each after adding half an item whose placement is 1/2; \(\tilde\theta\) is the mean of the two means, z the
    normal quantile and t Student's of Welch's degrees of freedom. Without that half, errors that all rank below the
    right answers would show next to no variance. Nothing is assumed about the two distributions. With clusters it is
    half a cluster of the mean size, v is the sum over clusters of the squares of their items' deviations, and the
    degrees of freedom are one less than their number if that is less. Where all scores tie, n* is the number of the
    rarer kind.

    Args:
        scores: (N,) finite scores; equal ones count one half.
        events: (N,) whether the event happened; both kinds must occur.
        confidence_level: Such as 0.95.
        clusters: (N,) names of the clusters that the items belong to; None for independent items.

    Returns:
        The interval, inside [0, 1].

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If the lengths differ or one of the two kinds is missing.

    References:
        DeLong, DeLong, Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated Receiver Operating
        Characteristic Curves; Obuchowski (1997), Nonparametric Analysis of Clustered ROC Curve Data; Newcombe (2006),
        Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney Statistic, for the score interval of
        an AUROC. The half items are ours.

    Example:
        >>> interval = delong([0.9, 0.8, 0.7, 0.6, 0.4, 0.2], [1, 1, 0, 1, 0, 0])
        >>> round(interval.low, 2), round(interval.high, 2)
        (0.32, 0.99)
    """
    values, flags = check_vector(scores, "scores"), check_flags(events, "events")
    check_same_length(scores=values, events=flags)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    counts = np.array([flags.sum(), (~flags).sum()])
    if not counts.all():
        raise ValueError(
            "Expected items with the event and items without it, but there is one kind alone."
        )
    auroc, placements = placements_of(values, flags)
    size = len(flags) / count_units(clusters, len(flags))
    weights = counts + size / 2
    means = (np.array([placements[flags].sum(), placements[~flags].sum()]) + size / 4) / weights
    deviations = (placements - np.where(flags, *means)) / np.where(flags, *weights)
    halves = (size * (0.5 - means) / weights) ** 2 / 2
    squares = halves + [(deviations[kind] ** 2).sum() for kind in (flags, ~flags)]
    parts = squares * (counts + 0.5) / (counts - 0.5)
    variance = float(parts.sum())
    if variance <= _TINY:  # all scores tie
        return _wilson(auroc, float(counts.min()), level, "Wilson score of the rarer kind")
    freedom = variance**2 / float((parts**2 / (counts - 0.5)).sum())
    if clusters is not None:
        units = _cluster_sums(deviations[:, None], clusters)
        freedom = min(freedom, len(units) - 1)
        variance = float((units**2).sum() + halves.sum()) * len(units) / max(len(units) - 1, 1)
    center, z = float(means.mean()), float(special.ndtri(0.5 + level / 2))
    effective = center * (1 - center) / variance * (z / _student(freedom, level)) ** 2
    return _wilson(auroc, effective, level, "Wilson score by DeLong's effective number of items")


def placements_of(scores: Floats, events: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the AUROC and (N,) placements: for each item the share of items of the other kind on its right side.

    Example:
        >>> placements_of(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]))
        (0.875, array([1.  , 0.75, 0.75, 1.  ]))
    """
    placements = np.empty(len(scores))
    for kind, sign in ((events, 1.0), (~events, -1.0)):
        others = np.sort(sign * scores[~kind])
        rows = np.flatnonzero(kind)
        rows = rows[
            np.argsort(sign * scores[rows])
        ]  # in order, so that the search stays in the cache
        both = sum(
            np.searchsorted(others, sign * scores[rows], side=side) for side in ("left", "right")
        )
        placements[rows] = both / (2 * len(others))
    return float(placements[events].mean()), placements


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
    sums = _with_sizes(check_vector(differences, "differences"), clusters)[:, 0]
    moved = np.sort(sums[sums != 0])
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


def bca_interval(
    estimate: float, resamples: Floats, jackknife: Floats, n_units: int, level: float
) -> Interval:
    r"""Make the bias-corrected and accelerated interval of resampled values of a figure.

    Its ends are the quantiles of the resamples at

    \[ \Phi\left(z_0 + \frac{z_0 \pm z}{1 - a (z_0 \pm z)}\right), \quad
       a = \frac{\sum_i (\bar\theta - \theta_{(i)})^3}{6 \left(\sum_i (\bar\theta - \theta_{(i)})^2\right)^{3/2}} \]

    with \(\Phi(z_0)\) the share of resamples below the figure, equal ones by half, and the figures
    \(\theta_{(i)}\) without unit i. As the resamples of few units scatter less than the truth, z is
    \(\sqrt{n/(n-1)}\) times the quantile of Student's t of n - 1 degrees of freedom.

    Args:
        estimate: The figure.
        resamples: (R,) its values in resamples, all finite.
        jackknife: (G,) its values without each unit, or each group of units; those that are not finite do not count.
        n_units: The number of units n.
        level: Confidence level.

    Returns:
        The interval.

    References:
        Efron (1987), Better Bootstrap Confidence Intervals; Hesterberg (2015), What Teachers Should Know About the
        Bootstrap, section 5 (the wider quantiles).
    """
    margin = 0.5 / len(resamples)
    below = (np.mean(resamples < estimate - _TINY) + np.mean(resamples <= estimate + _TINY)) / 2
    shift = float(special.ndtri(np.clip(below, margin, 1.0 - margin)))
    away = jackknife[np.isfinite(jackknife)]
    away = away.mean() - away if len(away) else np.zeros(1)
    spread = float((away**2).sum()) ** 1.5
    skew = float((away**3).sum()) / (6 * spread) if spread > _TINY**3 else 0.0
    wider = _student(n_units - 1, level) * np.sqrt(n_units / max(n_units - 1, 1))
    z = shift + wider * np.array([-1.0, 1.0])
    low, high = np.quantile(resamples, special.ndtr(shift + z / np.maximum(1 - skew * z, _TINY)))
    return Interval(float(low), float(high), level, "BCa bootstrap", len(resamples))


def bootstrap_mean(
    values: Any,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Interval:
    """Compute a BCa bootstrap interval of a mean; of a mean of bounded values, `bounded_mean`.

    Args:
        values: (N,) one value per item; True and False count as 1 and 0.
        bounds: Smallest and largest possible value, from which the interval follows without resampling; None where
            there are none: the interval of equal values then has the width zero, and says nothing.
        clusters: (N,) names of the clusters that the items belong to; whole clusters are resampled. None for
            independent items.
        resampling: Level, number of resamples and seed.

    Returns:
        The interval.

    References:
        Efron, Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 14.

    Example:
        >>> interval = bootstrap_mean([0, 1, 1, 1, 0, 1, 1, 1])
        >>> round(interval.low, 2), interval.high
        (0.2, 1.0)
        >>> bootstrap_mean([1] * 20, bounds=(0, 1)).low < 0.9
        True
    """
    check_kind(resampling, "resampling", Resampling)
    checked = _vector(values, "values")
    if bounds is not None:
        low, high = bounds
        inside = np.clip(checked, low, high)  # rounding may carry a value beyond a bound
        return bounded_mean(
            inside, low=low, high=high, confidence_level=resampling.level, clusters=clusters
        )
    sums = np.column_stack((checked, np.ones(len(checked))))
    return bootstrap_sums(
        lambda sums: sums[..., 0] / sums[..., 1], sums, clusters=clusters, resampling=resampling
    )


def bootstrap_sums(
    statistic: Callable[[Floats], Any],
    values: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Interval:
    """Compute a BCa bootstrap interval of any figure that is a function of sums over items; all resamples at once.

    (`scipy.stats.bootstrap` gives the same for a figure that every resample has, without clusters and without the tails
    of Student's t, in as long or longer.)

    Args:
        statistic: Maps (..., S) sums to (...) figures; NaN where the figure is undefined, such resamples are excluded.
        values: (N, S) what each item adds to the S sums.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.

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
    table = _table(values)
    units = _cluster_sums(table, clusters, np.random.default_rng(resampling.seed))
    total, n_units = units.sum(axis=0), len(units)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.asarray(statistic(total)))
        rng, shares = np.random.default_rng([resampling.seed, 1]), np.full(n_units, 1.0 / n_units)
        resamples = [
            np.atleast_1d(
                statistic(rng.multinomial(n_units, shares, size=rounds).astype(np.float64) @ units)
            )
            for rounds in resampling.parts(n_units)
        ]
        without = np.atleast_1d(statistic(total - units))
    return bca_interval(
        estimate, _defined(estimate, np.concatenate(resamples)), without, n_units, resampling.level
    )


def bootstrap(
    statistic: Callable[..., float | None],
    *columns: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    mirrored: bool = False,
) -> Interval:
    r"""Compute a BCa bootstrap interval of any figure; recomputed on every resample, so prefer `bootstrap_sums`.

    Of more than `LARGE` units it is the t interval of `N_GROUPS` = G random groups of them, which reads each once:

    \[ \hat\theta \pm t_{G - 1} \, s / \sqrt G \]

    with the standard deviation s of the figures of the groups; `interval_of_groups` says what it does with a bias.

    References:
        Efron (1987), Better Bootstrap Confidence Intervals; of groups: Ibragimov, Mueller (2010), t-Statistic Based
        Correlation and Heterogeneity Robust Inference.

    Args:
        statistic: Takes the columns, resampled, and returns a number, or None where it is undefined.
        *columns: Arrays of N items along their first axis, resampled together.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.
        mirrored: Whether it is a basic bootstrap, with the ends 2 θ̂ - θ*, for a figure that is biased. The acceleration
            of BCa is that of at most `MAX_LEFT_OUT` groups of units.

    Returns:
        The interval.

    Example:
        >>> interval = bootstrap(lambda x: float(np.median(x)), [1.0, 2.0, 3.0, 4.0, 100.0])
        >>> interval.low, interval.high
        (1.0, 100.0)
    """
    arrays, n_items = _columns(columns, clusters)
    codes = cluster_codes(clusters, n_items)
    members = None if codes is None else _members(codes)
    n_units = len(members) if members else n_items
    if n_units > LARGE:
        known = statistic(*arrays)
        parts = [
            statistic(*(array[rows] for array in arrays)) for rows in random_groups(n_items, codes)
        ]
        if (
            known is not None
            and (interval := interval_of_groups(known, parts, resampling.level)) is not None
        ):
            return interval

    def figure(units: NDArray[np.intp]) -> float:
        rows = np.concatenate([members[unit] for unit in units]) if members else units
        value = statistic(*(array[rows] for array in arrays))
        return np.nan if value is None else float(value)

    rng = np.random.default_rng(resampling.seed)
    resamples = [figure(rng.integers(n_units, size=n_units)) for _ in range(resampling.resamples)]
    every = np.arange(n_units)
    whole = figure(every)
    defined = _defined(whole, np.array(resamples))
    if mirrored:
        return quantile_interval(defined, resampling.level, mirrored_at=whole)
    shuffled = np.random.default_rng([resampling.seed, 5]).permutation(n_units)
    groups = np.array_split(shuffled, min(n_units, MAX_LEFT_OUT)) if n_units > 1 else []
    without = np.array([figure(np.delete(every, group)) for group in groups])
    return bca_interval(whole, defined, without, n_units, resampling.level)


def jackknife(
    statistic: Callable[..., float],
    *columns: Any,
    clusters: Any = None,
    level: float = 0.95,
    on_logit: bool = False,
    n_known: int | None = None,
) -> Interval:
    r"""Compute the interval of a figure that is biased in few items, by leaving out groups of them.

    \[ \hat\theta - b \pm t \, s, \quad b = (G - 1) (\bar\theta - \hat\theta), \quad
        s^2 = \frac{G - 1}{G} \sum_g (\theta_{(g)} - \bar\theta)^2 \]

    with the figures \(\theta_{(g)}\) without one of G random groups of items or clusters, at most `MAX_LEFT_OUT`. A
    resample has the same items several times, so that a bootstrap of such a figure is off by more than its bias. Of
    more than `LARGE` units, in which no bias is left, it is that of `bootstrap`.

    Args:
        statistic: Takes the columns without some items, and returns a number.
        *columns: Arrays of N items along their first axis, at least two.
        clusters: (N,) names of the clusters, or None.
        level: Confidence level.
        on_logit: Whether the interval is made on the logit of the figure, a skewed one in [0, 1]; the bias then moves
            it by three quarters of the way to a bound at most.
        n_known: How many items or clusters the figure rests on, such as wrong answers: t has one degree of freedom
            less, and G - 1 if that is less, or by default.

    Returns:
        The interval.

    References:
        Quenouille (1956), Notes on Bias in Estimation; Tukey (1958), Bias and Confidence in Not-quite Large Samples.

    Example:
        The variance of 1, 2 and 6, whose bias is exactly that: its center is the unbiased 7 and not 14/3.

        >>> interval = jackknife(lambda x: float(x.var()), [1.0, 2.0, 6.0])
        >>> round((interval.low + interval.high) / 2, 6)
        7.0
    """
    if count_units(clusters, len(columns[0])) > LARGE:
        return bootstrap(statistic, *columns, clusters=clusters, resampling=Resampling(level))
    figure, bias, error, n = jackknife_parts(statistic, *columns, clusters=clusters)
    half, center = _student(min(n, n_known or n) - 1, level) * error, figure - bias
    method = "jackknife, less the bias"
    if not on_logit:
        return Interval(center - half, center + half, level, method)
    center = float(np.clip(center, figure / 4, 1 - (1 - figure) / 4))
    spread = half / max(center * (1 - center), _TINY)
    low, high = special.expit(special.logit(center) + spread * np.array([-1.0, 1.0])).tolist()
    return Interval(low, high, level, f"{method}, on the logit")


def jackknife_parts(
    statistic: Callable[..., float], *columns: Any, clusters: Any = None
) -> tuple[float, float, float, int]:
    """Return a figure, its bias b, its standard error s and the number of groups G of `jackknife`.

    Of more than `LARGE` units, s is the standard error of the mean of the figures of random groups, and b is 0.
    """
    arrays, n_items = _columns(columns, clusters)
    codes = cluster_codes(clusters, n_items)
    codes = np.arange(n_items) if codes is None else codes
    n_units, figure = int(codes.max()) + 1, float(statistic(*arrays))
    if n_units > LARGE:
        parts = [
            statistic(*(array[rows] for array in arrays)) for rows in random_groups(n_items, codes)
        ]
        return figure, 0.0, float(np.std(parts, ddof=1)) / len(parts) ** 0.5, len(parts)
    n = min(n_units, MAX_LEFT_OUT)
    groups = np.random.default_rng(5).permutation(n_units)[codes] % n
    without = np.array(
        [statistic(*(array[groups != group] for array in arrays)) for group in range(n)]
    )
    error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return figure, float((n - 1) * (without.mean() - figure)), error, n


def random_groups(n_items: int, clusters: Any = None) -> list[NDArray[np.intp]]:
    """Return the items of each of `N_GROUPS` random groups of as many items, or clusters, as can be.

    Example:
        >>> [len(group) for group in random_groups(82)][:3]
        [3, 3, 2]
    """
    codes = cluster_codes(clusters, n_items)
    codes = np.arange(n_items) if codes is None else codes
    return _members(np.random.default_rng(5).permutation(int(codes.max()) + 1)[codes] % N_GROUPS)


def interval_of_groups(
    value: float, figures: Sequence[float | None], level: float
) -> Interval | None:
    r"""Return the t interval of a figure by those of random groups; None where it is undefined in one of them.

    It reaches on as far as the figure is biased, by b where the groups are by \(b \sqrt G\).
    """
    known = np.array([figure for figure in figures if figure is not None])
    if len(known) < len(figures) or not np.isfinite([value, *known]).all():
        return None
    root = np.sqrt(len(known))
    half, bias = (
        _student(len(known) - 1, level) * float(known.std(ddof=1)) / root,
        (known.mean() - value) / (root - 1),
    )
    low, high = float(value - half - max(bias, 0.0)), float(value + half - min(bias, 0.0))
    return Interval(low, high, level, f"t interval of {len(known)} random groups")


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


def paired_means(
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
    clusters, by `sign_flip_p_value`. The interval of the difference is that of `bounded_mean`, which never has the
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

        >>> test = paired_means([1] * 8, [0] * 5 + [1] * 3)
        >>> test.difference, test.p_value, round(test.interval.low, 3)
        (0.625, 0.03125, 0.02)
    """
    values_first, values_second = (
        check_vector(_vector(each, name), name, minimum=low, maximum=high)
        for each, name in ((first, "first"), (second, "second"))
    )
    n_items = check_same_length(first=values_first, second=values_second)
    differences = values_first - values_second
    difference, level = float(differences.mean()), resampling.level
    interval: Interval | None = None
    if low is not None and high is not None:
        ends = {"low": low - high, "high": high - low}
        interval = bounded_mean(differences, **ends, confidence_level=level, clusters=clusters)
        if (
            clusters is None
            and np.isin(np.concatenate((values_first, values_second)), (low, high)).all()
        ):
            test = mcnemar(values_first == high, values_second == high)
            return dataclasses.replace(test, difference=difference, interval=interval)
    p_value = sign_flip_p_value(differences, clusters=clusters, resampling=resampling)
    if interval is None and np.ptp(differences) > _TINY:
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


def log_binomial(n: Any, k: Any) -> Floats:
    """Return the logarithm of the number of ways to choose k of n.

    Example:
        >>> round(float(np.exp(log_binomial(5, 2))), 6)
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
    sums = _with_sizes(flags - expected, clusters)[:, 0]
    spread = float(np.sqrt((sums**2).sum()))
    if len(sums) == 1 or spread <= _TINY:
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
    sums = _with_sizes(beyond, clusters)[:, 0]
    if len(sums) == 1 or first == second:
        return 1.0
    spread = float(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()))
    # Where all clusters differ alike, signs that are drawn at random are all alike in two of 2^G cases.
    return (
        2.0 ** (1 - len(sums))
        if spread <= _TINY
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


# ------------------------------------------------------------------------------------------------------------- private


def _check_counts(
    successes: Any, sizes: Any, confidence_level: float, group: str
) -> tuple[Floats, Floats, int, float]:
    counts, items = check_vector(successes, "successes", minimum=0), check_vector(sizes, "sizes")
    n_groups = check_same_length(successes=counts, sizes=items)
    if (items <= 0).any():
        row = int(np.flatnonzero(items <= 0)[0])
        raise ValueError(
            f"Expected positive numbers in `sizes`, but {group} {row} has {items[row]:g}."
        )
    if (counts > items).any():
        row = int(np.flatnonzero(counts > items)[0])
        raise ValueError(
            f"Expected `successes` to be at most `sizes`, but {group} {row} has {counts[row]:g} of {items[row]:g}."
        )
    return (
        counts,
        items,
        n_groups,
        check_fraction(confidence_level, "confidence_level", open_ends=True),
    )


def wilson_ends(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the ends of the Wilson interval of a share of n items, not necessarily a whole number.

    At 0 and 1 one end is exactly that, despite rounding.
    """
    z = quantile
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if share == 0 else float(max(center - half, 0.0)), 1.0 if share == 1 else float(
        min(center + half, 1.0)
    )


def _wilson(share: float, n: float, level: float, method: str) -> Interval:
    return Interval(*wilson_ends(share, n, float(special.ndtri(0.5 + level / 2))), level, method)


def _student(freedom: float, level: float) -> float:
    """Return the quantile of Student's t that a two-sided interval of a level reaches to."""
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))


def _defined(estimate: float, resamples: Floats) -> Floats:
    """Return the resamples in which a figure is defined, where it is."""
    defined = resamples[np.isfinite(resamples)]
    if not np.isfinite(estimate) or not defined.size:
        raise ValueError("Expected a figure that is defined for the items, but it is undefined.")
    return defined


def _vector(values: Any, name: str) -> Floats:
    """Check a vector of numbers, or of True and False, which count as 1 and 0."""
    array = to_numpy(values, name)
    return check_vector(array.astype(np.float64) if array.dtype.kind == "b" else array, name)


def _table(values: Any) -> Floats:
    table = as_floats(values, "values")
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(
            f"Expected `values` of shape (N, S) with at least one item, but got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"Expected finite numbers in `values`, but row {row} holds another.")
    return table


def _columns(columns: tuple[Any, ...], clusters: Any) -> tuple[list[NDArray[Any]], int]:
    """Check columns, and put their items, unless there are clusters or very many, in an order of their own."""
    arrays = [
        to_numpy(column, f"column {number}") for number, column in enumerate(columns, start=1)
    ]
    if not arrays or any(array.ndim == 0 or len(array) == 0 for array in arrays):
        raise ValueError("Expected columns of at least one item, but one is empty.")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"Expected columns of one length, but got {', '.join(map(str, lengths))}.")
    if clusters is None and lengths[0] <= LARGE:
        order = in_order(*arrays)
        arrays = [array[order] for array in arrays]
    return arrays, lengths[0]


def cluster_codes(clusters: Any, n_items: int) -> NDArray[np.intp] | None:
    """Number the clusters of (N,) items from 0; None where there are none."""
    if clusters is None:
        return None
    names = to_numpy(clusters, "clusters")
    if names.ndim != 1 or len(names) != n_items:
        raise ValueError(
            f"Expected `clusters` to name the cluster of each of {n_items} items, but got {len(names)}."
        )
    missing = np.flatnonzero(
        names != names
    )  # NaN, as tables have it in the place of a missing name
    if missing.size:
        raise ValueError(
            f"Expected a value in each item of `clusters`, but item {missing[0]} is NaN."
        )
    if names.dtype == object:
        names = names.astype(np.str_)
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def clusters_of(clusters: Any, rows: Any) -> Any:
    """Return the clusters of some of the items; None where there are none."""
    return None if clusters is None else np.asarray(clusters)[rows]


def count_units(clusters: Any, n_items: int) -> int:
    """Count what is independent among items: their clusters, or themselves where there are none."""
    return n_items if clusters is None else len(np.unique(clusters))


def unit_means(values: Floats, clusters: Any) -> Floats:
    """Return the mean value of each cluster; the values themselves without clusters."""
    if clusters is None:
        return values
    sums, sizes = _with_sizes(values, clusters).T
    return np.asarray(sums / sizes, dtype=np.float64)


def _cluster_sums(table: Floats, clusters: Any, rng: np.random.Generator | None = None) -> Floats:
    """Sum the rows of each cluster; with `rng`, put units beyond `MAX_UNITS` into random groups."""
    codes = cluster_codes(clusters, len(table))
    if codes is None:
        units = table if rng is None else table[in_order(*table.T)]
    else:
        units = _sum_by(codes, table)
    if rng is None or len(units) <= MAX_UNITS:
        return units
    return _sum_by(rng.integers(MAX_UNITS, size=len(units)), units, MAX_UNITS)


def _with_sizes(values: Floats, clusters: Any) -> Floats:
    """Return (G, 2) sums and numbers of the values of each cluster."""
    return _cluster_sums(np.column_stack((values, np.ones(len(values)))), clusters)


def _sum_by(codes: NDArray[np.intp], table: Floats, n_groups: int = 0) -> Floats:
    return np.stack([np.bincount(codes, column, minlength=n_groups) for column in table.T], axis=1)


def _members(codes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


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
            raise ValueError(
                f"Expected both ends of an interval or neither, but got {self.low} and {self.high}."
            )

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
    if interval.high - interval.low <= 1e-9 * max(abs(interval.low), abs(interval.high), 1e-3):
        return Estimate(value, method="no resample differs, so without interval")
    resamples = f", {interval.n_resamples:,} resamples" if interval.n_resamples else ""
    return Estimate(
        value, interval.low, interval.high, interval.confidence_level, interval.method + resamples
    )


def beyond(estimate: Estimate, reference: float) -> Estimate:
    """Return a figure less a fixed reference, such as what guessing gets.

    Example:
        >>> beyond(Estimate(0.75, 0.5, 1.0), 0.25)
        Estimate(value=0.5, low=0.25, high=0.75, level=0.95, method='')
    """
    value, low, high = (
        None if end is None else end - reference
        for end in (estimate.value, estimate.low, estimate.high)
    )
    return Estimate(value, low, high, estimate.level, estimate.method)


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


def rate(flags: Any, resampling: Resampling, clusters: Any = None) -> Estimate | None:
    """Return the share of True flags (N,) with its Wilson interval, over clusters if there are any; None without flags.

    Example:
        >>> flags = [True, True, True, True, False, False]
        >>> rate(flags, Resampling()) == share(4, 6, Resampling())
        True
        >>> round(rate(flags, Resampling(), clusters=[1, 1, 2, 2, 3, 3]).low, 2)
        0.1
    """
    hits = np.asarray(flags, dtype=np.float64)
    return (
        estimate_of(float(hits.mean()), rate_interval(hits, resampling, clusters))
        if len(hits)
        else None
    )


def rate_interval(flags: Any, resampling: Resampling, clusters: Any = None) -> Interval:
    """Return the interval of `rate`, of at least one flag."""
    hits = np.asarray(flags, dtype=np.float64)
    if clusters is None:
        return wilson(int(hits.sum()), len(hits), confidence_level=resampling.level)
    return cluster_wilson(*_with_sizes(hits, clusters).T, confidence_level=resampling.level)


def mean(
    values: Any,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
) -> Estimate | None:
    """Return the mean of values (N,) with the interval of `bootstrap_mean`; None without values.

    Example:
        >>> estimate = mean([0.0, 1.0, 1.0, 1.0], Resampling())
        >>> estimate.value, estimate.low, estimate.high
        (0.75, 0.0, 1.0)
    """
    if not len(values):
        return None
    interval = bootstrap_mean(values, bounds=bounds, clusters=clusters, resampling=resampling)
    return estimate_of(float(np.mean(values)), interval)


@dataclasses.dataclass(frozen=True)
class Margin:
    """What a figure is compared with, in its unit.

    Attributes:
        small: A figure surely below this is no effect worth the name.
        large: A figure surely above this is a problem.
    """

    small: float
    large: float


MARGINS = {
    "decides": Margin(0.10, 0.25),  # share of all predictions that a cue decides
    "confidence": Margin(0.05, 0.05),  # mean confidence minus accuracy
    "kept": Margin(
        0.10, 0.25
    ),  # share of all answers that stay without the question, beyond chance
    "accuracy": Margin(0.10, 0.10),  # accuracy by cues alone, or lost, beyond chance
    "order": Margin(0.10, 0.50),  # share of all answers that change with the order of the choices
    "sway": Margin(0.05, 0.05),  # share of all answers that a hint moves, beyond a neutral sentence
    "paralysis": Margin(0.02, 0.02),  # confidence lost to added choices, beyond dilution
}
"""The margins of all verdicts."""


@dataclasses.dataclass(frozen=True)
class Power:
    r"""What a number of items can tell, before any is asked, with 95 % confidence.

    The interval of a share near a half reaches \(z / (2 \sqrt n)\) to each side, z being the normal quantile of
    \(1 - 0.05 / (2 T)\) for T tests: other shares are told from fewer items. A verdict looks for the smaller margin.

    Attributes:
        margin: Its name in `MARGINS`.
        tests: How many tests share the error T.
        part: The share of the items that the figure is estimated from.
    """

    margin: str
    tests: int = 1
    part: float = 1.0

    def told(self, n_items: int) -> str:
        """Say what these items can tell.

        Example:
            >>> Power("confidence").told(80)
            '80 items tell differences of 11 points; its verdict looks for 5, which takes about 390 items'
            >>> Power("decides", tests=8, part=0.5).told(1000)
            '1,000 items tell differences of 6 points; its verdict looks for 10'
        """
        z = float(special.ndtri(1 - 0.05 / (2 * self.tests)))
        small = MARGINS[self.margin].small
        width = z / 2 / math.sqrt(max(self.part * n_items, 1))
        line = f"{counted(n_items, 'item tells', 'items tell')} differences of {100 * min(width, 1):.0f} points; "
        needed = math.ceil((z / 2 / small) ** 2 / self.part / 10) * 10
        more = "" if width <= small else f", which takes about {needed:,} items"
        return f"{line}its verdict looks for {100 * small:.0f}{more}"


@dataclasses.dataclass(frozen=True)
class Decision(Result):
    """What an interval says about a figure beside its margin.

    Attributes:
        level: "small" (surely below `small`), "large" (surely above `large`), "some" (surely above `small`) or
            "unknown".
        n_items: The number of items that the figure is of.
        n_needed: About how many items would tell the figure from a margin; None where it is known, or where it lies on
            a margin, so that no number of items would.
    """

    level: Literal["small", "some", "large", "unknown"]
    n_items: int
    n_needed: int | None = None


def decide(
    estimate: Estimate | None, margin: Margin, n_items: int, n_units: int | None = None
) -> Decision:
    r"""Decide whether a figure is small, some, large or unknown.

    With the interval \([l, h]\) of the figure \(d\) that is good at 0: "small" if \(-s < l\) and \(h < s\); "large" if
    \(l > L\) or \(h < -L\); "some" if \(l > s\) or \(h < -s\); "unknown" otherwise, and with fewer than 20 units. An
    interval half as wide takes four times as many items, so that the distance \(\Delta\) to the margin takes
    \(n (w / \Delta)^2\) of them, \(w\) being half of its width.

    Args:
        estimate: The figure with its interval; None or without an interval is unknown.
        margin: s and L.
        n_items: The number of items n.
        n_units: The number of clusters that they belong to; None where each stands for itself.

    Returns:
        `Decision`.

    References:
        Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.

    Example:
        >>> margin = Margin(small=0.1, large=0.25)
        >>> [decide(Estimate(d, d - w, d + w), margin, 100).level for d, w in ((0.02, 0.05), (0.5, 0.1), (0.2, 0.08))]
        ['small', 'large', 'some']
        >>> decide(Estimate(0.05, -0.05, 0.15), margin, 100)  # half as wide would do: 100 * (0.1 / 0.05) ** 2
        Decision(level='unknown', n_items=100, n_needed=400)
    """
    if estimate is None or estimate.value is None or estimate.low is None or estimate.high is None:
        return Decision("unknown", n_items)
    value, low, high = estimate.value, estimate.low, estimate.high
    n_units = n_items if n_units is None else n_units
    if n_units < MIN_ITEMS:
        # Where the interval is wide, so few items say little of their spread: as many as any share takes.
        units = (
            MIN_ITEMS
            if max(-low, high) < margin.small
            else max(MIN_ITEMS, math.ceil((0.98 / margin.small) ** 2))
        )
        return Decision("unknown", n_items, math.ceil(units * n_items / max(n_units, 1)))
    if max(low, -high) > margin.large:
        return Decision("large", n_items)
    if max(-low, high) < margin.small:
        return Decision("small", n_items)
    if max(low, -high) > margin.small:
        return Decision("some", n_items)
    return Decision(
        "unknown", n_items, _needed(abs(abs(value) - margin.small), (high - low) / 2, n_items)
    )


def decide_above(
    estimate: Estimate | None, margin: Margin, n_items: int, n_units: int | None = None
) -> Decision:
    """Decide as `decide` of a figure that is a problem above 0 alone; below, it is small.

    Example:
        >>> [decide_above(Estimate(d, d - 0.1, d + 0.1), Margin(0.1, 0.25), 100).level for d in (-0.5, 0.5)]
        ['small', 'large']
    """
    if estimate is not None and estimate.has_interval:
        value, low, high = (
            max(0.0, end or 0.0) for end in (estimate.value, estimate.low, estimate.high)
        )
        above = decide(Estimate(value, low, high), margin, n_items, n_units)
        if above.level != "unknown":
            return above
    return decide(estimate, margin, n_items, n_units)


def _needed(width: float, half: float, n_items: int) -> int | None:
    """Return the items whose interval is as wide as a distance on each side, to two digits; None where none is."""
    if width <= 0 or half <= 0:
        return None
    needed = max(n_items * (half / width) ** 2, n_items + 1.0)
    if needed > 10_000_000:
        return None
    digits = max(0, math.floor(math.log10(needed)) - 1)
    step = int(10**digits)
    return math.ceil(needed / step - 1e-9) * step

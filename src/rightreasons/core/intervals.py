"""Intervals and tests over items, and over clusters of items that belong together.

Six kinds of intervals: Wilson's of a share (`wilson`, `cluster_wilson`, `stratified_wilson`), Student's t of a bounded
mean (`bounded_mean_interval`), the bootstrap of any figure (`bootstrap_sums`, `bootstrap`), its jackknife (`jackknife`),
DeLong's of an AUROC (`delong`), and that of the calibration error, beside it. Clusters are the units of all.

And one way from a figure with its interval to a verdict: a question names a margin, and whether its figure is small,
large or unknown beside it follows from the interval alone, by two one-sided tests, each at half of the interval's
error. A question that makes several tests widens its intervals with `Resampling.of_family`, so that its verdict as a
whole keeps the level.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, argsort_canonical, to_floats, to_numpy
from rightreasons.core.clusters import (
    count_units,
    list_members,
    number_clusters,
    sum_clusters,
    sum_with_sizes,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_kind,
    check_same_length,
    check_vector,
)

MAX_JACKKNIFE_GROUPS = 200
"""Groups of units that a bootstrap of any figure leaves out one after the other."""

MAX_BOOTSTRAP_UNITS = 20_000
N_GROUPS = 40
"""With more units than the first, any figure is computed of so many random groups of them, and not of resamples."""

_ROUNDING_TOLERANCE = 1e-12
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
    return _make_wilson(k / n, n, level, "Wilson score")


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
        effective *= (
            _get_student_quantile(most - 1, level) / _get_student_quantile(n_clusters - 1, level)
        ) ** 2
    return _make_wilson(share, effective, level, "Wilson score by the effective number of items")


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
    return _make_wilson(
        share, effective, level, "Wilson score by the effective number of items of the strata"
    )


def bounded_mean_interval(
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

        >>> interval = bounded_mean_interval([1, 1, 0], low=-1, high=1)
        >>> round(interval.low, 3), interval.high
        (-0.593, 1.0)
    """
    checked = check_vector(values, "values", minimum=low, maximum=high)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    sums, sizes = sum_with_sizes(checked, clusters).T
    size = sizes.mean()
    sums, sizes = np.append(sums, (low * size, high * size)), np.append(sizes, (size, size))
    center = float(sums.sum() / sizes.sum())
    half = (
        _get_student_quantile(len(sums) - 1, level)
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
    auroc, placements = compute_placements(values, flags)
    size = len(flags) / count_units(clusters, len(flags))
    weights = counts + size / 2
    means = (np.array([placements[flags].sum(), placements[~flags].sum()]) + size / 4) / weights
    deviations = (placements - np.where(flags, *means)) / np.where(flags, *weights)
    halves = (size * (0.5 - means) / weights) ** 2 / 2
    squares = halves + [(deviations[kind] ** 2).sum() for kind in (flags, ~flags)]
    parts = squares * (counts + 0.5) / (counts - 0.5)
    variance = float(parts.sum())
    if variance <= _ROUNDING_TOLERANCE:  # all scores tie
        return _make_wilson(auroc, float(counts.min()), level, "Wilson score of the rarer kind")
    freedom = variance**2 / float((parts**2 / (counts - 0.5)).sum())
    if clusters is not None:
        units = sum_clusters(deviations[:, None], clusters)
        freedom = min(freedom, len(units) - 1)
        variance = float((units**2).sum() + halves.sum()) * len(units) / max(len(units) - 1, 1)
    center, z = float(means.mean()), float(special.ndtri(0.5 + level / 2))
    effective = center * (1 - center) / variance * (z / _get_student_quantile(freedom, level)) ** 2
    return _make_wilson(
        auroc, effective, level, "Wilson score by DeLong's effective number of items"
    )


def compute_placements(scores: Floats, events: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the AUROC and (N,) placements: for each item the share of items of the other kind on its right side.

    Example:
        >>> compute_placements(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]))
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


def make_quantile_interval(
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
        >>> make_quantile_interval(values, 0.5).low, make_quantile_interval(values, 0.5).high
        (1.0, 4.0)
        >>> make_quantile_interval(values, 0.5, mirrored_at=2.0).low, make_quantile_interval(values, 0.5, mirrored_at=2.0).high
        (0.0, 3.0)
    """
    low, high = np.quantile(resamples, ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
    if mirrored_at is not None:
        low, high = 2.0 * mirrored_at - high, 2.0 * mirrored_at - low
    words = method or ("percentile bootstrap" if mirrored_at is None else "basic bootstrap")
    return Interval(float(low), float(high), level, words, len(resamples))


def make_bca_interval(
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
    below = (
        np.mean(resamples < estimate - _ROUNDING_TOLERANCE)
        + np.mean(resamples <= estimate + _ROUNDING_TOLERANCE)
    ) / 2
    shift = float(special.ndtri(np.clip(below, margin, 1.0 - margin)))
    away = jackknife[np.isfinite(jackknife)]
    away = away.mean() - away if len(away) else np.zeros(1)
    spread = float((away**2).sum()) ** 1.5
    skew = float((away**3).sum()) / (6 * spread) if spread > _ROUNDING_TOLERANCE**3 else 0.0
    wider = _get_student_quantile(n_units - 1, level) * np.sqrt(n_units / max(n_units - 1, 1))
    z = shift + wider * np.array([-1.0, 1.0])
    low, high = np.quantile(
        resamples, special.ndtr(shift + z / np.maximum(1 - skew * z, _ROUNDING_TOLERANCE))
    )
    return Interval(float(low), float(high), level, "BCa bootstrap", len(resamples))


def bootstrap_mean(
    values: Any,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Interval:
    """Compute a BCa bootstrap interval of a mean; of a mean of bounded values, `bounded_mean_interval`.

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
    checked = _parse_vector(values, "values")
    if bounds is not None:
        low, high = bounds
        inside = np.clip(checked, low, high)  # rounding may carry a value beyond a bound
        return bounded_mean_interval(
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
    table = _parse_table(values)
    units = sum_clusters(table, clusters, np.random.default_rng(resampling.seed))
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
    return make_bca_interval(
        estimate,
        _select_defined(estimate, np.concatenate(resamples)),
        without,
        n_units,
        resampling.level,
    )


def bootstrap(
    statistic: Callable[..., float | None],
    *columns: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    mirrored: bool = False,
) -> Interval:
    r"""Compute a BCa bootstrap interval of any figure; recomputed on every resample, so prefer `bootstrap_sums`.

    Of more than `MAX_BOOTSTRAP_UNITS` units it is the t interval of `N_GROUPS` = G random groups of them, which reads each once:

    \[ \hat\theta \pm t_{G - 1} \, s / \sqrt G \]

    with the standard deviation s of the figures of the groups; `make_group_interval` says what it does with a bias.

    References:
        Efron (1987), Better Bootstrap Confidence Intervals; of groups: Ibragimov, Mueller (2010), t-Statistic Based
        Correlation and Heterogeneity Robust Inference.

    Args:
        statistic: Takes the columns, resampled, and returns a number, or None where it is undefined.
        *columns: Arrays of N items along their first axis, resampled together.
        clusters: (N,) names of the clusters, or None.
        resampling: Level, number of resamples and seed.
        mirrored: Whether it is a basic bootstrap, with the ends 2 θ̂ - θ*, for a figure that is biased. The acceleration
            of BCa is that of at most `MAX_JACKKNIFE_GROUPS` groups of units.

    Returns:
        The interval.

    Example:
        >>> interval = bootstrap(lambda x: float(np.median(x)), [1.0, 2.0, 3.0, 4.0, 100.0])
        >>> interval.low, interval.high
        (1.0, 100.0)
    """
    arrays, n_items = _parse_columns(columns, clusters)
    codes = number_clusters(clusters, n_items)
    members = None if codes is None else list_members(codes)
    n_units = len(members) if members else n_items
    if n_units > MAX_BOOTSTRAP_UNITS:
        known = statistic(*arrays)
        parts = [
            statistic(*(array[rows] for array in arrays))
            for rows in draw_random_groups(n_items, codes)
        ]
        if (
            known is not None
            and (interval := make_group_interval(known, parts, resampling.level)) is not None
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
    defined = _select_defined(whole, np.array(resamples))
    if mirrored:
        return make_quantile_interval(defined, resampling.level, mirrored_at=whole)
    shuffled = np.random.default_rng([resampling.seed, 5]).permutation(n_units)
    groups = np.array_split(shuffled, min(n_units, MAX_JACKKNIFE_GROUPS)) if n_units > 1 else []
    without = np.array([figure(np.delete(every, group)) for group in groups])
    return make_bca_interval(whole, defined, without, n_units, resampling.level)


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

    with the figures \(\theta_{(g)}\) without one of G random groups of items or clusters, at most `MAX_JACKKNIFE_GROUPS`. A
    resample has the same items several times, so that a bootstrap of such a figure is off by more than its bias. Of
    more than `MAX_BOOTSTRAP_UNITS` units, in which no bias is left, it is that of `bootstrap`.

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
    if count_units(clusters, len(columns[0])) > MAX_BOOTSTRAP_UNITS:
        return bootstrap(statistic, *columns, clusters=clusters, resampling=Resampling(level))
    figure, bias, error, n = compute_jackknife(statistic, *columns, clusters=clusters)
    half, center = _get_student_quantile(min(n, n_known or n) - 1, level) * error, figure - bias
    method = "jackknife, less the bias"
    if not on_logit:
        return Interval(center - half, center + half, level, method)
    center = float(np.clip(center, figure / 4, 1 - (1 - figure) / 4))
    spread = half / max(center * (1 - center), _ROUNDING_TOLERANCE)
    low, high = special.expit(special.logit(center) + spread * np.array([-1.0, 1.0])).tolist()
    return Interval(low, high, level, f"{method}, on the logit")


def compute_jackknife(
    statistic: Callable[..., float], *columns: Any, clusters: Any = None
) -> tuple[float, float, float, int]:
    """Return a figure, its bias b, its standard error s and the number of groups G of `jackknife`.

    Of more than `MAX_BOOTSTRAP_UNITS` units, s is the standard error of the mean of the figures of random groups, and b is 0.
    """
    arrays, n_items = _parse_columns(columns, clusters)
    codes = number_clusters(clusters, n_items)
    codes = np.arange(n_items) if codes is None else codes
    n_units, figure = int(codes.max()) + 1, float(statistic(*arrays))
    if n_units > MAX_BOOTSTRAP_UNITS:
        parts = [
            statistic(*(array[rows] for array in arrays))
            for rows in draw_random_groups(n_items, codes)
        ]
        return figure, 0.0, float(np.std(parts, ddof=1)) / len(parts) ** 0.5, len(parts)
    n = min(n_units, MAX_JACKKNIFE_GROUPS)
    groups = np.random.default_rng(5).permutation(n_units)[codes] % n
    without = np.array(
        [statistic(*(array[groups != group] for array in arrays)) for group in range(n)]
    )
    error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    return figure, float((n - 1) * (without.mean() - figure)), error, n


def draw_random_groups(n_items: int, clusters: Any = None) -> list[NDArray[np.intp]]:
    """Return the items of each of `N_GROUPS` random groups of as many items, or clusters, as can be.

    Example:
        >>> [len(group) for group in draw_random_groups(82)][:3]
        [3, 3, 2]
    """
    codes = number_clusters(clusters, n_items)
    codes = np.arange(n_items) if codes is None else codes
    return list_members(
        np.random.default_rng(5).permutation(int(codes.max()) + 1)[codes] % N_GROUPS
    )


def make_group_interval(
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
        _get_student_quantile(len(known) - 1, level) * float(known.std(ddof=1)) / root,
        (known.mean() - value) / (root - 1),
    )
    low, high = float(value - half - max(bias, 0.0)), float(value + half - min(bias, 0.0))
    return Interval(low, high, level, f"t interval of {len(known)} random groups")


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


def compute_wilson_ends(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the ends of the Wilson interval of a share of n items, not necessarily a whole number.

    At 0 and 1 one end is exactly that, despite rounding.
    """
    z = quantile
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if share == 0 else float(max(center - half, 0.0)), 1.0 if share == 1 else float(
        min(center + half, 1.0)
    )


def _make_wilson(share: float, n: float, level: float, method: str) -> Interval:
    return Interval(
        *compute_wilson_ends(share, n, float(special.ndtri(0.5 + level / 2))), level, method
    )


def _get_student_quantile(freedom: float, level: float) -> float:
    """Return the quantile of Student's t that a two-sided interval of a level reaches to."""
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))


def _select_defined(estimate: float, resamples: Floats) -> Floats:
    """Return the resamples in which a figure is defined, where it is."""
    defined = resamples[np.isfinite(resamples)]
    if not np.isfinite(estimate) or not defined.size:
        raise ValueError("Expected a figure that is defined for the items, but it is undefined.")
    return defined


def _parse_vector(values: Any, name: str) -> Floats:
    """Check a vector of numbers, or of True and False, which count as 1 and 0."""
    array = to_numpy(values, name)
    return check_vector(array.astype(np.float64) if array.dtype.kind == "b" else array, name)


def _parse_table(values: Any) -> Floats:
    table = to_floats(values, "values")
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(
            f"Expected `values` of shape (N, S) with at least one item, but got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"Expected finite numbers in `values`, but row {row} holds another.")
    return table


def _parse_columns(columns: tuple[Any, ...], clusters: Any) -> tuple[list[NDArray[Any]], int]:
    """Check columns, and put their items, unless there are clusters or very many, in an order of their own."""
    arrays = [
        to_numpy(column, f"column {number}") for number, column in enumerate(columns, start=1)
    ]
    if not arrays or any(array.ndim == 0 or len(array) == 0 for array in arrays):
        raise ValueError("Expected columns of at least one item, but one is empty.")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"Expected columns of one length, but got {', '.join(map(str, lengths))}.")
    if clusters is None and lengths[0] <= MAX_BOOTSTRAP_UNITS:
        order = argsort_canonical(*arrays)
        arrays = [array[order] for array in arrays]
    return arrays, lengths[0]

r"""Confidence intervals in closed form, for independent items and for clusters of items.

Four kinds: the Wilson score interval of a share (`wilson`, `cluster_wilson`, `stratified_wilson`),
Student's t interval of a mean of bounded values (`bounded_mean_interval`), and the interval of an
AUROC (`delong`). None of them ever has a width of zero. Figures without a closed form are
resampled in `rightreasons.core.bootstrap`.

Most of these intervals use the same device: the variance of the estimate says how many independent
items would be as informative, the *effective number of items*

\[ n^* = \hat p (1 - \hat p) / v, \]

which replaces n in the Wilson interval. That interval stays inside [0, 1] and keeps its coverage
for shares near 0 and 1, where \(\hat p \pm z \sqrt v\) fails.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, Positions
from rightreasons.core.clusters import (
    UnitSums,
    count_numbered_units,
    number_clusters,
    sum_units,
)
from rightreasons.core.ordering import argsort_scores
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_same_length,
    check_vector,
)

ROUNDING_TOLERANCE = 1e-12
"""Largest difference between two values that is attributed to rounding."""


@dataclasses.dataclass(frozen=True)
class Interval(Result):
    """A confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
        confidence_level: Share of such intervals that should cover the true value, such as 0.95.
        method: Name of the method.
        n_resamples: Number of resamples. None for an interval in closed form.
    """

    low: float
    high: float
    confidence_level: float
    method: str
    n_resamples: int | None = None


# ------------------------------------------------------------------------------- shares


def wilson(
    successes: int,
    n_items: int,
    *,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Compute the Wilson score interval of a share.

    \[ \frac{\hat p + z^2/2n \pm z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n} \]

    Args:
        successes: Number of successes, from 0 to `n_items`.
        n_items: Number of independent items.
        confidence_level: Confidence level, strictly between 0 and 1.

    Returns:
        The interval, inside [0, 1].

    Raises:
        TypeError: If a count is not a whole number.
        ValueError: If there are more successes than items, or an argument is out of range.

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

    return _make_wilson_interval(k / n, n, level, "Wilson score")


def cluster_wilson(
    successes: Any,
    sizes: Any,
    *,
    confidence_level: float = 0.95,
    n_items: int | None = None,
) -> Interval:
    r"""Compute the Wilson interval of a share of items in clusters.

    The share \(\hat p = \sum_g k_g / M\), with \(M = \sum_g m_g\) items in G clusters, has the
    variance v, from which the effective number of items follows:

    \[ v = \frac{G}{G - 1} \sum_g \frac{(k_g - \hat p m_g)^2}{M^2}, \quad
       n^* = \frac{\hat p (1 - \hat p)}{v} \left(\frac{t_{M - 1}}{t_{G - 1}}\right)^2. \]

    The ratio of quantiles of Student's t allows for the error of v, which is large if there are few
    clusters. Before it is applied, n* is limited to the range from \(M^2 / \sum_g m_g^2\), its
    value if all items of a cluster agree, to M, its value if they are independent. A share of 0 or
    1 gives no v; then n* is the lower limit. So the width is never zero, and clusters of one item
    each give the plain Wilson interval.

    Args:
        successes: (G,) number of successes in each cluster.
        sizes: (G,) number of items in each cluster, or the sum of their weights; above 0.
        confidence_level: Confidence level, strictly between 0 and 1.
        n_items: Number of items M if `sizes` are sums of weights. If None (default), M is the sum
            of the sizes.

    Returns:
        The interval, inside [0, 1].

    Raises:
        ValueError: If the lengths differ, a size is not positive, or a cluster has more successes
            than items.

    References:
        Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of
        Positive Counts Estimated from Survey Data; Dean, Pagano (2015), Evaluating Confidence
        Interval Methods for Binomial Proportions in Clustered Surveys.

    Example:
        Three clusters in which all items are correct count as three items.

        >>> interval = cluster_wilson([4, 4, 4], [4, 4, 4])
        >>> interval == dataclasses.replace(wilson(3, 3), method=interval.method)
        True
    """
    counts = _GroupCounts.parse(successes, sizes, "cluster")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)

    n_clusters = len(counts.sizes)
    total = float(counts.sizes.sum())
    share = float(counts.successes.sum() / total)

    # The lower limit of n*, which is right if all items of a cluster agree.
    n_effective = total**2 / sum_squares(counts.sizes)
    if n_clusters > 1 and 0 < share < 1:
        max_effective = n_items if n_items else total
        variance = _estimate_cluster_variance(counts, share, total)
        n_by_variance = max_effective
        if variance > 0:
            n_by_variance = share * (1 - share) / variance

        # The upper limit of n*. The shares of clusters may be more similar than by chance, but n* is
        # never larger than the number of items.
        n_effective = max(n_effective, min(max_effective, n_by_variance))
        # The normal quantile fits a variance from M items, but v comes from only G clusters.
        quantile_of_items = get_student_quantile(max_effective - 1, level)
        quantile_of_clusters = get_student_quantile(n_clusters - 1, level)
        n_effective *= (quantile_of_items / quantile_of_clusters) ** 2

    method = "Wilson score by the effective number of items"
    return _make_wilson_interval(share, n_effective, level, method)


def _estimate_cluster_variance(
    counts: _GroupCounts,
    share: float,
    total: float,
) -> float:
    r"""Estimate the variance of a share of items in clusters.

    It is \(\frac{G}{G - 1} \sum_g (k_g - \hat p m_g)^2 / M^2\) for G clusters with \(k_g\)
    successes among \(m_g\) items.

    Args:
        counts: Successes and sizes of at least two clusters.
        share: Share of successes, p.
        total: Sum of the sizes, M.
    """
    # The share is a ratio of two sums that both vary from cluster to cluster. Its deviations are
    # therefore those of the successes from what is expected for the size of the cluster.
    n_clusters = len(counts.sizes)
    deviations = counts.successes - share * counts.sizes
    correction = n_clusters / (n_clusters - 1)
    return correction * sum_squares(deviations) / total**2


def stratified_wilson(
    successes: Any,
    sizes: Any,
    *,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Compute the Wilson interval of the unweighted mean of the shares of strata.

    With shares \(p_f = k_f / n_f\) of F strata and their mean \(\hat p\), the effective number of
    items is

    \[ n^* = \hat p (1 - \hat p) / v, \quad v = \frac1{F^2} \sum_f \frac{d_f}{2 n_f}, \quad
       d_f = \frac{(n_f - 1) \hat d_f + \bar d}{n_f}, \quad
       \hat d_f = \frac{2 p_f (1 - p_f) n_f}{n_f - 1}, \]

    where \(d_f\) estimates the chance that two items of a stratum differ. It shrinks the unbiased
    \(\hat d_f\) towards \(\bar d\), the mean of \(\hat d_f\) over the strata with at least two
    items and one further stratum with \(2 \tilde p (1 - \tilde p)\),
    \(\tilde p = (F \hat p + 1/2) / (F + 1)\). For one stratum, and if the mean share is 0 or 1, n*
    is \(F^2 / \sum_f 1/n_f\). So the width is never zero, even if the items of each stratum are all
    correct or all incorrect, or if each stratum has only one item.

    Args:
        successes: (F,) number of successes in each stratum.
        sizes: (F,) number of items in each stratum, at least 1.
        confidence_level: Confidence level, strictly between 0 and 1.

    Returns:
        The interval, inside [0, 1].

    Raises:
        ValueError: If the lengths differ, a size is below 1, or a stratum has more successes than
            items.

    References:
        Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of
        Positive Counts Estimated from Survey Data. The shrinkage of \(\hat d_f\) is ours.

    Example:
        >>> interval = stratified_wilson([1, 0, 1], [1, 1, 1])
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.201, 0.941)
    """
    counts = _GroupCounts.parse(successes, sizes, "stratum", min_size=1)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)

    n_strata = len(counts.sizes)
    shares = counts.successes / counts.sizes
    share = float(shares.mean())
    if n_strata > 1 and 0 < share < 1:
        difference_rates = _estimate_difference_rates(shares, counts.sizes)
        # Half the chance that two items of a stratum differ is the variance of one item.
        variances = difference_rates / 2 / counts.sizes
        sum_of_variances = float(variances.sum())
        n_effective = share * (1 - share) * n_strata**2 / sum_of_variances
    else:
        # The variance within strata cannot be estimated. It is that of the mean share in each.
        reciprocals = 1 / counts.sizes
        n_effective = n_strata**2 / float(reciprocals.sum())

    method = "Wilson score by the effective number of items of the strata"
    return _make_wilson_interval(share, n_effective, level, method)


def _estimate_difference_rates(shares: Floats, sizes: Floats) -> Floats:
    """Estimate the chance that two items of a stratum differ, shrunk towards the mean chance.

    Args:
        shares: (F,) share of successes of each stratum.
        sizes: (F,) number of items of each stratum.

    Returns:
        (F,) chances.
    """
    # A stratum of one item has no pair: its share is 0 or 1, so that any divisor gives a rate of 0.
    divisors = np.maximum(sizes - 1, 1)
    rates = 2 * shares * (1 - shares) * sizes / divisors

    # One additional stratum keeps the mean above 0 if no pair of items differs. Half an item in its
    # share keeps that share away from 0 and 1.
    n_strata = len(sizes)
    share = float(shares.mean())
    smoothed_share = (n_strata * share + 0.5) / (n_strata + 1)
    additional_rate = 2 * smoothed_share * (1 - smoothed_share)

    rates_of_pairs = rates[sizes > 1]
    n_rates = len(rates_of_pairs) + 1
    mean_rate = (rates_of_pairs.sum() + additional_rate) / n_rates

    # Shrinkage: one item of each stratum counts as an item of an average stratum.
    totals = (sizes - 1) * rates + mean_rate
    return np.asarray(totals / sizes)


def compute_wilson_ends(
    share: float,
    n_items: float,
    quantile: float,
) -> tuple[float, float]:
    """Compute the ends of the Wilson score interval of a share.

    Args:
        share: Share of successes.
        n_items: Number of items, or an effective number, which need not be whole.
        quantile: Normal quantile z, or one of Student's t.

    Returns:
        Lower and upper end. For a share of 0 or 1, one end is exactly that number.
    """
    z_squared = quantile * quantile
    denominator = 1 + z_squared / n_items
    center = (share + z_squared / (2 * n_items)) / denominator

    variance = share * (1 - share) / n_items
    correction = z_squared / (4 * n_items * n_items)
    half_width = quantile * np.sqrt(variance + correction) / denominator

    low = center - half_width
    high = center + half_width
    # The exact end of a share of 0 or 1 is that share, but rounding would miss it.
    if share == 0:
        low = 0.0
    if share == 1:
        high = 1.0
    return float(max(low, 0.0)), float(min(high, 1.0))


# ---------------------------------------------------------------------------- bounded means


def bounded_mean_interval(
    values: Any,
    *,
    low: float,
    high: float,
    confidence_level: float = 0.95,
    clusters: Any = None,
) -> Interval:
    r"""Compute the interval of a mean of bounded values by Student's t, with an item at each bound.

    \[ \tilde m \pm t_{G+1} \frac{\sqrt{\sum_g (s_g - \tilde m n_g)^2}}{\sum_g n_g}, \quad
       \tilde m = \sum_g s_g / \sum_g n_g, \]

    The sums run over G clusters of \(n_g\) values with the sum \(s_g\), and over two additional
    clusters of the mean size, one at each bound. Without clusters, they run over the values, `low`
    and `high`. These two keep the width positive if all values agree. The coverage falls at most
    about one point short of the nominal level (simulated: docs/evidence/validity.md), at the price
    of a larger width with fewer than about ten values.

    Args:
        values: (N,) values in [low, high]. Differences of two flags or shares lie in [-1, 1].
        low: Smallest possible value.
        high: Largest possible value.
        confidence_level: Confidence level, strictly between 0 and 1.
        clusters: (N,) cluster names. If None, the values are independent.

    Returns:
        The interval, inside [low, high].

    Raises:
        ValueError: If there are no values, or one of them is out of bounds.

    References:
        Agresti, Min (2005), Simple Improved Confidence Intervals for Comparing Matched Proportions.

    Example:
        (1 + 1 + 0 + 1 - 1) / 5 = 0.4 with the bounds; the mean square deviation is
        4/5 - 0.16 = 0.64.

        >>> interval = bounded_mean_interval([1, 1, 0], low=-1, high=1)
        >>> round(interval.low, 3), interval.high
        (-0.593, 1.0)
    """
    checked = check_vector(values, "values", minimum=low, maximum=high)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    units = sum_units(checked, number_clusters(clusters, len(checked)))
    return make_bounded_mean_interval(units, low=low, high=high, level=level)


def make_bounded_mean_interval(
    units: UnitSums,
    *,
    low: float,
    high: float,
    level: float,
) -> Interval:
    """Compute the interval of a mean of bounded values by Student's t, with a unit at each bound.

    It is `bounded_mean_interval` for values that are already checked.

    Args:
        units: Sums and numbers of the values of each independent unit.
        low: Smallest possible value.
        high: Largest possible value.
        level: Confidence level.
    """
    # One unit of the mean size at each bound, in the spirit of Agresti and Coull's "add two
    # successes and two failures".
    mean_size = units.sizes.mean()
    sums = np.append(units.sums, [low * mean_size, high * mean_size])
    sizes = np.append(units.sizes, [mean_size, mean_size])

    # The sizes are random, too: a ratio of two sums has the deviations s_g - m n_g.
    total_size = float(sizes.sum())
    center = float(sums.sum() / sizes.sum())
    deviations = sums - center * sizes
    spread = math.sqrt(sum_squares(deviations))
    quantile = get_student_quantile(len(sums) - 1, level)
    half_width = quantile * spread / total_size

    return Interval(
        low=max(float(low), center - half_width),
        high=min(float(high), center + half_width),
        confidence_level=level,
        method="Student's t with an item at each bound",
    )


# ------------------------------------------------------------------------------------ AUROC


def delong(
    scores: Any,
    events: Any,
    *,
    confidence_level: float = 0.95,
    clusters: Any = None,
) -> Interval:
    r"""Compute the interval of an AUROC, the chance that an item with the event scores higher.

    It is the Wilson interval of the AUROC \(\hat\theta\) for the effective number of items

    \[ n^* = \frac{\tilde\theta (1 - \tilde\theta)}{v} \left(\frac{z}{t}\right)^2, \quad
       v = \frac{s_1^2}{m + 1/2} + \frac{s_0^2}{n + 1/2} \]

    The placement of an item with the event is the share of items without the event that have lower
    scores; that of an item without the event is the share of items with the event that have higher
    scores. \(s_1^2\) is the variance of the placements of the m items with the event, \(s_0^2\) that
    of the n items without it, each after adding half an item with the placement 1/2;
    \(\tilde\theta\) is the mean of the two mean placements. Without these halves, there would be
    next to no variance if the event separates the scores. z is the normal quantile, and t that of
    Student's t with Welch's degrees of freedom. Nothing is assumed about the distributions of the
    scores.

    With clusters, half a cluster of the mean size is added instead, v is the sum of the squared
    deviations of the clusters, and there are at most as many degrees of freedom as clusters, less
    one. If all scores are tied, n* is the number of items of the rarer kind.

    Args:
        scores: (N,) finite scores. Ties count as one half.
        events: (N,) whether the event happened. Both kinds must occur.
        confidence_level: Confidence level, strictly between 0 and 1.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        The interval, inside [0, 1].

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the lengths differ, or one of the two kinds is missing.

    References:
        DeLong, DeLong, Clarke-Pearson (1988), Comparing the Areas under Two or More Correlated
        Receiver Operating Characteristic Curves; Obuchowski (1997), Nonparametric Analysis of
        Clustered ROC Curve Data; Newcombe (2006), Confidence Intervals for an Effect Size Measure
        Based on the Mann-Whitney Statistic, for the score interval of an AUROC. The half items are
        ours.

    Example:
        >>> interval = delong([0.9, 0.8, 0.7, 0.6, 0.4, 0.2], [1, 1, 0, 1, 0, 0])
        >>> round(interval.low, 2), round(interval.high, 2)
        (0.32, 0.99)
    """
    items = _ScoredEvents.parse(scores, events, clusters, confidence_level)
    auroc, placements = compute_placements(items.scores, items.events)
    unit_size = len(items.scores) / items.n_units
    positives = _KindPlacements.measure(placements[items.events], unit_size)
    negatives = _KindPlacements.measure(placements[~items.events], unit_size)

    variance, freedom = _estimate_auroc_variance(positives, negatives, items)
    # All scores are tied: every placement is one half, so that no variance can be estimated.
    if variance <= ROUNDING_TOLERANCE:
        n_rarer = float(min(positives.n_items, negatives.n_items))
        return _make_wilson_interval(auroc, n_rarer, items.level, "Wilson score of the rarer kind")

    # The Wilson interval uses z. As the variance is estimated, it should be as wide as by t.
    z = get_normal_quantile(items.level)
    t = get_student_quantile(freedom, items.level)
    center = float((positives.mean + negatives.mean) / 2)
    n_by_variance = center * (1 - center) / variance
    n_effective = n_by_variance * (z / t) ** 2
    method = "Wilson score by DeLong's effective number of items"
    return _make_wilson_interval(auroc, n_effective, items.level, method)


@dataclasses.dataclass(frozen=True, eq=False)
class _ScoredEvents:
    """Scores of items, some of which have an event.

    Attributes:
        scores: (N,) finite scores.
        events: (N,) whether the event happened. Both kinds occur.
        codes: (N,) cluster numbers. None for independent items.
        level: Confidence level of the interval.
    """

    scores: Floats
    events: NDArray[np.bool_]
    codes: NDArray[np.intp] | None
    level: float

    @classmethod
    def parse(
        cls,
        scores: Any,
        events: Any,
        clusters: Any,
        confidence_level: Any,
    ) -> _ScoredEvents:
        """Check the scores and events of items, and number their clusters.

        Args:
            scores: (N,) finite scores.
            events: (N,) flags.
            clusters: (N,) cluster names; None for independent items.
            confidence_level: Confidence level, strictly between 0 and 1.

        Raises:
            ValueError: If lengths differ, or all items or none have the event.
        """
        values = check_vector(scores, "scores")
        flags = check_flags(events, "events")
        check_same_length(scores=values, events=flags)
        level = check_fraction(confidence_level, "confidence_level", open_ends=True)
        if flags.all() or not flags.any():
            raise ValueError(
                "Expected items with the event and items without the event, but all items are "
                "of one kind."
            )
        codes = number_clusters(clusters, len(flags))
        return cls(scores=values, events=flags, codes=codes, level=level)

    @property
    def n_units(self) -> int:
        """Number of clusters, or of items if they are independent."""
        return count_numbered_units(self.codes, len(self.events))


@dataclasses.dataclass(frozen=True, eq=False)
class _KindPlacements:
    """Placements of the m items of one kind, together with half a unit whose placement is 1/2.

    Attributes:
        n_items: Number of items m.
        mean: Mean placement, with the half unit.
        deviations: (m,) amount by which each item moves the mean.
        half_square: Square of the deviation of the half unit.
        variance: Variance of the mean.
        freedom: Degrees of freedom of the variance.
    """

    n_items: int
    mean: float
    deviations: Floats
    half_square: float
    variance: float
    freedom: float

    @classmethod
    def measure(cls, placements: Floats, unit_size: float) -> _KindPlacements:
        """Compute mean and variance of placements, after adding half a unit with the placement 1/2.

        The half unit keeps the variance above 0 if all placements are 1, as for separable scores.

        Args:
            placements: (m,) placements of the items of one kind.
            unit_size: Mean number of items per unit.
        """
        n_items = len(placements)
        # Half a unit has the weight unit_size / 2, and half of this as the sum of its placements.
        weight = n_items + unit_size / 2
        mean = (placements.sum() + unit_size / 4) / weight
        deviations = (placements - mean) / weight

        # The half unit has the deviation of a whole unit, whose square counts by half.
        half_deviation = unit_size * (0.5 - mean) / weight
        half_square = half_deviation * half_deviation / 2
        square = half_square + (deviations**2).sum()

        # Bessel's correction, for a sample of m + 1/2 items.
        freedom = n_items - 0.5
        return cls(
            n_items=n_items,
            mean=mean,
            deviations=deviations,
            half_square=half_square,
            variance=square * (n_items + 0.5) / freedom,
            freedom=freedom,
        )


def _estimate_auroc_variance(
    positives: _KindPlacements,
    negatives: _KindPlacements,
    items: _ScoredEvents,
) -> tuple[float, float]:
    """Estimate the variance of an AUROC over items or clusters, and its degrees of freedom.

    Args:
        positives: Placements of the items with the event, their variance and degrees of freedom.
        negatives: Placements of the items without the event.
        items: All items; `codes` has the cluster number of each, or is None for independent items.

    Returns:
        Variance and degrees of freedom; 0 and 0 if all scores are tied.
    """
    variances = np.array([positives.variance, negatives.variance])
    variance = float(variances.sum())
    if variance <= ROUNDING_TOLERANCE:
        return 0.0, 0.0
    # Welch's degrees of freedom of the sum of two variances.
    terms = variances**2 / np.array([positives.freedom, negatives.freedom])
    freedom = variance**2 / float(terms.sum())
    if items.codes is None:
        return variance, freedom

    # A cluster may have items of both kinds, whose deviations therefore add up before they are
    # squared (Obuchowski 1997).
    deviations = np.empty(len(items.events))
    deviations[items.events] = positives.deviations
    deviations[~items.events] = negatives.deviations
    cluster_deviations = sum_units(deviations, items.codes).sums
    half_squares = positives.half_square + negatives.half_square
    squares = sum_squares(cluster_deviations) + float(half_squares)
    n_units = items.n_units
    variance = squares * n_units / max(n_units - 1, 1)
    return variance, min(freedom, n_units - 1)


def compute_placements(scores: Floats, events: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Compute an AUROC and the placement of each item.

    The placement is the share of items of the other kind that the item is on the correct side of:
    lower scores for an item with the event, higher scores for an item without it.

    Args:
        scores: (N,) scores. Ties count as one half.
        events: (N,) whether the event happened; both kinds occur.

    Returns:
        The AUROC, and (N,) placements.

    Example:
        >>> compute_placements(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]))
        (0.875, array([1.  , 0.75, 0.75, 1.  ]))
    """
    # Rows in ascending order of their scores, because sorted scores are counted faster.
    positive_rows = _sort_rows(np.flatnonzero(events), scores)
    negative_rows = _sort_rows(np.flatnonzero(~events), scores)
    positive_scores = scores[positive_rows]
    negative_scores = scores[negative_rows]

    placements = np.empty(len(scores))
    # Counts are doubled, so that a tie, which counts one half, is a whole number.
    twice_below = _count_twice_below(positive_scores, negative_scores)
    placements[positive_rows] = twice_below / (2 * len(negative_rows))
    # An item without the event should be below those with it.
    twice_all = 2 * len(positive_rows)
    twice_above = twice_all - _count_twice_below(negative_scores, positive_scores)
    placements[negative_rows] = twice_above / twice_all
    return float(placements[events].mean()), placements


def _sort_rows(rows: Positions, scores: Floats) -> Positions:
    """Return rows in ascending order of their scores."""
    return rows[argsort_scores(scores[rows])]


def _count_twice_below(scores: Floats, references: Floats) -> Positions:
    """Return twice the number of references below each score, where a tie counts one half.

    Args:
        scores: (n,) scores in ascending order.
        references: (m,) scores in ascending order. With both sorted, the binary search stays in the
            processor's cache, and is several times as fast for a million scores.

    Returns:
        (n,) whole numbers.
    """
    n_below = np.searchsorted(references, scores, side="left")
    n_below_or_equal = np.searchsorted(references, scores, side="right")
    return n_below + n_below_or_equal


# ---------------------------------------------------------------------------------- helpers


@dataclasses.dataclass(frozen=True, eq=False)
class _GroupCounts:
    """Successes among the items of several groups.

    Attributes:
        successes: (G,) number of successes of each group.
        sizes: (G,) number of items of each group, or the sum of their weights; above 0.
    """

    successes: Floats
    sizes: Floats

    @classmethod
    def parse(
        cls,
        successes: Any,
        sizes: Any,
        group: str,
        *,
        min_size: float | None = None,
    ) -> _GroupCounts:
        """Check the numbers of successes and of items of several groups.

        Args:
            successes: (G,) number of successes.
            sizes: (G,) number of items.
            group: Noun for a group, such as "cluster", for error messages.
            min_size: Smallest allowed size. If None, sizes must be above 0.

        Raises:
            ValueError: If lengths differ, a size is too small, or a group has more successes than
                items.
        """
        n_successes = check_vector(successes, "successes", minimum=0)
        n_items = check_vector(sizes, "sizes", minimum=min_size)
        check_same_length(successes=n_successes, sizes=n_items)
        is_empty = n_items <= 0
        if is_empty.any():
            row = int(is_empty.argmax())
            raise ValueError(
                f"Expected positive numbers in `sizes`, but {group} {row} has {n_items[row]:g}."
            )
        is_overfull = n_successes > n_items
        if is_overfull.any():
            row = int(is_overfull.argmax())
            raise ValueError(
                f"Expected `successes` to be at most `sizes`, but {group} {row} has "
                f"{n_successes[row]:g} of {n_items[row]:g}."
            )
        return cls(successes=n_successes, sizes=n_items)


def get_normal_quantile(level: float) -> float:
    """Return the normal quantile z for a two-sided interval of a confidence level."""
    return float(special.ndtri(0.5 + level / 2))


def get_student_quantile(freedom: float, level: float) -> float:
    """Return the quantile of Student's t for a two-sided interval.

    Args:
        freedom: Degrees of freedom. Fewer than one count as one.
        level: Confidence level of the interval.
    """
    return float(special.stdtrit(max(freedom, 1.0), 0.5 + level / 2))


def _make_wilson_interval(
    share: float,
    n_items: float,
    level: float,
    method: str,
) -> Interval:
    """Compute the Wilson score interval of a share.

    Args:
        share: Share of successes.
        n_items: Number of items, or an effective number, which need not be whole.
        level: Confidence level.
        method: Name of the method, for the interval.
    """
    low, high = compute_wilson_ends(share, n_items, get_normal_quantile(level))
    return Interval(low=low, high=high, confidence_level=level, method=method)


def sum_squares(values: Floats) -> float:
    """Return the sum of the squares of values."""
    return float((values**2).sum())

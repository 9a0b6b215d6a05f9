r"""Confidence intervals of any figure, by resampling or by leaving out groups of items.

`bootstrap_sums` resamples a figure that is a function of sums over items, all resamples at once;
`bootstrap_mean` is its most common case. `bootstrap` recomputes any figure on every resample.
`jackknife` is for figures that are biased in few items, of which a bootstrap makes the bias worse.
With more than `MAX_BOOTSTRAP_UNITS` units, the last two compute the figure on random groups of
units instead, so that each item is read once. `make_quantile_interval`, `make_bca_interval` and
`make_group_interval` turn figures that are already resampled into intervals.

Draws of independent items depend on the seed and on the values of the items, but not on the order of
the items (except for random groups of more units than that). Clusters are drawn by their rank among
the names of all clusters.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, to_floats, to_numpy
from rightreasons.core.clusters import (
    count_numbered_units,
    list_members,
    number_clusters,
    pool_units,
    sum_rows,
    sum_units,
)
from rightreasons.core.intervals import (
    ROUNDING_TOLERANCE,
    Interval,
    get_student_quantile,
    make_bounded_mean_interval,
    sum_squares,
)
from rightreasons.core.ordering import argsort_canonical
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_kind, check_vector

MAX_JACKKNIFE_GROUPS = 200
"""Largest number of groups that are left out, one after the other, if there are more units."""

MAX_BOOTSTRAP_UNITS = 20_000
"""Largest number of units for which any figure is recomputed on resamples."""

N_RANDOM_GROUPS = 40
"""Number of random groups on which any figure is computed if there are more units."""

_GROUPING_SEED = 5
"""Seed of random groups. It is fixed, so that a jackknife does not depend on an option."""


# ------------------------------------------------------------- intervals of resampled figures


def make_quantile_interval(
    resamples: Floats,
    level: float,
    *,
    mirrored_at: float | None = None,
    method: str | None = None,
) -> Interval:
    r"""Make an interval from the quantiles of a resampled figure at \((1 \pm level) / 2\).

    Args:
        resamples: (R,) finite values of the figure in resamples.
        level: Confidence level.
        mirrored_at: Value θ̂ of the figure for a basic bootstrap, whose ends are 2 θ̂ minus the
            quantiles. If None (default), the interval is a percentile bootstrap.
        method: Name of the method. Defaults to "percentile bootstrap" or "basic bootstrap".

    Returns:
        The interval.

    References:
        Davison, Hinkley (1997), Bootstrap Methods and their Application, section 5.2.

    Example:
        >>> values = np.array([0.0, 1.0, 1.0, 4.0, 9.0])
        >>> interval = make_quantile_interval(values, 0.5)
        >>> interval.low, interval.high
        (1.0, 4.0)
        >>> mirrored = make_quantile_interval(values, 0.5, mirrored_at=2.0)
        >>> mirrored.low, mirrored.high
        (0.0, 3.0)
    """
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    low, high = np.quantile(resamples, tails)
    default_method = "percentile bootstrap"
    if mirrored_at is not None:
        low, high = 2.0 * mirrored_at - high, 2.0 * mirrored_at - low
        default_method = "basic bootstrap"
    return Interval(
        low=float(low),
        high=float(high),
        confidence_level=level,
        method=method or default_method,
        n_resamples=len(resamples),
    )


def make_bca_interval(
    estimate: float,
    resamples: Floats,
    jackknife: Floats,
    n_units: int,
    level: float,
) -> Interval:
    r"""Make a bias-corrected and accelerated (BCa) interval of a resampled figure.

    Its ends are the quantiles of the resamples at

    \[ \Phi\left(z_0 + \frac{z_0 \pm z}{1 - a (z_0 \pm z)}\right), \quad
       a = \frac{\sum_i (\bar\theta - \theta_{(i)})^3}
                {6 \left(\sum_i (\bar\theta - \theta_{(i)})^2\right)^{3/2}} \]

    with the bias correction \(z_0\), for which \(\Phi(z_0)\) is the share of resamples below the
    figure, counting ties by half, and the acceleration a, from the figures \(\theta_{(i)}\) without
    unit i. Resamples of few units vary less than samples do. To make up for it, z is the quantile
    of Student's t with n - 1 degrees of freedom, times \(\sqrt{n/(n-1)}\).

    Args:
        estimate: The figure.
        resamples: (R,) finite values of the figure in resamples.
        jackknife: (G,) values of the figure without each unit, or without each group of units.
            Values that are not finite are ignored.
        n_units: Number of units n.
        level: Confidence level.

    Returns:
        The interval.

    References:
        Efron (1987), Better Bootstrap Confidence Intervals; Hesterberg (2015), What Teachers Should
        Know About the Bootstrap, section 5 (the wider quantiles).
    """
    bias_correction = _compute_bias_correction(estimate, resamples)
    acceleration = _compute_acceleration(jackknife)

    # The expanded percentile interval of Hesterberg, instead of the normal quantile.
    narrowness = np.sqrt(n_units / max(n_units - 1, 1))
    z = get_student_quantile(n_units - 1, level) * narrowness
    shifted = bias_correction + z * np.array([-1.0, 1.0])
    # A strong acceleration could turn the sign of the divisor: then the end is an extreme resample.
    divisors = np.maximum(1 - acceleration * shifted, ROUNDING_TOLERANCE)
    tails = special.ndtr(bias_correction + shifted / divisors)

    low, high = np.quantile(resamples, tails)
    return Interval(
        low=float(low),
        high=float(high),
        confidence_level=level,
        method="BCa bootstrap",
        n_resamples=len(resamples),
    )


def _compute_bias_correction(estimate: float, resamples: Floats) -> float:
    """Return the bias correction z0 of BCa: the normal quantile of the share of smaller resamples.

    Args:
        estimate: The figure.
        resamples: (R,) values of the figure in resamples.
    """
    # Ties count by half; values that differ by rounding are ties.
    share_below = np.mean(resamples < estimate - ROUNDING_TOLERANCE)
    share_up_to = np.mean(resamples <= estimate + ROUNDING_TOLERANCE)
    share = (share_below + share_up_to) / 2

    # If all resamples are on one side, the quantile would be infinite.
    margin = 0.5 / len(resamples)
    return float(special.ndtri(np.clip(share, margin, 1.0 - margin)))


def _compute_acceleration(jackknife: Floats) -> float:
    """Return the acceleration a of BCa, a sixth of the skewness of the jackknife figures.

    Args:
        jackknife: (G,) figures without each unit or group of units. Values that are not finite are
            ignored.
    """
    figures = jackknife[np.isfinite(jackknife)]
    # Without any defined figure, the skewness is unknown.
    if not len(figures):
        return 0.0
    deviations = figures.mean() - figures
    spread = math.pow(sum_squares(deviations), 1.5)
    # Figures that differ only by rounding are not skewed.
    if spread <= ROUNDING_TOLERANCE**3:
        return 0.0
    return float((deviations**3).sum()) / (6 * spread)


def make_group_interval(
    value: float,
    figures: Sequence[float | None],
    level: float,
) -> Interval | None:
    r"""Make the t interval of a figure from its values in random groups of items.

    The end on the side of the bias is further away by the bias b, which follows from the bias of
    the groups, \(b \sqrt G\).

    Args:
        value: The figure of all items.
        figures: G values of the figure, each in one group. None if the figure is undefined.
        level: Confidence level.

    Returns:
        The interval, or None if the figure is undefined in any group.

    References:
        Ibragimov, Mueller (2010), t-Statistic Based Correlation and Heterogeneity Robust Inference.
    """
    defined = np.array([figure for figure in figures if figure is not None])
    if len(defined) < len(figures) or not np.isfinite([value, *defined]).all():
        return None
    n_groups = len(defined)
    root = np.sqrt(n_groups)
    deviation = float(defined.std(ddof=1))
    half_width = get_student_quantile(n_groups - 1, level) * deviation / root

    # Groups are biased by b * sqrt(G) and all items by b, if the bias falls with the square root of
    # their number, so that the two differ by b * (sqrt(G) - 1).
    bias = (defined.mean() - value) / (root - 1)
    low = value - half_width - max(bias, 0.0)
    high = value + half_width - min(bias, 0.0)
    method = f"t interval of {n_groups} random groups"
    return Interval(low=float(low), high=float(high), confidence_level=level, method=method)


# -------------------------------------------------------------------------------- bootstraps


def bootstrap_mean(
    values: Any,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Interval:
    """Compute a confidence interval of a mean.

    The method is the BCa bootstrap, or `bounded_mean_interval` if the values have bounds.

    Args:
        values: (N,) one value per item; True and False count as 1 and 0.
        bounds: Smallest and largest possible value. If None (default), there are no bounds; equal
            values then give an interval of width zero, which is not informative.
        clusters: (N,) cluster names; whole clusters are resampled. If None, the items are
            independent.
        resampling: Confidence level, number of resamples, and seed.

    Returns:
        The interval.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If there are no values, or one is not finite.

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
    checked = parse_vector(values, "values")
    codes = number_clusters(clusters, len(checked))
    if bounds is None:
        return bootstrap_checked_mean(checked, codes, resampling)

    low, high = bounds
    # Rounding may have carried a value beyond a bound.
    units = sum_units(np.clip(checked, low, high), codes)
    return make_bounded_mean_interval(units, low=low, high=high, level=resampling.level)


def bootstrap_checked_mean(
    values: Floats,
    codes: NDArray[np.intp] | None,
    resampling: Resampling,
) -> Interval:
    """Compute the BCa bootstrap interval of a mean of unbounded, checked values.

    Args:
        values: (N,) finite values.
        codes: (N,) cluster numbers. If None, the values are independent.
        resampling: Confidence level, number of resamples, and seed.
    """
    # Draws are by position: sorted values make them independent of the order of the input.
    if codes is None:
        values = np.sort(values)
    # Resampled clusters differ in size, so that the number of values is a separate sum.
    table = np.column_stack((values, np.ones(len(values))))
    units = table if codes is None else sum_rows(codes, table)
    return _bootstrap_units(_divide_sums, units, resampling)


def _divide_sums(totals: Floats) -> Floats:
    """Return means from (..., 2) sums of values and numbers of values."""
    return np.asarray(totals[..., 0] / totals[..., 1])


def bootstrap_sums(
    statistic: Callable[[Floats], Any],
    values: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Interval:
    """Compute a BCa bootstrap interval of a figure that is a function of sums over items.

    All resamples are computed at once. (`scipy.stats.bootstrap` is no faster, and has neither
    clusters, nor undefined resamples, nor the wider quantiles of Student's t.)

    Args:
        statistic: Function of (..., S) sums that returns (...) figures. NaN if the figure is
            undefined; such resamples are excluded.
        values: (N, S) contribution of each item to the S sums.
        clusters: (N,) cluster names. If None, the items are independent.
        resampling: Confidence level, number of resamples, and seed.

    Returns:
        The interval. `n_resamples` is the number of resamples in which the figure is defined.

    Raises:
        ValueError: If the figure is undefined for the items themselves or for every resample.

    Example:
        Precision is hits / predictions: two sums.

        >>> hits, predicted = [1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]
        >>> precision = lambda sums: sums[..., 0] / sums[..., 1]
        >>> table = np.column_stack((hits, predicted))
        >>> bootstrap_sums(precision, table, resampling=Resampling(seed=1)).high
        1.0
    """
    table = _parse_table(values)
    codes = number_clusters(clusters, len(table))
    if codes is not None:
        units = sum_rows(codes, table)
    else:
        # Resamples are drawn by position. Items are sorted by their values, so that the resamples do
        # not depend on the order of the input.
        order = argsort_canonical(*table.T)
        # Sorting one column after another is several times as fast as indexing the table.
        units = np.column_stack([column[order] for column in table.T])
    return _bootstrap_units(statistic, units, resampling)


def _bootstrap_units(
    statistic: Callable[[Floats], Any], units: Floats, resampling: Resampling
) -> Interval:
    """Compute the BCa bootstrap interval of a figure of sums, by resampling independent units.

    Args:
        statistic: Function of (..., S) sums that returns (...) figures, NaN if undefined.
        units: (G, S) sums of each unit. Many units are pooled first.
        resampling: Confidence level, number of resamples R, and seed.

    Raises:
        ValueError: If the figure is undefined for all units together, or for every resample.
    """
    units = pool_units(units, resampling.seed)
    n_units = len(units)
    total = units.sum(axis=0)

    # A resample is a number of copies of each unit; its sums are a product of matrices.
    rng = np.random.default_rng([resampling.seed, 1])
    probabilities = np.full(n_units, 1.0 / n_units)
    blocks = []
    # An undefined figure, such as a ratio with the divisor 0, is NaN and excluded below.
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.asarray(statistic(total)))
        for n_resamples in resampling.split_into_blocks(n_units):
            copies = rng.multinomial(n_units, probabilities, size=n_resamples)
            sums = copies.astype(np.float64) @ units
            blocks.append(np.atleast_1d(statistic(sums)))
        # Row g of the difference is the sum of all units but unit g.
        figures_without_unit = np.atleast_1d(statistic(total - units))

    resamples = _select_defined(estimate, np.concatenate(blocks))
    return make_bca_interval(
        estimate=estimate,
        resamples=resamples,
        jackknife=figures_without_unit,
        n_units=n_units,
        level=resampling.level,
    )


def bootstrap(
    statistic: Callable[..., float | None],
    *columns: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
    mirrored: bool = False,
) -> Interval:
    r"""Compute a BCa bootstrap interval of any figure.

    The figure is recomputed on every resample; `bootstrap_sums` is much faster. With more than
    `MAX_BOOTSTRAP_UNITS` units, the result is the t interval of G = `N_RANDOM_GROUPS` random groups
    of units, for which each item is read once:

    \[ \hat\theta \pm t_{G - 1} \, s / \sqrt G \]

    with the standard deviation s of the figures of the groups, and an allowance for their bias (see
    `make_group_interval`).

    Args:
        statistic: Function of the resampled columns that returns a number, or None if the figure is
            undefined.
        *columns: Arrays with N items along the first axis, resampled together.
        clusters: (N,) cluster names. If None, the items are independent.
        resampling: Confidence level, number of resamples, and seed.
        mirrored: Whether to return a basic bootstrap, with the ends 2 θ̂ - θ*, which suits a biased
            figure, instead of BCa. The acceleration of BCa is computed from at most
            `MAX_JACKKNIFE_GROUPS` groups of units.

    Returns:
        The interval.

    Raises:
        ValueError: If a column is empty, lengths differ, or the figure is undefined.

    References:
        Efron (1987), Better Bootstrap Confidence Intervals; for groups: Ibragimov, Mueller (2010),
        t-Statistic Based Correlation and Heterogeneity Robust Inference.

    Example:
        >>> interval = bootstrap(lambda x: float(np.median(x)), [1.0, 2.0, 3.0, 4.0, 100.0])
        >>> interval.low, interval.high
        (1.0, 100.0)
    """
    items = _Columns.parse(columns, clusters)
    if items.n_units > MAX_BOOTSTRAP_UNITS:
        interval = _make_interval_of_groups(statistic, items, resampling.level)
        if interval is not None:
            return interval

    compute_figure = _make_figure_function(statistic, items)
    n_units = items.n_units
    all_units = np.arange(n_units)
    rng = np.random.default_rng(resampling.seed)
    resamples = []
    for _ in range(resampling.resamples):
        drawn_units = rng.integers(n_units, size=n_units)
        resamples.append(compute_figure(drawn_units))

    estimate = compute_figure(all_units)
    defined = _select_defined(estimate, np.array(resamples))
    if mirrored:
        return make_quantile_interval(defined, resampling.level, mirrored_at=estimate)
    figures_without_group = []
    for group in _split_units(n_units, resampling.seed):
        figures_without_group.append(compute_figure(np.delete(all_units, group)))
    return make_bca_interval(
        estimate=estimate,
        resamples=defined,
        jackknife=np.array(figures_without_group),
        n_units=n_units,
        level=resampling.level,
    )


def _make_interval_of_groups(
    statistic: Callable[..., float | None],
    items: _Columns,
    level: float,
) -> Interval | None:
    """Compute the t interval of a figure from its values in random groups of items.

    Args:
        statistic: Function of the columns that returns the figure, or None if it is undefined.
        items: The columns.
        level: Confidence level.

    Returns:
        The interval, or None if the figure is undefined for all items or in any group.
    """
    estimate = statistic(*items.arrays)
    figures = [statistic(*items.select(rows)) for rows in items.draw_groups()]
    if estimate is None:
        return None
    return make_group_interval(estimate, figures, level)


def _make_figure_function(
    statistic: Callable[..., float | None], items: _Columns
) -> Callable[[NDArray[np.intp]], float]:
    """Return a function that computes a figure of the items of selected clusters.

    Args:
        statistic: Function of columns that returns the figure, or None if it is undefined.
        items: Columns of all items; `codes` has the cluster number of each item, or is None.

    Returns:
        Function of an array of cluster numbers (of row numbers for independent items), which may be
        repeated. It returns the figure of their items, NaN if it is undefined.
    """
    rows_by_cluster = None if items.codes is None else list_members(items.codes)

    def compute_figure(units: NDArray[np.intp]) -> float:
        rows = units
        if rows_by_cluster is not None:
            rows = np.concatenate([rows_by_cluster[unit] for unit in units])
        figure = statistic(*items.select(rows))
        return np.nan if figure is None else float(figure)

    return compute_figure


def _split_units(n_units: int, seed: int) -> list[NDArray[np.intp]]:
    """Split units at random into at most `MAX_JACKKNIFE_GROUPS` groups, which BCa leaves out in turn.

    Args:
        n_units: Number of units.
        seed: Seed of the bootstrap.

    Returns:
        Unit numbers of each group. No group for a single unit, without which nothing is left.
    """
    if n_units == 1:
        return []
    # The second number separates these draws from those of the resamples.
    shuffled = np.random.default_rng([seed, 5]).permutation(n_units)
    return np.array_split(shuffled, min(n_units, MAX_JACKKNIFE_GROUPS))


# --------------------------------------------------------------------------------- jackknife


class JackknifeResult(NamedTuple):
    """A figure with its bias and its standard error.

    Attributes:
        figure: The figure.
        bias: Estimate b of its bias.
        standard_error: Its standard error s.
        n_groups: Number of groups G.
    """

    figure: float
    bias: float
    standard_error: float
    n_groups: int


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

    with the figures \(\theta_{(g)}\) without one of G random groups of items or clusters, at most
    `MAX_JACKKNIFE_GROUPS`. A bootstrap would be off by more than the bias, because a resample holds
    some items several times. With more than `MAX_BOOTSTRAP_UNITS` units, no bias is left, and the
    interval is that of `bootstrap`.

    Args:
        statistic: Function of the columns, without some items, that returns a number.
        *columns: Arrays with N items along the first axis, at least two.
        clusters: (N,) cluster names. If None, the items are independent.
        level: Confidence level.
        on_logit: Whether to make the interval on the logit of the figure, for a skewed figure in
            [0, 1]. The bias then moves the figure by at most three quarters of the way to a bound.
        n_known: Number of items or clusters that determine the figure, such as incorrect answers,
            if it is below G. Student's t has one degree of freedom less. If None, it is G.

    Returns:
        The interval.

    References:
        Quenouille (1956), Notes on Bias in Estimation; Tukey (1958), Bias and Confidence in
        Not-quite Large Samples.

    Example:
        The variance of 1, 2 and 6 is 14/3 with a bias of -7/3: the center is the unbiased 7.

        >>> interval = jackknife(lambda x: float(x.var()), [1.0, 2.0, 6.0])
        >>> round((interval.low + interval.high) / 2, 6)
        7.0
    """
    items = _Columns.parse(columns, clusters)
    if items.n_units > MAX_BOOTSTRAP_UNITS:
        return bootstrap(statistic, *columns, clusters=clusters, resampling=Resampling(level))

    result = _leave_out_groups(statistic, items)
    n_determining = min(result.n_groups, n_known or result.n_groups)
    half_width = get_student_quantile(n_determining - 1, level) * result.standard_error
    center = result.figure - result.bias
    method = "jackknife, less the bias"
    if not on_logit:
        low = center - half_width
        high = center + half_width
        return Interval(low=low, high=high, confidence_level=level, method=method)

    # The estimate of the bias is noisy. It may carry the figure out of [0, 1], which has no logit.
    lowest = result.figure / 4
    highest = 1 - (1 - result.figure) / 4
    center = float(np.clip(center, lowest, highest))
    # The delta method: the derivative of the logit is 1 / (p (1 - p)).
    half_width_of_logit = half_width / max(center * (1 - center), ROUNDING_TOLERANCE)
    ends = special.logit(center) + half_width_of_logit * np.array([-1.0, 1.0])
    low, high = special.expit(ends).tolist()
    return Interval(low=low, high=high, confidence_level=level, method=f"{method}, on the logit")


def compute_jackknife(
    statistic: Callable[..., float], *columns: Any, clusters: Any = None
) -> JackknifeResult:
    """Compute a figure with its bias and standard error, by leaving out groups of items.

    With more than `MAX_BOOTSTRAP_UNITS` units, the figure is computed on random groups of units
    instead. The standard error is then that of the mean of these figures, and the bias is 0.

    Args:
        statistic: Function of the columns of some items that returns the figure.
        *columns: Arrays with N items along the first axis, at least two.
        clusters: (N,) cluster names. If None, the items are independent.
    """
    items = _Columns.parse(columns, clusters)
    if items.n_units <= MAX_BOOTSTRAP_UNITS:
        return _leave_out_groups(statistic, items)

    figure = float(statistic(*items.arrays))
    figures = [statistic(*items.select(rows)) for rows in items.draw_groups()]
    n_groups = len(figures)
    standard_error = float(np.std(figures, ddof=1)) / n_groups**0.5
    return JackknifeResult(
        figure=figure, bias=0.0, standard_error=standard_error, n_groups=n_groups
    )


def _leave_out_groups(statistic: Callable[..., float], items: _Columns) -> JackknifeResult:
    """Compute bias and standard error of a figure by the delete-a-group jackknife.

    Args:
        statistic: Function of columns that returns the figure.
        items: The columns. Their clusters, or independent items, are put into at most
            `MAX_JACKKNIFE_GROUPS` random groups.
    """
    n_groups = min(items.n_units, MAX_JACKKNIFE_GROUPS)
    group_of_item = items.assign_groups(n_groups)
    figure = float(statistic(*items.arrays))
    figures = []
    for group in range(n_groups):
        remaining = items.select(group_of_item != group)
        figures.append(statistic(*remaining))
    figures_without_group = np.array(figures)

    # Figures that share all but one group differ little. So their squares have the large factor
    # (G - 1) / G, while those of independent figures have the factor 1 / (G (G - 1)).
    mean = figures_without_group.mean()
    factor = (n_groups - 1) / n_groups
    squares = sum_squares(figures_without_group - mean)
    standard_error = math.sqrt(factor * squares)
    bias = float((n_groups - 1) * (mean - figure))
    return JackknifeResult(
        figure=figure, bias=bias, standard_error=standard_error, n_groups=n_groups
    )


# ---------------------------------------------------------------------------- random groups


def draw_random_groups(n_items: int, clusters: Any = None) -> list[NDArray[np.intp]]:
    """Divide items, or whole clusters, at random into `N_RANDOM_GROUPS` groups of nearly equal size.

    Args:
        n_items: Number of items N.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        Rows of the items of each group.

    Example:
        >>> [len(group) for group in draw_random_groups(82)][:3]
        [3, 3, 2]
    """
    if clusters is None:
        return list(_draw_groups_of_items(n_items))
    codes = number_clusters(clusters, n_items)
    return list_members(_assign_groups(n_items, codes, N_RANDOM_GROUPS))


@functools.lru_cache(maxsize=1)
def _draw_groups_of_items(n_items: int) -> tuple[NDArray[np.intp], ...]:
    """Return the row numbers of each of `N_RANDOM_GROUPS` random groups of independent items.

    The groups only depend on the number of items. They are cached, because an audit computes
    several figures of the same items.

    Args:
        n_items: Number of items.

    Returns:
        One read-only array of row numbers per group that is not empty. Each row from 0 to
        `n_items` - 1 is in exactly one group.
    """
    groups = list_members(_assign_groups(n_items, None, N_RANDOM_GROUPS))
    # The cached arrays are shared, so nobody may write to them.
    for rows in groups:
        rows.flags.writeable = False
    return tuple(groups)


def _assign_groups(
    n_items: int,
    codes: NDArray[np.intp] | None,
    n_groups: int,
) -> NDArray[np.intp]:
    """Assign items to random groups of about equal numbers of units.

    Args:
        n_items: Number of items N.
        codes: (N,) cluster numbers, whose items share a group. If None, the items are independent.
        n_groups: Number of groups.

    Returns:
        (N,) group numbers.
    """
    if codes is None:
        codes = np.arange(n_items)
    n_units = count_numbered_units(codes, n_items)
    # The remainders of a permutation make groups whose sizes differ by one unit at most.
    shuffled = np.random.default_rng(_GROUPING_SEED).permutation(n_units)
    return shuffled[codes] % n_groups


# ------------------------------------------------------------------------------ parsed input


@dataclasses.dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of items that are resampled together.

    Attributes:
        arrays: Arrays with N items along the first axis.
        codes: (N,) cluster numbers. None for independent items.
    """

    arrays: list[NDArray[Any]]
    codes: NDArray[np.intp] | None

    @classmethod
    def parse(cls, columns: Sequence[Any], clusters: Any) -> _Columns:
        """Check columns of equal length, and number the clusters of their items.

        Args:
            columns: Arrays or lists with N items each.
            clusters: (N,) cluster names. If None, the items are independent.

        Raises:
            ValueError: If there is no column, a column is empty, or lengths differ.
        """
        arrays = []
        for number, column in enumerate(columns, start=1):
            arrays.append(to_numpy(column, f"column {number}"))
        if not arrays or any(array.ndim == 0 or len(array) == 0 for array in arrays):
            raise ValueError(
                "Expected at least one column, and at least one item in each column, but got no "
                "items."
            )
        lengths = [len(array) for array in arrays]
        if len(set(lengths)) > 1:
            text = ", ".join(map(str, lengths))
            raise ValueError(f"Expected columns of one length, but got {text}.")

        # Resamples are drawn by position. Items are sorted by their values, so that the resamples do
        # not depend on the order of the input. Clusters are numbered by name instead, and very many
        # items are divided into random groups anyway.
        if clusters is None and lengths[0] <= MAX_BOOTSTRAP_UNITS:
            order = argsort_canonical(*arrays)
            arrays = [array[order] for array in arrays]
        return cls(arrays=arrays, codes=number_clusters(clusters, lengths[0]))

    @property
    def n_units(self) -> int:
        """Number of clusters, or of items if they are independent."""
        return count_numbered_units(self.codes, len(self.arrays[0]))

    def select(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the columns of selected items."""
        return [array[rows] for array in self.arrays]

    def assign_groups(self, n_groups: int) -> NDArray[np.intp]:
        """Return (N,) random group numbers, equal within each cluster."""
        return _assign_groups(len(self.arrays[0]), self.codes, n_groups)

    def draw_groups(self) -> list[NDArray[np.intp]]:
        """Return the rows of each of `N_RANDOM_GROUPS` random groups."""
        return draw_random_groups(len(self.arrays[0]), self.codes)


def parse_vector(
    values: Any,
    name: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Floats:
    """Check a vector of finite numbers or booleans, and return it as float64.

    Args:
        values: (N,) values; True and False count as 1 and 0.
        name: Name of the vector in error messages.
        minimum: Smallest allowed number; None if there is no bound.
        maximum: Largest allowed number; None if there is no bound.
    """
    array = to_numpy(values, name)
    if array.dtype.kind == "b":
        array = array.astype(np.float64)
    return check_vector(array, name, minimum=minimum, maximum=maximum)


def _parse_table(values: Any) -> Floats:
    """Check a table of finite numbers, and return it as float64.

    Args:
        values: (N, S) numbers in any form that `to_array_or_list` accepts.

    Raises:
        ValueError: If the table has another shape or no rows, or if a number is not finite.
    """
    table = to_floats(values, "values")
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(
            f"Expected `values` of shape (N, S) with at least one item, "
            f"but got shape {table.shape}."
        )
    is_finite = np.isfinite(table).all(axis=1)
    if not is_finite.all():
        row = int(is_finite.argmin())
        raise ValueError(
            f"Expected finite numbers in `values`, but row {row} holds NaN or infinity."
        )
    return table


def _select_defined(estimate: float, resamples: Floats) -> Floats:
    """Return the resampled figures that are finite; raise ValueError if nothing is.

    Args:
        estimate: The figure of all items, which must be finite.
        resamples: (R,) figures of the resamples, of which at least one must be finite.
    """
    defined = resamples[np.isfinite(resamples)]
    if not np.isfinite(estimate) or not defined.size:
        raise ValueError(
            "Expected a statistic that is defined for the items, but its value is undefined."
        )
    return defined

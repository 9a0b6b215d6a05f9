"""The confidence interval of a calibration error: resamples of its bins, and what follows from them.

Pairs are resampled in one of two ways. Independent pairs are drawn from the sums of the bins
alone (`resample_bins`). The pairs of the classes of an item, and those of the items of a cluster,
depend on each other and stay together (`resample_rows`).

A second law is that of a calibrated model with the same scores (`draw_calibrated_events`,
`draw_calibrated_clusters`): it decides whether the true error may be 0.

`make_error_interval` is the entry point. `draw_resamples` is its slow part, which is the same for
all norms and levels: an audit calls it once.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import special

from rightreasons.calibration.norms import NORMS, finish_error
from rightreasons.core.arrays import Floats, Positions
from rightreasons.core.binning import BinnedPairs, Bins, BinSums
from rightreasons.core.estimates import make_rate_interval
from rightreasons.core.intervals import Interval
from rightreasons.core.ordering import argsort_canonical
from rightreasons.core.resampling import Resampling

BOOTSTRAP_GROUPS = 2_000
"""Number of random groups that are resampled in place of more rows or clusters than that."""

MAX_EXACT_DRAWS = 2_000_000
"""Events of a calibrated model, items times draws, up to which every cluster is drawn anew each time."""

MIN_SIMULATIONS = 8
"""Number of times that a calibrated model is simulated at least, however many items there are."""

MIN_GROUP_SIMULATIONS = 4_000
"""Random groups of clusters times simulations of each: known to 1 / sqrt(2 * 4000) = 1 %, the
spread of their sums is then known better than the resamples show it."""

ROUNDING = 1e-6
"""Errors of resamples that differ by no more are equal. The spread of equal scores is the root of a
rounding error, and so much larger than one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Draws:
    """What the interval of a calibration error is made of, whatever its norm and its level.

    Attributes:
        bins: (R, C, M) resamples of the bins.
        calibrated: (R, C, M) numbers of events of a calibrated model. None for several classes,
            whose labels depend on each other.
        units_per_item: Number of clusters per item; 1 for independent items.
    """

    bins: Bins
    calibrated: Floats | None
    units_per_item: float = 1.0


def draw_resamples(sample: BinnedPairs, resampling: Resampling) -> Draws:
    """Draw bootstrap resamples of the bins, and events of a calibrated model, for an interval.

    Args:
        sample: The pairs of scores and events, with their bins.
        resampling: Number of resamples and seed; the level does not matter.

    Returns:
        Bootstrap resamples of the bins, and the numbers of events that a calibrated model would
        have in the bins (None for several classes).
    """
    has_classes = len(sample.pairs) > 1
    # Independent pairs can be resampled from the sums of their bins.
    if sample.clusters is None and not has_classes:
        rng = np.random.default_rng(resampling.seed)
        bins = resample_bins(sample.sums, resampling.resamples, rng)
        events = draw_calibrated_events(sample.sums.bins, resampling.resamples, rng)
        return Draws(bins=bins, calibrated=events)

    # The pairs of an item, or of a cluster, are dependent and resampled together.
    bins = resample_rows(sample, resampling)
    if sample.clusters is None:
        return Draws(bins=bins, calibrated=None)
    # Clusters are numbered from 0 without gaps.
    n_clusters = int(sample.clusters.max()) + 1
    units_per_item = n_clusters / len(sample.clusters)
    if has_classes:
        return Draws(bins=bins, calibrated=None, units_per_item=units_per_item)
    events = draw_calibrated_clusters(sample, resampling)
    # The axis of the classes has length 1.
    return Draws(bins=bins, calibrated=events[:, None], units_per_item=units_per_item)


# --- Independent pairs: from the bins alone


def resample_bins(sums: BinSums, n_resamples: int, rng: Generator) -> Bins:
    """Bootstrap independent pairs from the sums of their bins, without the pairs themselves.

    A cell is a bin together with an outcome (event or no event), so that M bins have 2M cells. The
    counts of the cells in a bootstrap over the pairs follow a multinomial distribution with the
    observed shares, from which they are drawn. The sum of the scores in a cell, given its count, is
    drawn from a normal distribution with the mean and the variance of the bootstrap. Only the
    normal shape is approximate, and scores in a bin of width 1/M deviate by at most 1/(2M).

    Args:
        sums: The bins of C classes.
        n_resamples: Number of resamples R.
        rng: Source of randomness.

    Returns:
        (R, C, M) bins.
    """
    # (R, C, 2, M): the third axis is the outcome, first without and then with the event.
    n_classes, _, n_bins = sums.count.shape
    counts = np.empty((n_resamples, n_classes, 2, n_bins))
    for k in range(n_classes):
        cell_counts = sums.count[k].reshape(-1)
        n_pairs = cell_counts.sum()
        shares = cell_counts / max(n_pairs, 1.0)
        drawn_counts = rng.multinomial(int(n_pairs), shares, size=n_resamples)
        counts[:, k] = drawn_counts.reshape(n_resamples, 2, n_bins)

    # The mean of n resampled scores has the variance of the scores divided by n.
    sizes = np.maximum(sums.count, 1.0)
    mean = sums.total / sizes
    variance = sums.square / sizes - mean**2
    # Rounding may carry the variance of equal scores below 0.
    deviation = np.sqrt(np.maximum(variance, 0.0))
    noise = rng.standard_normal(counts.shape)
    root_counts = np.sqrt(np.maximum(counts, 1.0))
    resampled_means = mean + deviation * noise / root_counts
    # A mean of scores cannot leave its bin.
    lower = sums.edges[:, None, :-1]
    upper = sums.edges[:, None, 1:]
    resampled_means = np.clip(resampled_means, lower, upper)
    return Bins(
        count=counts.sum(axis=2),
        score=(counts * resampled_means).sum(axis=2),
        event=counts[:, :, 1],
    )


def draw_calibrated_events(bins: Bins, n_draws: int, rng: Generator) -> Floats:
    """Draw the numbers of events that a calibrated model with the same scores would have.

    The number of events of a bin is binomial: each of its items has the event with the mean score
    of the bin. If the scores of a bin differ, the exact distribution has a slightly smaller
    variance: by that of the scores, at most 1/(4M²) per item in M bins of equal width.

    Args:
        bins: The bins of C classes.
        n_draws: Number of draws R.
        rng: Source of randomness.

    Returns:
        (R, C, M) numbers of events.
    """
    # Rounding may carry the mean of scores of 1 above 1.
    mean_score = bins.score / bins.divisor
    probability = np.clip(mean_score, 0.0, 1.0)
    n_items = bins.count.astype(np.int64)
    shape = (n_draws, *bins.count.shape)
    events = rng.binomial(n_items, probability, size=shape)
    return np.asarray(events, dtype=np.float64)


# --- Pairs that belong together: of classes, and of clusters


def resample_rows(sample: BinnedPairs, resampling: Resampling) -> Bins:
    """Bootstrap items or clusters, each with all of its pairs, and sum the pairs of each bin.

    An item has one pair of score and event per class. More than `BOOTSTRAP_GROUPS` items or
    clusters are first put into so many random groups, and the groups are resampled.

    Args:
        sample: The pairs of C classes and their bins.
        resampling: Number of resamples R and seed.

    Returns:
        (R, C, M) bins.
    """
    rng = np.random.default_rng(resampling.seed)
    # (N,) number of the unit of each item: its cluster, or the item itself.
    units = sample.clusters
    if units is None:
        # An item is numbered by its rank among the items, which depends on its values only. So the
        # order of the input does not change the resamples.
        columns_of_pairs = itertools.chain(*sample.pairs)
        order = argsort_canonical(*columns_of_pairs)
        # The permutation is inverted by assignment, because another sort would take ten times as
        # long.
        units = np.empty_like(order)
        units[order] = np.arange(len(order))
    n_units = int(units.max()) + 1
    n_groups = min(n_units, BOOTSTRAP_GROUPS)
    group_of_item = _draw_groups(n_units, n_groups, rng)[units]

    # (R, G) how often each resample contains each group.
    if sample.clusters is None:
        shares = np.full(n_groups, 1.0 / n_groups)
        counts = rng.multinomial(n_groups, shares, size=resampling.resamples)
    else:
        counts = _draw_counts(n_groups, resampling.resamples, rng)
    weights = counts.astype(np.float64)

    # The sums of a resample are the sums of its groups, each times how often it was drawn. This is a
    # matrix product of (R, G) and (G, M) for each class and each sum.
    n_classes = len(sample.pairs)
    n_bins = sample.n_bins
    sums_shape = (resampling.resamples, n_classes, n_bins)
    count = np.empty(sums_shape)
    score = np.empty(sums_shape)
    event = np.empty(sums_shape)
    for k, columns in enumerate(sample.columns):
        # A cell is a bin of a group.
        cells = group_of_item[columns.rows] * n_bins + columns.bins
        for sums, weight in ((count, None), (score, columns.scores), (event, columns.events)):
            by_cell = np.bincount(cells, weight, minlength=n_groups * n_bins)
            by_group = by_cell.reshape(n_groups, n_bins)
            by_group = by_group.astype(np.float64)
            sums[:, k] = weights @ by_group
    return Bins(count=count, score=score, event=event)


def draw_calibrated_clusters(sample: BinnedPairs, resampling: Resampling) -> Floats:
    """Draw the numbers of events of a calibrated model, if the items of a cluster depend on each other.

    All items of a cluster share one uniform random number u. An item has the event if its score is
    above u, so the probability of the event is its score.

    Args:
        sample: The pairs of one class, with clusters.
        resampling: Number of draws R and seed.

    Returns:
        (R, M) numbers of events. If there are too many items to simulate each draw, draws combine a
        smaller number of simulations, and their numbers need not be whole.
    """
    # The second seed keeps these draws independent of the resamples.
    rng = np.random.default_rng([resampling.seed, 6])
    columns = next(sample.columns)
    clusters = columns.clusters
    if clusters is None:
        raise ValueError("Expected pairs with clusters, but got independent pairs.")
    n_draws = resampling.resamples
    n_clusters = int(clusters.max()) + 1
    n_simulations = max(
        MIN_SIMULATIONS,
        MAX_EXACT_DRAWS // len(columns.scores),
        math.ceil(MIN_GROUP_SIMULATIONS / n_clusters),
    )
    if n_simulations < n_draws:
        return _combine_simulations(
            scores=columns.scores,
            bins=columns.bins,
            n_bins=sample.n_bins,
            clusters=clusters,
            n_simulations=n_simulations,
            n_draws=n_draws,
            rng=rng,
        )
    return _simulate_events(
        scores=columns.scores,
        cells=columns.bins,
        n_cells=sample.n_bins,
        clusters=clusters,
        n_simulations=n_draws,
        rng=rng,
    )


def _combine_simulations(
    scores: Floats,
    bins: Positions,
    n_bins: int,
    clusters: Positions,
    n_simulations: int,
    n_draws: int,
    rng: Generator,
) -> Floats:
    """Draw numbers of events of a calibrated model by combining a few simulations at random.

    The clusters are divided into random groups, whose events are independent. For each draw and each
    group, a simulation is selected at random, and the events of the groups are summed.

    Args:
        scores: (N,) probability of the event of each item.
        bins: (N,) bin of each item.
        n_bins: Number of bins M.
        clusters: (N,) number of the cluster of each item.
        n_simulations: Number of simulations S of all items.
        n_draws: Number of draws R.
        rng: Source of randomness.

    Returns:
        (R, M) numbers of events.
    """
    n_clusters = int(clusters.max()) + 1
    max_groups = math.ceil(MIN_GROUP_SIMULATIONS / n_simulations)
    n_groups = min(n_clusters, max_groups)
    group_of_cluster = _draw_groups(n_clusters, n_groups, rng)
    # A cell is a bin of a group.
    cells = group_of_cluster[clusters] * n_bins + bins
    events = _simulate_events(
        scores=scores,
        cells=cells,
        n_cells=n_groups * n_bins,
        clusters=clusters,
        n_simulations=n_simulations,
        rng=rng,
    )
    events = events.reshape(n_simulations, n_groups, n_bins)
    # Deviations from the mean of S simulations have a variance that is too small by (S - 1) / S.
    deviations = events - events.mean(axis=0)
    deviations *= np.sqrt(n_simulations / (n_simulations - 1))

    # The expected number of events is known exactly: the sum of the scores.
    expected = np.bincount(bins, scores, minlength=n_bins)
    groups = np.arange(n_groups)
    draws = np.empty((n_draws, n_bins))
    for row in range(n_draws):
        simulation_of_group = rng.integers(n_simulations, size=n_groups)
        deviation = deviations[simulation_of_group, groups]
        draws[row] = expected + deviation.sum(axis=0)
    # A bin cannot have more events than items.
    sizes = np.bincount(bins, minlength=n_bins)
    return np.clip(draws, 0.0, sizes)


def _simulate_events(
    scores: Floats,
    cells: Positions,
    n_cells: int,
    clusters: Positions,
    n_simulations: int,
    rng: Generator,
) -> Floats:
    """Simulate a calibrated model whose items of a cluster are dependent; count the events by cell.

    Args:
        scores: (N,) probability of the event of each item.
        cells: (N,) cell in which each item is counted, such as its bin.
        n_cells: Number of cells.
        clusters: (N,) number of the cluster of each item.
        n_simulations: Number of simulations S.
        rng: Source of randomness.

    Returns:
        (S, n_cells) numbers of events.
    """
    n_clusters = int(clusters.max()) + 1
    events = np.empty((n_simulations, n_cells))
    for row in range(n_simulations):
        # The items of a cluster share a uniform random number.
        thresholds = rng.random(n_clusters)[clusters]
        has_event = thresholds < scores
        events[row] = np.bincount(cells, has_event, minlength=n_cells)
    return events


def _draw_groups(n_units: int, n_groups: int, rng: Generator) -> Positions:
    """Return the random group of each unit; its own number if there are as many groups as units."""
    if n_groups == n_units:
        return np.arange(n_units)
    return rng.integers(n_groups, size=n_units)


def _draw_counts(n_units: int, n_resamples: int, rng: Generator) -> Positions:
    """Draw how often each unit is in each bootstrap resample of all units.

    The counts are multinomial, but this is several times as fast as `rng.multinomial`.

    Args:
        n_units: Number of units.
        n_resamples: Number of resamples.
        rng: Source of randomness.

    Returns:
        (n_resamples, n_units) counts, with row sums of n_units.
    """
    units = rng.integers(n_units, size=(n_resamples, n_units))
    # Add an offset per resample, so that one call counts the units of all resamples separately.
    offsets = n_units * np.arange(n_resamples)
    units += offsets[:, None]
    n_cells = n_resamples * n_units
    flat_units = units.reshape(-1)
    counts = np.bincount(flat_units, minlength=n_cells)
    return counts.reshape(n_resamples, n_units)


# --- The interval


def bound_mean_gap(scores: Floats, events: Any, clusters: Any, resampling: Resampling) -> float:
    """Return the largest plausible distance of the mean score from the true rate of events.

    The true rate is assumed to be in its Wilson interval.

    Args:
        scores: (N,) scores.
        events: (N,) whether the event of each item happened.
        clusters: (N,) names of clusters. If None, the items are independent.
        resampling: Level of the interval.

    Example:
        >>> events = np.arange(10) < 8  # the Wilson interval of 8 of 10 is [0.490, 0.943]
        >>> round(bound_mean_gap(np.full(10, 0.9), events, None, Resampling()), 3)
        0.41
    """
    rate = make_rate_interval(events, resampling, clusters)
    mean = float(scores.mean())
    gap_below = abs(mean - rate.low)
    gap_above = abs(mean - rate.high)
    return max(gap_below, gap_above)


def make_error_interval(
    sample: BinnedPairs, norm: str, resampling: Resampling, draws: Draws | None = None
) -> Interval:
    """Compute the confidence interval of a calibration error by a debiased basic bootstrap.

    For the resamples, the sample is the population, and its plain error is their true error. So the
    distance of a debiased error of a resample from the plain error of the sample has the
    distribution of the distance of the debiased error of the sample from the true error.

    The ends are then corrected for errors near 0, and for samples whose resamples hardly differ.

    Args:
        sample: The pairs and their bins.
        norm: Name of an entry of `NORMS` that has a debiased form.
        resampling: Level, number of draws and seed.
        draws: `draw_resamples` of the sample. If None, they are drawn.

    Returns:
        The interval, inside [0, 1].
    """
    if draws is None:
        draws = draw_resamples(sample, resampling)
    bins = sample.sums.bins
    rule = NORMS[norm]
    if rule.debias is None:
        raise ValueError(f"Expected a norm with a debiased form, but got {norm!r}.")
    tail = (1.0 - resampling.level) / 2.0

    # These raw errors may be negative, and are squares for l2. `finish_error` converts the ends.
    plain = rule.measure(bins)
    resampled = rule.debias(draws.bins)
    levels = (tail, 1.0 - tail)
    low_quantile, high_quantile = np.quantile(resampled, levels)
    # True error = debiased error of the sample - (debiased error of a resample - plain error).
    center = plain + rule.debias(bins)
    # The debiased error may still be too large. Fewer units than items mean more noise and bias.
    n_deviations = float(-special.ndtri(tail))
    bias = rule.bound_bias(bins, n_deviations)
    bias = bias / np.sqrt(draws.units_per_item)
    raw_low = center - high_quantile - bias
    raw_high = center - low_quantile
    low = float(finish_error(raw_low, norm=norm))
    high = float(finish_error(raw_high, norm=norm))
    error = float(finish_error(plain, norm=norm))

    if draws.calibrated is not None:
        # If the error is small, some bias remains, because gaps change their signs. The interval
        # begins at 0 unless a calibrated model rarely has an error as large as this one.
        null_bins = Bins(bins.count, bins.score, draws.calibrated)
        null_errors = rule.measure(null_bins)
        if plain <= np.quantile(null_errors, 1.0 - tail):
            low = 0.0
        # If nearly all items are correct, resamples underestimate the possible error. But no
        # calibration error is below the gap between mean score and rate of events.
        columns = next(sample.columns)
        mean_gap = bound_mean_gap(
            scores=columns.scores,
            events=columns.events,
            clusters=columns.clusters,
            resampling=resampling,
        )
        high = max(high, mean_gap)
    # The debiased interval may end below the plain error, so it is extended to include it.
    high = max(high, error)
    if error == 0 or np.ptp(resampled) <= ROUNDING:
        # Resamples of equal items are equal, and do not show any uncertainty.
        n_units = float(bins.size.max()) * draws.units_per_item
        unseen_low, unseen_high = _allow_for_unseen_items(error, n_units, tail)
        low = min(low, unseen_low)
        high = max(high, unseen_high)
    return Interval(
        low=min(max(low, 0.0), 1.0),
        high=min(max(high, 0.0), 1.0),
        confidence_level=resampling.level,
        method="debiased basic bootstrap over items",
        n_resamples=resampling.resamples,
    )


def _allow_for_unseen_items(error: float, n_units: float, tail: float) -> tuple[float, float]:
    """Return how low and how high an error may be because of items that a small sample misses.

    By the rule of three, a sample of n units may miss a share u of all items, where (1 - u)^n is the
    probability of a tail. The gaps of the missed items may be -1 or 1.

    Args:
        error: Calibration error of the sample.
        n_units: Number of independent items or clusters.
        tail: Probability of each tail.

    Returns:
        Lowest and highest error, which may be outside [0, 1].
    """
    unseen = 1.0 - tail ** (1.0 / n_units)
    loss = unseen * (1.0 + error)
    gain = unseen * (1.0 - error)
    return error - loss, error + gain

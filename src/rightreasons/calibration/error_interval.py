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
    """Draw resamples of the bins, and the events of a calibrated model in them.

    Args:
        sample: The pairs and their bins.
        resampling: Number of draws and seed; the level does not matter.
    """
    has_classes = len(sample.pairs) > 1
    if sample.clusters is None and not has_classes:
        rng = np.random.default_rng(resampling.seed)
        resamples = resample_bins(sample.sums, resampling.resamples, rng)
        events = draw_calibrated_events(sample.sums.bins, resampling.resamples, rng)
        return Draws(resamples, events)

    resamples = resample_rows(sample, resampling)
    if sample.clusters is None:
        return Draws(resamples, calibrated=None)
    # Numbers of clusters run from 0 without gaps.
    n_clusters = int(sample.clusters.max()) + 1
    units_per_item = n_clusters / len(sample.clusters)
    if has_classes:
        return Draws(resamples, None, units_per_item)
    events = draw_calibrated_clusters(sample, resampling)
    return Draws(resamples, events[:, None], units_per_item)


# --- Independent pairs: from the bins alone


def resample_bins(sums: BinSums, n_resamples: int, rng: Generator) -> Bins:
    """Draw what a bootstrap over the pairs would give, from the sums of the bins.

    The counts of the 2M cells (event and bin) of a bootstrap over rows follow a multinomial law
    with the observed shares, from which they are drawn. The sum of the scores in a cell, given its
    count, is drawn from the normal law with the mean and the variance that the bootstrap has. Only
    the shape of this law is approximate, and the scores of a bin of width 1/M deviate by at most
    1/(2M).

    Args:
        sums: The bins of C classes.
        n_resamples: Number of resamples R.
        rng: Source of randomness.

    Returns:
        (R, C, M) bins.
    """
    n_classes, _, n_bins = sums.count.shape
    counts = np.empty((n_resamples, n_classes, 2, n_bins))
    for k in range(n_classes):
        cells = sums.count[k].reshape(-1)
        size = cells.sum()
        shares = cells / max(size, 1.0)
        drawn_cells = rng.multinomial(int(size), shares, size=n_resamples)
        counts[:, k] = drawn_cells.reshape(n_resamples, 2, n_bins)

    sizes = np.maximum(sums.count, 1.0)
    mean = sums.total / sizes
    variance = sums.square / sizes - mean**2
    # Rounding may carry the variance of equal scores below 0.
    deviation = np.sqrt(np.maximum(variance, 0.0))
    noise = rng.standard_normal(counts.shape)
    root_counts = np.sqrt(np.maximum(counts, 1.0))
    means = mean + deviation * noise / root_counts
    # A mean of scores cannot leave its bin.
    lower = sums.edges[:, None, :-1]
    upper = sums.edges[:, None, 1:]
    means = np.clip(means, lower, upper)
    return Bins(
        count=counts.sum(axis=2),
        score=(counts * means).sum(axis=2),
        event=counts[:, :, 1],
    )


def draw_calibrated_events(bins: Bins, n_draws: int, rng: Generator) -> Floats:
    """Draw the numbers of events that a calibrated model with the same scores would have.

    The events of a bin are tosses of coins of its mean score. If the scores of a bin differ, the
    true law scatters a little less: the variance of each event is smaller by that of the scores, at
    most 1/(4M²) in M bins of equal width.

    Args:
        bins: The bins of C classes.
        n_draws: Number of draws R.
        rng: Source of randomness.

    Returns:
        (R, C, M) numbers of events.
    """
    # Rounding may carry a mean of scores of 1 above 1.
    mean = bins.score / bins.divisor
    probability = np.clip(mean, 0.0, 1.0)
    n_tosses = bins.count.astype(np.int64)
    shape = (n_draws, *bins.count.shape)
    events = rng.binomial(n_tosses, probability, size=shape)
    return np.asarray(events, dtype=np.float64)


# --- Pairs that belong together: of classes, and of clusters


def resample_rows(sample: BinnedPairs, resampling: Resampling) -> Bins:
    """Resample items, or clusters of items, with the pairs that they have of each class.

    Many items or clusters are first put into random groups, which are then resampled.

    Args:
        sample: The pairs of C classes and their bins.
        resampling: Number of resamples R and seed.

    Returns:
        (R, C, M) bins.
    """
    rng = np.random.default_rng(resampling.seed)
    units = sample.clusters
    if units is None:
        # The rank of each item depends on its values alone, so that the order of the input does not
        # change the resamples.
        values = itertools.chain(*sample.pairs)
        order = argsort_canonical(*values)
        # The inverse of a permutation; to sort it would take ten times as long.
        units = np.empty_like(order)
        units[order] = np.arange(len(order))
    n_units = int(units.max()) + 1
    n_groups = min(n_units, BOOTSTRAP_GROUPS)
    groups = _draw_groups(n_units, n_groups, rng)[units]

    if sample.clusters is None:
        shares = np.full(n_groups, 1.0 / n_groups)
        counts = rng.multinomial(n_groups, shares, size=resampling.resamples)
    else:
        counts = _draw_counts(n_groups, resampling.resamples, rng)
    # The sums of a resample are those of its groups, each as often as it was drawn.
    weights = counts.astype(np.float64)
    n_classes = len(sample.pairs)
    n_bins = sample.n_bins
    n_cells = n_groups * n_bins
    resamples = np.empty((3, resampling.resamples, n_classes, n_bins))
    for k, columns in enumerate(sample.columns):
        cells = groups[columns.rows] * n_bins + columns.bins
        values_by_sum: tuple[Any, ...] = (None, columns.scores, columns.events)
        for sums, values in zip(resamples, values_by_sum, strict=True):
            by_cell = np.bincount(cells, values, minlength=n_cells)
            by_group = by_cell.reshape(n_groups, n_bins)
            by_group = by_group.astype(np.float64)
            sums[:, k] = weights @ by_group
    return Bins(*resamples)


def draw_calibrated_clusters(sample: BinnedPairs, resampling: Resampling) -> Floats:
    """Draw the numbers of events of a calibrated model that answers a cluster like one item.

    All events of a cluster follow one uniform number u: those whose scores are above u come true.
    Each draw needs a pass over all items. If these would be too many passes, the model is simulated
    only some times, and a draw combines a random simulation of each of many groups of clusters.

    Args:
        sample: The pairs of one class, with clusters.
        resampling: Number of draws R and seed.

    Returns:
        (R, M) numbers of events; not whole numbers if simulations are combined.
    """
    rng = np.random.default_rng([resampling.seed, 6])
    columns = next(sample.columns)
    scores = columns.scores
    bins = columns.bins
    clusters = columns.clusters
    if clusters is None:
        raise ValueError("Expected pairs with clusters, but they are independent.")
    n_clusters = int(clusters.max()) + 1
    n_bins = sample.n_bins
    n_draws = resampling.resamples
    n_simulations = max(
        MIN_SIMULATIONS,
        MAX_EXACT_DRAWS // len(scores),
        math.ceil(MIN_GROUP_SIMULATIONS / n_clusters),
    )
    if n_simulations >= n_draws:
        return _simulate_events(
            scores=scores,
            cells=bins,
            n_cells=n_bins,
            clusters=clusters,
            n_simulations=n_draws,
            rng=rng,
        )

    n_needed = math.ceil(MIN_GROUP_SIMULATIONS / n_simulations)
    n_groups = min(n_clusters, n_needed)
    group_of_cluster = _draw_groups(n_clusters, n_groups, rng)
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
    # The mean is known exactly. The variance of n simulations around their own mean is too small by
    # the factor (n - 1) / n.
    deviations = events - events.mean(axis=0)
    deviations *= np.sqrt(n_simulations / (n_simulations - 1))
    expected = np.bincount(bins, scores, minlength=n_bins)

    groups = np.arange(n_groups)
    draws = np.empty((n_draws, n_bins))
    for row in range(n_draws):
        simulation = rng.integers(n_simulations, size=n_groups)
        deviation = deviations[simulation, groups]
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
    """Return (n_simulations, n_cells) numbers of events in the cells of the items."""
    n_clusters = int(clusters.max()) + 1
    events = np.empty((n_simulations, n_cells))
    for row in range(n_simulations):
        has_event = rng.random(n_clusters)[clusters] < scores
        events[row] = np.bincount(cells, has_event, minlength=n_cells)
    return events


def _draw_groups(n_units: int, n_groups: int, rng: Generator) -> Positions:
    """Return the random group of each unit; its own number if there are as many groups as units."""
    if n_groups == n_units:
        return np.arange(n_units)
    return rng.integers(n_groups, size=n_units)


def _draw_counts(n_units: int, n_resamples: int, rng: Generator) -> Positions:
    """Return (n_resamples, n_units) how often a bootstrap draws each unit.

    This is the multinomial law, but several times as fast as `rng.multinomial`.
    """
    units = rng.integers(n_units, size=(n_resamples, n_units))
    # Each resample gets its own numbers, so that one call counts the units of all resamples.
    first_units = n_units * np.arange(n_resamples)
    units += first_units[:, None]
    n_cells = n_resamples * n_units
    flat = units.reshape(-1)
    counts = np.bincount(flat, minlength=n_cells)
    return counts.reshape(n_resamples, n_units)


# --- The interval


def bound_mean_gap(scores: Floats, events: Any, clusters: Any, resampling: Resampling) -> float:
    """Return the largest plausible gap between the mean score and the rate of events.

    The rate is plausible within its Wilson interval.

    Args:
        scores: (N,) scores.
        events: (N,) whether the event of each came true.
        clusters: (N,) names of the clusters that they belong to. If None, they are independent.
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
    """Bound the true error by how far the debiased errors of resamples are from the plain error.

    For a resample, the sample is the truth, and its plain error is the true error. So the debiased
    error of a resample, less the plain error of the sample, has the law of the debiased error of
    the sample, less the true error. Everything is computed with raw errors and finished at the end.

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
    plain = rule.measure(bins)
    center = plain + rule.debias(bins)
    resampled = rule.debias(draws.bins)
    levels = (tail, 1.0 - tail)
    quantiles = np.quantile(resampled, levels)
    # Fewer units than items mean wider noise, and so more bias.
    n_deviations = float(-special.ndtri(tail))
    bias = rule.bound_bias(bins, n_deviations)
    bias = bias / np.sqrt(draws.units_per_item)
    raw_low = center - quantiles[1] - bias
    raw_high = center - quantiles[0]
    low = float(finish_error(raw_low, norm=norm))
    high = float(finish_error(raw_high, norm=norm))
    error = float(finish_error(plain, norm=norm))

    if draws.calibrated is not None:
        # Near 0, where gaps change their signs, some bias is left. A test decides whether the true
        # error may be 0: it may, unless so large an error is rare for a calibrated model.
        null_bins = Bins(bins.count, bins.score, draws.calibrated)
        null_errors = rule.measure(null_bins)
        if plain <= np.quantile(null_errors, 1.0 - tail):
            low = 0.0
        # If nearly all items are correct, their resamples show no more errors than these few. But
        # no calibration error is below the gap between mean score and rate of events.
        columns = next(sample.columns)
        mean_gap = bound_mean_gap(
            scores=columns.scores,
            events=columns.events,
            clusters=columns.clusters,
            resampling=resampling,
        )
        high = max(high, mean_gap)
    # A sample that fits better than chance does would have an interval below its own error.
    high = max(high, error)
    if error == 0 or np.ptp(resampled) <= ROUNDING:
        # Resamples of equal items are equal. The rule of three: in a share `tail` of samples, so
        # many units show none of this share of items, whose gaps may be -1 or 1.
        n_pairs = float(bins.size.max())
        n_units = n_pairs * draws.units_per_item
        unseen = 1.0 - tail ** (1.0 / n_units)
        loss = unseen * (1.0 + error)
        gain = unseen * (1.0 - error)
        low = min(low, error - loss)
        high = max(high, error + gain)
    return Interval(
        low=min(max(low, 0.0), 1.0),
        high=min(max(high, 0.0), 1.0),
        confidence_level=resampling.level,
        method="debiased basic bootstrap over items",
        n_resamples=resampling.resamples,
    )

"""Bins of (score, event) pairs: their edges, their sums, the errors that follow from the sums, and resamples of them.

A pair is a score in [0, 1] and whether the event that it predicts came true: (confidence, correct) for the top label,
(P(class k), label is k) for a class. Every binned measure of calibration is a function of three sums per bin, so bins
can be resampled without going back to the rows.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, argsort_canonical
from rightreasons.core.resampling import Resampling

BLOCK = 32_768
"""Rows handled at once: a block of scores and its bin indices stay in the processor's cache."""

BOOTSTRAP_GROUPS = 2_000
"""Groups of rows that a bootstrap of all classes resamples; with fewer rows than this, it resamples rows."""


def make_uniform_edges(n_bins: int) -> Floats:
    """Return the M + 1 edges of M bins of equal width on [0, 1]."""
    return np.linspace(0.0, 1.0, n_bins + 1)


def make_quantile_edges(scores: Floats, n_bins: int) -> Floats:
    """Return the M + 1 edges of M bins of equal mass: the quantiles m / M of the scores, interpolated linearly.

    Edges that collapse on tied scores leave bins of no width, which stay empty: equal scores always share a bin, so the
    bins do not depend on the order of the items.
    """
    # numpy sorts floats several times faster than np.quantile partitions them around many quantiles.
    ordered = np.sort(scores)
    position = np.arange(n_bins + 1) * (len(ordered) - 1) / n_bins
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    edges = ordered[below] + (position - below) * (ordered[above] - ordered[below])
    # Rounding of an interpolated edge must not lift it above the next one.
    return np.asarray(np.maximum.accumulate(edges), dtype=np.float64)


def assign_bins(scores: Floats, edges: Floats, *, uniform: bool = False) -> NDArray[np.intp]:
    """Return the bin (lo, hi] of each score; scores at or below the first edge belong to the first bin.

    Args:
        scores: (N,) scores.
        edges: (M + 1,) edges, not decreasing.
        uniform: Whether the edges are `uniform_edges(M)`, for which no search is needed.

    Returns:
        (N,) indices from 0 to M - 1.

    Example:
        >>> assign_bins(np.array([0.0, 0.2, 0.21, 1.0]), make_uniform_edges(5), uniform=True)
        array([0, 0, 1, 4])
    """
    if not uniform:
        # The inner edges alone: whatever lies above the last of them is in the last bin.
        return np.searchsorted(edges[1:-1], scores, side="left")
    n_bins = len(edges) - 1
    # The nearest edge j is found by arithmetic; one comparison with it tells bin j - 1 from bin j, so that rounding in
    # the product cannot move a score across an edge.
    nearest = np.rint(scores * n_bins).astype(np.intp)
    below = np.concatenate(([-1.0], edges[1:]))
    nearest -= scores <= below[nearest]
    return nearest


@dataclasses.dataclass(frozen=True, eq=False)
class BinSums:
    """Sums of (score, event) pairs in bins, for one or several classes.

    Every array has the axes (class, event, bin), where event 0 is "did not happen" (wrong) and 1 "happened" (right).

    Attributes:
        edges: (C, M + 1) bin edges.
        count: (C, 2, M) number of pairs.
        total: (C, 2, M) sum of the scores.
        square: (C, 2, M) sum of the squared scores; used by `resample` and the Brier score.
    """

    edges: Floats
    count: Floats
    total: Floats
    square: Floats

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[Floats, NDArray[np.bool_]]],
        n_bins: int,
        strategy: str = "uniform",
    ) -> BinSums:
        """Bin the scores and events of each class.

        Args:
            pairs: For each class (N,) scores and (N,) events.
            n_bins: Number of bins M.
            strategy: "uniform" (bins of equal width) or "quantile" (of equal mass; of equal width without scores).
        """
        uniform = strategy == "uniform"
        edges = np.stack(
            [
                make_uniform_edges(n_bins)
                if uniform or not len(p)
                else make_quantile_edges(p, n_bins)
                for p, _ in pairs
            ]
        )
        count, total, square = np.zeros((3, len(pairs), 2, n_bins))
        for row, (scores, events) in enumerate(pairs):
            for start in range(0, len(scores), BLOCK):
                block = np.ascontiguousarray(scores[start : start + BLOCK])
                cells = assign_bins(block, edges[row], uniform=uniform)
                cells += n_bins * events[start : start + BLOCK]
                for sums, weights in ((count, None), (total, block), (square, block * block)):
                    sums[row] += np.bincount(cells, weights, minlength=2 * n_bins).reshape(
                        2, n_bins
                    )
        return cls(edges, count, total, square)

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """(C, M) number of pairs in each bin, sum of their scores, and number of events."""
        return self.count.sum(axis=1), self.total.sum(axis=1), self.count[:, 1]

    def resample(self, n_resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Draw what a bootstrap over the pairs would give, from the sums alone.

        The counts of the 2M cells (event × bin) of a row bootstrap follow a multinomial distribution with the observed
        shares: they are drawn from it, which is exact. The sum of the scores in a cell, given its count, is drawn from
        the normal distribution with the mean and the variance that the bootstrap has; only its shape is approximate,
        and within a bin of width 1/M its standard deviation is at most 1/(2M) per pair.

        Args:
            n_resamples: How many resamples R.
            rng: The source of randomness.

        Returns:
            (R, C, M) counts, sums of scores and counts of events.
        """
        classes, _, n_bins = self.count.shape
        counts = np.empty((n_resamples, classes, 2, n_bins))
        for row in range(classes):
            cells = self.count[row].reshape(-1)
            size = cells.sum()
            shares = cells / max(size, 1.0)
            counts[:, row] = rng.multinomial(int(size), shares, size=n_resamples).reshape(
                n_resamples, 2, n_bins
            )
        sizes = np.maximum(self.count, 1.0)
        mean = self.total / sizes
        spread = np.sqrt(np.maximum(self.square / sizes - mean**2, 0.0))
        means = mean + spread * rng.standard_normal(counts.shape) / np.sqrt(np.maximum(counts, 1.0))
        # A mean of scores cannot leave its bin.
        means = np.clip(means, self.edges[:, None, :-1], self.edges[:, None, 1:])
        return counts.sum(axis=2), (counts * means).sum(axis=2), counts[:, :, 1]

    def calibrated_events(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Draw the counts of events that a perfectly calibrated model would have with the same scores.

        A bin's events are drawn as coins of its mean score. Where the scores of a bin differ, the true law scatters a
        little less: the variance of a pair is smaller by the variance of the scores, at most 1/(4M²) in M equal bins.

        Args:
            n_resamples: How many draws R.
            rng: The source of randomness.

        Returns:
            (R, C, M) counts of events.
        """
        counts, scores, _ = self.parts
        mean = np.clip(scores / np.maximum(counts, 1.0), 0.0, 1.0)
        means = rng.binomial(counts.astype(np.int64), mean, size=(n_resamples, *counts.shape))
        return np.asarray(means, dtype=np.float64)


def resample_rows(
    pairs: Sequence[tuple[Floats, NDArray[np.bool_]]],
    edges: Floats,
    resampling: Resampling,
    *,
    uniform: bool = True,
    threshold: float = 0.0,
    clusters: NDArray[np.intp] | None = None,
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Resample rows whose pairs belong together, as those of the classes do, or random groups of many rows.

    Args:
        pairs: For each of C classes (N,) scores and (N,) events of the same rows.
        edges: (C, M + 1) edges.
        resampling: Number of resamples R and seed.
        uniform: As in `assign_bins`.
        threshold: Only scores above it count, unless it is 0.
        clusters: (N,) the numbers of the clusters that are resampled in the place of rows; None for rows.

    Yields:
        For each class, (R, M) counts, sums of scores and counts of events.
    """
    rng, n_rows, n_bins = (
        np.random.default_rng(resampling.seed),
        len(pairs[0][0]),
        edges.shape[1] - 1,
    )
    # The places of the rows in an order of their own.
    unit = _rank_rows(pairs) if clusters is None else clusters
    n_units = int(unit.max()) + 1
    n_groups = min(n_units, BOOTSTRAP_GROUPS)
    group = unit if n_groups == n_units else rng.integers(n_groups, size=n_units)[unit]
    weights = rng.multinomial(
        n_groups, np.full(n_groups, 1.0 / n_groups), size=resampling.resamples
    ).astype(float)
    for (scores, events), edges_of in zip(pairs, edges, strict=True):
        kept = scores > threshold if threshold > 0 else np.ones(n_rows, bool)
        cells = group[kept] * n_bins + assign_bins(scores[kept], edges_of, uniform=uniform)

        def drawn(values: Floats | None, cells: NDArray[np.intp] = cells) -> Floats:
            grouped = np.bincount(cells, values, minlength=n_groups * n_bins).reshape(
                n_groups, n_bins
            )
            return np.asarray(weights @ grouped, dtype=np.float64)

        yield drawn(None), drawn(scores[kept]), drawn(events[kept].astype(np.float64))


def _rank_rows(pairs: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> NDArray[np.intp]:
    """Return (N,) the position of each row in an order that depends on the values alone."""
    order = argsort_canonical(*itertools.chain(*pairs))
    # The inverse of a permutation; to sort it would take ten times as long.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def draw_calibrated_clusters(
    scores: Floats,
    cells: NDArray[np.intp],
    n_bins: int,
    clusters: NDArray[np.intp],
    resampling: Resampling,
) -> Floats:
    """Draw the counts of events in bins that a calibrated model would have if the items of a cluster were one item.

    All events of a cluster follow one uniform number u: those whose scores are above u come true.

    Args:
        scores: (N,) scores.
        cells: (N,) the bin of each.
        n_bins: Number of bins M.
        clusters: (N,) the numbers of the clusters.
        resampling: Number of draws R and seed.

    Returns:
        (R, M) counts of events.
    """
    rng, n_units = np.random.default_rng([resampling.seed, 6]), int(clusters.max()) + 1
    filled = np.eye(n_bins)[cells]
    return np.concatenate(
        [
            (rng.random((part, n_units))[:, clusters] < scores) @ filled
            for part in resampling.split_into_blocks(len(scores))
        ]
    )


def compute_binned_error(
    count: Floats, score: Floats, event: Floats, *, norm: str = "l1", debias: bool = False
) -> Floats:
    r"""Compute the calibration error from sums in bins.

    With \(w_m = n_m / n\), mean score \(\bar p_m\) and event rate \(\bar y_m\):

    - l1: \(\sum_m w_m |\bar p_m - \bar y_m|\), averaged over the classes; debiased: twice that, minus its expectation
      when \(\bar y_m\) is redrawn from \(N(\bar y_m, \bar y_m (1 - \bar y_m) / n_m)\), which has a closed form;
    - l2: \(\sqrt{\sum_m w_m (\bar p_m - \bar y_m)^2}\), the squares averaged over the classes; debiased: each square
      less \(\bar y_m (1 - \bar y_m) / (n_m - 1)\), bins with one pair contributing 0;
    - max: \(\max_m |\bar p_m - \bar y_m|\) over the bins and the classes.

    Args:
        count: (..., C, M) number of pairs.
        score: (..., C, M) sums of scores.
        event: (..., C, M) counts of events.
        norm: "l1", "l2" or "max".
        debias: Whether to correct l1 or l2 for the noise of \(\bar y_m\).

    Returns:
        (...) errors, not below 0. Classes without a pair are left out.

    References:
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, Definition 5.1 and section 5.

    Example:
        >>> float(compute_binned_error(np.array([[4.0]]), np.array([[1.0]]), np.array([[2.0]])))  # |1 / 4 - 2 / 4|
        0.25
    """
    return finish_error(compute_raw_error(count, score, event, norm=norm, debias=debias), norm=norm)


def compute_raw_error(
    count: Floats, score: Floats, event: Floats, *, norm: str = "l1", debias: bool = False
) -> Floats:
    """Compute `compute_binned_error` before the last step: not cut at 0, and the mean square in place of its root for l2.

    On this scale the corrections of `debias` are sums, so that their noise can be studied by resampling.
    """
    sizes = np.maximum(count, 1.0)
    gap = (score - event) / sizes
    if norm == "max":
        return np.asarray(np.abs(gap).max(axis=(-2, -1)), dtype=np.float64)
    size = count.sum(axis=-1, keepdims=True)
    weight = count / np.maximum(size, 1.0)
    rate = event / sizes
    noise = rate * (1.0 - rate)
    if norm == "l1":
        error = (weight * np.abs(gap)).sum(axis=-1)
        if debias:
            error = 2.0 * error - (weight * _mean_absolute_normal(gap, np.sqrt(noise / sizes))).sum(
                axis=-1
            )
        return _mean_over_live(error, size)
    squares = gap**2
    if debias:
        squares = np.where(count >= 2, squares - noise / np.maximum(count - 1.0, 1.0), 0.0)
    return _mean_over_live((weight * squares).sum(axis=-1), size)


def finish_error(raw: Floats, *, norm: str) -> Floats:
    """Turn `compute_raw_error` into the error itself."""
    cut = np.maximum(raw, 0.0)
    return np.asarray(np.sqrt(cut) if norm == "l2" else cut, dtype=np.float64)


def bound_residual_bias(count: Floats, score: Floats, event: Floats, deviations: float) -> Floats:
    r"""Bound by how much the debiased l1 error is still too large on average, as small gaps are known from noise alone.

    With the gap \(g\) of a bin, \(\hat g \sim N(g, \sigma^2)\) and the mean \(F(g, \sigma)\) of a folded normal
    distribution, its debiased gap \(2 |\hat g| - F(\hat g, \sigma)\) has the mean
    \(2 F(g, \sigma) - F(g, \sqrt 2 \sigma)\): 0.47 standard deviations too much where the gap is 0, and hardly any
    where it is above two. The gaps are taken as small as the items let them be.

    Args:
        count: (..., C, M) number of pairs.
        score: (..., C, M) sums of scores.
        event: (..., C, M) counts of events.
        deviations: By how many standard deviations a gap may be smaller than that of the items.

    Returns:
        (...) the bias, averaged over the classes.

    Example:
        >>> one_bin = np.array([[100.0]]), np.array([[50.0]]), np.array([[50.0]])  # 0.467 * sqrt(0.25 / 100)
        >>> round(float(bound_residual_bias(*one_bin, deviations=2.0)), 4)
        0.0234
    """
    sizes, size = np.maximum(count, 1.0), count.sum(axis=-1, keepdims=True)
    rate = (event + 0.5) / (count + 1.0)
    spread = np.sqrt(rate * (1.0 - rate) / sizes)
    gap = np.maximum(np.abs(score - event) / sizes - deviations * spread, 0.0)
    bias = (
        2.0 * _mean_absolute_normal(gap, spread)
        - _mean_absolute_normal(gap, np.sqrt(2.0) * spread)
        - gap
    )
    return _mean_over_live((count / np.maximum(size, 1.0) * bias).sum(axis=-1), size)


def split_error(count: Floats, score: Floats, event: Floats) -> tuple[Floats, Floats]:
    r"""Split the l1 error into \(\sum_m w_m (\bar p_m - \bar y_m)^+\) and \(\sum_m w_m (\bar y_m - \bar p_m)^+\).

    Args:
        count: (..., C, M) number of pairs.
        score: (..., C, M) sums of scores.
        event: (..., C, M) counts of events.

    Returns:
        (...) what overconfident bins contribute and what underconfident bins do; they add up to the l1 error.
    """
    size = count.sum(axis=-1, keepdims=True)
    weighted = (score - event) / np.maximum(size, 1.0)
    over = np.maximum(weighted, 0.0).sum(axis=-1)
    under = np.maximum(-weighted, 0.0).sum(axis=-1)
    return _mean_over_live(over, size), _mean_over_live(under, size)


def _mean_over_live(error: Floats, size: Floats) -> Floats:
    live = size[..., 0] > 0
    return np.asarray(
        (error * live).sum(axis=-1) / np.maximum(live.sum(axis=-1), 1), dtype=np.float64
    )


def _mean_absolute_normal(mean: Floats, spread: Floats) -> Floats:
    """Return E|X| of X ~ N(mean, spread²): the mean of the folded normal distribution."""
    certain = spread == 0
    ratio = mean / np.where(certain, 1.0, spread)
    folded = spread * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2) + mean * (
        1.0 - 2.0 * special.ndtr(-ratio)
    )
    return np.where(certain, np.abs(mean), folded)

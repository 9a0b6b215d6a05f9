"""Bins of (score, event) pairs: where their edges are, and what each of them adds up to.

A pair is a score in [0, 1] and whether the event that it predicts came true: (confidence, correct)
for the top label, (P(class k), label is k) for a class. Every binned measure of calibration is a
function of the sums in the bins, so that the items are read only once.

`BinSums.from_pairs` is the entry point. A further strategy is one more entry of `STRATEGIES`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import BLOCK_SIZE, Floats, Positions

Flags = NDArray[np.bool_]

Pair = tuple[Floats, Flags]
"""(N,) scores, and whether the event of each came true."""


# ------------------------------------------------------------------------------------------- edges


def make_uniform_edges(n_bins: int) -> Floats:
    """Return the (M + 1,) edges of M bins of equal width on [0, 1]."""
    return np.linspace(0.0, 1.0, n_bins + 1)


def make_quantile_edges(scores: Floats, n_bins: int) -> Floats:
    """Return the edges of bins with equal numbers of scores: the quantiles m / M of the scores.

    Quantiles are interpolated linearly. Tied scores may give several equal edges. The bins between
    them have no width and stay empty, so that equal scores always share a bin and the bins do not
    depend on the order of the items. Without scores, the bins have equal width.

    Args:
        scores: (N,) scores.
        n_bins: Number of bins M.

    Returns:
        (M + 1,) edges in ascending order.
    """
    if not len(scores):
        return make_uniform_edges(n_bins)
    # A full sort is several times faster than `np.quantile` with many quantiles.
    ordered = np.sort(scores)
    last_index = len(ordered) - 1
    # Quantile m / M is at this fractional index of the sorted scores.
    position = np.arange(n_bins + 1) * last_index / n_bins
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, last_index)
    fraction = position - below
    step = ordered[above] - ordered[below]
    edges = ordered[below] + fraction * step
    # Rounding of an interpolated edge must not lift it above the next one.
    increasing = np.maximum.accumulate(edges)
    return np.asarray(increasing, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Strategy:
    """A rule that places the edges of bins.

    Attributes:
        quantity: What all bins have an equal amount of, in words.
        make_edges: Function of (N,) scores and the number of bins M. It returns (M + 1,) edges,
            none below the one before it.
        is_uniform: Whether the edges are those of `make_uniform_edges`, so that the bin of a score
            is found without a search.
    """

    quantity: str
    make_edges: Callable[[Floats, int], Floats]
    is_uniform: bool = False


STRATEGIES: Mapping[str, Strategy] = {
    "uniform": Strategy(
        quantity="width",
        make_edges=lambda scores, n_bins: make_uniform_edges(n_bins),
        is_uniform=True,
    ),
    "quantile": Strategy(quantity="mass", make_edges=make_quantile_edges),
}
"""Every strategy by its name."""


def assign_bins(scores: Floats, edges: Floats, *, is_uniform: bool = False) -> Positions:
    """Return the index of the bin (lower, upper] that contains each score.

    Scores at or below the first edge belong to the first bin.

    Args:
        scores: (N,) scores.
        edges: (M + 1,) edges, none below the one before it.
        is_uniform: Whether the edges are `make_uniform_edges(M)`, which need no search.

    Returns:
        (N,) indices from 0 to M - 1.

    Example:
        >>> scores = np.array([0.0, 0.2, 0.21, 1.0])
        >>> assign_bins(scores, make_uniform_edges(5), is_uniform=True)
        array([0, 0, 1, 4])
    """
    if not is_uniform:
        # Only the inner edges: scores above the last of them are in the last bin.
        return np.searchsorted(edges[1:-1], scores, side="left")
    n_bins = len(edges) - 1
    # Edge j is the nearest one to a score: the score is in bin j - 1 (at or below the edge) or in
    # bin j. Comparing with the edge itself makes the result exact, whatever rounding the product
    # has. The first edge is replaced by -1, so that a score of 0 is above it, in bin 0.
    nearest_edge = np.rint(scores * n_bins).astype(np.intp)
    exact_edges = np.concatenate(([-1.0], edges[1:]))
    is_below = scores <= exact_edges[nearest_edge]
    nearest_edge -= is_below
    return nearest_edge


# -------------------------------------------------------------------------------------------- sums


@dataclasses.dataclass(frozen=True, eq=False)
class Bins:
    """The sums of M bins for each of C classes: all that a calibration error depends on.

    Leading axes, such as one of resamples, are allowed.

    Attributes:
        count: (..., C, M) number of pairs.
        score: (..., C, M) sum of the scores.
        event: (..., C, M) number of events.
    """

    count: Floats
    score: Floats
    event: Floats

    @property
    def divisor(self) -> Floats:
        """(..., C, M) number of pairs, but 1 for an empty bin, so that its means are 0."""
        return np.maximum(self.count, 1.0)

    @property
    def rate(self) -> Floats:
        """(..., C, M) share of the pairs of each bin whose event came true."""
        return self.event / self.divisor

    @property
    def gap(self) -> Floats:
        """(..., C, M) mean score minus rate of events."""
        return (self.score - self.event) / self.divisor

    @property
    def size(self) -> Floats:
        """(..., C, 1) number of pairs of each class."""
        size = self.count.sum(axis=-1, keepdims=True)
        return np.asarray(size)

    @property
    def weight(self) -> Floats:
        """(..., C, M) share of the pairs of the class; 0 for a class without pairs."""
        return self.count / np.maximum(self.size, 1.0)

    def select_class(self, k: int) -> Bins:
        """Return the bins of class k, as (..., 1, M) sums."""
        # A slice keeps the axis of the classes.
        columns = slice(k, k + 1)
        return Bins(
            count=self.count[..., columns, :],
            score=self.score[..., columns, :],
            event=self.event[..., columns, :],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class BinSums:
    """Sums of (score, event) pairs in bins, separately for pairs without and with the event.

    The axes of each sum are (class, event, bin). Event 0 means that the event did not happen (an
    incorrect answer), event 1 that it did.

    Attributes:
        edges: (C, M + 1) edges of the bins.
        count: (C, 2, M) number of pairs.
        total: (C, 2, M) sum of the scores.
        square: (C, 2, M) sum of the squared scores, for resamples and for the Brier score.
    """

    edges: Floats
    count: Floats
    total: Floats
    square: Floats

    @classmethod
    def from_pairs(
        cls,
        pairs: Sequence[Pair],
        n_bins: int,
        strategy: str = "uniform",
        *,
        threshold: float = 0.0,
    ) -> BinSums:
        """Sum the scores and events of each class in bins.

        Args:
            pairs: For each of C classes, (N,) scores and (N,) events.
            n_bins: Number of bins M.
            strategy: Name of an entry of `STRATEGIES`.
            threshold: Bound above which scores count; 0 (default) if all count.
        """
        rule = STRATEGIES[strategy]
        n_classes = len(pairs)
        edges = np.empty((n_classes, n_bins + 1))
        count = np.zeros((n_classes, 2, n_bins))
        total = np.zeros((n_classes, 2, n_bins))
        square = np.zeros((n_classes, 2, n_bins))
        for k, (class_scores, class_events) in enumerate(pairs):
            rows = _select_above(class_scores, threshold)
            scores = class_scores[rows]
            events = class_events[rows]
            edges[k] = rule.make_edges(scores, n_bins)
            # Blocks of rows stay in the processor's cache.
            for start in range(0, len(scores), BLOCK_SIZE):
                block = slice(start, start + BLOCK_SIZE)
                # A column of a table becomes contiguous, and so faster to compute with.
                values = np.ascontiguousarray(scores[block])
                cells = assign_bins(values, edges[k], is_uniform=rule.is_uniform)
                # Cells 0 to M - 1 count pairs without the event, cells M to 2M - 1 pairs with it.
                cells += n_bins * events[block]
                count[k] += _sum_cells(cells, None, n_bins)
                total[k] += _sum_cells(cells, values, n_bins)
                square[k] += _sum_cells(cells, values * values, n_bins)
        return cls(edges, count, total, square)

    @property
    def bins(self) -> Bins:
        """Sums of each bin over the pairs with and without the event."""
        return Bins(
            count=self.count.sum(axis=1),
            score=self.total.sum(axis=1),
            event=self.count[:, 1],
        )


def _sum_cells(cells: Positions, values: Floats | None, n_bins: int) -> Floats:
    """Return (2, M) sums of the values of each cell; their number if the values are None."""
    sums = np.bincount(cells, values, minlength=2 * n_bins)
    return np.asarray(sums.reshape(2, n_bins), dtype=np.float64)


def _select_above(scores: Floats, threshold: float) -> Flags | slice:
    """Return an index of the scores above the threshold; of all scores if it is 0."""
    return scores > threshold if threshold > 0 else slice(None)


# -------------------------------------------------------------------------- pairs with their bins


@dataclasses.dataclass(frozen=True, eq=False)
class PairColumns:
    """The pairs of one class whose scores count, as plain columns.

    Attributes:
        rows: Index of these pairs among the N items.
        scores: (n,) scores.
        events: (n,) whether the event of each came true.
        bins: (n,) bin of each score.
        clusters: (n,) number of the cluster of each. None if the items are independent.
    """

    rows: Flags | slice
    scores: Floats
    events: Any
    bins: Positions
    clusters: Positions | None


@dataclasses.dataclass(frozen=True, eq=False)
class BinnedPairs:
    """The pairs of N items and their bins: what an error and its interval are made of.

    Attributes:
        pairs: For each of C classes, (N,) scores and (N,) events of the same items.
        n_bins: Number of bins M.
        strategy: Name of an entry of `STRATEGIES`.
        threshold: Bound above which scores count; 0 (default) if all count.
        clusters: (N,) numbers of the clusters that the items belong to, from 0 without gaps. If
            None (default), the items are independent.
    """

    pairs: Sequence[Pair]
    n_bins: int
    strategy: str = "uniform"
    threshold: float = 0.0
    clusters: Positions | None = None

    @functools.cached_property
    def sums(self) -> BinSums:
        """Sums of the pairs in bins."""
        return BinSums.from_pairs(self.pairs, self.n_bins, self.strategy, threshold=self.threshold)

    @property
    def columns(self) -> Iterator[PairColumns]:
        """The scores, events and bins of each class, as an iterator over the classes.

        They are made one class at a time, because the columns of many classes need much memory.
        """
        is_uniform = STRATEGIES[self.strategy].is_uniform
        for k, (class_scores, class_events) in enumerate(self.pairs):
            rows = _select_above(class_scores, self.threshold)
            scores = class_scores[rows]
            clusters = None
            if self.clusters is not None:
                clusters = self.clusters[rows]
            yield PairColumns(
                rows=rows,
                scores=scores,
                events=class_events[rows],
                bins=assign_bins(scores, self.sums.edges[k], is_uniform=is_uniform),
                clusters=clusters,
            )

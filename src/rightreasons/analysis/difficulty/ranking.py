"""Difficulty of examples: pairs before and after a perturbation, overlap of two sets, and agreement of two measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.analysis.intervals import Interval, bootstrap_mean, quantile_interval
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import (
    check_count,
    check_labels,
    check_number,
    check_same_length,
    check_scores,
    check_vector,
)


@dataclasses.dataclass(frozen=True)
class PairedDifficulty(Result):
    """How the difficulty of examples changes when they are perturbed; see `paired_difficulty`.

    Attributes:
        mean: Mean of difficulty(original) - difficulty(perturbed); negative where the perturbation made it harder.
        std: Standard deviation of that difference (population).
        not_harder: Share of pairs whose difference is at least 0, in [0, 1].
        ineffective: Share of pairs whose difference is not below `-threshold`.
        threshold: How much harder a perturbation has to make an example to count.
        p_value: Two-sided Wilcoxon signed-rank test of the differences; None where all are 0.
        n_pairs: How many pairs.
        interval: Bootstrap interval of `mean` over pairs; None unless asked for.
        differences: The differences themselves.
    """

    mean: float
    std: float
    not_harder: float
    ineffective: float
    threshold: float
    p_value: float | None
    n_pairs: int
    interval: Interval | None
    differences: list[float]


def paired_difficulty(
    original: object,
    perturbed: object,
    *,
    threshold: float = 0.0,
    resampling: Resampling | None = None,
) -> PairedDifficulty:
    r"""Compare the difficulty of examples with that of their perturbations.

        delta_i = difficulty(original_i) - difficulty(perturbed_i)

    The sign is that of the paper's Table 4: what lies right of 0 did not get harder.

    Args:
        original: (N,) difficulties, such as Fisher eigenvalues.
        perturbed: (N,) of the perturbed twins, in the same order.
        threshold: A perturbation counts as effective below `-threshold`; default 0, the paper also proposes 1.
        resampling: How the bootstrap interval of the mean is resampled; None (default) gives none.

    Returns:
        A `PairedDifficulty`.

    Raises:
        ValueError: If the columns differ in length or hold NaN.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2, Table 4 and Figure 1.

    Example:
        >>> result = paired_difficulty([1.0, 2.0, 3.0], [2.0, 2.0, 1.0])
        >>> round(result.mean, 6), round(result.not_harder, 6)
        (0.333333, 0.666667)
    """
    before = check_vector(original, "original")
    after = check_vector(perturbed, "perturbed")
    n_pairs = check_same_length(original=before, perturbed=after)
    least = check_number(threshold, "threshold", minimum=0)
    delta = before - after
    return PairedDifficulty(
        mean=float(delta.mean()),
        std=float(delta.std()),
        not_harder=float((delta >= 0).mean()),
        ineffective=float((delta >= -least).mean()) if least else float((delta >= 0).mean()),
        threshold=least,
        p_value=float(stats.wilcoxon(delta).pvalue) if delta.any() else None,
        n_pairs=n_pairs,
        interval=None if resampling is None else bootstrap_mean(delta, resampling=resampling),
        differences=delta.tolist(),
    )


_CELLS = 4096
"""Cells of the grid on which kernel densities are estimated."""


@dataclasses.dataclass(frozen=True)
class Overlap(Result):
    """How much two distributions share; see `distribution_overlap`.

    Attributes:
        histogram: Overlapping coefficient of the two histograms over shared bins, in [0, 1]; 1 is the same.
        kde: The same of two Gaussian kernel density estimates; None where a sample has no spread.
        edges: The shared bin edges (Freedman-Diaconis of both samples together).
        interval: Bootstrap interval of the overlap about `histogram` (bins held fixed); None unless asked for.
        kde_interval: The same about `kde` (bandwidths held fixed).
        n_first: Size of the first sample.
        n_second: Size of the second.
    """

    histogram: float
    kde: float | None
    edges: list[float]
    interval: Interval | None
    kde_interval: Interval | None
    n_first: int
    n_second: int


def distribution_overlap(
    first: object,
    second: object,
    *,
    resampling: Resampling | None = None,
) -> Overlap:
    r"""Measure the overlap of two distributions: OVL = integral of min(f, g).

    The paper gives overlaps of difficulty distributions without saying how they were measured; both usual estimates are
    given here.

    Args:
        first: (N,) values.
        second: (M,) values.
        resampling: How the intervals are resampled; None (default) gives none. The overlap of samples is lower than
            that of the distributions, the more so in a resample, so the interval mirrors the resamples at the estimate
            (the basic bootstrap); it may lie above the estimate, and is then extended to it. At 0.95 it covered 0.82 to
            0.91 (histogram) and 0.80 to 0.88 (kernels) of the true overlaps of two Gaussians with 100 to 400 values.

    Returns:
        An `Overlap`.

    References:
        Weitzman (1970), "Measures of Overlap of Income Distributions"; Datta et al. (2020), Figure 2.

    Example:
        >>> distribution_overlap([0, 1, 2, 3], [0, 1, 2, 3]).histogram
        1.0
        >>> distribution_overlap([0, 1, 2, 3], [10, 11, 12, 13]).histogram
        0.0
    """
    a, b = check_vector(first, "first"), check_vector(second, "second")
    both = np.concatenate((a, b))
    edges = np.histogram_bin_edges(both, bins="fd") if np.ptp(both) > 0 else np.array([both[0] - 0.5, both[0] + 0.5])
    counts = [np.histogram(sample, edges)[0] for sample in (a, b)]
    shares = [count / count.sum() for count in counts]
    histogram, kernels = float(np.minimum(*shares).sum()), _Kernels.of(a, b)
    kde = None if kernels is None else float(kernels.overlap(*(share[None] for share in kernels.shares))[0])
    interval = kde_interval = None
    if resampling is not None:
        level, n_resamples = resampling.level, resampling.resamples
        rng = np.random.default_rng(resampling.seed)
        # With the bins held fixed, resampling values is resampling bin counts; so it is with the cells of a fine grid.
        interval = _mirrored(histogram, np.minimum(*_resampled((a, b), shares, n_resamples, rng)).sum(axis=1), level)
        if kernels is not None and kde is not None:
            drawn = kernels.overlap(*_resampled((a, b), kernels.shares, n_resamples, rng))
            kde_interval = _mirrored(kde, drawn, level)
    return Overlap(
        histogram=histogram,
        kde=kde,
        edges=edges.tolist(),
        interval=interval,
        kde_interval=kde_interval,
        n_first=len(a),
        n_second=len(b),
    )


@dataclasses.dataclass(frozen=True)
class RankCorrelation(Result):
    """Spearman's rank correlation.

    Attributes:
        rho: In [-1, 1]; None where one side is constant.
        p_value: Two-sided; None likewise.
        n_items: How many items.
    """

    rho: float | None
    p_value: float | None
    n_items: int


def rank_correlation(first: object, second: object) -> RankCorrelation:
    """Tell how far two measures put items in the same order (Spearman).

    Example:
        >>> rank_correlation([1, 2, 3], [10, 20, 15]).rho
        0.5
    """
    a, b = check_vector(first, "first"), check_vector(second, "second")
    n_items = check_same_length(first=a, second=b)
    if n_items < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return RankCorrelation(None, None, n_items)
    found = stats.spearmanr(a, b)
    return RankCorrelation(float(found.statistic), float(found.pvalue), n_items)


def margin(predictions: object, *, scores: str = "probabilities") -> NDArray[np.float64]:
    """Return the gap between the two largest class probabilities; (N,), small where an example is difficult.

    Example:
        >>> margin([[0.5, 0.25, 0.25]]).tolist()
        [0.25]
    """
    table = np.sort(check_scores(predictions, scores=scores), axis=1)
    return np.asarray(table[:, -1] - table[:, -2], dtype=np.float64)


def entropy(predictions: object, *, scores: str = "probabilities") -> NDArray[np.float64]:
    """Return the entropy of the class probabilities in nats; (N,), large where an example is difficult.

    Example:
        >>> entropy([[0.5, 0.5]]).round(6).tolist()
        [0.693147]
    """
    table = check_scores(predictions, scores=scores)
    return np.asarray(-(table * np.log(np.where(table > 0, table, 1.0))).sum(axis=1), dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class AccuracyByDifficulty(Result):
    """Accuracy in groups of rising difficulty.

    Attributes:
        accuracies: Accuracy of each group, the easiest first.
        counts: Items of each group.
        edges: Smallest and largest difficulty of each group.
        correlation: Spearman's rank correlation of difficulty with being right.
    """

    accuracies: list[float]
    counts: list[int]
    edges: list[list[float]]
    correlation: RankCorrelation


def accuracy_by_difficulty(
    difficulty: object, predictions: object, references: object, *, n_groups: int = 10
) -> AccuracyByDifficulty:
    """Split items into groups of equal size by difficulty, and count how often each group is right.

    Args:
        difficulty: (N,) difficulties.
        predictions: (N,) predicted labels.
        references: (N,) gold labels.
        n_groups: How many groups (default 10); fewer where there are fewer items.

    Returns:
        An `AccuracyByDifficulty`.

    Example:
        >>> accuracy_by_difficulty([1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1], n_groups=2).accuracies
        [1.0, 0.0]
    """
    values = check_vector(difficulty, "difficulty")
    predicted, gold = check_labels(predictions, name="predictions"), check_labels(references)
    check_same_length(difficulty=values, predictions=predicted, references=gold)
    right = (predicted == gold).astype(np.float64)
    order = np.argsort(values, kind="stable")
    groups = [group for group in np.array_split(order, check_count(n_groups, "n_groups")) if len(group)]
    return AccuracyByDifficulty(
        accuracies=[float(right[group].mean()) for group in groups],
        counts=[len(group) for group in groups],
        edges=[[float(values[group[0]]), float(values[group[-1]])] for group in groups],
        correlation=rank_correlation(values, right),
    )


def _mirrored(estimate: float, drawn: NDArray[np.float64], level: float) -> Interval:
    basic = quantile_interval(drawn, level, mirrored_at=estimate)
    return dataclasses.replace(basic, low=max(0.0, min(basic.low, estimate)), high=min(1.0, max(basic.high, estimate)))


def _resampled(
    samples: Sequence[NDArray[np.float64]],
    shares: Sequence[NDArray[np.float64]],
    n_resamples: int,
    rng: np.random.Generator,
) -> list[NDArray[np.float64]]:
    return [
        rng.multinomial(len(sample), share, size=n_resamples) / len(sample)
        for sample, share in zip(samples, shares, strict=True)
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class _Kernels:
    """Gaussian kernel density estimates of two samples on one fine grid.

    Attributes:
        shares: For each sample, (G,) the share of it in every cell.
        smoothing: For each, the Fourier transform of its kernel, of Scott's bandwidth.
    """

    shares: list[NDArray[np.float64]]
    smoothing: list[NDArray[np.complex128]]

    @classmethod
    def of(cls, a: NDArray[np.float64], b: NDArray[np.float64]) -> _Kernels | None:
        """Lay out the grid; None where a sample has no spread."""
        if min(len(a), len(b)) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
            return None
        reach = 4 * max(a.std(), b.std())
        low, high = min(a.min(), b.min()) - reach, max(a.max(), b.max()) + reach
        edges = np.linspace(low, high, _CELLS + 1)
        shares, smoothing = [], []
        # The kernel wraps around twice the grid, so that nothing comes back at the other end.
        apart = np.minimum(np.arange(2 * _CELLS), 2 * _CELLS - np.arange(2 * _CELLS)) * (high - low) / _CELLS
        for sample in (a, b):
            width = sample.std(ddof=1) * len(sample) ** -0.2
            kernel = np.exp(-0.5 * (apart / width) ** 2)
            shares.append(np.histogram(sample, edges)[0] / len(sample))
            smoothing.append(np.fft.rfft(kernel / kernel.sum()))
        return cls(shares, smoothing)

    def overlap(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (R,) overlaps of the densities by shares of the cells (R, G)."""
        densities = []
        for shares, smoothing in zip((first, second), self.smoothing, strict=True):
            density = np.fft.irfft(np.fft.rfft(shares, 2 * _CELLS) * smoothing, 2 * _CELLS)[:, :_CELLS]
            # The grid is cut where densities are all but 0; normalizing keeps two equal samples at 1.
            densities.append(density / density.sum(axis=1, keepdims=True))
        return np.asarray(np.minimum(*densities).sum(axis=1), dtype=np.float64)

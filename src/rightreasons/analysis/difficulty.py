"""Difficulty of examples: pairs before and after a perturbation, overlap of two sets, and agreement of two measures."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.analysis.intervals import Interval, bootstrap_mean
from rightreasons.records import Result
from rightreasons.validation import (
    check_count,
    check_fraction,
    check_labels,
    check_number,
    check_same_length,
    check_scores,
    check_seed,
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
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
) -> PairedDifficulty:
    r"""Compare the difficulty of examples with that of their perturbations.

        delta_i = difficulty(original_i) - difficulty(perturbed_i)

    The sign is that of the paper's Table 4: what lies right of 0 did not get harder.

    Args:
        original: (N,) difficulties, such as Fisher eigenvalues.
        perturbed: (N,) of the perturbed twins, in the same order.
        threshold: A perturbation counts as effective below `-threshold`; default 0, the paper also proposes 1.
        confidence_level: Level of the bootstrap interval of the mean; None (default) gives none.
        n_resamples: Bootstrap resamples; default 1000.
        seed: Seed of the resampling; default 0.

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
    interval = None
    if confidence_level is not None:
        level = check_fraction(confidence_level, "confidence_level", open_ends=True)
        interval = bootstrap_mean(delta, confidence_level=level, n_resamples=n_resamples, seed=seed)
    return PairedDifficulty(
        mean=float(delta.mean()),
        std=float(delta.std()),
        not_harder=float((delta >= 0).mean()),
        ineffective=float((delta >= -least).mean()) if least else float((delta >= 0).mean()),
        threshold=least,
        p_value=float(stats.wilcoxon(delta).pvalue) if delta.any() else None,
        n_pairs=n_pairs,
        interval=interval,
        differences=delta.tolist(),
    )


@dataclasses.dataclass(frozen=True)
class Overlap(Result):
    """How much two distributions share; see `distribution_overlap`.

    Attributes:
        histogram: Overlapping coefficient of the two histograms over shared bins, in [0, 1]; 1 is the same.
        kde: The same of two Gaussian kernel density estimates; None where a sample has no spread.
        edges: The shared bin edges (Freedman-Diaconis of both samples together).
        interval: Bootstrap interval of `histogram` (bins held fixed); None unless asked for.
        n_first: Size of the first sample.
        n_second: Size of the second.
    """

    histogram: float
    kde: float | None
    edges: list[float]
    interval: Interval | None
    n_first: int
    n_second: int


def distribution_overlap(
    first: object,
    second: object,
    *,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Overlap:
    r"""Measure the overlap of two distributions: OVL = integral of min(f, g).

    The paper gives overlaps of difficulty distributions without saying how they were measured; both usual estimates are
    given here.

    Args:
        first: (N,) values.
        second: (M,) values.
        confidence_level: Level of a percentile bootstrap interval; None (default) gives none.
        n_resamples: Bootstrap resamples; default 1000.
        seed: Seed of the resampling; default 0.

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
    interval = None
    if confidence_level is not None:
        level = check_fraction(confidence_level, "confidence_level", open_ends=True)
        n_resamples = check_count(n_resamples, "n_resamples")
        rng = np.random.default_rng(check_seed(seed))
        # With the bins held fixed, resampling values is resampling bin counts.
        drawn = [
            rng.multinomial(len(s), share, size=n_resamples) / len(s) for s, share in zip((a, b), shares, strict=True)
        ]
        values = np.minimum(drawn[0], drawn[1]).sum(axis=1)
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
        interval = Interval(float(low), float(high), level, "percentile bootstrap of bin counts", n_resamples)
    return Overlap(
        histogram=float(np.minimum(shares[0], shares[1]).sum()),
        kde=_kde_overlap(a, b),
        edges=edges.tolist(),
        interval=interval,
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


def _kde_overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    if min(len(a), len(b)) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    spread = 3 * max(a.std(), b.std())
    grid = np.linspace(min(a.min(), b.min()) - spread, max(a.max(), b.max()) + spread, 2048)
    densities = [stats.gaussian_kde(sample)(grid) for sample in (a, b)]
    # The grid is cut where both densities are all but 0; normalizing keeps two equal samples at exactly 1.
    areas = [float(np.trapezoid(density, grid)) for density in densities]
    return float(np.trapezoid(np.minimum(densities[0] / areas[0], densities[1] / areas[1]), grid))

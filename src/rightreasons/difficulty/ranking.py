"""Difficulty of examples: pairs before and after a change, accuracy by it, overlap of two groups, and data maps."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from rightreasons.core.arrays import Result, as_floats, to_numpy
from rightreasons.core.intervals import Interval, bootstrap_mean
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import Records, digest_of_arrays
from rightreasons.core.validation import (
    check_count,
    check_labels,
    check_number,
    check_same_length,
    check_scores,
    check_vector,
)

FEW = 8
"""Of so many items at most, the p-value of a rank correlation is that of all orders."""


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
        interval: Bootstrap interval of `mean` over pairs; None unless requested, or where all differences are equal.
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
    original: object, perturbed: object, *, threshold: float = 0.0, resampling: Resampling | None = None
) -> PairedDifficulty:
    r"""Compare the difficulty of examples with that of their perturbations.

        delta_i = difficulty(original_i) - difficulty(perturbed_i)

    The sign is that of the paper's Table 4: examples with a positive difference did not get harder.

    Args:
        original: (N,) difficulties, such as Fisher eigenvalues.
        perturbed: (N,) difficulties of their perturbations, in the same order.
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
    before, after = check_vector(original, "original"), check_vector(perturbed, "perturbed")
    n_pairs = check_same_length(original=before, perturbed=after)
    least = check_number(threshold, "threshold", minimum=0)
    delta = before - after
    return PairedDifficulty(
        mean=float(delta.mean()),
        std=float(delta.std()),
        not_harder=float((delta >= 0).mean()),
        ineffective=float((delta >= -least).mean()),
        threshold=least,
        p_value=float(stats.wilcoxon(delta).pvalue) if delta.any() else None,
        n_pairs=n_pairs,
        interval=None if resampling is None or np.ptp(delta) == 0 else bootstrap_mean(delta, resampling=resampling),
        differences=delta.tolist(),
    )


@dataclasses.dataclass(frozen=True)
class RankCorrelation(Result):
    """Spearman's rank correlation.

    Attributes:
        rho: In [-1, 1]; None where one side is constant, or with fewer than three items.
        p_value: Two-sided p-value of "no relation"; None likewise.
        n_items: How many items.
    """

    rho: float | None
    p_value: float | None
    n_items: int


def rank_correlation(first: object, second: object) -> RankCorrelation:
    """Measure how far two measures rank items alike (Spearman).

    The p-value is exact with up to eight items: the share of the orders of one side whose |rho| is at least as large.
    With more it is that of Student's t, which would call three items in one order certain.

    Args:
        first: (N,) values of the one measure.
        second: (N,) values of the other.

    Returns:
        A `RankCorrelation`.

    References:
        Spearman (1904), The Proof and Measurement of Association between Two Things.

    Example:
        Two of the six orders of three items have |rho| = 1.

        >>> rank_correlation([1, 2, 3], [10, 20, 15]).rho, round(rank_correlation([1, 2, 3], [1, 2, 3]).p_value, 4)
        (0.5, 0.3333)
    """
    a, b = check_vector(first, "first"), check_vector(second, "second")
    n_items = check_same_length(first=a, second=b)
    rho = spearman(a, b)
    if rho is None:
        return RankCorrelation(None, None, n_items)
    if n_items > FEW:
        return RankCorrelation(rho, float(stats.spearmanr(a, b).pvalue), n_items)
    ranks_a, ranks_b = (ranks - ranks.mean() for ranks in (stats.rankdata(a), stats.rankdata(b)))
    products = np.array([*itertools.permutations(ranks_b)]) @ ranks_a
    # The tolerance keeps equal correlations together despite rounding.
    return RankCorrelation(rho, float(np.mean(np.abs(products) >= abs(ranks_a @ ranks_b) - 1e-9)), n_items)


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return the rank correlation of two columns (N,) alone; None where one is constant or N is below three."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])


def margin(predictions: object, *, scores: str = "probabilities") -> NDArray[np.float64]:
    """Return the gap between the two largest class probabilities; (N,), small where an example is difficult.

    Args:
        predictions: (N, K) class scores.
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Example:
        >>> margin([[0.5, 0.25, 0.25]]).tolist()
        [0.25]
    """
    table = np.sort(check_scores(predictions, scores=scores), axis=1)
    return np.asarray(table[:, -1] - table[:, -2], dtype=np.float64)


def entropy(predictions: object, *, scores: str = "probabilities") -> NDArray[np.float64]:
    """Return the entropy of the class probabilities in nats; (N,), large where an example is difficult.

    Args:
        predictions: (N, K) class scores.
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Example:
        >>> entropy([[0.5, 0.5]]).round(6).tolist()
        [0.693147]
    """
    return np.asarray(special.entr(check_scores(predictions, scores=scores)).sum(axis=1), dtype=np.float64)


def tied_groups(values: NDArray[np.float64], n_groups: int) -> list[NDArray[np.intp]]:
    """Split items into groups of about equal size by rising value; equal values share the group of their middle one.

    Args:
        values: (N,) values.
        n_groups: Number of groups; there are fewer with fewer items or where equal values fill several.

    Returns:
        The places of the items of each group, in their order. Without equal values the sizes differ by one at most.

    Example:
        >>> [group.tolist() for group in tied_groups(np.array([3.0, 1.0, 2.0, 2.0, 2.0]), 2)]
        [[1, 2, 3, 4], [0]]
    """
    ordered = np.sort(values)
    middle = sum(np.searchsorted(ordered, values, side=side) for side in ("left", "right")) // 2
    sizes = [len(part) for part in np.array_split(ordered, min(n_groups, len(values)))]
    group = np.repeat(np.arange(len(sizes)), sizes)[middle]
    return [np.flatnonzero(group == number) for number in np.unique(group)]


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
    """Split items into groups of about equal size by difficulty, and count how often each group is right.

    The groups are those of `tied_groups`: items of equal difficulty share one.

    Args:
        difficulty: (N,) difficulties.
        predictions: (N,) predicted labels.
        references: (N,) gold labels.
        n_groups: Number of groups (default 10); fewer if there are fewer items.

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
    groups = tied_groups(values, check_count(n_groups, "n_groups"))
    return AccuracyByDifficulty(
        accuracies=[float(right[group].mean()) for group in groups],
        counts=[len(group) for group in groups],
        edges=[[float(values[group].min()), float(values[group].max())] for group in groups],
        correlation=rank_correlation(values, right),
    )


METHOD = "Student's t about the bias-corrected overlap of normal scores"

_Overlapping = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Gives (R,) overlaps by the (R, B) shares that two samples have of the same cells."""

_CELLS = 4096
"""Cells of the grid on which kernel densities are estimated."""


@dataclasses.dataclass(frozen=True)
class Overlap(Result):
    """How much two distributions share; see `distribution_overlap`.

    Attributes:
        histogram: Overlapping coefficient of the two histograms over shared bins, in [0, 1]; 1 is the same.
        kde: The same of two Gaussian kernel density estimates; None where a sample has no spread.
        edges: The shared bin edges (Freedman-Diaconis of both samples together).
        interval: Interval of the overlap of the distributions, which holds both estimates; None unless requested.
        n_first: Size of the first sample.
        n_second: Size of the second.
    """

    histogram: float
    kde: float | None
    edges: list[float]
    interval: Interval | None
    n_first: int
    n_second: int


def distribution_overlap(first: object, second: object, *, resampling: Resampling | None = None) -> Overlap:
    r"""Measure the overlap of two distributions: OVL = integral of min(f, g).

    The paper does not say how it measured overlaps of difficulty distributions; both usual estimates are returned.

    Args:
        first: (N,) values.
        second: (M,) values.
        resampling: How the interval is resampled; None (default) gives none. Overlap does not change where both
            distributions are stretched alike, so the interval is that of kernel densities of the values' normal scores,
            the normal quantiles of their ranks among both samples, and skewed or two-peaked values are no harder than
            Gaussian ones (of values without spread, that of the histogram). Samples overlap less than their
            distributions, and resamples less than samples, so its center is the estimate minus the bias of the
            resamples; the half-width is that of Student's t with their standard deviation, or the Jeffreys standard
            error of a share of the smaller sample where that is larger. Kernels smooth, which raises small overlaps:
            what smoothing twice adds widens the interval, twice below and once above. Where resamples of both samples
            together overlap no more than the samples do in at least (1 - level) / 2 of the cases, the upper end is 1.
            Both estimates are always inside.

    Returns:
        An `Overlap`.

    References:
        Weitzman (1970), Measures of Overlap of Income Distributions; Datta et al. (2020), Figure 2; van der Waerden
        (1952), Order Tests for the Two-Sample Problem and Their Power, for normal scores.

    Example:
        >>> distribution_overlap([0, 1, 2, 3], [0, 1, 2, 3]).histogram
        1.0
        >>> distribution_overlap([0, 1, 2, 3], [10, 11, 12, 13]).histogram
        0.0
    """
    a, b = check_vector(first, "first"), check_vector(second, "second")
    both = np.concatenate((a, b))
    edges = np.histogram_bin_edges(both, bins="fd")
    counts = [np.histogram(sample, edges)[0] for sample in (a, b)]
    shares = [count / count.sum() for count in counts]
    histogram, kernels = _overlap_of(shares, _common), _Kernels.of(a, b)
    kde = None if kernels is None else _overlap_of(kernels.shares, kernels.overlap)
    interval = None
    if resampling is not None:
        sizes, scored = (len(a), len(b)), _Kernels.of(*_normal_scores(a, b))
        if scored is None:
            interval = _interval(sizes, shares, _common, resampling)
        else:
            interval = _interval(sizes, scored.shares, scored.overlap, resampling, smoother=scored.twice().overlap)
        estimates = histogram, histogram if kde is None else kde
        interval = dataclasses.replace(interval, low=min(interval.low, *estimates), high=max(interval.high, *estimates))
    return Overlap(histogram, kde, edges.tolist(), interval, len(a), len(b))


def _normal_scores(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the normal quantiles of the ranks among the values of both samples."""
    n_values = len(a) + len(b)
    scores = special.ndtri((stats.rankdata(np.concatenate((a, b))) - 0.5) / n_values)
    return scores[: len(a)], scores[len(a) :]


def _common(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (R,) overlaps of shares of bins (R, B)."""
    return np.asarray(np.minimum(first, second).sum(axis=1), dtype=np.float64)


def _overlap_of(shares: Sequence[NDArray[np.float64]], overlap: _Overlapping) -> float:
    first, second = shares
    return float(overlap(first[None], second[None])[0])


def _interval(
    sizes: tuple[int, int],
    shares: Sequence[NDArray[np.float64]],
    overlap: _Overlapping,
    resampling: Resampling,
    smoother: _Overlapping | None = None,
) -> Interval:
    """Return the interval about an estimate; with bins held fixed, resampling values is resampling their counts."""
    estimate = _overlap_of(shares, overlap)
    smoothing = max(_overlap_of(shares, smoother or overlap) - estimate, 0.0)
    rng = np.random.default_rng(resampling.seed)

    def drawn(of: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        former, latter = (rng.multinomial(n, p, size=resampling.resamples) / n for n, p in zip(sizes, of, strict=True))
        return overlap(former, latter)

    resamples, n, tail = drawn(shares), min(sizes), (1 - resampling.level) / 2
    together = np.average(np.stack(shares), axis=0, weights=sizes)
    share = (estimate * n + 0.5) / (n + 1)
    deviation = max(float(resamples.std()), float(np.sqrt(share * (1 - share) / (n + 1))))
    center = min(max(2 * estimate - float(resamples.mean()), 0.0), 1.0)
    half = float(stats.t.isf(tail, max(n - 1, 1))) * deviation
    alike = float(np.mean(drawn([together, together]) <= estimate)) >= tail
    return Interval(
        max(0.0, min(center - half - 2 * smoothing, estimate)),
        1.0 if alike else min(1.0, max(center + half + smoothing, estimate)),
        resampling.level,
        METHOD,
        resampling.resamples,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Kernels:
    """Gaussian kernel density estimates of two samples on one fine grid.

    Attributes:
        shares: For each sample, (G,) the share of it in every cell.
        smoothing: For each, the Fourier transform of its kernel, of Scott's bandwidth.
    """

    shares: list[NDArray[np.float64]]
    smoothing: list[NDArray[np.complex128]]

    def twice(self) -> _Kernels:
        """Return estimates that are smoothed twice."""
        return _Kernels(self.shares, [smoothing * smoothing for smoothing in self.smoothing])

    @classmethod
    def of(cls, a: NDArray[np.float64], b: NDArray[np.float64]) -> _Kernels | None:
        """Build the grid; None where a sample has no spread."""
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


# ------------------------------------- Data maps: which examples a model finds easy, ambiguous or hard while it learns

PATTERN = "step-*.npz"
"""Files of a data map on disk: one per end of an epoch, written during training."""


@dataclasses.dataclass(frozen=True, eq=False)
class DataMap(Result):
    """Training dynamics of N examples over E epochs.

    Attributes:
        confidence: (N,) mean over the epochs of the probability of the gold label, in [0, 1].
        variability: (N,) its standard deviation over the epochs, in [0, 0.5].
        correctness: (N,) share of the epochs in which the prediction is the gold label, in [0, 1].
        n_epochs: E.
    """

    confidence: NDArray[np.float64]
    variability: NDArray[np.float64]
    correctness: NDArray[np.float64]
    n_epochs: int


def data_map(gold_probabilities: Any, correct: Any) -> DataMap:
    r"""Map training examples by the model's predictions, epoch by epoch.

    \[ \mu_i = \frac1E \sum_e p_e(y_i \mid x_i), \quad
       \sigma_i = \sqrt{\frac1E \sum_e (p_e(y_i \mid x_i) - \mu_i)^2}, \quad
       c_i = \frac1E \sum_e 1[\hat y_{ei} = y_i] \]

    Args:
        gold_probabilities: (E, N) probability of the gold label at the end of each epoch, in [0, 1].
        correct: (E, N) whether the prediction was right.

    Returns:
        `DataMap`.

    Raises:
        ValueError: If the shapes differ, something is empty or a probability is out of range.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with Training Dynamics",
        section 2.

    Example:
        >>> dynamics = data_map([[0.9, 0.2], [0.7, 0.6]], [[True, False], [True, True]])
        >>> dynamics.confidence.round(6).tolist(), dynamics.variability.round(6).tolist(), dynamics.correctness.tolist()
        ([0.8, 0.4], [0.1, 0.2], [1.0, 0.5])
    """
    probability = as_floats(gold_probabilities, "gold_probabilities")
    right = to_numpy(correct, "correct")
    right = as_floats(right.astype(np.float64) if right.dtype.kind == "b" else right, "correct")
    if probability.ndim != 2 or probability.size == 0:
        raise ValueError(f"Expected `gold_probabilities` of shape (E, N), but got shape {probability.shape}.")
    if right.shape != probability.shape:
        raise ValueError(
            f"Expected `correct` of the shape of `gold_probabilities`, {probability.shape}, but got {right.shape}."
        )
    for name, values in (("gold_probabilities", probability), ("correct", right)):
        outside = np.argwhere(~((values >= 0) & (values <= 1)))
        if len(outside):
            epoch, example = outside[0].tolist()
            raise ValueError(
                f"Expected values between 0 and 1 in `{name}`, but example {example} of epoch {epoch} has "
                f"{values[epoch, example]}."
            )
    return DataMap(probability.mean(axis=0), probability.std(axis=0), right.mean(axis=0), len(probability))


@dataclasses.dataclass(frozen=True, eq=False)
class EpochScores:
    """The scores of all training examples at the end of an epoch.

    Attributes:
        step: The training step at which the epoch ended.
        epoch: The epochs trained by then; fractional where the end of training cut the last one short.
        probability: (N,) probability of the gold label.
        correct: (N,) whether the prediction was right.
    """

    step: int
    epoch: float
    probability: NDArray[np.float64]
    correct: NDArray[np.bool_]

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"step-{self.step:08d}.npz"


def map_run(ids: Sequence[str], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Return what the records of a data map are of: the ids of its examples, () for none, and their labels."""
    return {"kind": "data map", "ids": list(ids), "labels": digest_of_arrays({"labels": labels})}


def write_epoch(records: Records, scores: EpochScores) -> None:
    """Write the end of an epoch, replacing an earlier one at the same step."""
    columns = {name: np.asarray(value) for name, value in vars(scores).items()}
    records.write_arrays(scores.file, columns)


def read_epochs(records: Records) -> list[EpochScores]:
    """Read the epochs in a folder, in order; damaged ones are set aside."""
    arrays = (records.read_arrays(file.name) for file in sorted(records.folder.glob(PATTERN)))
    return [
        EpochScores(int(each["step"]), float(each["epoch"]), each["probability"], each["correct"])
        for each in arrays
        if each is not None
    ]


def map_of(epochs: Sequence[EpochScores]) -> DataMap:
    """Compute the data map of some epochs of the same examples."""
    return data_map(np.stack([each.probability for each in epochs]), np.stack([each.correct for each in epochs]))

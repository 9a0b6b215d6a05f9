"""Difficulty of examples: pairs before and after a change, groups by it, overlap of two groups, and data maps."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core.arrays import to_floats, to_numpy
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_number, check_same_length, check_vector


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
    original: object,
    perturbed: object,
    *,
    threshold: float = 0.0,
    resampling: Resampling | None = None,
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
        interval=None
        if resampling is None or np.ptp(delta) == 0
        else bootstrap_mean(delta, resampling=resampling),
        differences=delta.tolist(),
    )


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


_CELLS = 4096
"""Points of the grid on which kernel densities are compared."""


@dataclasses.dataclass(frozen=True)
class Overlap(Result):
    """How much two distributions share; see `distribution_overlap`.

    Attributes:
        histogram: Overlapping coefficient of the two histograms over shared bins (Freedman-Diaconis of both samples
            together), in [0, 1]; 1 is the same.
        kde: The same of two Gaussian kernel density estimates; None where a sample has no spread.
    """

    histogram: float
    kde: float | None


def distribution_overlap(first: object, second: object) -> Overlap:
    r"""Measure the overlap of two distributions: OVL = integral of min(f, g).

    The paper does not say how it measured overlaps of difficulty distributions; both usual estimates are returned. Two
    samples overlap less than their distributions.

    Args:
        first: (N,) values.
        second: (M,) values.

    Returns:
        An `Overlap`.

    References:
        Weitzman (1970), Measures of Overlap of Income Distributions; Datta et al. (2020), Figure 2.

    Example:
        >>> distribution_overlap([0, 1, 2, 3], [0, 1, 2, 3]).histogram
        1.0
        >>> distribution_overlap([0, 1, 2, 3], [10, 11, 12, 13]).histogram
        0.0
    """
    samples = [check_vector(first, "first"), check_vector(second, "second")]
    edges = np.histogram_bin_edges(np.concatenate(samples), bins="fd")
    shares = [np.histogram(sample, edges)[0] / len(sample) for sample in samples]
    kde = None
    if all(len(sample) > 1 and np.ptp(sample) > 0 for sample in samples):
        reach = 4 * max(sample.std() for sample in samples)
        low, high = min(map(np.min, samples)) - reach, max(map(np.max, samples)) + reach
        grid = np.linspace(low, high, _CELLS)
        densities = [stats.gaussian_kde(sample)(grid) for sample in samples]
        # The grid is cut where densities are all but 0; normalizing keeps two equal samples at 1.
        kde = float(np.minimum(*(density / density.sum() for density in densities)).sum())
    return Overlap(float(np.minimum(*shares).sum()), kde)


# ------------------------------------- Data maps: which examples a model finds easy, ambiguous or hard while it learns


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
    probability = to_floats(gold_probabilities, "gold_probabilities")
    right = to_numpy(correct, "correct")
    right = to_floats(right.astype(np.float64) if right.dtype.kind == "b" else right, "correct")
    if probability.ndim != 2 or probability.size == 0:
        raise ValueError(
            f"Expected `gold_probabilities` of shape (E, N), but got shape {probability.shape}."
        )
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
    return DataMap(
        probability.mean(axis=0), probability.std(axis=0), right.mean(axis=0), len(probability)
    )

"""Difficulty of examples: changes by perturbation, the overlap of two sets, and data maps.

`paired_difficulty` compares examples with their perturbations, `distribution_overlap` compares two sets, and
`data_map` follows the examples of a training set over the epochs.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_floats, to_numpy
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_number, check_same_length, check_vector

N_GRID_POINTS = 4096
"""Number of points at which kernel densities are compared."""


@dataclasses.dataclass(frozen=True)
class PairedDifficulty(Result):
    """Change of the difficulty of examples by a perturbation; see `paired_difficulty`.

    Attributes:
        mean: Mean of difficulty(original) - difficulty(perturbed), negative if the perturbation made the
            examples harder.
        std: Standard deviation of that difference (population).
        not_harder: Share of pairs with a difference of at least 0, in [0, 1].
        ineffective: Share of pairs with a difference of at least `-threshold`.
        threshold: Increase of difficulty from which a perturbation counts as effective.
        p_value: Two-sided Wilcoxon signed-rank test of the differences; None if all of them are 0.
        n_pairs: Number of pairs.
        interval: Bootstrap interval of the mean over pairs. None unless requested, or if all differences
            are equal.
        differences: (N,) differences.
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
        threshold: A perturbation counts as effective below `-threshold`; default 0. The paper also
            proposes 1.
        resampling: Resampling of the bootstrap interval of the mean; None (default) for no interval.

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
    originals = check_vector(original, "original")
    revisions = check_vector(perturbed, "perturbed")
    n_pairs = check_same_length(original=originals, perturbed=revisions)
    margin = check_number(threshold, "threshold", minimum=0)
    delta = originals - revisions

    # Wilcoxon's test discards pairs without a change, so it needs at least one change.
    p_value = None
    if delta.any():
        p_value = float(scipy.stats.wilcoxon(delta).pvalue)
    interval = None
    if resampling is not None and np.ptp(delta) > 0:
        interval = bootstrap_mean(delta, resampling=resampling)
    return PairedDifficulty(
        mean=float(delta.mean()),
        std=float(delta.std()),
        not_harder=float((delta >= 0).mean()),
        ineffective=float((delta >= -margin).mean()),
        threshold=margin,
        p_value=p_value,
        n_pairs=n_pairs,
        interval=interval,
        differences=delta.tolist(),
    )


@dataclasses.dataclass(frozen=True)
class Overlap(Result):
    """Overlap of two distributions; see `distribution_overlap`.

    Attributes:
        histogram: Overlapping coefficient of two histograms over shared bins (Freedman-Diaconis of both
            samples together), in [0, 1]; 1 for equal histograms.
        kde: Overlapping coefficient of two Gaussian kernel density estimates. None if a sample has no
            spread.
    """

    histogram: float
    kde: float | None


def distribution_overlap(first: object, second: object) -> Overlap:
    r"""Measure the overlap of two distributions: OVL = integral of min(f, g).

    The paper does not say how it measured overlaps of difficulty distributions; both usual estimates are
    returned. Two samples overlap less than their distributions.

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
    # The bins are shared, because the two samples alone would get bins of different widths.
    samples = [check_vector(first, "first"), check_vector(second, "second")]
    edges = np.histogram_bin_edges(np.concatenate(samples), bins="fd")
    shares = []
    for sample in samples:
        counts, _ = np.histogram(sample, edges)
        shares.append(counts / len(sample))
    kde = None
    # A kernel density needs a standard deviation.
    if all(len(sample) > 1 and np.ptp(sample) > 0 for sample in samples):
        kde = _measure_kernel_overlap(samples)
    return Overlap(float(np.minimum(*shares).sum()), kde)


def _measure_kernel_overlap(samples: list[NDArray[np.float64]]) -> float:
    """Return the overlapping coefficient of the Gaussian kernel density estimates of two samples.

    Args:
        samples: Two vectors of values, each with some spread.
    """
    # Four standard deviations beyond the samples, the densities are almost 0.
    margin = 4 * max(sample.std() for sample in samples)
    low = min(map(np.min, samples)) - margin
    high = max(map(np.max, samples)) + margin
    grid = np.linspace(low, high, N_GRID_POINTS)
    densities = [scipy.stats.gaussian_kde(sample)(grid) for sample in samples]
    # Normalized on the grid, so that two equal samples overlap by exactly 1.
    normalized = [density / density.sum() for density in densities]
    return float(np.minimum(*normalized).sum())


@dataclasses.dataclass(frozen=True, eq=False)
class DataMap(Result):
    """Training dynamics of N examples over E epochs.

    Attributes:
        confidence: (N,) mean over the epochs of the probability of the gold label, in [0, 1].
        variability: (N,) standard deviation of that probability over the epochs, in [0, 0.5].
        correctness: (N,) share of the epochs with a correct prediction, in [0, 1].
        n_epochs: Number of epochs, E.
    """

    confidence: Floats
    variability: Floats
    correctness: Floats
    n_epochs: int


def data_map(gold_probabilities: Any, correct: Any) -> DataMap:
    r"""Map training examples by the model's predictions in each epoch.

    \[ \mu_i = \frac1E \sum_e p_e(y_i \mid x_i), \quad
       \sigma_i = \sqrt{\frac1E \sum_e (p_e(y_i \mid x_i) - \mu_i)^2}, \quad
       c_i = \frac1E \sum_e 1[\hat y_{ei} = y_i] \]

    Args:
        gold_probabilities: (E, N) probability of the gold label at the end of each epoch, in [0, 1].
        correct: (E, N) whether the prediction was correct.

    Returns:
        A `DataMap`.

    Raises:
        ValueError: If the shapes differ, an array is empty, or a probability is out of range.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with Training
        Dynamics", section 2.

    Example:
        >>> dynamics = data_map([[0.9, 0.2], [0.7, 0.6]], [[True, False], [True, True]])
        >>> dynamics.confidence.round(6).tolist(), dynamics.variability.round(6).tolist()
        ([0.8, 0.4], [0.1, 0.2])
        >>> dynamics.correctness.tolist()
        [1.0, 0.5]
    """
    probabilities = to_floats(gold_probabilities, "gold_probabilities")
    flags = to_numpy(correct, "correct")
    if flags.dtype.kind == "b":
        flags = flags.astype(np.float64)
    # Shares are allowed too: an epoch may average the correctness of several predictions of an example.
    is_correct = to_floats(flags, "correct")
    if probabilities.ndim != 2 or probabilities.size == 0:
        raise ValueError(
            f"Expected `gold_probabilities` of shape (E, N), but got shape {probabilities.shape}."
        )
    if is_correct.shape != probabilities.shape:
        raise ValueError(
            "Expected `correct` of the shape of `gold_probabilities`, "
            f"{probabilities.shape}, but got {is_correct.shape}."
        )
    _check_shares(probabilities, "gold_probabilities")
    _check_shares(is_correct, "correct")
    return DataMap(
        confidence=probabilities.mean(axis=0),
        variability=probabilities.std(axis=0),
        correctness=is_correct.mean(axis=0),
        n_epochs=len(probabilities),
    )


def _check_shares(values: Floats, name: str) -> None:
    """Check that all values of a table are between 0 and 1.

    Args:
        values: (E, N) a value for each epoch and example.
        name: Name of the table in the error message.

    Raises:
        ValueError: If one is not, or is NaN; the message names its epoch and its example.
    """
    # The negation also finds NaN, which compares as false.
    outside = np.argwhere(~((values >= 0) & (values <= 1)))
    if len(outside):
        epoch, example = outside[0].tolist()
        raise ValueError(
            f"Expected values between 0 and 1 in `{name}`, but example {example} of epoch {epoch} has "
            f"{values[epoch, example]}."
        )

"""A test of calibration without bins: the squared kernel calibration error."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.top_label import top_label
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, check_one_of

KINDS = ("canonical", "top_label", "positive", "confidence")

Floats = NDArray[np.float64]

_CELLS = 4_000_000


@dataclasses.dataclass(frozen=True)
class KernelCalibration(Result):
    """The squared kernel calibration error, and whether a calibrated model would show as much.

    Attributes:
        skce: Unbiased estimate of the squared error. Its mean is 0 for a calibrated model, so it may be negative.
        upper: What the estimate of a calibrated model stays below with the chance of the resampling's level.
        p_value: How often the estimate of a calibrated model is at least the observed one.
        bandwidth: Bandwidth of the kernel, the median total variation distance of two predictions, or its mean, or 1.
        n_items: Number of items used.
        n_resamples: Number of draws of labels.
    """

    skce: float
    upper: float
    p_value: float
    bandwidth: float
    n_items: int
    n_resamples: int


@checks_kinds
def kernel_calibration(
    predictions: Any,
    references: Any,
    *,
    kind: str = "canonical",
    scores: str = "probabilities",
    max_items: int = 2_000,
    resampling: Resampling = Resampling(),
) -> KernelCalibration:
    r"""Test calibration by the squared kernel calibration error (SKCE), which needs no bins.

    \[ \widehat{SKCE} = \binom{n}{2}^{-1} \sum_{i < j} e^{-d(p_i, p_j) / \nu} \, (y_i - p_i)^\top (y_j - p_j) \]

    with labels y as unit vectors, the total variation distance d and its median ν over pairs (its mean where the median
    is 0, and 1 where all predictions are the same): the unbiased quadratic estimator. Under its null, labels are drawn
    from the predictions themselves, which, given the predictions, is exactly the null: the p-value is valid for any
    number of items and any kernel, where those of the paper are asymptotic.

    Args:
        predictions: (N, K) class scores or (N,) P(class 1); for kind="confidence", (N,) confidences in given answers.
        references: (N,) labels, or whether the answers were right.
        kind: "canonical" (default; all classes together, the strongest notion), "top_label" (confidence in the
            predicted class), "positive" (P(class 1) of two classes) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".
        max_items: Of more items than this, at least 2, a random part of this size is used: time and memory grow with
            the square of the number of items.
        resampling: Level of `upper`, number of draws and seed.

    Returns:
        A `KernelCalibration`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If there are fewer than two items, or a value, a shape or a length is wrong.

    References:
        Widmann, Lindsten, Zachariah (2019), "Calibration Tests in Multi-class Classification: A Unifying Framework",
        NeurIPS, section 5; the draws: Vaicenavicius et al. (2019), "Evaluating Model Calibration in Classification".

    Example:
        Two items of the same prediction, both right: residuals (0.2, -0.2) twice, whose product is 0.08.

        >>> result = kernel_calibration([[0.8, 0.2], [0.8, 0.2]], [0, 0])
        >>> round(result.skce, 6), result.bandwidth
        (0.08, 1.0)
    """
    check_one_of(kind, KINDS, "kind")
    maximum = check_count(max_items, "max_items", minimum=2)
    top = top_label(predictions, references, scores=scores, kind="top_label" if kind == "canonical" else kind)
    if kind == "canonical":
        if isinstance(top.probabilities, Ragged):
            raise ValueError("Expected rows of one length for kind='canonical', but they differ; use kind='top_label'.")
        table, labels = top.probabilities, top.labels
    else:
        ((confidence, events),) = top.pairs(kind)
        table, labels = np.column_stack((1 - confidence, confidence)), events.astype(np.int64)
    if len(table) < 2:
        raise ValueError("Expected at least two items for a kernel calibration error, but got 1.")
    rng = np.random.default_rng([resampling.seed, 4])
    if len(table) > maximum:
        part = rng.choice(len(table), maximum, replace=False)
        table, labels = table[part], labels[part]
    n_items = len(table)
    kernel, bandwidth = _kernel(table)
    observed = float(_estimates(kernel, table, labels[:, None])[0])
    cumulative = table.cumsum(axis=1)[:, :-1, None]
    step, null = max(1, _CELLS // table.size), np.empty(resampling.resamples)
    for start in range(0, resampling.resamples, step):
        size = min(step, resampling.resamples - start)
        drawn = (rng.random((n_items, 1, size)) >= cumulative).sum(axis=1)
        null[start : start + size] = _estimates(kernel, table, drawn)
    return KernelCalibration(
        skce=observed,
        upper=float(np.quantile(null, resampling.level)),
        # The tolerance keeps equal estimates together despite rounding.
        p_value=float((1 + np.count_nonzero(null >= observed - 1e-12)) / (resampling.resamples + 1)),
        bandwidth=bandwidth,
        n_items=n_items,
        n_resamples=resampling.resamples,
    )


# ------------------------------------------------------------------------------------------------------------- private


def _kernel(table: Floats) -> tuple[Floats, float]:
    """Return the kernel of every pair of rows, 0 of a row with itself, and its bandwidth."""
    distances = np.zeros((len(table), len(table)))
    for column in table.T:
        distances += np.abs(column[:, None] - column)
    distances /= 2
    pairs = distances[np.triu_indices(len(table), 1)]
    bandwidth = float(np.median(pairs)) or float(pairs.mean()) or 1.0
    kernel = np.exp(-distances / bandwidth)
    np.fill_diagonal(kernel, 0.0)
    return kernel, bandwidth


def _estimates(kernel: Floats, table: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return (R,) estimates for R columns of labels (N, R)."""
    n_items = len(table)
    total = np.zeros(labels.shape[1])
    for place, column in enumerate(table.T):
        residuals = (labels == place) - column[:, None]
        total += (residuals * (kernel @ residuals)).sum(axis=0)
    return total / (n_items * (n_items - 1))

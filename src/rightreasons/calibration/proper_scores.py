"""Proper scoring rules: the Brier score with its parts, and the log loss."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TopLabel, top_label
from rightreasons.core.arrays import Ragged
from rightreasons.core.binning import BinSums
from rightreasons.core.results import Result
from rightreasons.core.validation import MOST_BINS, check_count, check_logits, check_one_of

Floats = NDArray[np.float64]

BRIER_KINDS = ("multiclass", "positive", "top_label", "confidence")
NLL_KINDS = ("multiclass", "top_label", "confidence")


@dataclasses.dataclass(frozen=True)
class BrierResult(Result):
    """The Brier score and its parts: brier = reliability - resolution + uncertainty + variance - covariance.

    Attributes:
        brier: The score; 0 is best. In [0, 2] for kind="multiclass", otherwise in [0, 1].
        reliability: Mean squared gap between probability and frequency of the bins; lower is better.
        resolution: Mean squared distance of the bins' frequencies from the base rate; higher is better.
        uncertainty: Variance of the labels, which no model can change.
        within_bin_variance: Variance of the probabilities inside the bins.
        within_bin_covariance: Twice the covariance of probabilities and labels inside the bins.
        skill: 1 - brier / uncertainty, the gain over always giving the base rates; None where all labels are equal.
        n_items: Number of items.
        n_bins: Number of bins (for each class).
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float
    skill: float | None
    n_items: int
    n_bins: int


@dataclasses.dataclass(frozen=True)
class NllResult(Result):
    """The log loss.

    Attributes:
        nll: Mean of -log P(label), in nats, at least 0; lower is better. None where some label has probability 0, for
            which the mean is infinite.
        n_impossible: Number of items whose label has probability 0.
        n_items: Number of items.
    """

    nll: float | None
    n_impossible: int
    n_items: int


def brier_score(
    predictions: Any,
    references: Any,
    *,
    kind: str = "multiclass",
    n_bins: int = 15,
    strategy: str = "uniform",
    scores: str = "probabilities",
) -> BrierResult:
    r"""Compute the Brier score and split it into parts that add up to it exactly.

    \[ BS = \frac1n \sum_i \sum_k (p_{ik} - y_{ik})^2 = REL - RES + UNC + WBV - WBC \]

    with, for each class and summed over the classes, \(w_m = n_m / n\):
    \(REL = \sum_m w_m (\bar p_m - \bar y_m)^2\), \(RES = \sum_m w_m (\bar y_m - \bar y)^2\),
    \(UNC = \bar y (1 - \bar y)\), \(WBV = \frac1n \sum_m \sum_{i \in m} (p_i - \bar p_m)^2\) and
    \(WBC = \frac2n \sum_m \sum_{i \in m} (p_i - \bar p_m)(y_i - \bar y_m)\). The last two vanish when every item of a
    bin has the same probability; that is Murphy's decomposition.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task; for kind="top_label", also N rows of
            different lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "multiclass" (sum over the classes, as Brier defined it), "positive" (class 1 of a binary task alone,
            which is half of it), "top_label" (the largest probability with whether its class is the label) or
            "confidence".
        n_bins: Number of bins.
        strategy: "uniform" or "quantile".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `BrierResult`: brier, its five parts, the skill, number of items and bins.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong, or if rows have different lengths.

    References:
        Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
        Murphy (1973), A New Vector Partition of the Probability Score.
        Stephenson, Coelho, Jolliffe (2008), Two Extra Components in the Brier Score Decomposition, eq. 4.

    Example:
        (0.3² + 0.3²), (0.4² + 0.4²): mean 0.25.

        >>> result = brier_score([[0.7, 0.3], [0.4, 0.6]], [0, 1])
        >>> round(result.brier, 6), brier_score([0.3, 0.6], [0, 1], kind="positive").brier
        (0.25, 0.125)
    """
    check_one_of(kind, BRIER_KINDS, "kind")
    n_bins = check_count(n_bins, "n_bins", maximum=MOST_BINS)
    check_one_of(strategy, ("uniform", "quantile"), "strategy")
    top = top_label(predictions, references, scores=scores, kind=kind)
    return brier_of(top, kind=kind, n_bins=n_bins, strategy=strategy)


def brier_of(top: TopLabel, *, kind: str = "multiclass", n_bins: int = 15, strategy: str = "uniform") -> BrierResult:
    """Compute `brier_score` from precomputed top labels."""
    sums = BinSums.of(top.pairs("classwise" if kind == "multiclass" else kind), n_bins, strategy)
    n, count, sizes = len(top), sums.counts, np.maximum(sums.counts, 1.0)
    probability, frequency = sums.score_sums / sizes, sums.event_counts / sizes
    base_rate = sums.event_counts.sum(axis=1, keepdims=True) / n
    # (p - y)² = p² - 2 p y + y, summed; the sum over the events of p is the second row of the totals.
    squares, products = sums.square.sum(axis=1), sums.total[:, 1]
    brier = float((squares - 2 * products + sums.event_counts).sum() / n)
    uncertainty = float((base_rate * (1 - base_rate)).sum())
    return BrierResult(
        brier=max(brier, 0.0),
        reliability=float((count * (probability - frequency) ** 2).sum() / n),
        resolution=float((count * (frequency - base_rate) ** 2).sum() / n),
        uncertainty=uncertainty,
        within_bin_variance=float((squares - count * probability**2).sum() / n),
        within_bin_covariance=float(2 * (products - count * probability * frequency).sum() / n),
        skill=1 - brier / uncertainty if uncertainty > 0 else None,
        n_items=n,
        n_bins=n_bins,
    )


def negative_log_likelihood(
    predictions: Any, references: Any, *, kind: str = "multiclass", scores: str = "probabilities"
) -> NllResult:
    r"""Compute the mean negative log-likelihood of the labels.

    \[ NLL = -\frac1n \sum_i \log p_{i, y_i} \]

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "multiclass" (the formula above), "top_label" (whether the class of the largest probability is right, with
            that probability and the rest to 1) or "confidence" (the same, of a given answer). For two classes the
            first two agree.
        scores: "probabilities", "logits" (the softmax is taken in the logarithm, so that nothing underflows) or
            "log_probabilities".

    Returns:
        An `NllResult`: nll, number of items whose label has probability 0, number of items.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Good (1952), Rational Decisions.

    Example:
        >>> round(negative_log_likelihood([[0.5, 0.5], [0.25, 0.75]], [0, 1]).nll, 6)
        0.490415
        >>> negative_log_likelihood([[1000.0, 0.0]], [1], scores="logits").nll
        1000.0
    """
    check_one_of(kind, NLL_KINDS, "kind")
    top = top_label(predictions, references, scores=scores, kind=kind)
    if kind != "multiclass":
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(top.correct, top.confidence, 1.0 - top.confidence))
    elif scores == "probabilities":
        with np.errstate(divide="ignore"):
            logs = np.log(label_probability(top))
    else:
        logs = label_log_probability(check_logits(predictions, scores=scores), top.labels)
    impossible = int(np.count_nonzero(np.isneginf(logs)))
    # Rounding within the tolerance of a row sum may lift a probability above 1.
    return NllResult(None if impossible else max(float(-logs.mean()), 0.0), impossible, len(top))


def label_probability(top: TopLabel) -> Floats:
    """Return the probability (N,) that each item's label was given."""
    table = top.probabilities
    if isinstance(table, Ragged):
        return table.at(top.labels)
    return np.asarray(np.take_along_axis(table, top.labels[:, None], axis=1)[:, 0], dtype=np.float64)


def label_log_probability(
    logits: Floats | Ragged, labels: NDArray[np.int64], inverse_temperature: float = 1.0
) -> Floats:
    """Return log softmax(inverse_temperature * logits) at the labels, (N,)."""
    if isinstance(logits, Ragged):
        rows = Ragged(logits.values * inverse_temperature, logits.offsets)
        highest = rows.reduce(np.maximum)
        powers = Ragged(np.exp(rows.values - np.repeat(highest, rows.lengths)), rows.offsets)
        return np.asarray(rows.at(labels) - highest - np.log(powers.reduce(np.add)), dtype=np.float64)
    table = logits * inverse_temperature
    highest = table.max(axis=1)
    at_label = table[np.arange(len(table)), labels]
    return np.asarray(at_label - highest - np.log(np.exp(table - highest[:, None]).sum(axis=1)), dtype=np.float64)


brier = brier_score
"""The name by which people look for it."""

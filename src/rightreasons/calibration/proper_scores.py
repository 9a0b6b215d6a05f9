"""Proper scoring rules, the Brier score with its parts and the log loss; and risk under coverage, AURC, AUROC.

The latter say whether confidence ranks right predictions above wrong ones.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import ANSWER_KINDS, TopLabel, parse_top_label
from rightreasons.core.arrays import Floats, Ragged, average_ties
from rightreasons.core.binning import BinSums
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    MAX_BINS,
    check_count,
    check_flags,
    check_logits,
    check_one_of,
    check_same_length,
    check_vector,
)

BRIER_KINDS = ("multiclass", "positive", "top_label", "confidence")
NLL_KINDS = ("multiclass", "confidence")


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
        n_items: Number of items.
        n_bins: Number of bins (for each class).
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float
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
    references: Any = None,
    *,
    kind: str = "multiclass",
    n_bins: int = 15,
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
        n_bins: Number of bins of equal width.
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `BrierResult`: brier, its five parts, number of items and bins.

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
    n_bins = check_count(n_bins, "n_bins", maximum=MAX_BINS)
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    sums = BinSums.of(top.pairs("classwise" if kind == "multiclass" else kind), n_bins)
    n, (count, score, event) = len(top), sums.parts
    sizes = np.maximum(count, 1.0)
    probability, frequency = score / sizes, event / sizes
    base_rate = event.sum(axis=1, keepdims=True) / n
    # (p - y)² = p² - 2 p y + y, summed; the sum over the events of p is the second row of the totals.
    squares, products = sums.square.sum(axis=1), sums.total[:, 1]
    brier = float((squares - 2 * products + event).sum() / n)
    uncertainty = float((base_rate * (1 - base_rate)).sum())
    return BrierResult(
        brier=max(brier, 0.0),
        reliability=float((count * (probability - frequency) ** 2).sum() / n),
        resolution=float((count * (frequency - base_rate) ** 2).sum() / n),
        uncertainty=uncertainty,
        within_bin_variance=float((squares - count * probability**2).sum() / n),
        within_bin_covariance=float(2 * (products - count * probability * frequency).sum() / n),
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
        kind: "multiclass" (the formula above) or "confidence" (whether the given answer is right, with its
            confidence and the rest to 1).
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
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
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
    return np.asarray(
        np.take_along_axis(table, top.labels[:, None], axis=1)[:, 0], dtype=np.float64
    )


def label_log_probability(
    logits: Floats | Ragged, labels: NDArray[np.int64], inverse_temperature: float = 1.0
) -> Floats:
    """Return log softmax(inverse_temperature * logits) at the labels, (N,)."""
    if isinstance(logits, Ragged):
        rows = Ragged(logits.values * inverse_temperature, logits.offsets)
        return np.asarray(rows.at(labels) - rows.reduce(np.logaddexp), dtype=np.float64)
    table = logits * inverse_temperature
    highest = table.max(axis=1)
    at_label = table[np.arange(len(table)), labels]
    return np.asarray(
        at_label - highest - np.log(np.exp(table - highest[:, None]).sum(axis=1)), dtype=np.float64
    )


brier = brier_score
"""The name by which people look for it."""


@dataclasses.dataclass(frozen=True)
class SelectiveResult(Result):
    """How well confidence tells right from wrong predictions.

    Attributes:
        aurc: Mean risk over all coverages, in [0, 1]; lower is better.
        e_aurc: `aurc` less that of the best possible ranking with the same accuracy, in [0, 1]; lower is better.
        auroc: Chance that a right prediction has more confidence than a wrong one, ties counting half, in [0, 1];
            higher is better; None unless there are both right and wrong predictions.
        accuracy: Share of right predictions.
        n_items: Number of items.
    """

    aurc: float
    e_aurc: float
    auroc: float | None
    accuracy: float
    n_items: int


def selective_scores(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> SelectiveResult:
    r"""Measure how well the confidence of a model ranks its right predictions above its wrong ones.

    \[ AURC = \frac1n \sum_{j=1}^{n} \frac1j \sum_{i=1}^{j} wrong_{(i)}, \quad
       E\text{-}AURC = AURC - \min_{\text{rankings}} AURC \]

    with the items in order of falling confidence. Items of equal confidence are taken in random order: what is computed
    is the expectation over that order, so the figures do not depend on the order of the input.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "top_label" (the predictions are class scores) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `SelectiveResult`: aurc, e_aurc, auroc, accuracy, number of items.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        El-Yaniv, Wiener (2010), On the Foundations of Noise-free Selective Classification.
        Geifman, Uziel, El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, section 3.

    Example:
        Risks at coverage 1/4 to 1: 0, 0, 1/3, 1/4; the best ranking has 0, 0, 0, 1/4.

        >>> result = selective_scores([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]], [0, 0, 1, 0])
        >>> round(result.aurc, 6), round(result.e_aurc, 6), round(result.auroc, 6)
        (0.145833, 0.083333, 0.666667)
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    aurc, e_aurc = ranked(top.confidence, top.correct)
    accuracy = int(np.count_nonzero(top.correct)) / len(top)
    return SelectiveResult(aurc, e_aurc, auroc(top.confidence, top.correct), accuracy, len(top))


def ranked(confidence: Floats, correct: NDArray[np.bool_]) -> tuple[float, float]:
    """Return AURC and E-AURC."""
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    wrong = average_ties(confidence, (~correct[order]).astype(np.float64))
    rank = np.arange(1, len(order) + 1)
    risk = np.cumsum(wrong) / rank
    best = np.maximum(rank - np.count_nonzero(correct), 0) / rank
    aurc = float(risk.mean())
    # Rounding may carry a perfect ranking below 0.
    return aurc, max(aurc - float(best.mean()), 0.0)


def auroc(scores: Any, events: Any) -> float | None:
    """Compute the chance that an item with the event scores above one without it, ties counting half.

    Args:
        scores: (N,) finite scores.
        events: (N,) whether the event happened, as True and False or 1 and 0.

    Returns:
        The area under the ROC curve, in [0, 1]; None unless both kinds of items occur.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If something is empty, has the wrong shape or is not finite, or the lengths differ.

    Example:
        >>> auroc([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
        0.875
    """
    scores, events = check_vector(scores, "scores"), check_flags(events, "events")
    check_same_length(scores=scores, events=events)
    n_events = int(np.count_nonzero(events))
    n_others = len(events) - n_events
    if n_events == 0 or n_others == 0:
        return None
    # Mann-Whitney: for each item with the event, count those without it that score below and those that tie.
    others = np.sort(scores[~events])
    with_event = np.sort(scores[events])  # in order, so that the search stays in the cache
    below = np.searchsorted(others, with_event, side="left").sum(dtype=np.int64)
    up_to = np.searchsorted(others, with_event, side="right").sum(dtype=np.int64)
    return float((below + up_to) / (2 * n_events * n_others))

"""Proper scoring rules, and how well confidence ranks correct answers above incorrect ones.

`brier_score` and `negative_log_likelihood` score the probabilities themselves. `selective_scores`
(AURC and AUROC) depends only on the order of the confidences.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import ANSWER_KINDS, KINDS, TopLabel, parse_top_label
from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.binning import BinSums, Flags
from rightreasons.core.ordering import argsort_scores, average_ties
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    MAX_BINS,
    check_count,
    check_flags,
    check_logits,
    check_one_of,
    check_same_length,
    check_vector,
    reduce_rows,
)

BRIER_KINDS = ("multiclass", "positive", "top_label", "confidence")
NLL_KINDS = ("multiclass", "confidence")


# ---------------------------------------------------------------------------------- the Brier score


@dataclasses.dataclass(frozen=True)
class BrierResult(Result):
    """The Brier score and its parts.

    brier = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance

    Attributes:
        brier: Brier score; 0 is best. In [0, 2] for kind="multiclass", otherwise in [0, 1].
        reliability: Mean squared gap between probability and frequency of the bins; lower is
            better.
        resolution: Mean squared distance of the bins' frequencies from the base rate; higher is
            better.
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
    \(WBC = \frac2n \sum_m \sum_{i \in m} (p_i - \bar p_m)(y_i - \bar y_m)\). If every item of a bin
    has the same probability, the last two are 0; that is Murphy's decomposition.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task; for kind="top_label",
            also N rows of different lengths. For kind="confidence": (N,) confidence in the given
            answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "multiclass" (default; the sum over the classes, as Brier defined it), "positive"
            (only class 1 of a binary task, half of the former), "top_label" (the largest
            probability with whether its class is the label) or "confidence".
        n_bins: Number of bins of equal width. Default 15.
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        A `BrierResult`: brier, its five parts, number of items and bins.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong, or if rows have different lengths.

    References:
        Brier (1950), Verification of Forecasts Expressed in Terms of Probability.
        Murphy (1973), A New Vector Partition of the Probability Score.
        Stephenson, Coelho, Jolliffe (2008), Two Extra Components in the Brier Score Decomposition,
        eq. 4.

    Example:
        (0.3² + 0.3²), (0.4² + 0.4²): mean 0.25.

        >>> result = brier_score([[0.7, 0.3], [0.4, 0.6]], [0, 1])
        >>> round(result.brier, 6), brier_score([0.3, 0.6], [0, 1], kind="positive").brier
        (0.25, 0.125)
    """
    check_one_of(kind, BRIER_KINDS, "kind")
    n_bins = check_count(n_bins, "n_bins", maximum=MAX_BINS)
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    n_items = len(top)
    pairs = KINDS["classwise" if kind == "multiclass" else kind].select_pairs(top)
    sums = BinSums.from_pairs(pairs, n_bins)
    bins = sums.bins

    probability = bins.score / bins.divisor
    frequency = bins.rate
    base_rate = bins.event.sum(axis=1, keepdims=True) / n_items
    # With y = 0 or 1, (p - y)² = p² - 2 p y + y, and the sum of p y is the sum of p over the pairs
    # with the event.
    squares = sums.square.sum(axis=1)
    products = sums.total[:, 1]
    brier = float((squares - 2 * products + bins.event).sum() / n_items)

    reliability = (bins.count * (probability - frequency) ** 2).sum()
    resolution = (bins.count * (frequency - base_rate) ** 2).sum()
    within_variance = (squares - bins.count * probability**2).sum()
    within_covariance = (products - bins.count * probability * frequency).sum()
    return BrierResult(
        # Rounding may carry a score of 0 below 0.
        brier=max(brier, 0.0),
        reliability=float(reliability / n_items),
        resolution=float(resolution / n_items),
        uncertainty=float((base_rate * (1 - base_rate)).sum()),
        within_bin_variance=float(within_variance / n_items),
        within_bin_covariance=float(2 * within_covariance / n_items),
        n_items=n_items,
        n_bins=n_bins,
    )


brier = brier_score
"""Short alias."""


# --- The log loss


@dataclasses.dataclass(frozen=True)
class NllResult(Result):
    """The log loss.

    Attributes:
        nll: Mean of -log P(label), in nats, at least 0; lower is better. None if a label has
            probability 0, for which the mean is infinite.
        n_impossible: Number of items whose label has probability 0.
        n_items: Number of items.
    """

    nll: float | None
    n_impossible: int
    n_items: int


def negative_log_likelihood(
    predictions: Any,
    references: Any,
    *,
    kind: str = "multiclass",
    scores: str = "probabilities",
) -> NllResult:
    r"""Compute the mean negative log-likelihood of the labels.

    \[ NLL = -\frac1n \sum_i \log p_{i, y_i} \]

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "multiclass" (default; the formula above) or "confidence" (the two outcomes are a
            correct and an incorrect answer).
        scores: "probabilities" (default), "logits" (the softmax is taken in the logarithm, so that
            nothing underflows) or "log_probabilities".

    Returns:
        An `NllResult`: nll, number of items whose label has probability 0, number of items.

    Raises:
        TypeError: If an argument has the wrong type.
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
    # The logarithm of 0 is minus infinity, and such items are counted below.
    with np.errstate(divide="ignore"):
        if kind == "confidence":
            logs = np.log(np.where(top.correct, top.confidence, 1.0 - top.confidence))
        elif scores == "probabilities":
            logs = np.log(label_probability(top))
        else:
            logits = check_logits(predictions, scores=scores)
            logs = label_log_probability(logits, top.labels)

    n_impossible = int(np.count_nonzero(np.isneginf(logs)))
    nll = None
    if n_impossible == 0:
        # Within the tolerance of a row sum, a probability may be above 1.
        nll = max(float(-logs.mean()), 0.0)
    return NllResult(nll, n_impossible, len(top))


def label_probability(top: TopLabel) -> Floats:
    """Return (N,) the probability that the model gives to the label of each item."""
    rows = top.probabilities
    if isinstance(rows, Ragged):
        return rows.at(top.labels)
    columns = top.labels[:, None]
    return np.asarray(np.take_along_axis(rows, columns, axis=1)[:, 0], dtype=np.float64)


def label_log_probability(
    logits: Floats | Ragged, labels: NDArray[np.int64], inverse_temperature: float = 1.0
) -> Floats:
    """Return the log probability of each label: log softmax(inverse_temperature * logits).

    Args:
        logits: (N, K) logits, or `Ragged`.
        labels: (N,) labels.
        inverse_temperature: Factor of the logits, 1 / temperature.

    Returns:
        (N,) log probabilities; -inf for a label with probability 0.
    """
    if isinstance(logits, Ragged):
        scaled_rows = Ragged(logits.values * inverse_temperature, logits.offsets)
        log_sums = scaled_rows.reduce(np.logaddexp)
        return np.asarray(scaled_rows.at(labels) - log_sums, dtype=np.float64)
    scaled = logits * inverse_temperature
    # Subtract the largest logit of each row, so that no exponential overflows.
    highest = reduce_rows(scaled, np.maximum)
    exponentials = np.exp(scaled - highest[:, None])
    at_label = scaled[np.arange(len(scaled)), labels]
    log_probability = at_label - highest - np.log(reduce_rows(exponentials, np.add))
    return np.asarray(log_probability, dtype=np.float64)


# --- Ranking: selective classification


@dataclasses.dataclass(frozen=True)
class SelectiveResult(Result):
    """How well confidence distinguishes correct from incorrect predictions.

    Attributes:
        aurc: Mean risk over all coverages, in [0, 1]; lower is better.
        e_aurc: `aurc` minus that of the best possible ranking with the same accuracy, in [0, 1];
            lower is better.
        auroc: Probability that a correct prediction has more confidence than an incorrect one, ties
            counting half, in [0, 1]; higher is better. None unless there are both.
        accuracy: Share of correct predictions.
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
    r"""Measure how well the confidence of a model ranks correct predictions above incorrect ones.

    \[ AURC = \frac1n \sum_{j=1}^{n} \frac1j \sum_{i=1}^{j} incorrect_{(i)}, \quad
       E\text{-}AURC = AURC - \min_{\text{rankings}} AURC \]

    with the items in order of decreasing confidence. Items of equal confidence are in random order.
    The figures are expectations over it, so they do not depend on the order of the input.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "top_label" (default; the predictions are class scores) or "confidence".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        A `SelectiveResult`: aurc, e_aurc, auroc, accuracy, number of items.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    References:
        El-Yaniv, Wiener (2010), On the Foundations of Noise-free Selective Classification.
        Geifman, Uziel, El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for Deep Neural
        Classifiers, section 3.

    Example:
        Risks at coverage 1/4 to 1: 0, 0, 1/3, 1/4; the best ranking has 0, 0, 0, 1/4.

        >>> rows = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]
        >>> result = selective_scores(rows, [0, 0, 1, 0])
        >>> round(result.aurc, 6), round(result.e_aurc, 6), round(result.auroc, 6)
        (0.145833, 0.083333, 0.666667)
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    aurc, e_aurc = compute_aurc(top.confidence, top.correct)
    return SelectiveResult(
        aurc=aurc,
        e_aurc=e_aurc,
        auroc=auroc(top.confidence, top.correct),
        accuracy=int(np.count_nonzero(top.correct)) / len(top),
        n_items=len(top),
    )


def compute_aurc(confidence: Floats, correct: Flags) -> tuple[float, float]:
    """Compute the area under the risk-coverage curve, and its excess over the best ranking.

    The risk at coverage j/N is the share of incorrect answers among the j most confident ones. Ties
    are broken at random, in expectation.

    Args:
        confidence: (N,) confidence in each answer.
        correct: (N,) whether each answer is correct.

    Returns:
        AURC and E-AURC, both in [0, 1].
    """
    order = argsort_scores(confidence)[::-1]
    is_incorrect = (~correct[order]).astype(np.float64)
    # Items of equal confidence share their mean error, so their order does not matter.
    errors = average_ties(confidence[order], is_incorrect)
    n_covered = np.arange(1, len(order) + 1)
    risk = np.cumsum(errors) / n_covered
    # The best ranking has all correct items first.
    n_errors_of_best = np.maximum(n_covered - np.count_nonzero(correct), 0)
    best_risk = n_errors_of_best / n_covered
    aurc = float(risk.mean())
    # Rounding may carry a perfect ranking below 0.
    e_aurc = max(aurc - float(best_risk.mean()), 0.0)
    return aurc, e_aurc


def auroc(scores: Any, events: Any) -> float | None:
    """Compute the probability that an item with the event scores above one without it.

    Ties count half.

    Args:
        scores: (N,) finite scores.
        events: (N,) whether the event happened, as True and False or 1 and 0.

    Returns:
        The area under the ROC curve, in [0, 1]. None unless there are items with and without the
        event.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the input is empty, has the wrong shape or is not finite, or the lengths
            differ.

    Example:
        >>> auroc([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
        0.875
    """
    values = check_vector(scores, "scores")
    flags = check_flags(events, "events")
    check_same_length(scores=values, events=flags)
    n_positive = int(np.count_nonzero(flags))
    n_negative = len(flags) - n_positive
    if n_positive == 0 or n_negative == 0:
        return None
    # Mann-Whitney: for each positive item, count the negative ones with a lower score, and ties.
    negative = np.sort(values[~flags])
    # Positive scores are sorted too, which makes the search faster.
    positive = np.sort(values[flags])
    n_below = np.searchsorted(negative, positive, side="left").sum(dtype=np.int64)
    n_up_to = np.searchsorted(negative, positive, side="right").sum(dtype=np.int64)
    return float((n_below + n_up_to) / (2 * n_positive * n_negative))

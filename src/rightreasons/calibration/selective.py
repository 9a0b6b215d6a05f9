"""Does confidence rank right predictions above wrong ones? Risk under coverage, AURC, AUROC."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import ANSWER_KINDS, TopLabel, top_label
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of

Floats = NDArray[np.float64]

CURVE_POINTS = 20
"""Points of the risk-coverage curve in a result: coverage 0.05, 0.10, … 1."""


@dataclasses.dataclass(frozen=True)
class CoveragePoint(Result):
    """One point of the risk-coverage curve.

    Attributes:
        coverage: Share of the items that are answered, the most confident first.
        risk: Share of wrong answers among them.
        confidence: The smallest confidence among them.
    """

    coverage: float
    risk: float
    confidence: float


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
        curve: Points of the risk-coverage curve.
    """

    aurc: float
    e_aurc: float
    auroc: float | None
    accuracy: float
    n_items: int
    curve: tuple[CoveragePoint, ...]


def selective_scores(
    predictions: Any, references: Any, *, kind: str = "top_label", scores: str = "probabilities"
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
        A `SelectiveResult`: aurc, e_aurc, auroc, accuracy, number of items and the curve.

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
    return selective_of(top_label(predictions, references, scores=scores, kind=kind))


def selective_of(top: TopLabel) -> SelectiveResult:
    """Compute `selective_scores` from precomputed top labels."""
    n_items = len(top)
    order = np.argsort(-top.confidence, kind="stable")
    confidence = top.confidence[order]
    wrong = mean_of_ties(confidence, (~top.correct[order]).astype(np.float64))
    rank = np.arange(1, n_items + 1)
    risk = np.cumsum(wrong) / rank
    n_wrong = int(n_items - np.count_nonzero(top.correct))
    best = np.maximum(rank - (n_items - n_wrong), 0) / rank
    points = np.unique(np.ceil(np.arange(1, CURVE_POINTS + 1) * n_items / CURVE_POINTS).astype(np.intp)) - 1
    aurc = float(risk.mean())
    return SelectiveResult(
        aurc=aurc,
        # Rounding may carry a perfect ranking below 0.
        e_aurc=max(aurc - float(best.mean()), 0.0),
        auroc=auroc(top.confidence, top.correct),
        accuracy=(n_items - n_wrong) / n_items,
        n_items=n_items,
        curve=tuple(
            CoveragePoint(float((point + 1) / n_items), float(min(risk[point], 1.0)), float(confidence[point]))
            for point in points
        ),
    )


def auroc(scores: Floats, events: NDArray[np.bool_]) -> float | None:
    """Compute the chance that an item with the event scores above one without it, ties counting half.

    Args:
        scores: (N,) finite scores.
        events: (N,) whether the event happened.

    Returns:
        The area under the ROC curve, in [0, 1]; None unless both kinds of items occur.

    Example:
        >>> auroc(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]))
        0.875
    """
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


def mean_of_ties(ordered: Floats, values: Floats) -> Floats:
    """Replace the values of items with equal scores by their mean.

    Args:
        ordered: (N,) scores in order, rising or falling.
        values: (N,) values in the same order.

    Returns:
        (N,) values: what is expected at each place when ties are put in random order.
    """
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(starts) == len(ordered):
        return values
    sizes = np.diff(np.append(starts, len(ordered)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)

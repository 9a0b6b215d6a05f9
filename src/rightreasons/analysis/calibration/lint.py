"""Two known mistakes: P(class 1) compared with whether the prediction is right, and confidence with the class label.

The calibration error of a binary classifier compares P(class 1) with the label, or the largest probability with
correctness. Code that was written for several classes and is handed P(class 1) mixes the two. The resulting
figure is large for every good classifier: an item that rightly gets P(class 1) = 0.01 counts as a gap of 0.99. The
confidence in the predicted class beside the class label gives figures of the same size: a sure and right prediction
of class 0 counts as a gap of 0.99.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rightreasons.analysis.binning import BinSums, binned_error
from rightreasons.analysis.calibration.top_label import TopLabel, is_vector, top_label
from rightreasons.foundations.ragged import Ragged

LINT_BINS = 20
"""Bins of P(class 1) in the check: an even number, so that one half mirrors the other."""

LINT_MINIMUM = 10
"""Minimum number of items on each side of 0.5 for a warning; twice as many where all are on one side."""

RARE = 3.09
"""Standard errors that chance exceeds, to one side, in 0.1 % of cases."""

SENTENCE = (
    'The references look like "was the prediction right" beside P(class 1): pass the labels as references, '
    "or the figure is no calibration error."
)
POSITIVE_AS_CONFIDENCE = (
    "The predictions look like P(class 1), not the confidence in the answer: pass the larger of P(class 1) and "
    "1 - P(class 1) for kind='confidence', or the figure is no calibration error."
)
CONFIDENCE_BESIDE_LABELS = (
    "The predictions look like confidence in the predicted class beside class labels: none is below 0.5, and they do "
    "not go with the references; pass class scores with labels, or kind='confidence' with whether each was right."
)
CONFIDENCE_OF_NO_USE = (
    "The references look like class labels beside confidence in the predicted class: no confidence is below 0.5, and "
    "it does not go with the references; unless they say whether each answer was right, this is no calibration error."
)


class PositiveVersusCorrectnessWarning(UserWarning):
    """P(class 1) seems to be compared with whether the prediction is right, instead of with the label."""


class ConfidenceVersusLabelWarning(UserWarning):
    """Confidence in the predicted class seems to be compared with the class label, instead of with correctness."""


def looks_like_positive_vs_correctness(predictions: Any, references: Any, *, scores: str = "probabilities") -> bool:
    """Tell whether a binary input looks like P(class 1) compared with "was the prediction right".

    A label rises with P(class 1). Whether the prediction is right does not: it is mostly true at both ends. So the
    answer is True when items with P(class 1) below 0.5 have reference 1 in more than half of the cases (by over 3.09
    standard errors, a one-sided chance of 0.1 %), items above 0.5 do as well, not all references are 1, and the
    references agree at least twice as well with max(p, 1 - p) as with p. It needs ten items on each side of 0.5.

    Args:
        predictions: (N,) P(class 1) or (N, 2) scores.
        references: (N,) 0 and 1.
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        Whether it looks like the mistake. Always False for more than two classes.

    Example:
        >>> p = [0.02, 0.97, 0.04, 0.99, 0.03, 0.95] * 20
        >>> label = [0, 1, 0, 1, 0, 0] * 20
        >>> right = [int((a > 0.5) == b) for a, b in zip(p, label)]
        >>> looks_like_positive_vs_correctness(p, label), looks_like_positive_vs_correctness(p, right)
        (False, True)
    """
    sums = positive_sums(top_label(predictions, references, scores=scores))
    return sums is not None and is_suspect(sums)


def looks_like_confidence_vs_label(predictions: Any, references: Any, *, scores: str = "probabilities") -> bool:
    """Tell whether one number per item looks like confidence in the predicted class beside class labels 0 and 1.

    Confidence in the predicted class of a binary task is never below 0.5. Read as P(class 1) it promises many labels
    1, and the more the higher it is; labels of both classes do neither. So the answer is True when no prediction is
    below 0.5, the references are 1 less often than the predictions say (by over 3.09 standard errors, a one-sided
    chance of 0.1 %), and rise with them at most a quarter as much as they should. It needs twenty items whose
    predictions differ so much that the promised rise is over 3.09 standard errors. A model whose confidence is too high
    and says nothing about its answers looks the same.

    Args:
        predictions: (N,) numbers.
        references: (N,) 0 and 1.
        scores: "probabilities" or "log_probabilities".

    Returns:
        Whether it looks like the mistake. Always False for a table of class scores.

    Example:
        >>> confidence = [0.98, 0.77, 0.56, 0.99, 0.67, 0.95] * 20
        >>> label = [0, 1, 1, 1, 0, 0] * 20
        >>> right = [1, 1, 1, 1, 1, 1] * 20
        >>> looks_like_confidence_vs_label(confidence, label), looks_like_confidence_vs_label(confidence, right)
        (True, False)
    """
    sums = positive_sums(top_label(predictions, references, scores=scores)) if is_vector(predictions) else None
    return sums is not None and is_confidence_beside_labels(sums)


def positive_sums(top: TopLabel) -> BinSums | None:
    """Return the bins of P(class 1) that the check uses; None unless there are two classes."""
    table = top.probabilities
    if isinstance(table, Ragged) or table.shape[1] != 2:
        return None
    return BinSums.of([(table[:, 1], top.labels == 1)], LINT_BINS)


def is_suspect(positive: BinSums) -> bool:
    """Tell from the bins of P(class 1) whether the references look like correctness."""
    half = LINT_BINS // 2
    count, score, event = positive.counts, positive.score_sums, positive.event_counts
    below, above = count[0, :half].sum(), count[0, half:].sum()
    if min(below, above) < LINT_MINIMUM or event.sum() == count.sum():
        return False
    if event[0, :half].sum() - below / 2 <= RARE * np.sqrt(below) / 2 or event[0, half:].sum() <= above / 2:
        return False
    # max(p, 1 - p) in bins: the lower half, mirrored, is added to the upper half.
    folded_count = count[:, half:] + count[:, half - 1 :: -1]
    folded_score = score[:, half:] + (count - score)[:, half - 1 :: -1]
    folded_event = event[:, half:] + event[:, half - 1 :: -1]
    as_labels = binned_error(count, score, event)
    as_correctness = binned_error(folded_count, folded_score, folded_event)
    return bool(as_correctness <= as_labels / 2)


def is_confidence_beside_labels(positive: BinSums) -> bool:
    """Tell from the bins of one number per item whether they look like confidence beside class labels."""
    half = LINT_BINS // 2
    count, score, event = positive.counts[0], positive.score_sums[0], positive.event_counts[0]
    n_items, n_events = count.sum(), event.sum()
    # The lower half ends with 0.5 itself, which its bin holds.
    if n_items < 2 * LINT_MINIMUM or score[:half].sum() < count[:half].sum() / 2 or n_events in (0, n_items):
        return False
    noise = np.sqrt(max(score.sum() - positive.square[0].sum(), 0.0))
    if score.sum() - n_events <= RARE * noise:
        return False
    rate, distance = n_events / n_items, score - count * (score.sum() / n_items)
    center = np.divide(distance, count, out=np.zeros_like(distance), where=count > 0)
    promised = (count * center**2).sum()
    spread = np.sqrt(rate * (1 - rate) * promised)
    return bool(promised > RARE * spread and (event * center).sum() <= promised / 4)


def mistake(positive: BinSums, *, vector: bool, kind: str) -> str | None:
    """Return the sentence of the mistake that an input looks like, or None.

    Args:
        positive: The bins of P(class 1), or of the confidence for kind="confidence".
        vector: Whether the input is one number per item.
        kind: What is compared.
    """
    if is_suspect(positive):
        return POSITIVE_AS_CONFIDENCE if kind == "confidence" else SENTENCE
    if vector and is_confidence_beside_labels(positive):
        return CONFIDENCE_OF_NO_USE if kind == "confidence" else CONFIDENCE_BESIDE_LABELS
    return None


def category(sentence: str) -> type[UserWarning]:
    """Return the warning that carries a sentence of `mistake`."""
    by_label = sentence in (CONFIDENCE_BESIDE_LABELS, CONFIDENCE_OF_NO_USE)
    return ConfidenceVersusLabelWarning if by_label else PositiveVersusCorrectnessWarning

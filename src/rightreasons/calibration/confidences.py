"""The predicted class, its confidence and whether it is right: the input of most measures of confidence."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, is_ragged, to_array_or_list, to_numpy
from rightreasons.core.binning import BLOCK, BinSums, compute_binned_error
from rightreasons.core.errors import OptionError
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_labels,
    check_one_of,
    check_ragged,
    check_same_length,
    check_scores,
)

ANSWER_KINDS = ("top_label", "confidence")
"""Kinds of a measure that looks at the confidence in one answer alone."""

FEW_CLASSES = 32
"""Up to this number, a loop over the classes is faster than numpy's reduction over a short last axis."""


@dataclasses.dataclass(frozen=True, eq=False)
class TopLabel:
    """The top label of N items.

    For kind="confidence" the answer itself is unknown: the two classes are "wrong" (0) and "right" (1), the predicted
    class is always 1, the label is whether the answer was right, and `confidence` may be below one half.

    Attributes:
        confidence: (N,) the largest probability of each item.
        predicted: (N,) its class; the first of equal ones. In one byte each where there are few classes.
        correct: (N,) whether it is the label.
        labels: (N,) the labels.
        probabilities: (N, K), or `Ragged` where the number of choices differs.
    """

    confidence: NDArray[np.float64]
    predicted: NDArray[np.integer[Any]]
    correct: NDArray[np.bool_]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64] | Ragged

    def __len__(self) -> int:
        return len(self.confidence)

    def pairs(self, kind: str) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Return the pairs of scores and events, each (N,), that a kind of calibration compares.

        Args:
            kind: "top_label" (confidence, right), "confidence" (the same), "positive" (P(class 1), label is 1), for two
                classes, or "classwise" (for each class: its probability, label is the class).

        Returns:
            One pair; for "classwise" K pairs.

        Raises:
            ValueError: If the kind does not fit the number of classes, or rows of different lengths.
        """
        table = self.probabilities
        if kind in ANSWER_KINDS:
            return [(self.confidence, self.correct)]
        if isinstance(table, Ragged):
            raise OptionError(
                f"Expected rows of one length in `predictions` for kind={kind!r}, but they differ; "
                "use kind='top_label'.",
                option="kind",
            )
        if kind == "positive":
            if table.shape[1] != 2:
                raise OptionError(
                    f"Expected two classes in `predictions` for kind='positive', but got {table.shape[1]}; "
                    "use kind='top_label' or kind='classwise'.",
                    option="kind",
                )
            return [(table[:, 1], self.labels == 1)]
        return [(table[:, k], self.labels == k) for k in range(table.shape[1])]


def parse_top_label(
    predictions: Any,
    references: Any = None,
    *,
    scores: str = "probabilities",
    kind: str = "top_label",
) -> TopLabel:
    """Check predictions and labels, and find the top label of each item.

    Args:
        predictions: (N, K) scores, (N,) P(class 1) of a binary task, or N rows of different lengths (multiple choice).
            For kind="confidence": (N,) confidence in the given answer, in [0, 1]. Top labels that are at hand are
            returned as they are, so that every measure takes them in place of its input.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right, as 0 and 1 or booleans.
        scores: "probabilities", "logits" or "log_probabilities".
        kind: "confidence" if the predictions are confidences in given answers; any other kind takes class scores.

    Returns:
        The top labels.

    Raises:
        TypeError: If something is not numbers.
        ValueError: If a value, a shape or a length is wrong; the first bad row is named. Whole numbers in one column
            are refused: they are predicted classes, which do not say how sure the model is.

    Example:
        >>> top = parse_top_label([[0.9, 0.1], [0.2, 0.3, 0.5]], [0, 1])
        >>> top.confidence, top.correct
        (array([0.9, 0.5]), array([ True, False]))
        >>> parse_top_label([0.9, 0.3], [True, False], kind="confidence").confidence
        array([0.9, 0.3])
    """
    if isinstance(predictions, TopLabel):
        return predictions
    check_one_of(scores, SCORE_KINDS, "scores")
    predictions = to_array_or_list(predictions, "predictions")
    if kind == "confidence":
        return _answers(predictions, references, scores)
    if is_vector(predictions) and to_numpy(references, "references").dtype == bool:
        raise OptionError(
            "Expected class labels in `references`, but got True and False, as if they said whether each answer was "
            "right: pass kind='confidence', or the labels as 0 and 1.",
            option="kind",
        )
    if is_ragged(predictions):
        rows = check_ragged(predictions, scores=scores)
        labels = _labels(rows, references, rows.lengths)
        choice = rows.argmax()
        return TopLabel(rows.at(choice), choice, choice == labels, labels, rows)
    array = to_numpy(predictions, "predictions")
    if scores == "probabilities":
        refuse_class_labels(array)
    table = check_scores(array, scores=scores)
    labels = _labels(table, references, table.shape[1])
    confidence, predicted = largest(table)
    return TopLabel(confidence, predicted, predicted == labels, labels, table)


def refuse_class_labels(predictions: Any) -> None:
    """Refuse predicted classes in place of probabilities: an array or list of one dimension that holds whole numbers.

    Raises:
        ValueError: If it is one.

    Example:
        >>> refuse_class_labels([0.0, 1.0])
        >>> refuse_class_labels([0, 2, 1])
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected probabilities in `predictions`, but got whole numbers, as if \
they were predicted classes; pass (N, K) class scores, (N,) P(class 1), or the confidence in each \
answer with kind='confidence'.
    """
    kind = getattr(getattr(predictions, "dtype", None), "kind", None)
    if kind is None and isinstance(predictions, (list, tuple)) and predictions:
        # One float suffices to tell that a list holds no classes.
        kind = "i" if all(isinstance(value, numbers.Integral) for value in predictions) else "f"
    if kind in ("i", "u") and np.ndim(predictions) == 1 and len(predictions):
        raise OptionError(
            "Expected probabilities in `predictions`, but got whole numbers, as if they were predicted classes; "
            "pass (N, K) class scores, (N,) P(class 1), or the confidence in each answer with kind='confidence'.",
            option="kind",
        )


def is_vector(predictions: Any) -> bool:
    """Tell whether predictions are one number per item."""
    if hasattr(predictions, "shape"):
        return len(predictions.shape) == 1
    return (
        isinstance(predictions, Sequence)
        and len(predictions) > 0
        and isinstance(predictions[0], numbers.Real)
    )


def _answers(predictions: Any, references: Any, scores: str) -> TopLabel:
    """Read the confidence in given answers and whether they were right."""
    if scores == "logits":
        raise OptionError(
            "Expected scores='probabilities' or scores='log_probabilities' for kind='confidence', but got "
            "scores='logits'.",
            option=("scores", "kind"),
        )
    predictions = predictions if is_ragged(predictions) else to_numpy(predictions, "predictions")
    if not is_vector(predictions):
        raise OptionError(
            "Expected `predictions` of shape (N,), the confidence in each answer, for kind='confidence', but got rows.",
            option="kind",
        )
    if scores == "probabilities":
        refuse_class_labels(predictions)
    table = check_scores(predictions, scores=scores)
    right = to_numpy(references, "references")
    labels = _labels(table, right.astype(np.int64) if right.dtype == bool else right, 2)
    return TopLabel(
        table[:, 1].copy(), np.ones(len(labels), dtype=np.int8), labels == 1, labels, table
    )


def _labels(
    rows: NDArray[np.float64] | Ragged, references: Any, n_classes: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    # Check the length before the range: which classes are valid is known only once the rows pair up.
    labels = check_labels(references, minimum=int(np.iinfo(np.int64).min))
    check_same_length(predictions=rows, references=labels)
    return check_labels(labels, n_classes)


def largest(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.integer[Any]]]:
    """Return the largest value of each row of (N, K) and the first column that holds it."""
    if table.shape[1] > FEW_CLASSES:
        column = table.argmax(axis=1)
        return np.take_along_axis(table, column[:, None], axis=1)[:, 0], column
    value = np.empty(len(table))
    column = np.zeros(len(table), dtype=np.int8)
    for start in range(0, len(table), BLOCK):
        block = table[start : start + BLOCK]
        best = value[start : start + BLOCK]
        best[:] = block[:, 0]
        where = column[start : start + BLOCK]
        for k in range(1, block.shape[1]):
            scores = block[:, k].copy()
            # A later class takes over only where it is larger; its index is then the largest so far.
            np.maximum(where, (scores > best) * np.int8(k), out=where)
            np.maximum(best, scores, out=best)
    return value, column


LINT_BINS = 20
"""Bins of P(class 1) in the check: an even number, so that one half mirrors the other."""

LINT_MINIMUM = 10
"""Minimum number of items on each side of 0.5 for a warning; twice as many where all are on one side."""

RARE = 3.09
"""Standard errors that chance exceeds, to one side, in 0.1 % of cases."""


class PositiveVersusCorrectnessWarning(UserWarning):
    """P(class 1) seems to be compared with whether the prediction is right, instead of with the label."""


class ConfidenceVersusLabelWarning(UserWarning):
    """Confidence in the predicted class seems to be compared with the class label, instead of with correctness."""


MISTAKES: Mapping[type[UserWarning], str] = {
    PositiveVersusCorrectnessWarning: 'The input looks like P(class 1) beside "was the prediction right": pass the '
    "labels as references, or for kind='confidence' the larger of P(class 1) and 1 - P(class 1), or the figure is no "
    "calibration error.",
    ConfidenceVersusLabelWarning: "The input looks like confidence in the predicted class beside class labels: none is "
    "below 0.5, and they do not go with the references; pass class scores with labels, or kind='confidence' with "
    "whether each was right, or the figure is no calibration error.",
}
"""What an input may look like, by the warning that says so."""


def positive_sums(top: TopLabel) -> BinSums | None:
    """Return the bins of P(class 1) that the check uses; None unless there are two classes."""
    table = top.probabilities
    if isinstance(table, Ragged) or table.shape[1] != 2:
        return None
    return BinSums.of([(table[:, 1], top.labels == 1)], LINT_BINS)


def is_suspect(positive: BinSums) -> bool:
    """Tell from the bins of P(class 1) whether the references look like "was the prediction right".

    A label rises with P(class 1). Whether the prediction is right does not: it is mostly true at both ends. So the
    answer is True when items with P(class 1) below 0.5 have reference 1 in more than half of the cases (by over 3.09
    standard errors, a one-sided chance of 0.1 %), items above 0.5 do as well, not all references are 1, and the
    references agree at least twice as well with max(p, 1 - p) as with p. It needs ten items on each side of 0.5.
    """
    half = LINT_BINS // 2
    count, score, event = positive.parts
    below, above = count[0, :half].sum(), count[0, half:].sum()
    if min(below, above) < LINT_MINIMUM or event.sum() == count.sum():
        return False
    if (
        event[0, :half].sum() - below / 2 <= RARE * np.sqrt(below) / 2
        or event[0, half:].sum() <= above / 2
    ):
        return False
    # max(p, 1 - p) in bins: the lower half, mirrored, is added to the upper half.
    folded_count = count[:, half:] + count[:, half - 1 :: -1]
    folded_score = score[:, half:] + (count - score)[:, half - 1 :: -1]
    folded_event = event[:, half:] + event[:, half - 1 :: -1]
    as_labels = compute_binned_error(count, score, event)
    as_correctness = compute_binned_error(folded_count, folded_score, folded_event)
    return bool(as_correctness <= as_labels / 2)


def is_confidence_beside_labels(positive: BinSums) -> bool:
    """Tell from the bins of one number per item whether they look like confidence beside class labels 0 and 1.

    Confidence in the predicted class of a binary task is never below 0.5. Read as P(class 1) it promises many labels
    1, and the more the higher it is; labels of both classes do neither. So the answer is True when no prediction is
    below 0.5, the references are 1 less often than the predictions say (by over 3.09 standard errors, a one-sided
    chance of 0.1 %), and rise with them at most a quarter as much as they should. It needs twenty items whose
    predictions differ so much that the promised rise is over 3.09 standard errors. A model whose confidence is too high
    and says nothing about its answers looks the same.
    """
    half = LINT_BINS // 2
    count, score, event = (part[0] for part in positive.parts)
    n_items, n_events = count.sum(), event.sum()
    # The lower half ends with 0.5 itself, which its bin holds.
    if (
        n_items < 2 * LINT_MINIMUM
        or score[:half].sum() < count[:half].sum() / 2
        or n_events in (0, n_items)
    ):
        return False
    noise = np.sqrt(max(score.sum() - positive.square[0].sum(), 0.0))
    if score.sum() - n_events <= RARE * noise:
        return False
    rate, distance = n_events / n_items, score - count * (score.sum() / n_items)
    center = np.divide(distance, count, out=np.zeros_like(distance), where=count > 0)
    promised = (count * center**2).sum()
    spread = np.sqrt(rate * (1 - rate) * promised)
    return bool(promised > RARE * spread and (event * center).sum() <= promised / 4)

"""The predicted class, its confidence and whether it is right: the input of most measures of confidence."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.binning import BLOCK
from rightreasons.foundations.arrays import ingest, to_numpy
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import (
    SCORE_KINDS,
    check_labels,
    check_one_of,
    check_ragged,
    check_same_length,
    check_scores,
    is_ragged,
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
            raise ValueError(
                f"Expected rows of one length in `predictions` for kind={kind!r}, but they differ; "
                "use kind='top_label'."
            )
        if kind == "positive":
            if table.shape[1] != 2:
                raise ValueError(
                    f"Expected two classes in `predictions` for kind='positive', but got {table.shape[1]}; "
                    "use kind='top_label' or kind='classwise'."
                )
            return [(table[:, 1], self.labels == 1)]
        return [(table[:, k], self.labels == k) for k in range(table.shape[1])]


@checks_kinds
def top_label(predictions: Any, references: Any, *, scores: str = "probabilities", kind: str = "top_label") -> TopLabel:
    """Check predictions and labels, and find the top label of each item.

    Args:
        predictions: (N, K) scores, (N,) P(class 1) of a binary task, or N rows of different lengths (multiple choice).
            For kind="confidence": (N,) confidence in the given answer, in [0, 1].
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
        >>> top = top_label([[0.9, 0.1], [0.2, 0.3, 0.5]], [0, 1])
        >>> top.confidence, top.correct
        (array([0.9, 0.5]), array([ True, False]))
        >>> top_label([0.9, 0.3], [True, False], kind="confidence").confidence
        array([0.9, 0.3])
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    predictions = ingest(predictions, "predictions")
    if kind == "confidence":
        return _answers(predictions, references, scores)
    if is_ragged(predictions):
        rows = check_ragged(predictions, scores=scores)
        labels = _labels(rows, references, rows.lengths)
        choice = rows.argmax()
        return TopLabel(rows.at(choice), choice, choice == labels, labels, rows)
    array = to_numpy(predictions, "predictions")
    if scores == "probabilities":
        check_no_classes(array)
    table = check_scores(array, scores=scores)
    labels = _labels(table, references, table.shape[1])
    confidence, predicted = largest(table)
    return TopLabel(confidence, predicted, predicted == labels, labels, table)


def check_no_classes(predictions: Any) -> None:
    """Refuse predicted classes in place of probabilities: an array or list of one dimension that holds whole numbers.

    Raises:
        ValueError: If it is one.

    Example:
        >>> check_no_classes([0.0, 1.0])
        >>> check_no_classes([0, 2, 1])
        Traceback (most recent call last):
        ...
        ValueError: Expected probabilities in `predictions`, but got whole numbers, as if they were predicted classes; \
pass (N, K) class scores, (N,) P(class 1), or the confidence in each answer with kind='confidence'.
    """
    kind = getattr(getattr(predictions, "dtype", None), "kind", None)
    if kind is None and isinstance(predictions, (list, tuple)) and predictions:
        # One float suffices to tell that a list holds no classes.
        kind = "i" if all(isinstance(value, numbers.Integral) for value in predictions) else "f"
    if kind in ("i", "u") and np.ndim(predictions) == 1 and len(predictions):
        raise ValueError(
            "Expected probabilities in `predictions`, but got whole numbers, as if they were predicted classes; "
            "pass (N, K) class scores, (N,) P(class 1), or the confidence in each answer with kind='confidence'."
        )


def is_vector(predictions: Any) -> bool:
    """Tell whether predictions are one number per item."""
    if hasattr(predictions, "shape"):
        return len(predictions.shape) == 1
    return isinstance(predictions, Sequence) and len(predictions) > 0 and isinstance(predictions[0], numbers.Real)


def _answers(predictions: Any, references: Any, scores: str) -> TopLabel:
    """Read the confidence in given answers and whether they were right."""
    if scores == "logits":
        raise ValueError(
            "Expected scores='probabilities' or scores='log_probabilities' for kind='confidence', but got "
            "scores='logits'."
        )
    shape = "rows of different lengths"
    if not is_ragged(predictions):
        predictions = to_numpy(predictions, "predictions")
        if scores == "probabilities":
            check_no_classes(predictions)
        shape = f"shape {predictions.shape}"
    if is_ragged(predictions) or predictions.ndim != 1:
        raise ValueError(
            f"Expected `predictions` of shape (N,), the confidence in each answer, for kind='confidence', but got "
            f"{shape}."
        )
    table = check_scores(predictions, scores=scores)
    right = to_numpy(references, "references")
    labels = _labels(table, right.astype(np.int64) if right.dtype == bool else right, 2)
    return TopLabel(table[:, 1].copy(), np.ones(len(labels), dtype=np.int8), labels == 1, labels, table)


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

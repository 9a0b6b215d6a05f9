"""Parse predictions and labels into top labels, the input of most measures of confidence.

`parse_top_label` is the entry point: it accepts any form of class scores or confidences, checks
them once, and returns a `TopLabel` of plain arrays. `KINDS` lists what a calibration error may
compare.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, Ragged, find_largest, parse_rows, to_numpy
from rightreasons.core.binning import Flags, Pair
from rightreasons.core.errors import OptionError
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_labels_of_rows,
    check_one_of,
    to_probabilities,
)


@dataclasses.dataclass(frozen=True, eq=False)
class TopLabel:
    """The predicted class of N items, with its confidence.

    For kind="confidence", the answers themselves are unknown. The two classes are then "incorrect"
    (0) and "correct" (1), the predicted class is always 1, the label is the correctness of the
    answer, and `confidence` may be below one half.

    Attributes:
        confidence: (N,) largest probability of each item.
        predicted: (N,) class with the largest probability, the first one of ties; int8 for few
            classes.
        correct: (N,) whether the predicted class is the label.
        labels: (N,) labels.
        probabilities: (N, K) probabilities, or `Ragged` if the number of choices varies.
        is_vector: Whether the predictions were one number per item. Default False.
    """

    confidence: Floats
    predicted: NDArray[np.integer[Any]]
    correct: Flags
    labels: NDArray[np.int64]
    probabilities: Floats | Ragged
    is_vector: bool = False

    def __len__(self) -> int:
        return len(self.confidence)


# --- Kinds: the scores and events that a calibration error compares


def _pair_answers(top: TopLabel) -> list[Pair]:
    """Pair the confidence in each answer with its correctness."""
    return [(top.confidence, top.correct)]


def _pair_positive(top: TopLabel) -> list[Pair]:
    """Pair P(class 1) with whether the label is 1; raise OptionError unless there are two classes.

    Args:
        top: Top labels of N items.

    Returns:
        One pair of (N,) scores and (N,) events.
    """
    table = _get_table(top, "positive")
    if table.shape[1] != 2:
        raise OptionError(
            "Expected two classes in `predictions` for kind='positive', but got "
            f"{table.shape[1]}. Use kind='top_label' or kind='classwise'.",
            option="kind",
        )
    return [(table[:, 1], top.labels == 1)]


def _pair_classes(top: TopLabel) -> list[Pair]:
    """Pair the probability of each class with whether it is the label."""
    table = _get_table(top, "classwise")
    return [(table[:, k], top.labels == k) for k in range(table.shape[1])]


def _get_table(top: TopLabel, kind: str) -> Floats:
    """Return the (N, K) probabilities of top labels; raise OptionError if rows differ in length.

    Args:
        top: The top labels.
        kind: Kind of calibration error that needs the same classes in all rows, for the message.
    """
    if isinstance(top.probabilities, Ragged):
        raise OptionError(
            f"Expected rows of one length in `predictions` for kind={kind!r}, but the lengths "
            "differ. Use kind='top_label'.",
            option="kind",
        )
    return top.probabilities


@dataclasses.dataclass(frozen=True)
class Kind:
    """The scores and events that a calibration error compares.

    Attributes:
        error_name: Name of the error, in words.
        rate: Rate of events, in words.
        mean: Mean score, in words.
        select_pairs: Function of top labels that returns their pairs of scores and events: K pairs
            of (N,) columns if `is_classwise`, otherwise one. It raises `OptionError` if the kind
            does not apply to this number of classes, or to rows of different lengths.
        class_index: Class that the scores belong to. If None, they belong to several classes.
        is_classwise: Whether every item has a pair for each class. Its pairs are then dependent.
    """

    error_name: str
    rate: str
    mean: str
    select_pairs: Callable[[TopLabel], list[Pair]]
    class_index: int | None = None
    is_classwise: bool = False


KINDS: Mapping[str, Kind] = {
    "top_label": Kind(
        error_name="Top-label ECE",
        rate="accuracy",
        mean="mean confidence",
        select_pairs=_pair_answers,
    ),
    "positive": Kind(
        error_name="ECE of P(class 1)",
        rate="frequency of class 1",
        mean="mean P(class 1)",
        select_pairs=_pair_positive,
        class_index=1,
    ),
    "classwise": Kind(
        error_name="Classwise ECE",
        rate="frequency of the class",
        mean="its mean probability",
        select_pairs=_pair_classes,
        is_classwise=True,
    ),
    "confidence": Kind(
        error_name="ECE of the given confidences",
        rate="accuracy",
        mean="mean confidence",
        select_pairs=_pair_answers,
    ),
}
"""Every kind by its name."""

TABLE_KINDS = ("top_label", "positive", "classwise")
"""Kinds of calibration errors of class scores and labels."""

ANSWER_KINDS = ("top_label", "confidence")
"""Kinds that compare only the confidence in one answer with its correctness."""


# --- Parsing


def parse_top_label(
    predictions: Any,
    references: Any = None,
    *,
    scores: str = "probabilities",
    kind: str = "top_label",
) -> TopLabel:
    """Check predictions and labels, and find the top label of each item.

    Args:
        predictions: (N, K) scores, (N,) P(class 1) of a binary task, or N rows of different lengths
            (multiple choice). For kind="confidence": (N,) confidence in the given answer, in [0,
            1]. A `TopLabel` is returned unchanged, so that every measure accepts it in place of
            predictions.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct, as 0
            and 1 or booleans.
        scores: "probabilities" (default), "logits" or "log_probabilities".
        kind: "confidence" if the predictions are confidences in given answers. For any other kind,
            they are class scores.

    Returns:
        The top labels.

    Raises:
        TypeError: If the values are not numbers.
        ValueError: If a value, a shape or a length is wrong; the first bad row is named. Whole
            numbers in one column are refused: they are predicted classes, without a confidence.

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
    is_answer = kind == "confidence"
    if is_answer and scores == "logits":
        raise OptionError(
            "Expected scores='probabilities' or scores='log_probabilities' for kind='confidence', "
            "but got scores='logits'.",
            option=("scores", "kind"),
        )

    if isinstance(references, Iterator):
        # An iterator can be read only once, but its types and its values are checked separately.
        references = list(references)

    # Check that the form of the input fits the kind, before its values are checked.
    rows = parse_rows(predictions, "predictions")
    if is_answer and not rows.is_vector:
        raise OptionError(
            "Expected `predictions` of shape (N,), the confidence in each answer, for "
            "kind='confidence', but got rows.",
            option="kind",
        )
    # Booleans mean whether an answer is correct; 0 and 1 may also be labels.
    if not is_answer and rows.is_vector and _has_booleans(references):
        raise OptionError(
            "Expected class labels in `references`, but got True and False. If these values say "
            "whether each answer is correct, pass kind='confidence'; otherwise pass the labels "
            "as 0 and 1.",
            option="kind",
        )
    if scores == "probabilities" and rows.is_vector and rows.is_whole:
        raise _make_class_labels_error()

    probabilities = to_probabilities(rows, scores=scores)
    confidence, predicted = find_largest(probabilities)
    # Booleans are refused as labels, but correctness may be boolean.
    if is_answer and _has_booleans(references):
        references = to_numpy(references, "references").astype(np.int64)
    labels = check_labels_of_rows(references, probabilities)
    if is_answer and not isinstance(probabilities, Ragged):
        # The answer is class 1 ("correct"), even if its confidence is below one half.
        confidence = probabilities[:, 1].copy()
        predicted = np.ones_like(predicted)
    return TopLabel(
        confidence=confidence,
        predicted=predicted,
        correct=predicted == labels,
        labels=labels,
        probabilities=probabilities,
        is_vector=rows.is_vector,
    )


def _has_booleans(references: Any) -> bool:
    return to_numpy(references, "references").dtype == bool


def _make_class_labels_error() -> OptionError:
    """Return the error for predictions that look like classes rather than probabilities."""
    return OptionError(
        "Expected probabilities in `predictions`, but got whole numbers, as if they were predicted "
        "classes; pass (N, K) class scores, (N,) P(class 1), or the confidence in each answer with "
        "kind='confidence'.",
        option="kind",
    )


def refuse_class_labels(predictions: Any) -> None:
    """Refuse predicted classes in place of probabilities: whole numbers in one dimension.

    Args:
        predictions: An array, or a list or tuple.

    Raises:
        ValueError: If there are only whole numbers in one dimension.

    Example:
        >>> refuse_class_labels([0.0, 1.0])
        >>> refuse_class_labels([0, 2, 1])
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected probabilities in `predictions`, but got whole \
numbers, as if they were predicted classes; pass (N, K) class scores, (N,) P(class 1), or the \
confidence in each answer with kind='confidence'.
    """
    if isinstance(predictions, (list, tuple)):
        # A list with a float does not contain class labels; `all` stops at the first one.
        is_whole = all(isinstance(value, numbers.Integral) for value in predictions)
    else:
        dtype = getattr(predictions, "dtype", None)
        is_whole = getattr(dtype, "kind", None) in ("i", "u")
    if is_whole and np.ndim(predictions) == 1 and len(predictions):
        raise _make_class_labels_error()

"""Recalibration by more than one number: isotonic regression and vector scaling, beside temperature scaling."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.analysis.calibration.summary import CalibrationSummary, calibration_summary
from rightreasons.analysis.calibration.temperature import apply_temperature, fit_temperature
from rightreasons.analysis.calibration.top_label import check_no_classes
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import SCORE_KINDS, check_labels, check_logits, check_one_of, check_same_length

METHODS = ("temperature", "vector", "isotonic")

Floats = NDArray[np.float64]

_LEAST = 1e-12
"""Probabilities further below a row's highest count as this share of it for vector scaling, whose logits are finite."""


@dataclasses.dataclass(frozen=True)
class RecalibrationReport(Result):
    """What a method of recalibration changes on a split that it was not fitted on.

    Attributes:
        method: The method.
        before: Every figure of the other split as it is.
        after: Every figure of it recalibrated. Vector scaling and isotonic regression may change the accuracy.
        n_fit: Number of items of the fitting split.
    """

    method: str
    before: CalibrationSummary
    after: CalibrationSummary
    n_fit: int


@checks_kinds
def recalibrate(
    fit_predictions: Any, fit_references: Any, predictions: Any, *, method: str = "isotonic", scores: str = "logits"
) -> Floats:
    r"""Fit a method of recalibration on one split and return the recalibrated probabilities of another.

    - "temperature": softmax(z / T), one parameter (`fit_temperature`).
    - "vector": softmax(w ⊙ z + b), 2K parameters, of the least log loss with a penalty
      \((\lVert w - 1 \rVert^2 + \lVert b \rVert^2) / 2n\): a unit normal law around no change, which is nothing
      beside many items and keeps the parameters finite with few.
    - "isotonic": for each class, the non-decreasing function of its probability that is nearest to its labels by
      squares, linear in between; rows are then divided by their sum (all 0: uniform). Of two classes, the function of
      P(class 1) alone. It has as many parameters as the items ask for: with less than about a thousand items of a class
      it overfits. Its probabilities may be exactly 0, and the log loss then has no value.

    Args:
        fit_predictions: (N, K) class scores or (N,) P(class 1) of a split that is held out from training and from the
            evaluation.
        fit_references: (N,) its labels.
        predictions: (M, K) or (M,) scores of the split to recalibrate.
        method: "isotonic" (default), "vector" or "temperature".
        scores: "logits", "log_probabilities" or "probabilities", of both splits.

    Returns:
        (M, K) probabilities.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong, or rows are of different lengths: their columns are no
            classes, and only a temperature fits them (`temperature_report`).

    References:
        Guo, Pleiss, Sun, Weinberger (2017), "On Calibration of Modern Neural Networks", section 4.2; Zadrozny, Elkan
        (2002), "Transforming Classifier Scores into Accurate Multiclass Probability Estimates".

    Example:
        Class 1 is right in none of two cases at 0.3 and in one of two at 0.6.

        >>> recalibrate([0.3, 0.3, 0.6, 0.6], [0, 0, 0, 1], [0.3, 0.45, 0.9], scores="probabilities")
        array([[1.  , 0.  ],
               [0.75, 0.25],
               [0.5 , 0.5 ]])
    """
    check_one_of(method, METHODS, "method")
    fitted, table = _table(fit_predictions, scores, "fit_predictions"), _table(predictions, scores, "predictions")
    labels = check_labels(fit_references, fitted.shape[1], name="fit_references")
    check_same_length(fit_predictions=fitted, fit_references=labels)
    if fitted.shape[1] != table.shape[1]:
        raise ValueError(f"Expected the same classes in both splits, but got {fitted.shape[1]} and {table.shape[1]}.")
    if method == "temperature":
        return np.asarray(apply_temperature(table, fit_temperature(fitted, labels).temperature))
    if method == "vector":
        return _vector(_finite(fitted), labels, _finite(table))
    return _isotonic(softmax(fitted), labels, softmax(table))


@checks_kinds
def recalibration_report(
    fit_predictions: Any,
    fit_references: Any,
    predictions: Any,
    references: Any,
    *,
    method: str = "isotonic",
    n_bins: int = 15,
    scores: str = "logits",
) -> RecalibrationReport:
    """Fit a method of recalibration on one split, and give every figure of another before and after.

    Args:
        fit_predictions: As in `recalibrate`.
        fit_references: Labels of the fitting split.
        predictions: As in `recalibrate`.
        references: Labels of the split to report on.
        method: "isotonic" (default), "vector" or "temperature".
        n_bins: Number of bins of the binned figures.
        scores: "logits", "log_probabilities" or "probabilities", of both splits.

    Returns:
        A `RecalibrationReport`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: As in `recalibrate`.

    Example:
        >>> scores, labels = [0.9] * 4 + [0.2] * 5, [1, 1, 1, 0] + [0, 0, 0, 0, 1]
        >>> report = recalibration_report(scores, labels, scores, labels, scores="probabilities")
        >>> round(report.before.ece, 4), round(report.after.ece, 4)
        (0.0667, 0.0)
    """
    probabilities = recalibrate(fit_predictions, fit_references, predictions, method=method, scores=scores)
    return RecalibrationReport(
        method=method,
        before=calibration_summary(predictions, references, n_bins=n_bins, scores=scores),
        after=calibration_summary(probabilities, references, n_bins=n_bins),
        n_fit=len(fit_references),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _table(predictions: Any, scores: str, name: str) -> Floats:
    check_one_of(scores, SCORE_KINDS, "scores")
    if scores == "probabilities":
        check_no_classes(predictions)
    logits = check_logits(predictions, scores=scores, name=name)
    if isinstance(logits, Ragged):
        raise ValueError(f"Expected rows of one length in `{name}`, but they differ; only a temperature fits them.")
    return logits


def _finite(logits: Floats) -> Floats:
    """Return the logits, none further below the highest of its row than the least probability is below 1."""
    lowest = logits.max(axis=1, keepdims=True) + np.log(_LEAST)
    return np.asarray(np.maximum(logits, lowest), dtype=np.float64)


def _vector(fitted: Floats, labels: NDArray[np.int64], table: Floats) -> Floats:
    n_items, n_classes = fitted.shape
    targets, start = np.eye(n_classes)[labels], np.repeat([1.0, 0.0], n_classes)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, biases = parameters[:n_classes], parameters[n_classes:]
        scaled = fitted * weights + biases
        scaled -= scaled.max(axis=1, keepdims=True)
        log_p = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        errors, away = (np.exp(log_p) - targets) / n_items, (parameters - start) / n_items
        gradient = np.concatenate(((errors * fitted).sum(axis=0), errors.sum(axis=0))) + away
        return float(-log_p[np.arange(n_items), labels].mean() + (parameters - start) @ away / 2), gradient

    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-8}).x
    return softmax(table * found[:n_classes] + found[n_classes:])


def _isotonic(fitted: Floats, labels: NDArray[np.int64], table: Floats) -> Floats:
    n_classes = fitted.shape[1]
    classes = [1] if n_classes == 2 else range(n_classes)
    columns = [_monotone(fitted[:, k], labels == k, table[:, k]) for k in classes]
    if n_classes == 2:
        return np.column_stack((1 - columns[0], columns[0]))
    result = np.column_stack(columns)
    sums = result.sum(axis=1, keepdims=True)
    return np.where(sums > 0, result / np.where(sums > 0, sums, 1.0), 1 / n_classes)


def _monotone(scores: Floats, events: NDArray[np.bool_], at: Floats) -> Floats:
    """Fit a non-decreasing function of the scores to the events, and return it at other scores."""
    # Rounding keeps scores together that differ by the arithmetic of the softmax alone.
    places, inverse, counts = np.unique(scores.round(12), return_inverse=True, return_counts=True)
    shares = np.bincount(inverse, events) / counts
    fit = optimize.isotonic_regression(shares, weights=counts).x
    return np.asarray(np.interp(at, places, np.clip(fit, 0.0, 1.0)), dtype=np.float64)

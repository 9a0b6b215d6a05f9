"""Recalibration by more than one number: isotonic regression and vector scaling, beside temperature scaling.

What each does to every measure of confidence at once is its `calibration_summary`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.calibration.confidences import ANSWER_KINDS, parse_top_label, refuse_class_labels
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
    CalibrationResult,
    compute_calibration,
    macro_ce,
)
from rightreasons.calibration.proper_scores import (
    brier_score,
    label_log_probability,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.smooth import ece_sweep, smooth_ece
from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_labels,
    check_logits,
    check_number,
    check_one_of,
    check_same_length,
    softmax,
)


def calibration_summary(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> dict[str, float | None]:
    """Compute every figure about confidence.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        n_bins: Number of bins of the binned figures.
        kind: "top_label" (the predictions are class scores) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        The figures by name, and `n_items`; the function of each figure defines it. Those that need the same classes in
        all items (classwise_ece; ace, the same in bins of equal mass; tace, of probabilities above 0.01) are None of
        rows of different lengths and for kind="confidence", as is brier of such rows.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> summary = calibration_summary([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]], [0, 1, 1])
        >>> [round(summary[name], 6) for name in ("ece", "macro_ce", "nll")]
        [0.4, 0.475, 0.60672]
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)

    def binned(**options: Any) -> CalibrationResult:
        return compute_calibration(top, CalibrationErrorOptions(n_bins=n_bins, **options))

    plain, selective = binned(), selective_scores(top)
    whole = "multiclass" if kind == "top_label" else kind
    ragged = isinstance(top.probabilities, Ragged)
    by_class = kind == "top_label" and not ragged
    return {
        "accuracy": plain.accuracy,
        "mean_confidence": plain.mean_confidence,
        "auroc": selective.auroc,
        "ece": plain.ece,
        "ece_debiased": binned(debias=True).ece,
        "rmsce": binned(norm="l2").ece,
        "mce": plain.mce,
        "adaptive_ece": binned(strategy="quantile").ece,
        "smooth_ece": smooth_ece(top).smooth_ece,
        "ece_sweep": ece_sweep(top).ece,
        "classwise_ece": binned(kind="classwise").ece if by_class else None,
        "ace": binned(kind="classwise", strategy="quantile").ece if by_class else None,
        "tace": binned(kind="classwise", strategy="quantile", threshold=0.01).ece
        if by_class
        else None,
        "macro_ce": macro_ce(top).macro_ce,
        "brier": None if ragged else brier_score(top, kind=whole, n_bins=n_bins).brier,
        "nll": negative_log_likelihood(predictions, references, kind=whole, scores=scores).nll,
        "aurc": selective.aurc,
        "e_aurc": selective.e_aurc,
        "n_items": len(top),
    }


# ------------------------------ Temperature scaling: one number that softens or sharpens all of a model's probabilities


RANGE = (0.01, 100.0)
"""Range of the search. A model without an error on the fitting split would want 0, one that knows nothing infinity."""


@dataclasses.dataclass(frozen=True)
class Temperature(Result):
    """A fitted temperature.

    Attributes:
        temperature: The temperature T; above 1 where the model was overconfident on the fitting split.
        nll_before: Log loss in nats of the fitting split at T = 1.
        nll_after: Log loss there at the fitted temperature.
        n_items: Number of items of the fitting split.
        at_bound: Whether the best temperature lies outside the searched range, 0.01 to 100.
    """

    temperature: float
    nll_before: float
    nll_after: float
    n_items: int
    at_bound: bool


def fit_temperature(predictions: Any, references: Any, *, scores: str = "logits") -> Temperature:
    r"""Fit the temperature that minimizes the log loss.

    \[ \hat T = \arg\min_T -\sum_i \log \mathrm{softmax}(z_i / T)_{y_i} \]

    The loss is convex in 1/T; its derivative, mean of E_p[z] - z_y, is solved for 0.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths, of a split
            that is held out from training and from the evaluation.
        references: (N,) labels.
        scores: "logits", "log_probabilities" or "probabilities".

    Returns:
        A `Temperature`: temperature, log loss before and after, number of items, whether it is at the bound.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong, or if a label has probability 0: no temperature fixes it.

    References:
        Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, section 4.2.

    Example:
        Right in 3 of 4 cases with a logit margin of 2 ln 3: T = 2 makes it ln 3, that is P = 0.75.

        >>> fit = fit_temperature([[2 * np.log(3), 0.0]] * 4, [0, 0, 0, 1])
        >>> round(fit.temperature, 6), fit.at_bound
        (2.0, False)
    """
    logits, labels = _checked(predictions, references, scores)
    losses = -label_log_probability(logits, labels)
    if np.isposinf(losses).any():
        item = int(np.flatnonzero(np.isposinf(losses))[0])
        raise ValueError(
            f"Expected labels with a probability above 0, but that of item {item} has probability 0, which no "
            "temperature mends: give logits, or probabilities with more digits."
        )
    low, high = 1.0 / RANGE[1], 1.0 / RANGE[0]
    at_bound = True
    if _slope(logits, labels, low) >= 0.0:
        inverse = low
    elif _slope(logits, labels, high) <= 0.0:
        inverse = high
    else:
        at_bound = False
        # On a logarithmic scale: temperatures of 0.1 and of 10 are as far from 1 as each other.
        exponent = optimize.brentq(
            lambda x: _slope(logits, labels, np.exp(x)), np.log(low), np.log(high), xtol=1e-12
        )
        inverse = float(np.exp(exponent))
    return Temperature(
        temperature=1.0 / inverse,
        nll_before=float(losses.mean()),
        nll_after=float(-label_log_probability(logits, labels, inverse).mean()),
        n_items=len(labels),
        at_bound=at_bound,
    )


def apply_temperature(
    predictions: Any, temperature: float, *, scores: str = "logits"
) -> NDArray[np.float64] | list[NDArray[np.float64]]:
    r"""Return the probabilities softmax(z / T).

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths.
        temperature: The temperature T > 0.
        scores: "logits", "log_probabilities" or "probabilities" (z is then their logarithm).

    Returns:
        (N, K) probabilities; a list of N rows where their lengths differ.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value or a shape is wrong.

    Example:
        >>> apply_temperature([[2 * np.log(3), 0.0]], 2.0).round(6)
        array([[0.75, 0.25]])
    """
    temperature = check_number(temperature, "temperature")
    if temperature <= 0:
        raise OptionError(
            f"Expected `temperature` to be above 0, but got {temperature}.", option="temperature"
        )
    logits = _logits(predictions, scores, "predictions")
    if isinstance(logits, Ragged):
        return list(logits.softmax(1.0 / temperature))
    return softmax(logits / temperature)


# ------------------------------------------------------------------------------------------------------------- private


def _checked(
    predictions: Any, references: Any, scores: str
) -> tuple[Floats | Ragged, NDArray[np.int64]]:
    logits, labels = _logits(predictions, scores, "predictions"), check_labels(references)
    check_same_length(predictions=logits, references=labels)
    return logits, check_labels(
        labels, logits.lengths if isinstance(logits, Ragged) else logits.shape[1]
    )


def _logits(predictions: Any, scores: str, name: str) -> Floats | Ragged:
    check_one_of(scores, SCORE_KINDS, "scores")
    if scores == "probabilities":
        refuse_class_labels(predictions)
    return check_logits(predictions, scores=scores, name=name)


def _slope(logits: Floats | Ragged, labels: NDArray[np.int64], inverse: float) -> float:
    """Return the derivative of the mean log loss by the inverse temperature: mean of E_p[z] - z_y."""
    if isinstance(logits, Ragged):
        probability = logits.softmax(inverse).values
        # 0 times minus infinity counts as 0: an impossible class adds nothing to the expectation.
        expected = np.where(probability > 0, logits.values, 0.0) * probability
        return float(expected.sum() / len(labels) - logits.at(labels).mean())
    probability = softmax(logits * inverse)
    expected = np.where(probability > 0, logits, 0.0) * probability
    return float(expected.sum() / len(labels) - logits[np.arange(len(labels)), labels].mean())


METHODS = ("temperature", "vector", "isotonic")


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
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    n_fit: int


def recalibrate(
    fit_predictions: Any,
    fit_references: Any,
    predictions: Any,
    *,
    method: str = "isotonic",
    scores: str = "logits",
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
            classes, and only a temperature fits them.

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
    fitted, table = (
        _table(fit_predictions, scores, "fit_predictions"),
        _table(predictions, scores, "predictions"),
    )
    labels = check_labels(fit_references, fitted.shape[1], name="fit_references")
    check_same_length(fit_predictions=fitted, fit_references=labels)
    if fitted.shape[1] != table.shape[1]:
        raise ValueError(
            f"Expected the same classes in both splits, but got {fitted.shape[1]} and {table.shape[1]}."
        )
    if method == "temperature":
        return np.asarray(apply_temperature(table, fit_temperature(fitted, labels).temperature))
    if method == "vector":
        return _vector(_finite(fitted), labels, _finite(table))
    return _isotonic(softmax(fitted), labels, softmax(table))


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
        >>> round(report.before["ece"], 4), round(report.after["ece"], 4)
        (0.0667, 0.0)
    """
    probabilities = recalibrate(
        fit_predictions, fit_references, predictions, method=method, scores=scores
    )
    before = calibration_summary(predictions, references, n_bins=n_bins, scores=scores)
    after = calibration_summary(probabilities, references, n_bins=n_bins)
    return RecalibrationReport(method, before, after, n_fit=len(fit_references))


# ------------------------------------------------------------------------------------------------------------- private


def _table(predictions: Any, scores: str, name: str) -> Floats:
    logits = _logits(predictions, scores, name)
    if isinstance(logits, Ragged):
        raise ValueError(
            f"Expected rows of one length in `{name}`, but they differ; only a temperature fits them."
        )
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
        return float(
            -log_p[np.arange(n_items), labels].mean() + (parameters - start) @ away / 2
        ), gradient

    found = optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-8}
    ).x
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

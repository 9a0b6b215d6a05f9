"""Recalibration: temperature scaling, vector scaling and isotonic regression.

`recalibrate` fits one of them on a split and applies it to another, `fit_temperature` only finds
the temperature. `calibration_summary` computes every figure about confidence at once, and
`recalibration_report` compares these figures before and after.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.calibration.confidences import (
    ANSWER_KINDS,
    TopLabel,
    parse_top_label,
    refuse_class_labels,
)
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
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
from rightreasons.core.binning import Flags
from rightreasons.core.errors import OptionError
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_labels,
    check_labels_of_rows,
    check_logits,
    check_number,
    check_one_of,
    check_same_length,
    softmax,
)

# ------------------------------------------------------------------------ every figure about
# confidence


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
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        n_bins: Number of bins of the binned figures. Default 15.
        kind: "top_label" (default; the predictions are class scores) or "confidence".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        The figures by name, and `n_items`; the function of each figure defines it. Some need the
        same
        classes in all items: classwise_ece; ace, the same in bins of equal mass; and tace, of
        probabilities above 0.01. They are None for rows of different lengths and for
        kind="confidence". brier is None for rows of different lengths.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> summary = calibration_summary([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]], [0, 1, 1])
        >>> [round(summary[name], 6) for name in ("ece", "macro_ce", "nll")]
        [0.4, 0.475, 0.60672]
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    plain = compute_calibration(top, CalibrationErrorOptions(n_bins=n_bins))
    selective = selective_scores(top)
    proper_kind = "multiclass" if kind == "top_label" else kind
    is_ragged = isinstance(top.probabilities, Ragged)
    brier = None
    if not is_ragged:
        brier = brier_score(top, kind=proper_kind, n_bins=n_bins).brier

    # Figures of the classes need the same classes in all items.
    classwise_ece = ace = tace = None
    if kind == "top_label" and not is_ragged:
        by_class: dict[str, Any] = {"n_bins": n_bins, "kind": "classwise"}
        classwise_ece = _compute_ece(top, **by_class)
        ace = _compute_ece(top, **by_class, strategy="quantile")
        tace = _compute_ece(top, **by_class, strategy="quantile", threshold=0.01)
    # Logits are read again: the softmax of the top labels may have underflowed.
    nll = negative_log_likelihood(predictions, references, kind=proper_kind, scores=scores).nll
    return {
        "accuracy": plain.accuracy,
        "mean_confidence": plain.mean_confidence,
        "auroc": selective.auroc,
        "ece": plain.ece,
        "ece_debiased": _compute_ece(top, n_bins=n_bins, debias=True),
        "rmsce": _compute_ece(top, n_bins=n_bins, norm="l2"),
        "mce": plain.mce,
        "adaptive_ece": _compute_ece(top, n_bins=n_bins, strategy="quantile"),
        "smooth_ece": smooth_ece(top).smooth_ece,
        "ece_sweep": ece_sweep(top).ece,
        "classwise_ece": classwise_ece,
        "ace": ace,
        "tace": tace,
        "macro_ce": macro_ce(top).macro_ce,
        "brier": brier,
        "nll": nll,
        "aurc": selective.aurc,
        "e_aurc": selective.e_aurc,
        "n_items": len(top),
    }


def _compute_ece(top: TopLabel, **options: Any) -> float:
    return compute_calibration(top, CalibrationErrorOptions(**options)).ece


# ------------------------------------- temperature scaling: one number that softens or sharpens
# all rows

TEMPERATURE_RANGE = (0.01, 100.0)
"""Range of the search. A model without an error on the fitting split would get 0, one without any
knowledge infinity."""


@dataclasses.dataclass(frozen=True)
class Temperature(Result):
    """A fitted temperature.

    Attributes:
        temperature: Temperature T; above 1 if the model was overconfident on the fitting split.
        nll_before: Log loss in nats of the fitting split at T = 1.
        nll_after: Log loss in nats of the fitting split at the fitted temperature.
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

    The loss is convex in 1/T; its derivative, the mean of E_p[z] - z_y, is solved for 0.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths, of a split that is separate from training and from the evaluation.
        references: (N,) labels.
        scores: "logits" (default), "log_probabilities" or "probabilities".

    Returns:
        A `Temperature`: temperature, log loss before and after, number of items, whether it is at
            the
        bound.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong, or if a label has probability 0, which
            no temperature changes.

    References:
        Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, section 4.2.

    Example:
        Correct in 3 of 4 cases with a logit margin of 2 ln 3: T = 2 makes it ln 3, that is P =
            0.75.

        >>> fit = fit_temperature([[2 * np.log(3), 0.0]] * 4, [0, 0, 0, 1])
        >>> round(fit.temperature, 6), fit.at_bound
        (2.0, False)
    """
    logits = _parse_logits(predictions, scores, "predictions")
    labels = check_labels_of_rows(references, logits)
    # An infinite loss stays infinite at every temperature, and the mean has no minimum.
    losses = -label_log_probability(logits, labels)
    if np.isposinf(losses).any():
        item = int(np.flatnonzero(np.isposinf(losses))[0])
        raise ValueError(
            f"Expected labels with a probability above 0, but that of item {item} has probability 0, "
            "which no temperature mends: give logits, or probabilities with more digits."
        )

    lowest = 1.0 / TEMPERATURE_RANGE[1]
    highest = 1.0 / TEMPERATURE_RANGE[0]
    # The slope increases with the inverse temperature. If it has one sign in the whole range, the
    # best temperature is at an end.
    at_bound = True
    if _compute_slope(logits, labels, lowest) >= 0.0:
        inverse = lowest
    elif _compute_slope(logits, labels, highest) <= 0.0:
        inverse = highest
    else:
        at_bound = False
        # On a logarithmic scale, temperatures of 0.1 and of 10 are equally far from 1.
        exponent = optimize.brentq(
            lambda x: _compute_slope(logits, labels, np.exp(x)),
            np.log(lowest),
            np.log(highest),
            xtol=1e-12,
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
) -> Floats | list[Floats]:
    r"""Return the probabilities softmax(z / T).

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths.
        temperature: Temperature T > 0.
        scores: "logits" (default), "log_probabilities" or "probabilities" (z is then their
            logarithm).

    Returns:
        (N, K) probabilities; a list of N rows if their lengths differ.

    Raises:
        TypeError: If an argument has the wrong type.
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
    logits = _parse_logits(predictions, scores, "predictions")
    if isinstance(logits, Ragged):
        return list(logits.softmax(1.0 / temperature))
    return softmax(logits / temperature)


def _parse_logits(predictions: Any, scores: str, name: str) -> Floats | Ragged:
    check_one_of(scores, SCORE_KINDS, "scores")
    # Whole numbers may be logits, but hardly probabilities.
    if scores == "probabilities":
        refuse_class_labels(predictions)
    return check_logits(predictions, scores=scores, name=name)


def _compute_slope(
    logits: Floats | Ragged, labels: NDArray[np.int64], inverse_temperature: float
) -> float:
    """Return the derivative of the mean log loss by the inverse temperature."""
    if isinstance(logits, Ragged):
        values = logits.values
        at_labels = logits.at(labels)
        probability = logits.softmax(inverse_temperature).values
    else:
        values = logits
        at_labels = logits[np.arange(len(labels)), labels]
        probability = softmax(logits * inverse_temperature)
    # An impossible class has the logit minus infinity, but adds nothing to the expectation.
    expected = np.where(probability > 0, values, 0.0) * probability
    return float(expected.sum() / len(labels) - at_labels.mean())


# ---------------------------------------------------------------------------------------- all
# methods

METHODS = ("temperature", "vector", "isotonic")

MIN_RELATIVE_PROBABILITY = 1e-12
"""Smallest probability for vector scaling, as a share of the largest of its row: logits are finite.
"""


@dataclasses.dataclass(frozen=True)
class RecalibrationReport(Result):
    """The effect of recalibration on a split that it was not fitted on.

    Attributes:
        method: Method of recalibration.
        before: Every figure of the other split as it is.
        after: Every figure of the other split, recalibrated. Vector scaling and isotonic regression
            may change the accuracy.
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
    - "vector": softmax(w ⊙ z + b), 2K parameters. They minimize the log loss with a penalty
      \((\lVert w - 1 \rVert^2 + \lVert b \rVert^2) / 2n\): a unit normal law around no change,
      which is negligible for many items and keeps the parameters finite for few.
    - "isotonic": for each class, the non-decreasing function of its probability that is nearest to
      its labels by squares, linear in between. Rows are then divided by their sum (uniform if all
      are 0). For two classes, it is a function only of P(class 1). It has as many parameters as the
      items ask
      for: with fewer than about a thousand items of a class it overfits. Its probabilities may be
      exactly 0, and the log loss then has no value.

    Args:
        fit_predictions: (N, K) class scores or (N,) P(class 1) of a split that is separate from
            training and from the evaluation.
        fit_references: (N,) labels of that split.
        predictions: (M, K) or (M,) scores of the split to recalibrate.
        method: "isotonic" (default), "vector" or "temperature".
        scores: "logits" (default), "log_probabilities" or "probabilities", of both splits.

    Returns:
        (M, K) probabilities.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong, or if rows have different lengths:
            their columns are not classes, and only a temperature fits them.

    References:
        Guo, Pleiss, Sun, Weinberger (2017), "On Calibration of Modern Neural Networks", section
        4.2. Zadrozny, Elkan (2002), "Transforming Classifier Scores into Accurate Multiclass
        Probability Estimates".

    Example:
        Class 1 is correct in none of two cases at 0.3 and in one of two at 0.6.

        >>> fit = [0.3, 0.3, 0.6, 0.6]
        >>> recalibrate(fit, [0, 0, 0, 1], [0.3, 0.45, 0.9], scores="probabilities")
        array([[1.  , 0.  ],
               [0.75, 0.25],
               [0.5 , 0.5 ]])
    """
    check_one_of(method, METHODS, "method")
    fit_logits = _parse_table(fit_predictions, scores, "fit_predictions")
    logits = _parse_table(predictions, scores, "predictions")
    labels = check_labels(fit_references, fit_logits.shape[1], name="fit_references")
    check_same_length(fit_predictions=fit_logits, fit_references=labels)
    if fit_logits.shape[1] != logits.shape[1]:
        raise ValueError(
            f"Expected the same classes in both splits, but got {fit_logits.shape[1]} and "
            f"{logits.shape[1]}."
        )
    # The scores are logits from here on, whatever their scale was.
    if method == "temperature":
        temperature = fit_temperature(fit_logits, labels).temperature
        return np.asarray(apply_temperature(logits, temperature))
    if method == "vector":
        return _scale_vectors(_make_finite(fit_logits), labels, _make_finite(logits))
    return _regress_classes(softmax(fit_logits), labels, softmax(logits))


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
        fit_predictions: (N, K) class scores or (N,) P(class 1) of the fitting split.
        fit_references: (N,) labels of the fitting split.
        predictions: (M, K) or (M,) scores of the split to report on.
        references: (M,) labels of the split to report on.
        method: "isotonic" (default), "vector" or "temperature".
        n_bins: Number of bins of the binned figures. Default 15.
        scores: "logits" (default), "log_probabilities" or "probabilities", of both splits.

    Returns:
        A `RecalibrationReport`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong; see `recalibrate`.

    Example:
        >>> scores, labels = [0.9] * 4 + [0.2] * 5, [1, 1, 1, 0] + [0, 0, 0, 0, 1]
        >>> report = recalibration_report(scores, labels, scores, labels, scores="probabilities")
        >>> round(report.before["ece"], 4), round(report.after["ece"], 4)
        (0.0667, 0.0)
    """
    probabilities = recalibrate(
        fit_predictions, fit_references, predictions, method=method, scores=scores
    )
    return RecalibrationReport(
        method=method,
        before=calibration_summary(predictions, references, n_bins=n_bins, scores=scores),
        after=calibration_summary(probabilities, references, n_bins=n_bins),
        n_fit=len(fit_references),
    )


def _parse_table(predictions: Any, scores: str, name: str) -> Floats:
    logits = _parse_logits(predictions, scores, name)
    if isinstance(logits, Ragged):
        raise ValueError(
            f"Expected rows of one length in `{name}`, but they differ; only a temperature fits them."
        )
    return logits


# ---------------------------------------------------------------------- vector scaling and isotonic


def _make_finite(logits: Floats) -> Floats:
    """Return the logits, none further below the largest of its row than the smallest probability."""
    smallest = logits.max(axis=1, keepdims=True) + np.log(MIN_RELATIVE_PROBABILITY)
    return np.asarray(np.maximum(logits, smallest), dtype=np.float64)


def _scale_vectors(fit_logits: Floats, labels: NDArray[np.int64], logits: Floats) -> Floats:
    """Fit weights and biases of the classes, and return the scaled probabilities of other logits."""
    n_items, n_classes = fit_logits.shape
    targets = np.eye(n_classes)[labels]
    # Weights of 1 and biases of 0 change nothing.
    unchanged = np.repeat([1.0, 0.0], n_classes)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """Return the penalized log loss and its gradient."""
        weights = parameters[:n_classes]
        biases = parameters[n_classes:]
        scaled = fit_logits * weights + biases
        # The largest power becomes 1, so that none overflows.
        scaled -= scaled.max(axis=1, keepdims=True)
        log_p = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        log_loss = -log_p[np.arange(n_items), labels].mean()

        errors = (np.exp(log_p) - targets) / n_items
        gradient = np.concatenate(((errors * fit_logits).sum(axis=0), errors.sum(axis=0)))
        change = parameters - unchanged
        penalty_gradient = change / n_items
        penalty = change @ penalty_gradient / 2
        return float(log_loss + penalty), gradient + penalty_gradient

    fit = optimize.minimize(
        loss, unchanged, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-8}
    ).x
    return softmax(logits * fit[:n_classes] + fit[n_classes:])


def _regress_classes(
    fit_probabilities: Floats, labels: NDArray[np.int64], probabilities: Floats
) -> Floats:
    """Fit an isotonic regression for each class, and return the probabilities that it predicts."""
    n_classes = fit_probabilities.shape[1]
    # The probabilities of two classes are one number, and so is the function that maps them.
    if n_classes == 2:
        positive = _regress(fit_probabilities[:, 1], labels == 1, probabilities[:, 1])
        return np.column_stack((1 - positive, positive))
    columns = [
        _regress(fit_probabilities[:, k], labels == k, probabilities[:, k])
        for k in range(n_classes)
    ]
    table = np.column_stack(columns)
    sums = table.sum(axis=1, keepdims=True)
    # A row in which no class is left is uniform.
    divisor = np.where(sums > 0, sums, 1.0)
    return np.where(sums > 0, table / divisor, 1 / n_classes)


def _regress(fit_scores: Floats, events: Flags, scores: Floats) -> Floats:
    """Fit a non-decreasing function of scores to events, and return its values at other scores."""
    # The arithmetic of the softmax must not tell equal scores apart.
    distinct, inverse, counts = np.unique(
        fit_scores.round(12), return_inverse=True, return_counts=True
    )
    rates = np.bincount(inverse, events) / counts
    # Ties get their mean rate, with the weight of all of them.
    fit = optimize.isotonic_regression(rates, weights=counts).x
    return np.asarray(np.interp(scores, distinct, np.clip(fit, 0.0, 1.0)), dtype=np.float64)

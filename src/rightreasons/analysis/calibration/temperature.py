"""Temperature scaling: one number that softens or sharpens all of a model's probabilities."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.analysis.calibration.proper_scores import label_log_probability
from rightreasons.analysis.calibration.summary import CalibrationSummary, calibration_summary
from rightreasons.analysis.calibration.top_label import check_no_classes
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_labels, check_logits, check_number, check_same_length

Floats = NDArray[np.float64]

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


@dataclasses.dataclass(frozen=True)
class TemperatureReport(Result):
    """What temperature scaling changes on a split that it was not fitted on.

    Attributes:
        fit: The temperature and how it was fitted.
        before: Every figure of the other split, unscaled.
        after: Every figure at the fitted temperature. Accuracy is the same: scaling keeps the order of the classes.
    """

    fit: Temperature
    before: CalibrationSummary
    after: CalibrationSummary


@checks_kinds
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
        raise ValueError(f"Expected labels with a probability above 0, but that of item {item} has probability 0.")
    low, high = 1.0 / RANGE[1], 1.0 / RANGE[0]
    at_bound = True
    if _slope(logits, labels, low) >= 0.0:
        inverse = low
    elif _slope(logits, labels, high) <= 0.0:
        inverse = high
    else:
        at_bound = False
        # On a logarithmic scale: temperatures of 0.1 and of 10 are as far from 1 as each other.
        exponent = optimize.brentq(lambda x: _slope(logits, labels, np.exp(x)), np.log(low), np.log(high), xtol=1e-12)
        inverse = float(np.exp(exponent))
    return Temperature(
        temperature=1.0 / inverse,
        nll_before=float(losses.mean()),
        nll_after=float(-label_log_probability(logits, labels, inverse).mean()),
        n_items=len(labels),
        at_bound=at_bound,
    )


@checks_kinds
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
        raise ValueError(f"Expected `temperature` to be above 0, but got {temperature}.")
    if scores == "probabilities":
        check_no_classes(predictions)
    logits = check_logits(predictions, scores=scores)
    if isinstance(logits, Ragged):
        return list(logits.softmax(1.0 / temperature))
    return softmax(logits / temperature)


@checks_kinds
def temperature_report(
    fit_predictions: Any,
    fit_references: Any,
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    scores: str = "logits",
) -> TemperatureReport:
    """Fit a temperature on one split, apply it to another, and give every figure of the other before and after.

    Args:
        fit_predictions: Scores of the fitting split, as in `fit_temperature`.
        fit_references: Its labels.
        predictions: Scores of the split to report on.
        references: Its labels.
        n_bins: Number of bins of the binned figures.
        scores: "logits", "log_probabilities" or "probabilities", of both splits.

    Returns:
        A `TemperatureReport`: the fit, and the figures before and after.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> logits, labels = [[2 * np.log(3), 0.0]] * 4, [0, 0, 0, 1]
        >>> report = temperature_report(logits, labels, logits, labels)
        >>> round(report.before.ece, 6), round(report.after.ece, 6)
        (0.15, 0.0)
    """
    fit = fit_temperature(fit_predictions, fit_references, scores=scores)
    scaled = apply_temperature(predictions, fit.temperature, scores=scores)
    return TemperatureReport(
        fit,
        calibration_summary(predictions, references, n_bins=n_bins, scores=scores),
        calibration_summary(scaled, references, n_bins=n_bins),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _checked(predictions: Any, references: Any, scores: str) -> tuple[Floats | Ragged, NDArray[np.int64]]:
    if scores == "probabilities":
        check_no_classes(predictions)
    logits = check_logits(predictions, scores=scores, name="predictions")
    labels = check_labels(references)
    check_same_length(predictions=logits, references=labels)
    n_classes = logits.lengths if isinstance(logits, Ragged) else logits.shape[1]
    return logits, check_labels(labels, n_classes)


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

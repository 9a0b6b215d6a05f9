"""Recalibrators: what is fitted on one split, kept, and applied to the scores of others.

`fit_recalibrator` fits temperature scaling, vector scaling or isotonic regression. A `Recalibrator`
is a function of scores; it is saved as a small JSON file, which `load_recalibrator` reads with numpy
alone.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.calibration.confidences import refuse_class_labels
from rightreasons.calibration.proper_scores import label_log_probability
from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.binning import Flags
from rightreasons.core.errors import OptionError
from rightreasons.core.json_files import read_tagged_json
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.store import write_json
from rightreasons.core.validation import (
    SCORE_KINDS,
    check_labels,
    check_labels_of_rows,
    check_logits,
    check_number,
    check_one_of,
    check_same_length,
    check_vector,
    softmax,
)

METHODS = ("temperature", "vector", "isotonic")

FORMAT = "rightreasons recalibrator 1"
"""First entry of a saved recalibrator."""

MIN_RELATIVE_PROBABILITY = 1e-12
"""Smallest probability for vector scaling, as a share of the largest of its row: logits are finite.
"""

Parameters = Mapping[str, list[Any]]
"""Name -> numbers: "temperature"; "weights" and "biases"; or one list per function of "scores" and
of "rates"."""

_EXPECTED_NAMES = {
    "temperature": ("temperature",),
    "vector": ("weights", "biases"),
    "isotonic": ("scores", "rates"),
}
"""Method -> names of its parameters."""

# --- Fitted recalibrators


@dataclasses.dataclass(frozen=True)
class Recalibrator(Result):
    """A fitted recalibration, a function from scores to probabilities.

    Attributes:
        method: "temperature", "vector" or "isotonic".
        n_classes: Number of classes K.
        n_fit: Number of items that it was fitted on.
        parameters: Fitted numbers by name: "temperature" for a temperature; "weights" and "biases" for
            vector scaling; "scores" and "rates", one list per function, for isotonic regression.

    Example:
        >>> recalibrator = fit_recalibrator([[2 * np.log(3), 0.0]] * 4, [0, 0, 0, 1], method="temperature")
        >>> recalibrator([[4 * np.log(3), 0.0]]).round(6)
        array([[0.9, 0.1]])
    """

    method: str
    n_classes: int
    n_fit: int
    parameters: Parameters

    def __call__(self, predictions: Any, *, scores: str = "logits") -> Floats:
        """Return the recalibrated probabilities of class scores.

        Args:
            predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
            scores: "logits" (default), "log_probabilities" or "probabilities".

        Returns:
            (N, K) probabilities.

        Raises:
            TypeError: If the scores have the wrong type.
            ValueError: If the number of classes differs from the scores that were fitted.
        """
        logits = parse_class_logits(predictions, scores, "predictions")
        if logits.shape[1] != self.n_classes:
            raise ValueError(
                f"Expected scores of {self.n_classes} classes, as in the scores that the "
                f"recalibration was fitted on, but got {logits.shape[1]}."
            )
        return self.apply_to_logits(logits)

    def apply_to_logits(self, logits: Floats) -> Floats:
        """Return recalibrated probabilities, without checking the logits.

        Args:
            logits: (N, K) logits of the classes that were fitted.

        Returns:
            (N, K) probabilities.
        """
        if self.method == "temperature":
            (temperature,) = self.parameters["temperature"]
            return softmax(logits / temperature)
        if self.method == "vector":
            weights = np.array(self.parameters["weights"])
            biases = np.array(self.parameters["biases"])
            return softmax(_make_finite(logits) * weights + biases)
        return self._apply_isotonic(softmax(logits))

    def _apply_isotonic(self, probabilities: Floats) -> Floats:
        """Map the probabilities of each class by its isotonic function, and normalize the rows.

        The function of class k has the values `rates[k]` at the increasing `scores[k]`. It is linear
        between them, and constant outside.

        Args:
            probabilities: (N, K) probabilities.

        Returns:
            (N, K) probabilities. A row that all functions map to 0 becomes uniform.
        """
        scores = self.parameters["scores"]
        rates = self.parameters["rates"]
        if self.n_classes == 2:
            # Only P(class 1) has a function, because P(class 0) is 1 - P(class 1).
            positive = np.interp(probabilities[:, 1], scores[0], rates[0])
            return np.column_stack((1 - positive, positive))

        mapped = np.empty_like(probabilities)
        for k in range(self.n_classes):
            mapped[:, k] = np.interp(probabilities[:, k], scores[k], rates[k])
        row_sums = mapped.sum(axis=1, keepdims=True)
        is_positive = row_sums > 0
        # The divisor 1 avoids a warning about 0 / 0; such a row is replaced by a uniform one.
        divisor = np.where(is_positive, row_sums, 1.0)
        return np.where(is_positive, mapped / divisor, 1 / self.n_classes)

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the recalibrator as a JSON file; `load_recalibrator` reads it."""
        return write_json(Path(file), {"format": FORMAT, **self.to_dict()})


def load_recalibrator(file: str | os.PathLike[str]) -> Recalibrator:
    """Load a recalibrator that `Recalibrator.save` or `rightreasons recalibrate --save` wrote.

    Args:
        file: The JSON file.

    Returns:
        A function of scores: `load_recalibrator(file)(scores)`.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is not a recalibrator, or its parameters do not fit its method and
            its number of classes.
    """
    content = read_tagged_json(file, FORMAT, "a recalibrator")
    raw_method: Any = content.get("method")
    method: str = check_one_of(raw_method, METHODS, "method")
    for name, minimum in (("n_classes", 2), ("n_fit", 1)):
        value = content.get(name)
        if type(value) is not int or value < minimum:
            raise ValueError(
                f"Expected a whole number of at least {minimum} as `{name}` in {file}, but got "
                f"{format_value(value)}."
            )
    n_classes = content["n_classes"]
    parameters = _parse_parameters(content.get("parameters"), method, n_classes, str(file))
    return Recalibrator(method, n_classes, content["n_fit"], parameters)


def _parse_parameters(parameters: Any, method: str, n_classes: int, file: str) -> Parameters:
    """Check the parameters in the file of a saved recalibrator.

    Args:
        parameters: Entry "parameters" of the file.
        method: Method of the recalibrator, one of `METHODS`.
        n_classes: Number of classes K.
        file: Name of the file, for the messages.

    Returns:
        {"temperature": [T]}, {"weights": K numbers, "biases": K numbers}, or {"scores": lists,
        "rates": lists} with two lists of equal length for each isotonic function.

    Raises:
        ValueError: If a parameter is missing, or its numbers cannot be those of a fit.
    """
    names = list(parameters) if isinstance(parameters, dict) else []
    expected_names = _EXPECTED_NAMES[method]
    if set(names) != set(expected_names):
        raise ValueError(
            f"Expected the parameters {' and '.join(expected_names)} in {file}, but got "
            f"{', '.join(names) or 'none'}."
        )
    if method == "isotonic":
        return _parse_functions(parameters, n_classes, file)

    count = 1 if method == "temperature" else n_classes
    parsed = {name: _parse_numbers(parameters[name], name, count, file) for name in expected_names}
    if method == "temperature" and parsed["temperature"][0] <= 0:
        raise ValueError(
            f"Expected a temperature above 0 in {file}, but got {parsed['temperature'][0]}."
        )
    return parsed


def _parse_functions(parameters: Mapping[str, Any], n_classes: int, file: str) -> Parameters:
    """Check the isotonic functions in the file of a saved recalibrator: their scores and rates.

    Args:
        parameters: {"scores": one list per function, "rates": one list per function}.
        n_classes: Number of classes K. There are K functions, or a single one if K is 2.
        file: Name of the file, for the messages.

    Returns:
        The two lists of lists of numbers.

    Raises:
        ValueError: If the number of functions is wrong, the lists of a function differ in length,
            or scores or rates are not those of a non-decreasing function into [0, 1].
    """
    n_functions = 1 if n_classes == 2 else n_classes
    for name in ("scores", "rates"):
        lists = parameters[name]
        if not isinstance(lists, list) or len(lists) != n_functions:
            raise ValueError(
                f"Expected {pluralize(n_functions, 'list')} as `{name}` in {file}, for {n_classes} classes, but "
                f"got {format_value(lists)}."
            )

    all_scores = []
    all_rates = []
    for raw_scores, raw_rates in zip(parameters["scores"], parameters["rates"], strict=True):
        scores = _parse_numbers(raw_scores, "scores", None, file)
        rates = _parse_numbers(raw_rates, "rates", len(scores), file)
        is_increasing = (np.diff(scores) > 0).all()
        is_monotone = (np.diff(rates) >= 0).all()
        if not is_increasing or not is_monotone or rates[0] < 0 or rates[-1] > 1:
            raise ValueError(
                f"Expected increasing `scores`, and non-decreasing `rates` from 0 to 1, in {file}."
            )
        all_scores.append(scores)
        all_rates.append(rates)
    return {"scores": all_scores, "rates": all_rates}


def _parse_numbers(values: Any, name: str, count: int | None, file: str) -> list[float]:
    """Return a list of finite numbers as floats; raise ValueError if it is something else.

    Args:
        values: The list.
        name: Name of the parameter, for the message.
        count: Expected length. If None, any length of at least one.
        file: Name of the file, for the message.
    """
    try:
        numbers = check_vector(values, name)
    except (TypeError, ValueError):
        raise ValueError(
            f"Expected a list of finite numbers as `{name}` in {file}, but got "
            f"{format_value(values)}."
        ) from None
    if count is not None and len(numbers) != count:
        raise ValueError(
            f"Expected `{name}` to have the length {count} in {file}, but got {len(numbers)}."
        )
    floats: list[float] = numbers.tolist()
    return floats


# --- Fits


def fit_recalibrator(
    predictions: Any,
    references: Any,
    *,
    method: str = "isotonic",
    scores: str = "logits",
) -> Recalibrator:
    """Fit a function that maps class scores to calibrated probabilities, on a labeled split.

    The methods are described in `recalibrate`.

    Args:
        predictions: (N, K) class scores or (N,) P(class 1) of a split that is separate from training
            and from the evaluation.
        references: (N,) labels of that split.
        method: "isotonic" (default), "vector" or "temperature".
        scores: "logits" (default), "log_probabilities" or "probabilities".

    Returns:
        A `Recalibrator`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> recalibrator = fit_recalibrator([0.3, 0.3, 0.6, 0.6], [0, 0, 0, 1], scores="probabilities")
        >>> recalibrator([0.45], scores="probabilities").round(6)
        array([[0.75, 0.25]])
    """
    logits = parse_class_logits(predictions, scores, "predictions")
    labels = check_labels(references, logits.shape[1], name="references")
    check_same_length(predictions=logits, references=labels)
    return fit_logits_recalibrator(logits, labels, method=method)


def fit_logits_recalibrator(
    logits: Floats, labels: NDArray[np.int64], *, method: str
) -> Recalibrator:
    """Fit a recalibrator on logits and labels that have been checked already.

    Args:
        logits: (N, K) logits.
        labels: (N,) labels from 0 to K - 1.
        method: "temperature", "vector" or "isotonic", as in `recalibrate`.
    """
    check_one_of(method, METHODS, "method")
    parameters: Parameters
    if method == "temperature":
        fit = fit_temperature(logits, labels)
        parameters = {"temperature": [fit.temperature]}
    elif method == "vector":
        parameters = _fit_vector_scaling(_make_finite(logits), labels)
    else:
        parameters = _fit_isotonic_functions(softmax(logits), labels)
    return Recalibrator(
        method=method, n_classes=logits.shape[1], n_fit=len(labels), parameters=parameters
    )


def parse_class_logits(predictions: Any, scores: str, name: str) -> Floats:
    """Return scores of classes as (N, K) logits; raise ValueError if rows differ in length.

    The columns of rows with different lengths are choices of an item, not classes.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
        scores: "logits", "log_probabilities" or "probabilities".
        name: Name of the argument in messages, such as "predictions".
    """
    logits = parse_logits(predictions, scores, name)
    if isinstance(logits, Ragged):
        raise ValueError(
            f"Expected rows of one length in `{name}`, but the lengths differ. Only a temperature "
            "fits rows of different lengths."
        )
    return logits


def _fit_vector_scaling(logits: Floats, labels: NDArray[np.int64]) -> Parameters:
    r"""Fit vector scaling: the weights w and biases b of the probabilities softmax(w ⊙ z + b).

    They minimize the mean log loss plus the penalty
    \((\lVert w - 1 \rVert^2 + \lVert b \rVert^2) / 2n\), which keeps them finite.

    Args:
        logits: (N, K) finite logits z.
        labels: (N,) labels.

    Returns:
        {"weights": K numbers, "biases": K numbers}.
    """
    n_items, n_classes = logits.shape
    targets = np.eye(n_classes)[labels]
    # The optimizer needs all parameters in one vector: first the weights, then the biases. Weights
    # of 1 and biases of 0 do not change the scores; the penalty is the distance from them.
    identity = np.repeat([1.0, 0.0], n_classes)

    def compute_loss(parameters: Floats) -> tuple[float, Floats]:
        """Return the penalized log loss and its gradient.

        Args:
            parameters: (2K,) weights, then biases.
        """
        weights = parameters[:n_classes]
        biases = parameters[n_classes:]
        scaled = logits * weights + biases
        # Subtract the largest score of each row, so that no exponential overflows.
        scaled -= scaled.max(axis=1, keepdims=True)
        log_p = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        log_loss = -log_p[np.arange(n_items), labels].mean()

        # The derivative of the log loss by the score of a class is its probability minus its target.
        errors = (np.exp(log_p) - targets) / n_items
        weight_gradient = (errors * logits).sum(axis=0)
        bias_gradient = errors.sum(axis=0)
        gradient = np.concatenate((weight_gradient, bias_gradient))

        change = parameters - identity
        penalty_gradient = change / n_items
        penalty = change @ penalty_gradient / 2
        return float(log_loss + penalty), gradient + penalty_gradient

    fit = optimize.minimize(
        compute_loss,
        identity,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 1000, "gtol": 1e-8},
    )
    weights = fit.x[:n_classes]
    biases = fit.x[n_classes:]
    return {"weights": weights.tolist(), "biases": biases.tolist()}


def _fit_isotonic_functions(probabilities: Floats, labels: NDArray[np.int64]) -> Parameters:
    """Fit an isotonic function of P(class k) to the labels, for each class k against the others.

    Args:
        probabilities: (N, K) probabilities.
        labels: (N,) labels.

    Returns:
        {"scores": distinct probabilities of each class, "rates": values of its function at them}.
        Both are lists with one list of numbers per class, or a single one, of class 1, if K is 2.
    """
    n_classes = probabilities.shape[1]
    # With two classes, only P(class 1) needs a function, because P(class 0) is 1 - P(class 1).
    classes = [1] if n_classes == 2 else range(n_classes)
    scores_by_class = []
    rates_by_class = []
    for k in classes:
        scores, rates = _fit_isotonic_function(probabilities[:, k], labels == k)
        scores_by_class.append(scores.tolist())
        rates_by_class.append(rates.tolist())
    return {"scores": scores_by_class, "rates": rates_by_class}


def _fit_isotonic_function(scores: Floats, events: Flags) -> tuple[Floats, Floats]:
    """Fit the non-decreasing function of a score that is nearest to the events by least squares.

    Args:
        scores: (N,) scores.
        events: (N,) whether the event of each score happened.

    Returns:
        (D,) the distinct scores in ascending order, and (D,) the value of the function at each, in
        [0, 1].
    """
    # Scores that differ only by the rounding of the softmax are one score.
    distinct, inverse, counts = np.unique(scores.round(12), return_inverse=True, return_counts=True)
    # The items of a tie are represented by their mean rate, with their number as its weight.
    rates = np.bincount(inverse, events) / counts
    fit = optimize.isotonic_regression(rates, weights=counts).x
    return distinct, np.clip(fit, 0.0, 1.0)


def _make_finite(logits: Floats) -> Floats:
    """Return the logits, none further below the largest of its row than the smallest probability."""
    smallest = logits.max(axis=1, keepdims=True) + np.log(MIN_RELATIVE_PROBABILITY)
    return np.asarray(np.maximum(logits, smallest), dtype=np.float64)


# --- Temperature scaling: one number that softens or sharpens the scores of all rows

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

    The loss is convex in 1/T. The root of its derivative, the mean of E_p[z] - z_y, is found
    numerically.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths, of a split that is separate from training and from the evaluation.
        references: (N,) labels.
        scores: "logits" (default), "log_probabilities" or "probabilities".

    Returns:
        A `Temperature`: temperature, log loss before and after, number of items, whether it is at
        the bound.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong, or if a label has probability 0, which
            no temperature changes.

    References:
        Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, section 4.2.

    Example:
        Correct in 3 of 4 cases with a logit margin of 2 ln 3: T = 2 makes it ln 3, that is
        P = 0.75.

        >>> fit = fit_temperature([[2 * np.log(3), 0.0]] * 4, [0, 0, 0, 1])
        >>> round(fit.temperature, 6), fit.at_bound
        (2.0, False)
    """
    logits = parse_logits(predictions, scores, "predictions")
    labels = check_labels_of_rows(references, logits)
    # An infinite loss is infinite at every temperature, so the mean would have no minimum.
    losses = -label_log_probability(logits, labels)
    if np.isposinf(losses).any():
        item = int(np.flatnonzero(np.isposinf(losses))[0])
        raise ValueError(
            f"Expected labels with a probability above 0, but the label of item {item} has "
            "probability 0 at every temperature. Pass logits, or probabilities with more digits."
        )

    min_temperature, max_temperature = TEMPERATURE_RANGE
    lowest = 1.0 / max_temperature
    highest = 1.0 / min_temperature
    # The slope increases with the inverse temperature. If it has the same sign at both ends of the
    # range, the best temperature is one of the ends.
    at_bound = True
    if _compute_slope(logits, labels, lowest) >= 0.0:
        inverse = lowest
    elif _compute_slope(logits, labels, highest) <= 0.0:
        inverse = highest
    else:
        at_bound = False
        # The logarithm of the inverse temperature is searched, because 0.1 and 10 are equally far
        # from 1 on this scale.
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
    logits = parse_logits(predictions, scores, "predictions")
    if isinstance(logits, Ragged):
        return list(logits.softmax(1.0 / temperature))
    return softmax(logits / temperature)


def parse_logits(predictions: Any, scores: str, name: str) -> Floats | Ragged:
    """Check scores of any kind, and convert them to logits.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1), or N rows of different lengths.
        scores: "logits", "log_probabilities" or "probabilities".
        name: Name of the argument in messages, such as "predictions".

    Returns:
        (N, K) logits, or `Ragged`.
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    # Whole numbers may be logits, but hardly probabilities.
    if scores == "probabilities":
        refuse_class_labels(predictions)
    return check_logits(predictions, scores=scores, name=name)


def _compute_slope(
    logits: Floats | Ragged, labels: NDArray[np.int64], inverse_temperature: float
) -> float:
    r"""Return the derivative of the mean log loss by the inverse temperature b.

    It is the mean over the items of \(\sum_k p_k z_k - z_y\) with \(p = softmax(b z)\): the
    expected logit, minus the logit of the label.

    Args:
        logits: (N, K) logits z, or `Ragged`.
        labels: (N,) labels y.
        inverse_temperature: Inverse temperature b = 1/T.
    """
    if isinstance(logits, Ragged):
        values = logits.values
        label_logits = logits.at(labels)
        probabilities = logits.softmax(inverse_temperature).values
    else:
        values = logits
        label_logits = logits[np.arange(len(labels)), labels]
        probabilities = softmax(logits * inverse_temperature)
    # A class with probability 0 may have the logit -inf, and 0 * -inf would be NaN.
    finite_values = np.where(probabilities > 0, values, 0.0)
    expected_logits = finite_values * probabilities
    return float(expected_logits.sum() / len(labels) - label_logits.mean())

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
from rightreasons.core.store import write_json
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

METHODS = ("temperature", "vector", "isotonic")

FORMAT = "rightreasons recalibrator 1"
"""First entry of a saved recalibrator."""

MIN_RELATIVE_PROBABILITY = 1e-12
"""Smallest probability for vector scaling, as a share of the largest of its row: logits are finite.
"""

Parameters = Mapping[str, list[Any]]
"""Name -> numbers: "temperature"; "weights" and "biases"; or "scores" and "rates" of each function.
"""

# ----------------------------------------------------------------------- what is kept and applied


@dataclasses.dataclass(frozen=True)
class Recalibrator(Result):
    """A fitted recalibration, a function from scores to probabilities.

    Attributes:
        method: "temperature", "vector" or "isotonic".
        n_classes: Number of classes K.
        n_fit: Number of items that it was fitted on.
        parameters: What was fitted.

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
        """Return the recalibrated probabilities of scores.

        Args:
            predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
            scores: "logits" (default), "log_probabilities" or "probabilities".

        Returns:
            (N, K) probabilities.

        Raises:
            TypeError: If the scores have the wrong type.
            ValueError: If they are of another number of classes.
        """
        logits = parse_class_logits(predictions, scores, "predictions")
        if logits.shape[1] != self.n_classes:
            raise ValueError(
                f"Expected scores of {self.n_classes} classes, as those that this was fitted on, but got "
                f"{logits.shape[1]}."
            )
        return self.apply_to_logits(logits)

    def apply_to_logits(self, logits: Floats) -> Floats:
        """Return the probabilities of checked (N, K) logits."""
        if self.method == "temperature":
            return softmax(logits / self.parameters["temperature"][0])
        if self.method == "vector":
            weights = np.array(self.parameters["weights"])
            biases = np.array(self.parameters["biases"])
            return softmax(_make_finite(logits) * weights + biases)
        return self._apply_functions(softmax(logits))

    def _apply_functions(self, probabilities: Floats) -> Floats:
        """Return the probabilities that the isotonic functions map to, with rows of sum 1."""
        functions = list(zip(self.parameters["scores"], self.parameters["rates"], strict=True))
        # The probabilities of two classes are one number, and so is the function that maps them.
        if self.n_classes == 2:
            positive = np.interp(probabilities[:, 1], *functions[0])
            return np.column_stack((1 - positive, positive))
        table = np.empty_like(probabilities)
        for column, function in enumerate(functions):
            table[:, column] = np.interp(probabilities[:, column], *function)
        sums = table.sum(axis=1, keepdims=True)
        # A row in which no class is left is uniform.
        divisor = np.where(sums > 0, sums, 1.0)
        return np.where(sums > 0, table / divisor, 1 / self.n_classes)

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
        ValueError: If it holds something else.
    """
    content = read_tagged_json(file, FORMAT, "a recalibrator")
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Recalibrator):
        fields[field.name] = content.get(field.name)
    method = check_one_of(fields["method"], METHODS, "method")
    parameters = fields["parameters"]
    # A file from elsewhere is parsed: numbers alone, of the length that the classes ask for.
    arrays = {}
    for name, values in dict(parameters or {}).items():
        arrays[name] = [np.asarray(value, dtype=np.float64).tolist() for value in values]
    expected = _EXPECTED_NAMES[method]
    if set(arrays) != set(expected):
        raise ValueError(
            f"Expected the parameters {' and '.join(expected)} in {file}, but got "
            f"{', '.join(arrays) or 'none'}."
        )
    return Recalibrator(method, int(fields["n_classes"]), int(fields["n_fit"]), arrays)


_EXPECTED_NAMES = {
    "temperature": ("temperature",),
    "vector": ("weights", "biases"),
    "isotonic": ("scores", "rates"),
}
"""Method -> names of its parameters."""

# -------------------------------------------------------------------------------------------- fits


def fit_recalibrator(
    predictions: Any,
    references: Any,
    *,
    method: str = "isotonic",
    scores: str = "logits",
) -> Recalibrator:
    """Fit a method of recalibration on a split; `recalibrate` has the methods.

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
    """Fit a recalibrator on checked logits."""
    check_one_of(method, METHODS, "method")
    parameters: Parameters
    if method == "temperature":
        parameters = {"temperature": [fit_temperature(logits, labels).temperature]}
    elif method == "vector":
        parameters = _fit_vectors(_make_finite(logits), labels)
    else:
        parameters = _fit_functions(softmax(logits), labels)
    return Recalibrator(method, logits.shape[1], len(labels), parameters)


def parse_class_logits(predictions: Any, scores: str, name: str) -> Floats:
    """Return (N, K) logits; refuse rows of different lengths, whose columns are no classes."""
    logits = parse_logits(predictions, scores, name)
    if isinstance(logits, Ragged):
        raise ValueError(
            f"Expected rows of one length in `{name}`, but they differ; only a temperature fits them."
        )
    return logits


def _make_finite(logits: Floats) -> Floats:
    """Return the logits, none further below the largest of its row than the smallest probability."""
    smallest = logits.max(axis=1, keepdims=True) + np.log(MIN_RELATIVE_PROBABILITY)
    return np.asarray(np.maximum(logits, smallest), dtype=np.float64)


def _fit_vectors(logits: Floats, labels: NDArray[np.int64]) -> Parameters:
    """Return the weight and the bias of each class that minimize the penalized log loss."""
    n_items, n_classes = logits.shape
    targets = np.eye(n_classes)[labels]
    # Weights of 1 and biases of 0 change nothing.
    unchanged = np.repeat([1.0, 0.0], n_classes)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """Return the penalized log loss and its gradient."""
        weights = parameters[:n_classes]
        biases = parameters[n_classes:]
        scaled = logits * weights + biases
        # The largest power becomes 1, so that none overflows.
        scaled -= scaled.max(axis=1, keepdims=True)
        log_p = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        log_loss = -log_p[np.arange(n_items), labels].mean()

        errors = (np.exp(log_p) - targets) / n_items
        gradient = np.concatenate(((errors * logits).sum(axis=0), errors.sum(axis=0)))
        change = parameters - unchanged
        penalty_gradient = change / n_items
        penalty = change @ penalty_gradient / 2
        return float(log_loss + penalty), gradient + penalty_gradient

    fit = optimize.minimize(
        loss, unchanged, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-8}
    ).x
    return {"weights": fit[:n_classes].tolist(), "biases": fit[n_classes:].tolist()}


def _fit_functions(probabilities: Floats, labels: NDArray[np.int64]) -> Parameters:
    """Return the isotonic function of each class, as its values at the distinct scores."""
    n_classes = probabilities.shape[1]
    # Two classes have one function, that of P(class 1).
    classes = [1] if n_classes == 2 else range(n_classes)
    knots = []
    rates = []
    for k in classes:
        distinct, fitted = _fit_isotonic(probabilities[:, k], labels == k)
        knots.append(distinct.tolist())
        rates.append(fitted.tolist())
    return {"scores": knots, "rates": rates}


def _fit_isotonic(scores: Floats, events: Flags) -> tuple[Floats, Floats]:
    """Return the distinct scores, and the non-decreasing function of them that is nearest to the events."""
    # The arithmetic of the softmax must not tell equal scores apart.
    distinct, inverse, counts = np.unique(scores.round(12), return_inverse=True, return_counts=True)
    rates = np.bincount(inverse, events) / counts
    # Ties get their mean rate, with the weight of all of them.
    fit = optimize.isotonic_regression(rates, weights=counts).x
    return distinct, np.clip(fit, 0.0, 1.0)


# --------------- temperature scaling: one number that softens or sharpens the scores of all rows

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
    logits = parse_logits(predictions, scores, "predictions")
    if isinstance(logits, Ragged):
        return list(logits.softmax(1.0 / temperature))
    return softmax(logits / temperature)


def parse_logits(predictions: Any, scores: str, name: str) -> Floats | Ragged:
    """Return scores of any kind as logits."""
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

"""Models of known calibration: calibrated, over- and underconfident, S-shaped, and shuffled.

`draw_predictions` draws confidences first, and then whether each prediction is correct.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone, Truth
from numpy.typing import NDArray

from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores

RESAMPLES = 200

Floats = NDArray[np.float64]
Accuracy = Callable[[Floats], Floats]
"""Function from (N,) confidences to the probability that each of these predictions is correct."""


def draw_predictions(
    n_items: int, seed: int, mean_confidence: float, n_classes: int, accuracy: Accuracy
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw probabilities of classes, and labels.

    Args:
        n_items: Number of items, N.
        seed: Seed of all draws.
        mean_confidence: Expected confidence.
        n_classes: Number of classes, K.
        accuracy: Function from confidences to the probability that a prediction is correct.

    Returns:
        (N, K) probabilities and (N,) labels.
    """
    rng = np.random.default_rng([seed, n_items, n_classes])
    # The confidence is a scaled beta variable. It stays above 1/K, so that it is the largest
    # probability of its row.
    minimum = 1 / n_classes + 0.02
    mean_share = (mean_confidence - minimum) / (1 - minimum)
    shares = rng.beta(4 * mean_share, 4 * (1 - mean_share), n_items)
    confidence = minimum + (1 - minimum) * shares

    predicted = rng.integers(n_classes, size=n_items)
    # All other classes share the remaining probability equally.
    remainder = (1 - confidence) / (n_classes - 1)
    probabilities = np.tile(remainder[:, None], (1, n_classes))
    probabilities[np.arange(n_items), predicted] = confidence

    is_correct = rng.random(n_items) < np.clip(accuracy(confidence), 0, 1)
    other_class = (predicted + rng.integers(1, n_classes, n_items)) % n_classes
    return probabilities, np.where(is_correct, predicted, other_class)


def ask(
    n_items: int, seed: int, *, mean_confidence: float, n_classes: int, accuracy: Accuracy
) -> Tone:
    """Return the tone of the verdict on the calibration of drawn predictions."""
    probabilities, labels = draw_predictions(n_items, seed, mean_confidence, n_classes, accuracy)
    label_names = tuple([f"class {k}" for k in range(n_classes)])
    ids = tuple([f"i{row}" for row in range(n_items)])
    scores = Scores(ids, np.log(probabilities), labels, label_names, 0, probabilities)
    # The question reads few attributes of an audit, so plain namespaces replace its data and model.
    split = SimpleNamespace(
        name="test",
        ids=ids,
        labels=labels,
        labeled=labels >= 0,
        pair_ids=None,
        clusters=None,
        groups_column=None,
        data=SimpleNamespace(column_names=()),
        column=lambda name: None,
    )
    context: Any = SimpleNamespace(
        primary=split,
        comparisons=(),
        splits=(split,),
        stored=None,
        prompted=None,
        answers_once=False,
        label_names=label_names,
        task="classification",
        seed=seed,
        resampling=Resampling(resamples=RESAMPLES, seed=seed),
        scores=lambda split=None: scores,
        has_scores=lambda split: True,
    )
    return CALIBRATION.find_rule(CALIBRATION.measure(context, CalibrationOptions())).tone


def _keep_calibrated(confidence: Floats) -> Floats:
    return confidence


def _shift(confidence: Floats, offset: float) -> Floats:
    return confidence + offset


def _flatten(confidence: Floats, slope: float) -> Floats:
    """Return accuracies with the mean of the confidences, but `slope` times their differences."""
    mean = confidence.mean()
    return mean + slope * (confidence - mean)


def make_scenario(
    name: str, truth: Truth, n_classes: int, mean_confidence: float, accuracy: Accuracy
) -> Scenario:
    """Return a scenario whose predictions have a known accuracy at each confidence."""
    run = functools.partial(
        ask, mean_confidence=mean_confidence, n_classes=n_classes, accuracy=accuracy
    )
    strength = 1.0 if truth == "follower" else 0.0
    return Scenario(name, "calibration", truth, strength, run)


def list_scenarios() -> list[Scenario]:
    """Return calibrated models as readers, and miscalibrated ones as followers."""
    scenarios = []
    for n_classes, mean in ((2, 0.8), (2, 0.95), (4, 0.6), (4, 0.8), (20, 0.7)):
        name = f"calibrated, {n_classes} classes, accuracy {mean:g}"
        scenarios.append(make_scenario(name, "reader", n_classes, mean, _keep_calibrated))

    miscalibrations: dict[str, Accuracy] = {
        "15 points overconfident": functools.partial(_shift, offset=-0.15),
        "15 points underconfident": functools.partial(_shift, offset=0.15),
        "S-shaped, without a gap": functools.partial(_flatten, slope=0.2),
        "shuffled confidence": functools.partial(_flatten, slope=0.0),
    }
    for name, accuracy in miscalibrations.items():
        scenarios.append(make_scenario(name, "follower", 3, 0.75, accuracy))
    return scenarios


SCENARIOS = {f"calibration: {scenario.name}": scenario for scenario in list_scenarios()}

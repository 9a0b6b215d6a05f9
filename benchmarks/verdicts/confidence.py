"""Models whose confidence is known to be right or wrong: calibrated, over- and underconfident, S-shaped, shuffled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone
from numpy.typing import NDArray

from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores

RESAMPLES = 200

Floats = NDArray[np.float64]
Truth = Callable[[Floats], Floats]
"""Confidences -> how often the answers given with them are right."""


def scores(
    n_items: int, seed: int, accuracy: float, n_classes: int, truth: Truth
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw probabilities of classes, and labels.

    Args:
        n_items: N.
        seed: Decides all of them.
        accuracy: The mean confidence.
        n_classes: K.
        truth: How often an answer is right, by its confidence.

    Returns:
        (N, K) probabilities and (N,) labels.
    """
    rng = np.random.default_rng([seed, n_items, n_classes])
    least = 1 / n_classes + 0.02
    share = (accuracy - least) / (1 - least)
    confidence = least + (1 - least) * rng.beta(4 * share, 4 * (1 - share), n_items)
    predicted = rng.integers(n_classes, size=n_items)
    rest = (1 - confidence) / (n_classes - 1)
    rows = np.tile(rest[:, None], (1, n_classes))
    rows[np.arange(n_items), predicted] = confidence
    is_right = rng.random(n_items) < np.clip(truth(confidence), 0, 1)
    labels = np.where(
        is_right, predicted, (predicted + rng.integers(1, n_classes, n_items)) % n_classes
    )
    return rows, labels


def ask(n_items: int, seed: int, *, accuracy: float, n_classes: int, truth: Truth) -> Tone:
    """Return the tone of the verdict on calibration."""
    rows, labels = scores(n_items, seed, accuracy, n_classes, truth)
    names = tuple(f"class {k}" for k in range(n_classes))
    ids = tuple(f"i{n}" for n in range(n_items))
    answers = Scores(ids, np.log(rows), labels, names, 0, rows)
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
        label_names=names,
        task="classification",
        seed=seed,
        resampling=Resampling(resamples=RESAMPLES, seed=seed),
        scores=lambda split=None: answers,
        has_scores=lambda split: True,
    )
    return CALIBRATION.find_rule(CALIBRATION.measure(context, CalibrationOptions())).tone


def _calibrated(confidence: Floats) -> Floats:
    return confidence


def _shifted(confidence: Floats, by: float) -> Floats:
    return confidence + by


def _flat(confidence: Floats, slope: float) -> Floats:
    """Be right as often as said on average, but hardly more often where surer."""
    return confidence.mean() + slope * (confidence - confidence.mean())


def _listed() -> dict[str, Scenario]:
    cells: list[tuple[str, Any, float, float, int, Truth]] = [
        (
            f"calibrated, {n_classes} classes, accuracy {accuracy:g}",
            "reader",
            0.0,
            accuracy,
            n_classes,
            _calibrated,
        )
        for n_classes, accuracy in ((2, 0.8), (2, 0.95), (4, 0.6), (4, 0.8), (20, 0.7))
    ]
    wrong: tuple[tuple[str, Truth], ...] = (
        ("15 points overconfident", functools.partial(_shifted, by=-0.15)),
        ("15 points underconfident", functools.partial(_shifted, by=0.15)),
        ("S-shaped, without a gap", functools.partial(_flat, slope=0.2)),
        ("shuffled confidence", functools.partial(_flat, slope=0.0)),
    )
    cells += [(name, "follower", 1.0, 0.75, 3, truth) for name, truth in wrong]
    return {
        f"calibration: {name}": Scenario(
            name,
            "calibration",
            kind,
            strength,
            functools.partial(ask, accuracy=accuracy, n_classes=n_classes, truth=truth),
        )
        for name, kind, strength, accuracy, n_classes, truth in cells
    }


SCENARIOS = _listed()

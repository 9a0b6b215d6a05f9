"""The p-values and intervals of questions that are asked of language models: confidences from several sources."""

from __future__ import annotations

import numpy as np
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.calibration.compare import compare_confidence
from rightreasons.core.resampling import Resampling

Floats = np.ndarray


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def compared(
    confidences: dict[str, Floats], correct: object, keys: tuple[str, ...], truth: float, seed: int
) -> Outcome:
    """The first key has the names of the figures in the result."""
    found = compare_confidence(confidences, correct, resampling=Resampling(resamples=200, seed=seed))
    outcome: dict[str, float | tuple[float, float, float] | None] = {}
    for number, key in enumerate(keys):
        test = found.pairs[0].differences.get(key)
        if test is None or test.interval is None:
            continue
        path = "" if number else "pairs.differences."
        name = f"{key} " if number else ""
        if truth == 0:
            outcome[f"{path}{name}p_value"] = test.p_value
        outcome[f"{path}{name}interval"] = (test.interval.low, test.interval.high, truth)
    return outcome


def scales(rng: np.random.Generator, seed: int) -> Outcome:
    """Two confidences that rank equally well, one of which is mostly between 0.8 and 0.9."""
    ability = rng.normal(0.5, 1, 150)
    first, second = (ability + rng.normal(0, 0.7, 150) for _ in range(2))
    right = rng.random(150) < sigmoid(2 * ability)
    return compared({"p": sigmoid(2 * first), "said": 0.8 + 0.1 * sigmoid(second)}, right, ("auroc", "aurc"), 0, seed)


def handful(rng: np.random.Generator, seed: int) -> Outcome:
    """Twenty confidences that rank nothing, and one that is the same for all."""
    right = rng.permutation(20) < 14
    return compared({"p": rng.uniform(0.5, 1, 20), "said": np.full(20, 0.9)}, right, ("auroc", "aurc"), 0, seed)


def models(rng: np.random.Generator, seed: int) -> Outcome:
    """Two overconfident models that are exchangeable item by item, each with answers of its own."""
    ability = rng.normal(0.5, 1, 150)
    logits = {name: ability + rng.normal(0, 0.7, 150) for name in ("one", "two")}
    right = {name: rng.random(150) < sigmoid(each) for name, each in logits.items()}
    keys = ("brier", "accuracy", "ece", "confidence_gap", "mean_confidence")
    return compared({name: sigmoid(3 * each) for name, each in logits.items()}, right, keys, 0, seed)


def three_values(over: float, under: float):
    """A confidence that is off by one amount, and one with three values, off by another."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        p = 0.9 * rng.beta(2, 1.5, 150)
        right = rng.random(150) < p
        confidences = {"p": np.clip(p + over, 0, 1), "said": _MEANS[np.digitize(p, _ENDS)] + under}
        return compared(confidences, right, ("ece",), over - under, seed)

    return draw


_ENDS = (0.3, 0.6)
_DRAWN = 0.9 * np.random.default_rng(1).beta(2, 1.5, 100_000)
_MEANS = np.array([_DRAWN[np.digitize(_DRAWN, _ENDS) == k].mean() for k in range(3)])

SCENARIOS = (
    Scenario("compare_confidence", "rankings alike on other scales, 150 items", scales, conservative=True),
    Scenario("compare_confidence", "6 of 20 wrong, one confidence alike for all", handful, conservative=True),
    Scenario("compare_confidence", "two overconfident models that are alike, 150 items", models, conservative=True),
    Scenario(
        "compare_confidence",
        "many values and three, both 0.1 too sure, 150 items",
        three_values(0.1, 0.1),
        conservative=True,
    ),
    Scenario(
        "compare_confidence", "many values and three, both calibrated, 150 items", three_values(0, 0), conservative=True
    ),
    Scenario("compare_confidence", "many values and three, 0.1 and 0.05 too sure, 150 items", three_values(0.1, 0.05)),
)

"""The p-values and intervals of questions that are asked of language models: confidences from several sources."""

from __future__ import annotations

import numpy as np
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.calibration.compare import compare_confidence
from rightreasons.core.resampling import Resampling
from rightreasons.probes.judges import judge_bias

Floats = np.ndarray


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def compared(
    confidences: dict[str, Floats], correct: object, keys: tuple[str, ...], truth: float, seed: int
) -> Outcome:
    """The first key has the names of the figures in the result."""
    found = compare_confidence(
        confidences, correct, resampling=Resampling(resamples=200, seed=seed)
    )
    outcome: dict[str, float | tuple[float, float, float] | None] = {}
    for number, key in enumerate(keys):
        test = found[0].differences.get(key)
        if test is None or test.interval is None:
            continue
        path = "" if number else "differences."
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
    return compared(
        {"p": sigmoid(2 * first), "said": 0.8 + 0.1 * sigmoid(second)}, right, ("auroc",), 0, seed
    )


def handful(rng: np.random.Generator, seed: int) -> Outcome:
    """Twenty confidences that rank nothing, and one that is the same for all."""
    right = rng.permutation(20) < 14
    return compared(
        {"p": rng.uniform(0.5, 1, 20), "said": np.full(20, 0.9)}, right, ("auroc",), 0, seed
    )


def alike(rng: np.random.Generator, seed: int) -> Outcome:
    """Two overconfident confidences in the same answers that are exchangeable item by item."""
    ability = rng.normal(0.5, 1, 150)
    first, second = (sigmoid(3 * (ability + rng.normal(0, 0.7, 150))) for _ in range(2))
    right = rng.random(150) < sigmoid(ability)
    keys = ("brier", "ece", "confidence_gap", "mean_confidence")
    return compared({"one": first, "two": second}, right, keys, 0, seed)


def three_values(over: float, under: float):
    """A confidence that is off by one amount, and one with three values, off by another."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        p = 0.9 * rng.beta(2, 1.5, 150)
        right = rng.random(150) < p
        confidences = {"p": np.clip(p + over, 0, 1), "said": _MEANS[np.digitize(p, _ENDS)] + under}
        return compared(confidences, right, ("ece",), over - under, seed)

    return draw


def judgments(n_items: int, ties: float):
    """A judge of one to three pairs per item, without any preference but for quality, as the reference is."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        items = np.repeat(np.arange(n_items), rng.integers(1, 4, n_items))
        # The chance that the first of a pair wins; pairs of one item are alike.
        quality = sigmoid(rng.normal(0, 1, n_items)[items] + rng.normal(0, 1, len(items)))
        first, second, reference = (
            np.where(rng.random(len(items)) < ties, 0.5, rng.random(len(items)) < quality)
            for _ in range(3)
        )
        # Which of the two is longer, or the judge's own, is a coin of the item.
        longer, by_judge = (rng.integers(0, 2, n_items)[items] for _ in range(2))
        found = judge_bias(
            first,
            second,
            longer=longer,
            own=by_judge,
            reference=reference,
            items=items,
            resampling=Resampling(resamples=199, seed=seed),
        )
        outcome: dict[str, float | tuple[float, float, float] | None] = {}
        for name, truth in (
            ("position", 0),
            ("length", 0),
            ("length_beyond", 0),
            ("own", 0),
            ("own_beyond", 0),
        ):
            figure = getattr(found, name)
            outcome[f"{name}.p_value"] = figure.p_value
            outcome[f"{name}.interval"] = (figure.interval.low, figure.interval.high, truth)
        if found.consistency is not None and ties == 0:
            interval = found.consistency.interval
            outcome["consistency.interval"] = (interval.low, interval.high, _CONSISTENT)
        return outcome

    return draw


_DRAWS = sigmoid(np.random.default_rng(2).normal(0, np.sqrt(2), 1_000_000))
_CONSISTENT = float(np.mean(_DRAWS**2 + (1 - _DRAWS) ** 2))
_ENDS = (0.3, 0.6)
_DRAWN = 0.9 * np.random.default_rng(1).beta(2, 1.5, 100_000)
_MEANS = np.array([_DRAWN[np.digitize(_DRAWN, _ENDS) == k].mean() for k in range(3)])

SCENARIOS = (
    Scenario(
        "compare_confidence", "rankings alike on other scales, 150 items", scales, conservative=True
    ),
    Scenario(
        "compare_confidence",
        "6 of 20 wrong, one confidence alike for all",
        handful,
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "two overconfident sources that are alike, 150 items",
        alike,
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, both 0.1 too sure, 150 items",
        three_values(0.1, 0.1),
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, both calibrated, 150 items",
        three_values(0, 0),
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, 0.1 and 0.05 too sure, 150 items",
        three_values(0.1, 0.05),
    ),
    Scenario(
        "judge_bias",
        "60 items of one to three pairs, no preference",
        judgments(60, 0.0),
        conservative=True,
    ),
    Scenario(
        "judge_bias",
        "25 items of one to three pairs, a third of ties",
        judgments(25, 1 / 3),
        conservative=True,
    ),
)

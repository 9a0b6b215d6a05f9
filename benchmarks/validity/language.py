"""Scenarios of the questions that are asked of language models only: confidence by source, and judges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.validity.scenario import Interval, Outcome, Scenario

from rightreasons.calibration.compare import compare_confidence
from rightreasons.core.resampling import Resampling
from rightreasons.probes.judges import judge_bias

Draw = Callable[[np.random.Generator, int], Outcome]


def compute_sigmoid(x: np.ndarray) -> np.ndarray:
    """Return the logistic function of each value."""
    return 1 / (1 + np.exp(-x))


THREE_VALUE_EDGES = (0.3, 0.6)
"""Ends of the groups of probabilities that a confidence with three values distinguishes."""


def _compute_group_means() -> np.ndarray:
    """Return the mean probability of each of the three groups, from a large sample."""
    probabilities = 0.9 * np.random.default_rng(1).beta(2, 1.5, 100_000)
    groups = np.digitize(probabilities, THREE_VALUE_EDGES)
    return np.array([probabilities[groups == group].mean() for group in range(3)])


def _compute_judge_consistency() -> float:
    """Return how often a judge decides a pair alike in both orders, from a large sample of pairs."""
    # The chance of the first answer has two normal terms: one of its item, and one of the pair.
    chances = compute_sigmoid(np.random.default_rng(2).normal(0, np.sqrt(2), 1_000_000))
    return float(np.mean(chances**2 + (1 - chances) ** 2))


THREE_VALUES = _compute_group_means()
JUDGE_CONSISTENCY = _compute_judge_consistency()


def compare_sources(
    confidences: dict[str, np.ndarray],
    is_correct: np.ndarray,
    measures: tuple[str, ...],
    truth: float,
    seed: int,
) -> Outcome:
    """Compare the confidences of two sources, and return p-values and intervals of their differences.

    Args:
        confidences: Name of the source -> (N,) confidences.
        is_correct: (N,) whether each answer is correct.
        measures: Measures of calibration, such as "brier". Figures of the first are named as the
            fields of the result, "differences.p_value"; those of others as in "ece p_value".
        truth: True difference of each measure. A p-value is returned only if it is 0.
        seed: Seed of the resampling.
    """
    comparisons = compare_confidence(
        confidences, is_correct, resampling=Resampling(resamples=200, seed=seed)
    )
    outcome: dict[str, float | Interval | None] = {}
    for number, measure in enumerate(measures):
        # Two sources have one comparison.
        test = comparisons[0].differences.get(measure)
        if test is None or test.interval is None:
            continue
        # One measure must have the names of the fields of the result, which the tests look for.
        prefix = "differences." if number == 0 else f"{measure} "
        if truth == 0:
            outcome[f"{prefix}p_value"] = test.p_value
        outcome[f"{prefix}interval"] = (test.interval.low, test.interval.high, truth)
    return outcome


def draw_scales(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate two confidences that rank equally well, one of them between 0.8 and 0.9."""
    ability = rng.normal(0.5, 1, 150)
    evidence = ability + rng.normal(0, 0.7, 150)
    said_evidence = ability + rng.normal(0, 0.7, 150)
    is_correct = rng.random(150) < compute_sigmoid(2 * ability)
    confidences = {
        "p": compute_sigmoid(2 * evidence),
        "said": 0.8 + 0.1 * compute_sigmoid(said_evidence),
    }
    return compare_sources(confidences, is_correct, ("auroc",), truth=0, seed=seed)


def draw_uninformative(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate a confidence that ranks at random and one that is constant, in 20 answers."""
    is_correct = rng.permutation(20) < 14
    confidences = {"p": rng.uniform(0.5, 1, 20), "said": np.full(20, 0.9)}
    return compare_sources(confidences, is_correct, ("auroc",), truth=0, seed=seed)


def draw_exchangeable(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate two overconfident confidences in the same answers, exchangeable item by item."""
    ability = rng.normal(0.5, 1, 150)
    confidence = compute_sigmoid(3 * (ability + rng.normal(0, 0.7, 150)))
    partner_confidence = compute_sigmoid(3 * (ability + rng.normal(0, 0.7, 150)))
    is_correct = rng.random(150) < compute_sigmoid(ability)
    confidences = {"one": confidence, "two": partner_confidence}
    measures = ("brier", "ece", "confidence_gap", "mean_confidence")
    return compare_sources(confidences, is_correct, measures, truth=0, seed=seed)


def make_three_values(overconfidence: float, grouped_overconfidence: float) -> Draw:
    """Simulate a confidence with many values and one with three.

    Args:
        overconfidence: Overconfidence of the one with many values.
        grouped_overconfidence: Overconfidence of the one with three values.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        chances = 0.9 * rng.beta(2, 1.5, 150)
        is_correct = rng.random(150) < chances
        group_means = THREE_VALUES[np.digitize(chances, THREE_VALUE_EDGES)]
        confidences = {
            "p": np.clip(chances + overconfidence, 0, 1),
            "said": group_means + grouped_overconfidence,
        }
        truth = overconfidence - grouped_overconfidence
        return compare_sources(confidences, is_correct, ("ece",), truth, seed)

    return draw


def make_judgments(n_items: int, tie_rate: float) -> Draw:
    """Simulate a judge that decides by quality alone, as the reference does.

    Args:
        n_items: Number of items, with one to three pairs of answers each.
        tie_rate: Share of ties.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        items = np.repeat(np.arange(n_items), rng.integers(1, 4, n_items))
        n_pairs = len(items)
        # Chance that the first answer of a pair wins, correlated within an item.
        chances = compute_sigmoid(rng.normal(0, 1, n_items)[items] + rng.normal(0, 1, n_pairs))

        def draw_verdicts() -> np.ndarray:
            is_tie = rng.random(n_pairs) < tie_rate
            return np.where(is_tie, 0.5, rng.random(n_pairs) < chances)

        verdicts = draw_verdicts()
        swapped_verdicts = draw_verdicts()
        reference = draw_verdicts()
        # Which answer is longer, or the judge's own, is independent of the quality.
        longer = rng.integers(0, 2, n_items)[items]
        by_judge = rng.integers(0, 2, n_items)[items]
        result = judge_bias(
            verdicts,
            swapped_verdicts,
            longer=longer,
            own=by_judge,
            reference=reference,
            items=items,
            resampling=Resampling(resamples=199, seed=seed),
        )

        outcome: dict[str, float | Interval | None] = {}
        for name in ("position", "length", "length_beyond", "own", "own_beyond"):
            bias = getattr(result, name)
            outcome[f"{name}.p_value"] = bias.p_value
            outcome[f"{name}.interval"] = (bias.interval.low, bias.interval.high, 0)
        # The true consistency is known for judges without ties.
        if result.consistency is not None and tie_rate == 0:
            interval = result.consistency.interval
            outcome["consistency.interval"] = (interval.low, interval.high, JUDGE_CONSISTENCY)
        return outcome

    return draw


SCENARIOS = (
    Scenario(
        "compare_confidence",
        "rankings alike on other scales, 150 items",
        draw_scales,
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "6 of 20 wrong, one confidence alike for all",
        draw_uninformative,
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "two overconfident sources that are alike, 150 items",
        draw_exchangeable,
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, both 0.1 too sure, 150 items",
        make_three_values(0.1, 0.1),
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, both calibrated, 150 items",
        make_three_values(0, 0),
        conservative=True,
    ),
    Scenario(
        "compare_confidence",
        "many values and three, 0.1 and 0.05 too sure, 150 items",
        make_three_values(0.1, 0.05),
    ),
    Scenario(
        "judge_bias",
        "60 items of one to three pairs, no preference",
        make_judgments(60, 0.0),
        conservative=True,
    ),
    Scenario(
        "judge_bias",
        "25 items of one to three pairs, a third of ties",
        make_judgments(25, 1 / 3),
        conservative=True,
    ),
)

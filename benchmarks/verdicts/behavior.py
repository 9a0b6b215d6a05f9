"""Models whose pass rates of a suite are known, and models that give one answer to everything."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers

N_TESTS, RESAMPLES = 5, 200


def suite(n_cases: int) -> Suite:
    """Make functionalities of two classes in turn, as many cases each; no text is shared."""
    tests = tuple(
        Functionality(
            f"f{number}",
            "class",
            "MFT",
            {"name": "equal"},
            tuple(
                Case(str(place), ((f"{number} {place}",),), ((number + place) % 2,))
                for place in range(n_cases)
            ),
        )
        for number in range(N_TESTS)
    )
    return Suite("a suite", ("text",), tests, ("no", "yes"))


def ask(n_items: int, seed: int, *, rates: tuple[float, ...], constant: bool = False) -> Tone:
    """Return the tone of the verdict on a suite of so many examples.

    Args:
        n_items: Number of examples, those of all functionalities together.
        seed: Decides which are passed.
        rates: The pass rate of each functionality.
        constant: Whether the answer is always the same instead.
    """
    tests = suite(n_items // N_TESTS)
    rng = np.random.default_rng([seed, n_items])
    wanted = np.array([case.labels[0] for test in tests.functionalities for case in test.cases])
    passed = rng.random(len(wanted)) < np.repeat(rates, n_items // N_TESTS)
    answers = np.zeros_like(wanted) if constant else np.where(passed, wanted, 1 - wanted)
    found = score_stored(
        "model", tests, ModelAnswers(answers), resampling=Resampling(resamples=RESAMPLES, seed=seed)
    )
    return BEHAVIOR.find_rule(BehaviorMeasurement(found)).tone


def _listed() -> dict[str, Scenario]:
    cells: list[tuple[str, Any, float, tuple[float, ...], bool]] = [
        ("passes all", "reader", 0.0, (1.0,) * N_TESTS, False),
        ("passes 98 % of each test", "reader", 0.0, (0.98,) * N_TESTS, False),
        ("passes 90 % of each test", "none", 0.1, (0.9,) * N_TESTS, False),
        ("passes 70 % of each test", "follower", 0.3, (0.7,) * N_TESTS, False),
        ("passes half of each test", "follower", 0.5, (0.5,) * N_TESTS, False),
        (
            "passes all tests but one, none of that",
            "follower",
            1 / N_TESTS,
            (*(1.0,) * (N_TESTS - 1), 0.0),
            False,
        ),
        ("one answer to everything", "follower", 1.0, (0.0,) * N_TESTS, True),
    ]
    return {
        f"behavior: {name}": Scenario(
            name, "behavior", kind, strength, functools.partial(ask, rates=rates, constant=constant)
        )
        for name, kind, strength, rates, constant in cells
    }


SCENARIOS = _listed()

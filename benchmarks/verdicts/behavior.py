"""Models with known pass rates on a suite of tests, and a model that gives one answer to everything."""

from __future__ import annotations

import functools

import numpy as np
from benchmarks.verdicts import Scenario, Tone, Truth

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers

N_TESTS = 5
RESAMPLES = 200


def make_suite(n_cases: int) -> Suite:
    """Make a suite of `N_TESTS` functionalities with two classes.

    Args:
        n_cases: Number of cases in each functionality. Their labels alternate between "no" and "yes".
    """
    functionalities = []
    for test_index in range(N_TESTS):
        cases = []
        for case_index in range(n_cases):
            # The indices make all texts of the suite distinct.
            text = f"{test_index} {case_index}"
            label = (test_index + case_index) % 2
            cases.append(Case(str(case_index), ((text,),), (label,)))
        functionalities.append(
            Functionality(f"f{test_index}", "class", "MFT", {"name": "equal"}, tuple(cases))
        )
    return Suite("a suite", ("text",), tuple(functionalities), ("no", "yes"))


def ask(n_items: int, seed: int, *, rates: tuple[float, ...], is_constant: bool = False) -> Tone:
    """Return the tone of the verdict on a model with known pass rates.

    Args:
        n_items: Number of examples of the whole suite.
        seed: Seed of the passed examples, and of the resampling.
        rates: (N_TESTS,) pass rate of each functionality.
        is_constant: Whether the model always predicts "no", whatever the rates.
    """
    n_cases = n_items // N_TESTS
    suite = make_suite(n_cases)
    # The labels of all functionalities in a row, which is the order of the predictions.
    gold = []
    for functionality in suite.functionalities:
        gold.extend([case.labels[0] for case in functionality.cases])
    labels = np.array(gold)

    if is_constant:
        predictions = np.zeros_like(labels)
    else:
        rng = np.random.default_rng([seed, n_items])
        # A prediction is correct with the pass rate of its functionality.
        is_passed = rng.random(len(labels)) < np.repeat(rates, n_cases)
        predictions = np.where(is_passed, labels, 1 - labels)
    resampling = Resampling(resamples=RESAMPLES, seed=seed)
    result = score_stored("model", suite, ModelAnswers(predictions), resampling=resampling)
    return BEHAVIOR.find_rule(BehaviorMeasurement(result)).tone


def make_scenario(
    name: str,
    truth: Truth,
    strength: float,
    rates: tuple[float, ...],
    *,
    is_constant: bool = False,
) -> Scenario:
    """Return a scenario whose model passes each functionality at a rate of `rates`."""
    run = functools.partial(ask, rates=rates, is_constant=is_constant)
    return Scenario(name, "behavior", truth, strength, run)


# Pass rates of 98 % or more count as reading; those of 70 % or less should be reported.
_LISTED = (
    make_scenario("passes all", "reader", 0.0, (1.0,) * N_TESTS),
    make_scenario("passes 98 % of each test", "reader", 0.0, (0.98,) * N_TESTS),
    make_scenario("passes 90 % of each test", "none", 0.1, (0.9,) * N_TESTS),
    make_scenario("passes 70 % of each test", "follower", 0.3, (0.7,) * N_TESTS),
    make_scenario("passes half of each test", "follower", 0.5, (0.5,) * N_TESTS),
    make_scenario(
        "passes all tests but one, none of that",
        "follower",
        1 / N_TESTS,
        (*[1.0] * (N_TESTS - 1), 0.0),
    ),
    make_scenario("one answer to everything", "follower", 1.0, (0.0,) * N_TESTS, is_constant=True),
)
SCENARIOS = {f"behavior: {scenario.name}": scenario for scenario in _LISTED}

"""Every p-value and interval is simulated, and holds in a short run of the bench."""

import dataclasses
import inspect
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import rightreasons.analysis
from rightreasons.analysis.intervals import Interval

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.validity.questions import EXEMPT  # noqa: E402
from benchmarks.validity.registry import SCENARIOS  # noqa: E402
from benchmarks.validity.scenario import Scenario, simulate  # noqa: E402

SIMULATIONS = 25


def figures(kind, seen=()):
    """Yield the p-values and intervals that a type holds, by the names of the fields that lead to them."""
    if kind is Interval:
        yield ""
    elif dataclasses.is_dataclass(kind) and kind not in seen:
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if "p_value" in field.name:
                yield field.name
            for rest in figures(hints[field.name], (*seen, kind)):
                yield f"{field.name}.{rest}".rstrip(".")
    for part in typing.get_args(kind):
        yield from figures(part, seen)


PUBLIC = {
    (name, figure)
    for name in rightreasons.analysis.__all__
    if inspect.isfunction(function := getattr(rightreasons.analysis, name))
    for figure in figures(typing.get_type_hints(function)["return"])
}


@pytest.fixture(scope="module")
def tallies():
    """What a short run says; each scenario runs when a test first asks for it."""
    known = {}

    def of(scenario):
        if id(scenario) not in known:
            known[id(scenario)] = simulate(scenario, SIMULATIONS, doubt=1e-6)
        return known[id(scenario)]

    return of


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: f"{one.function}: {one.truth}")
def test_it_holds(scenario, tallies):
    found = tallies(scenario)
    assert found
    assert not [f"{one.figure}: {one.problem}" for one in found if one.problem and one.figure not in scenario.known]


def test_none_is_missing(tallies):
    simulated = {(one.function, tally.figure) for one in SCENARIOS for tally in tallies(one)}
    assert len(PUBLIC) > 60
    assert PUBLIC - simulated - EXEMPT.keys() == set()
    assert EXEMPT.keys() <= PUBLIC


@pytest.mark.parametrize(
    ("draw", "problem"),
    [
        (lambda rng, seed: {"p": rng.random() / 3}, "rejects"),
        (lambda rng, seed: {"p": 1 - rng.random() / 3}, "rejects only"),
        (lambda rng, seed: {"i": (0.0, 0.8, rng.random())}, "covers"),
        (lambda rng, seed: {"i": (0.5, 0.5, 0.5)}, "of width zero"),
    ],
)
def test_the_bench_sees_what_is_wrong(draw, problem):
    (tally,) = simulate(Scenario("made up", "wrong on purpose", draw), 300)
    assert problem in tally.problem
    assert tally.verdict.startswith("falls short")


def test_the_bench_lets_right_ones_pass():
    (tally,) = simulate(Scenario("made up", "uniform", lambda rng, seed: {"p": rng.random()}), 300)
    assert tally.verdict == "holds"
    (tally,) = simulate(Scenario("made up", "covers", lambda rng, seed: {"i": (0.025, 0.975, rng.random())}), 300)
    assert np.isclose(tally.width, 0.95)
    assert tally.verdict == "holds"

"""Every p-value and interval is simulated, and holds in a short run of the bench."""

import collections.abc
import dataclasses
import importlib
import inspect
import pkgutil
import sys
import types
import typing
from pathlib import Path

import datasets
import numpy as np
import pytest

from rightreasons.core import bootstrap, classification, estimates, intervals, significance
from rightreasons.core.estimates import Estimate
from rightreasons.core.intervals import Interval
from rightreasons.report import comparison, tasks
from rightreasons.report.questions import QUESTIONS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.validity.measured import HANDED_ON  # noqa: E402
from benchmarks.validity.questions import EXEMPT  # noqa: E402
from benchmarks.validity.registry import SCENARIOS  # noqa: E402
from benchmarks.validity.scenario import Scenario, simulate  # noqa: E402

SIMULATIONS = 25


def is_result(kind):
    """Return whether a type holds computed figures; those of `page` only show what others computed."""
    return dataclasses.is_dataclass(kind) and not kind.__module__.startswith("rightreasons.page.")


def figures(kind, seen=()):
    """Yield the p-values and intervals that a type holds, by the names of the fields that lead to them."""
    if kind in (Interval, Estimate):
        yield ""
    elif is_result(kind) and kind not in seen:
        hints = hints_of(kind)
        for field in dataclasses.fields(kind):
            if "p_value" in field.name:
                yield field.name
            for rest in figures(hints[field.name], (*seen, kind)):
                yield f"{field.name}.{rest}".rstrip(".")
    for part in typing.get_args(kind):
        yield from figures(part, seen)


class Unknown:
    """A type that is imported for type checkers alone, and its parts."""

    def __class_getitem__(cls, parts):
        return typing.Any


def hints_of(kind):
    """Return type hints; what is imported for type checkers alone is looked up among all loaded classes."""
    names = {}
    while True:
        try:
            return typing.get_type_hints(kind, vars(sys.modules[kind.__module__]), names)
        except NameError as error:
            ours = [
                module for name, module in sys.modules.items() if name.startswith("rightreasons.")
            ]
            known = (vars(module).get(error.name) for module in ours)
            own = (
                one
                for one in known
                if inspect.isclass(one) and one.__module__.startswith("rightreasons.")
            )
            names[error.name] = next(own, datasets if error.name == "datasets" else Unknown)


def returned(function):
    told = {"return": function.__annotations__.get("return")}
    return set(
        figures(
            hints_of(types.SimpleNamespace(__annotations__=told, __module__=function.__module__))[
                "return"
            ]
        )
    )


PACKAGES = (*QUESTIONS, "repairs", "audited", "training")
KERNELS = [importlib.import_module(f"rightreasons.{name}") for name in PACKAGES]
COMMON = [bootstrap, classification, estimates, intervals, significance, comparison, tasks]
"""Modules beside the packages that compute a p-value or an interval."""


def qualified_name(function):
    """Return the name of a function with that of its package, for a name that two packages have."""
    package = function.__module__.split(".")[1]
    return f"{package}.{function.__name__}"


def list_public_functions():
    """Yield each public function of the packages with its package."""
    for package in KERNELS:
        for name in getattr(package, "__all__", ()):
            if inspect.isfunction(getattr(package, name)):
                yield package, name


def list_public_figures():
    """Yield the p-values and intervals of the public functions, but for those that hand them on."""
    for package, name in list_public_functions():
        function = getattr(package, name)
        if name not in HANDED_ON and qualified_name(function) not in HANDED_ON:
            for figure in returned(function):
                yield name, figure


PUBLIC = set(list_public_figures())


def named_functions(module):
    """Yield the functions, and the methods of the classes, that are defined in a module and have public names.

    Each comes with the class that it belongs to; None for a function of the module.
    """
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield name, value, None
        elif inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{name}.{method}", function, value


def shows_a_figure(function, owner):
    """Return whether a function gets a figure that was computed before, so that it only shows it."""
    annotations = dict(function.__annotations__)
    # Rows of a page come one by one.
    if typing.get_origin(hints_of(function).get("return")) is collections.abc.Iterator:
        return True
    annotations.pop("return", None)
    if owner is not None and set(figures(owner)):
        return True
    names = types.SimpleNamespace(__annotations__=annotations, __module__=function.__module__)
    return any(set(figures(kind)) for kind in hints_of(names).values())


def list_computing_functions():
    """Return the functions of the package that compute a p-value or an interval, and those that may only show one."""
    modules = list(COMMON)
    for package in KERNELS:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                modules.append(importlib.import_module(module.name))
    computing = set()
    showing = set()
    for module in modules:
        for name, function, owner in named_functions(module):
            if not returned(function):
                continue
            if shows_a_figure(function, owner):
                showing.add(name)
            else:
                computing.add(name)
    return computing, showing


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
    assert not [
        f"{one.figure}: {one.problem}"
        for one in found
        if one.problem and one.figure not in scenario.known
    ]


def test_none_is_missing():
    simulated = {(one.function, tally.figure) for one in SCENARIOS for tally in simulate(one, 3)}
    assert len(PUBLIC) > 60
    assert PUBLIC - simulated - EXEMPT.keys() == set()
    assert EXEMPT.keys() <= PUBLIC


def test_every_function_that_computes_a_figure_is_simulated_or_hands_on_what_is():
    simulated = {scenario.function for scenario in SCENARIOS}
    computing, showing = list_computing_functions()
    assert len(computing) > 60
    assert computing - simulated - HANDED_ON.keys() == set()
    qualified = {
        qualified_name(getattr(package, name)) for package, name in list_public_functions()
    }
    assert HANDED_ON.keys() <= computing | showing | qualified
    assert {name for names in HANDED_ON.values() for name in names} <= simulated | HANDED_ON.keys()


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
    assert tally.verdict != "holds"


def test_the_bench_lets_right_ones_pass():
    (tally,) = simulate(Scenario("made up", "uniform", lambda rng, seed: {"p": rng.random()}), 3000)
    assert tally.verdict == "holds"
    (tally,) = simulate(
        Scenario("made up", "covers", lambda rng, seed: {"i": (0.025, 0.975, rng.random())}), 3000
    )
    assert np.isclose(tally.width, 0.95)
    assert tally.verdict == "holds"


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (lambda rng: (0.0, 0.9, rng.random()), "too narrow: so few"),
        (lambda rng: (0.0, 0.99, rng.random()), "wide"),
        (lambda rng: (0.0, 0.955, rng.random()), "holds"),
        (lambda rng: (0.3, 0.3, 0.3), "3000 of width zero: so few"),
        (lambda rng: rng.random() / 1.5, "rejects too often: so few"),
        (lambda rng: rng.random() * 3, "rejects seldom"),
        (lambda rng: rng.random() * 1.2, "holds"),
    ],
)
def test_a_figure_holds_inside_both_ends_of_its_band(figure, verdict):
    made_up = Scenario("made up", "", lambda rng, seed: {"": figure(rng)}, known={"": "so few"})
    assert simulate(made_up, 3000)[0].verdict == verdict

"""The doors of Python: what opens data and what audits, given the wrong kinds, says so in one sentence."""

import functools
import inspect

import datasets
import numpy as np
from hypothesis import strategies as st

import rightreasons
from fuzzing.damage import values
from fuzzing.judging import Target
from rightreasons.core.resampling import Resampling
from tiny_suites import behavior_suite

SKIPPED = {
    "audit_demo",  # it trains
    "report.write_behavior_report",
    "datasets.apply_substitutions",
    "io.choose_split",
    "io.labeled_items",
    "datasets.name_substitutions",
}
"""Functions that train, and those that take what other functions of ours return."""


@functools.cache
def doors():
    """The functions that are public, by name."""
    wings = {
        "": rightreasons,
        "datasets.": rightreasons.datasets,
        "io.": rightreasons.io,
        "report.": rightreasons.report,
    }
    public = {
        prefix + name: getattr(wing, name)
        for prefix, wing in wings.items()
        for name in wing.__all__
        if inspect.isfunction(getattr(wing, name)) and not {name, prefix + name} & SKIPPED
    }
    readers = (
        rightreasons.behavior.read_suite_answers,
        rightreasons.calibration.read_confidence,
        rightreasons.probes.read_judgments,
    )
    return public | {reader.__name__: reader for reader in readers}


OBJECTS = {
    "array": lambda: np.array([[0.5, 0.5], [0.25, 0.75]]),
    "labels": lambda: np.array([0, 1]),
    "dataset": lambda: datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}),
    "items": lambda: datasets.Dataset.from_list(
        [{"id": "a", "prompt": "p", "choices": ["x", "y"], "label": 0}]
    ),
    "suite": behavior_suite,
    "object": object,
    "type": lambda: int,
    "function": lambda: len,
    "bytes": lambda: b"bytes",
    "set": lambda: {1, 2},
    "Resampling": lambda: Resampling(resamples=5),
    "complex": lambda: 1j,
}
arguments = st.sampled_from(sorted(OBJECTS)).map(lambda name: ("object", name)) | values.map(
    lambda value: ("value", value)
)


@st.composite
def calls(draw):
    """A function with an argument for each parameter that needs one, and for a few that do not."""
    name = draw(st.sampled_from(sorted(doors())))
    given = {}
    for parameter in inspect.signature(doors()[name]).parameters.values():
        if (
            parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            or parameter.name == "out"
        ):
            continue
        if parameter.default is parameter.empty or draw(st.integers(0, 4)) == 0:
            given[parameter.name] = draw(arguments)
    return name, given


def check(value, folder):
    name, given = value
    function = doors()[name]
    made = {
        key: OBJECTS[what]() if kind == "object" else what for key, (kind, what) in given.items()
    }
    parameters = inspect.signature(function).parameters
    if "out" in parameters and parameters["out"].default is inspect.Parameter.empty:
        made["out"] = folder / "out"
    positional = [
        made.pop(key)
        for key in list(made)
        if parameters[key].kind is parameters[key].POSITIONAL_ONLY
    ]
    result = function(*positional, **made)
    if inspect.isgenerator(result):
        list(result)


TARGETS = [Target("doors", st.deferred(calls), check, 80)]

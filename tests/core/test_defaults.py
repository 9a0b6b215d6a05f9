"""Defaults change only deliberately, and seeds and resampling have the same one in every function."""

import importlib
import inspect
import pkgutil

import rightreasons
from public_defaults import RECORD, list_defaults
from rightreasons.core.resampling import Resampling

QUESTIONS = ("calibration", "shortcuts", "cues", "probes", "difficulty", "behavior")
KERNELS = [
    module
    for question in QUESTIONS
    for module in pkgutil.iter_modules(
        [f"{rightreasons.__path__[0]}/{question}"], f"rightreasons.{question}."
    )
    if not module.ispkg
]


def functions():
    for module in KERNELS:
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isfunction(value) and value.__module__ == module.name:
                yield f"{module.name}.{name}", inspect.signature(value).parameters


def test_seeds_and_resampling_have_one_default():
    found = {"seed": 0, "resampling": 0}
    for name, parameters in functions():
        for key, allowed in (("seed", (0,)), ("resampling", (None, Resampling(0.95, 1000, 0)))):
            if key in parameters and parameters[key].default is not inspect.Parameter.empty:
                assert parameters[key].default in allowed, name
                found[key] += 1
        flat = {"confidence_level", "n_resamples"} <= set(parameters)
        assert not flat, f"{name} takes the options one by one"
    assert min(found.values()) > 1


def test_defaults_and_limits_are_those_of_the_record():
    recorded = RECORD.read_text("utf-8").splitlines()

    # After a deliberate change: `python tests/public_defaults.py`, and a line of CHANGELOG.md.
    assert list_defaults() == recorded

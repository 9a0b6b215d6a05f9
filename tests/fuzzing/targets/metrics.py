"""Every evaluate module: compute on arrays and add_batch have one outcome, a figure or a sentence."""

import functools
import json
import math

import numpy as np
from hypothesis import strategies as st

import rightreasons
from fuzzing.damage import altered, scalars, values
from fuzzing.judging import Target, outcome
from rightreasons.datasets.suites.suite import Case, Functionality, Suite

ROWS = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
TOKENS = [["good", "film"], ["bad", "film"], ["bad", "day"]]
INPUTS = {
    "ece": ({"predictions": ROWS, "references": [0, 1, 1]}, {"n_bins": 5}),
    "prior_bias": ({"predictions": ROWS, "references": [0, 1, 1]}, {}),
    "choice_paralysis": (
        {"predictions": ROWS, "perturbed_predictions": [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.125, 0.5, 0.375]],
         "references": [0, 1, 1], "perturbed_references": [0, 1, 1], "original_positions": [[0, 1], [0, 1], [0, 1]]},
        {"n_resamples": 20},
    ),
    "easy_hard_gap": (
        {"predictions": [0, 0, 1], "references": [0, 1, 1], "easy": [True, False, True]},
        {"n_resamples": 20, "n_permutations": 20},
    ),
    "shortcut_tradeoff": ({"predictions": [0, 0, 1], "references": [0, 1, 1], "cued": [True, False, True]}, {}),
    "generalization_score": ({"standard": [0.5, 0.25, 0.75], "held_out_class": [0.25, 0.25, 0.5]}, {"iid_score": 0.5}),
    "lmi": ({"data": ["a good film", "bad film", "a bad day"], "labels": [0, 1, 1]}, {}),
    "cue_statistics": ({"data": TOKENS, "labels": [0, 1, 1]}, {"n_resamples": 20}),
    "shortcut_reliance": (
        {"tokens": TOKENS, "attributions": ROWS, "predictions": [0, 1, 1], "references": [0, 1, 1]},
        {"heads": {"0": ["good"], "1": ["bad"]}, "n_resamples": 20},
    ),
    "deciding_share": ({"predictions": [0, 0, 1], "swapped": [1, 0, -1], "control": [0, 0, 1]}, {}),
    "behavioral_pass_rate": ({"predictions": [0, 2, 1]}, {"outputs": "labels", "n_resamples": 20}),
    "contrast_consistency": (
        {"predictions": [0, 1, 1, 0], "references": [0, 1, 0, 0], "groups": ["a", "a", "b", "b"],
         "is_original": [True, False, True, False]},
        {"n_resamples": 20},
    ),
}  # fmt: skip
FORMS = {
    "list": lambda value: value,
    "numpy": np.array,
    "objects": lambda value: np.array(value, dtype=object),
    "float32": lambda value: np.array(value, dtype=np.float32),
    "masked": lambda value: np.ma.masked_invalid(np.array(value, dtype=float)),
    "tuple": lambda value: tuple(value) if isinstance(value, list) else value,
}


@functools.cache
def module(name):
    """A module, loaded once: a refused input must leave it as it was."""
    if name != "behavioral_pass_rate":
        return rightreasons.load(name)
    cases = (Case("0", (("not good",), ("good",)), (0, 2)), Case("1", (("film",),), (1,)))
    words = Functionality("words", "W", "MFT", {"name": "equal"}, cases)
    return rightreasons.load(name, suite=Suite("fuzzed", ("text",), (words,)))


def names():
    """The modules with inputs that are there; `fim_difficulty` needs a model."""
    return [name for name in INPUTS if name in rightreasons.available_modules()]


@st.composite
def inputs(draw):
    """A module, its columns and options with a few of their values of another kind, and the form of each column."""
    name = draw(st.sampled_from(names()))
    columns, options = INPUTS[name]
    columns = {
        key: draw(st.just(value) | altered([value]) | values) for key, value in columns.items()
    }
    if draw(st.booleans()):
        options = {
            **options,
            draw(st.sampled_from([*options, "nope", "scores", "n_bins", "kind"])): draw(
                scalars | values
            ),
        }
    forms = (
        {key: draw(st.sampled_from(sorted(FORMS))) for key in columns}
        if draw(st.booleans())
        else {}
    )
    return name, columns, options, forms


def finite(value):
    """Hold that a result has no NaN."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    return not isinstance(value, float) or not math.isnan(value)


def check(value, folder):
    name, columns, options, forms = value
    try:
        given = {key: FORMS[forms.get(key, "list")](column) for key, column in columns.items()}
    except (ValueError, TypeError, OverflowError):  # what numpy itself cannot hold
        return
    computing = module(name)
    first = outcome(lambda: computing.compute(**given, **options))

    def added():
        computing.add_batch(**given)
        return computing.compute(**options)

    second = outcome(added)
    assert first[0] == second[0], f"compute {first}, add_batch {second}"
    if first[0] == "result":
        assert finite(first[1]), first[1]
        assert json.dumps(first[1], default=str) == json.dumps(second[1], default=str), (
            f"{first} {second}"
        )
    good = INPUTS[name]
    assert finite(
        computing.compute(**good[0], **good[1])
    )  # whatever came, the module works afterwards


TARGETS = [Target("metrics", st.deferred(inputs), check, 15)]

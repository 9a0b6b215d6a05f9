"""Rules of a trial of batching: tolerances, stored results, and reasons for a slower strategy."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch

from rightreasons.models.trial import (
    ONE_BY_ONE,
    BatchingStrategy,
    RefusalError,
    Trials,
    find_fastest_strategy,
    get_tolerance,
    name_failing_item,
)


def find(outputs, expected=(1.0, 2.0), repeat=None, earlier=None, model=None):
    """Return the strategy for a model with scripted outputs, of which a value may be an error."""

    def compute(values):
        if isinstance(values, Exception):
            raise values
        return [np.array([value]) for value in values]

    return find_fastest_strategy(
        model or torch.nn.Linear(2, 1),
        "model-x",
        lambda: compute(expected),
        {name: (lambda values=values: compute(values)) for name, values in outputs.items()},
        longest=9,
        repeat=lambda: compute(repeat or expected[:1]),
        earlier_strategy=earlier,
    )


@pytest.mark.parametrize(
    ("padded", "by_length", "name", "reason"),
    [
        ((1.0, 2.0), (1.0, 2.0), "padded", ""),
        # In float32, 2 may differ by 2e-5 times the largest output, 4e-5.
        ((1.0, 2.000039), (1.0, 2.0), "padded", ""),
        ((1.0, 2.000041), (1.0, 2.0), "by length", "padded is off by 4.1e-05"),
        ((1.0, np.nan), (1.0, 2.0), "by length", "padded is off by inf"),
        (ValueError("no mask"), (1.0, 2.0), "by length", "padded fails (no mask)"),
        ((1.5, 2.0), (1.0, 2.25), ONE_BY_ONE, "padded is off by 0.5; by length is off by 0.25"),
    ],
)
def test_the_first_exact_strategy_is_chosen_and_others_have_a_reason(
    padded, by_length, name, reason
):
    strategy = find({"padded": padded, "by length": by_length})

    assert (strategy.name, strategy.longest, strategy.reason) == (name, 9, reason)
    assert str(strategy) == (f"{name} ({reason})" if reason else name)


def test_strategies_that_failed_earlier_are_not_tried_again():
    outputs = {"padded": (1.0, 2.0), "by length": (1.0, 2.0)}

    assert find(outputs, earlier=BatchingStrategy("padded", 3)).name == "padded"
    by_length = find(outputs, earlier=BatchingStrategy("by length", 3, "padded fails"))
    assert (by_length.name, by_length.reason) == ("by length", "padded fails")
    assert find(outputs, earlier=BatchingStrategy(ONE_BY_ONE, 3, "x")).name == ONE_BY_ONE


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"expected": (1.0, np.inf)}, "finite scores"),
        ({"expected": (1.0, np.nan)}, "finite scores"),
        ({"expected": RuntimeError("boom"), "repeat": (1.0,)}, "boom"),
        ({"repeat": (1.1,)}, "same answer"),
    ],
)
def test_models_that_cannot_be_used_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        find({"padded": (1.0, 2.0)}, **options)


def test_a_refusal_is_passed_on_and_a_weight_is_named():
    with pytest.raises(RefusalError, match="as it is"):
        find({}, expected=RefusalError("as it is"), repeat=(1.0,))
    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        model.bias[0] = torch.nan
    with pytest.raises(ValueError, match="bias of model-x"):
        find({}, expected=(np.nan,), model=model)


@pytest.mark.parametrize(
    ("dtype", "scale", "tolerance"),
    [
        (torch.float64, 1.0, 1e-6),
        (torch.float64, 0.001, 1e-8),
        (torch.float32, 1.0, 2e-5),
        (torch.float32, 0.1, 1e-5),
        (torch.float16, 1.0, 2e-2),
        (torch.float16, 0.1, 5e-3),
        (torch.bfloat16, 1.0, 0.1),
        (torch.bfloat16, 0.1, 0.02),
    ],
)
def test_the_tolerance_depends_on_the_type_and_the_scale(dtype, scale, tolerance):
    model = torch.nn.Linear(2, 1).to(dtype)

    assert get_tolerance(model, scale) == pytest.approx(tolerance)


def test_quantized_layers_have_the_tolerance_of_their_type():
    model = torch.nn.Linear(2, 1)
    settings = types.SimpleNamespace(bnb_4bit_compute_dtype=torch.float16)
    model.config = types.SimpleNamespace(quantization_config=settings)
    assert get_tolerance(model, 1.0) == 2e-2
    settings.bnb_4bit_compute_dtype = torch.float64
    assert get_tolerance(model, 1.0) == 2e-5
    model.codes = torch.nn.Parameter(torch.zeros(2, dtype=torch.int8), requires_grad=False)
    assert get_tolerance(model, 1.0) == 0.1


def test_a_failing_item_is_named():
    with pytest.raises(ValueError, match="item 'q7'"), name_failing_item("model-x", "q7"):
        raise IndexError("out of range")
    with pytest.raises(KeyError), name_failing_item("model-x", "q7"):
        raise KeyError("other")


def test_a_trial_has_at_least_sixteen_tokens_and_serves_shorter_ones():
    model = torch.nn.Linear(2, 1)
    trials = Trials()
    lengths = []

    def run(longest):
        lengths.append(longest)
        return BatchingStrategy("padded", longest)

    for longest in (5, 16, 17, 16, 17, 18):
        trials.get_strategy(model, "texts", longest, run)
    assert lengths == [16, 17, 18]
    trials.get_strategy(model, "choices", 5, run)
    with torch.no_grad():
        model.bias += 1
    trials.get_strategy(model, "texts", 5, run)
    assert lengths == [16, 17, 18, 16, 16]


def test_reading_one_by_one_is_a_warning():
    strategy = BatchingStrategy(ONE_BY_ONE, 16, "padded fails")

    with pytest.warns(UserWarning, match="padded fails"):
        Trials().get_strategy(torch.nn.Linear(2, 1), "texts", 5, lambda longest: strategy)

"""Rules of a trial of batching: tolerances, lengths, and reasons for a slower strategy."""

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
    check_tokens,
    find_fastest_strategy,
    find_max_positions,
    get_max_length,
    get_tolerance,
    list_ordinary_tokens,
    name_failing_item,
    set_padding_token,
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


class Positions(torch.nn.Module):
    """A model with a table of positions, and a configuration."""

    def __init__(self, rows=None, padding=None, **config):
        super().__init__()
        self.config = types.SimpleNamespace(**config)
        if rows is not None:
            self.position_embeddings = torch.nn.Embedding(rows, 2, padding_idx=padding)


@pytest.mark.parametrize(
    ("model", "bound"),
    [
        (Positions(), None),
        (Positions(max_position_embeddings=512), 512),
        (Positions(max_position_embeddings=0), None),
        (Positions(max_position_embeddings=512, max_seq_len=128), 128),
        (Positions(40, max_position_embeddings=512), 40),
        # Positions begin after the padding index.
        (Positions(40, 1, max_position_embeddings=512), 38),
        (Positions(40, 0, max_position_embeddings=512), 39),
        (Positions(2, 1), None),
    ],
)
def test_positions_are_bounded_by_configuration_and_table(model, bound):
    assert find_max_positions(model) == bound


@pytest.mark.parametrize(
    ("n_positions", "n_tokens", "expected"),
    [(512, 128, 128), (128, 512, 128), (None, None, 2048), (None, 10**30, 2048), (512, 0, 512)],
)
def test_the_smaller_length_of_model_and_tokenizer_is_the_maximum(n_positions, n_tokens, expected):
    model = Positions(max_position_embeddings=n_positions)
    tokenizer = types.SimpleNamespace(model_max_length=n_tokens)

    assert get_max_length(model, tokenizer) == expected


def test_virtual_tokens_take_positions():
    model = Positions(max_position_embeddings=512)
    model.active_peft_config = types.SimpleNamespace(num_virtual_tokens=12)

    assert get_max_length(model, types.SimpleNamespace(model_max_length=None)) == 500


class Embedded(torch.nn.Module):
    """A model with an embedding of five tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 2)
        self.config = types.SimpleNamespace(vocab_size=5, pad_token_id=None)

    def get_input_embeddings(self):
        return self.embedding


class Tokens:
    """A tokenizer of seven tokens, of which some are special."""

    def __init__(self, *special):
        self.all_special_ids = list(special)

    def __len__(self):
        return 7


def test_tokens_beyond_the_embedding_are_refused():
    check_tokens(Embedded(), "model-x", 4)
    with pytest.raises(ValueError, match="below 5"):
        check_tokens(Embedded(), "model-x", 5)


def test_ordinary_tokens_are_embedded_finite_and_not_special():
    model = Embedded()

    assert list_ordinary_tokens(model, Tokens(0, 6)).tolist() == [1, 2, 3, 4]
    with torch.no_grad():
        model.embedding.weight[2, 0] = torch.inf
    assert list_ordinary_tokens(model, Tokens(0)).tolist() == [1, 3, 4]
    # A vocabulary of special tokens is used as it is.
    assert list_ordinary_tokens(model, Tokens(0, 1, 2, 3, 4)).tolist() == [0, 1, 3, 4]
    with torch.no_grad():
        model.embedding.weight[:] = torch.nan
    assert list_ordinary_tokens(model, Tokens()).tolist() == [0, 1, 2, 3, 4]


def test_a_padding_token_is_set_during_a_block():
    model = Embedded()

    with set_padding_token(model, 3):
        assert model.config.pad_token_id == 3
        model.config.added = True
    assert vars(model.config) == {"vocab_size": 5, "pad_token_id": None}
    model.config.pad_token_id = 1
    with set_padding_token(model, 3):
        assert model.config.pad_token_id == 1


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

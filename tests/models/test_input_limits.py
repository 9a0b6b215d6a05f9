"""The limits of a model and its tokenizer: the length of sequences, and the ids of tokens."""

from __future__ import annotations

import types

import pytest
import torch

from rightreasons.models.input_limits import (
    check_tokens,
    find_max_positions,
    get_max_length,
    list_ordinary_tokens,
)


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

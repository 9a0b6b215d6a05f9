"""Dropout of every kind of model: as modules, or as numbers that are passed to functions."""

import copy

import numpy as np
import pytest
import torch
import transformers

from rightreasons.behavior.learning.items import iid_items
from rightreasons.behavior.learning.methods import has_dropout, set_dropout
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.core.errors import OptionError
from rightreasons.models.batching import encode, pad
from tiny_models import tiny_texts, tiny_tokenizer

SIZES = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
NARROW = {"head_dim": 8, "query_pre_attn_scalar": 8}
CONFIGS = {
    "Bert": transformers.BertConfig(**SIZES),
    "Llama": transformers.LlamaConfig(**SIZES),
    "Mistral": transformers.MistralConfig(**SIZES),
    "Qwen2": transformers.Qwen2Config(**SIZES),
    "Qwen3": transformers.Qwen3Config(**SIZES, head_dim=8),
    "Gemma": transformers.GemmaConfig(**SIZES, head_dim=8),
    "Gemma3": transformers.Gemma3TextConfig(**SIZES, **NARROW),
    "OPT": transformers.OPTConfig(
        vocab_size=64,
        hidden_size=16,
        word_embed_proj_dim=16,
        ffn_dim=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
    ),
    "BART": transformers.BartConfig(
        vocab_size=64,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=3,
    ),
}
FAMILIES = sorted(CONFIGS)
TEXTS, LABELS = tiny_texts(6)


def make_model(name):
    config = copy.deepcopy(CONFIGS[name])
    config.num_labels = 2
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.AutoModelForSequenceClassification.from_config(config)


def encode_for(name):
    """Tokenize the texts; only BERT has types of tokens."""
    encoded = encode(tiny_tokenizer(), TEXTS, max_length=32)
    if name != "Bert":
        del encoded.columns["token_type_ids"]
    return encoded


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_rate_reaches_functions_as_well_as_modules(name):
    model = make_model(name)
    inputs = pad(encode_for(name), np.array([0, 1]))

    assert set_dropout(model, 0.0) > 0
    assert not has_dropout(model, inputs)
    assert set_dropout(model, 0.3) > 0
    assert has_dropout(model, inputs)


def train(name, method):
    model = make_model(name)
    items = iid_items(TEXTS, LABELS)
    train_on_behavior(model, encode_for(name), items, method=method, seed=1, batch_size=3)
    return model.state_dict()


@pytest.mark.parametrize("name", FAMILIES)
def test_dropout_is_not_vanilla(name):
    vanilla = train(name, "vanilla")
    dropped = train(name, "dropout")

    assert any(not torch.equal(vanilla[key], dropped[key]) for key in vanilla)


class NoDropout(torch.nn.Identity):
    """What is left of a dropout in a model that has none; BERT reads its rate."""

    p = 0.0


def test_a_model_without_dropout_is_refused():
    model = make_model("Bert")
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Dropout):
                setattr(module, name, NoDropout())

    items = iid_items(TEXTS, LABELS)
    with pytest.raises(OptionError, match="Omit this method") as error:
        train_on_behavior(model, encode_for("Bert"), items, method="dropout", batch_size=3)

    assert error.value.option == ("method",)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_linear_probe_sees_features_without_dropout(name, monkeypatch):
    model = make_model(name)
    set_dropout(model, 0.5)
    is_training = []
    forward = type(model).forward

    def spy(self, *args, **kwargs):
        is_training.append(any(module.training for module in self.modules()))
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(type(model), "forward", spy)
    items = iid_items(TEXTS, LABELS)
    train_on_behavior(model, encode_for(name), items, method="lp", batch_size=3)

    assert is_training == [False, False]

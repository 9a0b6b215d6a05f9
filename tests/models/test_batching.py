"""Texts are tokenized once, padded on the right, and batched by length."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.models import batching
from rightreasons.models.batching import (
    encode,
    encode_once,
    ensure_padding,
    make_length_batches,
    pad,
)
from rightreasons.models.runs.processes import default_batch_size
from tiny_models import tiny_texts, tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=60),
    st.integers(1, 9),
    st.one_of(st.none(), st.integers(1, 90)),
)
def test_every_item_is_in_one_batch_with_items_of_similar_length(lengths, batch_size, max_tokens):
    lengths = np.array(lengths)

    batches = make_length_batches(lengths, batch_size=batch_size, max_tokens=max_tokens)

    order = np.concatenate(batches)
    assert sorted(order.tolist()) == list(range(len(lengths)))
    # The longest come first.
    assert (np.diff(lengths[order]) <= 0).all()
    assert all(len(batch) <= batch_size for batch in batches)
    if max_tokens is not None:
        for batch in batches:
            assert len(batch) == 1 or len(batch) * lengths[batch].max() <= max_tokens


def test_batch_sizes_must_be_positive():
    with pytest.raises(ValueError, match="`batch_size` to be at least 1"):
        make_length_batches(np.array([1]), batch_size=0)
    with pytest.raises(ValueError, match="`max_tokens` to be at least 1"):
        make_length_batches(np.array([1]), max_tokens=0)


@pytest.mark.parametrize("is_paired", [False, True])
def test_padding_is_that_of_the_tokenizer_but_always_on_the_right(is_paired):
    tokenizer = tiny_tokenizer()
    texts, _ = tiny_texts(9)
    pairs = ["what", "rain fell"] * 4 + ["sun"] if is_paired else None
    items = np.array([4, 0, 7])
    expected = tokenizer(
        [texts[i] for i in items],
        [pairs[i] for i in items] if is_paired else None,
        padding=True,
        return_tensors="pt",
    )

    tokenizer.padding_side = "left"
    tokens = pad(encode(tokenizer, texts, pairs, max_length=32), items)

    assert tokens.keys() == expected.keys()
    for name in tokens:
        assert torch.equal(tokens[name], expected[name]), name


def list_truncated(tokenizer, *columns, max_length):
    return encode(tokenizer, *columns, max_length=max_length).truncated.tolist()


def test_truncated_texts_are_marked(tokenizer):
    # Ten words and two special tokens: 12 tokens. With a pair of two words and a third special
    # token: 15.
    texts = ["the film was very good and the plot was fine", "the film"]
    pairs = ["rain fell", "sun"]

    assert list_truncated(tokenizer, texts, max_length=12) == [False, False]
    truncated = encode(tokenizer, texts, max_length=11)
    assert truncated.truncated.tolist() == [True, False]
    assert truncated.lengths.tolist() == [11, 4]
    assert list_truncated(tokenizer, texts, pairs, max_length=15) == [False, False]
    assert list_truncated(tokenizer, texts, pairs, max_length=14) == [True, False]


class SlowTokenizer:
    """A tokenizer that does not return what it truncates, as the ones written in Python."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def __call__(self, *args, **kwargs):
        tokens = self._tokenizer(*args, **kwargs)
        tokens._encodings = None
        return tokens


def test_texts_truncated_by_a_slow_tokenizer_are_marked_too(tokenizer):
    # 7, 6 and 3 tokens.
    texts = ["the film was very good", "the film was good", "film"]

    for max_length, expected in (
        (7, [False, False, False]),
        (6, [True, False, False]),
        (5, [True, True, False]),
    ):
        assert list_truncated(SlowTokenizer(tokenizer), texts, max_length=max_length) == expected
        assert list_truncated(tokenizer, texts, max_length=max_length) == expected


def test_a_tokenizer_without_a_padding_token_pads_with_its_end_token():
    tokenizer = tiny_tokenizer()
    tokenizer.pad_token = None
    tokenizer.eos_token = "film"
    film = tokenizer.convert_tokens_to_ids("film")
    assert encode(tokenizer, ["film"], max_length=8).padding["input_ids"] == film

    tokenizer.eos_token = None
    assert encode(tokenizer, ["film"], max_length=8).padding["input_ids"] == 0
    with pytest.raises(ValueError, match="an end token"):
        ensure_padding(tokenizer)

    tokenizer.eos_token = "film"
    with pytest.warns(UserWarning, match="padding token"):
        ensure_padding(tokenizer)
    assert tokenizer.pad_token == "film"
    ensure_padding(tokenizer)


@pytest.mark.parametrize(
    ("gigabytes", "layers", "expected"),
    [
        # (8 * 1024 + 3 * 4096) * 2 bytes * 128 tokens are 5 MiB a layer, so 10 MiB an item.
        # 512 MiB take 51 items.
        (1, 2, 32),
        # 1 GiB takes 102.
        (2, 2, 64),
        # 716 MiB take 71, and without the reserve 537 MiB would take 53.
        (1.4, 2, 64),
        (80, 2, 256),
        (0.1, 64, 32),
    ],
)
def test_the_batch_of_a_gpu_fills_half_of_its_free_memory(gigabytes, layers, expected, monkeypatch):
    config = transformers.LlamaConfig(
        hidden_size=1024, num_hidden_layers=layers, intermediate_size=4096
    )
    model = SimpleNamespace(device=torch.device("cuda:1"), dtype=torch.bfloat16, config=config)
    # A fourth is in PyTorch's reserve.
    memory = {
        "mem_get_info": (int(0.75 * gigabytes * 2**30), 2**40),
        "memory_allocated": 2**20,
        "memory_reserved": 2**20 + int(0.25 * gigabytes * 2**30),
    }
    for name, value in memory.items():
        monkeypatch.setattr(torch.cuda, name, {model.device: value}.__getitem__)

    scorer = SimpleNamespace(model=model)
    prompted = SimpleNamespace(engine=scorer)
    for owner in (model, scorer, prompted):
        assert default_batch_size(owner) == expected


def test_without_a_gpu_a_batch_has_32_items():
    model = SimpleNamespace(
        device=torch.device("cpu"), dtype=torch.float32, config=transformers.LlamaConfig()
    )

    assert default_batch_size(model) == default_batch_size(None) == 32


def test_texts_are_tokenized_once_for_all_questions(monkeypatch):
    monkeypatch.setattr(batching, "MIN_CACHED_TEXTS", 2)
    tokenizer = tiny_tokenizer()
    lengths = []

    def record(*arguments, max_length):
        lengths.append(max_length)
        return encode(*arguments, max_length=max_length)

    monkeypatch.setattr(batching, "encode", record)
    texts = ["the film was good", "rain"]

    encoded = encode_once(tokenizer, texts, max_length=8)
    # Another use of the tokenizer leaves its own settings of truncation.
    tokenizer(texts, truncation=True, max_length=3, padding=True)
    cached = encode_once(tokenizer, list(texts), max_length=8)
    assert lengths == [8]
    assert cached.columns["input_ids"] is encoded.columns["input_ids"]
    with pytest.raises(ValueError, match="read-only"):
        encoded.columns["input_ids"][0] = 1

    # Other lengths, pairs and words of the tokenizer are other ids.
    assert encode_once(tokenizer, texts, max_length=4).lengths.tolist() == [4, 3]
    assert encode_once(tokenizer, texts, texts, max_length=16).lengths.tolist() == [11, 5]
    tokenizer.add_tokens(["the film"])
    assert encode_once(tokenizer, texts, max_length=8).lengths.tolist() == [5, 3]
    assert lengths == [8, 4, 16, 8]


def test_few_texts_and_old_encodings_are_not_cached(monkeypatch):
    tokenizer = tiny_tokenizer()
    encoded = encode_once(tokenizer, ["rain"], max_length=8)
    repeated = encode_once(tokenizer, ["rain"], max_length=8)
    assert encoded.offsets is not repeated.offsets

    monkeypatch.setattr(batching, "MIN_CACHED_TEXTS", 1)
    words = ["rain", "film", "good", "bad", "man"]
    offsets = [encode_once(tokenizer, [word], max_length=8).offsets for word in words]
    # Four encodings are cached: that of "rain" is removed.
    assert encode_once(tokenizer, ["man"], max_length=8).offsets is offsets[4]
    assert encode_once(tokenizer, ["film"], max_length=8).offsets is offsets[1]
    assert encode_once(tokenizer, ["rain"], max_length=8).offsets is not offsets[0]

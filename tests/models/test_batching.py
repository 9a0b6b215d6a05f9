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
def test_every_item_is_in_one_batch_of_its_like(lengths, batch_size, max_tokens):
    lengths = np.array(lengths)
    batches = make_length_batches(lengths, batch_size=batch_size, max_tokens=max_tokens)
    order = np.concatenate(batches)
    assert sorted(order.tolist()) == list(range(len(lengths)))
    assert (np.diff(lengths[order]) <= 0).all()
    assert all(len(batch) <= batch_size for batch in batches)
    if max_tokens is not None:
        assert all(
            len(batch) == 1 or len(batch) * lengths[batch].max() <= max_tokens for batch in batches
        )


def test_bad_batch_sizes_are_errors():
    with pytest.raises(ValueError, match="`batch_size` to be at least 1"):
        make_length_batches(np.array([1]), batch_size=0)
    with pytest.raises(ValueError, match="`max_tokens` to be at least 1"):
        make_length_batches(np.array([1]), max_tokens=0)


@pytest.mark.parametrize("paired", [False, True])
def test_padding_is_that_of_the_tokenizer_on_a_side_of_our_own(paired):
    tokenizer = tiny_tokenizer()
    texts, _ = tiny_texts(9)
    pairs = ["what", "rain fell"] * 4 + ["sun"] if paired else None
    items = np.array([4, 0, 7])
    expected = tokenizer(
        [texts[i] for i in items],
        [pairs[i] for i in items] if pairs else None,
        padding=True,
        return_tensors="pt",
    )
    tokenizer.padding_side = "left"
    encoded = encode(tokenizer, texts, pairs, max_length=32)
    tokens = pad(encoded, items)
    assert tokens.keys() == expected.keys()
    for name in tokens:
        assert torch.equal(tokens[name], expected[name]), name


def test_what_is_cut_is_told(tokenizer):
    # Ten words and two special tokens: 12 tokens. With a pair of two words and a third special token: 15.
    texts = ["the film was very good and the plot was fine", "the film"]
    assert encode(tokenizer, texts, max_length=12).truncated.tolist() == [False, False]
    cut = encode(tokenizer, texts, max_length=11)
    assert cut.truncated.tolist() == [True, False]
    assert cut.lengths.tolist() == [11, 4]
    assert encode(tokenizer, texts, ["rain fell", "sun"], max_length=15).truncated.tolist() == [
        False,
        False,
    ]
    assert encode(tokenizer, texts, ["rain fell", "sun"], max_length=14).truncated.tolist() == [
        True,
        False,
    ]


class Slow:
    """A tokenizer that keeps nothing of what it cuts off, as the ones written in Python are."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def __call__(self, *args, **kwargs):
        tokens = self._tokenizer(*args, **kwargs)
        tokens._encodings = None
        return tokens


def test_what_a_slow_tokenizer_cuts_is_told_too(tokenizer):
    texts = ["the film was very good", "the film was good", "film"]  # 7, 6 and 3 tokens
    for length, cut in (
        (7, [False, False, False]),
        (6, [True, False, False]),
        (5, [True, True, False]),
    ):
        assert encode(Slow(tokenizer), texts, max_length=length).truncated.tolist() == cut
        assert encode(tokenizer, texts, max_length=length).truncated.tolist() == cut


def test_a_tokenizer_without_padding_pads_with_its_end():
    tokenizer = tiny_tokenizer()
    tokenizer.pad_token, tokenizer.eos_token = None, "film"
    assert encode(tokenizer, ["film"], max_length=8).padding[
        "input_ids"
    ] == tokenizer.convert_tokens_to_ids("film")
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
    ("gigabytes", "layers", "inner", "expected"),
    [
        # (8 * 1024 + 3 * 4096) * 2 bytes * 128 tokens are 5 MiB a layer, so 10 MiB an item.
        (1, 2, 4096, 32),  # 512 MiB take 51 items
        (2, 2, 4096, 64),  # 1 GiB takes 102
        (1.4, 2, 4096, 64),  # 716 MiB take 71, and without the reserve 537 MiB would take 53
        (80, 2, 4096, 256),
        (0.1, 64, 4096, 32),
    ],
)
def test_the_batch_of_a_gpu_is_what_half_of_its_free_memory_takes(
    gigabytes, layers, inner, expected, monkeypatch
):
    config = transformers.LlamaConfig(
        hidden_size=1024, num_hidden_layers=layers, intermediate_size=inner
    )
    model = SimpleNamespace(device=torch.device("cuda:1"), dtype=torch.bfloat16, config=config)
    # A fourth is in PyTorch's reserve.
    told = {"mem_get_info": (int(0.75 * gigabytes * 2**30), 2**40), "memory_allocated": 2**20}
    told["memory_reserved"] = 2**20 + int(0.25 * gigabytes * 2**30)
    for name, answer in told.items():
        monkeypatch.setattr(torch.cuda, name, {model.device: answer}.__getitem__)
    for held in (
        model,
        SimpleNamespace(model=model),
        SimpleNamespace(engine=SimpleNamespace(model=model)),
    ):
        assert default_batch_size(held) == expected


def test_without_a_gpu_a_batch_has_32_items():
    model = SimpleNamespace(
        device=torch.device("cpu"), dtype=torch.float32, config=transformers.LlamaConfig()
    )
    assert default_batch_size(model) == default_batch_size(None) == 32


def test_texts_are_tokenized_once_for_all_questions(monkeypatch):
    monkeypatch.setattr(batching, "MIN_CACHED_TEXTS", 2)
    tokenizer = tiny_tokenizer()
    calls = []

    def record(*arguments, max_length):
        calls.append(max_length)
        return encode(*arguments, max_length=max_length)

    monkeypatch.setattr(batching, "encode", record)
    texts = ["the film was good", "rain"]

    first = encode_once(tokenizer, texts, max_length=8)
    # Another use of the tokenizer leaves its own settings of truncation.
    tokenizer(texts, truncation=True, max_length=3, padding=True)
    second = encode_once(tokenizer, list(texts), max_length=8)
    assert calls == [8]
    assert second.columns["input_ids"] is first.columns["input_ids"]
    with pytest.raises(ValueError, match="read-only"):
        first.columns["input_ids"][0] = 1

    # Other lengths, pairs and words of the tokenizer are other ids.
    assert encode_once(tokenizer, texts, max_length=4).lengths.tolist() == [4, 3]
    assert encode_once(tokenizer, texts, texts, max_length=16).lengths.tolist() == [11, 5]
    tokenizer.add_tokens(["the film"])
    assert encode_once(tokenizer, texts, max_length=8).lengths.tolist() == [5, 3]
    assert calls == [8, 4, 16, 8]


def test_few_texts_and_old_encodings_are_not_kept(monkeypatch):
    tokenizer = tiny_tokenizer()
    few = [encode_once(tokenizer, ["rain"], max_length=8) for _ in range(2)]
    assert few[0].offsets is not few[1].offsets

    monkeypatch.setattr(batching, "MIN_CACHED_TEXTS", 1)
    words = ["rain", "film", "good", "bad", "man"]
    offsets = [encode_once(tokenizer, [word], max_length=8).offsets for word in words]
    # Four encodings are kept: that of "rain" is gone.
    assert encode_once(tokenizer, ["man"], max_length=8).offsets is offsets[4]
    assert encode_once(tokenizer, ["film"], max_length=8).offsets is offsets[1]
    assert encode_once(tokenizer, ["rain"], max_length=8).offsets is not offsets[0]

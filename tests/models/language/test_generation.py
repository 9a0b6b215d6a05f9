"""Random noise of sampled answers, the ends of answers, and the size of batches."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch

from rightreasons.models.language import generation
from rightreasons.models.language.generation import (
    Sampler,
    StopTexts,
    get_noise_key,
    gumbel_noise,
    make_generation_batches,
)

MASK = (1 << 64) - 1


def mix(state):
    """Return the finalizer of SplitMix64 in integers of Python, as its authors give it."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def compute_noise(key, counter):
    """Return the noise of one counter in Python."""
    state = mix((mix(key) + counter * 0x9E3779B97F4A7C15) & MASK)
    uniform = ((state >> 11) + 0.5) * 2.0**-53
    return -np.log(-np.log(uniform))


@pytest.mark.parametrize("step", [0, 1, 7])
def test_noise_is_that_of_splitmix64(step):
    keys = [0, 1, get_noise_key(3, "item")]

    noise = gumbel_noise(torch.tensor(keys), step, 5)

    # The counters of a step follow those of the steps before it, from 1.
    expected = [[compute_noise(key, step * 5 + 1 + column) for column in range(5)] for key in keys]
    np.testing.assert_allclose(noise.numpy(), expected, rtol=1e-12)


def test_the_key_of_noise_depends_on_seed_and_name():
    keys = {get_noise_key(0, "a"), get_noise_key(0, "b"), get_noise_key(1, "a")}

    assert len(keys) == 3
    assert all(0 <= key < 1 << 63 for key in keys)


def test_logits_are_divided_by_the_temperature_and_get_noise():
    logits = torch.tensor([[1.0, 2.0, 4.0]])
    sampler = Sampler([5], temperature=0.5, top_p=1.0)

    scores = [sampler(None, logits), sampler(None, logits)]

    for step in (0, 1):
        expected = 2 * logits + gumbel_noise(torch.tensor([5]), step, 3)
        torch.testing.assert_close(scores[step], expected.double())


def test_unlikely_tokens_are_left_out():
    # Probabilities of about 0.67, 0.24 and 0.09.
    logits = torch.tensor([[2.0, 1.0, 0.0]])

    scores = Sampler([5], temperature=1.0, top_p=0.8)(torch.zeros((1, 1), dtype=torch.long), logits)

    assert torch.isfinite(scores).tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    ("row", "expected"),
    [([5, 9, 0, 9], [5, 9]), ([9, 5], [9]), ([5, 6], [5, 6]), ([5, 8, 9], [5, 8])],
)
def test_an_answer_ends_with_its_first_end_token(row, expected):
    (answer,) = generation._cut_after_end(np.array([row]), [8, 9])

    assert answer.tolist() == expected
    assert answer.dtype == np.float64


def test_stop_texts_are_searched_for_in_the_answer_alone():
    class Tokenizer:
        def batch_decode(self, rows, skip_special_tokens):
            assert skip_special_tokens
            return ["".join(map(chr, row)) for row in rows.tolist()]

    def has_stopped(text, n_before):
        stop = StopTexts(Tokenizer(), ["END", "#"], n_before)
        return stop(torch.tensor([[ord(letter) for letter in text]]), None).tolist()

    assert has_stopped("END so it", 3) == [False]
    assert has_stopped("END so it END", 3) == [True]
    assert has_stopped("#x", 0) == [True]
    # Three bytes and eight more tokens are decoded.
    assert has_stopped("END" + 8 * "x", 0) == [True]
    assert has_stopped("END" + 9 * "x", 0) == [False]


def list_batch_sizes(name, lengths):
    model = types.SimpleNamespace(device=torch.device("cpu"))
    batches = make_generation_batches(model, types.SimpleNamespace(name=name), np.array(lengths))
    return sorted(len(batch) for batch in batches)


def test_batches_on_a_cpu_have_a_number_of_answers_and_tokens():
    assert list_batch_sizes("left padding", [8] * 64) == [64]
    assert list_batch_sizes("left padding", [8] * 65) in ([1, 64], [32, 33])
    # 8,192 tokens are two answers of 4,096.
    assert max(list_batch_sizes("left padding", [4096] * 4)) == 2
    assert max(list_batch_sizes("left padding", [4097] * 4)) == 1
    assert list_batch_sizes("one by one", [8] * 3) == [1, 1, 1]


def test_batches_on_a_gpu_fit_in_its_memory(monkeypatch):
    config = types.SimpleNamespace(
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=16,
    )
    model = types.SimpleNamespace(dtype=torch.float16, device=None)
    monkeypatch.setattr(generation, "get_text_config", lambda model: config)
    monkeypatch.setattr(generation, "get_vocabulary_size", lambda model: 10)
    # Cached per token: 2 * 3 layers * 2 heads * 2 (8 / 4) = 24; computed: 8 * 8 + 3 * 16 = 112.
    # In two bytes, 272 per token; 400 bytes per answer.
    monkeypatch.setattr(generation, "get_free_memory", lambda device: 16_000)
    assert generation._estimate_gpu_limits(model) == (10, 8000 // 272)
    monkeypatch.setattr(generation, "get_free_memory", lambda device: 1)
    assert generation._estimate_gpu_limits(model) == (1, 1)
    monkeypatch.setattr(generation, "get_free_memory", lambda device: 1 << 40)
    assert generation._estimate_gpu_limits(model)[0] == 256
    # A width of heads may be given, and the inner width is four times the width by default.
    config.head_dim = 4
    config.intermediate_size = None
    monkeypatch.setattr(generation, "get_free_memory", lambda device: 16_000)
    assert generation._estimate_gpu_limits(model) == (10, 8000 // (2 * (48 + 64 + 96)))

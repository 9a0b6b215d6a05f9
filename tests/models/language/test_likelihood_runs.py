"""Batches of prompts and choices: their sizes, and how items with many choices are split."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch

from rightreasons.models.language import likelihood_runs
from rightreasons.models.language.continuations import TokenizedItem
from rightreasons.models.language.likelihood_runs import (
    MAX_ITEM_TOKENS,
    count_rows,
    get_max_tokens,
    make_batches,
    measure_lengths,
    measure_width,
    split_choices,
)
from rightreasons.models.trial import ONE_BY_ONE

SHARED = likelihood_runs.SHARED
PADDED = likelihood_runs.PADDED
EQUAL_LENGTHS = likelihood_runs.EQUAL_LENGTHS


def make_item(n_prompt, *choice_lengths, name="item"):
    """Return an item whose tokens are numbers."""
    choices = [list(range(length)) for length in choice_lengths]
    return TokenizedItem(
        name, list(range(n_prompt)), choices, list(range(len(choices))), truncated=False
    )


@pytest.mark.parametrize(
    ("item", "width", "n_rows"),
    [
        # The last token of a choice is predicted, and not read.
        (make_item(5, 3, 2), 7, 2),
        (make_item(5, 1, 2), 6, 2),
        # Choices of one token are all predicted at the end of the prompt.
        (make_item(5, 1, 1), 5, 1),
        (make_item(5, 4), 8, 1),
    ],
)
def test_rows_of_an_item(item, width, n_rows):
    assert measure_width(item, ONE_BY_ONE) == width
    assert count_rows(item, ONE_BY_ONE) == n_rows
    assert count_rows(item, SHARED) == 1
    assert measure_lengths([item, item], PADDED).tolist() == [width * n_rows] * 2


def list_split_lengths(item, max_length):
    """Return the numbers of tokens of the choices of each part of an item."""
    parts = split_choices(item, max_length)
    indices = [index for part in parts for index in part.choice_indices]
    assert indices == item.choice_indices
    assert all(part.prompt == item.prompt for part in parts)
    return [list(map(len, part.choices)) for part in parts]


def test_choices_are_split_at_a_number_of_tokens():
    half = MAX_ITEM_TOKENS // 2

    assert list_split_lengths(make_item(5, half, half, 3), 10**6) == [[half, half], [3]]
    assert list_split_lengths(make_item(5, half, half + 1, 3), 10**6) == [[half], [half + 1, 3]]
    # As many tokens as a long prompt, but no more than the model can read.
    n_prompt = 2 * MAX_ITEM_TOKENS
    long = make_item(n_prompt, MAX_ITEM_TOKENS, MAX_ITEM_TOKENS, 1)
    assert list_split_lengths(long, 10**6) == [[MAX_ITEM_TOKENS] * 2, [1]]
    assert list_split_lengths(long, n_prompt + MAX_ITEM_TOKENS) == [
        [MAX_ITEM_TOKENS],
        [MAX_ITEM_TOKENS],
        [1],
    ]
    # A single choice may be longer.
    assert list_split_lengths(make_item(5, MAX_ITEM_TOKENS + 1), 10**6) == [[MAX_ITEM_TOKENS + 1]]


def make_positions(items, strategy, max_tokens):
    return [batch.tolist() for batch in make_batches(items, strategy, max_tokens)]


def test_the_longest_items_come_first_and_fill_a_batch():
    # Rows of 5, 9, 7 and 7 tokens.
    items = [make_item(5, 1), make_item(9, 1), make_item(7, 1), make_item(7, 1)]

    assert make_positions(items, ONE_BY_ONE, 23) == [[1, 2, 3], [0]]
    assert make_positions(items, ONE_BY_ONE, 22) == [[1, 2], [3, 0]]
    # With padding, each row has the 9 tokens of the longest.
    assert make_positions(items, PADDED, 27) == [[1, 2, 3], [0]]
    assert make_positions(items, PADDED, 26) == [[1, 2], [3, 0]]
    # A single item may be longer than a batch.
    assert make_positions(items, PADDED, 1) == [[1], [2], [3], [0]]


def test_items_of_one_prompt_length_are_together():
    items = [make_item(5, 4), make_item(6, 1), make_item(5, 1), make_item(6, 3)]

    assert make_positions(items, EQUAL_LENGTHS, 1000) == [[3, 1, 0, 2]]


def test_padding_is_a_small_share_of_a_large_batch(monkeypatch):
    monkeypatch.setattr(likelihood_runs, "_MIN_TOKENS", 20)
    monkeypatch.setattr(likelihood_runs, "MAX_PADDING", 0.25)

    # 10 + 5 tokens fill 20 with padding, which is not more than the smallest size; 10 + 5 + 5 of 30
    # are less than three quarters.
    items = [make_item(10, 1), make_item(5, 1), make_item(5, 1)]
    assert make_positions(items, PADDED, 1000) == [[0, 1], [2]]
    # 10 + 10 + 10 + 2 of 40 are more than three quarters, and another 2 make 34 of 50.
    items = [*[make_item(10, 1)] * 3, make_item(2, 1), make_item(2, 1)]
    assert make_positions(items, PADDED, 1000) == [[0, 1, 2, 3], [4]]
    assert make_positions(items, ONE_BY_ONE, 1000) == [[0, 1, 2, 3, 4]]


def test_batches_on_a_cpu_are_small_unless_they_need_equal_lengths(monkeypatch):
    monkeypatch.setattr(likelihood_runs, "default_batch_size", lambda model: 3)
    scorer = types.SimpleNamespace(model=types.SimpleNamespace(device=torch.device("cpu")))

    per_item = likelihood_runs.TOKENS_PER_ITEM
    assert get_max_tokens(scorer, PADDED) == likelihood_runs._CPU_TOKENS
    assert get_max_tokens(scorer, EQUAL_LENGTHS) == 3 * per_item


@pytest.mark.parametrize(
    ("length", "rounded"),
    [(1, 1), (15, 15), (16, 16), (17, 18), (31, 32), (32, 32), (33, 36), (257, 288)],
)
def test_lengths_are_rounded_up_to_four_digits(length, rounded):
    assert likelihood_runs._round_up(length) == rounded


def list_shapes(longest, *, has_equal_lengths):
    items = likelihood_runs._make_trial_items(
        np.arange(50), longest, has_equal_lengths=has_equal_lengths
    )
    return [(len(item.prompt), *map(len, item.choices)) for item in items]


def test_trial_items_are_short_or_as_long_as_the_longest():
    assert list_shapes(16, has_equal_lengths=False) == [(5, 3, 2), (1, 2)]
    assert list_shapes(16, has_equal_lengths=True) == [(5, 3, 2), (1, 2), (5, 3, 2)]
    assert list_shapes(20, has_equal_lengths=True) == [(18, 3), (5, 3, 1, 2), (18, 3)]
    shapes = list_shapes(40, has_equal_lengths=False)
    # A quarter is the prompt; its choices read 40 tokens with it, the last of which is predicted.
    assert set(shapes[:-1]) == {(10, 31, 10)}
    assert shapes[-1] == (5, 3, 1, 2)
    n_expected = min(
        max(1, likelihood_runs._N_TRIED_TOKENS // 40), likelihood_runs._MAX_TRIED_PROMPTS
    )
    assert len(shapes) == n_expected + 1


def test_choices_of_a_trial_begin_alike():
    long, _ = likelihood_runs._make_trial_items(np.arange(50), 16, has_equal_lengths=False)

    first, second = long.choices
    assert second[0] == first[0]
    assert second[1] != first[1]

"""How many items a budget of passes allows."""

from __future__ import annotations

import types

import pytest

from rightreasons.shortcuts.experiment import MAX_LEARNING_ITEMS
from rightreasons.shortcuts.measure_deciding import (
    MIN_BUDGET_ITEMS,
    PASSES_PER_ITEM,
    plan_items,
)
from rightreasons.shortcuts.swapping.own_list import MAX_LEFT_OUT


def plan(budget, n_tokens=10, n_texts=3):
    """Return the number of items of texts with a number of tokens."""
    segmenter = types.SimpleNamespace(split=lambda item: item[0].split())
    training = types.SimpleNamespace(segmenter=segmenter)
    return plan_items([["word " * n_tokens] * n_texts], training, budget)


@pytest.mark.parametrize("n_items", [150, 2 * MAX_LEARNING_ITEMS])
def test_each_token_of_half_of_the_items_is_left_out_once(n_items):
    passes_per_item = PASSES_PER_ITEM + 10 // 2

    assert plan(n_items * passes_per_item) == n_items
    assert plan(n_items * passes_per_item - 1) == n_items - 1


def test_tokens_are_left_out_of_a_limited_number_of_items():
    # With 600 items, 10 tokens of 200 items are left out.
    budget = 600 * PASSES_PER_ITEM + 10 * MAX_LEARNING_ITEMS

    assert plan(budget) == 600
    assert plan(budget - 1) == 599


def test_a_small_budget_has_a_smallest_number_of_items():
    assert plan(1) == MIN_BUDGET_ITEMS
    # Without texts, only the other edits count.
    assert plan(150 * PASSES_PER_ITEM, n_texts=0) == 150
    # Few tokens of a long text are left out.
    assert plan(10_000, n_tokens=MAX_LEFT_OUT) == plan(10_000, n_tokens=MAX_LEFT_OUT + 1)

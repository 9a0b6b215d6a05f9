import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.training.finetune import LengthGroupedSampler


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=400), st.integers(1, 7), st.integers(0, 3)
)
def test_every_example_comes_once_an_epoch(lengths, batch_size, epoch):
    sampler = LengthGroupedSampler(np.array(lengths), batch_size, seed=1)
    sampler.set_epoch(epoch)
    assert sorted(sampler) == list(range(len(lengths))) == list(range(len(sampler)))


def test_the_order_is_told_by_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(3, 60, size=500)

    def order(seed, epoch):
        sampler = LengthGroupedSampler(lengths, 8, seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


@pytest.mark.parametrize("count", [500, 512])
def test_batches_hold_examples_of_like_length_in_no_order_of_length(count):
    lengths = np.random.default_rng(0).integers(3, 60, size=count)
    order = np.array(list(LengthGroupedSampler(lengths, 8, seed=0)))
    batches = [lengths[order[start : start + 8]] for start in range(0, count, 8)]
    padded = sum(len(batch) * batch.max() for batch in batches)
    assert padded < 1.1 * lengths.sum()  # in a random order it is about 1.7 times
    assert batches[0].max() == lengths.max()
    tops = np.array([batch.max() for batch in batches])
    assert abs(np.corrcoef(tops, np.arange(len(tops)))[0, 1]) < 0.5


def test_the_longest_example_is_in_the_first_batch_and_the_shortest_in_the_one_that_is_not_full():
    # 50 different lengths in batches of 8: six full ones, and the two shortest examples at the end.
    lengths = np.random.default_rng(0).permutation(50) + 1
    order = np.array(list(LengthGroupedSampler(lengths, 8, seed=0)))
    assert sorted(lengths[order[:8]]) == list(range(43, 51))
    assert sorted(lengths[order[-2:]]) == [1, 2]

"""None of the above, counted by hand."""

import numpy as np
import pytest

from rightreasons.analysis import none_of_the_above

# The last column of each row is "none of the above"; the right choice is the one in `RIGHT`.
ADDED = [[2, 0, 3], [4, 1, 2], [0, 5, 1], [1, 2, 3, 0.5], [3, 2, 1]]
RIGHT = [0, 0, 1, 2, 1]
REPLACED = [[0, 3], [1, 2], [2, 1], [1, 2, 2.5], [3, 4]]


def test_hits_beyond_those_of_the_struck_out_scores():
    found = none_of_the_above(ADDED, REPLACED, RIGHT)
    # Picked: item 0 alone. Struck out: items 0 (3 of 0, 3), 1 (2 of 1, 2), 2 (1 of 0, 1). Replaced: 0, 1, 3, 4.
    assert (found.n_items, found.false_alarms, found.expected, found.hits) == (5, 0.2, 0.6, 0.8)
    assert found.gain == pytest.approx(0.2)
    # Three items differ, two of them for the better: p = 1.
    assert found.p_value == 1.0
    assert found.hits_interval.low < 0.8 < found.hits_interval.high


def test_a_scorer_of_single_choices_gains_nothing():
    rng = np.random.default_rng(0)
    added, right = rng.normal(size=(40, 5)), rng.integers(4, size=40)
    replaced = [np.delete(row, place) for row, place in zip(added, right, strict=True)]
    found = none_of_the_above(added, replaced, right)
    assert (found.gain, found.p_value) == (0.0, 1.0)
    assert found.false_alarms < found.hits == found.expected


def test_refusals():
    with pytest.raises(ValueError, match="item 1 has 3 scores with it and 3 without"):
        none_of_the_above([[1, 2, 3], [1, 2, 3]], [[1, 2], [1, 2, 3]], [0, 0])
    with pytest.raises(ValueError, match="references"):
        none_of_the_above([[1, 2, 3]], [[1, 2]], [2])

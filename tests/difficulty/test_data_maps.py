"""Data maps by hand."""

import re

import numpy as np
import pytest

from rightreasons.difficulty.ranking import data_map


def test_worked_figures():
    # Example 0: p = .1, .5, .9; mean .5; deviations -.4, 0, .4; variance .32/3; right in 2 of 3 epochs.
    found = data_map([[0.1, 1.0], [0.5, 1.0], [0.9, 1.0]], [[0, 1], [1, 1], [1, 1]])
    np.testing.assert_allclose(found.confidence, [0.5, 1.0])
    np.testing.assert_allclose(found.variability, [np.sqrt(0.32 / 3), 0.0])
    np.testing.assert_allclose(found.correctness, [2 / 3, 1.0])
    assert found.n_epochs == 3
    assert found.to_dict()["confidence"] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("probability", "correct", "message"),
    [
        ([0.5], [True], "shape (E, N)"),
        ([[]], [[]], "shape (1, 0)"),
        (
            [[0.5]],
            [[True, False]],
            "`gold_probabilities`, (1, 1)",
        ),
        ([[0.5, 1.5]], [[True, True]], "but example 1 of epoch 0 has 1.5."),
        ([[0.5, float("nan")]], [[True, True]], "but example 1 of epoch 0 has nan."),
        (
            [[0.5, 0.5]],
            [[1, 3]],
            "`correct`, but example",
        ),
    ],
)
def test_each_mistake_has_its_sentence(probability, correct, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        data_map(probability, correct)

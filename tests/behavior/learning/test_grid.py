"""Grids in one line."""

import pytest

from rightreasons.behavior.learning.options import parse_grid


def test_every_combination_comes_once():
    assert parse_grid(" learning_rate=2e-5,5e-5   batch_size=8,16 activation=sigmoid") == [
        {"learning_rate": 2e-5, "batch_size": 8, "activation": "sigmoid"},
        {"learning_rate": 2e-5, "batch_size": 16, "activation": "sigmoid"},
        {"learning_rate": 5e-5, "batch_size": 8, "activation": "sigmoid"},
        {"learning_rate": 5e-5, "batch_size": 16, "activation": "sigmoid"},
    ]
    assert parse_grid("") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat=1", "Did you mean 'learning_rate'"),
        ("epochs", "option=value,value in the grid, but got 'epochs'"),
        ("epochs=1 epochs=2", "each option of the grid once, but got 'epochs' again"),
        ("epochs=1,1", "different values of 'epochs'"),
        ("epochs=1,", "Expected numbers for epochs in the grid, but got ''"),
        ("epochs=0", "above 0, but got 0.0"),
        ("learning_rate=-1", "at least 0.0, but got -1.0"),
        ("learning_rate=nan", "finite number, but got nan"),
        ("batch_size=2.5", "whole numbers for batch_size in the grid, but got '2.5'"),
        ("batch_size=0", "at least 1, but got 0"),
        ("activation=softmx", "Did you mean 'softmax'"),
    ],
)
def test_bad_grids_are_told(text, said):
    with pytest.raises(ValueError, match=said):
        parse_grid(text)

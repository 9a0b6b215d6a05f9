"""Grids as JSON."""

import pytest

from rightreasons.behavior.learning.options import parse_grid


def test_every_combination_comes_once():
    assert parse_grid(
        '{"learning_rate": [2e-5, 5e-5], "batch_size": [8, 16], "activation": ["sigmoid"]}'
    ) == [
        {"learning_rate": 2e-5, "batch_size": 8, "activation": "sigmoid"},
        {"learning_rate": 2e-5, "batch_size": 16, "activation": "sigmoid"},
        {"learning_rate": 5e-5, "batch_size": 8, "activation": "sigmoid"},
        {"learning_rate": 5e-5, "batch_size": 16, "activation": "sigmoid"},
    ]
    assert parse_grid("") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"learning_rat": [1]}', "Did you mean 'learning_rate'"),
        ("epochs", "Expected JSON in the grid"),
        ('{"epochs": 1}', 'a grid such as .* but got {"epochs": 1}'),
        ('{"epochs": []}', "a grid such as"),
        ("[1]", "a grid such as"),
        ('{"epochs": [0]}', "above 0, but got 0.0"),
        ('{"learning_rate": [-1]}', "at least 0.0, but got -1.0"),
        ('{"batch_size": [2.5]}', "`batch_size`"),
        ('{"batch_size": [0]}', "at least 1, but got 0"),
        ('{"activation": ["softmx"]}', "Did you mean 'softmax'"),
    ],
)
def test_bad_grids_are_told(text, said):
    with pytest.raises((TypeError, ValueError), match=said):
        parse_grid(text)

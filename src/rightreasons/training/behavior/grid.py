"""A grid of training options in one line of text: every combination of the values of each option."""

from __future__ import annotations

import itertools
from typing import Any

from rightreasons.foundations.validation import check_one_of, check_options
from rightreasons.training.behavior.options import LearningOptions


def parse_grid(text: str) -> list[dict[str, Any]]:
    """Read a grid such as "learning_rate=2e-5,5e-5 epochs=1,2".

    Args:
        text: Space-separated options of `train_on_behavior`, each with its comma-separated values.

    Returns:
        Every combination, the last option changing fastest; [] for an empty text.

    Raises:
        ValueError: If an option is unknown, is repeated, or has a value out of its range.

    Example:
        >>> parse_grid("learning_rate=2e-5,5e-5 epochs=1,2")[1]
        {'learning_rate': 2e-05, 'epochs': 2.0}
    """
    columns: dict[str, list[Any]] = {}
    for word in text.split():
        name, equals, values = word.partition("=")
        if not equals or not name:
            raise ValueError(f"Expected option=value,value in the grid, but got {word!r}.")
        check_options({name: values}, LearningOptions.names(), "the grid")
        if name in columns:
            raise ValueError(f"Expected each option of the grid once, but got {name!r} again.")
        columns[name] = [_value(name, value) for value in values.split(",")]
        if len(set(columns[name])) < len(columns[name]):
            raise ValueError(f"Expected different values of {name!r} in the grid, but got {values}.")
    rows = itertools.product(*columns.values()) if columns else ()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _value(name: str, text: str) -> Any:
    """Read a value as the type of the option's default, and check it as the option does."""
    kind = type(getattr(LearningOptions(), name))
    value: Any = text
    if kind is bool:
        value = check_one_of(text.lower(), ("true", "false"), f"{name} in the grid") == "true"
    elif kind is not str:
        try:
            value = kind(text)
        except ValueError:
            numbers = "whole numbers" if kind is int else "numbers"
            raise ValueError(f"Expected {numbers} for {name} in the grid, but got {text!r}.") from None
    return getattr(LearningOptions(**{name: value}), name)

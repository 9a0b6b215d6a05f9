"""A grid of training options in one line of text: every combination of the values of each option."""

from __future__ import annotations

import itertools
from typing import Any

from rightreasons.foundations.validation import check_count, check_number, check_one_of, check_options
from rightreasons.training.behavior.losses import ACTIVATIONS
from rightreasons.training.behavior.runner import OPTIONS

_POSITIVE = ("learning_rate", "head_learning_rate", "epochs")


def parse_grid(text: str) -> list[dict[str, Any]]:
    """Read a grid such as "learning_rate=2e-5,5e-5 epochs=1,2".

    Args:
        text: Options of `train_on_behavior`, parted by spaces, each with its values, parted by commas.

    Returns:
        Every combination, the last option changing fastest; [] for a text without words.

    Raises:
        ValueError: If an option is unknown, comes twice, or has a value that it cannot take.

    Example:
        >>> parse_grid("learning_rate=2e-5,5e-5 epochs=1,2")[1]
        {'learning_rate': 2e-05, 'epochs': 2.0}
    """
    columns: dict[str, list[Any]] = {}
    for word in text.split():
        name, equals, listed = word.partition("=")
        if not equals or not name:
            raise ValueError(f"Expected option=value,value in the grid, but got {word!r}.")
        check_options({name: listed}, OPTIONS, "the grid")
        if name in columns:
            raise ValueError(f"Expected each option once in the grid, but {name!r} comes again.")
        columns[name] = [_value(name, value) for value in listed.split(",")]
        if len(set(columns[name])) < len(columns[name]):
            raise ValueError(f"Expected different values of {name!r} in the grid, but got {listed}.")
    return (
        [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())] if columns else []
    )


def _value(name: str, text: str) -> Any:
    where = f"{name} in the grid"
    if name == "activation":
        return check_one_of(text, ACTIVATIONS, where)
    if name == "detach":
        return check_one_of(text.lower(), ("true", "false"), where) == "true"
    if name not in (*_POSITIVE, "batch_size"):
        return text  # what else there is, its own check knows
    try:
        number = float(text)
    except ValueError as error:
        raise ValueError(f"Expected numbers parted by commas for {where}, but got {text!r}.") from error
    if name == "batch_size":
        if not number.is_integer():
            raise ValueError(f"Expected whole numbers for {where}, but got {text!r}.")
        return check_count(int(number), where)
    if check_number(number, where, minimum=0.0) == 0:
        raise ValueError(f"Expected `{where}` to be above 0, but got {text!r}.")
    return number

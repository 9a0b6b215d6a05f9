"""One tester for all measures: every kernel and every evaluate module goes through the same checks.

A `Measure` is something that computes figures from columns with a value per item. The tests of
`test_every_measure.py` bring its columns into other types, orders and conditions; `Peer` compares a
figure with that of another library or of a plain formula.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import rightreasons
from kernel_inputs import KERNELS
from module_inputs import MODULES, loaded
from rightreasons.core.results import to_plain_python

# ----------------------------------------------------------------------------------- the measures


@dataclasses.dataclass(frozen=True)
class Measure:
    """A kernel or an evaluate module under test.

    Attributes:
        name: Name of the test case.
        compute: Function of the columns by name, which returns plain figures.
        columns: Values per item, by name.
    """

    name: str
    compute: Callable[..., Any]
    columns: Mapping[str, Sequence[Any]]


def make_kernel_measure(name: str) -> Measure:
    """Make the measure of a kernel of `kernel_inputs`."""
    function, columns, options = KERNELS[name]

    def compute(**inputs: Any) -> Any:
        result = function(**inputs, **options)
        return result if isinstance(result, dict) else to_plain_python(result)

    return Measure(f"kernel {name}", compute, columns)


def make_module_measure(name: str) -> Measure:
    """Make the measure of a module of `module_inputs`."""
    columns, options = MODULES[name]
    module = loaded(name)
    return Measure(f"module {name}", lambda **inputs: module.compute(**inputs, **options), columns)


def list_measures() -> list[Any]:
    """List a test parameter for every kernel and module."""
    names = [("kernel", name) for name in KERNELS] + [("module", name) for name in MODULES]
    return [pytest.param(*pair, id=" ".join(pair)) for pair in names]


def make_measure(kind: str, name: str) -> Measure:
    """Make the measure of a kernel or a module."""
    return make_kernel_measure(name) if kind == "kernel" else make_module_measure(name)


# -------------------------------------------------------------------------------- types of inputs

FLOAT_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "float16": lambda values: np.array(values, dtype=np.float16),
    "float32": lambda values: np.array(values, dtype=np.float32),
    "float64": lambda values: np.array(values, dtype=np.float64),
    "torch float16": lambda values: torch.tensor(values, dtype=torch.float16),
    "torch bfloat16": lambda values: torch.tensor(values, dtype=torch.bfloat16),
    "torch float32 with gradient": lambda values: torch.tensor(values, requires_grad=True),
}
INTEGER_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "int8": lambda values: np.array(values, dtype=np.int8),
    "int32": lambda values: np.array(values, dtype=np.int32),
    "uint8": lambda values: np.array(values, dtype=np.uint8),
    "torch int64": lambda values: torch.tensor(values),
}
FLAG_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "numpy bool": np.array,
    "torch bool": torch.tensor,
    "pandas boolean": lambda values: pd.array(values, dtype="boolean"),
}
TEXT_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "numpy text": np.array,
    "objects": lambda values: np.array(values, dtype=object),
}
ALL_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "pandas": lambda values: pd.DataFrame(values) if is_table(values) else pd.Series(values),
    "list of arrays": lambda values: [np.array(value) for value in values],
}


def is_table(values: Sequence[Any]) -> bool:
    """Return whether the items are rows of numbers of one length."""
    if not isinstance(values[0], list) or isinstance(values[0][0], str):
        return False
    return len({len(row) for row in values}) == 1


def list_types(values: Sequence[Any]) -> dict[str, Callable[[Any], Any]]:
    """List the types that can hold the values of a column."""
    value = values[0][0] if isinstance(values[0], list) else values[0]
    by_kind = {bool: FLAG_TYPES, int: INTEGER_TYPES, float: FLOAT_TYPES, str: TEXT_TYPES}
    types = {**ALL_TYPES, **by_kind[type(value)]}
    if isinstance(value, str):
        # A text in an array of its own is an array without dimensions, which is no text.
        if not isinstance(values[0], list):
            del types["list of arrays"]
        # A table of pandas has columns of numbers.
        if isinstance(values[0], list):
            del types["pandas"]
    if isinstance(value, int) and min(np.ravel(values)) < 0:
        del types["uint8"]
    return types


# -------------------------------------------------------------------------- outcomes and comparison

BY_ITEM = {
    *("passed", "examples", "sets", "consistent", "differences", "predictions", "cued", "credits"),
    *("fim_difficulty", "scale_free", "confidences", "error", "failures"),
}
"""Keys of results that list values in the order of the items."""


def list_figures(result: Any, path: str = "", *, by_item: bool = True) -> dict[str, Any]:
    """List every figure of a result by its path.

    Args:
        result: Plain result.
        path: Path of the result in a larger one.
        by_item: Whether to include figures that are listed by item.
    """
    if isinstance(result, Mapping):
        members = list(result.items())
    elif isinstance(result, (list, tuple)):
        members = list(enumerate(result))
    else:
        return {path: result}
    figures = {}
    for name, member in members:
        if by_item or name not in BY_ITEM:
            figures.update(list_figures(member, f"{path}.{name}", by_item=by_item))
    return figures


def assert_equal(result: Any, expected: Any, *, by_item: bool = True) -> None:
    """Assert that two results have the same figures, but for the rounding of sums."""
    figures = list_figures(result, by_item=by_item)
    expected_figures = list_figures(expected, by_item=by_item)
    assert figures.keys() == expected_figures.keys()
    for path, value in expected_figures.items():
        if isinstance(value, float) and math.isfinite(value):
            assert figures[path] == pytest.approx(value, rel=1e-7, abs=1e-9), path
        else:
            assert figures[path] == value, path


def get_outcome(compute: Callable[[], Any]) -> Any:
    """Return a result as JSON, or the type and the message of a user's error.

    Any other exception, a warning of numpy, NaN or an infinity fails the test.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return json.dumps(compute(), allow_nan=False)
        except (TypeError, ValueError) as error:
            message = str(error)
            assert message.startswith("Expected "), message
            assert "\n" not in message, message
            return type(error), message


# --------------------------------------------------------------------------------- degenerate input


def replace_last(values: Sequence[Any], value: Any) -> list[Any]:
    """Return the values with another last one; in rows, the last value of the last row."""
    if isinstance(values[-1], list):
        return [*values[:-1], [*values[-1][:-1], value]]
    return [*values[:-1], value]


REFUSED_CONDITIONS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "no items": lambda values: [],
    "None": lambda values: None,
    "None inside": lambda values: replace_last(values, None),
    "an object inside": lambda values: replace_last(values, object()),
    "a dictionary": lambda values: dict(enumerate(values)),
    "a set": lambda values: set(map(str, values)),
    "one value": lambda values: 0,
    "a text": lambda values: "text",
    "nested": lambda values: [[[[value]]] for value in values],
}
"""Conditions of a column that no measure accepts."""

REFUSED_NUMBERS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "NaN inside": lambda values: replace_last(values, math.nan),
    "infinity inside": lambda values: replace_last(values, math.inf),
    "a text inside": lambda values: replace_last(values, "x"),
    "a huge number inside": lambda values: replace_last(values, 10**400),
    "complex numbers": lambda values: np.array(values, dtype=complex),
}
"""Conditions of a column of numbers that no measure accepts."""


# --------------------------------------------------------------------------------------------- peers


@dataclasses.dataclass(frozen=True)
class Peer:
    """The same figure from here and from another library, or from a plain formula.

    Attributes:
        name: Name of the figure and of the peer.
        ours: Function of `PeerItems` that returns one figure or an array of them.
        theirs: Function of `PeerItems` that returns the figures of the peer.
        package: Package of the peer that must be installed; None for a formula.
        tolerance: Largest absolute difference.
    """

    name: str
    ours: Callable[[PeerItems], Any]
    theirs: Callable[[PeerItems], Any]
    package: str | None = None
    tolerance: float = 1e-9


@dataclasses.dataclass(frozen=True)
class PeerItems:
    """Random items for a comparison with a peer.

    Attributes:
        probabilities: (N, K) class probabilities.
        labels: (N,) labels, more often than not the most probable class.
        predictions: (N,) predicted classes of another model.
    """

    probabilities: Any
    labels: Any
    predictions: Any

    @classmethod
    def draw(cls, n_items: int, n_classes: int, seed: int) -> PeerItems:
        """Draw items."""
        rng = np.random.default_rng(seed)
        probabilities = np.exp(rng.normal(size=(n_items, n_classes)) * 2)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        guesses = rng.integers(n_classes, size=n_items)
        is_likely = rng.random(n_items) < 0.7
        labels = np.where(is_likely, probabilities.argmax(axis=1), guesses)
        return cls(probabilities, labels, rng.integers(n_classes, size=n_items))

    @property
    def confidence(self) -> Any:
        """(N,) largest probability of each item."""
        return self.probabilities.max(axis=1)

    @property
    def is_correct(self) -> Any:
        """(N,) whether the most probable class is the label."""
        return self.probabilities.argmax(axis=1) == self.labels


def load_module(name: str, **options: Any) -> Any:
    """Load an evaluate module that no other test uses."""
    return rightreasons.load(name.split()[0], **options)

"""Brings what a user hands in to numpy, or raises one sentence."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def kind_of(value: object) -> str:
    """Say what a value is, for an error."""
    return "None" if value is None else f"{value!r} ({type(value).__name__})"[:80]


def is_tensor(value: object) -> bool:
    """Tell whether a value is a tensor of torch."""
    # Recognize a tensor by its methods, so that this module need not import torch.
    return hasattr(value, "detach") and hasattr(value, "cpu")


def to_numpy(values: Any, name: str) -> NDArray[Any]:
    """Bring an array, a tensor or a list to numpy."""
    if values is None:
        raise TypeError(f"Expected `{name}`, but got None.")
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected `{name}` to be an array or a list, but got {kind_of(values)}.")
    if is_tensor(values):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":  # numpy has no bfloat16
            values = values.float()
        return np.asarray(values.numpy())
    if not isinstance(values, np.ndarray) and not hasattr(values, "__array__"):
        values = list(values)
        if any(value is None for value in values):
            item = next(i for i, value in enumerate(values) if value is None)
            raise ValueError(f"Expected a value in each item of `{name}`, but item {item} is None.")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"Expected the rows of `{name}` to have one length, but they differ; "
            "rows of different lengths are for kind='top_label' of a multiple-choice task."
        ) from error


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Bring numbers to float64."""
    array = to_numpy(values, name)
    if array.dtype == object:
        flat = array.reshape(-1)
        for index, value in enumerate(flat):
            if value is None or not isinstance(value, numbers.Real):
                raise TypeError(f"Expected numbers in `{name}`, but value {index} is {kind_of(value)}.")
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiu":
        sample = array.reshape(-1)[0].item() if array.size else None
        raise TypeError(f"Expected numbers in `{name}`, but the first value is {kind_of(sample)}.")
    return array.astype(np.float64, copy=False)

"""The base of every frozen result, and the way to plain Python values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class Result:
    """Base of every frozen result: `to_dict` gives plain Python values, ready for JSON.

    Example:
        >>> import dataclasses, numpy as np
        >>> @dataclasses.dataclass(frozen=True)
        ... class Mean(Result):
        ...     mean: float
        ...     counts: object
        >>> Mean(np.float32(0.5), np.array([1, 2])).to_dict()
        {'mean': 0.5, 'counts': [1, 2]}
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in their order as float, int, str, bool, list, dict and None."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Turn a value into plain Python; NaN and infinities, which must never leave the library, are an error."""
    if isinstance(value, Result):
        return value.to_dict()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not np.isfinite(value):
            raise ValueError(f"Expected a finite figure in a result, but got {value}.")
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    raise TypeError(f"Expected a plain value in a result, but got {type(value).__name__}.")

"""The base of every frozen result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NOT_SERIALIZED = {"told": False}
"""Metadata of a field that is no part of the result in JSON, such as the pixels of a picture."""


class Result:
    """Base of every frozen result: `to_dict` gives plain Python values, ready for JSON, but for fields of `NOT_SERIALIZED`.

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
        fields = (field for field in dataclasses.fields(self) if field.metadata != NOT_SERIALIZED)  # type: ignore[arg-type]
        return {field.name: to_plain_python(getattr(self, field.name)) for field in fields}


def to_plain_python(value: Any) -> Any:
    """Turn a value into plain Python; NaN and infinities, which must never leave the library, are an error."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        return to_plain_python(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"Expected a finite figure in a result, but got {value}.")
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_plain_python(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain_python(item) for item in value]
    raise TypeError(f"Expected a plain value in a result, but got {type(value).__name__}.")

"""The base class of results, and their conversion to plain Python values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

NOT_SERIALIZED = {"is_serialized": False}
"""Metadata of a field that `to_dict` leaves out, such as the pixels of a picture."""

_PLAIN_TYPES = frozenset((type(None), bool, int, str))
"""Types whose values are plain as they are. A float must also be finite."""


class Result:
    """Base of every frozen result, a dataclass.

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
        """Return the fields as plain Python values, ready for JSON.

        Fields that are declared with the metadata `NOT_SERIALIZED` are excluded.
        """
        values: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if not field.metadata.get("is_serialized", True):
                continue
            value = getattr(self, field.name)
            # Most fields are plain already, and a call for each field of a long table is slow.
            is_plain = type(value) in _PLAIN_TYPES
            if type(value) is float:
                is_plain = math.isfinite(value)
            if not is_plain:
                value = to_plain_python(value)
            values[field.name] = value
        return values


def to_plain_python(value: Any) -> Any:
    """Convert a value to plain Python, ready for JSON.

    Args:
        value: A number, a string, None, an array, a `Result`, or a mapping or sequence of these.

    Returns:
        float, int, str, bool, None, or lists and dictionaries of them.

    Raises:
        ValueError: If a number is not finite: NaN and infinities must not leave the library.
        TypeError: If a value has no plain form.
    """
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        return to_plain_python(value.tolist())
    # A figure that is undefined must be None, with the reason in its docstring.
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"Expected a finite figure in a result, but got {value}.")
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, Mapping):
        members: dict[str, Any] = {}
        for key, member in value.items():
            # The keys of JSON objects are strings.
            members[str(key)] = to_plain_python(member)
        return members
    if isinstance(value, Sequence):
        types = set(map(type, value))
        if types <= _PLAIN_TYPES:
            return list(value)
        return [to_plain_python(member) for member in value]
    raise TypeError(f"Expected a plain value in a result, but got {type(value).__name__}.")

"""The one place where columns come in: brings what a user hands in to numpy or to lists, or raises one sentence.

Types are recognized by what they can do, so that neither torch nor pandas nor pyarrow is imported here.
"""

from __future__ import annotations

import importlib
import itertools
import numbers
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

_REFUSED = (str, bytes, bytearray, Mapping, Set)
_LEAVES = (numbers.Number, np.generic, type(None), *_REFUSED)
_MISSING = ("NAType", "NaTType")
_DEEPEST = 8


def kind_of(value: object) -> str:
    """Say what a value is, for an error."""
    plain = value.item() if isinstance(value, np.generic) else value
    text = repr(plain).replace("\n", " ")
    return "None" if value is None else f"{text} ({type(value).__name__})"[:80]


def is_tensor(value: object) -> bool:
    """Tell whether a value is a tensor of torch."""
    # Recognize a tensor by its methods, so that this module need not import torch.
    return hasattr(value, "detach") and hasattr(value, "cpu")


def ingest(values: Any, name: str, expected: str = "an array or a list") -> Any:
    """Bring a column or a table in any accepted form to an array of numbers, or to a list.

    Args:
        values: A list, a tuple, a generator, a numpy array, a tensor, anything with `__array__` or `__dlpack__`, a
            Series or a DataFrame of pandas or polars, an Array, a ChunkedArray or a Table of pyarrow, or a Column or a
            Dataset of datasets. The columns of a table are classes, in their order.
        name: What the caller calls it.
        expected: What it should be, for an error.

    Returns:
        An array of one or more dimensions, or a list of values or rows. Missing values are None in a list.

    Raises:
        TypeError: If it has no order (a set), is keyed (a dictionary), is a single value or text, has a mask, or is a
            table with a column that does not hold numbers.
        ValueError: If the columns of a table are numbered in another order than that of the classes.

    Example:
        >>> ingest((value / 2 for value in range(3)), "predictions")
        [0.0, 0.5, 1.0]
        >>> ingest({0, 1}, "references")
        Traceback (most recent call last):
        ...
        TypeError: Expected `references` to be an array or a list, but got {0, 1} (set).
    """
    if type(values) is list:
        return _items(values, name, 0)
    return _ingest(values, name, expected, 0)


def to_numpy(values: Any, name: str) -> NDArray[Any]:
    """Bring a column or a table in any accepted form to numpy."""
    values = ingest(values, name)
    if isinstance(values, np.ndarray):
        return values
    types = set(map(type, values))
    if type(None) in types:
        item = next(i for i, value in enumerate(values) if value is None)
        raise ValueError(f"Expected a value in each item of `{name}`, but item {item} is None.")
    mixed = len(types) > 1 and bool(types & {bool, np.bool_})
    try:
        array = np.asarray(values, dtype=object if mixed else None)
        # numpy turns numbers beside a text into texts, and large whole numbers into floats.
        if array.dtype.kind in "US" or (array.dtype.kind == "f" and types == {int}):
            return np.array(values, dtype=object)
        return array
    except OverflowError:
        return np.array(values, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"Expected the rows of `{name}` to have one length, but they differ; "
            "rows of different lengths are for kind='top_label' of a multiple-choice task."
        ) from error


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Bring numbers to float64."""
    array = to_numpy(values, name)
    if array.dtype == object:
        for index, value in enumerate(array.reshape(-1)):
            if not isinstance(value, numbers.Real):
                raise TypeError(f"Expected numbers in `{name}`, but value {index} is {kind_of(value)}.")
            try:
                float(value)
            except OverflowError:
                raise ValueError(
                    f"Expected finite numbers in `{name}`, but value {index} is too large for a float."
                ) from None
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiu":
        sample = array.reshape(-1)[0].item() if array.size else None
        raise TypeError(f"Expected numbers in `{name}`, but the first value is {kind_of(sample)}.")
    return array.astype(np.float64, copy=False)


# ------------------------------------------------------------------------------------------------------------- private


def _ingest(values: Any, name: str, expected: str, depth: int) -> Any:
    if values is None:
        raise TypeError(f"Expected `{name}`, but got None.")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"Expected `{name}` without a mask, but got a masked array: leave the masked items out of all columns, or "
            "fill them with `.filled(value)`."
        )
    if isinstance(values, np.ndarray):
        return _from_array(values, name, expected, depth)
    if isinstance(values, _REFUSED):
        raise TypeError(f"Expected `{name}` to be {expected}, but got {kind_of(values)}.")
    if is_tensor(values):
        return _from_array(_from_tensor(values, name), name, expected, depth)
    columns = _columns_of(values)
    if columns is not None:
        return _from_columns(*columns, name)
    if hasattr(values, "column_name") and hasattr(values, "__getitem__"):  # a column of datasets
        return _ingest(values[:], name, expected, depth)
    if hasattr(values, "to_pylist") or hasattr(values, "to_numpy"):
        return _from_series(values, name, depth)
    for method, convert in (("__array__", np.asarray), ("__dlpack__", np.from_dlpack), ("__arrow_c_stream__", _table)):
        if hasattr(values, method):
            try:
                converted = convert(values)
            except Exception as error:
                raise TypeError(
                    f"Expected `{name}` to be {expected}, but `{method}` of a {type(values).__name__} failed."
                ) from error
            return _ingest(converted, name, expected, depth)
    if not isinstance(values, Iterable) and not hasattr(values, "__getitem__"):
        raise TypeError(f"Expected `{name}` to be {expected}, but got {kind_of(values)}.")
    return _items(list(values), name, depth)


def _items(values: list[Any], name: str, depth: int) -> list[Any]:
    """Bring the items of a list to plain values, lists and arrays; a list of these is returned as it is."""
    if depth > _DEEPEST:
        raise ValueError(f"Expected rows of values, but `{name}` is nested deeper than {_DEEPEST} levels.")
    types = set(map(type, values))
    if types == {list}:
        inner = set(map(type, itertools.chain.from_iterable(values)))
        if _are_leaves(inner):
            return values
    elif _are_leaves(types):
        return values
    return [_item(value, f"{name}[{index}]", depth + 1) for index, value in enumerate(values)]


def _are_leaves(types: set[type]) -> bool:
    return all(issubclass(kind, _LEAVES) for kind in types)


def _item(value: Any, name: str, depth: int) -> Any:
    if type(value) is list:
        return _items(value, name, depth)
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, _LEAVES):
        return value
    if hasattr(value, "as_py"):  # a scalar of pyarrow
        return _item(value.as_py(), name, depth)
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.ma.MaskedArray):
        return _from_tensor(value, name).item() if is_tensor(value) else np.asarray(value).item()
    if isinstance(value, Iterable) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return _ingest(value, name, "an array or a list", depth)
    return value


def _from_array(values: NDArray[Any], name: str, expected: str, depth: int) -> Any:
    if values.ndim == 0:
        raise TypeError(f"Expected `{name}` to be {expected}, but got the single value {kind_of(values[()])}.")
    if values.dtype.kind in "OUST":
        return _items(values.tolist(), name, depth)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return np.asarray(values)


def _from_tensor(values: Any, name: str) -> NDArray[Any]:
    try:
        tensor = values.detach().cpu()
        if str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":
            tensor = tensor.to_dense()
        if str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8")):  # numpy has neither
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise TypeError(
            f"Expected `{name}` to be a tensor that numpy can hold, but got one of {values.dtype} on {values.device}."
        ) from error


def _table(values: Any) -> Any:
    return importlib.import_module("pyarrow").table(values)


def _columns_of(values: Any) -> tuple[list[Any], list[Any]] | None:
    """Return the names and the columns of a table, or None if it is none."""
    if hasattr(values, "iloc") and hasattr(values, "columns"):  # pandas
        names = list(values.columns)
        return names, [values.iloc[:, index] for index in range(len(names))]
    if hasattr(values, "get_columns"):  # polars
        return list(values.columns), list(values.get_columns())
    if hasattr(values, "column_names") and hasattr(values, "__getitem__"):
        table = values.with_format("arrow")[:] if hasattr(values, "with_format") else values  # datasets or pyarrow
        return list(table.column_names), list(table.columns)
    return None


def _from_columns(names: list[Any], columns: list[Any], name: str) -> NDArray[Any]:
    if not columns:
        raise ValueError(f"Expected at least one column in `{name}`, but it has none.")
    arrays = []
    for label, column in zip(names, columns, strict=True):
        if str(getattr(column, "dtype", "")) == "object":
            raise TypeError(f"Expected numbers in each column of `{name}`, but column {label!r} holds objects.")
        array = to_numpy(column, f"{name}[{label!r}]")
        if array.dtype.kind not in "iuf" or array.ndim != 1:
            sample = array.reshape(-1)[0] if array.size else None
            raise TypeError(
                f"Expected numbers in each column of `{name}`, but column {label!r} holds {kind_of(sample)}."
            )
        arrays.append(array)
    numbered = [int(label) for label in names if str(label).isdecimal()]
    if len(numbered) == len(names) and numbered != sorted(numbered):
        listed = ", ".join(map(str, numbered))
        raise ValueError(f"Expected the columns of `{name}` in the order of the classes, but got {listed}.")
    return np.column_stack(arrays)


def _from_series(values: Any, name: str, depth: int) -> Any:
    """Bring a column of pyarrow, pandas or polars to numpy, or to a list if it holds other things than numbers."""
    if hasattr(values, "to_pylist"):
        missing, options, to_list = values.null_count, {"zero_copy_only": False}, values.to_pylist
    else:
        count = getattr(values, "null_count", None)
        own_type = not isinstance(getattr(values, "dtype", None), np.dtype)
        missing = count() if callable(count) else hasattr(values, "isna") and own_type and values.isna().any()
        options, to_list = {}, getattr(values, "tolist", None) or values.to_list
    if not missing:
        array = np.asarray(values.to_numpy(**options))
        if array.dtype.kind in "biuf" and array.ndim:
            return array
    return _items(to_list(), name, depth)

"""Conversion of what users hand in: any column or table becomes a numpy array or a list.

`to_array_or_list` is the entry point. It accepts lists, generators, and the arrays, tensors,
columns and tables of other libraries, and raises one sentence for everything else. `to_numpy` and
`to_floats` go on to an array, and to an array of numbers. Types are recognized by their methods, so
that neither torch nor pandas nor pyarrow is imported here.
"""

from __future__ import annotations

import dataclasses
import itertools
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.public_api import warn_of_new_name

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]

BLOCK_SIZE = 32_768
"""Number of rows processed at once: a block of them stays in the processor's cache."""

_UNSUPPORTED_TYPES = (str, bytes, bytearray, Mapping, Set, type)
"""Types that can be iterated over, but are no column: texts, and what is keyed or has no order."""

_LEAF_TYPES = (numbers.Number, type(None), *_UNSUPPORTED_TYPES)
"""Types of items that are left as they are."""

_MISSING_TYPE_NAMES = ("NAType", "NaTType")
"""Names of the types of the missing values of pandas."""

_MAX_NESTING_DEPTH = 8
_MAX_VALUE_CHARACTERS = 60
_MAX_REASON_CHARACTERS = 260

CLASS_COLUMNS: Mapping[str, str | None] = {
    "p": "probabilities",
    "prob": "probabilities",
    "proba": "probabilities",
    "probs": "probabilities",
    "probability": "probabilities",
    "logit": "logits",
    "logits": "logits",
    "log_prob": "log_probabilities",
    "log_probability": "log_probabilities",
    "logprob": "log_probabilities",
    "logp": "log_probabilities",
    "score": None,
}
"""Prefix of a column of scores of one class (`p_positive`, `p0`, `logit_2`) -> kind of score."""

_CLASS_COLUMN_PATTERN = re.compile(
    rf"({'|'.join(CLASS_COLUMNS)})(?:[_:. ]+(.+)|\((.+)\)|\[(.+)\]|(\d+))(?:\s*[\[(]%[\])])?"
)


def describe_kind(value: object) -> str:
    """Describe a value and its type for an error message, in one line of limited length.

    Args:
        value: Any object.

    Example:
        >>> describe_kind(0.5), describe_kind(None), describe_kind(np.str_("good"))
        ('0.5 (float)', 'None', "'good' (str)")
    """
    if value is None:
        return "None"
    # Users know `0.5`, but not numpy's `np.float64(0.5)`.
    if isinstance(value, np.generic):
        value = value.item()
    type_name = type(value).__name__
    # `repr` fails for a number of thousands of digits, or by a mistake in a user's class.
    try:
        text = repr(value)
    except Exception:
        return f"a value of type {type_name}"
    # Addresses in memory differ between processes, but messages should not.
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = " ".join(text.split())
    if len(text) > _MAX_VALUE_CHARACTERS:
        text = text[:_MAX_VALUE_CHARACTERS] + "..."
    return f"{text} ({type_name})"


def is_tensor(value: object) -> bool:
    """Return whether a value is a torch tensor, judged by its methods."""
    return hasattr(value, "detach") and hasattr(value, "cpu")


def parse_class_column(name: str) -> tuple[str | None, str]:
    """Split the name of a column of scores, such as "p_yes", into its prefix and its class.

    Args:
        name: Name of the column, such as "p_yes", "P(yes)", "logit[2]", "logit2" or "yes".

    Returns:
        The prefix in lower case, one of `CLASS_COLUMNS`, and the name of the class. If a name has
        no such prefix, the prefix is None, and the whole name is that of the class.

    Example:
        >>> parse_class_column("p_Positive"), parse_class_column("logit2")
        (('p', 'Positive'), ('logit', '2'))
        >>> parse_class_column("joy"), parse_class_column("P(Up) [%]")
        ((None, 'joy'), ('p', 'Up'))
    """
    match = _CLASS_COLUMN_PATTERN.fullmatch(name.lower())
    if match is None:
        return None, name
    # The prefix is followed by one of four forms, `_x`, `(x)`, `[x]` or a number, each with its own
    # group. So the last group that matched is the class. It is sliced from the original name,
    # because the pattern matched a copy in lower case.
    start, end = match.span(match.lastindex or 0)
    class_name = name[start:end]
    return match[1], class_name


def find_column_classes(values: Any) -> tuple[str, ...] | None:
    """Find the names of the classes in the headings of a table of class scores.

    Args:
        values: Class scores in any form, such as a table with the columns "p_no" and "p_yes".

    Returns:
        One name per column, or None if the input is not a table, the columns are numbered, or a
        name is repeated.

    Example:
        >>> import pyarrow
        >>> find_column_classes(pyarrow.table({"p_no": [0.5], "p_yes": [0.5]}))
        ('no', 'yes')
        >>> find_column_classes([[0.5, 0.5]]) is None
        True
    """
    if isinstance(values, (np.ndarray, list, tuple, *_UNSUPPORTED_TYPES)):
        return None
    if is_tensor(values):
        return None
    # A table that cannot be read is reported by `to_array_or_list`, not here.
    try:
        table = read_columns(values)
    except Exception:
        return None
    if table is None:
        return None

    headings, _ = table
    names = []
    for heading in headings:
        _, class_name = parse_class_column(str(heading))
        names.append(class_name)
    is_numbered = all(name.isdecimal() for name in names)
    is_repeated = len(set(names)) < len(names)
    if is_numbered or is_repeated:
        return None
    return tuple(names)


# ---------------------------------------------------------------------------------- entry points


def to_array_or_list(
    values: Any, name: str, expected: str = "an array or a list", depth: int = 0
) -> Any:
    """Convert a column or a table in any accepted form to an array of numbers, or to a list.

    Args:
        values: A list, a tuple, a generator, a numpy array, a tensor, anything with `__array__`, a
            Series or a DataFrame of pandas or polars, an Array, a ChunkedArray or a Table of
            pyarrow, or a Column or a Dataset of datasets. The columns of a table are classes, in
            their order or by their numbers (`p_1, p_0`).
        name: Name of the input in error messages.
        expected: Description of the accepted input in error messages.
        depth: Number of lists that contain the values.

    Returns:
        An array of one or more dimensions, or a list of values or rows. Missing values are None in
        a list.

    Raises:
        TypeError: If the input has no order (a set), is keyed (a dictionary), is a single value or
            text, has a mask, is a table with a column that does not contain numbers, or cannot be
            read.
        ValueError: If the columns of a table are numbered in another order, and not from 0.

    Example:
        >>> to_array_or_list((value / 2 for value in range(3)), "predictions")
        [0.0, 0.5, 1.0]
        >>> to_array_or_list({0, 1}, "references")
        Traceback (most recent call last):
        ...
        TypeError: Expected `references` to be an array or a list, but got {0, 1} (set).
    """
    if type(values) is list:
        return _convert_items(values, name, depth)
    if values is None:
        raise TypeError(f"Expected `{name}`, but got None.")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"Expected `{name}` without a mask, but got a masked array.")
    if isinstance(values, np.ndarray):
        return _convert_array(values, name, expected, depth)
    if isinstance(values, _UNSUPPORTED_TYPES):
        kind = describe_kind(values)
        raise TypeError(f"Expected `{name}` to be {expected}, but got {kind}.")
    if is_tensor(values):
        return _convert_array(_convert_tensor(values, name), name, expected, depth)
    return _convert_foreign(values, name, expected, depth)


def to_numpy(values: Any, name: str) -> Array:
    """Convert a column or a table in any accepted form to a numpy array.

    Texts, booleans among numbers, and whole numbers beyond 64 bits become an array of objects.
    """
    return stack_items(to_array_or_list(values, name), name)


def to_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Convert numbers in any accepted form to a float64 array."""
    return cast_to_floats(to_numpy(values, name), name)


def stack_items(items: Any, name: str) -> Array:
    """Stack the result of `to_array_or_list` into one array.

    Args:
        items: An array, which is returned unchanged, or a list of values or of rows.
        name: Name of the input in error messages.

    Returns:
        (N,) or (N, K) array. It consists of Python objects if numpy would change the values: for
        strings, booleans among numbers, and whole numbers beyond 64 bits.

    Raises:
        ValueError: If an item is missing, rows differ in length, or only some items are rows.
    """
    if isinstance(items, np.ndarray):
        return items
    types = set(map(type, items))
    _check_items_are_alike(items, types, name)
    # Among numbers, numpy would turn True into 1; as an object, it can still be refused.
    has_mixed_booleans = len(types) > 1 and bool in types
    dtype = object if has_mixed_booleans else None
    try:
        array = np.asarray(items, dtype=dtype)
        # numpy turns numbers next to a string into strings, and large whole numbers into floats.
        is_text = array.dtype.kind in "USV"
        is_rounded = array.dtype.kind == "f" and types == {int}
        if is_text or is_rounded:
            array = np.array(items, dtype=object)
        return array
    except OverflowError:
        # Whole numbers beyond 64 bits.
        return np.array(items, dtype=object)
    except ValueError:
        # numpy refuses rows of different lengths.
        if all(map(is_row, items)):
            raise _make_length_error(items, name) from None
        # Objects of other types, such as sequences of a user's class, become the items of a vector.
        # With an additional None, removed again, numpy does not look for a second dimension in them.
        array = np.array([*items, None], dtype=object)
        return array[:-1]


def cast_to_floats(array: Array, name: str) -> NDArray[np.float64]:
    """Check that an array consists of numbers, and return it as float64.

    Args:
        array: An array of any type and shape.
        name: Name of the input in error messages.

    Returns:
        An array of the same shape. If `array` is already float64, it is returned without a copy.

    Raises:
        TypeError: If a value is a boolean, a string or another object.
        ValueError: If a whole number is too large for a float.
    """
    if array.dtype == object:
        for index, value in enumerate(array.reshape(-1)):
            if type(value) is bool or not isinstance(value, numbers.Real):
                raise TypeError(
                    f"Expected numbers in `{name}`, but value {index} is {describe_kind(value)}."
                )
        try:
            array = array.astype(np.float64)
        except OverflowError:
            raise ValueError(
                f"Expected finite numbers in `{name}`, but a value is too large for a float."
            ) from None
    if array.dtype.kind not in "fiu":
        sample = _describe_first_value(array)
        raise TypeError(f"Expected numbers in `{name}`, but the first value is {sample}.")
    # A long double beyond the range becomes infinite, which the checks of values refuse.
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


# --- Lists and their items


def is_row(value: object) -> bool:
    """Return whether an item is a row of values, and not a single value."""
    return isinstance(value, (list, np.ndarray))


def _convert_items(values: list[Any], name: str, depth: int) -> list[Any]:
    """Convert the items of a list to plain Python values, lists and arrays.

    Args:
        values: The list. It is returned itself, without a copy, if no item needs a conversion.
        name: Name of the list in error messages.
        depth: Number of lists that contain the list.

    Raises:
        ValueError: If lists are nested too deeply.
    """
    if depth > _MAX_NESTING_DEPTH:
        raise ValueError(
            f"Expected rows of values, but `{name}` is nested deeper than {_MAX_NESTING_DEPTH} levels."
        )
    # Comparing the few distinct types is much faster than looking at each item. For a list of rows,
    # the types are those of the values in the rows.
    types = set(map(type, values))
    if types == {list}:
        types = set(map(type, itertools.chain.from_iterable(values)))
    # Plain numbers and strings need no conversion.
    if _are_leaf_types(types):
        return values
    items = []
    for index, value in enumerate(values):
        item_name = f"{name}[{index}]"
        items.append(_convert_item(value, item_name, depth + 1))
    return items


def _are_leaf_types(types: set[type]) -> bool:
    if np.str_ in types:
        return False
    return all(issubclass(kind, _LEAF_TYPES) for kind in types)


def _convert_item(value: Any, name: str, depth: int) -> Any:
    """Convert one item of a list to a plain Python value, a list or an array.

    Args:
        value: The item: a number, a string, or a scalar, array or list of any library.
        name: Name of the item in error messages, such as "predictions[3]".
        depth: Number of lists that contain the item.

    Returns:
        The converted item; None for the missing values of pandas.
    """
    if type(value) is list:
        return _convert_items(value, name, depth)
    if type(value).__name__ in _MISSING_TYPE_NAMES:
        return None
    if isinstance(value, (np.bool_, np.str_)):
        return value.item()
    if isinstance(value, (*_LEAF_TYPES, np.generic)):
        return value
    # A scalar of pyarrow.
    if hasattr(value, "as_py"):
        return _convert_item(value.as_py(), name, depth)
    # A single number in a tensor or an array; a masked one is refused below.
    n_dimensions = getattr(value, "ndim", None)
    if n_dimensions == 0 and not isinstance(value, np.ma.MaskedArray):
        if is_tensor(value):
            value = _convert_tensor(value, name)
        return np.asarray(value).item()
    # The item is a row. Objects of other types are returned unchanged, for the caller to check.
    if isinstance(value, Iterable) or hasattr(value, "__array__"):
        return to_array_or_list(value, name, depth=depth)
    return value


def _check_items_are_alike(items: list[Any], types: set[type], name: str) -> None:
    """Refuse a list with missing items, or with rows and single values next to each other.

    Args:
        items: The items, at least one.
        types: Distinct types of the items, so that valid lists need no loop over the items.
        name: Name of the list in error messages.

    Raises:
        ValueError: If an item is None, or if the first item is a row and another one is not, or
            vice versa.
    """
    row_types = types & {list, np.ndarray}
    has_only_rows = row_types == types
    has_only_values = not row_types
    has_missing = type(None) in types
    if (has_only_rows or has_only_values) and not has_missing:
        return
    has_rows = is_row(items[0])
    expected = "a row" if has_rows else "a value"
    for index, item in enumerate(items):
        if item is None or is_row(item) is not has_rows:
            raise ValueError(
                f"Expected {expected} in each item of `{name}`, "
                f"but item {index} is {describe_kind(item)}."
            )


def _make_length_error(rows: Sequence[Any], name: str) -> ValueError:
    """Return the error for rows that do not form a table, which names the first row that differs.

    Args:
        rows: Rows that numpy could not stack.
        name: Name of the table in the message.
    """
    lengths = [len(row) for row in rows]
    for index, length in enumerate(lengths):
        if length != lengths[0]:
            return ValueError(
                f"Expected rows of one length in `{name}`, but row 0 has {lengths[0]} and row "
                f"{index} has {length}."
            )
    # Rows of equal length cannot be stacked if one has a list where another one has a number.
    return ValueError(
        f"Expected rows of one length in `{name}`, but the depths of the rows differ."
    )


def _describe_first_value(array: Array) -> str:
    if array.size == 0:
        return "None"
    values = array.reshape(-1)
    return describe_kind(values[0])


# --- Arrays and tensors


def _convert_array(values: Array, name: str, expected: str, depth: int) -> Any:
    """Return an array of numbers unchanged, and any other array as a list.

    Args:
        values: The array.
        name: Name of the input in error messages.
        expected: Description of the accepted input in error messages.
        depth: Number of lists that contain the array.

    Raises:
        TypeError: If the array has no dimension, or contains records.
    """
    dtype = values.dtype
    if values.ndim == 0:
        value = describe_kind(values[()])
        raise TypeError(f"Expected `{name}` to be {expected}, but got the single value {value}.")
    if dtype.kind == "V":
        raise TypeError(f"Expected `{name}` to be {expected}, but got an array of records.")
    # The items of arrays of objects and strings (O, U, S, T) are converted one by one.
    if dtype.kind in "OUST":
        items = values.tolist()
        return _convert_items(items, name, depth)
    is_long_double = dtype.kind == "f" and dtype.itemsize > 8
    if is_long_double:
        # A value beyond the range becomes infinite, which the checks of values refuse.
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.asarray(values)


def _convert_tensor(values: Any, name: str) -> Array:
    """Convert a torch tensor to a numpy array; bfloat16 and 8-bit floats become float32.

    Args:
        values: The tensor, on any device.
        name: Name of the input in error messages.

    Raises:
        TypeError: If numpy has no such type, or the tensor cannot be copied to the CPU.
    """
    try:
        tensor = values.detach().cpu()
        # numpy has neither bfloat16 nor floats of 8 bits.
        if str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8")):
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise TypeError(
            f"Expected `{name}` to be a tensor that numpy can hold, "
            f"but got one of {values.dtype} on {values.device}."
        ) from error


# ------------------------------------------------------------------------ types of other libraries


def _convert_foreign(values: Any, name: str, expected: str, depth: int) -> Any:
    """Convert an object of another library to an array or a list.

    Args:
        values: A table (pandas, polars, pyarrow, datasets), a column, anything with `__array__`, or
            an iterable.
        name: Name of the input in error messages.
        expected: Description of the accepted input in error messages.
        depth: Number of lists that contain the values.

    Raises:
        TypeError: If the object is none of these, or its library cannot read it.
    """

    def run_conversion(convert: Callable[[Any], Any]) -> Any:
        """Return `convert(values)`, and replace any error by a TypeError that explains it.

        Args:
            convert: Function of the foreign library, such as `np.asarray`.
        """
        try:
            return convert(values)
        except MemoryError:
            raise
        # Foreign code may raise anything.
        except Exception as error:
            _raise_unreadable(values, error, name, expected)

    table = run_conversion(read_columns)
    if table is not None:
        headings, columns = table
        return _convert_columns(headings, columns, name)
    # A column of datasets reads its rows when it is sliced.
    if hasattr(values, "column_name") and hasattr(values, "__len__"):
        sliced = run_conversion(lambda column: column[:])
        return to_array_or_list(sliced, name, expected, depth)
    # A column of pyarrow, pandas or polars.
    if hasattr(values, "to_pylist") or hasattr(values, "to_numpy"):
        series = run_conversion(_convert_series)
        if isinstance(series, np.ndarray):
            return series
        return _convert_items(series, name, depth)
    if hasattr(values, "__array__"):
        array = run_conversion(np.asarray)
        return to_array_or_list(array, name, expected, depth)
    if isinstance(values, Iterable) or hasattr(values, "__getitem__"):
        items = run_conversion(list)
        return _convert_items(items, name, depth)
    raise TypeError(f"Expected `{name}` to be {expected}, but got {describe_kind(values)}.")


def _raise_unreadable(values: Any, error: Exception, name: str, expected: str) -> NoReturn:
    """Raise a TypeError for values that a library could not convert, with the library's reason.

    Args:
        values: The values.
        error: Exception of the library.
        name: Name of the input in the message.
        expected: Description of the accepted input in the message.
    """
    type_name = type(values).__name__
    error_name = type(error).__name__
    reason = f"a {type_name} cannot be read ({error_name}: {error}"
    # Exceptions may have many lines, which are joined and truncated.
    words = reason.split()
    reason = " ".join(words)
    reason = reason[:_MAX_REASON_CHARACTERS]
    raise TypeError(f"Expected `{name}` to be {expected}, but {reason}).") from error


def read_columns(values: Any) -> tuple[list[Any], list[Any]] | None:
    """Return the headings and the columns of a table; None if the input is not a table.

    Tables of pandas, polars, pyarrow and datasets are recognized by their methods, so that none of
    these libraries is imported.

    Args:
        values: A table, or any other object.
    """
    # pandas
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        headings = list(values.columns)
        # Columns are selected by position, because headings may be repeated.
        columns = []
        for index in range(len(headings)):
            column = values.iloc[:, index]
            columns.append(column)
        return headings, columns
    # polars
    if hasattr(values, "get_columns"):
        return list(values.columns), list(values.get_columns())
    if not hasattr(values, "column_names") or not hasattr(values, "__getitem__"):
        return None
    # datasets, which read their rows when they are sliced
    if hasattr(values, "with_format"):
        values = values.with_format("arrow")[:]
    # pyarrow
    return list(values.column_names), list(values.columns)


def _convert_columns(labels: list[Any], columns: list[Any], name: str) -> Array:
    """Stack the columns of a table of class scores into an (N, K) array.

    Args:
        labels: K headings, such as "p_no" and "p_yes", or "p_1" and "p_0".
        columns: K columns of numbers.
        name: Name of the table in error messages.

    Returns:
        (N, K) array. The columns are in the order of the table, or sorted by the numbers of their
        classes if these are numbered.

    Raises:
        TypeError: If a column does not contain numbers.
        ValueError: If there are no columns, or numbers are missing in their sequence.
    """
    if not columns:
        raise ValueError(f"Expected at least one column in `{name}`, but got no columns.")
    arrays = []
    for label, column in zip(labels, columns, strict=True):
        arrays.append(_convert_column(label, column, name))
    classes = []
    for label in labels:
        _, class_name = parse_class_column(str(label))
        classes.append(class_name)
    order = _find_class_order(classes, name)
    ordered_arrays = [arrays[position] for position in order]
    return np.column_stack(ordered_arrays)


def _convert_column(label: Any, column: Any, name: str) -> Array:
    """Convert one column of a table to an (N,) array of numbers.

    Args:
        label: Heading of the column, for error messages.
        column: The column, of any library.
        name: Name of the table in error messages.

    Raises:
        TypeError: If the column does not contain numbers.
    """
    expected = f"Expected numbers in each column of `{name}`"
    # Values in a column of objects may have any type, even if all of them are numbers.
    dtype = getattr(column, "dtype", None)
    if str(dtype) == "object":
        raise TypeError(f"{expected}, but column {label!r} holds objects.")
    column_name = f"{name}[{label!r}]"
    array = to_numpy(column, column_name)
    is_numeric = array.dtype.kind in "iuf"
    if not is_numeric or array.ndim != 1:
        sample = _describe_first_value(array)
        raise TypeError(f"{expected}, but column {label!r} holds {sample}.")
    return array


def _find_class_order(classes: Sequence[str], name: str) -> list[int]:
    """Return the positions of a table's columns in the order of their classes.

    Args:
        classes: Class of each column, such as ["1", "0"] or ["no", "yes"].
        name: Name of the table in error messages.

    Returns:
        Positions in ascending order of the numbers if all classes are numbers, such as [1, 0];
        otherwise in the order of the table, [0, 1].

    Raises:
        ValueError: If the columns are not sorted, and their numbers are not 0 to K - 1.
    """
    positions = list(range(len(classes)))
    for label in classes:
        # A number of more than 18 digits is a name: numpy could not count so many classes.
        is_number = label.isascii() and label.isdecimal() and len(label) < 19
        if not is_number:
            return positions
    class_numbers = list(map(int, classes))
    order = sorted(positions, key=class_numbers.__getitem__)
    # Sorting is safe only if the numbers are exactly those of the classes, from 0.
    if order != positions and set(class_numbers) != set(positions):
        raise ValueError(
            f"Expected the columns of `{name}` in the order of the classes, "
            f"but got {', '.join(classes)}."
        )
    return order


def _convert_series(values: Any) -> Any:
    """Convert a column of pyarrow, pandas or polars to an array of numbers, or to a list.

    Args:
        values: The column.

    Returns:
        An array if the column consists of numbers or booleans and has no missing values; otherwise
        a list, in which missing values are None.
    """
    # Only pyarrow has `to_pylist`.
    if hasattr(values, "to_pylist"):
        to_list = values.to_pylist
        options = {"zero_copy_only": False}
        has_missing = values.null_count > 0
    else:
        to_list = getattr(values, "tolist", None) or values.to_list
        options = {}
        has_missing = _has_missing_values(values)
    # A list can hold None; numpy would turn missing values into NaN.
    if has_missing:
        return to_list()
    # Some types of pyarrow, such as unions, have no array.
    try:
        array = np.asarray(values.to_numpy(**options))
    except Exception:
        return to_list()
    if array.dtype.kind in "biuf" and array.ndim:
        return array
    return to_list()


def _has_missing_values(series: Any) -> bool:
    """Return whether a series of polars or pandas has missing values; NaN does not count as one."""
    # polars
    null_count = getattr(series, "null_count", None)
    if callable(null_count):
        return bool(null_count())
    # pandas. In numpy's own types, it cannot distinguish a missing value from NaN.
    if isinstance(getattr(series, "dtype", None), np.dtype):
        return False
    return hasattr(series, "isna") and bool(series.isna().any())


# ------------------------------------------------------------------------------- rows of numbers


def compute_offsets(lengths: Sequence[int] | Integers) -> Integers:
    """Return the index at which each row begins in a flat array.

    Args:
        lengths: (N,) length of each row.

    Returns:
        (N + 1,) offsets; the last one is the total length.

    Example:
        >>> compute_offsets([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    n_rows = len(lengths)
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array.

    Row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: (total,) values of all rows, one row after another.
        offsets: (N + 1,) index at which each row begins; the last one is the total length.

    Example:
        >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1])[1]
        array([0.5])
    """

    values: Floats
    offsets: Integers

    @classmethod
    def of(cls, values: Floats, lengths: Sequence[int] | Integers) -> Ragged:
        """Split a flat array into rows of the given lengths."""
        return cls(values, compute_offsets(lengths))

    @classmethod
    def of_table(cls, table: Floats) -> Ragged:
        """Wrap the rows of an (N, K) array."""
        n_rows, n_columns = table.shape
        lengths = np.full(n_rows, n_columns)
        return cls.of(table.reshape(-1), lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Floats]:
        for row in range(len(self)):
            yield self[row]

    def __getitem__(self, row: int) -> Floats:
        start = self.offsets[row]
        end = self.offsets[row + 1]
        return self.values[start:end]

    @property
    def starts(self) -> Integers:
        """(N,) index of the first value of each row."""
        return self.offsets[:-1]

    @property
    def lengths(self) -> Integers:
        """(N,) number of values of each row."""
        return np.diff(self.offsets)

    def table(self) -> Floats | Ragged:
        """Return an (N, K) array if all rows have K values, and otherwise the rows unchanged.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5, 0.5]), [2, 2]).table()
            array([[0.1, 0.9],
                   [0.5, 0.5]])
        """
        if not len(self):
            return self
        lengths = self.lengths
        if (lengths != lengths[0]).any():
            return self
        return self.values.reshape(len(self), -1)

    def take(self, order: Positions) -> Ragged:
        """Return the rows at the given positions, in that order.

        Args:
            order: (n,) indices of rows, which may be repeated.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]).take(np.array([1, 0])).values
            array([0.5, 0.1, 0.9])
        """
        lengths = self.lengths[order]
        offsets = compute_offsets(lengths)
        # The j-th value of the result comes from the value j + shift of these rows, where the shift
        # of a row is the difference between its old and its new start.
        old_starts = self.starts[order]
        new_starts = offsets[:-1]
        shifts = old_starts - new_starts
        n_values = offsets[-1]
        source = np.arange(n_values) + np.repeat(shifts, lengths)
        return Ragged(self.values[source], offsets)

    def reduce(self, ufunc: np.ufunc) -> Floats:
        """Reduce each row to one value, such as its sum or its maximum.

        Args:
            ufunc: A binary ufunc, such as `np.add` or `np.maximum`.

        Returns:
            (N,) one value per row. No row may be empty.
        """
        # A value of an empty row would be that of the next row.
        reduced = ufunc.reduceat(self.values, self.starts)
        return np.asarray(reduced, dtype=np.float64)

    def argmax(self) -> Integers:
        """Return (N,) the position within each row of its largest value, the first one of ties."""
        n_values = len(self.values)
        row_maximum = self.reduce(np.maximum)
        maximum_of_value = np.repeat(row_maximum, self.lengths)
        is_largest = self.values == maximum_of_value
        # The smallest flat index of a largest value in each row. Other values get an index that is
        # larger than all, so that the minimum ignores them.
        flat_indices = np.arange(n_values)
        candidates = np.where(is_largest, flat_indices, n_values)
        first_largest = np.minimum.reduceat(candidates, self.starts)
        return np.asarray(first_largest - self.starts, dtype=np.int64)

    def softmax(self, inverse: float = 1.0) -> Ragged:
        """Return the softmax of each row.

        Args:
            inverse: Inverse temperature, by which the values are multiplied first.

        Returns:
            Rows of the same lengths, each of sum 1. A row with NaN stays NaN.

        Example:
            >>> Ragged.of(np.array([0.0, 0.0, 5.0]), [2, 1]).softmax().values
            array([0.5, 0.5, 1. ])
        """
        if not len(self):
            return self
        lengths = self.lengths
        scaled = self.values * inverse
        # Subtracting the largest value of a row changes nothing, but prevents an overflow.
        row_maximum = np.maximum.reduceat(scaled, self.starts)
        shifts = np.repeat(row_maximum, lengths)
        exponentials = np.exp(scaled - shifts)
        row_sums = np.add.reduceat(exponentials, self.starts)
        divisors = np.repeat(row_sums, lengths)
        return Ragged(exponentials / divisors, self.offsets)

    def at(self, index: Integers) -> Floats:
        """Return (N,) the value of each row at its entry of `index`."""
        positions = self.starts + index
        return np.asarray(self.values[positions], dtype=np.float64)

    def find_row(self, position: int) -> int:
        """Return the row that contains a position of the flat array."""
        n_started = np.searchsorted(self.offsets, position, side="right")
        return int(n_started) - 1

    # The name of the method before 0.2, for one release.

    def row_of(self, position: int) -> int:
        """Call `find_row`, by its earlier name."""
        warn_of_new_name("Ragged.row_of", "Ragged.find_row")
        return self.find_row(position)


def take_rows(rows: Floats | Ragged, order: Positions) -> Floats | Ragged:
    """Return the rows of a table or of `Ragged` at the given positions, in that order.

    Args:
        rows: (N, K) table or (N,) vector, or `Ragged`.
        order: (n,) indices of rows, which may be repeated.

    Returns:
        An array of n rows; `Ragged` if the selected rows differ in length.

    Example:
        >>> take_rows(Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]), np.array([0, 0])).tolist()
        [[0.1, 0.9], [0.1, 0.9]]
    """
    if isinstance(rows, Ragged):
        return rows.take(order).table()
    return np.asarray(rows[order])


MAX_ARGMAX_COLUMNS = 32
"""Largest number of columns in which a loop finds the largest value faster than numpy does."""


def find_largest(rows: Floats | Ragged) -> tuple[Floats, NDArray[np.integer[Any]]]:
    """Find the largest value of each row, and the first column that contains it.

    Args:
        rows: (N, K) values, or `Ragged`.

    Returns:
        (N,) largest values, and (N,) columns; these are int8 for few columns.
    """
    if isinstance(rows, Ragged):
        column = rows.argmax()
        largest = rows.at(column)
        return largest, column
    if rows.shape[1] > MAX_ARGMAX_COLUMNS:
        column = rows.argmax(axis=1)
        items = np.arange(len(rows))
        largest = rows[items, column]
        return largest, column

    largest = np.empty(len(rows))
    column = np.zeros(len(rows), dtype=np.int8)
    # numpy reduces short rows slowly. A loop over the columns of a block of rows is faster, because
    # the block stays in the processor's cache.
    for start in range(0, len(rows), BLOCK_SIZE):
        block = slice(start, start + BLOCK_SIZE)
        _find_largest_in_block(rows[block], largest[block], column[block])
    return largest, column


def _find_largest_in_block(block: Floats, largest: Floats, column: Array) -> None:
    """Write the largest value of each row, and the first column that contains it, to two arrays.

    Args:
        block: (n, K) values.
        largest: (n,) output for the largest values.
        column: (n,) output for the columns; int8 zeros at first.
    """
    largest[:] = block[:, 0]
    for k in range(1, block.shape[1]):
        # A copy is contiguous, and so faster to compare.
        values = block[:, k].copy()
        is_larger = values > largest
        # A later column replaces an earlier one only if it is strictly larger. Its index is then
        # the largest so far, so that a maximum of indices selects it.
        index = is_larger * np.int8(k)
        np.maximum(column, index, out=column)
        np.maximum(largest, values, out=largest)


@dataclasses.dataclass(frozen=True, eq=False)
class NumericRows:
    """Numbers of N items: one number per item, or a row of them.

    They are known to be numbers. Their range is not checked, as it depends on what they mean.

    Attributes:
        values: (N,) or (N, K) float64, or `Ragged` if the rows differ in length.
        is_whole: Whether they were integers, as class labels are.
    """

    values: Floats | Ragged
    is_whole: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_vector(self) -> bool:
        """Whether there is one number per item."""
        if isinstance(self.values, Ragged):
            return False
        return self.values.ndim == 1


def parse_rows(values: Any, name: str) -> NumericRows:
    """Convert one number, or one row of numbers, per item to float64.

    Args:
        values: Numbers in any form that `to_array_or_list` accepts, `Ragged`, or `NumericRows`,
            which are returned unchanged.
        name: Name of the input in error messages.

    Raises:
        TypeError: If something is not a number.
        ValueError: If rows differ in depth, or only some items are rows.

    Example:
        >>> parse_rows([[0.5, 0.5], [0.2, 0.3, 0.5]], "predictions").values.lengths
        array([2, 3])
        >>> rows = parse_rows([0, 2, 1], "predictions")
        >>> rows.values, rows.is_whole, rows.is_vector
        (array([0., 2., 1.]), True, True)
    """
    if isinstance(values, NumericRows):
        return values
    if isinstance(values, Ragged):
        return NumericRows(values.table())
    items = to_array_or_list(values, name)
    if is_ragged(items):
        return NumericRows(concatenate_rows(items, name))
    array = stack_items(items, name)
    return NumericRows(cast_to_floats(array, name), is_whole=array.dtype.kind in "iu")


def is_ragged(rows: Any) -> bool:
    """Return whether rows differ in length.

    Args:
        rows: A list of rows, an array, `Ragged`, or any other object, for which the result is False.
    """
    if isinstance(rows, Ragged):
        return len(np.unique(rows.lengths)) > 1
    if isinstance(rows, np.ndarray):
        # Only an array of objects can contain rows of different lengths.
        is_sequence = rows.dtype.kind == "O"
    else:
        is_sequence = isinstance(rows, Sequence) and not isinstance(rows, (str, bytes))
    if not is_sequence:
        return False
    # Single values, as of a vector, have no length.
    try:
        return len(set(map(len, rows))) > 1
    except TypeError:
        return False


def concatenate_rows(rows: Sequence[Any], name: str) -> Ragged:
    """Convert rows of numbers to `Ragged`.

    Args:
        rows: N lists or arrays of numbers, from `to_array_or_list`.
        name: Name of the rows in error messages.

    Raises:
        TypeError: If an item is not a row, or a value is not a number.
        ValueError: If a row consists of rows.
    """
    # Lists that contain only floats, the usual case, are checked and joined at once.
    value_types = set()
    if set(map(type, rows)) == {list}:
        value_types = set(map(type, itertools.chain.from_iterable(rows)))
    if value_types == {float}:
        flat_values = itertools.chain.from_iterable(rows)
        flat = np.fromiter(flat_values, dtype=np.float64)
        lengths = list(map(len, rows))
        return Ragged.of(flat, lengths)

    arrays = []
    for index, row in enumerate(rows):
        row_name = f"{name}[{index}]"
        if is_row(row):
            array = cast_to_floats(stack_items(row, row_name), row_name)
        else:
            # This raises the error for a value that is not a row.
            array = to_floats(row, row_name)
        arrays.append(array)
    for index, array in enumerate(arrays):
        if array.ndim != 1:
            raise ValueError(
                f"Expected each row of `{name}` to be a list of numbers, "
                f"but row {index} has {array.ndim} dimensions."
            )
    values = np.concatenate(arrays) if arrays else np.empty(0)
    return Ragged.of(values, [len(array) for array in arrays])

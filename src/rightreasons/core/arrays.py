"""The one place where columns come in: brings what a user hands in to numpy or to lists, or raises one sentence.

Types are recognized by what they can do, so that neither torch nor pandas nor pyarrow is imported here. Rows of
different lengths become one flat array, `Ragged`. What goes out is a `Result`, which becomes plain values.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UNSUPPORTED_TYPES = (str, bytes, bytearray, Mapping, Set, type)
_LEAVES = (numbers.Number, type(None), *_UNSUPPORTED_TYPES)
_MISSING = ("NAType", "NaTType")
_MAX_NESTING_DEPTH = 8
_MAX_SEQUENCE_LENGTH = 60

CLASS_COLUMNS: Mapping[str, str | None] = {
    **dict.fromkeys(("p", "prob", "proba", "probs", "probability"), "probabilities"),
    **dict.fromkeys(
        ("wahrscheinlichkeit", "wahrsch", "probabilité", "probabilite"), "probabilities"
    ),
    **dict.fromkeys(
        ("probabilidad", "probabilidade", "probabilità", "waarschijnlijkheid"), "probabilities"
    ),
    **dict.fromkeys(("logit", "logits"), "logits"),
    **dict.fromkeys(("log_prob", "log_probability", "logprob", "logp"), "log_probabilities"),
    "score": None,
}
"""Prefixes of the names of columns that hold one class each: `p_positive`, `p0`, `logit_2`; with the kind of score."""

_CLASS_COLUMN = re.compile(
    rf"({'|'.join(CLASS_COLUMNS)})(?:[_:. ]+(.+)|\((.+)\)|\[(.+)\]|(\d+))(?:\s*[\[(]%[\])])?"
)


def describe_kind(value: object) -> str:
    """Say what a value is, for an error.

    Example:
        >>> describe_kind(0.5), describe_kind(None), describe_kind(np.str_("good"))
        ('0.5 (float)', 'None', "'good' (str)")
    """
    if value is None:
        return "None"
    plain = value.item() if isinstance(value, np.generic) else value
    kind = type(plain).__name__
    try:
        # An address in memory is another one in every process.
        text = " ".join(re.sub(r" at 0x[0-9a-f]+", "", repr(plain)).split())
    except (
        Exception
    ):  # a number of thousands of digits, a list that holds itself, an object's own mistake
        return f"a value of type {kind}"
    return f"{text if len(text) <= _MAX_SEQUENCE_LENGTH else text[:_MAX_SEQUENCE_LENGTH] + '...'} ({kind})"


def is_tensor(value: object) -> bool:
    """Tell whether a value is a tensor of torch."""
    # Recognize a tensor by its methods, so that this module need not import torch.
    return hasattr(value, "detach") and hasattr(value, "cpu")


def parse_class_column(name: str) -> tuple[str | None, str]:
    """Return the prefix of `CLASS_COLUMNS` that the name of a column has, or None, and the class that it names.

    Example:
        >>> parse_class_column("p_Positive"), parse_class_column("logit2"), parse_class_column("joy"), parse_class_column("P(Up) [%]")
        (('p', 'Positive'), ('logit', '2'), (None, 'joy'), ('p', 'Up'))
    """
    match = _CLASS_COLUMN.fullmatch(name.lower())
    if match is None:
        return None, name
    place = next(place for place in range(2, 6) if match[place])
    return match[1], name[match.start(place) : match.end(place)]


def find_column_classes(values: Any) -> tuple[str, ...] | None:
    """Return the classes that the columns of a table name; None for numbers, a name that comes twice, and other forms.

    Example:
        >>> import pyarrow
        >>> find_column_classes(pyarrow.table({"p_no": [0.5], "p_yes": [0.5]})), find_column_classes([[0.5, 0.5]])
        (('no', 'yes'), None)
    """
    if isinstance(values, (np.ndarray, list, tuple, *_UNSUPPORTED_TYPES)) or is_tensor(values):
        return None
    try:
        table = read_columns(values)
    except Exception:  # `to_array_or_list` says what is wrong with it
        return None
    names = tuple(parse_class_column(str(name))[1] for name in table[0]) if table else ()
    numbers = all(name.isdecimal() for name in names)
    return None if numbers or len(set(names)) < len(names) else names


def to_array_or_list(
    values: Any, name: str, expected: str = "an array or a list", depth: int = 0
) -> Any:
    """Bring a column or a table in any accepted form to an array of numbers, or to a list.

    Args:
        values: A list, a tuple, a generator, a numpy array, a tensor, anything with `__array__`, a Series or a
            DataFrame of pandas or polars, an Array, a ChunkedArray or a Table of pyarrow, or a Column or a Dataset of
            datasets. The columns of a table are classes in their order, or by their numbers (`p_1, p_0`).
        name: What the caller calls it.
        expected: What it should be, for an error.
        depth: How many lists it is in.

    Returns:
        An array of one or more dimensions, or a list of values or rows. Missing values are None in a list.

    Raises:
        TypeError: If it has no order (a set), is keyed (a dictionary), is a single value or text, has a mask, is a
            table with a column that does not hold numbers, or cannot be read.
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
        return _from_array(values, name, expected, depth)
    if isinstance(values, _UNSUPPORTED_TYPES):
        raise TypeError(f"Expected `{name}` to be {expected}, but got {describe_kind(values)}.")
    if is_tensor(values):
        return _from_array(_from_tensor(values, name), name, expected, depth)

    def read(convert: Callable[[Any], Any]) -> Any:
        """Read a type of somebody else, which may fail in any way."""
        try:
            return convert(values)
        except MemoryError:
            raise
        except Exception as error:
            but = f"a {type(values).__name__} cannot be read ({type(error).__name__}: {error}"
            raise TypeError(
                f"Expected `{name}` to be {expected}, but {' '.join(but.split())[:260]})."
            ) from error

    table = read(read_columns)
    if table is not None:
        labels, columns = table
        return _from_columns(labels, columns, name)
    if hasattr(values, "column_name") and hasattr(values, "__len__"):  # a column of datasets
        return to_array_or_list(read(lambda column: column[:]), name, expected, depth)
    if hasattr(values, "to_pylist") or hasattr(values, "to_numpy"):
        series = read(_from_series)
        return series if isinstance(series, np.ndarray) else _convert_items(series, name, depth)
    if hasattr(values, "__array__"):
        return to_array_or_list(read(np.asarray), name, expected, depth)
    if not isinstance(values, Iterable) and not hasattr(values, "__getitem__"):
        raise TypeError(f"Expected `{name}` to be {expected}, but got {describe_kind(values)}.")
    return _convert_items(read(list), name, depth)


def to_numpy(values: Any, name: str) -> NDArray[Any]:
    """Bring a column or a table in any accepted form to numpy."""
    values = to_array_or_list(values, name)
    if isinstance(values, np.ndarray):
        return values
    types = set(map(type, values))
    odd = type(None) in types or len({kind in (list, np.ndarray) for kind in types}) > 1
    for item, value in enumerate(values) if odd else ():
        if value is None or _is_row(value) is not _is_row(values[0]):
            kind = "a row" if _is_row(values[0]) else "a value"
            raise ValueError(
                f"Expected {kind} in each item of `{name}`, but item {item} is {describe_kind(value)}."
            )
    mixed = len(types) > 1 and bool in types
    try:
        array = np.asarray(values, dtype=object if mixed else None)
        # numpy turns numbers beside a text into texts, and large whole numbers into floats.
        if array.dtype.kind in "USV" or (array.dtype.kind == "f" and types == {int}):
            return np.array(values, dtype=object)
        return array
    except OverflowError:
        return np.array(values, dtype=object)
    except ValueError:
        if not all(map(_is_row, values)):
            return np.array([*values, None], dtype=object)[:-1]
        lengths = [len(row) for row in values]
        row = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        but = (
            "the depths of the rows differ"
            if not row
            else f"row 0 has {lengths[0]} and row {row} has {lengths[row]}"
        )
        raise ValueError(f"Expected rows of one length in `{name}`, but {but}.") from None


def to_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Bring numbers to float64."""
    array = to_numpy(values, name)
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
                f"Expected finite numbers in `{name}`, but one is too large for a float."
            ) from None
    if array.dtype.kind not in "fiu":
        sample = array.reshape(-1)[0] if array.size else None
        raise TypeError(
            f"Expected numbers in `{name}`, but the first value is {describe_kind(sample)}."
        )
    with np.errstate(
        over="ignore"
    ):  # a long double beyond the range becomes infinite, which the checks refuse
        return array.astype(np.float64, copy=False)


def compute_offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where rows of these lengths begin in a flat array, (N + 1,); the last entry is the total.

    Example:
        >>> compute_offsets([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: (total,) all rows, one after another.
        offsets: (N + 1,) where each row begins; the last entry is the total.

    Example:
        >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1])[1]
        array([0.5])
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64], lengths: Sequence[int] | NDArray[np.int64]) -> Ragged:
        """Cut a flat array into rows of these lengths."""
        return cls(values, compute_offsets(lengths))

    @classmethod
    def of_table(cls, table: NDArray[np.float64]) -> Ragged:
        """Take the rows of an (N, C) array."""
        return cls.of(table.reshape(-1), np.full(len(table), table.shape[1]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self.values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def __getitem__(self, row: int) -> NDArray[np.float64]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def starts(self) -> NDArray[np.int64]:
        """(N,) the first index of each row."""
        return self.offsets[:-1]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many values each row has."""
        return np.diff(self.offsets)

    def table(self) -> NDArray[np.float64] | Ragged:
        """Return the rows as an (N, C) array where each has C values, and otherwise as they are.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5, 0.5]), [2, 2]).table()
            array([[0.1, 0.9],
                   [0.5, 0.5]])
        """
        lengths = self.lengths
        if not len(lengths) or (lengths != lengths[0]).any():
            return self
        return self.values.reshape(len(lengths), -1)

    def take(self, order: NDArray[np.intp]) -> Ragged:
        """Return the rows at some positions, in that order.

        Example:
            >>> Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]).take(np.array([1, 0])).values
            array([0.5, 0.1, 0.9])
        """
        lengths = self.lengths[order]
        offsets = compute_offsets(lengths)
        source = np.repeat(self.starts[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[source], offsets)

    def reduce(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        """Reduce each (non-empty) row by a ufunc, such as `np.add` or `np.maximum`; (N,)."""
        return np.asarray(ufunc.reduceat(self.values, self.starts), dtype=np.float64)

    def argmax(self) -> NDArray[np.int64]:
        """(N,) the index inside each row of its first largest value."""
        top = np.repeat(self.reduce(np.maximum), self.lengths)
        position = np.where(self.values == top, np.arange(len(self.values)), len(self.values))
        first = np.minimum.reduceat(position, self.starts)
        return np.asarray(first - self.starts, dtype=np.int64)

    def softmax(self, inverse: float = 1.0) -> Ragged:
        """Return the softmax of each row, of its values times `inverse`; a row with NaN stays NaN.

        Example:
            >>> Ragged.of(np.array([0.0, 0.0, 5.0]), [2, 1]).softmax().values
            array([0.5, 0.5, 1. ])
        """
        if not len(self):
            return self
        values = self.values * inverse
        powers = np.exp(values - np.repeat(np.maximum.reduceat(values, self.starts), self.lengths))
        return Ragged(
            powers / np.repeat(np.add.reduceat(powers, self.starts), self.lengths), self.offsets
        )

    def at(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the value at `index[i]` of each row."""
        return np.asarray(self.values[self.starts + index], dtype=np.float64)

    def row_of(self, position: int) -> int:
        """Tell which row a position of the flat array belongs to."""
        return int(np.searchsorted(self.offsets, position, side="right") - 1)


@dataclasses.dataclass(frozen=True, eq=False)
class LazyArrowColumn(Sequence[Any]):
    """A column of Arrow as a sequence of Python's values, each of which is made only when it is read.

    Attributes:
        arrow: The column, an Array or a ChunkedArray of pyarrow.

    Example:
        >>> import pyarrow
        >>> cells = LazyArrowColumn(pyarrow.array(["b", "a", None]))
        >>> cells[1], cells[1:], list(cells), cells == ["b", "a", None]
        ('a', ['a', None], ['b', 'a', None], True)
    """

    arrow: Any

    def __len__(self) -> int:
        return len(self.arrow)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, np.ndarray):  # some rows, in that order
            return LazyArrowColumn(self.arrow.take(row))
        return (
            self.arrow[row].to_pylist() if isinstance(row, slice) else self.arrow[int(row)].as_py()
        )

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(
            self[row : row + 4096] for row in range(0, len(self), 4096)
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyArrowColumn):
            return bool(self.arrow.equals(other.arrow))
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(map(operator.eq, self, other))
        )

    __hash__ = None  # type: ignore[assignment]

    def __arrow_array__(self, type: Any = None) -> Any:  # noqa: A002
        return self.arrow if type is None else self.arrow.cast(type)


def to_sortable(names: Any) -> NDArray[Any]:
    """Return what sorts as names do: themselves, or their ranks where they are a column of Arrow.

    Example:
        >>> import pyarrow
        >>> to_sortable(LazyArrowColumn(pyarrow.array(["b", "a", "b"]))).tolist(), to_sortable(["b", "a"]).tolist()
        ([2, 1, 2], ['b', 'a'])
    """
    if not isinstance(names, LazyArrowColumn):
        return np.asarray(names, dtype=np.str_)
    ranks = importlib.import_module("pyarrow.compute").rank(names.arrow, tiebreaker="dense")
    return np.asarray(ranks.to_numpy())


def average_ties(ordered: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace the values of items with equal scores by their mean.

    Args:
        ordered: (N,) scores in order, rising or falling.
        values: (N,) values in the same order.

    Returns:
        (N,) values: what is expected at each place when ties are put in random order.
    """
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(starts) == len(ordered):
        return values
    sizes = np.diff(np.append(starts, len(ordered)))
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes)


def argsort_descending(values: NDArray[Any], ids: Sequence[Any] | NDArray[Any]) -> NDArray[np.intp]:
    """Return the places of items by falling value; of equal values by id, whatever the order of the input.

    Example:
        >>> argsort_descending(np.array([0.2, 0.9, 0.2]), ["b", "c", "a"]).tolist()
        [1, 2, 0]
    """
    return np.lexsort((to_sortable(ids), -values))


def argsort_canonical(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Return an order of items that depends on their values alone, so that draws do not depend on that of the input.

    Args:
        *columns: (N,) or (N, K) numbers. The first decides, and among its equal values a weighted sum of all numbers of
            an item, which differs where items do.

    Example:
        >>> argsort_canonical(np.array([2.0, 1.0, 2.0]), np.array([[0.6, 0.4], [0.5, 0.5], [0.6, 0.4]])).tolist()
        [1, 0, 2]
    """
    weights = np.random.default_rng(0)
    sums = sum(np.dot(column, weights.random(column.shape[1:])) for column in columns)
    return np.lexsort((sums, columns[0] if columns[0].ndim == 1 else sums))


def take_rows(
    rows: NDArray[np.float64] | Ragged, order: NDArray[np.intp]
) -> NDArray[np.float64] | Ragged:
    """Return the rows of a table or of `Ragged` at some positions; rows of one length become a table.

    Example:
        >>> take_rows(Ragged.of(np.array([0.1, 0.9, 0.5]), [2, 1]), np.array([0, 0])).tolist()
        [[0.1, 0.9], [0.1, 0.9]]
    """
    return rows.take(order).table() if isinstance(rows, Ragged) else np.asarray(rows[order])


def factorize(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return (N,) the code of each value, and the distinct values by code, in the order in which they are met.

    Example:
        >>> codes, values = factorize(np.array([3, 1, 3]))
        >>> codes.tolist(), values, factorize(["b", None])[1]
        ([0, 1, 0], [3, 1], ['b', None])
    """
    if isinstance(values, LazyArrowColumn):
        coded = values.arrow.dictionary_encode(null_encoding="encode")
        coded = coded.combine_chunks() if hasattr(coded, "chunks") else coded
        return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist()
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
        distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.argsort(order)[codes], distinct[order].tolist()
    code_of = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(code_of.__getitem__, values), dtype=np.int64, count=len(values)), list(
        code_of
    )


# ------------------------------------------------------------------------------------------------------------- private


def _is_row(value: object) -> bool:
    return isinstance(value, (list, np.ndarray))


def _convert_items(values: list[Any], name: str, depth: int) -> list[Any]:
    """Bring the items of a list to plain values, lists and arrays; a list of these is returned as it is."""
    if depth > _MAX_NESTING_DEPTH:
        raise ValueError(
            f"Expected rows of values, but `{name}` is nested deeper than {_MAX_NESTING_DEPTH} levels."
        )
    types = set(map(type, values))
    if types == {list}:
        if _are_leaf_types(set(map(type, itertools.chain.from_iterable(values)))):
            return values
    elif _are_leaf_types(types):
        return values
    return [
        _convert_item(value, f"{name}[{index}]", depth + 1) for index, value in enumerate(values)
    ]


def _are_leaf_types(types: set[type]) -> bool:
    return np.str_ not in types and all(issubclass(kind, _LEAVES) for kind in types)


def _convert_item(value: Any, name: str, depth: int) -> Any:
    if type(value) is list:
        return _convert_items(value, name, depth)
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, (np.bool_, np.str_)):
        return value.item()
    if isinstance(value, (*_LEAVES, np.generic)):
        return value
    if hasattr(value, "as_py"):  # a scalar of pyarrow
        return _convert_item(value.as_py(), name, depth)
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.ma.MaskedArray):
        return (_from_tensor(value, name) if is_tensor(value) else np.asarray(value)).item()
    if isinstance(value, Iterable) or hasattr(value, "__array__"):
        return to_array_or_list(value, name, depth=depth)
    return value


def _from_array(values: NDArray[Any], name: str, expected: str, depth: int) -> Any:
    if values.ndim == 0:
        raise TypeError(
            f"Expected `{name}` to be {expected}, but got the single value {describe_kind(values[()])}."
        )
    if values.dtype.kind == "V":
        raise TypeError(f"Expected `{name}` to be {expected}, but got an array of records.")
    if values.dtype.kind in "OUST":
        return _convert_items(values.tolist(), name, depth)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    return np.asarray(values)


def _from_tensor(values: Any, name: str) -> NDArray[Any]:
    try:
        tensor = values.detach().cpu()
        if str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8")):  # numpy has neither
            tensor = tensor.float()
        return np.asarray(tensor.numpy())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise TypeError(
            f"Expected `{name}` to be a tensor that numpy can hold, but got one of {values.dtype} on {values.device}."
        ) from error


def read_columns(values: Any) -> tuple[list[Any], list[Any]] | None:
    """Return the names and the columns of a table, or None if it is none."""
    if hasattr(values, "iloc") and hasattr(values, "columns"):  # pandas
        names = list(values.columns)
        return names, [values.iloc[:, index] for index in range(len(names))]
    if hasattr(values, "get_columns"):  # polars
        return list(values.columns), list(values.get_columns())
    if hasattr(values, "column_names") and hasattr(values, "__getitem__"):
        table = (
            values.with_format("arrow")[:] if hasattr(values, "with_format") else values
        )  # datasets or pyarrow
        return list(table.column_names), list(table.columns)
    return None


def _from_columns(names: list[Any], columns: list[Any], name: str) -> NDArray[Any]:
    if not columns:
        raise ValueError(f"Expected at least one column in `{name}`, but it has none.")
    arrays = []
    for label, column in zip(names, columns, strict=True):
        if str(getattr(column, "dtype", "")) == "object":
            raise TypeError(
                f"Expected numbers in each column of `{name}`, but column {label!r} holds objects."
            )
        array = to_numpy(column, f"{name}[{label!r}]")
        if array.dtype.kind not in "iuf" or array.ndim != 1:
            sample = array.reshape(-1)[0] if array.size else None
            raise TypeError(
                f"Expected numbers in each column of `{name}`, but column {label!r} holds {describe_kind(sample)}."
            )
        arrays.append(array)
    classes = [parse_class_column(str(label))[1] for label in names]
    if all(label.isascii() and label.isdecimal() and len(label) < 19 for label in classes):
        order = sorted(range(len(classes)), key=lambda position: int(classes[position]))
        if order != [*range(len(classes))] and {*map(int, classes)} != {*order}:
            raise ValueError(
                f"Expected the columns of `{name}` in the order of the classes, but got {', '.join(classes)}."
            )
        arrays = [arrays[position] for position in order]
    return np.column_stack(arrays)


def _from_series(values: Any) -> Any:
    """Bring a column of pyarrow, pandas or polars to numpy, or to a list if it holds other things than numbers."""
    if hasattr(values, "to_pylist"):
        missing, options, to_list = values.null_count, {"zero_copy_only": False}, values.to_pylist
    else:
        count = getattr(values, "null_count", None)
        own_type = not isinstance(getattr(values, "dtype", None), np.dtype)
        missing = (
            count()
            if callable(count)
            else hasattr(values, "isna") and own_type and values.isna().any()
        )
        options, to_list = {}, getattr(values, "tolist", None) or values.to_list
    if not missing:
        try:
            array = np.asarray(values.to_numpy(**options))
        except Exception:  # pyarrow has no arrays of unions, among others
            return to_list()
        if array.dtype.kind in "biuf" and array.ndim:
            return array
    return to_list()

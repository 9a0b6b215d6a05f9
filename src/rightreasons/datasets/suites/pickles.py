"""Reads pickles as plain data: objects become inert records, and nothing of a pickle is run.

`load_plain` checks all instructions before any is executed, then builds values and `Inert` objects.
`Plain` converts the result to plain Python values, up to a maximum number of values.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_BYTES = 256 << 20
"""Maximum size of a pickle."""

MAX_INSTRUCTIONS = 3_000_000
"""Maximum number of instructions, each of which builds at most one value.

CheckList's suites have 1.9 million.
"""

# Instructions that do more than build or name values: persistent ids, extension registries, buffers
# outside the pickle, and two old instructions that make an object. Instructions that name a class or a
# function are allowed, because `find_class` replaces it by an inert record.
_REFUSED_INSTRUCTIONS = frozenset(
    ("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER", "INST", "OBJ")
)
_PUT_INSTRUCTIONS = ("PUT", "BINPUT", "LONG_BINPUT")

_DTYPE = re.compile(r"[biufU][1-9]\d{0,6}")


class Inert:
    """A record of an object in a pickle: its class by name, its arguments and its state.

    Attributes:
        made_of: Arguments of its constructor.
        state: State that the pickle sets. None if it sets none.
        items: Items that the pickle sets.
        attributes: Attributes that a call in the pickle would set.
    """

    qualified_name = ""
    made_of: tuple[Any, ...]
    state: Any
    items: dict[Any, Any]
    attributes: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Inert:
        """Record the arguments of a constructor, here because a pickle may not call `__init__`."""
        record = super().__new__(cls)
        record.made_of = args
        record.state = None
        record.items = {}
        record.attributes = {}
        return record

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def append(self, values: Any) -> None:
        """Ignore values that the pickle appends to the object or adds to it."""

    extend = append
    add = append

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        """Record a call of this object, which represents a function, and return the record of the call."""
        # dill fills the cells of a closure by setattr(cell, name, value), but names the function
        # differently in different versions. So any call with such arguments sets an attribute.
        is_setattr = len(args) == 3 and isinstance(args[0], Inert) and isinstance(args[1], str)
        if is_setattr:
            record, name, value = args
            record.attributes[name] = value
        return Inert(self, *args)

    def __hash__(self) -> int:
        return id(self)


class _InertType(Inert):
    """Replacement of dill's function that makes a class from its stored content."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new class of inert records.

        Args:
            *args: Arguments of dill's function. The first string is the name of the class.
            **kwargs: Not used.
        """
        class_name = ""
        for value in args:
            if isinstance(value, str):
                class_name = value
                break
        return type("Inert", (Inert,), {"qualified_name": f"made {class_name}"})


class _Reader(pickle.Unpickler):
    """Unpickler that replaces all classes and functions by classes of inert records."""

    def find_class(self, module: str, name: str) -> type[Inert]:
        """Return a class of inert records, instead of importing the class or function.

        Args:
            module: Name of the module in the pickle.
            name: Name of the class or function.
        """
        base = _InertType if name == "_create_type" else Inert
        return type("Inert", (base,), {"qualified_name": f"{module} {name}"})


def load_plain(content: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    r"""Read a pickle as plain data and `Inert` objects.

    Args:
        content: The pickle.
        max_bytes: Maximum size of the pickle.

    Returns:
        The content of the pickle.

    Raises:
        ValueError: If the content is not a pickle, uses an instruction that could do more than build
            values, or is too large.

    Example:
        >>> load_plain(pickle.dumps([1, "a"]))
        [1, 'a']
        >>> record = load_plain(b"cos\nsystem\n(S'true'\ntR.")
        >>> record.qualified_name, record.made_of
        ('os system', ('true',))
    """
    if len(content) > max_bytes:
        raise ValueError(
            f"Expected a pickle of at most {max_bytes} bytes, but it has {len(content)}."
        )
    try:
        _check_instructions(content)
        return _Reader(io.BytesIO(content)).load()
    except Exception as error:
        # A damaged pickle may raise any error. Messages of this package begin with "Expected".
        message = str(error)
        if not message.startswith("Expected"):
            message = f"Expected a pickle of plain data, but it cannot be read: {message[:200]}"
        raise ValueError(message) from error


def _check_instructions(content: bytes) -> None:
    """Check all instructions of a pickle before any is executed.

    Args:
        content: The pickle.

    Raises:
        ValueError: If an instruction could do more than build values, or would reserve much memory; or if
            there are too many instructions.
    """
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content), start=1):
        if opcode.name in _REFUSED_INSTRUCTIONS:
            raise ValueError(
                f"Expected a pickle of plain data, but it uses the instruction {opcode.name}."
            )
        # A PUT instruction stores a value in a list, the memo, at an index. For an index that is larger
        # than the number of instructions, the reader would reserve memory that is never used.
        if opcode.name in _PUT_INSTRUCTIONS and int(str(argument)) > count:
            raise ValueError("Expected a pickle of plain data, but its memo has missing entries.")
        if count > MAX_INSTRUCTIONS:
            raise ValueError(
                "Expected a pickle of a suite's size, but it asks for too many values."
            )


class Plain:
    """Converts values of a pickle, such as arrays of numpy, to plain Python values.

    The number of values is limited: in a small pickle, a list may contain the same list many times, and
    so represent any number of values.

    Args:
        max_values: Maximum number of values that an instance converts.
    """

    def __init__(self, max_values: int) -> None:
        self._n_remaining = max_values

    def __call__(self, value: Any) -> Any:
        """Convert a value of a pickle to plain Python values.

        Args:
            value: A number, a string, a list, a tuple or a dictionary of such values, or the record of an
                array or a scalar of numpy.

        Raises:
            ValueError: If the value contains another object, or too many values.
        """
        if isinstance(value, (list, tuple)):
            self._count_values(len(value))
            return type(value)(map(self, value))
        # A record with items represents a dictionary of another class, such as OrderedDict.
        is_dictionary_record = isinstance(value, Inert) and bool(value.items)
        if isinstance(value, dict) or is_dictionary_record:
            entries = get_entries(value)
            self._count_values(len(entries))
            return {key: self(entry) for key, entry in entries.items()}
        if isinstance(value, Inert):
            return self._parse_record(value)
        return value

    def _parse_record(self, record: Inert) -> Any:
        """Convert the record of an array or a scalar of numpy to a list or a Python value.

        Args:
            record: Record of an array or a scalar.

        Raises:
            ValueError: If the record represents another object.
        """
        array_state = _find_array_state(record)
        if array_state:
            _, shape, dtype, is_fortran, content = array_state
            # An array of Python objects is stored as a list; other arrays are stored as bytes.
            if isinstance(content, list):
                return self(content)
            values = _parse_bytes(dtype, content)
            self._count_values(len(values))
            order: Any = "F" if is_fortran else "C"
            return values.reshape(shape, order=order).tolist()
        # A scalar is made from its dtype and its bytes, which may follow the function that makes it.
        arguments = record.made_of
        if len(arguments) in (2, 3) and isinstance(arguments[-1], bytes):
            dtype, content = arguments[-2:]
            return _parse_bytes(dtype, content).tolist()[0]
        raise ValueError(
            "Expected numpy's scalars and arrays in the suite's pickle, but it holds another object."
        )

    def _count_values(self, n_values: int) -> None:
        """Subtract a number of values from the number that may still be converted.

        Raises:
            ValueError: If the limit is exceeded.
        """
        self._n_remaining -= n_values
        if self._n_remaining < 0:
            raise ValueError(
                "Expected the lists of the suite's pickle to be distinct, but they repeat one another."
            )


def _find_array_state(record: Inert) -> tuple[Any, ...]:
    """Return the state of an array of numpy, by which it is recognized.

    The state is stored as that of the record, or among the arguments of its constructor.

    Returns:
        The tuple (version, shape, dtype, is Fortran order, content); an empty tuple if the record is not
        an array.
    """
    for value in (record.state, *record.made_of):
        if isinstance(value, tuple) and len(value) == 5:
            return value
    return ()


def get_entries(value: Any) -> Mapping[Any, Any]:
    """Return the entries of a dictionary, or of a record of one, such as an OrderedDict.

    The result is empty if the value is neither.
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, Inert):
        return value.items
    return {}


def _parse_bytes(dtype: Any, content: Any) -> Any:
    """Return the array of numpy that is stored as bytes.

    Args:
        dtype: Record of the dtype. The first argument of its constructor is the name, such as "f8" or
            "U12". Its state is a tuple (version, byte order, …), in which the byte order is "<" or ">".
        content: Bytes of the array.

    Raises:
        ValueError: If the array does not consist of numbers, booleans or strings.
    """
    name: Any = ""
    if isinstance(dtype, Inert) and dtype.made_of:
        name = dtype.made_of[0]
    is_known = isinstance(name, str) and _DTYPE.fullmatch(name) is not None
    if not is_known or not isinstance(content, bytes):
        raise ValueError(
            f"Expected numbers or texts of numpy in the suite's pickle, but got "
            f"{type(content).__name__}."
        )
    byte_order = "<"
    # The second entry of the state is the byte order.
    if isinstance(dtype.state, tuple) and dtype.state[1:2] == (">",):
        byte_order = ">"
    return np.frombuffer(content, dtype=f"{byte_order}{name}")

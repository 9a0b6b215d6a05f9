"""Reads pickles as plain data: objects become inert records, and nothing of a pickle is run.

`load_plain` checks all instructions before any is executed, then builds values and `Inert` objects.
`Plain` turns what came out into plain Python values, up to a number of them.
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

# The instructions that do more than build or name values: persistent ids, extension registries,
# buffers outside the pickle, and two old ways to make an object. `find_class` makes whatever is named
# inert.
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
        """Record the arguments of a constructor. A pickle may make objects without `__init__`."""
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
        """Ignore what the pickle appends or adds, which nothing needs."""

    extend = append
    add = append

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        """Record a call of this object, which takes the place of a function, and return the record."""
        # dill fills the cells of a closure by setattr(cell, name, value), and names setattr in several
        # ways. So any call with such arguments sets the attribute of the record.
        is_setattr = len(args) == 3 and isinstance(args[0], Inert) and isinstance(args[1], str)
        if is_setattr:
            record, name, value = args
            record.attributes[name] = value
        return Inert(self, *args)

    def __hash__(self) -> int:
        return id(self)


class _InertType(Inert):
    """A record of the call by which dill makes a class that it has stored by its content."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new class of records, called by the first text among the arguments."""
        name = ""
        for value in args:
            if isinstance(value, str):
                name = value
                break
        return type("Inert", (Inert,), {"qualified_name": f"made {name}"})


class _Reader(pickle.Unpickler):
    """Unpickler that puts classes of inert records in the place of all classes and functions."""

    def find_class(self, module: str, name: str) -> type[Inert]:
        """Return a class of records, instead of importing what the pickle names."""
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
        ValueError: If the pickle uses an instruction that could do more than build values, is larger
            or asks for more than allowed, or is no pickle.

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
        # A damaged pickle raises whatever its values make of the reader.
        sentence = str(error)
        if not sentence.startswith("Expected"):
            sentence = f"Expected a pickle of plain data, but it cannot be read: {sentence[:200]}"
        raise ValueError(sentence) from error


def _check_instructions(content: bytes) -> None:
    """Check all instructions of a pickle before any is executed.

    Raises:
        ValueError: If an instruction could do more than build values, reserves much memory, or there are
            too many.
    """
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content), start=1):
        if opcode.name in _REFUSED_INSTRUCTIONS:
            raise ValueError(
                f"Expected a pickle of plain data, but it uses the instruction {opcode.name}."
            )
        # A PUT stores a value in the memo, a list. An index far beyond the number of instructions so far
        # would make the reader reserve that much memory.
        if opcode.name in _PUT_INSTRUCTIONS and int(str(argument)) > count:
            raise ValueError("Expected a pickle of plain data, but its memo has missing entries.")
        if count > MAX_INSTRUCTIONS:
            raise ValueError(
                "Expected a pickle of a suite's size, but it asks for too many values."
            )


class Plain:
    """Turns the scalars and arrays of numpy in a pickle into Python values, up to a number of them.

    A small pickle whose lists share their parts can hold any number of values.

    Args:
        max_values: Maximum number of values.
    """

    def __init__(self, max_values: int) -> None:
        self._n_remaining = max_values

    def __call__(self, value: Any) -> Any:
        """Convert a value of a pickle to plain Python values.

        Args:
            value: A number, a text, a list, a tuple or a dictionary of such values, or the record of an
                array or a scalar of numpy.

        Raises:
            ValueError: If it holds another object, or too many values.
        """
        if isinstance(value, (list, tuple)):
            self._spend(len(value))
            return type(value)(map(self, value))
        # A record with items is that of a dictionary of another class, such as OrderedDict.
        if isinstance(value, dict) or (isinstance(value, Inert) and value.items):
            entries = get_entries(value)
            self._spend(len(entries))
            return {key: self(entry) for key, entry in entries.items()}
        if isinstance(value, Inert):
            return self._parse_record(value)
        return value

    def _parse_record(self, record: Inert) -> Any:
        """Convert the record of an array or a scalar of numpy to a list or a Python value.

        Raises:
            ValueError: If it is another object.
        """
        array_state = _find_array_state(record)
        if array_state:
            _, shape, dtype, is_fortran, content = array_state
            # An array of objects has them as a list, and an array of numbers or texts as bytes.
            if isinstance(content, list):
                return self(content)
            values = _parse_bytes(dtype, content)
            self._spend(len(values))
            order: Any = "F" if is_fortran else "C"
            return values.reshape(shape, order=order).tolist()
        # A scalar is made of its dtype and its bytes, perhaps after the function that makes it.
        arguments = record.made_of
        if len(arguments) in (2, 3) and isinstance(arguments[-1], bytes):
            dtype, content = arguments[-2:]
            return _parse_bytes(dtype, content).tolist()[0]
        raise ValueError(
            "Expected numpy's scalars and arrays in the suite's pickle, but it holds another object."
        )

    def _spend(self, n_values: int) -> None:
        """Count values against the limit.

        Raises:
            ValueError: If more values were converted than the limit allows.
        """
        self._n_remaining -= n_values
        if self._n_remaining < 0:
            raise ValueError(
                "Expected the lists of the suite's pickle to be distinct, but they repeat one another."
            )


def _find_array_state(record: Inert) -> tuple[Any, ...]:
    """Return the state of an array of numpy: (version, shape, dtype, is Fortran order, content).

    The pickle sets the state, or has it among the arguments of the constructor.

    Returns:
        The five values; () if the record is no array.
    """
    for value in (record.state, *record.made_of):
        if isinstance(value, tuple) and len(value) == 5:
            return value
    return ()


def get_entries(value: Any) -> Mapping[Any, Any]:
    """Return the entries of a dictionary, or of the record of one; {} for anything else."""
    if isinstance(value, dict):
        return value
    # A dictionary of another class, such as OrderedDict, is a record.
    if isinstance(value, Inert):
        return value.items
    return {}


def _parse_bytes(dtype: Any, content: Any) -> Any:
    """Return the array of numpy that is stored as bytes.

    Args:
        dtype: Record of the dtype, made with a kind and a size such as "f8" (or "i8", "U12"). The second
            entry of its state is the byte order, "<" or ">".
        content: Bytes of the array.

    Raises:
        ValueError: If the dtype is not one of numbers, truth values or texts.
    """
    kind: Any = ""
    if isinstance(dtype, Inert) and dtype.made_of:
        kind = dtype.made_of[0]
    is_known = isinstance(kind, str) and _DTYPE.fullmatch(kind) is not None
    if not is_known or not isinstance(content, bytes):
        raise ValueError(
            f"Expected numbers or texts of numpy in the suite's pickle, but got "
            f"{type(content).__name__}."
        )
    byte_order = "<"
    if isinstance(dtype.state, tuple) and len(dtype.state) > 1 and dtype.state[1] == ">":
        byte_order = ">"
    return np.frombuffer(content, dtype=f"{byte_order}{kind}")

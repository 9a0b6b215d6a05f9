"""Reads a pickle without running any of it: an unpickler that can build nothing but plain data.

A name in a pickle, such as that of a class or a function, is never looked up. It becomes a class of this module's own
whose instances only keep what they are made of (`Inert`), so a pickle may name anything, and gets nothing. Before a
value is built, all instructions are followed on paper, with bounds on their number and on the memory and the work that
they ask for.
"""

# ruff: noqa: SIM905 - the instructions read better as words than as one string per line

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

MAX_BYTES = 256 << 20
"""The maximum size of a pickle."""

MAX_WORK = 50_000_000
"""The maximum number of values that a pickle puts into others, counted anew in each tuple; CheckList has 2 million."""

MAX_INSTRUCTIONS = 8_000_000
"""The maximum number of instructions; CheckList's largest suite has 1.9 million."""

MAX_DEPTH = 250_000
"""The maximum number of values on the stack; a pickler puts a list's values into it by the thousand."""

MAX_MEMORY = 1 << 30
"""The maximum number of bytes that the built values take, about."""

MAX_NAMES = 10_000
"""The maximum number of names."""

# About how many bytes a value takes beside its content, where it is more than a few.
_SIZES = {"EMPTY_SET": 216, "FROZENSET": 216, "EMPTY_DICT": 64, "DICT": 232, "NEWOBJ": 600, "NEWOBJ_EX": 600}
_SIZES |= {"REDUCE": 1500, "STACK_GLOBAL": 1500, "GLOBAL": 1500}
_SIZE = 56

# The instructions that only build or name values, without those that run outside code (persistent ids, extension
# registries, out-of-band buffers).
_OPCODES = frozenset(
    (
        "PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 "
        "FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE "
        "SHORT_BINUNICODE BINUNICODE BINUNICODE8 EMPTY_LIST APPEND APPENDS LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 "
        "TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS EMPTY_SET ADDITEMS FROZENSET GET BINGET LONG_BINGET PUT BINPUT "
        "LONG_BINPUT MEMOIZE GLOBAL STACK_GLOBAL REDUCE BUILD NEWOBJ NEWOBJ_EX"
    ).split()
)

_STORED = frozenset(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"))
_FETCHED = frozenset(("GET", "BINGET", "LONG_BINGET"))
_HASHED_BY_PARTS = frozenset(("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET"))
_MARK = 0  # without weight: it leaves the stack before anything is made of the values above it


def _effect(opcode: pickletools.OpcodeInfo) -> tuple[bool, int, list[int]]:
    """Return whether an instruction takes all above a mark, how many values below it, and the weights it leaves."""
    mark = pickletools.markobject
    taken = list(opcode.stack_before)
    n_taken = taken.index(mark) if mark in taken else len(taken)
    return mark in taken, n_taken, [_MARK if made is mark else 1 for made in opcode.stack_after]


_EFFECTS = {opcode.name: _effect(opcode) for opcode in pickletools.opcodes}


class Inert:
    """Stands for an object of a pickle: its class by name, its arguments and its state.

    Attributes:
        made_of: The arguments of its constructor.
        state: The state that the pickle sets; None where it sets none.
        items: The items that the pickle sets.
        values: The values that the pickle appends or adds.
        attributes: The attributes that a call in the pickle would set.
    """

    qualified_name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.made_of = args
        self.state: Any = None
        self.items: dict[Any, Any] = {}
        self.values: list[Any] = []
        self.attributes: dict[str, Any] = {}

    def __new__(cls, *args: Any, **kwargs: Any) -> Inert:
        made = super().__new__(cls)
        made.made_of, made.state, made.items, made.values, made.attributes = args, None, {}, [], {}
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def append(self, value: Any) -> None:
        """Store a value that the pickle appends."""
        self.values.append(value)

    def extend(self, values: Any) -> None:
        """Store values that the pickle appends."""
        self.values.extend(values)

    def add(self, value: Any) -> None:
        """Store a value that the pickle adds."""
        self.values.append(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        # dill fills the cells of a closure by calling setattr, which it names in several ways.
        if len(args) == 3 and isinstance(args[0], Inert) and isinstance(args[1], str):
            args[0].attributes[args[1]] = args[2]
        return Inert(self, *args)

    def __hash__(self) -> int:
        return id(self)


class _Made(Inert):
    """Stands for the call by which dill makes a class that it has stored by its content: a class for its instances."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        name = next((each for each in args if isinstance(each, str)), "")
        return type("Inert", (Inert,), {"qualified_name": f"made {name}"})


def load_plain(content: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    r"""Read a pickle as plain data and `Inert` objects.

    Args:
        content: The pickle.
        max_bytes: The maximum size of the pickle.

    Returns:
        The content of the pickle.

    Raises:
        ValueError: If the pickle uses an instruction that could do more than build values, is larger or asks for more
            than allowed, or is no pickle.

    Example:
        >>> load_plain(pickle.dumps([1, "a"]))
        [1, 'a']
        >>> nothing_done = load_plain(b"cos\nsystem\n(S'true'\ntR.")
        >>> nothing_done.qualified_name, nothing_done.made_of
        ('os system', ('true',))
    """
    if len(content) > max_bytes:
        raise ValueError(f"Expected a pickle of at most {max_bytes} bytes, but it has {len(content)}.")
    _check_opcodes(content)
    try:
        return _Reader(io.BytesIO(content)).load()
    except Exception as error:
        raise _refusal(error, "Expected a pickle of plain data, but it cannot be read") from error


def _refusal(error: Exception, sentence: str) -> ValueError:
    told = str(error)
    if not told.startswith("Expected"):
        told = f"{sentence}: {told[:200]}"
    return ValueError(told)


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._classes: dict[tuple[str, str], type[Inert]] = {}

    def find_class(self, module: str, name: str) -> type[Inert]:
        known = self._classes.get((module, name))
        if known is None:
            if len(self._classes) >= MAX_NAMES:
                raise ValueError(f"Expected a pickle of plain data, but it holds more than {MAX_NAMES:,} names.")
            base = _Made if name == "_create_type" else Inert
            known = type("Inert", (base,), {"qualified_name": f"{module} {name}"})
            self._classes[module, name] = known
        return known

    def persistent_load(self, pid: Any) -> Any:
        raise ValueError("Expected a pickle of plain data, but it asks for something from outside.")


def _check_opcodes(content: bytes) -> None:
    """Check all instructions before any is executed."""
    weights = _Weights()
    count = memory = 0
    try:
        for opcode, argument, _ in pickletools.genops(content):
            count += 1
            memory += _SIZES.get(opcode.name, _SIZE)
            if opcode.name not in _OPCODES:
                raise ValueError(f"Expected a pickle of plain data, but it uses the instruction {opcode.name}.")
            # A memo index far beyond the last entry would make the reader reserve that much memory.
            if opcode.name in _STORED and argument is not None and int(str(argument)) > count:
                raise ValueError("Expected a pickle of plain data, but its memo has holes.")
            if count > MAX_INSTRUCTIONS or memory > MAX_MEMORY:
                raise ValueError("Expected a pickle of a suite's size, but it asks for too many values.")
            weights.follow(opcode, argument)
    except Exception as error:
        raise _refusal(error, "Expected a pickle, but the file is none") from error


class _Weights:
    """Follows the stack of a pickle, with the work of hashing each value in its place.

    The hash of a tuple takes the hashes of its elements: a tuple that holds another twice, which holds another twice,
    and so on, takes a few bytes of the pickle and forever as the key of a dict.
    """

    def __init__(self) -> None:
        self._stack: list[int] = []
        self._memo: dict[int, int] = {}
        self._work = 0

    def follow(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Follow one instruction; raise a ValueError where the work becomes too much."""
        name, stack = opcode.name, self._stack
        if name in _STORED:
            self._memo[len(self._memo) if argument is None else int(argument)] = stack[-1]
        elif name in _FETCHED:
            stack.append(self._memo[int(argument)])
        elif name == "DUP":
            stack.append(stack[-1])
        else:
            to_mark, n_taken, made = _EFFECTS[name]
            weight = self._take(to_mark, n_taken) if to_mark or n_taken else 0
            stack.extend([1 + weight] if name in _HASHED_BY_PARTS else made)
        if len(stack) > MAX_DEPTH:
            raise ValueError("Expected a pickle of a suite's size, but it leaves too many values unused.")

    def _take(self, to_mark: bool, n_taken: int) -> int:
        stack = self._stack
        cut = len(stack) - n_taken
        if to_mark:
            cut = len(stack) - 1
            while stack[cut] != _MARK:
                cut -= 1
            cut -= n_taken
        if cut < 0:
            raise ValueError("it takes more than there is")
        weight = sum(stack[cut:])
        del stack[cut:]
        self._work += weight
        if self._work > MAX_WORK:
            raise ValueError("Expected a pickle of plain data, but its tuples share too many parts.")
        return weight

"""What the expectation functions of a CheckList pickle say, read from their records; none of them is run.

dill stores a function as its code, its name and the values of its closure. CheckList's own functions are known by their
names, the file that they are from and the names of their closures; their parameters are the values of the closures. Of
an author's functions, comparisons such as `pred != orig_pred`, `pred == 1` and `conf.max() > 0.9` are read from the
code.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rightreasons.data.suites.plain_pickle import Inert
from rightreasons.foundations.suites import MAX_DEPTH, skips_first

Spec = dict[str, Any]

# What the arguments of a function are, by the unit that it is called for.
_ARGUMENTS = {
    "example": ("text", "answer", "confidence", "label"),
    "pair": ("first answer", "answer", "first confidence", "confidence"),
}
_OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

# The instructions of which a comparison consists, as CPython 3.6 to 3.12 number them.
_NOTHING = frozenset((151, 166))  # RESUME, PRECALL
_PUSHED = {124: "argument", 100: "constant"}
_ATTRIBUTE = frozenset((106, 160))
_ITEM, _COMPARE, _RETURN = 25, 107, 83
_CALL = frozenset((131, 161, 171))
_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")

_MAX_PARTS = 1000

_NOT_NEGATIVE: Spec = {"name": "not_equal", "value": 0, "where_label": {"is": [1]}}  # a label 1 stands for both others

RELEASED: Mapping[str, Spec] = {
    "b269d11bcbd7101d": {"name": "sentiment_shift", "positive": True, "tolerance": 0.1},  # diff_up
    "6af71c856671b5c2": {"name": "sentiment_shift", "positive": False, "tolerance": 0.1},  # diff_down
    "255db15cc9270e56": {  # allow_for_neutral
        "name": "or",
        "of": [{"name": "equal", "where_label": {"not": [1]}}, _NOT_NEGATIVE],
    },
    "80c9a16e278030f4": {"name": "transitive"},  # expect_triplet
    "1d56b32450b72e74": {"name": "equal", "clean": "article"},  # expect_squad
    "522b414aa4ef2418": {"name": "invariant", "tolerance": 0.0, "replaced": True},  # expect_same
}
"""What functions of the released suites say whose code is more than a comparison, by their digests.

`replaced` tells that the replaced pairs of the test count.
"""


class UnknownFunctionError(Exception):
    """Names a function that is not understood."""


def expectation_of(record: Any, aggregate: Any, plain: Callable[[Any], Any]) -> Spec:
    """Say what a pickled expectation function expects.

    Args:
        record: The record of the function.
        aggregate: What joins the results of a case: a name, or the record of a function.
        plain: Turns the value of a closure into a plain one.

    Raises:
        UnknownFunctionError: If a function is not understood.
    """
    return _joined(_Records(plain).whole(record, MAX_DEPTH), aggregate)


def as_label(value: Any) -> int | str | None:
    """Return a label or an answer as a whole number or a text; None where there is none.

    Raises:
        TypeError: If it is something else.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):  # True is 1, as CheckList compares them
        return int(value)
    raise TypeError(f"{type(value).__name__} in the place of a label")


@dataclasses.dataclass(frozen=True)
class Function:
    """The record of a function.

    Attributes:
        name: Its name.
        file: The file that it is from.
        code: Its instructions.
        constants: Its constants.
        names: The global names and attributes that it uses.
        variables: Its arguments and its other variables.
        closure: The values of the variables around it.
    """

    name: str
    file: str
    code: bytes
    constants: Sequence[Any]
    names: Sequence[str]
    variables: Sequence[str]
    closure: Mapping[str, Any]

    @classmethod
    def of(cls, record: Any) -> Function:
        """Read a record.

        Raises:
            UnknownFunctionError: If it is none.
        """
        code = record.made_of[0] if isinstance(record, Inert) and record.made_of else None
        parts = code.made_of if isinstance(code, Inert) else ()
        kinds = (bytes, tuple, tuple, tuple, str, str)
        for at in range(len(parts) - len(kinds)):
            own = parts[at : at + len(kinds)]
            if all(map(isinstance, own, kinds)) and isinstance(parts[-2], tuple):
                content, constants, names, variables, file, name = own
                return cls(name, file, content, constants, names, variables, _closure(record, parts[-2]))
        raise UnknownFunctionError(str(getattr(record, "qualified_name", "")).replace(" ", ".") or "of another kind")

    def is_stock(self, name: str, *around: str) -> bool:
        """Tell whether this is a function of `checklist.expect`."""
        own = self.file.replace("\\", "/").endswith("checklist/expect.py")
        return own and self.name == name and self.closure.keys() == set(around)


def _closure(record: Inert, names: Sequence[Any]) -> dict[str, Any]:
    for cells in record.made_of[1:]:
        if isinstance(cells, tuple) and len(cells) == len(names) > 0 and all(map(_is_cell, cells)):
            contents = [cell.attributes.get("cell_contents", (*cell.made_of, None)[0]) for cell in cells]
            return dict(zip(map(str, names), contents, strict=True))
    return {}


def _is_cell(value: Any) -> bool:
    return isinstance(value, Inert) and value.qualified_name.endswith(" _create_cell")


class _Records:
    """Reads records of functions, those in their closures included."""

    def __init__(self, plain: Callable[[Any], Any]) -> None:
        self._plain = plain

    def whole(self, record: Any, levels: int) -> Spec:
        """Read a function over a whole test."""
        function = Function.of(record)
        inside = function.closure
        if levels < 1:
            raise UnknownFunctionError(function.name)
        if function.is_stock("expect", "fn"):
            return self._of_case(function)
        if function.is_stock("wrapped", "agg_fn", "expect_fn", "slice_fn"):
            key, entry = self._condition(inside["slice_fn"], inside["agg_fn"], levels - 1)
            spec = self.whole(inside["expect_fn"], levels - 1)
            if key in spec:
                raise UnknownFunctionError("slice_fn")
            return {**spec, key: entry}
        if function.is_stock("tmp_fn", "combine_fn", "expect_fn1", "expect_fn2", "ignore_none"):
            how = Function.of(inside["combine_fn"])
            joint = {"min": "and", "max": "or"}.get("".join(how.names), "")
            if not joint or not how.is_stock("combine_fn") or inside["ignore_none"] is not True:
                raise UnknownFunctionError(how.name)
            parts = [self.whole(inside[name], levels - 1) for name in ("expect_fn1", "expect_fn2")]
            return {"name": joint, "of": parts}
        raise UnknownFunctionError(function.name)

    def _of_case(self, function: Function) -> Spec:
        """Read a function over a case, which CheckList makes of one over examples or pairs."""
        record = function.closure["fn"]
        inner = Function.of(record)
        known = RELEASED.get(digest(record))
        if known is not None:
            return dict(known)
        if "zipped" not in function.variables or not inner.is_stock("expect_fn", "fn"):
            raise UnknownFunctionError(inner.name)
        return self._of_unit(inner)

    def _of_unit(self, function: Function) -> Spec:
        """Read a function over an example or a pair."""
        record = function.closure["fn"]
        inner = Function.of(record)
        try:
            values = {name: self._plain(value) for name, value in inner.closure.items()}
            if inner.is_stock("ret_fn", "val"):
                return _spec("equal", value=as_label(values["val"]))
            if inner.is_stock("expect", "tolerance"):
                return _spec("invariant", tolerance=float(values["tolerance"]))
            if inner.is_stock("expect", "increasing", "keep_label", "tolerance"):
                label = as_label(values["keep_label"])
                tolerance = float(values["tolerance"])
                return _spec("monotonic", increasing=bool(values["increasing"]), tolerance=tolerance, label=label)
        except (TypeError, ValueError):
            raise UnknownFunctionError(inner.name) from None
        return dict(RELEASED.get(digest(record)) or _compared(inner, _unit(function)))

    def _condition(self, record: Any, aggregate: Any, levels: int) -> tuple[str, Spec]:
        """Read a function that chooses cases."""
        over_cases = Function.of(record)
        if over_cases.is_stock("expect", "fn"):
            over_units = Function.of(over_cases.closure["fn"])
            if over_units.is_stock("expect_fn", "fn") and _unit(over_units) == "pair":
                choice = Function.of(over_units.closure["fn"])
                if choice.is_stock("<lambda>", "slice_fn"):  # `slice_orig`
                    choice = Function.of(choice.closure["slice_fn"])
                left, how, right = _comparison(choice)
                if (left, right[0]) == (("argument", 0), "constant") and how in ("==", "!="):
                    return "where_first", {"is" if how == "==" else "not": [as_label(right[1])]}
                return "where", _joined(_compared(choice, "pair"), aggregate)
        return "where", _joined(self.whole(record, levels), aggregate)


def _joined(spec: Spec, aggregate: Any) -> Spec:
    if isinstance(aggregate, str) and aggregate in ("all", "all_except_first"):
        skips = aggregate == "all_except_first"
    else:
        function = Function.of(aggregate)
        if not function.is_stock("tmp_fn", "ignore_first"):
            raise UnknownFunctionError(function.name)
        skips = function.closure["ignore_first"] is True
    # Three pairs pass or fail together: whether the first counts makes no difference.
    return spec if skips == skips_first(spec) or spec["name"] == "transitive" else {**spec, "skip_first": skips}


def _spec(name: str, **parameters: Any) -> Spec:
    return {"name": name, **{key: value for key, value in parameters.items() if value is not None}}


def _unit(function: Function) -> str:
    # `single` makes a function of (xs, preds, confs, label, meta), `pairwise` one of (xs, preds, confs, labels, meta).
    return "pair" if "labels" in function.variables else "example"


# ------------------------------------------------------------------------------------------- comparisons of an author


def _compared(function: Function, unit: str) -> Spec:
    """Read an author's function that returns one comparison."""
    left, how, right = _comparison(function)
    names = _ARGUMENTS[unit]
    subject, other = (
        names[part[1]] if part[0] == "argument" and part[1] < len(names) else "" for part in (left, right)
    )
    equality = {"==": True, "!=": False}.get(how)
    try:
        if subject == "answer" and right[0] == "constant" and equality is not None:
            return _spec("equal" if equality else "not_equal", value=as_label(right[1]))
        if {subject, other} == {"answer", "label"} and equality is not None:
            return _spec("equal") if equality else _spec("not", of=_spec("equal"))
        if {subject, other} == {"answer", "first answer"} and equality is not None:
            return _spec("not", of=_spec("changed")) if equality else _spec("changed")
        if (
            left[0] in ("call", "item")
            and left[1] == ("argument", names.index("confidence"))
            and right[0] == "constant"
        ):
            label = None if left[0] == "call" else as_label(left[2])
            if left[2] == "max" if left[0] == "call" else isinstance(label, int) and label >= 0:
                return _bounded(how, float(right[1]), label, function)
    except (TypeError, ValueError):
        pass
    raise UnknownFunctionError(function.name)


def _bounded(how: str, bound: float, label: Any, function: Function) -> Spec:
    if how in (">", "<"):
        return _spec("confidence", **{"above" if how == ">" else "below": bound}, label=label)
    if how in (">=", "<="):  # not below, not above
        return _spec("not", of=_bounded("<" if how == ">=" else ">", bound, label, function))
    raise UnknownFunctionError(function.name)


def _comparison(function: Function) -> tuple[tuple[Any, ...], str, tuple[Any, ...]]:
    """Follow the instructions of a function that returns one comparison; a constant comes second."""
    stack: list[tuple[Any, ...]] = []
    returned = False
    try:
        for code, argument, n_caches in _instructions(function.code):
            if returned:
                raise UnknownFunctionError(function.name)
            if code in _PUSHED:
                stack.append((_PUSHED[code], argument if code == 124 else function.constants[argument]))
            elif code in _ATTRIBUTE:
                # From 3.12 on, with nine caches, the last bit says whether it is a method.
                stack.append(("attribute", stack.pop(), function.names[argument >> (n_caches > 4)]))
            elif code == _ITEM:
                index = stack.pop()
                stack.append(("item", stack.pop(), index[1] if index[0] == "constant" else None))
            elif code in _CALL and argument == 0 and stack[-1][0] == "attribute":
                stack.append(("call", *stack.pop()[1:]))
            elif code == _COMPARE:
                right, left = stack.pop(), stack.pop()
                # In 3.12, with one cache, the lower bits are flags.
                stack.append(("comparison", left, _COMPARISONS[argument >> (4 if n_caches == 1 else 0)], right))
            elif code == _RETURN:
                returned = True
            elif code not in _NOTHING:
                raise UnknownFunctionError(function.name)
    except IndexError:
        raise UnknownFunctionError(function.name) from None
    if not returned or len(stack) != 1 or stack[0][0] != "comparison":
        raise UnknownFunctionError(function.name)
    _, left, how, right = stack[0]
    return (right, _OPPOSITE.get(how, how), left) if left[0] == "constant" else (left, how, right)


def _instructions(code: bytes) -> list[tuple[int, int, int]]:
    """Split code into (instruction, argument, number of caches that follow it)."""
    instructions: list[tuple[int, int, int]] = []
    for code_point, argument in zip(code[::2], code[1::2], strict=False):
        if code_point == 0 and instructions:
            last = instructions[-1]
            instructions[-1] = (*last[:2], last[2] + 1)
        else:
            instructions.append((code_point, argument, 0))
    return instructions


def digest(record: Any) -> str:
    """Return a digest of a function: its code, the functions that it uses and the values around it."""
    written: list[str] = []
    _write(record, written, set())
    return hashlib.sha256("\n".join(written).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _write(value: Any, written: list[str], within: set[int]) -> None:
    if len(written) > _MAX_PARTS or id(value) in within:
        written.append("…")
        return
    within = within | {id(value)}
    if isinstance(value, Inert):
        written.append(value.qualified_name)
        try:
            function = Function.of(value)
        except UnknownFunctionError:
            parts: Sequence[Any] = (*value.made_of, value.state)
        else:
            used = value.made_of[1] if isinstance(value.made_of[1], dict) else {}
            globals_of = [used[name] for name in function.names if name in used]
            parts = (function.code, function.constants, function.names, function.variables, *globals_of)
            parts = (*parts, *(function.closure[name] for name in sorted(function.closure)))
        for part in parts:
            _write(part, written, within)
    elif isinstance(value, (list, tuple)):
        written.append(f"{type(value).__name__} {len(value)}")
        for part in value:
            _write(part, written, within)
    elif isinstance(value, (str, bytes, int, float, type(None))):
        written.append(repr(value))
    else:
        written.append(getattr(value, "qualified_name", type(value).__name__))

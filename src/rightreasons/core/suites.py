"""Behavioral suites as several floors see them: the table without texts, and what a suite expects of a model.

An expectation of a suite is a mapping: `name`, the parameters of that expectation, and optionally

- `where_first`: {"is": labels} or {"not": labels}, only cases whose first answer is, or is not, one of them;
- `where`: another expectation, only cases that pass it;
- `where_label`: {"is": labels} or {"not": labels}, only examples whose own label is, or is not, one of them;
- `skip_first`: whether the first example of a case is the original that the others are compared with, and so does not
  count;
- `aggregate`: how the results of a case's examples become one: "all" (by default), "any", "first", or the share of them
  that has to pass.

`and`, `or` and `not` combine expectations. What each of them computes is in `behavior.expectations`.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import unknown_name
from rightreasons.core.options import check_options

TEST_TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality, invariance and directional expectation tests (Ribeiro et al. 2020)."""

TOLERANCE = 0.1
"""How far a probability may move before a test of invariance of CheckList calls it a change."""

AGGREGATES = ("all", "any", "first")
"""How the results of a case's examples become one; a share is the other way."""

NORMALIZATIONS = ("none", "casefold", "article", "ropes", "squad")
"""What may be done to texts before they are compared; see `behavior.expectations`."""

MAX_DEPTH = 10
"""The number of levels to which expectations may be nested."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """What a parameter of an expectation may be.

    Attributes:
        called: What it has to be, in words.
        kind: Its type, or types.
        required: Whether the suite has to say it.
        least: The smallest number that it may be; None where there is none.
        among: The texts that it may be; empty for any.
        default: What holds where the suite does not say it.
    """

    called: str
    kind: Any
    required: bool = False
    least: float | None = None
    among: tuple[str, ...] = ()
    default: Any = None

    def takes(self, value: Any) -> bool:
        """Tell whether a value is of the parameter's kind; True is a whole number to Python, and to nobody else."""
        return isinstance(value, self.kind) and (self.kind is bool or not isinstance(value, bool))

    def in_bounds(self, value: Any) -> bool:
        """Tell whether a value of the right kind is one of those allowed; NaN is in no bounds."""
        return (self.least is None or value >= self.least) and (not self.among or value in self.among)


def _one_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


_LABEL = Parameter("a whole number from 0 up", int, least=0)
_ANSWER = Parameter("a whole number or a text", (int, str))
_SWITCH = Parameter("true or false", bool, required=True)
_TOLERANCE = Parameter("a number from 0 up", numbers.Real, least=0.0, default=TOLERANCE)
_BOUND = Parameter("a number", numbers.Real)
_PARTS = Parameter("a list of expectations", Sequence, required=True)

EXPECTATION_PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "equal": {"value": _ANSWER, "clean": Parameter(_one_of(NORMALIZATIONS), str, among=NORMALIZATIONS, default="none")},
    "not_equal": {"value": dataclasses.replace(_ANSWER, required=True)},
    "invariant": {"tolerance": _TOLERANCE},
    "changed": {},
    "monotonic": {"increasing": _SWITCH, "tolerance": dataclasses.replace(_TOLERANCE, default=0.0), "label": _LABEL},
    "confidence": {"above": _BOUND, "below": _BOUND, "label": _LABEL},
    "sentiment_shift": {"positive": _SWITCH, "tolerance": _TOLERANCE},
    "transitive": {},
    "and": {"of": _PARTS},
    "or": {"of": _PARTS},
    "not": {"of": Parameter("an expectation", Mapping, required=True)},
    "python": {"function": Parameter("a Python function", Callable, required=True)},
    "unknown": {"why": Parameter("a text", str, required=True)},
}
"""The parameters of every expectation, by the name that a suite gives it."""

PAIRWISE = ("invariant", "changed", "monotonic", "sentiment_shift")
"""Expectations that compare with the first example of a case, which therefore does not count."""

OF_ALL = ("name", "where_first", "where", "where_label", "skip_first", "aggregate")
"""What every expectation may say."""

_OF_WHOLE_CASES = ("skip_first", "aggregate")


def skips_first(spec: Mapping[str, Any]) -> bool:
    """Tell whether the first example of a case is the original that the others are compared with.

    Example:
        >>> skips_first({"name": "invariant"}), skips_first({"name": "equal"})
        (True, False)
        >>> skips_first({"name": "or", "of": [{"name": "equal", "value": 1}, {"name": "changed"}]})
        True
    """
    if spec.get("skip_first") is not None:
        return bool(spec["skip_first"])
    return spec["name"] in PAIRWISE or any(map(skips_first, combined(spec)))


def combined(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the expectations that `and`, `or` and `not` combine; none for the others."""
    of = spec.get("of", ()) if spec.get("name") in ("and", "or", "not") else ()
    return (of,) if isinstance(of, Mapping) else of


def every_part(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield an expectation, those it combines and those of its conditions.

    Example:
        >>> spec = {"name": "not", "of": {"name": "changed"}, "where": {"name": "equal", "value": 1}}
        >>> [part["name"] for part in every_part(spec)]
        ['not', 'changed', 'equal']
    """
    yield spec
    for part in combined(spec):
        yield from every_part(part)
    if spec.get("where") is not None:
        yield from every_part(spec["where"])


def expectation_parameters(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that an expectation of a suite gives.

    Example:
        >>> expectation_parameters({"name": "equal", "value": 1, "where_first": {"is": [0]}})
        {'value': 1}
    """
    return {key: value for key, value in spec.items() if key not in OF_ALL and value is not None}


def check_expectation(spec: Mapping[str, Any]) -> None:
    """Check that an expectation of a suite has a known name, and parameters that it takes.

    Raises:
        TypeError: If a parameter is of the wrong kind.
        ValueError: If the name or a parameter is unknown or out of bounds, or a parameter is missing.

    Example:
        >>> check_expectation({"name": "monotonic"})
        Traceback (most recent call last):
        ...
        ValueError: Expected the expectation 'monotonic' to say `increasing`, but it does not.
    """
    _check(spec, MAX_DEPTH)


def _check(spec: Any, levels: int) -> None:
    if levels < 1:
        raise ValueError(f"Expected expectations nested to at most {MAX_DEPTH} levels, but there are more.")
    if not isinstance(spec, Mapping):
        raise TypeError(f'Expected an expectation to be like {{"name": "equal"}}, but got {spec!r}.')
    name = spec.get("name")
    if not isinstance(name, str) or name not in EXPECTATION_PARAMETERS:
        raise unknown_name("expectation", str(name), EXPECTATION_PARAMETERS)
    where = f"the expectation {name!r}"
    taken = EXPECTATION_PARAMETERS[name]
    check_options({key: value for key, value in spec.items() if key not in OF_ALL}, taken, where)
    for key, parameter in {**taken, "skip_first": dataclasses.replace(_SWITCH, required=False)}.items():
        value = spec.get(key)
        if value is None:
            if parameter.required:
                raise ValueError(f"Expected {where} to say `{key}`, but it does not.")
            continue
        sentence = f"Expected `{key}` of {where} to be {parameter.called}, but got {value!r}."
        if not parameter.takes(value):
            raise TypeError(sentence)
        if not parameter.in_bounds(value):
            raise ValueError(sentence)
    if name == "confidence" and spec.get("above") is None and spec.get("below") is None:
        raise ValueError(f"Expected {where} to say `above` or `below`, but it says neither.")
    _check_conditions(spec, where)
    _check_parts(spec, where, levels - 1)


def _check_conditions(spec: Mapping[str, Any], where: str) -> None:
    for key in ("where_first", "where_label"):
        condition = spec.get(key)
        if condition is not None and (
            not isinstance(condition, Mapping)
            or len(condition) != 1
            or not condition.keys() <= {"is", "not"}
            or not all(_are_labels(labels) for labels in condition.values())
        ):
            raise ValueError(
                f'Expected `{key}` of {where} to be {{"is": labels}} or {{"not": labels}}, but got {condition!r}.'
            )
    how = spec.get("aggregate")
    is_share = isinstance(how, (int, float)) and not isinstance(how, bool) and 0 < how <= 1
    if not (how is None or is_share or (isinstance(how, str) and how in AGGREGATES)):
        raise ValueError(
            f"Expected `aggregate` of {where} to be all, any, first or a share above 0 and up to 1, but got {how!r}."
        )


def _check_parts(spec: Mapping[str, Any], where: str, levels: int) -> None:
    parts = combined(spec)
    if spec["name"] in ("and", "or") and (isinstance(spec["of"], str) or len(parts) < 2):
        raise ValueError(f"Expected `of` of {where} to be a list of at least two expectations, but got {parts!r}.")
    for part in parts:
        _check(part, levels)
        key = next((key for key in _OF_WHOLE_CASES if part.get(key) is not None), None)
        if key is not None:
            raise ValueError(f"Expected `{key}` of {where} as a whole, but one of those that it combines says it.")
    if spec.get("where") is not None:
        _check(spec["where"], levels)


def _are_labels(values: Any) -> bool:
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and len(values) > 0
        and all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteTable:
    """A behavioral suite without its texts: what predictions in the suite's order are scored against.

    The examples of a case stand together, and so do the cases of a functionality.

    Attributes:
        functionalities: F names.
        classes: F functionality classes (capabilities).
        test_types: F test types: "MFT", "INV" or "DIR".
        expectations: F expectations: `name` and its parameters.
        case_ids: C ids.
        case_functionality: (C,) which functionality each case belongs to, not decreasing.
        case_offsets: (C + 1,) where each case begins among the n examples.
        labels: n expected answers (labels or texts), None where an example has none.
        meta: n replaced pairs (old, new) or None; None where no example has one.
        label_names: The names of the labels 0, 1, …; None where they have none, or are texts.
        texts: n tuples of texts where an expectation is a Python function, which may read them; None elsewhere.
    """

    functionalities: tuple[str, ...]
    classes: tuple[str, ...]
    test_types: tuple[str, ...]
    expectations: tuple[Mapping[str, Any], ...]
    case_ids: tuple[str, ...]
    case_functionality: NDArray[np.int64]
    case_offsets: NDArray[np.int64]
    labels: tuple[Any, ...]
    meta: tuple[Any, ...] | None = None
    label_names: tuple[str, ...] | None = None
    texts: tuple[tuple[str, ...], ...] | None = None

    def __len__(self) -> int:
        return int(self.case_offsets[-1])

    @property
    def highest(self) -> int:
        """The highest number of a label; -1 where no label is a number."""
        return max((int(label) for label in self.labels if isinstance(label, numbers.Integral)), default=-1)

    @property
    def asks_for_texts(self) -> bool:
        """Whether the answers are texts rather than labels."""
        values = (part.get("value") for spec in self.expectations for part in every_part(spec))
        return any(isinstance(answer, str) for answer in (*self.labels, *values))

"""How a behavioral suite says what it expects of a model: names, parameters and conditions, checked when it is read.

An expectation of a suite is a mapping: `name`, the parameters of that expectation, and optionally `where_first`
({"is": labels} or {"not": labels}: only cases whose first answer is, or is not, one of them) and `skip_first` (whether
the first example of a case is the original that the others are compared with, and so does not count). What each
expectation computes is in `analysis.expectations`.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.foundations.validation import check_options, unknown_name


@dataclasses.dataclass(frozen=True)
class Parameter:
    """What a parameter of an expectation may be.

    Attributes:
        called: What it has to be, in words.
        kind: Its type.
        required: Whether the suite has to say it.
        least: The smallest number that it may be; None where there is none.
        among: The texts that it may be; empty for any.
    """

    called: str
    kind: type
    required: bool = False
    least: float | None = None
    among: tuple[str, ...] = ()

    def takes(self, given: Any) -> bool:
        """Tell whether a value is of the parameter's kind; True is a whole number to Python, and to nobody else."""
        return isinstance(given, self.kind) and (self.kind is bool or not isinstance(given, bool))

    def in_bounds(self, given: Any) -> bool:
        """Tell whether a value of the right kind is one of those allowed; NaN is in no bounds."""
        return (self.least is None or given >= self.least) and (not self.among or given in self.among)


_LABEL = Parameter("a whole number", int)
_SWITCH = Parameter("true or false", bool, required=True)
_TOLERANCE = Parameter("a number from 0 up", numbers.Real, least=0.0)

EXPECTATION_PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "equal": {"value": _LABEL, "clean": Parameter("none or article", str, among=("none", "article"))},
    "not_equal": {"value": dataclasses.replace(_LABEL, required=True)},
    "invariant": {"tolerance": _TOLERANCE},
    "monotonic": {"increasing": _SWITCH, "tolerance": _TOLERANCE},
    "sentiment_shift": {"positive": _SWITCH, "tolerance": _TOLERANCE},
    "transitive": {},
}
"""The parameters of every expectation, by the name that a suite gives it."""

PAIRWISE = ("invariant", "monotonic", "sentiment_shift")
"""Expectations that compare with the first example of a case, which therefore does not count."""

OF_ALL = ("name", "where_first", "skip_first")
"""What every expectation may say."""


def skips_first(spec: Mapping[str, Any]) -> bool:
    """Tell whether the first example of a case is the original that the others are compared with.

    Example:
        >>> skips_first({"name": "invariant"}), skips_first({"name": "equal"})
        (True, False)
    """
    said = spec.get("skip_first")
    return spec["name"] in PAIRWISE if said is None else bool(said)


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
    name = spec.get("name")
    if not isinstance(name, str) or name not in EXPECTATION_PARAMETERS:
        raise unknown_name("expectation", str(name), EXPECTATION_PARAMETERS)
    where = f"the expectation {name!r}"
    taken = EXPECTATION_PARAMETERS[name]
    check_options({key: value for key, value in spec.items() if key not in OF_ALL}, taken, where)
    for key, parameter in {**taken, "skip_first": dataclasses.replace(_SWITCH, required=False)}.items():
        given = spec.get(key)
        if given is None:
            if parameter.required:
                raise ValueError(f"Expected {where} to say `{key}`, but it does not.")
            continue
        sentence = f"Expected `{key}` of {where} to be {parameter.called}, but got {given!r}."
        if not parameter.takes(given):
            raise TypeError(sentence)
        if not parameter.in_bounds(given):
            raise ValueError(sentence)
    condition = spec.get("where_first")
    if condition is not None and (
        not isinstance(condition, Mapping)
        or len(condition) != 1
        or not condition.keys() <= {"is", "not"}
        or not all(_are_labels(labels) for labels in condition.values())
    ):
        raise ValueError(
            f'Expected `where_first` of {where} to be {{"is": labels}} or {{"not": labels}}, but got {condition!r}.'
        )


def _are_labels(values: Any) -> bool:
    return isinstance(values, Sequence) and len(values) > 0 and all(_LABEL.takes(value) for value in values)

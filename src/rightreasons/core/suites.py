"""Behavioral suites as several floors see them: the table without texts, and what a suite expects of a model.

An expectation of a suite is a mapping: `name`, the parameters of that expectation, and optionally

- `where_first`: {"is": labels} or {"not": labels}, only cases whose first answer is, or is not, one of them;
- `skip_first`: whether the first example of a case is the original that the others are compared with, and so does not
  count.

What each of them computes is in `behavior.expectations`.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import unknown_name
from rightreasons.core.options import check_options

TEST_TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality, invariance and directional expectation tests (Ribeiro et al. 2020)."""

TOLERANCE = 0.1
"""How far a probability may move before a test of invariance of CheckList calls it a change."""

NORMALIZATIONS = ("none", "article", "squad")
"""What may be done to texts before they are compared; see `behavior.expectations`."""


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


_ANSWER = Parameter("a whole number or a text", (int, str))
_SWITCH = Parameter("true or false", bool, required=True)
_TOLERANCE = Parameter("a number from 0 up", numbers.Real, least=0.0, default=TOLERANCE)
_CLEAN = Parameter("none, article or squad", str, among=NORMALIZATIONS, default="none")

EXPECTATION_PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "equal": {"value": _ANSWER, "clean": _CLEAN},
    "not_equal": {"value": dataclasses.replace(_ANSWER, required=True)},
    "invariant": {"tolerance": _TOLERANCE},
    "monotonic": {
        "increasing": _SWITCH,
        "tolerance": dataclasses.replace(_TOLERANCE, default=0.0),
        "label": Parameter("a whole number from 0 up", int, least=0),
    },
    "sentiment_shift": {"positive": _SWITCH, "tolerance": _TOLERANCE},
    "transitive": {},
    "unknown": {"why": Parameter("a text", str, required=True)},
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
    return bool(spec["name"] in PAIRWISE if spec.get("skip_first") is None else spec["skip_first"])


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
        # True is a whole number to Python, and to nobody else.
        if not isinstance(value, parameter.kind) or (isinstance(value, bool) and parameter.kind is not bool):
            raise TypeError(sentence)
        if (parameter.least is not None and not value >= parameter.least) or (
            parameter.among and value not in parameter.among
        ):
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

    def __len__(self) -> int:
        return int(self.case_offsets[-1])

    @property
    def highest(self) -> int:
        """The highest number of a label; -1 where no label is a number."""
        return max((int(label) for label in self.labels if isinstance(label, numbers.Integral)), default=-1)

    @property
    def asks_for_texts(self) -> bool:
        """Whether the answers are texts rather than labels."""
        values = (spec.get("value") for spec in self.expectations)
        return any(isinstance(answer, str) for answer in (*self.labels, *values))

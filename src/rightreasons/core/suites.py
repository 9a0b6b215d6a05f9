"""Behavioral suites without their texts, and the expectations that a suite can have of a model.

Several layers share what is here: `check_expectation` validates what the file of a suite says, and
a `SuiteTable` is what predictions are scored against. `behavior.expectations` computes whether a
case passes.

An expectation in a suite is a mapping: `name`, the parameters of that expectation, and optionally

- `where_first`: {"is": labels} or {"not": labels}. The expectation only applies to cases whose
  first answer is one of the labels, or none of them.
- `skip_first`: whether the first example of a case is the original with which the others are
  compared, and is therefore not counted.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options

TEST_TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality, invariance and directional expectation tests (Ribeiro et al. 2020)."""

TOLERANCE = 0.1
"""Largest change of a probability that CheckList's invariance tests ignore."""

NORMALIZATIONS = ("none", "article", "squad")
"""Normalizations of texts before they are compared. See `behavior.expectations`."""

Labels = Annotated[Sequence[int], Field(min_length=1)]
LabelNumber = Annotated[int, Field(ge=0)]
LabelCondition = Annotated[
    dict[Literal["is", "not"], Labels],
    Field(min_length=1, max_length=1),
]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Expectation(BaseModel):
    """Fields that every expectation of a suite may have."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    where_first: LabelCondition | None = None
    skip_first: bool | None = None


_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "equal": {
        "value": (int | str | None, None),
        "clean": (Literal[NORMALIZATIONS], "none"),
        "accept": (dict[str, Labels] | None, None),
    },
    "not_equal": {"value": (int | str, ...)},
    "invariant": {"tolerance": (Tolerance, TOLERANCE)},
    "monotonic": {
        "increasing": (bool, ...),
        "tolerance": (Tolerance, 0.0),
        "label": (LabelNumber | None, None),
    },
    "sentiment_shift": {
        "positive": (bool, ...),
        "tolerance": (Tolerance, TOLERANCE),
    },
    "transitive": {},
    # What a converted suite expects, if this package does not have it: only the reason is known.
    "unknown": {"why": (str, ...)},
}
"""Expectation -> its parameters, each with type and default. A default of ... means required."""

EXPECTATIONS: Mapping[str, type[Expectation]] = {
    name: create_model(name, __base__=Expectation, **parameters)
    for name, parameters in _PARAMETERS.items()
}
"""Expectation -> pydantic model of its fields. A null in a suite file counts as a missing field."""

PAIRWISE = ("invariant", "monotonic", "sentiment_shift")
"""Expectations that compare each example of a case with the first, which is not counted itself."""


def is_original_first(spec: Mapping[str, Any]) -> bool:
    """Return whether the first example of a case is the original with which others are compared.

    Args:
        spec: The expectation, as in the suite.

    Example:
        >>> is_original_first({"name": "invariant"}), is_original_first({"name": "equal"})
        (True, False)
    """
    skip_first = spec.get("skip_first")
    # What the suite says goes first: a case of "equal" may repeat its original too.
    if skip_first is None:
        return spec["name"] in PAIRWISE
    return bool(skip_first)


def get_expectation_parameters(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an expectation, without the fields that all expectations have.

    Args:
        spec: The expectation, as in the suite. Parameters that are null count as missing.

    Example:
        >>> spec = {"name": "equal", "value": 1, "where_first": {"is": [0]}}
        >>> get_expectation_parameters(spec)
        {'value': 1}
    """
    parameters = _drop_nulls(spec)
    for field in Expectation.model_fields:
        parameters.pop(field, None)
    return parameters


def _drop_nulls(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an expectation without those that are null, which count as missing."""
    return {key: value for key, value in spec.items() if value is not None}


def check_expectation(spec: Mapping[str, Any]) -> None:
    """Check the name and the parameters of an expectation of a suite.

    Args:
        spec: `name` and parameters of the expectation, as in the file of a suite.

    Raises:
        TypeError: If the expectation is not a mapping.
        ValueError: If the name or a parameter is unknown, or a parameter is missing or invalid.

    Example:
        >>> check_expectation({"name": "monotonic"})
        Traceback (most recent call last):
        ...
        ValueError: Expected a valid `increasing` of the expectation 'monotonic', but got None: \
field required.
    """
    if not isinstance(spec, Mapping):
        raise TypeError(
            f'Expected an expectation to be like {{"name": "equal"}}, but got {spec!r}.'
        )
    name = spec.get("name")
    if not isinstance(name, str) or name not in EXPECTATIONS:
        raise make_unknown_name_error("expectation", str(name), EXPECTATIONS)

    model = EXPECTATIONS[name]
    description = f"the expectation {name!r}"
    # pydantic would reject unknown parameters too, but without suggesting a similar name.
    check_options(spec, model.model_fields, description)
    try:
        model.model_validate(_drop_nulls(spec))
    except ValidationError as error:
        # Only the first mistake is reported, because it may cause the others.
        details = error.errors()[0]
        key = str(details["loc"][0])
        reason = details["msg"]
        raise ValueError(
            f"Expected a valid `{key}` of {description}, but got {spec.get(key)!r}: "
            f"{reason[:1].lower()}{reason[1:]}."
        ) from None


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteTable:
    """A behavioral suite without its texts, against which predictions are scored.

    Predictions have the order of the suite: functionality by functionality, case by case. F is the
    number of functionalities, C that of cases, and n that of examples.

    Attributes:
        functionalities: F names.
        classes: F classes of functionalities, which CheckList calls capabilities.
        test_types: F test types: "MFT", "INV" or "DIR".
        expectations: F expectations: `name` and parameters.
        case_ids: C ids.
        case_functionality: (C,) index of the functionality of each case, in ascending order.
        case_offsets: (C + 1,) position of the first example of each case, and n.
        labels: n expected answers: numbers of labels, or texts. None for an example without one.
        meta: n replaced pairs (old, new), None for an example without one. None instead of the
            tuple if no example has one.
        label_names: Names of the labels 0, 1, …. None if they have no names, or are texts.
        case_clusters: (C,) number of the cluster of each case. Cases of a functionality with the
            same texts are one cluster. None if all cases are independent.
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
    case_clusters: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self.case_offsets[-1])

    @property
    def max_label(self) -> int:
        """Largest number of a label, or -1 if no label is a number."""
        max_label = -1
        for label in self.labels:
            # Numbers of numpy are not instances of int.
            if isinstance(label, numbers.Integral):
                max_label = max(max_label, int(label))
        return max_label

    @property
    def asks_for_texts(self) -> bool:
        """Whether the expected answers are texts instead of labels."""
        # The expectation may give one answer for all examples, in place of their labels.
        values = [spec.get("value") for spec in self.expectations]
        return any(isinstance(answer, str) for answer in (*self.labels, *values))

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
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options

TEST_TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality, invariance and directional expectation tests (Ribeiro et al. 2020)."""

TOLERANCE = 0.1
"""How far a probability may move before a test of invariance of CheckList calls it a change."""

NORMALIZATIONS = ("none", "article", "squad")
"""What may be done to texts before they are compared; see `behavior.expectations`."""

Labels = Annotated[Sequence[int], Field(min_length=1)]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Expectation(BaseModel):
    """What every expectation of a suite may say."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    where_first: (
        Annotated[dict[Literal["is", "not"], Labels], Field(min_length=1, max_length=1)] | None
    ) = None
    skip_first: bool | None = None


_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "equal": {"value": (int | str | None, None), "clean": (Literal[NORMALIZATIONS], "none")},
    "not_equal": {"value": (int | str, ...)},
    "invariant": {"tolerance": (Tolerance, TOLERANCE)},
    "monotonic": {
        "increasing": (bool, ...),
        "tolerance": (Tolerance, 0.0),
        "label": (Annotated[int, Field(ge=0)] | None, None),
    },
    "sentiment_shift": {"positive": (bool, ...), "tolerance": (Tolerance, TOLERANCE)},
    "transitive": {},
    "unknown": {"why": (str, ...)},
}

EXPECTATIONS: Mapping[str, type[Expectation]] = {
    name: create_model(name, __base__=Expectation, **parameters)
    for name, parameters in _PARAMETERS.items()
}
"""What every expectation may say, by the name that a suite gives it; null is the same as nothing."""

PAIRWISE = ("invariant", "monotonic", "sentiment_shift")
"""Expectations that compare with the first example of a case, which therefore does not count."""


def is_original_first(spec: Mapping[str, Any]) -> bool:
    """Tell whether the first example of a case is the original that the others are compared with.

    Example:
        >>> is_original_first({"name": "invariant"}), is_original_first({"name": "equal"})
        (True, False)
    """
    return bool(spec["name"] in PAIRWISE if spec.get("skip_first") is None else spec["skip_first"])


def get_expectation_parameters(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that an expectation of a suite gives.

    Example:
        >>> get_expectation_parameters({"name": "equal", "value": 1, "where_first": {"is": [0]}})
        {'value': 1}
    """
    return {
        key: value
        for key, value in spec.items()
        if key not in Expectation.model_fields and value is not None
    }


def check_expectation(spec: Mapping[str, Any]) -> None:
    """Check that an expectation of a suite has a known name, and parameters that it takes.

    Raises:
        TypeError: If it is no mapping.
        ValueError: If the name or a parameter is unknown or wrong, or a parameter is missing.

    Example:
        >>> check_expectation({"name": "monotonic"})
        Traceback (most recent call last):
        ...
        ValueError: Expected a valid `increasing` of the expectation 'monotonic', but got None: field required.
    """
    if not isinstance(spec, Mapping):
        raise TypeError(
            f'Expected an expectation to be like {{"name": "equal"}}, but got {spec!r}.'
        )
    name = spec.get("name")
    if not isinstance(name, str) or name not in EXPECTATIONS:
        raise make_unknown_name_error("expectation", str(name), EXPECTATIONS)
    where = f"the expectation {name!r}"
    check_options(spec, EXPECTATIONS[name].model_fields, where)
    try:
        EXPECTATIONS[name].model_validate(
            {key: value for key, value in spec.items() if value is not None}
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        key, why = str(wrong["loc"][0]), wrong["msg"]
        raise ValueError(
            f"Expected a valid `{key}` of {where}, but got {spec.get(key)!r}: {why[:1].lower()}{why[1:]}."
        ) from None


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
        return max(
            (int(label) for label in self.labels if isinstance(label, numbers.Integral)), default=-1
        )

    @property
    def asks_for_texts(self) -> bool:
        """Whether the answers are texts rather than labels."""
        values = (spec.get("value") for spec in self.expectations)
        return any(isinstance(answer, str) for answer in (*self.labels, *values))

"""The parts of a behavioral suite: functionalities and their cases, and the checks of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, Strict

from rightreasons.core.arrays import describe_kind
from rightreasons.core.sentences import format_value
from rightreasons.core.suites import TEST_TYPES, check_expectation, is_original_first
from rightreasons.core.validation import check_ids, check_one_of

MAX_LABEL = 2**31 - 1
"""Largest numeric label."""


def _make_texts(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Text = Annotated[str, Field(pattern=r"\S")]
Texts = Annotated[tuple[str, ...], BeforeValidator(_make_texts)]
"""Texts of an example. A file may have a single one without a list."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case, whose examples pass or fail together.

    Attributes:
        id: Id, unique in its functionality.
        examples: One tuple of texts per example.
        labels: One expected answer per example, None for an example without one. None for cases
            without labels.
        meta: One replaced pair (old, new) or None per example. None if nothing was replaced.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    examples: tuple[Texts, ...]
    labels: tuple[Annotated[int, Strict()] | str | None, ...] | None = None
    meta: tuple[tuple[str, str] | None, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Functionality:
    """One functionality with its cases.

    Attributes:
        name: Name, unique in the suite.
        functionality_class: The capability that it tests.
        test_type: "MFT", "INV" or "DIR".
        expectation: `name` and parameters. See `rightreasons.core.suites`.
        cases: Its cases.
        excluded: Positions of the released cases that known issues left out, in ascending order.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Text
    functionality_class: Text
    test_type: Text
    expectation: Mapping[str, Any]
    cases: tuple[Case, ...]
    excluded: tuple[int, ...] = ()

    @property
    def n_examples(self) -> int:
        """Number of examples of its cases."""
        return sum(len(case.examples) for case in self.cases)

    @property
    def released_positions(self) -> NDArray[np.int64]:
        """(C,) positions of the cases in the functionality as it was released."""
        n_released = len(self.cases) + len(self.excluded)
        return np.setdiff1d(np.arange(n_released), np.array(self.excluded, dtype=np.int64))


# ---------------------------------------------------------------------------------------- checks


def check_name(name: object, owner: str) -> None:
    """Check that the name of a part of a suite is a text with characters in it.

    Example:
        >>> check_name(None, "functionality")
        Traceback (most recent call last):
        ...
        TypeError: Expected the name of a functionality to be a text, but got None.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"Expected the name of a {owner} to be a text, but got {describe_kind(name)}."
        )
    if not name.strip():
        raise ValueError(f"Expected the name of a {owner} to hold characters, but got {name!r}.")


def check_functionality(
    functionality: Functionality, n_texts: int, label_names: Sequence[str] | None = None
) -> None:
    """Check a functionality.

    Args:
        functionality: The functionality.
        n_texts: The number of texts per example.
        label_names: The names of the suite's labels. None if they have none.

    Raises:
        TypeError: If a name is no text, a label is neither a whole number nor a text, or an option
            of the expectation has the wrong type.
        ValueError: If a value is missing, unknown, or does not match another.
    """
    check_name(functionality.name, "functionality")
    location = f"the functionality {functionality.name!r}"
    check_name(functionality.functionality_class, f"class of {location}")
    check_one_of(functionality.test_type, TEST_TYPES, f"test_type of {location}")
    if not functionality.cases:
        raise ValueError(f"Expected at least one case in {location}, but it has none.")
    check_ids([case.id for case in functionality.cases], f"case of {location}")

    spec = functionality.expectation
    if not isinstance(spec, Mapping) or "name" not in spec:
        raise ValueError(f"Expected the expectation of {location} to have a name, but it has none.")
    try:
        check_expectation(spec)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({location})") from error
    for case in functionality.cases:
        _check_case(case, f"case {case.id!r} of {location}", n_texts, label_names)
    _check_cases_suit(functionality, location)


def _check_cases_suit(functionality: Functionality, location: str) -> None:
    """Check that the cases have the examples and labels that the expectation needs."""
    spec = functionality.expectation
    max_examples = max(len(case.examples) for case in functionality.cases)
    # A single case of one example would be compared with itself, so nothing would be asked of it.
    if is_original_first(spec) and max_examples < 2:
        raise ValueError(
            f"Expected at least 2 examples in a case of {location} ({functionality.test_type}), "
            "whose first is compared with the others, but each has 1."
        )
    needs_labels = functionality.test_type == "MFT" and spec["name"] == "equal"
    if needs_labels and spec.get("value") is None and not _has_labels(functionality.cases):
        raise ValueError(
            f"Expected labels in {location}, or a `value` in its expectation 'equal', "
            "but there is neither."
        )


def _has_labels(cases: Sequence[Case]) -> bool:
    """Return whether any example has a label."""
    labels: list[Any] = []
    for case in cases:
        labels.extend(case.labels or ())
    return any(label is not None for label in labels)


def _check_case(case: Case, location: str, n_texts: int, label_names: Sequence[str] | None) -> None:
    columns = (case.examples, case.labels, case.meta)
    sizes = {len(column) for column in columns if column is not None}
    is_aligned = sizes == {len(case.examples)} and 0 not in sizes
    if not is_aligned or any(len(texts) != n_texts for texts in case.examples):
        raise ValueError(
            f"Expected examples of {n_texts} texts in {location}, each with one entry in `labels` "
            f"and in `meta` where there are any, but got {format_value(case)}."
        )
    for label in case.labels or ():
        if label is not None:
            _check_label(label, location, label_names)


def _check_label(label: object, location: str, label_names: Sequence[str] | None) -> None:
    if not isinstance(label, (int, str)) or isinstance(label, bool):
        raise TypeError(
            f"Expected whole numbers or texts as labels, but {location} has {format_value(label)}."
        )
    if isinstance(label, int) and not -1 <= label <= MAX_LABEL:
        raise ValueError(f"Expected labels from -1 to {MAX_LABEL}, but {location} has one beyond.")
    if label_names is None:
        return
    if not isinstance(label, int) or label >= len(label_names):
        raise ValueError(
            f"Expected a number of one of the labels {', '.join(label_names)}, which count from 0, "
            f"but {location} has {label!r}."
        )

"""The parts of a behavioral suite: functionalities, their cases, and what each of them must be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, Strict

from rightreasons.core.arrays import kind_of
from rightreasons.core.errors import one_line
from rightreasons.core.suites import TEST_TYPES, check_expectation, skips_first
from rightreasons.core.validation import check_ids, check_one_of

MAX_LABEL = 2**31 - 1
"""The largest numeric label."""


Text = Annotated[str, Field(pattern=r"\S")]
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""The texts of an example; a file may have a single one as it is."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case, whose examples pass or fail together.

    Attributes:
        id: Unique in its functionality.
        examples: One tuple of texts per example.
        labels: One expected answer per example, None where there is none; None for cases without labels.
        meta: One replaced pair (old, new) or None per example; None where nothing was replaced.
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
        name: Unique in the suite.
        functionality_class: The capability that it tests.
        test_type: "MFT", "INV" or "DIR".
        expectation: `name` and parameters; see `rightreasons.core.suites`.
        cases: Its cases.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Text
    functionality_class: Text
    test_type: Text
    expectation: Mapping[str, Any]
    cases: tuple[Case, ...]

    @property
    def n_examples(self) -> int:
        """The number of examples of its cases."""
        return sum(len(case.examples) for case in self.cases)


def check_name(name: object, of: str) -> None:
    """Check that the name of a part of a suite is a text with characters in it.

    Example:
        >>> check_name(None, "functionality")
        Traceback (most recent call last):
        ...
        TypeError: Expected the name of a functionality to be a text, but got None.
    """
    if not isinstance(name, str):
        raise TypeError(f"Expected the name of a {of} to be a text, but got {kind_of(name)}.")
    if not name.strip():
        raise ValueError(f"Expected the name of a {of} to hold characters, but got {name!r}.")


def check_functionality(functionality: Functionality, n_texts: int, label_names: Sequence[str] | None = None) -> None:
    """Check a functionality.

    Args:
        functionality: The functionality.
        n_texts: The number of texts per example.
        label_names: The names of the suite's labels; None where they have none.

    Raises:
        TypeError: If a name is no text, a label is neither a whole number nor a text, or an option of the expectation
            has the wrong type.
        ValueError: If a value is missing, unknown, or does not match another.
    """
    check_name(functionality.name, "functionality")
    where = f"the functionality {functionality.name!r}"
    check_name(functionality.functionality_class, f"class of {where}")
    check_one_of(functionality.test_type, TEST_TYPES, f"test_type of {where}")
    if not functionality.cases:
        raise ValueError(f"Expected at least one case in {where}, but it has none.")
    check_ids([case.id for case in functionality.cases], f"case of {where}")
    if not isinstance(functionality.expectation, Mapping) or "name" not in functionality.expectation:
        raise ValueError(f"Expected the expectation of {where} to have a name, but it has none.")
    try:
        check_expectation(functionality.expectation)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({where})") from error
    for case in functionality.cases:
        _check_case(case, where, n_texts, label_names)
    spec = functionality.expectation
    # Nothing is asked of a single case of one example, which would be compared with itself.
    if skips_first(spec) and max(len(case.examples) for case in functionality.cases) < 2:
        raise ValueError(
            f"Expected at least 2 examples in a case of {where} ({functionality.test_type}), whose first is compared "
            "with the others, but each has 1."
        )
    labels = (label for case in functionality.cases for label in case.labels or ())
    asks_for_labels = functionality.test_type == "MFT" and spec["name"] == "equal" and spec.get("value") is None
    if asks_for_labels and all(label is None for label in labels):
        raise ValueError(f"Expected labels in {where}, or a `value` in its expectation 'equal', but there is neither.")


def _check_case(case: Case, where: str, n_texts: int, label_names: Sequence[str] | None) -> None:
    where = f"case {case.id!r} of {where}"
    sizes = {len(column) for column in (case.examples, case.labels, case.meta) if column is not None}
    if sizes != {len(case.examples)} or 0 in sizes or any(len(texts) != n_texts for texts in case.examples):
        raise ValueError(
            f"Expected examples of {n_texts} texts in {where}, each with one entry in `labels` and in `meta` where "
            f"there are any, but got {one_line(case)}."
        )
    for label in case.labels or ():
        if label is not None and (not isinstance(label, (int, str)) or isinstance(label, bool)):
            raise TypeError(f"Expected whole numbers or texts as labels, but {where} has {one_line(label)}.")
        if isinstance(label, int) and not -1 <= label <= MAX_LABEL:
            raise ValueError(f"Expected labels from -1 to {MAX_LABEL}, but {where} has one beyond.")
        if label_names is not None and label is not None and not (isinstance(label, int) and label < len(label_names)):
            raise ValueError(
                f"Expected a number of one of the labels {', '.join(label_names)}, which count from 0, but {where} has "
                f"{label!r}."
            )

"""The parts of a behavioral suite: functionalities, their cases, and what each of them must be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.arrays import kind_of
from rightreasons.core.suites import TEST_TYPES, check_expectation, skips_first
from rightreasons.core.validation import check_ids, check_one_of

MAX_LABEL = 2**31 - 1
"""The largest numeric label."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case, whose examples pass or fail together.

    Attributes:
        id: Unique in its functionality.
        examples: One tuple of texts per example.
        labels: One expected answer per example, None where there is none; None for cases without labels.
        meta: One replaced pair (old, new) or None per example; None where nothing was replaced.
    """

    id: str
    examples: tuple[tuple[str, ...], ...]
    labels: tuple[Any, ...] | None = None
    meta: tuple[Any, ...] | None = None


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

    name: str
    functionality_class: str
    test_type: str
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
        _check_case(case, functionality, n_texts)
        known = len(label_names or ())
        odd = [each for each in case.labels or () if each is not None and not (isinstance(each, int) and each < known)]
        if label_names is not None and odd:
            raise ValueError(
                f"Expected a number of one of the labels {', '.join(label_names)}, which count from 0, but case "
                f"{case.id!r} of {where} has {odd[0]!r}."
            )
    _check_compared(functionality)
    _check_labeled(functionality)
    _check_characters(functionality)


def _check_case(case: Case, functionality: Functionality, n_texts: int) -> None:
    where = f"the functionality {functionality.name!r}"
    if not case.examples:
        raise ValueError(f"Expected at least 1 example in case {case.id!r} of {where}, but it has none.")
    for column in (case.labels, case.meta):
        if column is not None and len(column) != len(case.examples):
            raise ValueError(
                f"Expected one entry for each of the {len(case.examples)} examples of case {case.id!r} of {where}, but "
                f"got {len(column)}."
            )
    for texts in case.examples:
        if len(texts) != n_texts:
            raise ValueError(
                f"Expected {n_texts} texts in each example of {where}, but case {case.id!r} has one with {len(texts)}."
            )
    for label in case.labels or ():
        _check_label(label, f"case {case.id!r} of {where}")


def _check_label(label: Any, where: str) -> None:
    if label is None or isinstance(label, str):
        return
    if not isinstance(label, int) or isinstance(label, bool):
        kind = type(label).__name__
        raise TypeError(f"Expected whole numbers or texts as labels, but {where} has one of the type {kind}.")
    if not -1 <= label <= MAX_LABEL:
        raise ValueError(f"Expected labels from -1 to {MAX_LABEL}, but {where} has one beyond.")


def _check_compared(functionality: Functionality) -> None:
    """Refuse a comparison with the first example where no case has another; nothing is asked of single such cases."""
    if skips_first(functionality.expectation) and max(len(case.examples) for case in functionality.cases) < 2:
        raise ValueError(
            f"Expected at least 2 examples in a case of the functionality {functionality.name!r} "
            f"({functionality.test_type}), whose first is compared with the others, but each has 1."
        )


def _check_labeled(functionality: Functionality) -> None:
    spec = functionality.expectation
    if functionality.test_type != "MFT" or spec["name"] != "equal" or spec.get("value") is not None:
        return
    if all(label is None for case in functionality.cases for label in case.labels or ()):
        raise ValueError(
            f"Expected labels in the functionality {functionality.name!r}, or a `value` in its expectation 'equal', "
            "but there is neither."
        )


def _check_characters(functionality: Functionality) -> None:
    """Refuse half surrogate pairs, which no file can hold."""
    strings = {text for case in functionality.cases for texts in case.examples for text in texts if not text.isascii()}
    strings.update(label for case in functionality.cases for label in case.labels or () if isinstance(label, str))
    strings.update((functionality.name, functionality.functionality_class))
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"Expected texts of whole characters in the functionality {functionality.name!a}, but one holds half "
            "of a surrogate pair."
        ) from None

"""Checks of the names, cases and labels of a behavioral suite, and whether they suit its expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightreasons.core.arrays import describe_kind
from rightreasons.core.sentences import format_value
from rightreasons.core.suites import TEST_TYPES, check_expectation, is_original_first
from rightreasons.core.validation import check_ids, check_one_of
from rightreasons.datasets.suites.cases import Case, Functionality

MAX_LABEL = 2**31 - 1
"""Largest numeric label."""


def check_name(name: object, owner: str) -> None:
    """Check that the name of a part of a suite is a string that is not empty.

    Args:
        name: The name.
        owner: Description of the part, for error messages.

    Example:
        >>> check_name(None, "functionality")
        Traceback (most recent call last):
        ...
        TypeError: Expected the name of a functionality to be a text, but got None.
    """
    if not isinstance(name, str):
        kind = describe_kind(name)
        raise TypeError(f"Expected the name of a {owner} to be a text, but got {kind}.")
    if not name.strip():
        raise ValueError(f"Expected the name of a {owner} to hold characters, but got {name!r}.")


def check_functionality(
    functionality: Functionality, n_texts: int, label_names: Sequence[str] | None = None
) -> None:
    """Check a functionality.

    Args:
        functionality: The functionality.
        n_texts: Number of texts per example.
        label_names: Names of the suite's labels; None if the labels have no names.

    Raises:
        TypeError: If a name is not a string, a label is neither a whole number nor a string, or an
            option of the expectation has the wrong type.
        ValueError: If a value is missing or unknown, or contradicts another value.
    """
    check_name(functionality.name, "functionality")
    location = f"the functionality {functionality.name!r}"
    check_name(functionality.functionality_class, f"class of {location}")
    check_one_of(functionality.test_type, TEST_TYPES, f"test_type of {location}")
    if not functionality.cases:
        raise ValueError(f"Expected at least one case in {location}, but it has none.")
    ids = [case.id for case in functionality.cases]
    check_ids(ids, f"case of {location}")

    spec = functionality.expectation
    if not isinstance(spec, Mapping) or "name" not in spec:
        raise ValueError(f"Expected the expectation of {location} to have a name, but it has none.")
    try:
        check_expectation(spec)
    except (TypeError, ValueError) as error:
        # Add the name of the functionality to the message.
        raise type(error)(f"{error} ({location})") from error
    for case in functionality.cases:
        case_location = f"case {case.id!r} of {location}"
        _check_case(case, case_location, n_texts, label_names)
    _check_expectation_applies(functionality, location)


def _check_expectation_applies(functionality: Functionality, location: str) -> None:
    """Check that the cases have the examples and labels that the expectation needs.

    Args:
        functionality: The functionality.
        location: Description of the functionality, for error messages.

    Raises:
        ValueError: If examples are compared with the first one of their case, but no case has a second
            example; or if answers are compared with labels, but there are no labels.
    """
    spec = functionality.expectation
    max_examples = max(len(case.examples) for case in functionality.cases)
    # A single example would be compared with itself, so that the case could not fail.
    if is_original_first(spec) and max_examples < 2:
        raise ValueError(
            f"Expected at least 2 examples in a case of {location} ({functionality.test_type}), "
            "whose first is compared with the others, but each has 1."
        )
    # The expectation "equal" compares answers with its `value`, or else with the label of each example.
    needs_labels = functionality.test_type == "MFT" and spec["name"] == "equal"
    has_answer = spec.get("value") is not None or _has_labels(functionality.cases)
    if needs_labels and not has_answer:
        raise ValueError(
            f"Expected labels in {location}, or a `value` in its expectation 'equal', but got "
            "neither."
        )


def _has_labels(cases: Sequence[Case]) -> bool:
    """Return whether any example of some cases has a label."""
    for case in cases:
        for label in case.labels or ():
            if label is not None:
                return True
    return False


def _check_case(case: Case, location: str, n_texts: int, label_names: Sequence[str] | None) -> None:
    """Check that a case has examples with all texts, and valid labels and replacements for each.

    Args:
        case: The case.
        location: Description of the case, for error messages.
        n_texts: Number of texts per example.
        label_names: Names of the labels 0, 1, …; None if the labels have no names.

    Raises:
        TypeError: If a label is neither a whole number nor a string.
        ValueError: If there are no examples, the number of texts, labels or replacements is wrong, or a
            label is out of range.
    """
    n_examples = len(case.examples)
    is_valid = n_examples > 0
    # If a case has labels or replacements, it must have one for each example.
    for column in (case.labels, case.meta):
        if column is not None and len(column) != n_examples:
            is_valid = False
    for texts in case.examples:
        if len(texts) != n_texts:
            is_valid = False
    if not is_valid:
        raise ValueError(
            f"Expected examples of {n_texts} texts in {location}, and one entry per example in "
            f"`labels` and `meta` if present, but got {format_value(case)}."
        )
    for label in case.labels or ():
        if label is not None:
            _check_label(label, location, label_names)


def _check_label(label: object, location: str, label_names: Sequence[str] | None) -> None:
    """Check one label of a case.

    Args:
        label: A label, which is not None.
        location: Description of the case, for error messages.
        label_names: Names of the labels 0, 1, …; None if the labels have no names.

    Raises:
        TypeError: If the label is neither a whole number nor a string.
        ValueError: If the label is out of range, or has no name.
    """
    # In Python, a bool is an int, too.
    is_label = isinstance(label, (int, str)) and not isinstance(label, bool)
    if not is_label:
        value = format_value(label)
        raise TypeError(f"Expected whole numbers or texts as labels, but {location} has {value}.")
    # -1 means that an example has no label.
    if isinstance(label, int) and not -1 <= label <= MAX_LABEL:
        raise ValueError(
            f"Expected labels from -1 to {MAX_LABEL}, but {location} has a label outside this "
            "range."
        )
    if label_names is None:
        return
    if not isinstance(label, int) or label >= len(label_names):
        names = ", ".join(label_names)
        raise ValueError(
            f"Expected a number of one of the labels {names}, which count from 0, "
            f"but {location} has {label!r}."
        )

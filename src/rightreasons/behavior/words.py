"""Descriptions of the expectations of a behavioral suite, for the report and the Space.

The sentences are in words.md.j2: `rule.NAME` for each expectation, and `conditions` for the cases
and examples to which it applies.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.behavior.cases import JudgedCase, JudgedExample
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.core.suites import EXPECTATIONS
from rightreasons.page.formats import percent
from rightreasons.page.prose import Prose

TYPES = {
    "MFT": ("minimum functionality", "the correct answer is known"),
    "INV": ("invariance", "the answer must not change"),
    "DIR": ("directional", "the answer must change in one direction"),
}
"""Test type -> its name, and its requirement."""

PROSE = Prose(Path(__file__).with_name("words.md.j2"))
"""Sentences about the expectations."""


def describe_expectation(answers: SuiteAnswers, number: int) -> str:
    """Describe the expectation of a functionality of a suite, in sentences.

    The sentences are made from the templates in words.md.j2: `rule.NAME` for the expectation with the
    name NAME, and `conditions` for the cases and examples to which it applies.

    Args:
        answers: Answers of a model to the suite, with the names of the classes.
        number: Index of the functionality in the suite.
    """
    spec = answers.suite.functionalities[number].expectation
    write = PROSE.of(
        answers=answers,
        spec=spec,
        called=functools.partial(_describe_answer, answers),
        tolerance=_describe_tolerance(spec),
        limit=_describe_limit(spec),
    )
    rule = write(f"rule.{spec['name']}")
    # Empty if the expectation applies to all cases and examples.
    conditions = write("conditions")
    return f"{rule} {conditions}".strip()


def describe_expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Describe the expected answer to an example.

    Args:
        answers: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        example: An example of the functionality.

    Returns:
        The answer, such as "positive", "neutral or positive" or "anything but negative". "" if the
        example has no label, or if the expectation compares answers with each other, as in an invariance
        test.
    """
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_describe_answer(answers, spec['value'])}"
    if spec["name"] != "equal":
        return ""

    # The expectation may have one value for all examples. Otherwise, each example has a label.
    label = spec.get("value")
    if label is None:
        label = answers.table.labels[example.row]
    if label is None:
        return ""
    # Several answers may be accepted for a label, such as `{"accept": {"1": [1, 2]}}`.
    accepted_by_label = spec.get("accept") or {}
    accepted = accepted_by_label.get(str(label), [label])
    return " or ".join(map(answers.describe_answer, accepted))


def describe_movement(
    answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample
) -> str:
    """Describe how a probability changes from the original text of a case to a changed text.

    The expectation of the functionality determines the probability, such as that of the original answer.

    Args:
        answers: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        case: A case, whose first example is the original text.
        example: A changed text of the case.

    Returns:
        Words such as "P(negative) from 62.0% to 81.0%"; "" if the model gives no probabilities.
    """
    if answers.probabilities is None:
        return ""
    # (K,) probabilities of the K classes, for the original and for the changed text.
    original_row = case.examples[0].row
    original = answers.probabilities[original_row]
    changed = answers.probabilities[example.row]

    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "sentiment_shift":
        # The classes of this expectation are negative, neutral and positive.
        original_negative, _, original_positive = original
        changed_negative, _, changed_positive = changed
        name = "P(positive) − P(negative)"
        original_value = original_positive - original_negative
        changed_value = changed_positive - changed_negative
    else:
        # Without a label, the expectation is about the answer to the original text.
        label = spec.get("label")
        if label is None:
            label = int(answers.answers[original_row])
        name = f"P({answers.describe_answer(label)})"
        original_value = original[label]
        changed_value = changed[label]
    return f"{name} from {percent(float(original_value))} to {percent(float(changed_value))}"


def _describe_answer(answers: SuiteAnswers, answer: Any) -> str:
    """Return the name of a class, or a text answer in quotation marks.

    Args:
        answers: Answers of a model, which name the classes.
        answer: Number of a class, or the text that a question-answering model found.
    """
    if isinstance(answer, str):
        return f"“{answer}”"
    return answers.describe_answer(answer)


def _describe_limit(spec: Mapping[str, Any]) -> str:
    """Describe by how much a probability may fall or rise, as the end of a sentence.

    Args:
        spec: Expectation of a directional test, such as `{"name": "monotonic", "increasing": True,
            "tolerance": 0.1}`, or `{"name": "sentiment_shift", "positive": True}`.

    Returns:
        Words such as "must not fall by more than 0.1", or "must not fall" for the tolerance 0.
    """
    should_rise = spec.get("increasing", spec.get("positive"))
    verb = "fall" if should_rise else "rise"
    tolerance = _describe_tolerance(spec)
    if tolerance == "0":
        return f"must not {verb}"
    return f"must not {verb} by more than {tolerance}"


def _describe_tolerance(spec: Mapping[str, Any]) -> str:
    """Return the tolerance of an expectation, such as "0.1"; "" if the expectation has no tolerance.

    Args:
        spec: Expectation of a suite, such as `{"name": "invariant", "tolerance": 0.1}`.
    """
    fields = EXPECTATIONS[spec["name"]].model_fields
    if "tolerance" not in fields:
        return ""
    tolerance = spec.get("tolerance")
    # If a suite omits the tolerance, the default applies.
    if tolerance is None:
        tolerance = fields["tolerance"].default
    return f"{tolerance:g}"

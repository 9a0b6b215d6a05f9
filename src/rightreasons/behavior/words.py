"""Descriptions of what a behavioral suite expects, for the report and the Space.

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
    """Describe in sentences what a functionality expects of all its cases.

    The sentences are templates, whose fields are filled here.

    Args:
        answers: Answers of a model to the suite.
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
    # Most expectations have no conditions: then the text is empty.
    conditions = write("conditions")
    return f"{rule} {conditions}".strip()


def describe_expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Return the expected answer to an example; "" if it depends on other answers or is unknown.

    Args:
        answers: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        example: An example of the functionality.

    Returns:
        The answer, such as "positive", "neutral or positive" or "anything but negative".
    """
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_describe_answer(answers, spec['value'])}"
    if spec["name"] != "equal":
        return ""
    # The expectation may have one answer for all examples, in place of their labels.
    label = spec.get("value")
    if label is None:
        label = answers.table.labels[example.row]
    if label is None:
        return ""
    # Several classes may be correct for a label, such as neutral and positive for "not negative".
    accepted_classes = spec.get("accept") or {}
    correct_answers = accepted_classes.get(str(label), [label])
    return " or ".join(map(answers.describe_answer, correct_answers))


def describe_movement(
    answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample
) -> str:
    """Return how the confidence moves from the original to an example; "" without probabilities.

    Args:
        answers: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        case: A case whose first example is the original.
        example: An example of the case.
    """
    probabilities = answers.probabilities
    if probabilities is None:
        return ""
    spec = answers.suite.functionalities[number].expectation
    original_row = case.examples[0].row
    rows = [original_row, example.row]
    if spec["name"] == "sentiment_shift":
        # The expectation compares this balance, not the confidence in one answer.
        name = "P(positive) − P(negative)"
        values = probabilities[rows, 2] - probabilities[rows, 0]
    else:
        label = spec.get("label")
        if label is None:
            label = int(answers.answers[original_row])
        name = f"P({answers.describe_answer(label)})"
        values = probabilities[rows, label]
    old_value, new_value = values.tolist()
    return f"{name} from {percent(old_value)} to {percent(new_value)}"


def _describe_answer(answers: SuiteAnswers, answer: Any) -> str:
    """Return the name of a class, or an answer that is a text in quotation marks."""
    # A text may be any words: without marks, it would run into the sentence.
    if isinstance(answer, str):
        return f"“{answer}”"
    return answers.describe_answer(answer)


def _describe_limit(spec: Mapping[str, Any]) -> str:
    """Return in which direction a confidence must not move, and how far, as the end of a sentence.

    Args:
        spec: Expectation of a movement: `increasing` or `positive`, and `tolerance`.

    Returns:
        Words such as "must not fall by more than 0.1".
    """
    should_rise = spec.get("increasing", spec.get("positive"))
    verb = "fall" if should_rise else "rise"
    tolerance = _describe_tolerance(spec)
    if tolerance == "0":
        return f"must not {verb}"
    return f"must not {verb} by more than {tolerance}"


def _describe_tolerance(spec: Mapping[str, Any]) -> str:
    """Return the tolerance of an expectation, such as "0.1"; "" if this kind of expectation has none."""
    fields = EXPECTATIONS[spec["name"]].model_fields
    if "tolerance" not in fields:
        return ""
    tolerance = spec.get("tolerance")
    # A suite need not say what is the default.
    if tolerance is None:
        tolerance = fields["tolerance"].default
    return f"{tolerance:g}"

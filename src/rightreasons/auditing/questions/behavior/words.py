"""What a suite expects, and how the answers to a case differ, in words: for the report and for the Space."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from rightreasons.analysis.behavior.expectations import TOLERANCE
from rightreasons.auditing.page.parts import Mark
from rightreasons.auditing.page.words import fraction
from rightreasons.measuring.behavior import JudgedCase, JudgedExample, SuiteAnswers

TYPES = {
    "MFT": ("minimum functionality", "the answer is known"),
    "INV": ("invariance", "it must not change"),
    "DIR": ("directional", "it must move one way"),
}
"""Name of each test type, and what it asks of the answer."""


def rule(answers: SuiteAnswers, number: int) -> str:
    """Say what a functionality expects of all its cases."""
    spec = answers.suite.functionalities[number].expectation
    kept = "" if answers.probabilities is None else f", or keep the confidence in it within {_tolerance(spec)}"
    rules = {
        "equal": "Every answer must be the label.",
        "not_equal": f"Any answer passes but {_called(answers, spec.get('value', 0))}.",
        "invariant": f"Every changed text must get the original's answer{kept}.",
        "monotonic": f"The confidence in the original's answer {_limit(spec)}.",
        "sentiment_shift": f"P(positive) − P(negative) {_limit(spec)}.",
        "transitive": f"Where two of three pairs are answered {_called(answers, 1)}, the third must be too.",
    }
    condition = spec.get("where_first")
    if not condition:
        return rules[spec["name"]]
    (relation, labels), *_ = condition.items()
    first = " or ".join(_called(answers, label) for label in labels)
    return f"{rules[spec['name']]} Asked only where the first answer is {'' if relation == 'is' else 'not '}{first}."


def expected(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say what was expected of one example of a case; "" where that depends on the other examples."""
    spec, original = answers.suite.functionalities[number].expectation, case.examples[0]
    if case.compared and example is original:
        return "the original"
    if example.held is None:
        return "not asked"
    label = expected_answer(answers, number, example)
    if label:
        return f"expected {label}"
    moved = movement(answers, number, case, example)
    if spec["name"] == "invariant":
        again = f"expected {_called(answers, answers.answers[original.row])} again"
        return f"{again}; {moved}" if moved else again
    return f"{moved}; it {_limit(spec)}" if moved and spec["name"] in ("monotonic", "sentiment_shift") else ""


def expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Name the answer that is expected whatever the others are; "" where there is none."""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_called(answers, spec['value'])}"
    value = spec.get("value")
    label = answers.table.labels[example.row] if value is None else value
    return "" if spec["name"] != "equal" or label is None else answers.called(label)


def movement(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say how the confidence moves from the original to an example; "" without probabilities."""
    table, rows = answers.probabilities, (case.examples[0].row, example.row)
    if table is None:
        return ""
    if answers.suite.functionalities[number].expectation["name"] == "sentiment_shift":
        name, values = "P(positive) − P(negative)", [float(table[row, 2] - table[row, 0]) for row in rows]
    else:
        answer = int(answers.answers[rows[0]])
        name, values = f"P({answers.called(answer)})", [float(table[row, answer]) for row in rows]
    return f"{name} from {fraction(values[0])} to {fraction(values[1])}"


def changes(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text lacks.

    Example:
        >>> [after[m.start : m.end] for after in ["Ali liked it a lot"] for m in changes("Ann liked it", after)]
        ['Ali', 'a lot']
    """
    old, new = (
        [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text)] for text in (before, after)
    )
    matcher = difflib.SequenceMatcher(a=[word for word, _, _ in old], b=[word for word, _, _ in new], autojunk=False)
    return tuple(
        Mark(new[begin][1], new[end - 1][2], "change", note="changed")
        for kind, _, _, begin, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    )


def _called(answers: SuiteAnswers, answer: Any) -> str:
    return f"“{answer}”" if isinstance(answer, str) else answers.called(answer)


def _limit(spec: Mapping[str, Any]) -> str:
    rises = spec.get("increasing", spec.get("positive"))
    return f"must not {'fall' if rises else 'rise'} by more than {_tolerance(spec)}"


def _tolerance(spec: Mapping[str, Any]) -> str:
    return f"{spec.get('tolerance', TOLERANCE):g}"

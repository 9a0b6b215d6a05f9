"""What a suite expects, and how the answers to a case differ, in words: for the report and for the Space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightreasons.auditing.page.words import percent
from rightreasons.foundations.suites import EXPECTATION_PARAMETERS, combined
from rightreasons.measuring.behavior import JudgedCase, JudgedExample, SuiteAnswers

TYPES = {
    "MFT": ("minimum functionality", "the answer is known"),
    "INV": ("invariance", "it must not change"),
    "DIR": ("directional", "it must move one way"),
}
"""Name of each test type, and what it asks of the answer."""


def rule(answers: SuiteAnswers, number: int) -> str:
    """Say what a functionality expects of all its cases."""
    return _rule(answers, answers.suite.functionalities[number].expectation)


def _rule(answers: SuiteAnswers, spec: Mapping[str, Any]) -> str:
    sentence = _sentence(answers, spec)
    for key, subject in (("where_first", "first answer"), ("where_label", "label")):
        if spec.get(key):
            (relation, labels), *_ = spec[key].items()
            names = " or ".join(_called(answers, label) for label in labels)
            sentence += f" Asked only where the {subject} is {'' if relation == 'is' else 'not '}{names}."
    if spec.get("where") is not None:
        sentence += f" Asked only of cases where this holds: {_rule(answers, spec['where'])}"
    how = spec.get("aggregate")
    if how is not None and how != "all":
        ways = {"any": "one of its examples does", "first": "its first example does"}
        share = (
            f"{how:.0%} of its examples do" if isinstance(how, (int, float)) else "a function of its results says so"
        )
        sentence += f" A case passes where {ways.get(how, share) if isinstance(how, str) else share}."
    return sentence


def _sentence(answers: SuiteAnswers, spec: Mapping[str, Any]) -> str:
    name = spec["name"]
    if name in ("and", "or", "not"):
        parts = [_rule(answers, part) for part in combined(spec)]
        lead = {"and": "All of this:", "or": "At least one of this:", "not": "The opposite of this:"}[name]
        return " ".join((lead, *parts))
    if name == "equal":
        value = spec.get("value")
        return (
            "Every answer must be the label." if value is None else f"Every answer must be {_called(answers, value)}."
        )
    if name == "not_equal":
        return f"Any answer passes but {_called(answers, spec['value'])}."
    if name == "invariant":
        kept = "" if answers.probabilities is None else f", or keep the confidence in it within {_tolerance(spec)}"
        return f"Every changed text must get the original's answer{kept}."
    if name == "monotonic":
        moving = _probability(answers, spec, "confidence in the original's answer")
        return f"The {moving} {_limit(spec)}."
    if name == "confidence":
        bounds = [f"{word} {spec[word]:g}" for word in ("above", "below") if spec.get(word) is not None]
        return f"The {_probability(answers, spec, 'confidence in each answer')} must be {' and '.join(bounds)}."
    if name == "unknown":
        return f"Nothing is asked: {spec['why'].rstrip('.')}."
    if name == "sentiment_shift":
        return f"P(positive) − P(negative) {_limit(spec)}."
    return {
        "changed": "Every changed text must get another answer than the original.",
        "transitive": f"Where two of three pairs are answered {_called(answers, 1)}, the third must be too.",
        "python": f"The function “{getattr(spec.get('function'), '__name__', 'of the suite')}” decides.",
    }[str(name)]


def _probability(answers: SuiteAnswers, spec: Mapping[str, Any], usual: str) -> str:
    label = spec.get("label")
    return usual if label is None else f"probability of {_called(answers, label)}"


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
    if spec["name"] == "changed":
        return f"expected another answer than {_called(answers, answers.answers[original.row])}"
    if spec["name"] == "invariant":
        again = f"expected {_called(answers, answers.answers[original.row])} again"
        return f"{again}; {moved}" if moved else again
    return f"{moved}; it {_limit(spec)}" if moved and spec["name"] in ("monotonic", "sentiment_shift") else ""


def expected_answer(answers: SuiteAnswers, number: int, example: JudgedExample) -> str:
    """Name the answer that is expected whatever the others are; "" where there is none."""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "not_equal":
        return f"anything but {_called(answers, spec['value'])}"
    value = spec.get("value") if spec["name"] == "equal" else None
    label = answers.table.labels[example.row] if value is None else value
    return "" if spec["name"] != "equal" or label is None else answers.called(label)


def movement(answers: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    """Say how the confidence moves from the original to an example; "" without probabilities."""
    table, rows = answers.probabilities, (case.examples[0].row, example.row)
    if table is None:
        return ""
    spec = answers.suite.functionalities[number].expectation
    if spec["name"] == "sentiment_shift":
        name, values = "P(positive) − P(negative)", [float(table[row, 2] - table[row, 0]) for row in rows]
    else:
        label = spec.get("label")
        answer = int(answers.answers[rows[0]] if label is None else label)
        name, values = f"P({answers.called(answer)})", [float(table[row, answer]) for row in rows]
    return f"{name} from {percent(values[0])} to {percent(values[1])}"


def _called(answers: SuiteAnswers, answer: Any) -> str:
    return f"“{answer}”" if isinstance(answer, str) else answers.called(answer)


def _limit(spec: Mapping[str, Any]) -> str:
    rises = spec.get("increasing", spec.get("positive"))
    tolerance = _tolerance(spec)
    return f"must not {'fall' if rises else 'rise'}{'' if tolerance == '0' else f' by more than {tolerance}'}"


def _tolerance(spec: Mapping[str, Any]) -> str:
    said = spec.get("tolerance")
    return f"{EXPECTATION_PARAMETERS[spec['name']]['tolerance'].default if said is None else said:g}"

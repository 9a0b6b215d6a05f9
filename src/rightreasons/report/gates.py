"""The gate of a build: conditions on the figures of an audit that must not hold."""

from __future__ import annotations

import dataclasses
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from rightreasons.core.errors import OptionTypeError, make_unknown_name_error
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.page.formats import TONES
from rightreasons.report.figures import ENDS, AuditFigure, audit_figures, shorten_path
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.schema import read_audit

Outcome = Literal["pass", "fail", "undefined"]

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

# The longer operators come first, because "<" begins "<=".
_CONDITION = re.compile(
    rf"""
    \s* (?P<path>[^\s<>=!]+)
    \s* (?P<operator><=|>=|==|!=|<|>)
    \s* (?: (?P<number>{_NUMBER}) \s* (?P<percent>%?) | (?P<word>[a-z]+) ) \s*
    """,
    re.VERBOSE,
)

_MARKS = {"pass": "ok", "fail": "FAIL", "undefined": "UNDEFINED"}


@dataclasses.dataclass(frozen=True)
class GateCheck(Result):
    """One condition, and its result for a report.

    Attributes:
        condition: The condition as typed. If it is true, the check fails.
        outcome: "pass", "fail", or "undefined" if the report has no such figure, which fails the
            gate too.
        told: The figure with its interval, or why there is none.
    """

    condition: str
    outcome: Outcome
    told: str

    @property
    def line(self) -> str:
        """The check in one line."""
        return f"{_MARKS[self.outcome]:<9} {self.condition}: {self.told}"


@dataclasses.dataclass(frozen=True)
class GateResult(Result):
    """The checks of a gate.

    Attributes:
        checks: The conditions in their order.
        passed: Whether every check passes.
    """

    checks: tuple[GateCheck, ...]
    passed: bool


@dataclasses.dataclass(frozen=True)
class Condition:
    """A parsed condition.

    Attributes:
        text: The condition as typed.
        path: Path of the figure, or of the verdict.
        operator: One of `OPERATORS`.
        bound: The number; None if a verdict is compared. Percentages are fractions.
        number: The number as typed.
        word: The verdict; None if a figure is compared.
    """

    text: str
    path: str
    operator: str
    bound: float | None
    number: str | None
    word: str | None

    @property
    def question(self) -> str:
        """The question that the path begins with."""
        return self.path.partition(".")[0]

    @property
    def is_about_verdict(self) -> bool:
        """Whether it compares the verdict of a question."""
        return self.path == f"{self.question}.verdict"

    def make_check(self, value: Any, bound: Any, description: str) -> GateCheck:
        """Compare a value of the report with the bound of the condition.

        Args:
            value: The figure, or the tone of the verdict.
            bound: The number or the tone in the condition.
            description: The value in words, for the line of the check.

        Returns:
            The check. A condition states what must not be.
        """
        compare = OPERATORS[self.operator]
        # The check of a gate fails if its condition is true.
        is_true = compare(value, bound)
        outcome: Outcome = "fail" if is_true else "pass"
        return GateCheck(self.text, outcome, description)


def gate(report: str | os.PathLike[str], fail_if: Sequence[str]) -> GateResult:
    """Check the figures of a report against conditions that must not be true.

    A condition is a path, one of `< <= > >= == !=`, and a number, such as
    `shortcuts.deciding_share.low > 0.25` or `calibration.ece.low > 5%`. The path of a figure alone is
    its value; `.low` and `.high` are the ends of its interval and `.n` is its number of items.
    `shortcuts.verdict == bad` is about a verdict: good, warn, bad or neutral.

    Args:
        report: The folder of a report, or its audit.json.
        fail_if: The conditions. One about a figure that the report does not have also fails: its
            question does not apply, failed or was not asked, or the figure is undefined or has no
            interval.

    Returns:
        The checks, and whether the gate is passed.

    Raises:
        TypeError: If the conditions are not a list of strings.
        ValueError: If a condition has another form, or its path is unknown; the error suggests
            similar paths.
        FileNotFoundError: If there is no report.
    """
    check_kind(fail_if, "fail_if", Iterable)
    # A single string would be read as a list of letters.
    if isinstance(fail_if, str) or not all(isinstance(text, str) for text in fail_if):
        raise OptionTypeError(
            f"Expected a list of conditions in `fail_if`, but got {fail_if!r}.", option="fail_if"
        )
    audit = read_audit(report)
    checks = tuple(check(audit, text) for text in fail_if)
    return GateResult(checks, all(checked.outcome == "pass" for checked in checks))


def check(audit: Mapping[str, Any], condition: str) -> GateCheck:
    """Check one condition for an audit.

    Args:
        audit: Content of audit.json.
        condition: The condition, such as "calibration.ece > 0.05".

    Returns:
        The check. Its outcome is "fail" if the condition is true, "pass" if it is false, and
        "undefined" if the question has no answer or the figure has no value.

    Raises:
        ValueError: If the condition has another form, or its path is unknown.
    """
    figures = audit_figures(audit)
    parsed = parse_condition(condition)
    answer = _find_answer(audit, parsed.question)
    if answer is None and parsed.question not in QUESTIONS:
        # The record of a correction, such as a repair, has a question that no audit asks.
        recorded = [recorded_answer["question"] for recorded_answer in audit["questions"]]
        raise make_unknown_name_error("question", parsed.question, {*QUESTIONS, *recorded})
    if answer is None:
        return GateCheck(condition, "undefined", "The question was not asked.")
    if answer["result"] is None:
        return GateCheck(condition, "undefined", answer["reason"])
    if parsed.is_about_verdict:
        verdict = answer["result"]["verdict"]
        description = f"{verdict['label']} ({verdict['tone']})"
        return parsed.make_check(verdict["tone"], parsed.word, description)
    return _check_figure(parsed, figures)


def parse_condition(text: str) -> Condition:
    """Parse a condition such as "calibration.ece.low > 5%" or "shortcuts.verdict == bad".

    Example:
        >>> condition = parse_condition("shortcuts.shortcut_rate > 5%")
        >>> condition.path, condition.operator, condition.bound
        ('shortcuts.rate', '>', 0.05)

    Raises:
        ValueError: If the text has another form.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(
            f"Expected a path, one of {' '.join(OPERATORS)} and a number, such as "
            f"'calibration.ece > 0.05', but got {text!r}."
        )
    bound = None
    # A verdict is compared with a word, and has no number.
    if match["number"] is not None:
        bound = float(match["number"])
        if match["percent"]:
            bound /= 100
    path = shorten_path(match["path"])
    condition = Condition(text, path, match["operator"], bound, match["number"], match["word"])
    _check_kind_of_bound(condition)
    return condition


def _check_kind_of_bound(condition: Condition) -> None:
    """Raise a ValueError unless a verdict is compared with a tone, and a figure with a number.

    Args:
        condition: A parsed condition, with either a `number` or a `word` such as "bad".
    """
    if condition.is_about_verdict:
        tone = str(condition.word or condition.number)
        check_one_of(tone, TONES, condition.path)
        # Verdicts have no order: "neutral" is not between "good" and "warn".
        if condition.operator not in ("==", "!="):
            raise ValueError(f"Expected == or != with a verdict, but got {condition.text!r}.")
    elif condition.word is not None:
        raise ValueError(
            f"Expected a number at the end of {condition.text!r}, but got {condition.word!r}."
        )


def _find_answer(audit: Mapping[str, Any], question: str) -> Mapping[str, Any] | None:
    """Return the answer to a question; None if it was not asked."""
    # An audit has a handful of questions, so that no index is needed.
    answers: list[Mapping[str, Any]] = audit["questions"]
    for answer in answers:
        if answer["question"] == question:
            return answer
    return None


def _check_figure(condition: Condition, figures: Mapping[str, AuditFigure]) -> GateCheck:
    """Check a condition about a figure.

    Args:
        condition: The parsed condition. Its path ends in the figure, or in `.low`, `.high` or `.n`.
        figures: Path -> figure of the audit.

    Raises:
        ValueError: If there is no such figure, or a share is compared with a number beyond 1.
    """
    figure, end = _find_figure(condition.path, figures)
    bound = condition.bound or 0.0
    # A user who types 25 for a share means 25 %. A share never exceeds 25.
    if figure.unit == "fraction" and end != "n" and abs(bound) > 1:
        raise ValueError(
            f"Expected a share from 0 to 1, or a percentage, in {condition.text!r}, but got "
            f"{condition.number}."
        )
    value: float | None
    if end == "n":
        value = figure.n
        missing = "has no number of items in the report"
    elif end == "value":
        value = figure.estimate.value
        missing = "is undefined for these items"
    else:
        value = getattr(figure.estimate, end)
        missing = "has no interval"
    if value is None:
        return GateCheck(condition.text, "undefined", f"{figure.name} {missing}.")
    return condition.make_check(value, bound, figure.in_words)


def _find_figure(path: str, figures: Mapping[str, AuditFigure]) -> tuple[AuditFigure, str]:
    """Return the figure of a path, and which of its values is meant.

    Args:
        path: Path of a figure, such as "calibration.ece", or with one of `ENDS` after it.
        figures: Path -> figure of the audit.

    Returns:
        The figure, and "value", "low", "high" or "n".

    Raises:
        ValueError: If there is no such figure.
    """
    if path in figures:
        return figures[path], "value"
    stem, _, end = path.rpartition(".")
    if stem in figures and end in ENDS:
        return figures[stem], end
    if stem in figures:
        raise ValueError(
            f"Expected {', '.join(ENDS[:-1])} or {ENDS[-1]} after {stem}, but got "
            f"{format_value(end)}."
        )
    # Only figures of the same question are suggested.
    prefix = path.partition(".")[0] + "."
    candidates = [name for name in figures if name.startswith(prefix)]
    raise make_unknown_name_error("figure", path, candidates)

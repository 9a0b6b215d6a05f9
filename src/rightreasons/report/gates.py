"""A gate: does a report hold what a build asks of it?"""

from __future__ import annotations

import dataclasses
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rightreasons.core.arrays import Result
from rightreasons.core.errors import OptionTypeError, counted, one_line, unknown_name
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.page.prose import TONES, short_name
from rightreasons.report.card import code, row, text
from rightreasons.report.files import ENDS, AuditFigure, answers_worst_first, audit_figures, short_path
from rightreasons.report.render import LIGHTS
from rightreasons.report.schema import read_audit

OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
UNDEFINED = ("fail", "pass")
"""What becomes of a condition about a figure that the report does not have."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_CONDITION = re.compile(rf"\s*([^\s<>=!]+)\s*(<=|>=|==|!=|<|>)\s*(?:({_NUMBER})\s*(%?)|([a-z]+))\s*")
_MARKS = {"pass": "ok", "fail": "FAIL", "undefined": "UNDEFINED"}
_MARKER = "<!-- rightreasons gate -->"
"""The first line of the Markdown, by which a comment is found again."""


@dataclasses.dataclass(frozen=True)
class GateCheck(Result):
    """One condition, and what the report says about it.

    Attributes:
        condition: The condition as it was typed; where it holds, the check fails.
        outcome: "pass", "fail", or "undefined" where the report has no such figure.
        failed: Whether this fails the gate.
        told: The figure with its interval, or why there is none.
    """

    condition: str
    outcome: Literal["pass", "fail", "undefined"]
    failed: bool
    told: str

    @property
    def line(self) -> str:
        """The check in one line."""
        return f"{_MARKS[self.outcome]:<9} {self.condition}: {self.told}"


@dataclasses.dataclass(frozen=True)
class GateResult(Result):
    """What a gate found.

    Attributes:
        model: The audited model.
        dataset: The data.
        checks: The conditions in their order.
        verdicts: (title of the question, tone, verdict) of every question that was answered, the worst first.
        passed: Whether no check fails the gate.
    """

    model: str
    dataset: str
    checks: tuple[GateCheck, ...]
    verdicts: tuple[tuple[str, str, str], ...]
    passed: bool

    @property
    def annotations(self) -> list[str]:
        """The failed checks as workflow commands, which GitHub shows beside a run."""
        title = "rightreasons gate"
        return [
            f"::error title={title}::{_escaped(f'{check.condition}: {check.told} ({self.model})')}"
            for check in self.checks
            if check.failed
        ]

    @property
    def _in_words(self) -> str:
        """How many checks fail, and how many could not be made."""
        n_failed, n_checks = sum(check.failed for check in self.checks), counted(len(self.checks), "check")
        n_open = sum(check.outcome == "undefined" and not check.failed for check in self.checks)
        if not self.checks:
            return "nothing checked"
        if n_failed:
            return f"{n_failed} of {n_checks} {'fails' if n_failed == 1 else 'fail'}"
        return f"{n_open} of {n_checks} could not be made, none fails" if n_open else f"passed ({n_checks})"

    @property
    def markdown(self) -> str:
        """The checks and the verdicts as a comment on a pull request."""
        lines = [
            _MARKER,
            f"### rightreasons gate: {self._in_words}",
            "",
            f"{code(self.model)} on {code(self.dataset)}",
            "",
        ]
        if self.checks:
            lines += [row("", "Fails if", "Figure"), row("---", "---", "---")]
            lines += [row(f"**{_MARKS[c.outcome]}**", code(c.condition), text(c.told)) for c in self.checks]
            lines += [""]
        lines += [row("Question", "Verdict"), row("---", "---")]
        lines += [row(text(title), f"{text(label)} ({LIGHTS[tone].lower()})") for title, tone, label in self.verdicts]
        return "\n".join(lines) + "\n"


def gate(
    report: str | os.PathLike[str], fail_if: Sequence[str], *, undefined: Literal["fail", "pass"] = "fail"
) -> GateResult:
    """Check the figures of a report against conditions that must not hold.

    A condition is a path, one of `< <= > >= == !=`, and a number, such as `shortcuts.deciding_share.low > 0.25` or
    `calibration.ece.low > 5%`. The path of a figure alone is its value; `.low` and `.high` are the ends of its
    interval and `.n` is its number of items. `shortcuts.verdict == bad` is about a verdict: good, warn, bad or neutral.

    Args:
        report: The folder of a report, or its audit.json.
        fail_if: The conditions.
        undefined: What becomes of a condition about a figure that the report does not have, as its question does not
            apply, failed or was not asked, or as the figure is undefined or has no interval: "fail", as what cannot be
            checked is not passed, or "pass".

    Returns:
        The checks, the verdicts, and whether the gate is passed.

    Raises:
        TypeError: If the conditions are no list of texts.
        ValueError: If a condition is no such expression, or its path is unknown; the nearest known ones are given.
        FileNotFoundError: If there is no report.
    """
    check_one_of(undefined, UNDEFINED, "undefined")
    check_kind(fail_if, "fail_if", Iterable)
    if isinstance(fail_if, str) or not all(isinstance(each, str) for each in fail_if):
        raise OptionTypeError(f"Expected a list of conditions in `fail_if`, but got {fail_if!r}.", option="fail_if")
    audit = read_audit(report)
    figures = audit_figures(audit)
    checks = tuple(_check(condition, audit, figures, undefined) for condition in fail_if)
    verdicts = [(answer["title"], answer["result"]["verdict"]) for answer in answers_worst_first(audit)]
    return GateResult(
        model=short_name(audit["model"]["name"]),
        dataset=short_name(audit["dataset"]["name"]),
        checks=checks,
        verdicts=tuple((title, verdict["tone"], verdict["label"]) for title, verdict in verdicts),
        passed=not any(check.failed for check in checks),
    )


def check(audit: Mapping[str, Any], condition: str) -> GateCheck:
    """Check one condition of an audit: "fail" where it holds, as `gate` names what must not."""
    return _check(condition, audit, audit_figures(audit), "fail")


def _check(condition: str, audit: Mapping[str, Any], figures: Mapping[str, AuditFigure], undefined: str) -> GateCheck:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        raise ValueError(
            f"Expected a path, one of {' '.join(OPERATORS)} and a number, such as 'calibration.ece > 0.05', but got "
            f"{condition!r}."
        )
    path, compare = short_path(match[1]), OPERATORS[match[2]]
    question, _, key = path.partition(".")
    answer = next((each for each in audit["questions"] if each["question"] == question), None)
    if key == "verdict":
        check_one_of(match[5] or match[3], TONES, path)
        if match[2] not in ("==", "!="):
            raise ValueError(f"Expected == or != with a verdict, but got {condition!r}.")
    elif match[5] is not None:
        raise ValueError(f"Expected a number at the end of {condition!r}, but got {match[5]!r}.")
    why = _why_unanswered(question, answer)
    if answer is None or answer["result"] is None:
        return GateCheck(condition, "undefined", undefined == "fail", why)
    if key == "verdict":
        verdict = answer["result"]["verdict"]
        fails = bool(compare(verdict["tone"], match[5]))
        return GateCheck(condition, "fail" if fails else "pass", fails, f"{verdict['label']} ({verdict['tone']})")
    figure, end = _figure(path, figures)
    bound = float(match[3]) / (100 if match[4] else 1)
    if figure.unit == "fraction" and end != "n" and abs(bound) > 1:
        raise ValueError(f"Expected a share from 0 to 1, or a percentage, in {condition!r}, but got {match[3]}.")
    value = figure.n if end == "n" else getattr(figure.estimate, end)
    if value is None:
        what = "is undefined for these items" if end == "value" else "has no interval"
        what = "has no number of items in the report" if end == "n" else what
        return GateCheck(condition, "undefined", undefined == "fail", f"{figure.name} {what}.")
    fails = bool(compare(value, bound))
    return GateCheck(condition, "fail" if fails else "pass", fails, figure.in_words)


def _why_unanswered(question: str, answer: Mapping[str, Any] | None) -> str:
    from rightreasons.report.questions import QUESTIONS

    if answer is None:
        if question not in QUESTIONS:
            raise unknown_name("question", question, QUESTIONS)
        return "The question was not asked."
    return str(answer["reason"])


def _figure(path: str, figures: Mapping[str, AuditFigure]) -> tuple[AuditFigure, str]:
    """Find a figure by its path, and which of its values is meant."""
    if path in figures:
        return figures[path], "value"
    stem, _, end = path.rpartition(".")
    if stem in figures and end in ENDS:
        return figures[stem], end
    if stem in figures:
        raise ValueError(f"Expected {', '.join(ENDS[:-1])} or {ENDS[-1]} after {stem}, but got {one_line(end)}.")
    question = path.partition(".")[0]
    raise unknown_name("figure", path, (known for known in figures if known.startswith(f"{question}.")))


def _escaped(message: str) -> str:
    """Escape what ends the message of a workflow command."""
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

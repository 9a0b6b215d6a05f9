"""Figures of an audit by path, such as `calibration.ece`, for gates, cards, and tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.page.formats import badness, format_estimate
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.schema import check_audit

ENDS = ("value", "low", "high", "n")
"""What may follow the path of a figure; without one, the path means the value."""


@dataclasses.dataclass(frozen=True)
class AuditFigure(Result):
    """A figure of an audit.

    Attributes:
        path: The question and the figure, such as `calibration.ece`; of another split,
            `calibration.test_flipped.ece`.
        question: The question that it answers.
        key: Its key in audit.json.
        name: Its name for readers.
        estimate: The figure and its interval.
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: "higher", "lower" or None.
        split: The split on which it was computed.
        n: Number of items; None if the audit does not record it.
    """

    path: str
    question: str
    key: str
    name: str
    estimate: Estimate
    unit: str
    better: str | None
    split: str
    n: int | None

    @property
    def in_words(self) -> str:
        """The figure with its interval, its number of items, and its split."""
        words = format_estimate(self.estimate, self.unit)
        if self.n is not None:
            words += f" on {pluralize(self.n, 'item')}"
        if self.split:
            words += f" of {self.split}"
        return words


def audit_figures(audit: Mapping[str, Any]) -> dict[str, AuditFigure]:
    """Return the figures of an audit by their paths, in the order of the report.

    A path is the question and the key of the figure in audit.json, such as `calibration.ece`; in
    `shortcuts.rate`, the word "shortcut" is not repeated. A figure of a split that is not the
    primary one has it in the middle: `calibration.test_flipped.ece`.

    Args:
        audit: Content of audit.json.

    Returns:
        Path -> figure.
    """
    check_audit(audit)
    figures: dict[str, AuditFigure] = {}
    for answer in audit["questions"]:
        # A question that could not be answered has a reason instead of a result.
        if answer["result"] is None:
            continue
        for figure in _list_question_figures(answer["question"], answer["result"]):
            # The same figure may be in the overview and in several parts of a section.
            figures.setdefault(figure.path, figure)
    return figures


def _list_question_figures(question: str, result: Mapping[str, Any]) -> Iterator[AuditFigure]:
    """Yield the figures of a question: those of its headlines, then those of other splits.

    Args:
        question: Name of the question.
        result: Its result in audit.json. `data.splits`, if there is one, has estimates of the same
            figures: split -> key -> `{"value": ..., "low": ..., "high": ...}`.
    """
    headline_by_key = {}
    for headline in _list_headlines(result):
        headline_by_key[headline["key"]] = headline
    for key, headline in headline_by_key.items():
        split = headline["split"]
        yield _make_figure(question, key, headline, headline["estimate"], split, headline["n"])

    estimates_by_split = result["data"].get("splits") or {}
    for split, estimates in estimates_by_split.items():
        for key, estimate in estimates.items():
            # The data of a split may contain other values, and figures without a headline.
            is_estimate = isinstance(estimate, dict) and "value" in estimate
            if key not in headline_by_key or not is_estimate:
                continue
            # Name and unit of the estimate are those of the headline.
            headline = headline_by_key[key]
            if split == headline["split"]:
                continue
            # The name of a split may contain spaces, and a path may not.
            path_key = f"{'_'.join(split.split())}.{key}"
            yield _make_figure(question, path_key, headline, estimate, split, None)


def _make_figure(
    question: str,
    path_key: str,
    headline: Mapping[str, Any],
    estimate: Mapping[str, Any],
    split: str,
    n_items: int | None,
) -> AuditFigure:
    """Return an estimate of a figure, described by its headline in audit.json.

    Args:
        question: Name of the question.
        path_key: Path of the figure after the question, such as "ece" or "test_flipped.ece".
        headline: Name, key, unit and better direction of the figure.
        estimate: Value and interval, the fields of an `Estimate`.
        split: Split of the estimate.
        n_items: Number of items of the estimate; None if that is unknown.
    """
    return AuditFigure(
        path=shorten_path(f"{question}.{path_key}"),
        question=question,
        key=headline["key"],
        name=headline["name"],
        estimate=Estimate(**estimate),
        unit=headline["unit"],
        better=headline["better"],
        split=split,
        n=n_items,
    )


def _list_headlines(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the headlines of a result in audit.json, each a figure with its name and unit.

    They are in the overview of the section ("headlines"), in its parts, and, if the page does not
    show them, in its data ("figures").

    Args:
        result: Result of a question in audit.json.
    """
    yield from result["headlines"]
    for section_part in result["parts"]:
        yield from section_part["headlines"]
    further_figures = result["data"].get("figures")
    if not isinstance(further_figures, dict):
        return
    for figure in further_figures.values():
        # The data of a question may contain something else under this key.
        if isinstance(figure, dict) and {"key", "estimate", "unit"} <= figure.keys():
            yield figure


def shorten_path(path: str) -> str:
    """Return the path of a figure without the part of its key that repeats the question.

    Users may also type the keys of audit.json, which are not shortened.

    Example:
        >>> shorten_path("shortcuts.shortcut_rate.low"), shorten_path("shortcuts.deciding_share")
        ('shortcuts.rate.low', 'shortcuts.deciding_share')
    """
    question, dot, key = path.partition(".")
    if question not in QUESTIONS:
        return path
    redundant_part = QUESTIONS[question].options.redundant_key_part
    short_key = key.replace(redundant_part, "")
    return f"{question}{dot}{short_key}"


def sort_answers(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answered questions of an audit, the worst verdict first.

    Verdicts of one tone are sorted by the size of their findings.

    Args:
        audit: Content of audit.json; without questions, the result is [].
    """
    answers = [answer for answer in audit.get("questions", ()) if answer["result"] is not None]

    def rank(answer: Mapping[str, Any]) -> tuple[int, float]:
        """Return a key that is smaller for worse verdicts."""
        result = answer["result"]
        finding = result.get("finding") or {}
        return badness(result["verdict"]["tone"], finding.get("size", 0.0))

    return sorted(answers, key=rank)

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

    A path is the question and the key of the figure in audit.json, without the word "shortcut" where
    the question says it: `shortcuts.rate`. A figure of another split has the split in the middle.

    Args:
        audit: Content of audit.json.

    Returns:
        Path -> figure.
    """
    check_audit(audit)
    figures: dict[str, AuditFigure] = {}
    for answer in audit["questions"]:
        # A question that could not be answered has a reason in place of a result.
        if answer["result"] is None:
            continue
        for figure in _list_question_figures(answer["question"], answer["result"]):
            # A figure that stands in several parts of a section is the same.
            figures.setdefault(figure.path, figure)
    return figures


def _list_question_figures(question: str, result: Mapping[str, Any]) -> Iterator[AuditFigure]:
    """Yield the figures of a question: those of its headlines, then those of other splits."""
    headline_of = {headline["key"]: headline for headline in _list_headlines(result)}
    for key, headline in headline_of.items():
        split = headline["split"]
        yield _make_figure(question, key, headline, headline["estimate"], split, headline["n"])
    # Estimates of other splits have no name and no unit of their own.
    for split, estimates in (result["data"].get("splits") or {}).items():
        for key, estimate in estimates.items():
            is_estimate = isinstance(estimate, dict) and "value" in estimate
            if key not in headline_of or not is_estimate:
                continue
            headline = headline_of[key]
            # The section records the split of its headlines as well.
            if split == headline["split"]:
                continue
            # The name of a split may hold spaces, which a path cannot.
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
    """Return a figure of an audit with the path by which conditions name it."""
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
    """Yield the headlines of a section, of its parts, and of its further data."""
    yield from result["headlines"]
    for section in result["parts"]:
        yield from section["headlines"]
    figures = result["data"].get("figures")
    if not isinstance(figures, dict):
        return
    for figure in figures.values():
        # Further data may hold anything.
        if isinstance(figure, dict) and {"key", "estimate", "unit"} <= figure.keys():
            yield figure


def shorten_path(path: str) -> str:
    """Return a path without what its key repeats of the question.

    So the keys of audit.json may be typed as well.

    Example:
        >>> shorten_path("shortcuts.shortcut_rate.low"), shorten_path("shortcuts.deciding_share")
        ('shortcuts.rate.low', 'shortcuts.deciding_share')
    """
    question, dot, key = path.partition(".")
    if question not in QUESTIONS:
        return path
    return question + dot + key.replace(QUESTIONS[question].options.redundant_key_part, "")


def sort_answers(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answered questions of an audit in the order of the report, the worst first."""
    answers = [answer for answer in audit.get("questions", ()) if answer["result"] is not None]

    def rank(answer: Mapping[str, Any]) -> tuple[int, float]:
        result = answer["result"]
        finding = result.get("finding") or {}
        return badness(result["verdict"]["tone"], finding.get("size", 0.0))

    return sorted(answers, key=rank)

"""Audits in rows: what each answers to every question, and their order."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.results import Result
from rightreasons.core.validation import check_kind, check_one_of
from rightreasons.page.formats import TONES, short_name
from rightreasons.report.figures import AuditFigure, audit_figures
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.schema import AUDIT_FILE, check_audit, read_audit


@dataclasses.dataclass(frozen=True)
class LeaderboardCell(Result):
    """What an audit answers to one question.

    Attributes:
        question: The question.
        tone: "good", "neutral", "warn" or "bad"; None where it was not answered.
        verdict: The answer in one line, or why there is none.
        figure: The figure that the finding is about, or else the first of the answer; None without one.
    """

    question: str
    tone: str | None
    verdict: str
    figure: AuditFigure | None


@dataclasses.dataclass(frozen=True)
class LeaderboardRow(Result):
    """An audit.

    Attributes:
        model: The model.
        dataset: The data.
        n_items: Items of the split that was audited.
        cells: A cell for each of the seven questions, in their order.
    """

    model: str
    dataset: str
    n_items: int
    cells: tuple[LeaderboardCell, ...]

    def __getitem__(self, question: str) -> LeaderboardCell:
        return next(cell for cell in self.cells if cell.question == question)


def leaderboard(
    audits: Sequence[Mapping[str, Any]], *, by: str | None = None
) -> tuple[LeaderboardRow, ...]:
    """Bring audits into rows.

    Args:
        audits: What `read_audit` returns, for each.
        by: The question whose answers decide the order: the best verdict first, within a verdict the better figure (an
            undefined one last), and audits without an answer last. None to count, first those with the most answers,
            as who asks little finds little, then with the fewest bad verdicts, then with the fewest warnings.

    Returns:
        The rows in that order; audits that are alike stay as they come.

    Raises:
        ValueError: If one is not an audit, or the question is unknown.

    Example:
        >>> leaderboard([])
        ()
    """
    if by is not None:
        check_one_of(by, tuple(QUESTIONS), "by")
    check_kind(audits, "audits", Iterable)
    for audit in audits:
        check_audit(audit)
    rows = [_row(audit) for audit in audits]
    return tuple(sorted(rows, key=_counts if by is None else lambda row: _place(row[by])))


def find_audits(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read all audits in a folder and the folders in it, by their paths."""
    files = sorted(path for path in Path(folder).rglob("*.json") if path.name.endswith(AUDIT_FILE))
    return [read_audit(path) for path in files]


def _row(audit: Mapping[str, Any]) -> LeaderboardRow:
    figures = audit_figures(audit)
    answer_of = {answer["question"]: answer for answer in audit["questions"]}
    data = audit["dataset"]
    return LeaderboardRow(
        model=short_name(audit["model"]["name"]),
        dataset=short_name(data["name"]),
        n_items=next(
            split["n_items"] for split in data["splits"] if split["name"] == data["primary"]
        ),
        cells=tuple(_cell(question, answer_of.get(question), figures) for question in QUESTIONS),
    )


def _cell(
    question: str, answer: Mapping[str, Any] | None, figures: Mapping[str, AuditFigure]
) -> LeaderboardCell:
    if answer is None:
        return LeaderboardCell(question, None, "The question was not asked.", None)
    if answer["result"] is None:
        return LeaderboardCell(question, None, answer["reason"], None)
    verdict, finding = answer["result"]["verdict"], answer["result"].get("finding") or {}
    first = next((figure for figure in figures.values() if figure.question == question), None)
    figure = figures.get(f"{question}.{finding.get('figure')}", first)
    return LeaderboardCell(question, verdict["tone"], verdict["label"], figure)


def _counts(row: LeaderboardRow) -> tuple[int, ...]:
    tones = [cell.tone for cell in row.cells]
    return tones.count(None), tones.count("bad"), tones.count("warn")


def _place(cell: LeaderboardCell) -> tuple[int, float]:
    if cell.tone is None:
        return len(TONES), 0.0
    figure = cell.figure
    worth = math.inf
    if figure is not None and figure.estimate.value is not None and figure.better is not None:
        worth = figure.estimate.value if figure.better == "lower" else -figure.estimate.value
    return len(TONES) - 1 - TONES.index(cell.tone), worth

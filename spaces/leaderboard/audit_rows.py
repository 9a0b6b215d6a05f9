"""Audits as rows with a cell for each question, and the order of the rows."""

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
    """Answer of an audit to one question.

    Attributes:
        question: Name of the question.
        tone: "good", "neutral", "warn" or "bad". None if it was not answered.
        verdict: The answer in one line, or the reason why there is none.
        figure: The figure that the finding is about, or the first of the answer. None for no figure.
    """

    question: str
    tone: str | None
    verdict: str
    figure: AuditFigure | None


@dataclasses.dataclass(frozen=True)
class LeaderboardRow(Result):
    """Answers of an audit to all questions.

    Attributes:
        model: Name of the model.
        dataset: Name of the data.
        n_items: Number of items of the audited split.
        cells: One cell for each question, in the order of `QUESTIONS`.
    """

    model: str
    dataset: str
    n_items: int
    cells: tuple[LeaderboardCell, ...]

    def __getitem__(self, question: str) -> LeaderboardCell:
        for cell in self.cells:
            if cell.question == question:
                return cell
        raise KeyError(question)


def leaderboard(
    audits: Sequence[Mapping[str, Any]], *, by: str | None = None
) -> tuple[LeaderboardRow, ...]:
    """Make a row of each audit, and sort the rows.

    Args:
        audits: Contents of audit.json files, as `read_audit` returns them.
        by: Question whose answers decide the order: the best verdict first, within a verdict the
            better figure, and audits without an answer last. If None, the audits with the most
            answers come first, then those with the fewest bad verdicts, then those with the fewest
            warnings: whoever asks little finds little.

    Returns:
        The rows in that order; equal ones stay in the order of `audits`.

    Raises:
        ValueError: If a value is no audit, or the question is unknown.

    Example:
        >>> leaderboard([])
        ()
    """
    if by is not None:
        check_one_of(by, tuple(QUESTIONS), "by")
    check_kind(audits, "audits", Iterable)
    rows = []
    for audit in audits:
        check_audit(audit)
        rows.append(_make_row(audit))
    if by is None:
        return tuple(sorted(rows, key=_count_problems))
    return tuple(sorted(rows, key=lambda row: _rank_cell(row[by])))


def find_audits(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read all audits below a folder, in the order of their paths."""
    audits = []
    for path in sorted(Path(folder).rglob("*.json")):
        # Names such as encoder.audit.json distinguish audits in one folder.
        if path.name.endswith(AUDIT_FILE):
            audits.append(read_audit(path))
    return audits


def _make_row(audit: Mapping[str, Any]) -> LeaderboardRow:
    """Return the row of an audit."""
    figures = audit_figures(audit)
    answers = {answer["question"]: answer for answer in audit["questions"]}
    cells = []
    for question in QUESTIONS:
        cells.append(_make_cell(question, answers.get(question), figures))
    dataset = audit["dataset"]
    # An audit may have several splits; its figures are of the primary one.
    sizes = {split["name"]: split["n_items"] for split in dataset["splits"]}
    return LeaderboardRow(
        model=short_name(audit["model"]["name"]),
        dataset=short_name(dataset["name"]),
        n_items=sizes[dataset["primary"]],
        cells=tuple(cells),
    )


def _make_cell(
    question: str, answer: Mapping[str, Any] | None, figures: Mapping[str, AuditFigure]
) -> LeaderboardCell:
    """Return the cell of a question.

    Args:
        question: Name of the question.
        answer: Its entry in audit.json. None if it was not asked.
        figures: Path -> figure of the whole audit.
    """
    if answer is None:
        return LeaderboardCell(question, None, "The question was not asked.", None)
    result = answer["result"]
    if result is None:
        return LeaderboardCell(question, None, answer["reason"], None)
    verdict = result["verdict"]
    finding = result.get("finding") or {}
    figure = figures.get(f"{question}.{finding.get('figure')}")
    if figure is None:
        # Not every finding is about a figure.
        figure = _find_first_figure(question, figures)
    return LeaderboardCell(question, verdict["tone"], verdict["label"], figure)


def _find_first_figure(question: str, figures: Mapping[str, AuditFigure]) -> AuditFigure | None:
    """Return the first figure of a question; None if it has none."""
    for figure in figures.values():
        if figure.question == question:
            return figure
    return None


def _count_problems(row: LeaderboardRow) -> tuple[int, ...]:
    """Return a key by which the audits with most answers and fewest problems come first."""
    tones = [cell.tone for cell in row.cells]
    return tones.count(None), tones.count("bad"), tones.count("warn")


def _rank_cell(cell: LeaderboardCell) -> tuple[int, float]:
    """Return a key by which the best verdicts, and within them the better figures, come first."""
    # `TONES` begins with the worst, and no answer is worse than any.
    if cell.tone is None:
        return len(TONES), 0.0
    rank = len(TONES) - 1 - TONES.index(cell.tone)
    figure = cell.figure
    # A figure that is neither better nor worse cannot order its rows.
    if figure is None or figure.estimate.value is None or figure.better is None:
        return rank, math.inf
    if figure.better == "lower":
        return rank, figure.estimate.value
    return rank, -figure.estimate.value

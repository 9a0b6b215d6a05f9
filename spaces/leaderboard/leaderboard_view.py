"""Reads audits, and writes them as a table over the seven questions."""

from __future__ import annotations

import functools
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit_rows import LeaderboardCell, LeaderboardRow, find_audits, leaderboard

from rightreasons.core.sentences import pluralize
from rightreasons.page.formats import format_estimate
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.schema import read_audit
from rightreasons.widget.pages import by_name, check_upload, verdict

AUDITS = Path(__file__).resolve().parent / "bundled"
MAX_AUDITS = 200
SORTS = {"most asked, fewest problems": None, **{question: question for question in QUESTIONS}}


@functools.cache
def bundled() -> tuple[dict[str, Any], ...]:
    """Read the audits of this folder."""
    return tuple(find_audits(AUDITS))


def add_audits(audits: Sequence[dict[str, Any]], paths: Sequence[str]) -> list[dict[str, Any]]:
    """Read uploaded audits beside those that are there."""
    if len(audits) + len(paths) > MAX_AUDITS:
        raise ValueError(
            f"Expected at most {MAX_AUDITS} audits, but got {len(audits) + len(paths)}."
        )
    return [*audits, *(_read(path) for path in paths)]


def _read(path: str) -> dict[str, Any]:
    file = check_upload(path)
    with by_name(file):
        return read_audit(file)


def table_of(audits: Sequence[dict[str, Any]], sort: str) -> str:
    """Write the table, with one sentence above it."""
    rows = leaderboard(list(audits), by=SORTS[sort])
    titles = {each["question"]: each["title"] for audit in audits for each in audit["questions"]}
    heads = "".join(
        f'<th scope="col" title="{html.escape(titles.get(question, ""))}"{_sorted(question == SORTS[sort])}>'
        f"{html.escape(question)}</th>"
        for question in QUESTIONS
    )
    body = "".join(_row(place, row) for place, row in enumerate(rows, start=1))
    return (
        f"{verdict(*_verdict(rows))}"
        '<div class="rr-table lb-table" tabindex="0"><table><thead><tr><th scope="col">#</th>'
        f'<th scope="col">model and data</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _sorted(here: bool) -> str:
    return ' aria-sort="descending" class="lb-here"' if here else ""


def _verdict(rows: Sequence[LeaderboardRow]) -> tuple[str, str]:
    tones = {question: [row[question].tone for row in rows] for question in QUESTIONS}
    bad = {question: found.count("bad") for question, found in tones.items()}
    worst = max(bad, key=lambda question: bad[question])
    if bad[worst]:
        n = sum(any(cell.tone == "bad" for cell in row.cells) for row in rows)
        answers = sum(tone is not None for tone in tones[worst])
        words = f"{n} of {pluralize(len(rows), 'audit')} found a problem, most often with {worst}: {bad[worst]} of {answers}."
        return words, "bad"
    audits = pluralize(len(rows), "audit")
    doubtful, clear = (
        sum(found.count(tone) for found in tones.values()) for tone in ("warn", "good")
    )
    if doubtful:
        needs = "needs" if doubtful == 1 else "need"
        return (
            f"No problem found in {audits}, but {pluralize(doubtful, 'answer')} {needs} a closer look.",
            "warn",
        )
    if not clear:
        return (
            f"No verdict in {audits}: the data cannot tell the answer to any question.",
            "neutral",
        )
    return f"No problem found in {audits}.", "good"


def _row(place: int, row: LeaderboardRow) -> str:
    cells = "".join(_cell(cell) for cell in row.cells)
    about = f"{html.escape(row.dataset)}, {pluralize(row.n_items, 'item')}"
    return (
        f'<tr><td>{place}</td><th scope="row">{html.escape(row.model)}<br><span class="rr-small">{about}</span></th>'
        f"{cells}</tr>"
    )


def _cell(cell: LeaderboardCell) -> str:
    if cell.tone is None:
        return f'<td class="lb-none" title="{html.escape(cell.verdict)}">–</td>'
    shown = ""
    if cell.figure is not None:
        figure = cell.figure
        name = f'<span class="rr-small">{html.escape(figure.name)}</span>'
        shown = f"<br><b>{format_estimate(figure.estimate, figure.unit)}</b> {name}"
    return f'<td class="lb-{cell.tone}">{html.escape(cell.verdict)}{shown}</td>'

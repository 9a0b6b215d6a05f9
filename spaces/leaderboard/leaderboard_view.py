"""Audits for the page: `read_bundled` and `add_audits` read them, `write_table` makes a table."""

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
"""Largest number of audits in the table."""

SORTS: dict[str, str | None] = {"most questions, fewest problems": None}
SORTS |= {question: question for question in QUESTIONS}
"""Order as a visitor chooses it -> argument `by` of `leaderboard`."""


@functools.cache
def read_bundled() -> tuple[dict[str, Any], ...]:
    """Read the audits of this folder."""
    return tuple(find_audits(AUDITS))


def add_audits(audits: Sequence[dict[str, Any]], paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return audits with those of uploaded files at the end.

    Raises:
        ValueError: If a file is no audit, or there are too many.
    """
    n_audits = len(audits) + len(paths)
    if n_audits > MAX_AUDITS:
        raise ValueError(f"Expected at most {MAX_AUDITS} audits, but got {n_audits}.")
    added = []
    for path in paths:
        file = check_upload(path)
        # A visitor knows the file by its name, not by its path on the server.
        with by_name(file):
            added.append(read_audit(file))
    return [*audits, *added]


def write_table(audits: Sequence[dict[str, Any]], sort: str) -> str:
    """Write audits as a table, with one sentence above it.

    Args:
        audits: The audits.
        sort: Order of the rows, a key of `SORTS`.
    """
    rows = leaderboard(list(audits), by=SORTS[sort])
    titles = {}
    # Each audit stores the titles of its questions, of whatever version.
    for audit in audits:
        for question in audit["questions"]:
            titles[question["question"]] = question["title"]
    heads = []
    # Every question has a column, so that tables of different audits look alike.
    for name in QUESTIONS:
        title = html.escape(titles.get(name, ""))
        mark = ""
        if name == SORTS[sort]:
            mark = ' aria-sort="descending" class="lb-here"'
        heads.append(f'<th scope="col" title="{title}"{mark}>{html.escape(name)}</th>')
    lines = []
    for rank, row in enumerate(rows, start=1):
        lines.append(_write_row(rank, row))
    return (
        f"{summarize(rows)}"
        '<div class="rr-table lb-table" tabindex="0"><table><thead><tr><th scope="col">#</th>'
        f'<th scope="col">model and data</th>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def summarize(rows: Sequence[LeaderboardRow]) -> str:
    """Write one sentence about the problems in all audits."""
    # The worst tone of any cell decides the sentence.
    tones = []
    for row in rows:
        tones += [cell.tone for cell in row.cells]
    audits = pluralize(len(rows), "audit")
    if "bad" in tones:
        return verdict(_describe_problems(rows), "bad")
    n_doubtful = tones.count("warn")
    if n_doubtful:
        verb = "needs" if n_doubtful == 1 else "need"
        answers = pluralize(n_doubtful, "answer")
        return verdict(f"No problem found in {audits}, but {answers} {verb} a closer look.", "warn")
    if "good" not in tones:
        return verdict(f"No verdict in {audits}: the data are too few to answer any question.")
    return verdict(f"No problem found in {audits}.", "good")


def _describe_problems(rows: Sequence[LeaderboardRow]) -> str:
    """Return how many audits found a problem, and with which question most often."""
    n_bad = {}
    n_answered = {}
    for question in QUESTIONS:
        tones = [row[question].tone for row in rows]
        n_bad[question] = tones.count("bad")
        n_answered[question] = len(tones) - tones.count(None)
    # Of equals, the first question of the report.
    worst = max(n_bad, key=lambda question: n_bad[question])
    n_audits = 0
    for row in rows:
        tones = [cell.tone for cell in row.cells]
        if "bad" in tones:
            n_audits += 1
    return (
        f"{n_audits} of {pluralize(len(rows), 'audit')} found a problem, most often with {worst}: "
        f"{n_bad[worst]} of {n_answered[worst]}."
    )


def _write_row(rank: int, row: LeaderboardRow) -> str:
    """Write the row of an audit."""
    cells = "".join(map(_write_cell, row.cells))
    data = f"{html.escape(row.dataset)}, {pluralize(row.n_items, 'item')}"
    return (
        f'<tr><td>{rank}</td><th scope="row">{html.escape(row.model)}<br>'
        f'<span class="rr-small">{data}</span></th>{cells}</tr>'
    )


def _write_cell(cell: LeaderboardCell) -> str:
    """Write the answer to a question with its figure; a dash with the reason for no answer."""
    label = html.escape(cell.verdict)
    # The reason is in the tooltip: a dash says enough in a table.
    if cell.tone is None:
        return f'<td class="lb-none" title="{label}">–</td>'
    figure = cell.figure
    if figure is None:
        return f'<td class="lb-{cell.tone}">{label}</td>'
    name = html.escape(figure.name)
    value = format_estimate(figure.estimate, figure.unit)
    return (
        f'<td class="lb-{cell.tone}">{label}<br><b>{value}</b> '
        f'<span class="rr-small">{name}</span></td>'
    )

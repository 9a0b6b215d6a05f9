"""The elements of our pages, as HTML: tiles, tables, sentences of error and of verdict."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightreasons.foundations.sentences import counted

MAX_TABLE_ROWS = 200
"""Maximum number of rows that `table` writes; below them it says how many more there are."""

MISTAKES = (TypeError, ValueError)
"""Errors that a user's input may raise; the page shows their message. Any other error is a bug of ours."""

_WORDS_OF = {True: "yes", False: "no", None: "–"}


FILTER = "Filter of a log"
"""The field of a page in which a visitor names the filter or the scorer of a log that has several."""


def problem(error: Exception | str) -> str:
    """Write an error as one sentence for the reader of a page, to whom an option of the reader of logs is a field.

    Example:
        >>> problem(ValueError("Expected x < 1."))
        '<p class="rr-problem" role="alert">Expected x &lt; 1.</p>'
    """
    told = str(error).replace("name one with `log_filter`", f"name one under “{FILTER}”")
    return f'<p class="rr-problem" role="alert">{html.escape(told)}</p>'


def verdict(sentence: str, tone: str = "neutral") -> str:
    """Write the one sentence that says what a page shows; its tone is "bad", "warn", "neutral" or "good".

    Example:
        >>> verdict("Sure & wrong.", "bad")
        '<p class="rr-verdict rr-bad">Sure &amp; wrong.</p>'
    """
    return f'<p class="rr-verdict rr-{tone}">{html.escape(sentence)}</p>'


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Write figures as tiles: a name, a value, and a small line below.

    Example:
        >>> tiles([("ECE", "0.05", "lower is better")]).count("<div>")
        1
    """
    blocks = []
    for entry in entries:
        name, value, small = map(html.escape, entry)
        blocks.append(f'<div><dt>{name}</dt><dd>{value}</dd><dd class="rr-small">{small}</dd></div>')
    # Full rows on a wide page: four tiles fill one row, six fill two.
    columns = 4 if len(blocks) % 4 == 0 else 3
    return f'<dl class="rr-tiles" style="--rr-columns: {columns}">{"".join(blocks)}</dl>'


def table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None, *, caption: str = "") -> str:
    """Write rows as an HTML table that scrolls within itself on a narrow page.

    Args:
        rows: One mapping per row.
        columns: The heading of each key to show, in order; by default the keys of the first row.
        caption: A line above the table.
    """
    headings = columns or {key: key.replace("_", " ") for key in (rows[0] if rows else {})}
    numeric = {key for key in headings if rows and all(is_number(row.get(key)) or row.get(key) is None for row in rows)}
    head = "".join(f"<th{_align(key in numeric)}>{html.escape(title)}</th>" for key, title in headings.items())
    cells = [
        "".join(f"<td{_align(key in numeric)}>{html.escape(figure(row.get(key)))}</td>" for key in headings)
        for row in rows[:MAX_TABLE_ROWS]
    ]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = len(rows) - MAX_TABLE_ROWS
    foot = f'<p class="rr-small">and {counted(more, "more row")}</p>' if more > 0 else ""
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="rr-table" tabindex="0"><table>{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{foot}"
    )


def figure(value: Any) -> str:
    """Write one value for display: four decimal places, thousands separators, a dash if undefined.

    Example:
        >>> figure(0.123456), figure(12000), figure(None), figure(1e-7), figure(True)
        ('0.1235', '12,000', '–', '1e-07', 'yes')
    """
    if value is None or isinstance(value, bool):
        return _WORDS_OF[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value + 0.0:.4f}" if value == 0 or abs(value) >= 5e-5 else f"{value:.0e}"  # no sign before 0
    return str(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _align(right: bool) -> str:
    return ' class="rr-number"' if right else ""

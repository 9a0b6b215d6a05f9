"""The values of items beside a report, `items/QUESTION.csv`: what two reports are compared by, item by item."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.auditing.page.parts import ItemFigure

COLUMNS = ("figure", "id", "group", "value")


def items_file(question: str) -> str:
    """Return the file of a question's items, relative to the report."""
    return f"items/{question}.csv"


def items_table(figures: Sequence[ItemFigure]) -> str:
    """Write figures as a table for a spreadsheet: a row per figure and item.

    Example:
        >>> print(items_table([ItemFigure.of("pass_rate", "Pass rate", "higher", ["a", "b"], [1, 0])]))
        figure,id,group,value
        pass_rate,a,,1
        pass_rate,b,,0
        <BLANKLINE>
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for figure in figures:
        groups = figure.groups or ("",) * len(figure.ids)
        values = (f"{value:.17g}" for value in figure.values)
        writer.writerows(zip([figure.key] * len(figure.ids), figure.ids, groups, values, strict=True))
    return stream.getvalue()


def read_items(report: Path, question: str, result: Mapping[str, Any]) -> dict[str, ItemFigure]:
    """Read the figures of a question with their items.

    Args:
        report: The folder of a report.
        question: The question.
        result: Its result in audit.json.

    Returns:
        Key -> figure; {} where the report has none.
    """
    about = {each["key"]: each for each in result.get("by_item", ())}
    file = report / items_file(question)
    if not about or not file.is_file():
        return {}
    rows: dict[str, list[dict[str, str]]] = {key: [] for key in about}
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            rows[row["figure"]].append(row)
    return {
        key: ItemFigure.of(
            key,
            each["name"],
            each["better"],
            [row["id"] for row in rows[key]],
            [float(row["value"]) for row in rows[key]],
            low=each["low"],
            high=each["high"],
            unit=each["unit"],
            groups=tuple(row["group"] for row in rows[key]) if any(row["group"] for row in rows[key]) else (),
        )
        for key, each in about.items()
    }

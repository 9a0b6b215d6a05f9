"""The values of figures by item, as CSV files of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.core.store import format_csv
from rightreasons.page.parts import ItemFigure

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("figure", "id", "group", "value")

CLUSTER = "cluster"
"""Further column of figures whose items are not independent."""


def get_items_path(question: str) -> str:
    """Return the path of the values of a question, relative to the report."""
    return f"items/{question}.csv"


def format_item_values(figures: Sequence[ItemFigure]) -> str:
    """Return figures as a CSV table with a row per figure and item.

    Example:
        >>> figure = ItemFigure.from_arrays("pass_rate", "Pass rate", "higher", ["a", "b"], [1, 0])
        >>> print(format_item_values([figure]))
        figure,id,group,value
        pass_rate,a,,1
        pass_rate,b,,0
        <BLANKLINE>
    """
    has_clusters = any(figure.clusters for figure in figures)
    # The column of clusters is only written if a figure has clusters.
    header: tuple[str, ...] = COLUMNS
    if has_clusters:
        header = (*COLUMNS, CLUSTER)
    rows: list[tuple[str, ...]] = [header]
    for figure in figures:
        n_items = len(figure.ids)
        empty_cells = ("",) * n_items
        # With 17 digits, reading the text gives the same number again.
        values = [f"{value:.17g}" for value in figure.values]
        columns: list[Iterable[str]] = [
            [figure.key] * n_items,
            figure.ids,
            figure.groups or empty_cells,
            values,
        ]
        if has_clusters:
            columns.append(figure.clusters or empty_cells)
        rows += zip(*columns, strict=True)
    return format_csv(rows)


def read_item_values(
    report: Path, question: str, result: Mapping[str, Any]
) -> dict[str, ItemFigure]:
    """Read the figures of a question with their items.

    Args:
        report: The folder of a report.
        question: Name of the question.
        result: Its result in audit.json, whose "by_item" describes the figures.

    Returns:
        Key -> figure with its values by item; empty if the report has no such file.
    """
    import pandas as pd

    file = report / get_items_path(question)
    if not result.get("by_item") or not file.is_file():
        return {}
    rows = pd.read_csv(
        file,
        dtype={"id": str, "group": str, CLUSTER: str},
        keep_default_na=False,
        float_precision="round_trip",
    )
    figures = {}
    for description in result["by_item"]:
        key = description["key"]
        figures[key] = _make_figure(description, rows[rows["figure"] == key])
    return figures


def _make_figure(description: Mapping[str, Any], rows: pd.DataFrame) -> ItemFigure:
    """Return a figure with its values by item.

    Args:
        description: Its name, unit and bounds, from audit.json.
        rows: Its rows in the CSV file, with the columns "id", "group", "value" and, for dependent
            items, "cluster".
    """
    groups = ()
    if any(rows["group"]):
        groups = tuple(rows["group"])
    clusters = ()
    # Only figures of dependent items have the column, and reports of earlier versions lack it.
    if CLUSTER in rows and any(rows[CLUSTER]):
        clusters = tuple(rows[CLUSTER])
    return ItemFigure.from_arrays(
        description["key"],
        description["name"],
        description["better"],
        rows["id"],
        rows["value"],
        low=description["low"],
        high=description["high"],
        unit=description["unit"],
        groups=groups,
        clusters=clusters,
        # In reports of earlier versions, each figure is about the finding.
        is_finding=description.get("is_finding", True),
    )

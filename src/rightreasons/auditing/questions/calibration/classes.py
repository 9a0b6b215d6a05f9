"""Class by class: how well each is found, and how far its probability is from how often it occurs."""

from __future__ import annotations

from collections.abc import Sequence

from rightreasons.auditing.page.parts import Column, Part, Table
from rightreasons.auditing.page.words import level_percent
from rightreasons.measuring.calibration import ClassFigures

COLUMNS = (
    Column("label", "Class", "text"),
    Column("n_items", "Items", "count"),
    Column("n_predicted", "Predicted", "count"),
    Column("precision", "Precision", "share", "Share of its predictions that are right."),
    Column("recall", "Recall", "share", "Share of its items that are found."),
    Column("f1", "F1", "share", "Harmonic mean of the two."),
    Column("confidence", "Confidence", "share", "Mean confidence where it is predicted."),
    Column("surplus", "Surplus", "share", "Mean of its probability minus how often it occurs."),
    Column("ece", "ECE", "share", "Calibration error of its probability over all items."),
)


def classes_part(names: Sequence[str], classes: Sequence[ClassFigures], level: float) -> Part:
    """Show each class, the most frequent first."""
    keys = [column.key for column in COLUMNS[1:]]
    shown = "" if len(classes) == len(names) else f"The {len(classes)} most frequent of {len(names)} classes. "
    table = Table(
        key="classes",
        title="Classes",
        columns=COLUMNS,
        rows=tuple((names[one.label], *(getattr(one, key) for key in keys)) for one in classes),
        note=f"{shown}In brackets: {level_percent(level)} intervals (Wilson for precision and recall, bootstrap for "
        "the others).",
        source="Counted; van Rijsbergen 1979; Kull et al. 2019",
    )
    return Part(title="Class by class", tables=(table,))

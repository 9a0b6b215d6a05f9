"""The items of a split on the page, in a table that a reader filters without a script."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rightreasons.auditing.context import AuditContext

MOST_ITEMS = 300
"""Items on the page; predictions/ has all."""

LONGEST = 160
"""Characters of a text in the table."""


@dataclasses.dataclass(frozen=True)
class Item:
    """One row: the item, and what the model says about it."""

    id: str
    text: str
    label: str
    prediction: str
    confidence: float
    right: bool


@dataclasses.dataclass(frozen=True)
class Items:
    """Labeled items of a split: the wrong ones, the surest first, and then the right ones, the least sure first.

    Attributes:
        split: The name of the split.
        rows: Up to `MOST_ITEMS` of them.
        n_items: How many labeled items the split has.
        n_wrong: How many of these the model gets wrong.
    """

    split: str
    rows: tuple[Item, ...]
    n_items: int
    n_wrong: int


def items_of(context: AuditContext) -> Items | None:
    """Take the items of the split that the model does worst on; None where no item has a label and an answer."""
    if context.task == "confidence":  # whether an answer was right is known, and not which it was
        return None
    best: Items | None = None
    for split in context.splits:
        if not split.labeled.any() or not context.has_scores(split):
            continue
        scores = context.scores(split)
        predicted, confidence = scores.predicted, scores.confidence
        rows = np.flatnonzero(split.labeled)
        right = predicted[rows] == split.labels[rows]
        order = np.lexsort((np.where(right, confidence[rows], -confidence[rows]), right))
        n_wrong = int((~right).sum())
        if best is not None and n_wrong / len(rows) <= best.n_wrong / best.n_items:
            continue
        shown = tuple(
            Item(
                id=split.ids[row],
                text=_shortened(split.texts[row]),
                label=context.label_name(int(split.labels[row])),
                prediction=context.label_name(int(predicted[row])),
                confidence=min(float(confidence[row]), 1.0),
                right=bool(predicted[row] == split.labels[row]),
            )
            for row in rows[order][:MOST_ITEMS].tolist()
        )
        best = Items(split.name, shown, len(rows), n_wrong)
    return best


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()} …"

"""The data of a page for its script, as JSON: the items, and the changed texts.

Labels are named by numbers, and rows are lists, because a page may have tens of thousands of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from rightreasons.page.parts import Change
from rightreasons.report.items.changes import list_edits
from rightreasons.report.items.listing import PageItems, SplitItems


def to_script_data(items: PageItems | None, changes: Mapping[str, Sequence[Change]]) -> Markup:
    """Write items and changed texts as JSON for the script of the page.

    Args:
        items: The items; None for none.
        changes: Text of an item -> changes of it that the model was asked about.

    Returns:
        The document, safe inside a `<script type="application/json">`.
    """
    # Rows name labels by their place among the names.
    numbers: dict[str, int] = {}
    splits = []
    opened_split = 0
    if items is not None:
        for split in items.splits:
            splits.append(_to_split_data(split, numbers))
        # The page opens with the split that has most errors.
        opened_split = items.splits.index(items.worst)
    edits: dict[str, list[Any]] = {}
    for text, changes_of_text in changes.items():
        edits[text] = [_to_change_row(text, change) for change in changes_of_text]
    data = {"names": list(numbers), "splits": splits, "first_split": opened_split, "changes": edits}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # A text must neither end the element nor begin a comment in it.
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - escaped for its element


def _to_split_data(split: SplitItems, numbers: dict[str, int]) -> dict[str, Any]:
    """Return a split with its items, each a list that the script reads by place."""
    place_by_label = {}
    for label, name in split.label_names.items():
        place_by_label[label] = numbers.setdefault(name, len(numbers))
    confidences: list[float | None] = [None] * len(split)
    if split.confidences is not None:
        confidences = np.round(split.confidences, 4).tolist()
    # Two bits: whether it is correct, and whether its label contradicts the text.
    flags = split.is_correct + 2 * split.contradicts
    columns: list[Iterable[Any]] = [
        split.ids,
        split.texts,
        map(place_by_label.get, split.labels.tolist()),
        map(place_by_label.get, split.predictions.tolist()),
        confidences,
        flags.tolist(),
        split.affected,
    ]
    # The script takes a row without a second text for a single one.
    if split.text_pairs is not None:
        columns.append(split.text_pairs)
    return {
        "name": split.name,
        "facts": split.facts,
        "rows": list(zip(*columns, strict=True)),
    }


def _to_change_row(text: str, change: Change) -> list[Any]:
    """Return a change as a list: name, prediction, confidence, edits of the text."""
    confidence = None
    if change.confidence is not None:
        confidence = round(change.confidence, 4)
    return [change.name, change.prediction, confidence, list_edits(text, change.text)]

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
        items: The items; None for a page without items.
        changes: Text of an item -> changes of it that the model was queried with.

    Returns:
        The document, safe inside a `<script type="application/json">`. `names` are the names of the
        labels, `splits` the splits with their items, `first_split` the index of the split that the
        page opens with, `columns` the figures of the findings, and `changes` the changes by text.
    """
    # Items refer to the name of a label by its number, which all splits share.
    number_by_name: dict[str, int] = {}
    splits = []
    first_split = 0
    columns = []
    if items is not None:
        for column in items.columns:
            columns.append({"name": column.name, "unit": column.unit, "better": column.better})
        for split in items.splits:
            splits.append(_to_split_data(split, number_by_name))
        # The page opens with the split that has the largest share of errors.
        first_split = items.splits.index(items.worst)
    change_rows: dict[str, list[Any]] = {}
    for text, changes_of_text in changes.items():
        change_rows[text] = [_to_change_row(text, change) for change in changes_of_text]
    data = {
        "names": list(number_by_name),
        "splits": splits,
        "first_split": first_split,
        "columns": columns,
        "changes": change_rows,
    }
    json_text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # A text with "</script>" or "<!--" must neither end the element nor begin a comment in it.
    escaped = json_text.replace("<", "\\u003c")
    return Markup(escaped)  # noqa: S704 - escaped for its element


def _to_split_data(split: SplitItems, number_by_name: dict[str, int]) -> dict[str, Any]:
    """Return a split with a row per item: a list of values, which the script reads by position.

    Args:
        split: The items.
        number_by_name: Name of a label -> its number in the rows. New names are added to it.

    Returns:
        `{"name": ..., "facts": ..., "rows": [...]}`. A row has the id, the text, the number of the
        label and of the prediction, the confidence, the flags, a list with the value of each
        column, and the second text of a pair.
    """
    number_by_label = {}
    for label, name in split.label_names.items():
        number_by_label[label] = number_by_name.setdefault(name, len(number_by_name))
    labels = map(number_by_label.get, split.labels.tolist())
    predictions = map(number_by_label.get, split.predictions.tolist())
    confidences: list[float | None] = [None] * len(split)
    if split.confidences is not None:
        # Fewer decimals would be rounded twice: 91.949% to 91.95%, and then to 92.0%.
        confidences = np.round(split.confidences, 7).tolist()
    # A number with two bits: 1 for a correct prediction, and 2 for a label that contradicts the text.
    flags = split.is_correct + 2 * split.contradicts
    columns: list[Iterable[Any]] = [
        split.ids,
        split.texts,
        labels,
        predictions,
        confidences,
        flags.tolist(),
        map(list, split.values),
    ]
    # A row without this value is an item with a single text.
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

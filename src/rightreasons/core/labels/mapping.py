"""The mapping table of a column of labels: how often each value occurs, and which class it is.

`label_rows` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.labels.ids import LabelColumn
from rightreasons.core.labels.names import BY_FOLDED_NAME, BY_NAME, BY_NUMBER, fold_name
from rightreasons.core.ordering import factorize
from rightreasons.core.results import Result


@dataclasses.dataclass(frozen=True)
class LabelRow(Result):
    """A row of a mapping table: one value of a column of labels.

    Attributes:
        value: The value, as it is written.
        count: How often it occurs.
        label: The name of its class; "" for none.
        rule: The rule by which the value was matched; "by name" if it is the name itself.
    """

    value: str
    count: int
    label: str
    rule: str


def label_rows(values: Sequence[Any] | NDArray[Any], column: LabelColumn) -> tuple[LabelRow, ...]:
    """List the distinct values of a column of labels, each with its count, its class, and the rule.

    Args:
        values: (N,) values of the column.
        column: The class ids of the rows, the names of the classes, and how they were matched.

    Returns:
        One row per distinct value, the most frequent first.

    Example:
        >>> from rightreasons.core.labels.ids import resolve_labels
        >>> values = ["Up", "down", None, "Up"]
        >>> rows = label_rows(values, resolve_labels(values, ["down", "up"]))
        >>> [(row.value, row.count, row.label, row.rule) for row in rows]
        [('Up', 2, 'up', 'by name, letter case aside'), ('down', 1, 'down', 'by name'), ('', 1, '', 'no label')]
    """
    codes, distinct_values = factorize(values)
    _, first_rows, counts = np.unique(codes, return_index=True, return_counts=True)
    # Rows of equal values have the same class, so the first row of each value is enough.
    ids = column.ids[first_rows]
    # (text, class id) -> count. Values of different types, such as 1 and "1", may have equal texts.
    count_by_pair: Counter[tuple[str, int]] = Counter()
    for value, class_id, count in zip(distinct_values, ids.tolist(), counts.tolist(), strict=True):
        text = ""
        if value is not None:
            text = str(value)
        count_by_pair[text, class_id] += count
    rows = []
    for (text, class_id), count in count_by_pair.most_common():
        if class_id < 0:
            rows.append(LabelRow(text, count, label="", rule="no label"))
            continue
        label = column.names[class_id]
        rows.append(LabelRow(text, count, label, _describe_rule(text, label, column)))
    return tuple(rows)


def _describe_rule(value: str, label: str, column: LabelColumn) -> str:
    """Return the rule by which a value was matched with its class, such as "by name".

    Args:
        value: The value as a string.
        label: Name of its class.
        column: The column of labels. Its `how` and `reason` apply to all values that are not names.
    """
    if value.strip() == label:
        return BY_NAME
    if fold_name(value) == fold_name(label):
        return BY_FOLDED_NAME
    if column.how == BY_NUMBER:
        # For example, "by number, as the labels count from 1".
        return f"{column.how}, as {column.reason}" if column.reason else column.how
    if column.reason:
        return column.reason
    # A number among words, such as 1 next to "yes", or a word that `label_names` renames.
    is_number = value.strip().lstrip("+-").isdecimal()
    if is_number:
        return "by the number of the class"
    return "by its new name"

"""Parse the labels of multiple-choice items: groups, and answers of several runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import to_array_or_list
from rightreasons.core.validation import check_labels, check_same_length


def number_groups(
    groups: Sequence[Hashable] | None,
    n_items: int,
) -> NDArray[np.int64]:
    """Return (N,) the number of the group of each item, in the order of first occurrence.

    Args:
        groups: N names of groups; None if each item is a separate group.
        n_items: Number of items N.

    Raises:
        ValueError: If an item has no group, or lengths differ.

    Example:
        >>> number_groups(["b", "a", "b"], 3).tolist()
        [0, 1, 0]
    """
    if groups is None:
        return np.arange(n_items, dtype=np.int64)

    check_same_length(data=range(n_items), groups=groups)
    number_by_name: dict[Hashable, int] = {}
    numbers = np.empty(n_items, dtype=np.int64)
    for item, name in enumerate(groups):
        # Tables have NaN for a missing name. It is the only value that does not equal itself.
        if name is None or name != name:
            raise ValueError(f"Expected a name in each item of `groups`, but item {item} has none.")
        numbers[item] = number_by_name.setdefault(name, len(number_by_name))
    return numbers


def parse_runs(
    values: object,
    name: str = "predictions",
    *,
    min_columns: int = 1,
) -> NDArray[np.int64]:
    """Parse a table of whole numbers from 0, such as predictions with one column per run.

    Args:
        values: (N, R) numbers; (N,) is accepted as one column if `min_columns` is 1.
        name: Name of the argument, for error messages.
        min_columns: Smallest number of columns.

    Returns:
        (N, R) numbers.

    Raises:
        TypeError: If a value is not a whole number.
        ValueError: If there are no rows, or their lengths differ or are too small.

    Example:
        >>> parse_runs([0, 1]).shape, parse_runs([[0, 1, 1], [1, 1, 1]]).shape
        ((2, 1), (2, 3))
    """
    rows = to_array_or_list(values, name)
    if len(rows) == 0:
        raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")

    # Number of values of each row; 0 for a single number, which is not a row.
    widths = set()
    for row in rows:
        is_row = isinstance(row, list) or np.ndim(row) > 0
        widths.add(len(row) if is_row else 0)
    # A vector is one run.
    if widths == {0} and min_columns == 1:
        return check_labels(rows, name=name)[:, None]
    if len(widths) > 1 or min(widths) < min_columns:
        widths_text = ", ".join(map(str, sorted(widths)))
        raise ValueError(
            f"Expected each row of `{name}` to have the same number of values, at least "
            f"{min_columns}, but rows have {widths_text}."
        )
    columns = [check_labels(row, name=name) for row in rows]
    return np.stack(columns)

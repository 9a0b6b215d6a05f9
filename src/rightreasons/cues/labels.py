"""Correct choices and groups of multiple-choice items, as the statistics of cues take them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.validation import check_labels, check_same_length


def parse_correct_choices(labels: object, n_choices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (N,) the position of the correct choice of each item.

    Args:
        labels: (N,) whole numbers from 0.
        n_choices: (N,) number of choices of each item.

    Raises:
        TypeError: If a label is not a whole number.
        ValueError: If a label is out of range, or lengths differ.
    """
    correct = check_labels(labels, name="labels")
    check_same_length(data=n_choices, labels=correct)
    return check_labels(correct, n_choices, name="labels")


def number_groups(groups: Sequence[Hashable] | None, n_items: int) -> NDArray[np.int64]:
    """Return (N,) the number of the group of each item, in the order of first occurrence.

    Args:
        groups: N names of groups; None if each item is a group of its own.
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
        # NaN, which tables write for a missing name, does not equal itself.
        if name is None or name != name:
            raise ValueError(f"Expected a name in each item of `groups`, but item {item} has none.")
        numbers[item] = number_by_name.setdefault(name, len(number_by_name))
    return numbers

"""Columns that are related by their cells: classes that agree, and scores that add up to 1.

`measure_agreement` compares two columns of classes, `find_complementary_columns` finds scores with a column per class.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.io.contents import (
    MIN_SHARE_OF_SUMS,
    Content,
    Contents,
    is_empty,
    make_key,
)
from rightreasons.io.score_cells import MAX_SUM_ERROR

MIN_AGREEMENT_Z = 4.0
MIN_KAPPA = 0.4
"""Minimum z-score and minimum Cohen's kappa of the agreement of two columns that are labels and answers."""


def have_same_values(cells: Sequence[Any], other_cells: Sequence[Any]) -> bool:
    """Return whether two columns share at least half of the distinct values of the one with fewer.

    Labels and predictions do, even if a model never predicts some of the classes.

    Args:
        cells: The cells of one column.
        other_cells: The cells of the other column, whose number of rows may differ.
    """
    values = _list_distinct(cells)
    other_values = _list_distinct(other_cells)
    n_shared = len(values & other_values)
    # Of an empty column, no value is shared: 0 is less than 1.
    n_fewer = max(1, min(len(values), len(other_values)))
    return 2 * n_shared >= n_fewer


def measure_agreement(
    cells: Sequence[Any], other_cells: Sequence[Any], min_kappa: float = MIN_KAPPA
) -> float | None:
    """Return the share of rows in which two columns of classes agree, if this is more than chance.

    Args:
        cells: (n,) cells of one column.
        other_cells: (n,) cells of the other column.
        min_kappa: Minimum of Cohen's kappa.

    Returns:
        The share; None if the columns have different classes, if they are equal in all rows, if Cohen's
        kappa is too small, or if a z-test finds no more agreement than by chance.

    Example:
        >>> measure_agreement(["a", "b", "c", "a"] * 6, ["a", "b", "c", "b"] * 6)
        0.75
    """
    if not have_same_values(cells, other_cells):
        return None
    values = list(map(make_key, cells))
    other_values = list(map(make_key, other_cells))
    n_rows = len(values)
    n_equal = sum(map(operator.eq, values, other_values))
    share = n_equal / n_rows
    chance = _measure_chance(values, other_values)
    # Columns that always agree are copies, or have only one class.
    if share == 1 or chance == 1:
        return None
    excess = share - chance
    # Cohen's kappa is excess / (1 - chance).
    if excess < min_kappa * (1 - chance):
        return None
    # A few rows may agree by accident, so the excess is compared with its standard error.
    variance = chance * (1 - chance) / n_rows
    if excess < MIN_AGREEMENT_Z * np.sqrt(variance):
        return None
    return float(share)


def find_agreeing_columns(contents: Contents, label: str, candidates: Sequence[str]) -> list[str]:
    """Return the columns that may be the answers of systems, or of annotators, to labeled items.

    They have the values of the labels, and at least one agrees with the labels more often than by chance.
    Others are included even if they agree only by chance, because they may be answers of a poor system.

    Args:
        contents: Column -> the summary of its cells.
        label: The column of labels.
        candidates: Columns without a role.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> gold, answers = ["a", "b", "c", "a"] * 6, ["a", "b", "c", "b"] * 6
        >>> contents = describe_contents({"gold": gold, "x": answers, "split": ["u", "v"] * 12})
        >>> find_agreeing_columns(contents, "gold", ["x", "split"])
        ['x']
    """
    labels = contents.get_cells(label)
    # Any two columns of flags have the same values, 0 and 1.
    if len(_list_distinct(labels)) < 3 and contents[label].kind != "text":
        return []
    columns = []
    has_agreement = False
    for name in contents.list_classes(candidates):
        cells = contents.get_cells(name)
        if not have_same_values(cells, labels):
            continue
        columns.append(name)
        if not has_agreement:
            has_agreement = measure_agreement(cells, labels) is not None
    if not has_agreement:
        return []
    return columns


def _measure_chance(values: Sequence[str], other_values: Sequence[str]) -> float:
    """Return the expected share of agreeing rows if two columns were independent.

    This is the chance term of Cohen's kappa: the sum over values of the product of their shares.

    Args:
        values: (n,) values of one column.
        other_values: (n,) values of the other column.
    """
    counts = Counter(values)
    other_counts = Counter(other_values)
    n_expected = 0
    for value, count in counts.items():
        n_expected += count * other_counts[value]
    n_pairs = len(values) * len(other_values)
    return n_expected / n_pairs


def _list_distinct(cells: Sequence[Any]) -> set[str]:
    """Return the distinct values of a column in the form in which they are compared, without empty cells."""
    return set(map(make_key, itertools.filterfalse(is_empty, cells)))


def find_marked_classes(contents: Contents, names: Sequence[str]) -> list[str]:
    """Return the columns of a one-hot encoded label: columns of 0 and 1, exactly one of which is 1 in each row.

    Args:
        contents: Column -> the summary of its cells.
        names: The columns to consider.

    Returns:
        All columns of 0 and 1; an empty list if a row has no 1 in these columns, or several.

    Example:
        >>> rows = {"joy": [1, 0, 0] * 4, "fear": [0, 1, 1] * 4, "n": [3, 4, 5] * 4}
        >>> from rightreasons.io.contents import describe_contents
        >>> find_marked_classes(describe_contents(rows), ["joy", "fear", "n"])
        ['joy', 'fear']
    """
    marks_by_name = {}
    for name in names:
        numbers = contents[name].numbers
        if numbers is None or not contents[name].has_classes:
            continue
        if np.isin(numbers, (0, 1)).all():
            marks_by_name[name] = numbers
    sums = np.sum(list(marks_by_name.values()), axis=0)
    # This also excludes a single column of flags, which has rows with 0.
    if not (sums == 1).all():
        return []
    return list(marks_by_name)


def find_complementary_columns(contents: Contents, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of neighboring columns that add up to 1 in every row, as class scores do.

    Log-probabilities count as the probabilities that they are logarithms of.

    Args:
        contents: Column -> the summary of its cells.
        names: The columns, in the order of the table.

    Returns:
        The columns of each group. Groups have no columns in common.

    Example:
        >>> shares = [0.1, 0.35, 0.5, 0.8] * 3
        >>> rows = {"a": shares, "b": [1 - share for share in shares], "c": [3, 4] * 6}
        >>> from rightreasons.io.contents import describe_contents
        >>> find_complementary_columns(describe_contents(rows), ["a", "b", "c"])
        [('a', 'b')]
    """
    groups: list[tuple[str, ...]] = []
    start = 0
    while start < len(names):
        group = _find_complementary_start(contents, names[start:])
        if group:
            groups.append(group)
        # Continue after the group, or with the next column if none starts here.
        start += max(1, len(group))
    return groups


def _find_complementary_start(contents: Contents, names: Sequence[str]) -> tuple[str, ...]:
    """Return the smallest number of leading columns, two or more, that add up to 1 in nearly every row.

    Args:
        contents: Column -> the summary of its cells.
        names: The columns, in the order of the table.

    Returns:
        The columns; empty if no number of leading columns adds up to 1.
    """
    total: NDArray[np.float64] | None = None
    has_logarithms = contents[names[0]].has_log_fractions
    for position, name in enumerate(names):
        shares = _read_shares(contents[name], has_logarithms)
        if shares is None:
            return ()
        total = shares if total is None else total + shares
        # A few rows of a file may have faults.
        has_unit_sum = np.abs(total - 1) <= MAX_SUM_ERROR
        if position > 0 and has_unit_sum.mean() >= MIN_SHARE_OF_SUMS:
            return tuple(names[: position + 1])
    return ()


def _read_shares(content: Content, has_logarithms: bool) -> NDArray[np.float64] | None:
    """Return (n,) the fractions in a column; None if its cells are others, or if one is empty.

    Args:
        content: The summary of the column.
        has_logarithms: Whether its cells have to be logarithms of fractions.
    """
    numbers = content.numbers
    if numbers is None or np.isnan(numbers).any():
        return None
    if has_logarithms and content.has_log_fractions:
        return np.exp(numbers)
    # Columns of 0 and 1 are excluded, because one-hot labels add up to 1 as well.
    if not has_logarithms and content.has_fractions:
        return numbers
    return None

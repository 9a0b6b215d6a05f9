"""Columns that belong together by their cells: classes that agree, and scores that add up to 1.

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
    Contents,
    is_empty,
    make_key,
)
from rightreasons.io.score_cells import MAX_SUM_ERROR

MIN_AGREEMENT_Z = 4.0
MIN_KAPPA = 0.4
"""Two columns of one set of classes are labels and answers if they agree more often than by chance, by both measures."""


def have_same_values(cells: Sequence[Any], other_cells: Sequence[Any]) -> bool:
    """Return whether two columns share at least half of the values of the one that has fewer.

    Labels and predictions do, even if a model never predicts some of the classes.

    Args:
        cells: The cells of one column.
        other_cells: The cells of the other column, which may have another number of rows.
    """
    values = _list_distinct(cells)
    other_values = _list_distinct(other_cells)
    n_shared = len(values & other_values)
    # Empty columns share nothing.
    n_fewer = max(1, min(len(values), len(other_values)))
    return 2 * n_shared >= n_fewer


def measure_agreement(
    cells: Sequence[Any], other_cells: Sequence[Any], min_kappa: float = MIN_KAPPA
) -> float | None:
    """Return the share of rows in which two columns of classes agree, if this is more than chance.

    Args:
        cells: The cells of one column.
        other_cells: The cells of the other column.
        min_kappa: Cohen's kappa below which two columns may mean different things.

    Returns:
        The share; None if the columns have different classes, if they are equal throughout, or if they
        agree no more often than by chance, according to Cohen's kappa and to a z-test.

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
    # Equal columns are copies, and a single class agrees with itself.
    if share == 1 or chance == 1:
        return None
    excess = share - chance
    # Cohen's kappa is excess / (1 - chance).
    if excess < min_kappa * (1 - chance):
        return None
    # A few rows may agree often by accident: the excess is compared with its standard error.
    variance = chance * (1 - chance) / n_rows
    if excess < MIN_AGREEMENT_Z * np.sqrt(variance):
        return None
    return float(share)


def find_agreeing_columns(contents: Contents, label: str, candidates: Sequence[str]) -> list[str]:
    """Return the columns that may be the answers of systems, or of annotators, to labeled items.

    They hold the values of the labels, and at least one of them agrees with the labels more often than
    by chance. The others count as well then: a poor system agrees by chance.

    Args:
        contents: Summaries of the cells of each column.
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
    # Two columns of flags share their values whatever they mean.
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
    """
    counts = Counter(values)
    other_counts = Counter(other_values)
    n_expected = 0
    for value, count in counts.items():
        n_expected += count * other_counts[value]
    n_pairs = len(values) * len(other_values)
    return n_expected / n_pairs


def _list_distinct(cells: Sequence[Any]) -> set[str]:
    """Return the values of a column as they are compared, without empty cells."""
    return set(map(make_key, itertools.filterfalse(is_empty, cells)))


def find_marked_classes(contents: Contents, names: Sequence[str]) -> list[str]:
    """Return the columns of 0 and 1, if exactly one of them is 1 in each row: a one-hot encoded label.

    Args:
        contents: Summaries of the cells of each column.
        names: The columns to look at.

    Returns:
        All columns of 0 and 1; [] if some row has no 1 in them, or several.

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
    # A single column of flags has rows with 0, or is constant.
    if not (sums == 1).all():
        return []
    return list(marks_by_name)


def find_complementary_columns(contents: Contents, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the groups of neighboring columns that add up to 1 in every row, as class scores do.

    Args:
        contents: Summaries of the cells of each column.
        names: The columns, in the order of the table.

    Returns:
        The columns of each group; a column is in one group at most.

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
    """Return the fewest first columns whose numbers add up to 1 in nearly every row; () if none do.

    Args:
        contents: Summaries of the cells of each column.
        names: The columns; the group starts with the first one and has at least two.
    """
    total: NDArray[np.float64] | None = None
    for position, name in enumerate(names):
        content = contents[name]
        numbers = content.numbers
        # One-hot labels add up to 1 as well, so that flags are excluded.
        if numbers is None or not content.has_fractions:
            return ()
        if np.isnan(numbers).any():
            return ()
        total = numbers if total is None else total + numbers
        # A few rows of most files are broken.
        is_one = np.abs(total - 1) <= MAX_SUM_ERROR
        if position > 0 and is_one.mean() >= MIN_SHARE_OF_SUMS:
            return tuple(names[: position + 1])
    return ()

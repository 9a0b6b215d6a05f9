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
    """Return whether two columns share at least half of the values of the one that has fewer."""
    values = _list_distinct(cells)
    other_values = _list_distinct(other_cells)
    n_shared = len(values & other_values)
    # Empty columns share nothing.
    n_fewer = max(1, min(len(values), len(other_values)))
    return 2 * n_shared >= n_fewer


def measure_agreement(
    cells: Sequence[Any], other_cells: Sequence[Any], min_kappa: float = MIN_KAPPA
) -> float | None:
    """Return the share of rows in which two columns of one set of classes agree.

    Args:
        cells: The cells of one column.
        other_cells: The cells of the other column.
        min_kappa: Cohen's kappa below which two columns may mean different things.

    Returns:
        The share; None if the sets differ, if the columns are equal throughout, or if they agree no more often than by
        chance: the margins of both give the expected share, and Cohen's kappa.

    Example:
        >>> measure_agreement(["a", "b", "c", "a"] * 6, ["a", "b", "c", "b"] * 6)
        0.75
    """
    if not have_same_values(cells, other_cells):
        return None
    values = list(map(make_key, cells))
    other_values = list(map(make_key, other_cells))
    n_rows = len(values)
    share = sum(map(operator.eq, values, other_values)) / n_rows
    chance = _measure_chance(values, other_values)
    # Equal columns are one, and a single value agrees with itself.
    if share == 1 or chance == 1:
        return None
    excess = share - chance
    variance = chance * (1 - chance) / n_rows
    if excess < min_kappa * (1 - chance):
        return None
    # Many rows may agree by accident, few of them often.
    if excess < MIN_AGREEMENT_Z * np.sqrt(variance):
        return None
    return float(share)


def find_agreeing_columns(contents: Contents, label: str, candidates: Sequence[str]) -> list[str]:
    """Return the columns that may be the answers of systems, or of annotators, to the items of a column of labels.

    One of them has to agree with the labels more often than by chance. Those that hold the same values count then as
    well: a poor system agrees by chance.

    Args:
        contents: The contents of the columns.
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
    # Two flags share their values whatever they say.
    if len(_list_distinct(labels)) < 3 and contents[label].kind != "text":
        return []
    columns = []
    is_known = False
    for name in contents.list_classes(candidates):
        cells = contents.get_cells(name)
        if have_same_values(cells, labels):
            columns.append(name)
            is_known = is_known or measure_agreement(cells, labels) is not None
    return columns if is_known else []


def _measure_chance(values: Sequence[str], other_values: Sequence[str]) -> float:
    """Return the expected share of agreement if two columns had nothing to do with each other."""
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
    """Return the columns of 0 and 1 of which exactly one is 1 in each row, as a column per class has them; [] for none.

    Example:
        >>> rows = {"joy": [1, 0, 0] * 4, "fear": [0, 1, 1] * 4, "n": [3, 4, 5] * 4}
        >>> from rightreasons.io.contents import describe_contents
        >>> find_marked_classes(describe_contents(rows), ["joy", "fear", "n"])
        ['joy', 'fear']
    """
    marks = {}
    for name in names:
        numbers = contents[name].numbers
        if numbers is not None and contents[name].has_classes and np.isin(numbers, (0, 1)).all():
            marks[name] = numbers
    sums = np.sum(list(marks.values()), axis=0)
    # A single flag is 0 in other rows, or constant.
    if not (sums == 1).all():
        return []
    return list(marks)


def find_complementary_columns(contents: Contents, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the runs of neighboring columns whose numbers add up to 1 in every row, as scores of classes do.

    Example:
        >>> shares = [0.1, 0.35, 0.5, 0.8] * 3
        >>> rows = {"a": shares, "b": [1 - share for share in shares], "c": [3, 4] * 6}
        >>> from rightreasons.io.contents import describe_contents
        >>> find_complementary_columns(describe_contents(rows), ["a", "b", "c"])
        [('a', 'b')]
    """
    runs: list[tuple[str, ...]] = []
    start = 0
    while start < len(names):
        run = _find_run(contents, names[start:])
        if run:
            runs.append(run)
        start += max(1, len(run))
    return runs


def _find_run(contents: Contents, names: Sequence[str]) -> tuple[str, ...]:
    """Return the shortest run from the first column on whose numbers add up to 1; () if there is none."""
    total: NDArray[np.float64] | None = None
    for position, name in enumerate(names):
        content = contents[name]
        numbers = content.numbers
        # Flags and empty cells are no scores; one-hot labels add up to 1 as well.
        if numbers is None or not content.has_fractions:
            return ()
        if np.isnan(numbers).any():
            return ()
        total = numbers if total is None else total + numbers
        # A few rows may be broken.
        is_one = np.abs(total - 1) <= MAX_SUM_ERROR
        if position and is_one.mean() >= MIN_SHARE_OF_SUMS:
            return tuple(names[: position + 1])
    return ()

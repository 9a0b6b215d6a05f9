"""Clusters: groups of items that belong together, such as all perturbations of one original.

Items of one cluster vary together, so an interval that treated them as independent would be too
narrow. In all intervals and tests, the independent *units* are therefore the clusters, or the items
themselves if there are no clusters. Callers name the cluster of each item; `number_clusters` checks
these names and replaces them by numbers, and `sum_units` adds up the values of each unit. With very
many units, `pool_units` puts them into random groups before they are resampled.

Resamples of clusters follow the order of their names. An audit therefore names them by numbers in the
order of their first items (`number_clusters_by_item`), which no renaming changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_numpy

MAX_UNITS = 5_000
"""Largest number of units that are resampled one by one. More are first pooled into so many groups.

The variance of a resampled sum is then estimated from this many random groups, so that the width of
an interval is accurate to 1 / sqrt(2 * 5000) = 1 %. The sampling error of the width of an interval
of fewer items is far larger.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class UnitSums:
    """Values that are added up within each independent unit.

    Attributes:
        sums: (G,) sum of the values of each unit.
        sizes: (G,) number of values of each unit.
    """

    sums: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.sums)


def number_clusters(clusters: Any, n_items: int) -> NDArray[np.intp] | None:
    """Replace the cluster names of N items by numbers from 0, in the order of the names.

    Args:
        clusters: (N,) cluster names. If None, the items are independent.
        n_items: Number of items N.

    Returns:
        (N,) cluster numbers, without gaps. None if the items are independent.

    Raises:
        ValueError: If there isn't exactly one name per item, or if a name is NaN.

    Example:
        >>> number_clusters(["b", "a", "b"], 3)
        array([1, 0, 1])
    """
    if clusters is None:
        return None
    names = to_numpy(clusters, "clusters")
    if names.ndim != 1 or len(names) != n_items:
        raise ValueError(
            f"Expected `clusters` to name the cluster of each of {n_items} items, but got "
            f"{len(names)} names."
        )

    # A missing name in a table is NaN, the only value that differs from itself.
    missing = np.flatnonzero(names != names)
    if missing.size:
        raise ValueError(
            f"Expected a value in each item of `clusters`, but item {missing[0]} is NaN."
        )

    # Objects of several types cannot be sorted, but their string representations can.
    if names.dtype == object:
        names = names.astype(np.str_)
    return _number_names(names)


def number_clusters_by_item(names: Iterable[Any]) -> NDArray[np.int64]:
    """Replace the cluster names of N items by numbers from 0, in the order of their first items.

    The numbers of items in a fixed order, such as that of their ids, do not depend on the names.

    Args:
        names: N names of clusters. None or "" for an item without a cluster, which gets its own
            number.

    Returns:
        (N,) cluster numbers, without gaps.

    Example:
        >>> number_clusters_by_item(["b", "", "a", "b", ""])
        array([0, 1, 2, 0, 3])
    """
    number_by_name: dict[str, int] = {}
    numbers = []
    n_clusters = 0
    for name in names:
        number = n_clusters
        if name not in (None, ""):
            number = number_by_name.setdefault(str(name), n_clusters)
        # A number that did not occur before is that of a new cluster.
        n_clusters = max(n_clusters, number + 1)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def _number_names(names: NDArray[Any]) -> NDArray[np.intp]:
    """Replace names by their ranks among the distinct names, from 0.

    Args:
        names: (N,) numbers or strings.

    Returns:
        (N,) ranks, without gaps.
    """
    # An unsigned number of 64 bits may not fit into a signed one.
    if names.dtype.kind in "iu" and names.dtype != np.uint64 and names.size:
        lowest = int(names.min())
        span = int(names.max()) - lowest + 1
        # Counting is several times as fast as sorting, if there are few gaps between the numbers.
        if span <= 2 * len(names):
            offsets = names.astype(np.intp) - lowest
            is_present = np.bincount(offsets, minlength=span) > 0
            # The rank of a number is the number of smaller ones that occur.
            rank_by_offset = np.cumsum(is_present) - 1
            return rank_by_offset[offsets]
    _, ranks = np.unique(names, return_inverse=True)
    return np.asarray(ranks, dtype=np.intp)


def select_clusters(clusters: Any, rows: Any) -> Any:
    """Return the cluster names of selected items, or None if there are no clusters."""
    if clusters is None:
        return None
    return np.asarray(clusters)[rows]


def count_units(clusters: Any, n_items: int) -> int:
    """Count the independent units: the clusters, or the items if there are no clusters."""
    if clusters is None:
        return n_items
    return len(np.unique(clusters))


def count_numbered_units(codes: NDArray[np.intp] | None, n_items: int) -> int:
    """Count the independent units of N items from the numbers of their clusters.

    Args:
        codes: (N,) cluster numbers, without gaps. If None, the items are independent.
        n_items: Number of items N.
    """
    if codes is None:
        return n_items
    return int(codes.max()) + 1


def sum_units(values: Floats, codes: NDArray[np.intp] | None) -> UnitSums:
    """Add up the values of each unit.

    Args:
        values: (N,) values.
        codes: (N,) cluster numbers. If None, each value is a unit.

    Example:
        >>> units = sum_units(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 0]))
        >>> units.sums, units.sizes
        (array([5., 2.]), array([2., 1.]))
    """
    if codes is None:
        return UnitSums(sums=values, sizes=np.ones(len(values)))
    sums = np.bincount(codes, values)
    sizes = np.bincount(codes)
    return UnitSums(
        sums=np.asarray(sums, dtype=np.float64),
        sizes=np.asarray(sizes, dtype=np.float64),
    )


def average_units(values: Floats, clusters: Any) -> Floats:
    """Return the mean value of each cluster, or the values themselves without clusters."""
    if clusters is None:
        return values
    units = sum_units(values, number_clusters(clusters, len(values)))
    return units.sums / units.sizes


def sum_rows(
    codes: NDArray[np.intp],
    table: Floats,
    n_groups: int = 0,
) -> Floats:
    """Add up the rows of an (N, S) table that have the same code.

    Args:
        codes: (N,) codes from 0.
        table: (N, S) values.
        n_groups: Smallest number of rows of the result. Codes that do not occur get zeros.

    Returns:
        (G, S) sums by code.
    """
    columns = []
    for column in table.T:
        sums = np.bincount(codes, column, minlength=n_groups)
        columns.append(sums)
    return np.stack(columns, axis=1)


def pool_units(units: Floats, seed: int) -> Floats:
    """Add up the sums of independent units in random groups, if there are too many to resample.

    Args:
        units: (G, S) sums of each unit.
        seed: Seed of the groups.

    Returns:
        (`MAX_UNITS`, S) sums of each group; the units themselves if there are not more of them.
    """
    if len(units) <= MAX_UNITS:
        return units
    # Random groups: consecutive units may be sorted by value, and so differ too much.
    rng = np.random.default_rng(seed)
    groups = rng.integers(MAX_UNITS, size=len(units))
    return sum_rows(groups, units, MAX_UNITS)


def list_members(codes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each distinct code, such as the items of each cluster.

    Args:
        codes: (N,) whole numbers from 0.

    Returns:
        The ascending rows of each code, in ascending order of the codes.

    Example:
        >>> list_members(np.array([1, 0, 1]))
        [array([1]), array([0, 2])]
    """
    # A stable sort keeps the rows of a code in their order. Numpy sorts small integers by radix,
    # which is several times faster for the few codes of many rows.
    if len(codes) and codes.max() <= np.iinfo(np.uint16).max:
        codes = codes.astype(np.uint16)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    is_border = ordered[1:] != ordered[:-1]
    borders = np.flatnonzero(is_border) + 1
    return np.split(order, borders)

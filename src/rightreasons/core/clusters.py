"""Clusters of items that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, argsort_canonical, to_numpy

MAX_UNITS = 5_000
"""Above this number, units (items or clusters) are pooled into this many random groups and the groups are resampled.

The variance of a resampled sum is then itself estimated from this many groups, so that the width of an interval is
right to 1 / sqrt(2 * 5000) = 1 %, far inside the width's own sampling error on fewer items.
"""


def number_clusters(clusters: Any, n_items: int) -> NDArray[np.intp] | None:
    """Number the clusters of (N,) items from 0; None where there are none."""
    if clusters is None:
        return None
    names = to_numpy(clusters, "clusters")
    if names.ndim != 1 or len(names) != n_items:
        raise ValueError(
            f"Expected `clusters` to name the cluster of each of {n_items} items, but got {len(names)}."
        )
    missing = np.flatnonzero(
        names != names
    )  # NaN, as tables have it in the place of a missing name
    if missing.size:
        raise ValueError(
            f"Expected a value in each item of `clusters`, but item {missing[0]} is NaN."
        )
    if names.dtype == object:
        names = names.astype(np.str_)
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def select_clusters(clusters: Any, rows: Any) -> Any:
    """Return the clusters of some of the items; None where there are none."""
    return None if clusters is None else np.asarray(clusters)[rows]


def count_units(clusters: Any, n_items: int) -> int:
    """Count what is independent among items: their clusters, or themselves where there are none."""
    return n_items if clusters is None else len(np.unique(clusters))


def average_units(values: Floats, clusters: Any) -> Floats:
    """Return the mean value of each cluster; the values themselves without clusters."""
    if clusters is None:
        return values
    sums, sizes = sum_with_sizes(values, clusters).T
    return np.asarray(sums / sizes, dtype=np.float64)


def sum_clusters(table: Floats, clusters: Any, rng: np.random.Generator | None = None) -> Floats:
    """Sum the rows of each cluster; with `rng`, put units beyond `MAX_UNITS` into random groups."""
    codes = number_clusters(clusters, len(table))
    if codes is None:
        units = table if rng is None else table[argsort_canonical(*table.T)]
    else:
        units = sum_by_code(codes, table)
    if rng is None or len(units) <= MAX_UNITS:
        return units
    return sum_by_code(rng.integers(MAX_UNITS, size=len(units)), units, MAX_UNITS)


def sum_with_sizes(values: Floats, clusters: Any) -> Floats:
    """Return (G, 2) sums and numbers of the values of each cluster."""
    return sum_clusters(np.column_stack((values, np.ones(len(values)))), clusters)


def sum_by_code(codes: NDArray[np.intp], table: Floats, n_groups: int = 0) -> Floats:
    """Sum the rows of each code: (N,) codes and an (N, S) table give (G, S) sums."""
    return np.stack([np.bincount(codes, column, minlength=n_groups) for column in table.T], axis=1)


def list_members(codes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """List the items of each cluster, by its number."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)

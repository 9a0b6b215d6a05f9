"""Intervals and tests over items, or over clusters of items that belong together, such as an item and its mirror."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.intervals import (
    Estimate,
    Interval,
    PairedTest,
    bounded_mean,
    cluster_wilson,
    estimate_of,
    mcnemar,
    sign_flip_p_value,
    wilson,
)
from rightreasons.core.resampling import Resampling

Floats = NDArray[np.float64]
Clusters = NDArray[np.intp] | None


def n_units(clusters: Clusters, n_items: int) -> int:
    """Count the clusters; without them, the items."""
    return n_items if clusters is None else len(np.unique(clusters))


def unit_means(values: Floats, clusters: Clusters) -> Floats:
    """Return the mean of each cluster, the unit of a test; without clusters, the values."""
    if clusters is None:
        return values
    codes = np.unique(clusters, return_inverse=True)[1]
    return np.asarray(np.bincount(codes, values) / np.bincount(codes), dtype=np.float64)


def share_interval(hits: NDArray[np.bool_], clusters: Clusters, resampling: Resampling) -> Interval:
    """Compute the interval of the share of items that hit: Wilson's, over clusters where there are any."""
    if clusters is None:
        return wilson(int(hits.sum()), len(hits), confidence_level=resampling.level)
    codes = np.unique(clusters, return_inverse=True)[1]
    return cluster_wilson(np.bincount(codes, hits), np.bincount(codes), confidence_level=resampling.level)


def share_of(hits: NDArray[np.bool_], clusters: Clusters, resampling: Resampling) -> Estimate | None:
    """Return the share of items that hit, with its interval; None without items."""
    return estimate_of(float(hits.mean()), share_interval(hits, clusters, resampling)) if len(hits) else None


def mean_of(values: Floats, clusters: Clusters, bounds: tuple[float, float], resampling: Resampling) -> Interval:
    """Compute the interval of a mean of bounded values, by `bounded_mean`."""
    return bounded_mean(values, low=bounds[0], high=bounds[1], clusters=clusters, confidence_level=resampling.level)


def paired_of(
    first: NDArray[np.bool_], second: NDArray[np.bool_], clusters: Clusters, resampling: Resampling
) -> PairedTest:
    """Test whether two shares of the same items differ: McNemar's test, or sign flips of whole clusters."""
    test = mcnemar(first, second)
    if clusters is None:
        return test
    p_value = sign_flip_p_value(first.astype(np.float64) - second, clusters=clusters, resampling=resampling)
    return PairedTest(test.difference, p_value, test.n_items, "sign flips of clusters")


def taken(clusters: Clusters, chosen: Sequence[int] | NDArray[Any]) -> Clusters:
    """Return the clusters of some items."""
    return None if clusters is None else clusters[chosen]

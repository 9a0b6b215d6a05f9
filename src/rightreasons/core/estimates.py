"""Figures with their intervals."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from rightreasons.core.clusters import sum_with_sizes
from rightreasons.core.intervals import Interval, bootstrap_mean, cluster_wilson, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result

# ------------------------------ Figures with their intervals, and the text that goes with a figure wherever it is shown


@dataclasses.dataclass(frozen=True)
class Estimate(Result):
    """A figure with its interval.

    Attributes:
        value: The figure; None where it is undefined.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval; None where there is none.
        level: Confidence level of the interval.
        method: How the interval was made, in words; without an interval, why there is none.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(
                f"Expected both ends of an interval or neither, but got {self.low} and {self.high}."
            )

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None


@dataclasses.dataclass(frozen=True)
class FigureText:
    """The text that goes with a figure wherever it is shown.

    Attributes:
        name: Its name.
        definition: One sentence from which a reader can recompute it.
        source: Authors and year, or "Counted".
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: Whether "higher" or "lower" is better; None where neither is.
    """

    name: str
    definition: str
    source: str
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None


def make_estimate(value: float | None, interval: Interval | None) -> Estimate:
    """Join a figure and its interval, if it has one.

    An interval of width zero is none: where no resample differs, resampling does not show how little is known.
    """
    if value is None or interval is None:
        return Estimate(value)
    # Rounding alone may tell the ends apart.
    if interval.high - interval.low <= 1e-9 * max(abs(interval.low), abs(interval.high), 1e-3):
        return Estimate(value, method="no resample differs, so without interval")
    resamples = f", {interval.n_resamples:,} resamples" if interval.n_resamples else ""
    return Estimate(
        value, interval.low, interval.high, interval.confidence_level, interval.method + resamples
    )


def subtract_reference(estimate: Estimate, reference: float) -> Estimate:
    """Return a figure less a fixed reference, such as what guessing gets.

    Example:
        >>> subtract_reference(Estimate(0.75, 0.5, 1.0), 0.25)
        Estimate(value=0.5, low=0.25, high=0.75, level=0.95, method='')
    """
    value, low, high = (
        None if end is None else end - reference
        for end in (estimate.value, estimate.low, estimate.high)
    )
    return Estimate(value, low, high, estimate.level, estimate.method)


def estimate_share(hits: int, n_items: int, resampling: Resampling) -> Estimate | None:
    """Return the share of items that hit, with its Wilson interval; None without items.

    Example:
        >>> estimate = estimate_share(8, 10, Resampling())
        >>> estimate.value, round(estimate.low, 4), round(estimate.high, 4)
        (0.8, 0.4902, 0.9433)
    """
    if not n_items:
        return None
    return make_estimate(hits / n_items, wilson(hits, n_items, confidence_level=resampling.level))


def estimate_rate(flags: Any, resampling: Resampling, clusters: Any = None) -> Estimate | None:
    """Return the share of True flags (N,) with its Wilson interval, over clusters if there are any; None without flags.

    Example:
        >>> flags = [True, True, True, True, False, False]
        >>> estimate_rate(flags, Resampling()) == estimate_share(4, 6, Resampling())
        True
        >>> round(estimate_rate(flags, Resampling(), clusters=[1, 1, 2, 2, 3, 3]).low, 2)
        0.1
    """
    hits = np.asarray(flags, dtype=np.float64)
    return (
        make_estimate(float(hits.mean()), make_rate_interval(hits, resampling, clusters))
        if len(hits)
        else None
    )


def make_rate_interval(flags: Any, resampling: Resampling, clusters: Any = None) -> Interval:
    """Return the interval of `estimate_rate`, of at least one flag."""
    hits = np.asarray(flags, dtype=np.float64)
    if clusters is None:
        return wilson(int(hits.sum()), len(hits), confidence_level=resampling.level)
    return cluster_wilson(*sum_with_sizes(hits, clusters).T, confidence_level=resampling.level)


def estimate_mean(
    values: Any,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
) -> Estimate | None:
    """Return the mean of values (N,) with the interval of `bootstrap_mean`; None without values.

    Example:
        >>> estimate = estimate_mean([0.0, 1.0, 1.0, 1.0], Resampling())
        >>> estimate.value, estimate.low, estimate.high
        (0.75, 0.0, 1.0)
    """
    if not len(values):
        return None
    interval = bootstrap_mean(values, bounds=bounds, clusters=clusters, resampling=resampling)
    return make_estimate(float(np.mean(values)), interval)

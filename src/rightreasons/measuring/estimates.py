"""Figures with their intervals, and the text that goes with a figure wherever it is shown."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from rightreasons.analysis import intervals
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result


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
            raise ValueError(f"Expected both ends of an interval or neither, but got {self.low} and {self.high}.")

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


def estimate_of(value: float | None, interval: intervals.Interval | None) -> Estimate:
    """Join a figure and its interval, if it has one.

    An interval of width zero is none: where no resample differs, resampling does not show how little is known.
    """
    if value is None or interval is None:
        return Estimate(value)
    # Rounding alone may tell the ends apart.
    if interval.high - interval.low <= 1e-9 * max(abs(interval.low), abs(interval.high)):
        return Estimate(value, method="no resample differs, so without interval")
    resamples = f", {interval.n_resamples:,} resamples" if interval.n_resamples else ""
    return Estimate(value, interval.low, interval.high, interval.confidence_level, interval.method + resamples)


def share(hits: int, n_items: int, resampling: Resampling) -> Estimate | None:
    """Return the share of items that hit, with its Wilson interval; None without items.

    Example:
        >>> estimate = share(8, 10, Resampling())
        >>> estimate.value, round(estimate.low, 4), round(estimate.high, 4)
        (0.8, 0.4902, 0.9433)
    """
    if not n_items:
        return None
    return estimate_of(hits / n_items, intervals.wilson(hits, n_items, confidence_level=resampling.level))


def mean(values: Any, resampling: Resampling, *, bounds: tuple[float, float] | None = None) -> Estimate | None:
    """Return the mean of values (N,) with its bootstrap interval; None without values.

    Args:
        values: (N,) values.
        resampling: Level, resamples and seed.
        bounds: As in `bootstrap_mean`: what the interval of few or equal values rests on; None where there are none.

    Example:
        >>> estimate = mean([0.0, 1.0, 1.0, 1.0], Resampling())
        >>> estimate.value, estimate.low, estimate.high
        (0.75, 0.25, 1.0)
    """
    if not len(values):
        return None
    interval = intervals.bootstrap_mean(values, bounds=bounds, resampling=resampling)
    return estimate_of(float(np.mean(values)), interval)

"""Estimates: figures with their confidence intervals, and the text that describes a figure.

`estimate_share`, `estimate_rate` and `estimate_mean` compute a figure and its interval;
`make_estimate` joins a figure and an interval that are already computed, and `estimate_true_share`
corrects a share that an imperfect judge finds. An `Estimate` is what
`rightreasons.core.decisions.decide` compares with a margin, and what a report shows.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np

from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.clusters import number_clusters, sum_units
from rightreasons.core.intervals import Interval, cluster_wilson, get_normal_quantile, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result

MIN_RELATIVE_WIDTH = 1e-9
"""Smallest width of an interval, relative to its ends. A smaller width is due to rounding."""

MIN_SCALE = 1e-3
"""Smallest size of the ends of an interval that its width is compared with."""

_ADJUSTED_METHOD = "Lang and Reiczigel"


@dataclasses.dataclass(frozen=True)
class Estimate(Result):
    """A figure with its confidence interval.

    Attributes:
        value: The figure. None if it is undefined.
        low: Lower end of the interval. None if there is no interval.
        high: Upper end of the interval. None if there is no interval.
        level: Confidence level of the interval.
        method: Name of the method of the interval, or the reason why there is no interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""

    def __post_init__(self) -> None:
        # A one-sided interval would be taken for none by some callers and for two-sided by others.
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
    """The text that describes a figure.

    Attributes:
        name: Name of the figure.
        definition: One sentence from which a reader can recompute the figure.
        source: Authors and year, or "Counted".
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: "higher" or "lower". None if neither is better.
    """

    name: str
    definition: str
    source: str
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None


def make_estimate(value: float | None, interval: Interval | None) -> Estimate:
    """Join a figure and its interval.

    An interval of width zero is dropped: if all resamples give the same figure, resampling does not
    show how uncertain the figure is.

    Args:
        value: The figure. None if it is undefined.
        interval: Its interval. None if there is no interval.

    Returns:
        The figure, with the ends, level and method of its interval.
    """
    if value is None or interval is None:
        return Estimate(value)

    # The ends of an interval of width zero may differ by rounding.
    scale = max(abs(interval.low), abs(interval.high), MIN_SCALE)
    width = interval.high - interval.low
    if width <= MIN_RELATIVE_WIDTH * scale:
        return Estimate(value, method="no resample differs, so without interval")

    method = interval.method
    if interval.n_resamples:
        method += f", {interval.n_resamples:,} resamples"
    return Estimate(
        value=value,
        low=interval.low,
        high=interval.high,
        level=interval.confidence_level,
        method=method,
    )


def subtract_reference(estimate: Estimate, reference: float) -> Estimate:
    """Subtract a fixed reference, such as the accuracy of guessing, from a figure and its interval.

    Args:
        estimate: The figure.
        reference: The reference.

    Example:
        >>> subtract_reference(Estimate(0.75, 0.5, 1.0), 0.25)
        Estimate(value=0.5, low=0.25, high=0.75, level=0.95, method='')
    """

    def subtract(number: float | None) -> float | None:
        return None if number is None else number - reference

    return dataclasses.replace(
        estimate,
        value=subtract(estimate.value),
        low=subtract(estimate.low),
        high=subtract(estimate.high),
    )


def estimate_share(
    hits: int,
    n_items: int,
    resampling: Resampling,
) -> Estimate | None:
    """Return the share of hits among independent items, with its Wilson interval.

    Args:
        hits: Number of hits.
        n_items: Number of items.
        resampling: Confidence level of the interval.

    Returns:
        The share, or None if there are no items.

    Example:
        >>> estimate = estimate_share(8, 10, Resampling())
        >>> estimate.value, round(estimate.low, 4), round(estimate.high, 4)
        (0.8, 0.4902, 0.9433)
    """
    # Without items the share is undefined, not 0.
    if not n_items:
        return None
    interval = wilson(hits, n_items, confidence_level=resampling.level)
    return make_estimate(hits / n_items, interval)


def estimate_rate(
    flags: Any,
    resampling: Resampling,
    clusters: Any = None,
) -> Estimate | None:
    """Return the share of True flags, with its Wilson interval.

    Args:
        flags: (N,) flags, as True and False or 1 and 0.
        resampling: Confidence level of the interval.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        The share, or None if there are no flags.

    Example:
        >>> flags = [True, True, True, True, False, False]
        >>> estimate_rate(flags, Resampling()) == estimate_share(4, 6, Resampling())
        True
        >>> round(estimate_rate(flags, Resampling(), clusters=[1, 1, 2, 2, 3, 3]).low, 2)
        0.1
    """
    values = np.asarray(flags, dtype=np.float64)
    if not len(values):
        return None
    interval = make_rate_interval(values, resampling, clusters)
    return make_estimate(float(values.mean()), interval)


def make_rate_interval(
    flags: Any,
    resampling: Resampling,
    clusters: Any = None,
) -> Interval:
    """Compute the Wilson interval of the share of True flags.

    Args:
        flags: (N,) at least one flag, as True and False or 1 and 0.
        resampling: Confidence level of the interval.
        clusters: (N,) cluster names. If None, the items are independent.
    """
    values = np.asarray(flags, dtype=np.float64)
    level = resampling.level
    # For independent items, the interval needs no estimate of the variance between clusters.
    if clusters is None:
        return wilson(int(values.sum()), len(values), confidence_level=level)
    units = sum_units(values, number_clusters(clusters, len(values)))
    return cluster_wilson(units.sums, units.sizes, confidence_level=level)


def estimate_mean(
    values: Any,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] | None = None,
    clusters: Any = None,
) -> Estimate | None:
    """Return the mean of values, with the interval of `bootstrap_mean`.

    Args:
        values: (N,) values.
        resampling: Confidence level, number of resamples, and seed.
        bounds: Smallest and largest possible value. If None, there are no bounds.
        clusters: (N,) cluster names. If None, the items are independent.

    Returns:
        The mean, or None if there are no values.

    Example:
        >>> estimate = estimate_mean([0.0, 1.0, 1.0, 1.0], Resampling())
        >>> estimate.value, estimate.low, estimate.high
        (0.75, 0.0, 1.0)
    """
    if not len(values):
        return None
    interval = bootstrap_mean(values, bounds=bounds, clusters=clusters, resampling=resampling)
    # The mean of the values as they came: the interval may be of clipped ones.
    return make_estimate(float(np.mean(values)), interval)


# ------------------------------------------------------------------------------- judges


@dataclasses.dataclass(frozen=True)
class JudgeRate:
    """The sensitivity or the specificity of a judge.

    Attributes:
        value: Share of known items that the judge classifies correctly.
        n_items: Number of these items.
    """

    value: float
    n_items: int

    def add_two(self) -> JudgeRate:
        """Return the rate with one more correct and one more incorrect item."""
        n_items = self.n_items + 2
        n_correct = self.value * self.n_items + 1
        return JudgeRate(n_correct / n_items, n_items)

    @property
    def variance(self) -> float:
        """Variance of the rate over samples of items."""
        return self.value * (1 - self.value) / self.n_items


@dataclasses.dataclass(frozen=True)
class AdjustedRates:
    """A share that a judge reports, and the error rates of the judge, with added counts.

    Intervals from them cover the true share better in small samples (Agresti and Coull; Lang and
    Reiczigel).

    Attributes:
        share: Share of the items in which the judge finds the property.
        n_items: Number of these items; not whole because of the added count.
        sensitivity: Share found of known items with the property.
        specificity: Share spared of known items without the property.
    """

    share: float
    n_items: float
    sensitivity: JudgeRate
    specificity: JudgeRate

    @classmethod
    def add_counts(
        cls,
        share: float,
        n_items: int,
        sensitivity: JudgeRate,
        specificity: JudgeRate,
        z: float,
    ) -> AdjustedRates:
        """Add z² items to the share, half of them with the property, and two items to each rate.

        Args:
            share: Observed share of the items in which the judge finds the property.
            n_items: Number of items.
            sensitivity: Observed sensitivity of the judge.
            specificity: Observed specificity of the judge.
            z: Normal quantile of the confidence level.
        """
        n_adjusted = n_items + z**2
        return cls(
            # The share is moved towards 1/2, most of all if there are few items.
            share=(n_items * share + z**2 / 2) / n_adjusted,
            n_items=n_adjusted,
            sensitivity=sensitivity.add_two(),
            specificity=specificity.add_two(),
        )

    @property
    def informedness(self) -> float:
        """Sensitivity plus specificity minus 1; not above 0 for a judge at chance."""
        return self.sensitivity.value + self.specificity.value - 1

    @property
    def true_share(self) -> float:
        """Share corrected for the errors of the judge, which may be outside [0, 1]."""
        return (self.share + self.specificity.value - 1) / self.informedness

    @property
    def share_variance(self) -> float:
        """Variance of the share over samples of items."""
        return self.share * (1 - self.share) / self.n_items


def estimate_true_share(
    share: float,
    n_items: int,
    sensitivity: JudgeRate,
    specificity: JudgeRate,
    *,
    level: float = 0.95,
) -> Estimate | None:
    r"""Correct the share in which a judge finds a property by the error rates of the judge.

    With the sensitivity \(s_+\) and the specificity \(s_-\), the corrected share is

    \[ \hat\theta = (f + s_- - 1) / (s_+ + s_- - 1), \]

    limited to [0, 1]. Its interval allows for the errors of all three rates.

    Args:
        share: Share f of the items in which the judge finds the property.
        n_items: Number of items, at least 1.
        sensitivity: Share found of known items with the property.
        specificity: Share spared of known items without it.
        level: Confidence level of the interval.

    Returns:
        The corrected share. None if the judge is no better than chance on the known items.

    References:
        Rogan and Gladen (1978), Estimating Prevalence from the Results of a Screening Test. Lang and
        Reiczigel (2014), Confidence Limits for Prevalence of Disease Adjusted for Estimated
        Sensitivity and Specificity (the interval).

    Example:
        The judge finds 10 of 100, of which 5 are expected to be false alarms: (0.1 - 0.05) / 0.85.

        >>> estimate = estimate_true_share(0.1, 100, JudgeRate(0.9, 20), JudgeRate(0.95, 100))
        >>> round(estimate.value, 3), round(estimate.low, 3), round(estimate.high, 3)
        (0.059, 0.0, 0.162)
    """
    informedness = sensitivity.value + specificity.value - 1
    # The verdicts of a judge at chance do not depend on the property.
    if informedness <= 0:
        return None
    value = (share + specificity.value - 1) / informedness
    interval = _make_adjusted_interval(share, n_items, sensitivity, specificity, level)
    return make_estimate(float(np.clip(value, 0.0, 1.0)), interval)


def _make_adjusted_interval(
    share: float,
    n_items: int,
    sensitivity: JudgeRate,
    specificity: JudgeRate,
    level: float,
) -> Interval:
    """Compute the interval of a share corrected for an imperfect judge (Lang and Reiczigel 2014).

    It is a Wald interval of adjusted rates, to whose counts a few successes and failures are added,
    around a shifted center.

    Args:
        share: Share of the items in which the judge finds the property.
        n_items: Number of items.
        sensitivity: Share found of known items with the property.
        specificity: Share spared of known items without it.
        level: Confidence level.

    Returns:
        The interval, inside [0, 1].
    """
    z = get_normal_quantile(level)
    rates = AdjustedRates.add_counts(share, n_items, sensitivity, specificity, z)
    # A judge that may be at chance leaves every share possible.
    if rates.informedness <= 0:
        return Interval(0.0, 1.0, level, _ADJUSTED_METHOD)

    # The rates of the judge are estimates, too, which moves the center and widens the interval.
    center = rates.true_share
    sensitivity_variance = center**2 * rates.sensitivity.variance
    specificity_variance = (1 - center) ** 2 * rates.specificity.variance
    variance = rates.share_variance + sensitivity_variance + specificity_variance
    shift = center * rates.sensitivity.variance - (1 - center) * rates.specificity.variance
    center += 2 * z**2 * shift
    half_width = z * float(np.sqrt(variance)) / rates.informedness
    low = float(np.clip(center - half_width, 0.0, 1.0))
    high = float(np.clip(center + half_width, 0.0, 1.0))
    return Interval(low, high, level, _ADJUSTED_METHOD)

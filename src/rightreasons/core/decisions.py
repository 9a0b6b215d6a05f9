r"""Decisions: whether a figure is small, large or unknown, compared with a margin.

Each question of an audit names a margin of `MARGINS` and compares its figure with it by `decide`.
The decision follows from the confidence interval of the figure alone, by two one-sided tests, each
at half the error of the interval. A question that makes several tests first widens its intervals
with `Resampling.correct_for_tests`, so that its verdict as a whole keeps the level. `Power`
describes beforehand which differences a number of items can detect.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

from scipy import special

from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize


@dataclasses.dataclass(frozen=True)
class Margin:
    """Thresholds for a figure, in its unit.

    Attributes:
        small: A figure significantly below this threshold is negligible.
        large: A figure significantly above this threshold is a problem.
    """

    small: float
    large: float


MARGINS = {
    "decides": Margin(0.10, 0.25),  # share of all predictions that a cue decides
    "confidence": Margin(0.05, 0.05),  # mean confidence minus accuracy
    "kept": Margin(0.10, 0.25),  # share of answers unchanged without the question, beyond chance
    "accuracy": Margin(0.10, 0.10),  # accuracy by cues only, or lost accuracy, beyond chance
    "order": Margin(0.10, 0.50),  # share of all answers that change with the order of the choices
    "sway": Margin(0.05, 0.05),  # share of answers that a hint changes, beyond a neutral sentence
    "format": Margin(0.05, 0.05),  # accuracy by one prompt format minus that by another one
    "paralysis": Margin(0.02, 0.02),  # confidence lost to added choices, beyond dilution
}
"""Margins of all verdicts by name."""


@dataclasses.dataclass(frozen=True)
class Power:
    r"""Statistical power: the differences that a number of items can detect, with 95 % confidence.

    The interval of a share near one half has the half width \(z / (2 \sqrt n)\), where z is the
    normal quantile of \(1 - 0.05 / (2 T)\) for T tests. Other shares need fewer items. A verdict
    has to detect its smaller margin.

    Attributes:
        margin: Name of the margin in `MARGINS`.
        n_tests: Number of tests T that share the error.
        item_fraction: Fraction of the items from which the figure is estimated.
    """

    margin: str
    n_tests: int = 1
    item_fraction: float = 1.0

    def describe(self, n_items: int) -> str:
        """Describe the smallest difference that a number of items can detect, in percentage points.

        If it exceeds the margin of the verdict, the number of items that suffice is added.

        Args:
            n_items: Number of items.

        Example:
            >>> Power("confidence").describe(80)
            '80 items detect differences of 11 points; the verdict needs 5, so about 390 items'
            >>> Power("decides", n_tests=8, item_fraction=0.5).describe(1000)
            '1,000 items detect differences of 6 points; the verdict needs 10'
        """
        # The two-sided error of 5 % is divided by the number of tests (Bonferroni).
        z = float(special.ndtri(1 - 0.05 / (2 * self.n_tests)))
        n_used = max(self.item_fraction * n_items, 1)
        # The standard deviation of a share is largest for the share 1/2, where it is 1/2.
        half_width = z / 2 / math.sqrt(n_used)
        points = 100 * min(half_width, 1)
        margin = MARGINS[self.margin].small

        items = pluralize(n_items, "item detects", "items detect")
        text = f"{items} differences of {points:.0f} points; the verdict needs {100 * margin:.0f}"
        if half_width > margin:
            text += f", so about {self.n_planned:,} items"
        return text

    @property
    def n_planned(self) -> int:
        """Number of items that detect a difference of the smaller margin, rounded up to tens."""
        level = 1 - 0.05 / self.n_tests
        return _count_planned(MARGINS[self.margin].small, level, self.item_fraction)

    def find_needed_items(self, n_items: int, n_units: int | None = None) -> int | None:
        """Return the number of items that the decision needs; None if the present ones suffice.

        The number is planned from the margin, before anything is measured. A number that follows
        from the measured figure would vary by orders of magnitude, because it becomes huge if the
        figure is close to a margin by chance.

        Args:
            n_items: Number of items at hand.
            n_units: Number of clusters of the items. If None, the items are independent.

        Example:
            >>> power = Power("confidence", n_tests=2)
            >>> power.find_needed_items(80), power.find_needed_items(80, 40)
            (510, 1020)
            >>> power.find_needed_items(600) is None
            True
        """
        return _scale_to_items(self.n_planned, n_items, n_units)


def _count_planned(margin: float, level: float, item_fraction: float = 1.0) -> int:
    """Return the number of items whose interval of a share of one half has the margin as half width.

    Args:
        margin: The half width, such as 0.05.
        level: Confidence level of the interval.
        item_fraction: Fraction of the items from which the share is estimated.

    Returns:
        The number, rounded up to tens, at least `MIN_ITEMS`.
    """
    # The half width is z sqrt(1/4) / sqrt(n).
    z = float(special.ndtri((1 + level) / 2))
    tens = math.ceil((z / 2 / margin) ** 2 / item_fraction / 10)
    return max(10 * tens, MIN_ITEMS)


def _scale_to_items(n_planned: int, n_items: int, n_units: int | None) -> int | None:
    """Convert a planned number of independent units to items; None if the present units suffice.

    Args:
        n_planned: Planned number of units.
        n_items: Number of items at hand.
        n_units: Number of their clusters. If None, each item is a unit.
    """
    if n_units is None:
        n_units = n_items
    if n_units >= n_planned:
        return None
    # A new cluster brings as many items as the clusters so far have on average.
    return math.ceil(n_planned * n_items / max(n_units, 1))


@dataclasses.dataclass(frozen=True)
class Decision(Result):
    """The size of a figure compared with its margin.

    Attributes:
        level: "small" (significantly below `Margin.small`), "large" (significantly above
            `Margin.large`), "some" (significantly above `Margin.small`), or "unknown".
        n_items: Number of items from which the figure is computed.
        n_needed: Number of items that was needed from the outset to decide such a figure, by the
            margin and the level alone. None if the figure is decided, or if there are as many items.
    """

    level: Literal["small", "some", "large", "unknown"]
    n_items: int
    n_needed: int | None = None


def decide(
    estimate: Estimate | None,
    margin: Margin,
    n_items: int,
    n_units: int | None = None,
) -> Decision:
    r"""Decide whether a figure is small, some, large or unknown.

    The figure \(d\) is ideal at 0, and has the interval \([l, h]\). It is "small" if \(-s < l\) and
    \(h < s\); "large" if \(l > L\) or \(h < -L\); "some" if \(l > s\) or \(h < -s\); otherwise, and
    with fewer than 20 units, it is "unknown". The number of items that are needed makes \(s\) the
    half width of the interval of any share, as in `Power`.

    Args:
        estimate: The figure with its interval. If there is none, the decision is "unknown".
        margin: The thresholds s and L.
        n_items: Number of items n.
        n_units: Number of clusters of the items. If None, the items are independent.

    Returns:
        The decision.

    References:
        Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.

    Example:
        >>> margin = Margin(small=0.1, large=0.25)
        >>> figures = [(0.02, 0.05), (0.5, 0.1), (0.2, 0.08)]
        >>> [decide(Estimate(d, d - w, d + w), margin, 100).level for d, w in figures]
        ['small', 'large', 'some']

        A share has a half width of 0.1 with (1.96 / 2 / 0.1) ** 2 = 96.04 items.

        >>> decide(Estimate(0.05, -0.1, 0.2), margin, 40)
        Decision(level='unknown', n_items=40, n_needed=100)
    """
    if estimate is None or estimate.value is None:
        return Decision("unknown", n_items)
    if estimate.low is None or estimate.high is None:
        return Decision("unknown", n_items)
    low = estimate.low
    high = estimate.high

    # Distances from 0 that the interval allows. The smaller one is negative if 0 is inside.
    min_distance = max(low, -high)
    max_distance = max(-low, high)
    n_planned = _count_planned(margin.small, estimate.level)
    n_needed = _scale_to_items(n_planned, n_items, n_units)
    n_independent = n_items if n_units is None else n_units
    if n_independent < MIN_ITEMS:
        return Decision("unknown", n_items, n_needed)

    if min_distance > margin.large:
        return Decision("large", n_items)
    if max_distance < margin.small:
        return Decision("small", n_items)
    if min_distance > margin.small:
        return Decision("some", n_items)
    return Decision("unknown", n_items, n_needed)


def decide_above(
    estimate: Estimate | None,
    margin: Margin,
    n_items: int,
    n_units: int | None = None,
) -> Decision:
    """Decide whether a figure is small, some, large or unknown, if only positive values are a problem.

    The figure and the ends of its interval are raised to 0 if they are negative, and then judged by
    `decide`.

    Args:
        estimate: The figure with its interval. If there is none, the decision is "unknown".
        margin: The thresholds.
        n_items: Number of items.
        n_units: Number of clusters of the items. If None, the items are independent.

    Example:
        >>> estimates = [Estimate(d, d - 0.1, d + 0.1) for d in (-0.5, 0.5)]
        >>> [decide_above(estimate, Margin(0.1, 0.25), 100).level for estimate in estimates]
        ['small', 'large']
    """
    if estimate is None or not estimate.has_interval:
        return decide(estimate, margin, n_items, n_units)

    def clip(number: float | None) -> float:
        return max(0.0, number or 0.0)

    clipped = dataclasses.replace(
        estimate, value=clip(estimate.value), low=clip(estimate.low), high=clip(estimate.high)
    )
    return decide(clipped, margin, n_items, n_units)

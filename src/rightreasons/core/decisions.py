"""From a figure with its interval to a verdict."""

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
    """What a figure is compared with, in its unit.

    Attributes:
        small: A figure surely below this is no effect worth the name.
        large: A figure surely above this is a problem.
    """

    small: float
    large: float


MARGINS = {
    "decides": Margin(0.10, 0.25),  # share of all predictions that a cue decides
    "confidence": Margin(0.05, 0.05),  # mean confidence minus accuracy
    "kept": Margin(
        0.10, 0.25
    ),  # share of all answers that stay without the question, beyond chance
    "accuracy": Margin(0.10, 0.10),  # accuracy by cues alone, or lost, beyond chance
    "order": Margin(0.10, 0.50),  # share of all answers that change with the order of the choices
    "sway": Margin(0.05, 0.05),  # share of all answers that a hint moves, beyond a neutral sentence
    "paralysis": Margin(0.02, 0.02),  # confidence lost to added choices, beyond dilution
}
"""The margins of all verdicts."""


@dataclasses.dataclass(frozen=True)
class Power:
    r"""What a number of items can tell, before any is asked, with 95 % confidence.

    The interval of a share near a half reaches \(z / (2 \sqrt n)\) to each side, z being the normal quantile of
    \(1 - 0.05 / (2 T)\) for T tests: other shares are told from fewer items. A verdict looks for the smaller margin.

    Attributes:
        margin: Its name in `MARGINS`.
        tests: How many tests share the error T.
        part: The share of the items that the figure is estimated from.
    """

    margin: str
    tests: int = 1
    part: float = 1.0

    def told(self, n_items: int) -> str:
        """Say what these items can tell.

        Example:
            >>> Power("confidence").told(80)
            '80 items tell differences of 11 points; its verdict looks for 5, which takes about 390 items'
            >>> Power("decides", tests=8, part=0.5).told(1000)
            '1,000 items tell differences of 6 points; its verdict looks for 10'
        """
        z = float(special.ndtri(1 - 0.05 / (2 * self.tests)))
        small = MARGINS[self.margin].small
        width = z / 2 / math.sqrt(max(self.part * n_items, 1))
        line = f"{pluralize(n_items, 'item tells', 'items tell')} differences of {100 * min(width, 1):.0f} points; "
        needed = math.ceil((z / 2 / small) ** 2 / self.part / 10) * 10
        more = "" if width <= small else f", which takes about {needed:,} items"
        return f"{line}its verdict looks for {100 * small:.0f}{more}"


@dataclasses.dataclass(frozen=True)
class Decision(Result):
    """What an interval says about a figure beside its margin.

    Attributes:
        level: "small" (surely below `small`), "large" (surely above `large`), "some" (surely above `small`) or
            "unknown".
        n_items: The number of items that the figure is of.
        n_needed: About how many items would tell the figure from a margin; None where it is known, or where it lies on
            a margin, so that no number of items would.
    """

    level: Literal["small", "some", "large", "unknown"]
    n_items: int
    n_needed: int | None = None


def decide(
    estimate: Estimate | None, margin: Margin, n_items: int, n_units: int | None = None
) -> Decision:
    r"""Decide whether a figure is small, some, large or unknown.

    With the interval \([l, h]\) of the figure \(d\) that is good at 0: "small" if \(-s < l\) and \(h < s\); "large" if
    \(l > L\) or \(h < -L\); "some" if \(l > s\) or \(h < -s\); "unknown" otherwise, and with fewer than 20 units. An
    interval half as wide takes four times as many items, so that the distance \(\Delta\) to the margin takes
    \(n (w / \Delta)^2\) of them, \(w\) being half of its width.

    Args:
        estimate: The figure with its interval; None or without an interval is unknown.
        margin: s and L.
        n_items: The number of items n.
        n_units: The number of clusters that they belong to; None where each stands for itself.

    Returns:
        `Decision`.

    References:
        Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach.

    Example:
        >>> margin = Margin(small=0.1, large=0.25)
        >>> [decide(Estimate(d, d - w, d + w), margin, 100).level for d, w in ((0.02, 0.05), (0.5, 0.1), (0.2, 0.08))]
        ['small', 'large', 'some']
        >>> decide(Estimate(0.05, -0.05, 0.15), margin, 100)  # half as wide would do: 100 * (0.1 / 0.05) ** 2
        Decision(level='unknown', n_items=100, n_needed=400)
    """
    if estimate is None or estimate.value is None or estimate.low is None or estimate.high is None:
        return Decision("unknown", n_items)
    value, low, high = estimate.value, estimate.low, estimate.high
    n_units = n_items if n_units is None else n_units
    if n_units < MIN_ITEMS:
        # Where the interval is wide, so few items say little of their spread: as many as any share takes.
        units = (
            MIN_ITEMS
            if max(-low, high) < margin.small
            else max(MIN_ITEMS, math.ceil((0.98 / margin.small) ** 2))
        )
        return Decision("unknown", n_items, math.ceil(units * n_items / max(n_units, 1)))
    if max(low, -high) > margin.large:
        return Decision("large", n_items)
    if max(-low, high) < margin.small:
        return Decision("small", n_items)
    if max(low, -high) > margin.small:
        return Decision("some", n_items)
    return Decision(
        "unknown",
        n_items,
        _required_sample_size(abs(abs(value) - margin.small), (high - low) / 2, n_items),
    )


def decide_above(
    estimate: Estimate | None, margin: Margin, n_items: int, n_units: int | None = None
) -> Decision:
    """Decide as `decide` of a figure that is a problem above 0 alone; below, it is small.

    Example:
        >>> [decide_above(Estimate(d, d - 0.1, d + 0.1), Margin(0.1, 0.25), 100).level for d in (-0.5, 0.5)]
        ['small', 'large']
    """
    if estimate is not None and estimate.has_interval:
        value, low, high = (
            max(0.0, end or 0.0) for end in (estimate.value, estimate.low, estimate.high)
        )
        above = decide(Estimate(value, low, high), margin, n_items, n_units)
        if above.level != "unknown":
            return above
    return decide(estimate, margin, n_items, n_units)


def _required_sample_size(width: float, half: float, n_items: int) -> int | None:
    """Return the items whose interval is as wide as a distance on each side, to two digits; None where none is."""
    if width <= 0 or half <= 0:
        return None
    needed = max(n_items * (half / width) ** 2, n_items + 1.0)
    if needed > 10_000_000:
        return None
    digits = max(0, math.floor(math.log10(needed)) - 1)
    step = int(10**digits)
    return math.ceil(needed / step - 1e-9) * step

"""How often substitutions flip predictions, and whether difficult examples flip more easily."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.difficulty.ranking import RankCorrelation, rank_correlation
from rightreasons.analysis.intervals import Interval, cluster_wilson
from rightreasons.foundations.arrays import to_numpy
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, check_flags, check_same_length, check_vector

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class FlipRates(Result):
    """Flip rate against difficulty; see `flip_rates`.

    Attributes:
        rate: Share of all attempts that flip the prediction, in [0, 1].
        interval: Interval of `rate` over items: the attempts of one item are one cluster (`cluster_wilson`).
        items_flipped: Share of items that at least one attempt flips.
        n_attempts: How many attempts.
        n_items: How many items.
        groups: For each group of items of rising difficulty its `rate`, `low`, `high`, `items_flipped`, `n_items`,
            `n_attempts`, `least` and `most` difficulty.
        correlation: Spearman's correlation over items of difficulty and the share of attempts that flip.
    """

    rate: float
    interval: Interval
    items_flipped: float
    n_attempts: int
    n_items: int
    groups: list[dict[str, float | int]]
    correlation: RankCorrelation


@checks_kinds
def flip_rates(
    flipped: object,
    items: object,
    difficulty: object,
    *,
    n_groups: int = 4,
    resampling: Resampling = Resampling(),
) -> FlipRates:
    """Relate flips under substitution to the difficulty of the items.

        rate = flips / attempts,   correlation = Spearman over items of (difficulty, flips_i / attempts_i)

    Args:
        flipped: (A,) whether each attempt flipped the prediction.
        items: (A,) row in `difficulty` of the item of each attempt. Items without an attempt are left out.
        difficulty: (N,) difficulties.
        n_groups: Groups of equal size by difficulty; default 4.
        resampling: Its level is that of the intervals.

    Returns:
        A `FlipRates`.

    Raises:
        ValueError: If columns differ in length, or a row is not in `difficulty`.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1: difficult examples flip under single substitutions.

    Example:
        >>> result = flip_rates([True, False, False, False], [0, 0, 1, 2], [9.0, 5.0, 1.0], n_groups=1)
        >>> result.rate, round(result.items_flipped, 4), round(result.correlation.rho, 4)
        (0.25, 0.3333, 0.866)
    """
    changed = check_flags(flipped, "flipped")
    values = check_vector(difficulty, "difficulty")
    rows = to_numpy(items, "items")
    check_same_length(flipped=changed, items=rows)
    if rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < len(values)):
        raise ValueError(f"Expected `items` to be rows of `difficulty`, from 0 to {len(values) - 1}, but they are not.")
    check_count(n_groups, "n_groups")
    attempts: Floats = np.bincount(rows, minlength=len(values)).astype(np.float64)
    flips: Floats = np.bincount(rows, weights=changed.astype(np.float64), minlength=len(values)).astype(np.float64)
    tried = np.flatnonzero(attempts)
    order = tried[np.argsort(values[tried], kind="stable")]

    def interval(group: NDArray[np.intp]) -> Interval:
        return cluster_wilson(flips[group], attempts[group], confidence_level=resampling.level)

    groups: list[dict[str, float | int]] = []
    for group in np.array_split(order, min(n_groups, len(order))):
        ends = interval(group)
        groups.append(
            {
                "rate": float(flips[group].sum() / attempts[group].sum()),
                "low": ends.low,
                "high": ends.high,
                "items_flipped": float((flips[group] > 0).mean()),
                "n_items": len(group),
                "n_attempts": int(attempts[group].sum()),
                "least": float(values[group[0]]),
                "most": float(values[group[-1]]),
            }
        )
    return FlipRates(
        rate=float(flips.sum() / attempts.sum()),
        interval=interval(tried),
        items_flipped=float((flips[tried] > 0).mean()),
        n_attempts=len(changed),
        n_items=len(tried),
        groups=groups,
        correlation=rank_correlation(values[tried], flips[tried] / attempts[tried]),
    )

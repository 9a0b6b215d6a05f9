"""Accuracy and flip rates in groups of rising difficulty.

`accuracy_by_difficulty` and `flip_rates` relate an outcome of each item to its difficulty, such as the largest
Fisher eigenvalue. `split_by_value` makes the groups.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_numpy
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Interval, cluster_wilson, wilson
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_labels,
    check_same_length,
    check_vector,
)


@dataclasses.dataclass(frozen=True)
class RankCorrelation(Result):
    """Spearman's rank correlation.

    Attributes:
        rho: Correlation in [-1, 1]. None if one side is constant, or with fewer than three items.
        p_value: Two-sided p-value of no relation; None if `rho` is None.
        n_items: Number of items.
    """

    rho: float | None
    p_value: float | None
    n_items: int


@dataclasses.dataclass(frozen=True)
class AccuracyGroup(Result):
    """A group of items of similar difficulty, and the accuracy on them.

    Attributes:
        accuracy: Share of correct items, in [0, 1].
        interval: Wilson interval of the accuracy.
        n_items: Number of items.
        lowest: Smallest difficulty in the group.
        highest: Largest difficulty in the group.
    """

    accuracy: float
    interval: Interval
    n_items: int
    lowest: float
    highest: float


@dataclasses.dataclass(frozen=True)
class AccuracyByDifficulty(Result):
    """Accuracy in groups of rising difficulty; see `accuracy_by_difficulty`.

    Attributes:
        groups: The groups, the easiest one first.
        correlation: Rank correlation of difficulty with correctness over items.
    """

    groups: list[AccuracyGroup]
    correlation: RankCorrelation


@dataclasses.dataclass(frozen=True)
class FlipGroup(Result):
    """A group of items of similar difficulty, and the flips among their attempts.

    Attributes:
        rate: Share of attempts that flip the prediction, in [0, 1].
        interval: Interval of the rate, with items as clusters.
        items_flipped: Share of items that at least one attempt flips.
        n_items: Number of items.
        n_attempts: Number of attempts.
        lowest: Smallest difficulty in the group.
        highest: Largest difficulty in the group.
    """

    rate: float
    interval: Interval
    items_flipped: float
    n_items: int
    n_attempts: int
    lowest: float
    highest: float


@dataclasses.dataclass(frozen=True)
class FlipRates(FlipGroup):
    """Flip rates over all items and in groups of rising difficulty; see `flip_rates`.

    Attributes:
        groups: The groups, the easiest one first.
        correlation: Rank correlation over items of difficulty and the share of attempts that flip.
    """

    groups: list[FlipGroup]
    correlation: RankCorrelation


def accuracy_by_difficulty(
    difficulty: object,
    predictions: object,
    references: object,
    *,
    n_groups: int = 10,
    confidence_level: float = 0.95,
) -> AccuracyByDifficulty:
    r"""Measure accuracy in groups of about equal size by rising difficulty.

    For group g of items, with predictions \(\hat y_i\) and labels \(y_i\),

    \[ \text{accuracy}_g = \frac{1}{|g|} \sum_{i \in g} 1[\hat y_i = y_i]. \]

    Items of equal difficulty share a group.

    Args:
        difficulty: (N,) difficulties, such as Fisher eigenvalues.
        predictions: (N,) predicted classes.
        references: (N,) labels.
        n_groups: Number of groups; default 10. There are fewer if items are fewer or ties are large.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        An `AccuracyByDifficulty`.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, or a difficulty is not finite.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.

    Example:
        >>> result = accuracy_by_difficulty([1, 2, 3, 4], [0, 0, 0, 0], [0, 0, 1, 1], n_groups=2)
        >>> [group.accuracy for group in result.groups], result.correlation.rho
        ([1.0, 0.0], -0.8944271909999159)
    """
    values = check_vector(difficulty, "difficulty")
    predicted = check_labels(predictions, name="predictions")
    labels = check_labels(references)
    check_same_length(difficulty=values, predictions=predicted, references=labels)
    is_correct = np.asarray(predicted == labels)

    groups = []
    for items in split_by_value(values, check_count(n_groups, "n_groups")):
        n_correct = int(is_correct[items].sum())
        group = AccuracyGroup(
            accuracy=float(is_correct[items].mean()),
            interval=wilson(n_correct, len(items), confidence_level=confidence_level),
            n_items=len(items),
            lowest=float(values[items].min()),
            highest=float(values[items].max()),
        )
        groups.append(group)
    return AccuracyByDifficulty(groups, measure_rank_correlation(values, is_correct.astype(float)))


def flip_rates(
    flipped: object,
    items: object,
    difficulty: object,
    *,
    n_groups: int = 4,
    confidence_level: float = 0.95,
) -> FlipRates:
    r"""Relate flips under substitutions to the difficulty of the items.

    Item i has \(a_i\) attempts, of which \(f_i\) flip its prediction. Over a group g of items,

    \[ \text{rate}_g = \frac{\sum_{i \in g} f_i}{\sum_{i \in g} a_i}, \quad
       \text{items flipped}_g = \frac{1}{|g|} \sum_{i \in g} 1[f_i > 0]. \]

    The attempts on one item are a cluster, so more attempts on the same items do not narrow an interval
    as more items would.

    Args:
        flipped: (A,) whether each attempt flipped the prediction.
        items: (A,) row in `difficulty` of the item of each attempt. Items without attempts are excluded.
        difficulty: (N,) difficulties, such as Fisher eigenvalues.
        n_groups: Number of groups of about equal size; default 4.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        A `FlipRates`.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, there is no attempt, or a row is not in `difficulty`.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1: difficult examples flip under single
        substitutions, and easy ones withstand four or more.

    Example:
        >>> result = flip_rates([True, False, False, False], [0, 0, 1, 2], [9.0, 5.0, 1.0], n_groups=3)
        >>> result.rate, [group.rate for group in result.groups]
        (0.25, [0.0, 0.0, 0.5])
        >>> round(result.items_flipped, 4), round(result.correlation.rho, 4)
        (0.3333, 0.866)
    """
    is_flipped = check_flags(flipped, "flipped")
    values = check_vector(difficulty, "difficulty")
    rows = to_numpy(items, "items")
    check_same_length(flipped=is_flipped, items=rows)
    # Negative indices would silently count from the end.
    is_row = rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < len(values)
    if not is_row:
        raise OptionError(
            f"Expected `items` to be rows of `difficulty`, from 0 to {len(values) - 1}, but got "
            "other numbers.",
            option="items",
        )

    # Counts by item, because the intervals and the correlation are over items.
    n_attempts = np.bincount(rows, minlength=len(values)).astype(np.float64)
    n_flips = np.bincount(rows, weights=is_flipped.astype(np.float64), minlength=len(values))

    def measure_group(group: NDArray[np.intp]) -> dict[str, Any]:
        """Return the fields of a `FlipGroup`.

        Args:
            group: Rows of `difficulty` of the items.
        """
        interval = cluster_wilson(
            n_flips[group], n_attempts[group], confidence_level=confidence_level
        )
        return {
            "rate": float(n_flips[group].sum() / n_attempts[group].sum()),
            "interval": interval,
            "items_flipped": float((n_flips[group] > 0).mean()),
            "n_items": len(group),
            "n_attempts": int(n_attempts[group].sum()),
            "lowest": float(values[group].min()),
            "highest": float(values[group].max()),
        }

    # Items without a replacement have no rate, so they are in no group.
    tested = np.flatnonzero(n_attempts)
    groups = []
    for group in split_by_value(values[tested], check_count(n_groups, "n_groups")):
        groups.append(FlipGroup(**measure_group(tested[group])))
    # An item with many attempts counts once in the correlation, like any other.
    share_flipped = n_flips[tested] / n_attempts[tested]
    return FlipRates(
        **measure_group(tested),
        groups=groups,
        correlation=measure_rank_correlation(values[tested], share_flipped),
    )


def measure_rank_correlation(left: Floats, right: Floats) -> RankCorrelation:
    """Measure how similarly two measures rank items (Spearman), with a p-value by Student's t.

    Args:
        left: (N,) values.
        right: (N,) values of the same items.

    Example:
        >>> measure_rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 15.0])).rho
        0.5
    """
    # With two items or a constant side, every order is as good as any other.
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return RankCorrelation(rho=None, p_value=None, n_items=len(left))
    result = scipy.stats.spearmanr(left, right)
    return RankCorrelation(
        rho=float(result.statistic), p_value=float(result.pvalue), n_items=len(left)
    )


def split_by_value(values: Floats, n_groups: int) -> list[NDArray[np.intp]]:
    """Split items into groups of about equal size by rising value.

    Items of equal value are in the same group, so the result does not depend on the order of the items.

    Args:
        values: (N,) values.
        n_groups: Number of groups. There are fewer if N is smaller or if equal values fill several.

    Returns:
        The ascending indices of the items of each group. Without ties, the sizes of the groups differ by
        one at most.

    Example:
        >>> [group.tolist() for group in split_by_value(np.array([3.0, 1.0, 2.0, 2.0, 2.0]), 2)]
        [[1, 2, 3, 4], [0]]
    """
    ordered = np.sort(values)
    # Equal values have the ranks from `first_rank` to `end_rank` - 1, and all get the middle rank.
    first_rank = np.searchsorted(ordered, values, side="left")
    end_rank = np.searchsorted(ordered, values, side="right")
    middle_rank = (first_rank + end_rank) // 2

    # Without equal values, each group would have a range of ranks. They assign a group to each rank.
    chunks = np.array_split(ordered, min(n_groups, len(values)))
    sizes = [len(chunk) for chunk in chunks]
    group_by_rank = np.repeat(np.arange(len(sizes)), sizes)
    group_by_item = group_by_rank[middle_rank]
    # `np.unique` skips groups that are empty because equal values fill more than one group.
    return [np.flatnonzero(group_by_item == group) for group in np.unique(group_by_item)]

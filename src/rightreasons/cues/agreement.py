"""How well people do on items, and how well they agree: Fleiss' kappa."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core import validation
from rightreasons.core.arrays import Result, ingest
from rightreasons.core.intervals import Interval, bounded_mean, wilson_ends

METHOD = "Wilson at the effective number of items, Student's t"


@dataclasses.dataclass(frozen=True)
class FleissKappa(Result):
    """Agreement of raters beyond chance.

    Attributes:
        fleiss_kappa: In [-1 / (m - 1), 1] for m raters: 1 for full agreement, 0 for that of chance; None where all
            ratings are of one category.
        interval: Interval of it over items; None where kappa is.
        agreement: Share of the pairs of ratings of an item that agree, the mean over items.
        chance: The share that would agree by chance.
        n_items: Number of items.
        n_raters: Ratings per item.
        n_categories: Number of categories.
    """

    fleiss_kappa: float | None
    interval: Interval | None
    agreement: float
    chance: float
    n_items: int
    n_raters: int
    n_categories: int


@dataclasses.dataclass(frozen=True)
class HumanPerformance(Result):
    """How well people do on items, and how well they agree.

    Attributes:
        accuracy: Share of right answers over raters and items, in [0, 1].
        interval: Interval of it over items.
        majority_accuracy: Share of the items that most raters get right; a tie counts by its share.
        by_rater: Accuracy of each rater.
        kappa: `FleissKappa` of the answers.
    """

    accuracy: float
    interval: Interval
    majority_accuracy: float
    by_rater: tuple[float, ...]
    kappa: FleissKappa


def fleiss_kappa(counts: Any, *, confidence_level: float = 0.95) -> FleissKappa:
    r"""Compute Fleiss' kappa.

    \[ \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
       P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{m (m - 1)}, \quad \bar P_e = \sum_j p_j^2 \]

    for m ratings of each item, \(n_{ij}\) of them of category j, and \(p_j\) the share of all ratings.

    The interval is Wilson's on kappa, moved to [0, 1], with Student's t and with the number of items that has the
    linearized variance of kappa over the items. One vote of one more item counts as dissenting, so that the width is
    never zero.

    Args:
        counts: (N, K) how many raters put each item into each category; the same number of ratings, at least 2, of
            each of at least 2 items.
        confidence_level: Such as 0.95.

    Returns:
        `FleissKappa`.

    Raises:
        TypeError: If the counts are no whole numbers.
        ValueError: If they are no such table.

    References:
        Fleiss (1971), Measuring Nominal Scale Agreement among Many Raters.

    Example:
        >>> result = fleiss_kappa([[3, 0], [3, 0], [0, 3], [1, 2]])
        >>> round(result.fleiss_kappa, 4), round(result.agreement, 4), round(result.chance, 4)
        (0.6571, 0.8333, 0.5139)
    """
    table = _counts(counts)
    level = validation.check_fraction(confidence_level, "confidence_level", open_ends=True)
    n_items, n_raters = len(table), int(table[0].sum())
    agreements = ((table * table).sum(axis=1) - n_raters) / (n_raters * (n_raters - 1))
    shares = table.sum(axis=0) / table.sum()
    agreement, chance = float(agreements.mean()), float(shares @ shares)
    kappa = interval = None
    if np.count_nonzero(shares) > 1:
        kappa = (agreement - chance) / (1 - chance)
        beyond = 2 * (table @ shares / n_raters - chance)
        influence = ((agreements - agreement) * (1 - chance) - (1 - agreement) * beyond) / (1 - chance) ** 2
        dissent = 2 / n_raters / (1 - chance)
        variance = float(np.sum(influence**2) + dissent**2) / (n_items * (n_items + 1))
        interval = _interval(kappa, variance, n_items, -1 / (n_raters - 1), level)
    return FleissKappa(kappa, interval, agreement, chance, n_items, n_raters, table.shape[1])


def human_performance(
    ratings: Any, references: Any, *, n_choices: int | None = None, confidence_level: float = 0.95
) -> HumanPerformance:
    """Compute how often raters choose the right answer, and how well they agree.

    Args:
        ratings: (N, R) the choice of each of R raters, at least 2, for each of N items.
        references: (N,) the right choices.
        n_choices: Number of choices of each item; None for the largest choice that occurs.
        confidence_level: Such as 0.95.

    Returns:
        `HumanPerformance`.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If lengths differ, there are fewer than 2 items or raters, or a choice is beyond `n_choices`.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, Table 3.

    Example:
        >>> result = human_performance([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [0, 1, 1])
        >>> round(result.accuracy, 3), result.majority_accuracy, round(result.kappa.fleiss_kappa, 3)
        (0.889, 1.0, 0.55)
    """
    right = validation.check_labels(references)
    rows = ingest(ratings, "ratings")
    widths = {len(row) if isinstance(row, (list, np.ndarray)) else 0 for row in rows}
    if len(widths) != 1 or min(widths) < 2:
        raise ValueError(
            "Expected `ratings` to have a row per item with the same number of raters, at least 2, but rows have "
            f"{', '.join(map(str, sorted(widths))) or 'none'}."
        )
    table = np.stack([validation.check_labels([row[r] for row in rows], name="ratings") for r in range(widths.pop())])
    validation.check_same_length(ratings=rows, references=right)
    largest = int(max(table.max(), right.max())) + 1
    size = max(largest, 2) if n_choices is None else validation.check_count(n_choices, "n_choices", minimum=2)
    if largest > size:
        raise ValueError(f"Expected choices below `n_choices` = {size}, but got {largest - 1}.")
    votes = np.stack([(table == choice).sum(axis=0) for choice in range(size)], axis=1)
    correct = table == right
    most = votes == votes.max(axis=1, keepdims=True)
    return HumanPerformance(
        accuracy=float(correct.mean()),
        interval=bounded_mean(correct.mean(axis=0), low=0.0, high=1.0, confidence_level=confidence_level),
        majority_accuracy=float((most[np.arange(len(right)), right] / most.sum(axis=1)).mean()),
        by_rater=tuple(correct.mean(axis=1).tolist()),
        kappa=fleiss_kappa(votes, confidence_level=confidence_level),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _counts(counts: Any) -> NDArray[np.int64]:
    rows = ingest(counts, "counts")
    widths = {len(row) if isinstance(row, (list, np.ndarray)) else 0 for row in rows}
    if len(rows) < 2 or len(widths) != 1 or min(widths) < 2:
        raise ValueError("Expected `counts` to have at least 2 items with a number for each of at least 2 categories.")
    table = np.stack([validation.check_labels(row, name="counts") for row in rows])
    sums = table.sum(axis=1)
    for item, total in enumerate(sums):
        if total != sums[0] or total < 2:
            raise ValueError(
                f"Expected each item of `counts` to have the same number of ratings, at least 2, but item 0 has "
                f"{sums[0]} and item {item} has {total}."
            )
    return table


def _interval(kappa: float, variance: float, n_items: int, low: float, level: float) -> Interval:
    scale = 1 - low
    share = min(max((kappa - low) / scale, 0.0), 1.0)
    # Half an item at each end, so that a share of 0 or 1 has a spread.
    smooth = (n_items * share + 0.5) / (n_items + 1)
    n = smooth * (1 - smooth) / (variance / scale**2)
    low_share, high_share = wilson_ends(share, n, float(stats.t.isf((1 - level) / 2, n_items - 1)))
    return Interval(low + scale * low_share, 1.0 if share == 1 else low + scale * high_share, level, METHOD)

"""Agreement of people who label items (Fleiss' kappa), and their accuracy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.intervals import Interval, bounded_mean_interval, compute_wilson_ends
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_fraction,
    check_labels,
    check_same_length,
)
from rightreasons.cues.labels import parse_runs

Counts = NDArray[np.int64]

METHOD = "Wilson at the effective number of items, Student's t"


@dataclasses.dataclass(frozen=True)
class FleissKappa(Result):
    """Agreement of raters beyond chance.

    Attributes:
        fleiss_kappa: Kappa, in [-1 / (m - 1), 1] for m raters: 1 for full agreement, 0 for
            agreement by chance; None if all ratings are of one category.
        interval: Interval of kappa over items; None if kappa is None.
        agreement: Share of the pairs of ratings of an item that agree, the mean over items.
        chance: Share of pairs that would agree by chance.
        n_items: Number of items.
        n_raters: Number of ratings per item.
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
    """Accuracy of people on items, and their agreement.

    Attributes:
        accuracy: Share of correct answers over raters and items, in [0, 1].
        interval: Interval of accuracy over items.
        kappa: `FleissKappa` of the answers.
    """

    accuracy: float
    interval: Interval
    kappa: FleissKappa


def fleiss_kappa(counts: Any, *, confidence_level: float = 0.95) -> FleissKappa:
    r"""Compute Fleiss' kappa.

    \[ \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
       P_i = \frac{\sum_j n_{ij} (n_{ij} - 1)}{m (m - 1)}, \quad \bar P_e = \sum_j p_j^2 \]

    for m ratings of each item, \(n_{ij}\) of them of category j, and \(p_j\) the share of all
    ratings.

    The interval is Wilson's of kappa, scaled to [0, 1], with Student's t and the number of items
    that has the linearized variance of kappa over the items. One vote of one more item counts as
    dissenting, so that the width is never zero.

    Args:
        counts: (N, K) number of raters who put each item into each category; the same number of
            ratings, at least 2, for each of at least 2 items.
        confidence_level: Confidence level of the interval, such as 0.95.

    Returns:
        `FleissKappa`.

    Raises:
        TypeError: If a count is not a whole number.
        ValueError: If the counts are not such a table.

    References:
        Fleiss (1971), Measuring Nominal Scale Agreement among Many Raters.

    Example:
        >>> result = fleiss_kappa([[3, 0], [3, 0], [0, 3], [1, 2]])
        >>> round(result.fleiss_kappa, 4), round(result.agreement, 4), round(result.chance, 4)
        (0.6571, 0.8333, 0.5139)
    """
    table = _parse_counts(counts)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    n_items, n_categories = table.shape
    n_raters = int(table[0].sum())

    # The ordered pairs of an item's ratings that agree, out of m (m - 1).
    n_agreeing = (table * table).sum(axis=1) - n_raters
    agreements = n_agreeing / (n_raters * (n_raters - 1))
    agreement = float(agreements.mean())
    shares = table.sum(axis=0) / table.sum()
    chance = float(shares @ shares)

    kappa = None
    interval = None
    # With one category, kappa is 0 / 0.
    if np.count_nonzero(shares) > 1:
        kappa = (agreement - chance) / (1 - chance)
        # The influence of an item on kappa: through its own agreement, and through the shares of
        # the categories, on which the agreement by chance depends.
        chance_shifts = 2 * (table @ shares / n_raters - chance)
        gains = (agreements - agreement) * (1 - chance)
        losses = (1 - agreement) * chance_shifts
        influences = (gains - losses) / (1 - chance) ** 2
        dissent = 2 / n_raters / (1 - chance)
        total = float(np.sum(influences**2) + dissent**2)
        interval = _compute_kappa_interval(
            kappa,
            variance=total / (n_items * (n_items + 1)),
            n_items=n_items,
            minimum=-1 / (n_raters - 1),
            level=level,
        )
    return FleissKappa(
        fleiss_kappa=kappa,
        interval=interval,
        agreement=agreement,
        chance=chance,
        n_items=n_items,
        n_raters=n_raters,
        n_categories=n_categories,
    )


def human_performance(
    ratings: Any,
    references: Any,
    *,
    n_choices: int | None = None,
    confidence_level: float = 0.95,
) -> HumanPerformance:
    """Compute how often raters choose the correct answer, and how well they agree.

    Args:
        ratings: (N, R) choice of each of R raters, at least 2, for each of N items.
        references: (N,) correct choices.
        n_choices: Number of choices of each item. If None, the largest choice that occurs decides.
        confidence_level: Confidence level of the intervals, such as 0.95.

    Returns:
        `HumanPerformance`.

    Raises:
        TypeError: If a choice is not a whole number.
        ValueError: If lengths differ, there are fewer than 2 items or raters, or a choice exceeds
            `n_choices`.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever,
        Table 3.

    Example:
        >>> result = human_performance([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [0, 1, 1])
        >>> round(result.accuracy, 3), round(result.kappa.fleiss_kappa, 3)
        (0.889, 0.55)
    """
    correct_choices = check_labels(references)
    choices = parse_runs(ratings, "ratings", min_columns=2)
    check_same_length(ratings=choices, references=correct_choices)
    largest = int(max(choices.max(), correct_choices.max()))
    # Kappa needs two categories, even if all raters chose the first.
    n_categories = max(largest + 1, 2)
    if n_choices is not None:
        n_categories = check_count(n_choices, "n_choices", minimum=2)
    if largest >= n_categories:
        raise ValueError(f"Expected choices below `n_choices` = {n_categories}, but got {largest}.")

    is_correct = choices == correct_choices[:, None]
    votes = [(choices == choice).sum(axis=1) for choice in range(n_categories)]
    return HumanPerformance(
        accuracy=float(is_correct.mean()),
        interval=bounded_mean_interval(
            is_correct.mean(axis=1),
            low=0.0,
            high=1.0,
            confidence_level=confidence_level,
        ),
        kappa=fleiss_kappa(np.stack(votes, axis=1), confidence_level=confidence_level),
    )


def _parse_counts(counts: Any) -> Counts:
    """Parse a table of ratings, and check that all items have the same number of ratings.

    Args:
        counts: (N, K) number of raters who put each item into each category.

    Returns:
        (N, K) whole numbers.

    Raises:
        ValueError: If there are fewer than two items, or an item has fewer than two ratings or a
            different number than others.
    """
    table = parse_runs(counts, "counts", min_columns=2)
    if len(table) < 2:
        raise ValueError("Expected at least 2 items in `counts`, but got 1.")
    n_ratings = table.sum(axis=1)
    for item, count in enumerate(n_ratings):
        if count != n_ratings[0] or count < 2:
            raise ValueError(
                "Expected each item of `counts` to have the same number of ratings, at least 2, "
                f"but item 0 has {n_ratings[0]} and item {item} has {count}."
            )
    return table


def _compute_kappa_interval(
    kappa: float,
    *,
    variance: float,
    n_items: int,
    minimum: float,
    level: float,
) -> Interval:
    """Compute the Wilson interval of kappa.

    Args:
        kappa: Kappa.
        variance: Variance of kappa.
        n_items: Number of items.
        minimum: Smallest possible kappa.
        level: Confidence level.
    """
    # Wilson's interval is for a share, so that kappa is scaled to [0, 1].
    scale = 1 - minimum
    share = min(max((kappa - minimum) / scale, 0.0), 1.0)
    # Half an item is added at each end, so that the variance of a share of 0 or 1 is positive.
    smoothed = (n_items * share + 0.5) / (n_items + 1)
    n_effective = smoothed * (1 - smoothed) / (variance / scale**2)
    quantile = float(scipy.stats.t.isf((1 - level) / 2, n_items - 1))
    low_share, high_share = compute_wilson_ends(share, n_effective, quantile)

    high = minimum + scale * high_share
    # Rounding must not put the end below a kappa of 1.
    if share == 1:
        high = 1.0
    return Interval(minimum + scale * low_share, high, level, METHOD)

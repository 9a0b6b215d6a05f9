"""Compute the share of predictions that a feature decides, from predictions with its swap.

Removing a cue that agrees with the meaning changes nothing, because the meaning remains. Swapping it
for the cue of another label does: a model that relies on the cue changes its prediction, a model
that uses the content does not.
`deciding_share` is the entry point; `fixed_share` is its counterpart for pairs of texts.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from rightreasons.core.clusters import number_clusters
from rightreasons.core.estimates import Estimate, make_rate_interval
from rightreasons.core.intervals import Interval, bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_labels, check_same_length


@dataclasses.dataclass(frozen=True)
class DecidingShare(Result):
    """Share of all predictions that a feature decides. Shares are in [0, 1].

    Attributes:
        deciding_share: Share of all predictions that change with the swap, minus the share that
            changes with the control, in [-1, 1].
        interval: Its confidence interval, over items or clusters.
        n_items: Number of items N, including those without the feature.
        coverage: Share of the items that have something to swap.
        rate: Share of these whose prediction changes; None if there are none.
        control_rate: Share of the items with a control whose prediction changes with it; None if
            there are none.
        follow_rate: Share of the swaps to another label than the predicted one after which the
            model predicts that label; None if there are no such swaps.
        follow_interval: Its Wilson interval.
    """

    deciding_share: float
    interval: Interval
    n_items: int
    coverage: float
    rate: float | None
    control_rate: float | None
    follow_rate: float | None = None
    follow_interval: Interval | None = None

    @property
    def estimate(self) -> Estimate:
        """The deciding share with its interval."""
        return Estimate(self.deciding_share, self.interval.low, self.interval.high)


def deciding_share(
    predictions: Any,
    swapped: Any,
    control: Any,
    *,
    goals: Any = None,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> DecidingShare:
    r"""Compute the share of all predictions that a feature decides, beyond a control.

    \[ D = \frac1N \sum_i 1[\hat y(x_i^{swap}) \ne \hat y(x_i)]
         - \frac1N \sum_i 1[\hat y(x_i^{control}) \ne \hat y(x_i)] \]

    where a text without anything to swap does not change. D is near 1 for a model that decides by
    the feature alone, and near 0 for one to which it means no more than the control.

    Args:
        predictions: (N,) predicted labels.
        swapped: (N,) predicted labels with the feature of another label; -1 if a text has nothing
            to swap.
        control: (N,) predicted labels after a matched change of something else; -1 if there is
            nothing to change.
        goals: (N,) label that the new feature predicts, -1 if there is none; None (default) if unknown.
        clusters: (N,) cluster of each item; None (default) for independent items.
        resampling: Level of the interval, which is that of `paired_share_interval`.

    Returns:
        `DecidingShare`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ or there are no items.

    References:
        Of this package. The counterfactual is that of Wang and Culotta (2021), "Robustness to
        Spurious Correlations in Text Classification via Automatically Generated Counterfactuals";
        necessity and sufficiency of features: Joshi, Pan and He (2022), "Are All Spurious Features
        in Natural Language Alike?".

    Example:
        Of four texts, three have the feature. Two predictions change by its swap, one by the
        control, so that the share is 2/4 - 1/4 = 0.25.

        >>> result = deciding_share([0, 1, 1, 0], [1, 0, 1, -1], [0, 1, 1, 1], goals=[1, 0, 0, -1])
        >>> result.deciding_share, result.coverage
        (0.25, 0.75)
        >>> round(result.rate, 3), round(result.follow_rate, 3)
        (0.667, 0.667)
    """
    original = check_labels(predictions, name="predictions")
    treated = check_labels(swapped, name="swapped", minimum=-1)
    untreated = check_labels(control, name="control", minimum=-1)
    targets = np.full(len(original), -1)
    if goals is not None:
        targets = check_labels(goals, name="goals", minimum=-1)
    check_same_length(
        predictions=original,
        swapped=treated,
        control=untreated,
        goals=targets,
    )

    # An item without the feature cannot be decided by it: it counts as unchanged.
    changes = (treated >= 0) & (treated != original)
    control_changes = (untreated >= 0) & (untreated != original)
    # Only a swap towards another label than the predicted one shows whether the model follows it.
    is_towards_other = (treated >= 0) & (targets >= 0) & (targets != original)
    follows = (treated == targets)[is_towards_other]
    follow_rate = None
    follow_interval = None
    if len(follows):
        follow_rate = float(follows.mean())
        follow_interval = make_rate_interval(follows, resampling)
    return DecidingShare(
        deciding_share=float(changes.mean() - control_changes.mean()),
        interval=paired_share_interval(
            changes,
            control_changes,
            clusters=clusters,
            confidence_level=resampling.level,
        ),
        n_items=len(original),
        coverage=float((treated >= 0).mean()),
        rate=_compute_share(changes, treated >= 0),
        control_rate=_compute_share(control_changes, untreated >= 0),
        follow_rate=follow_rate,
        follow_interval=follow_interval,
    )


def paired_share_interval(
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    *,
    clusters: Any = None,
    confidence_level: float = 0.95,
) -> Interval:
    r"""Compute the score interval of the difference of two shares of the same items.

    With b items that only have the first flag and c items that only have the second one, it
    contains the differences \(\Delta\) with

    \[ \left| \frac{b - c - n \Delta}{\sqrt{n (2 q + \Delta (1 - \Delta))}} \right| \le z, \]

    where q is the maximum-likelihood estimate of the probability of the second flag, given
    \(\Delta\). The variance is computed under the hypothetical difference rather than from the
    data, so that the error rates of tests against a margin hold even far in the tail
    (docs/evidence/validity.md). With clusters, n, b and c are divided by the design effect.

    Args:
        first: (N,) flags.
        second: (N,) flags of the same items.
        clusters: (N,) cluster of each item; None (default) for independent items.
        confidence_level: Confidence level, such as 0.95.

    Returns:
        The interval, inside [-1, 1].

    References:
        Tango (1998), Equivalence test and confidence interval for the difference in proportions for
        the paired-sample design. The design effect is that of Korn and Graubard (1998).

    Example:
        >>> flags = np.arange(100) < 10
        >>> interval = paired_share_interval(flags, np.zeros(100, dtype=bool))
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.055, 0.174)
    """
    differences = first.astype(np.float64) - second
    n_items = len(differences)
    if not n_items:
        raise ValueError("Expected at least one item, but got none.")
    n_effective = n_items / _compute_design_effect(differences, clusters, confidence_level)
    scale = n_effective / n_items
    # Dependent items carry the information of fewer independent ones.
    n_first = float((differences > 0).sum()) * scale
    n_second = float((differences < 0).sum()) * scale
    quantile = float(special.ndtri(0.5 + confidence_level / 2))
    center = float(differences.mean())

    def exceed(difference: float) -> float:
        """Return by how many standard errors a difference is outside of the interval."""
        score = _compute_score(n_first, n_second, n_effective, difference)
        return abs(score) - quantile

    # The score grows with the distance from the center, so that each end of the interval is the
    # only root on its side of the center. Without a root, the end is that of the range.
    low = -1.0
    high = 1.0
    if center > -1 and exceed(-1.0) > 0:
        low = float(optimize.brentq(exceed, -1.0, center))
    if center < 1 and exceed(1.0) > 0:
        high = float(optimize.brentq(exceed, center, 1.0))
    return Interval(low, high, confidence_level, "Tango score")


def _compute_score(
    n_first: float,
    n_second: float,
    n_items: float,
    difference: float,
) -> float:
    """Return Tango's score of a hypothetical difference of two paired shares.

    Args:
        n_first: Number of items with the first flag only; b in `paired_share_interval`.
        n_second: Number of items with the second flag only; c.
        n_items: Number of all items.
        difference: The hypothetical difference of the shares, in [-1, 1].

    Returns:
        Distance of the observed difference from the hypothetical one, in the standard errors that
        it would have under the hypothesis.
    """
    distance = n_first - n_second - n_items * difference
    if abs(distance) < 1e-9:
        return 0.0
    # Under the hypothesis, the most likely chance q of the second flag only solves
    # 2 n q^2 + linear q + constant = 0.
    linear = -n_first - n_second + (2 * n_items - n_first + n_second) * difference
    constant = -n_second * difference * (1 - difference)
    root = math.sqrt(max(linear**2 - 8 * n_items * constant, 0.0))
    chance = (root - linear) / (4 * n_items)
    variance = n_items * (2 * chance + difference * (1 - difference))
    # With a difference of 1 or -1, all items have the same flags, and the variance is 0.
    if variance <= 1e-12:
        return math.copysign(1e6, distance)
    return distance / math.sqrt(variance)


def _compute_design_effect(
    differences: NDArray[np.float64], clusters: Any, confidence_level: float
) -> float:
    """Return the factor by which clusters increase the variance of a mean; 1 for independent items.

    It is the variance of the mean over clusters divided by that over items (Korn and Graubard
    1998), corrected for a small number of clusters.

    Args:
        differences: (N,) values.
        clusters: (N,) cluster of each item; None for independent items.
        confidence_level: Level of the interval. The correction grows with it.
    """
    n_items = len(differences)
    codes = number_clusters(clusters, n_items)
    if codes is None:
        return 1.0
    sizes = np.bincount(codes).astype(np.float64)
    n_clusters = len(sizes)
    # The largest possible effect, if all items of a cluster have the same value.
    max_effect = float((sizes**2).sum()) / n_items
    residuals = differences - differences.mean()
    squares = float((residuals**2).sum())
    if n_clusters < 2 or squares < 1e-12:
        return max_effect
    cluster_sums = np.bincount(codes, weights=residuals)
    cluster_squares = float((cluster_sums**2).sum())
    effect = n_clusters / (n_clusters - 1) * cluster_squares / squares
    # The variance over few clusters is uncertain: Student's t replaces the normal quantile.
    # The ratio to Student's t of single items is 1 if each item is a cluster.
    probability = 0.5 + confidence_level / 2
    cluster_quantile = special.stdtrit(n_clusters - 1, probability)
    item_quantile = special.stdtrit(max(n_items - 1, 1), probability)
    quantile_ratio = float(cluster_quantile / item_quantile)
    return min(max(effect, 1.0), max_effect) * quantile_ratio**2


def fixed_share(
    predictions: Any,
    exchanged: Any,
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> DecidingShare:
    r"""Compute the share of predictions that do not depend on the rest of the input.

    \[ D = \frac{\frac1N \sum_i 1[\hat y(x_i') = \hat y(x_i)] - c}{1 - c}, \quad
       c = \sum_k p_k q_k \]

    for items x' whose other text is exchanged, and the shares p and q of each label among the
    predictions before and after: c is the agreement of unrelated predictions.

    Args:
        predictions: (N,) predicted labels.
        exchanged: (N,) predicted labels with another text in place of the rest; -1 if there is
            none.
        clusters: (N,) cluster of each item; None (default) for independent items.
        resampling: Confidence level of the interval.

    Returns:
        `DecidingShare`; its `rate` is the share that stays the same, and `control_rate` is c. If
        the model always predicts one label, the share is 0.

    References:
        Cohen (1960), A coefficient of agreement for nominal scales; the intervention is that of
        Gururangan et al. (2018) and Balepur et al. (2024).

    Example:
        Three of four stay; c = 1/2 * 1/4 + 1/2 * 3/4 = 0.5, so that D = (0.75 - 0.5) / 0.5.

        >>> fixed_share([0, 0, 1, 1], [0, 1, 1, 1]).deciding_share
        0.5
    """
    original = check_labels(predictions, name="predictions")
    edited = check_labels(exchanged, name="exchanged", minimum=-1)
    check_same_length(predictions=original, exchanged=edited)
    is_edited = edited >= 0
    n_labels = int(max(original.max(), edited.max(initial=0))) + 1
    original_shares = _compute_label_shares(original[is_edited], n_labels)
    edited_shares = _compute_label_shares(edited[is_edited], n_labels)
    chance = float(original_shares @ edited_shares)
    # (N,) agreement, scaled so that its mean is 0 by chance and 1 if all predictions stay the same.
    # It is 0 for a model that always predicts one label, whose predictions agree by chance.
    stays = (edited == original).astype(np.float64)
    scaled = np.zeros(len(stays))
    low = -1.0
    high = 1.0
    if chance < 1 - 1e-9:
        scaled = np.where(is_edited, (stays - chance) / (1 - chance), 0.0)
        # The scaled value of an item whose prediction changes.
        low = -chance / (1 - chance)
    return DecidingShare(
        deciding_share=float(scaled.mean()),
        interval=bounded_mean_interval(
            scaled,
            low=low,
            high=high,
            clusters=clusters,
            confidence_level=resampling.level,
        ),
        n_items=len(original),
        coverage=float(is_edited.mean()),
        rate=_compute_share(stays > 0, is_edited),
        control_rate=chance,
    )


def _compute_label_shares(labels: NDArray[np.int64], n_labels: int) -> NDArray[np.float64]:
    """Return (K,) shares of the labels."""
    return np.bincount(labels, minlength=n_labels) / max(len(labels), 1)


def _compute_share(flags: NDArray[np.bool_], mask: NDArray[np.bool_]) -> float | None:
    """Return the share of flags among some items; None if there are none."""
    return float(flags[mask].mean()) if mask.any() else None

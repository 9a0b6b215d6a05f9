"""What decides: the share of all predictions that change when a feature is swapped for that of another label.

A cue that agrees with the meaning leaves no trace when it is taken away, as the meaning still speaks. Swapped for the
cue of another label it does: a model that follows it changes its prediction, a model that reads does not.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.estimates import Estimate, make_rate_interval
from rightreasons.core.intervals import Interval, bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_labels, check_same_length


@dataclasses.dataclass(frozen=True)
class DecidingShare(Result):
    """How many of all predictions a feature decides. Shares in [0, 1].

    Attributes:
        deciding_share: Share of all predictions that change by the swap, minus the same for the control, in [-1, 1].
        interval: Its interval, over items or clusters.
        n_items: Number of items N, those without the feature included.
        coverage: Share of the items with something to swap.
        rate: Share of those whose prediction changes; None where there is none.
        control_rate: Share of the items with a control whose prediction changes by it; None where there is none.
        follow_rate: Of the swaps that point at another label than the predicted one, the share whose prediction becomes
            that label; None where no swap points at one.
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
        """The share that it decides, with its interval."""
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
    r"""Measure the share of all predictions that a feature decides, beyond a control.

    \[ D = \frac1N \sum_i 1[\hat y(x_i^{swap}) \ne \hat y(x_i)]
         - \frac1N \sum_i 1[\hat y(x_i^{control}) \ne \hat y(x_i)] \]

    where a text without anything to swap does not change. D is near 1 for a model that decides by the feature alone,
    and near 0 for one to which it means no more than the control.

    Args:
        predictions: (N,) predicted labels.
        swapped: (N,) predicted labels with the feature of another label; -1 where a text has nothing to swap.
        control: (N,) predicted labels with something else changed in the same manner; -1 where there is nothing.
        goals: (N,) the label that the new feature points at, -1 for none; None (default) where unknown.
        clusters: (N,) what each item belongs to; None (default) where each stands for itself.
        resampling: Level of the interval.

    Returns:
        `DecidingShare`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ or there are no items.

    References:
        Of this package. The counterfactual is that of Wang and Culotta (2021), "Robustness to Spurious Correlations in
        Text Classification via Automatically Generated Counterfactuals"; necessity and sufficiency of features: Joshi,
        Pan and He (2022), "Are All Spurious Features in Natural Language Alike?".

    Example:
        Four texts, three with the feature: two predictions change by its swap, one by the control. 2/4 - 1/4 = 0.25.

        >>> result = deciding_share([0, 1, 1, 0], [1, 0, 1, -1], [0, 1, 1, 1], goals=[1, 0, 0, -1])
        >>> result.deciding_share, result.coverage, round(result.rate, 3), round(result.follow_rate, 3)
        (0.25, 0.75, 0.667, 0.667)
    """
    before = check_labels(predictions, name="predictions")
    after = check_labels(swapped, name="swapped", minimum=-1)
    beside = check_labels(control, name="control", minimum=-1)
    pointing = (
        np.full(len(before), -1) if goals is None else check_labels(goals, name="goals", minimum=-1)
    )
    check_same_length(predictions=before, swapped=after, control=beside, goals=pointing)
    changes, control_changes = (after >= 0) & (after != before), (beside >= 0) & (beside != before)
    pointed = (after >= 0) & (pointing >= 0) & (pointing != before)
    differences = changes.astype(np.float64) - control_changes
    return DecidingShare(
        deciding_share=float(differences.mean()),
        interval=bounded_mean_interval(
            differences, low=-1.0, high=1.0, clusters=clusters, confidence_level=resampling.level
        ),
        n_items=len(before),
        coverage=float((after >= 0).mean()),
        rate=_share(changes, after >= 0),
        control_rate=_share(control_changes, beside >= 0),
        follow_rate=_share(after == pointing, pointed),
        follow_interval=make_rate_interval((after == pointing)[pointed], resampling)
        if pointed.any()
        else None,
    )


def fixed_share(
    predictions: Any, exchanged: Any, *, clusters: Any = None, resampling: Resampling = Resampling()
) -> DecidingShare:
    r"""Measure the share of predictions that stand whatever the rest of the input is, beyond chance.

    \[ D = \frac{\frac1N \sum_i 1[\hat y(x_i') = \hat y(x_i)] - c}{1 - c}, \quad c = \sum_k p_k q_k \]

    for items x' whose other text is exchanged, and the shares p and q of each label among the predictions before and
    after: c is the agreement of predictions that have nothing to do with each other.

    Args:
        predictions: (N,) predicted labels.
        exchanged: (N,) predicted labels with another text in the place of the rest; -1 where there is none.
        clusters: As in `deciding_share`.
        resampling: Level of the interval.

    Returns:
        `DecidingShare`; its `rate` is the share that stands, and `control_rate` is c. Where one label is always
        predicted, nothing can be told, and the share is 0.

    References:
        Cohen (1960), A coefficient of agreement for nominal scales; the intervention is that of Gururangan et al.
        (2018) and Balepur et al. (2024).

    Example:
        Three of four stay; c = 1/2 * 1/4 + 1/2 * 3/4 = 0.5, so that D = (0.75 - 0.5) / 0.5.

        >>> fixed_share([0, 0, 1, 1], [0, 1, 1, 1]).deciding_share
        0.5
    """
    before = check_labels(predictions, name="predictions")
    after = check_labels(exchanged, name="exchanged", minimum=-1)
    check_same_length(predictions=before, exchanged=after)
    done = after >= 0
    n_labels = int(max(before.max(), after.max(initial=0))) + 1
    shares = [
        np.bincount(labels[done], minlength=n_labels) / max(int(done.sum()), 1)
        for labels in (before, after)
    ]
    chance = float(shares[0] @ shares[1])
    stays = (after == before).astype(np.float64)
    scaled = (
        np.where(done, (stays - chance) / max(1 - chance, 1e-12), 0.0)
        if chance < 1 - 1e-9
        else 0.0 * stays
    )
    low, high = (-chance / (1 - chance), 1.0) if chance < 1 - 1e-9 else (-1.0, 1.0)
    return DecidingShare(
        deciding_share=float(scaled.mean()),
        interval=bounded_mean_interval(
            scaled, low=low, high=high, clusters=clusters, confidence_level=resampling.level
        ),
        n_items=len(before),
        coverage=float(done.mean()),
        rate=_share(stays > 0, done),
        control_rate=chance,
    )


def _share(hits: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(hits[among].mean()) if among.any() else None

"""Paired comparison of two models on the same items.

`paired_test` tests whether a figure differs, `count_paired_outcomes` counts which model is correct.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from rightreasons.calibration.compare import compare_ece
from rightreasons.calibration.confidences import TopLabel
from rightreasons.calibration.figures import (
    compute_gaps,
    compute_log_losses,
    compute_squared_distances,
)
from rightreasons.calibration.judged import JudgedItems
from rightreasons.core.arrays import Floats
from rightreasons.core.clusters import number_clusters
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import PairedTest, compare_paired_means


@dataclasses.dataclass(frozen=True)
class _MeanFigure:
    """A figure that is a mean over the items.

    Attributes:
        compute_values: Returns its (N,) values.
        low: Smallest possible value; None if there is no bound.
        high: Largest possible value; None if there is no bound.
    """

    compute_values: Callable[[JudgedItems], Floats]
    low: float | None
    high: float | None


_MEAN_FIGURES: Mapping[str, _MeanFigure] = {
    "accuracy": _MeanFigure(lambda items: items.top.correct.astype(np.float64), 0.0, 1.0),
    "mean_confidence": _MeanFigure(lambda items: items.top.confidence, 0.0, 1.0),
    "confidence_gap": _MeanFigure(compute_gaps, -1.0, 1.0),
    "brier": _MeanFigure(compute_squared_distances, 0.0, 2.0),
    "nll": _MeanFigure(compute_log_losses, None, None),
}

COMPARED_FIGURES = ("accuracy", "mean_confidence", "confidence_gap", "ece", "brier", "nll")
"""Figures that `paired_test` compares: the means above, and ECE."""


def count_paired_outcomes(first: JudgedItems, second: JudgedItems) -> dict[str, int]:
    """Count the items by which of two models answer them correctly.

    Args:
        first: The items with the scores of the first model.
        second: The same items in the same order with the scores of the second model.

    Returns:
        Counts under "both_right", "first_right" (only the first model is correct), "second_right"
        and "both_wrong".
    """
    # These keys are part of the format of audit.json, so they do not follow the words of the report.
    first_correct = first.top.correct
    second_correct = second.top.correct
    return {
        "both_right": int(np.count_nonzero(first_correct & second_correct)),
        "first_right": int(np.count_nonzero(first_correct & ~second_correct)),
        "second_right": int(np.count_nonzero(~first_correct & second_correct)),
        "both_wrong": int(np.count_nonzero(~first_correct & ~second_correct)),
    }


def paired_test(
    key: str, first: JudgedItems, second: JudgedItems, *, resampling: Resampling = Resampling()
) -> PairedTest:
    """Test whether two models have the same figure on the same items.

    Means over items are tested by `compare_paired_means`, ECE by `compare_ece`.

    Args:
        key: One of `COMPARED_FIGURES`, such as "accuracy" or "ece".
        first: The items with the scores of the first model.
        second: The same items in the same order with the scores of the second model.
        resampling: Level, resamples and seed.

    Returns:
        The difference, first minus second, with p-value and interval. The interval is None if the
        items do not determine it, such as for a single item or a mean that no resample changes.
    """
    figure = _MEAN_FIGURES.get(key)
    if figure is not None:
        # Rounding may carry a value slightly beyond a bound.
        return compare_paired_means(
            np.clip(figure.compute_values(first), figure.low, figure.high),
            np.clip(figure.compute_values(second), figure.low, figure.high),
            low=figure.low,
            high=figure.high,
            clusters=first.clusters,
            resampling=resampling,
        )

    # The ECE of the top label depends only on confidence and correctness.
    test = compare_ece(
        _clip_confidence(first.top),
        _clip_confidence(second.top),
        first.n_bins,
        clusters=number_clusters(first.clusters, len(first)),
        resampling=resampling,
    )
    # The variance of the errors cannot be estimated from a single item or cluster.
    if test is None:
        difference = first.binned_error.ece - second.binned_error.ece
        return PairedTest(difference, p_value=1.0, n_items=len(first), method="too few items")
    return test


def _clip_confidence(top: TopLabel) -> TopLabel:
    """Return top labels whose confidence is at most 1, which rounding may exceed."""
    return dataclasses.replace(top, confidence=np.minimum(top.confidence, 1.0))

"""Measurement of calibration: all figures of a split, its bins and its classes.

`measure_calibration` is the entry point. The figures themselves are defined in
`rightreasons.calibration.figures`, their input in `rightreasons.calibration.judged`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from rightreasons.calibration.errors import CalibrationResult, calibration_error
from rightreasons.calibration.figures import FIGURES
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.smooth import ConsistencyResult
from rightreasons.core.binning import assign_bins, make_uniform_edges
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate, make_estimate
from rightreasons.core.resampling import Resampling

MAX_CLASSES = 50
"""Maximum number of classes that are measured separately."""

MAX_CLASS_RESAMPLES = 5_000
"""Maximum number of resamples of all classes together, which bounds the time of many classes."""

MIN_CLASS_RESAMPLES = 100
"""Minimum number of resamples of each class."""

VERDICT_FIGURES = ("confidence_gap", "ece_debiased")
"""Figures that decide the verdict: miscalibration on average, and at some levels of confidence."""

MIN_WORSE_GAP = 0.05
"""Confidence gap that a split exceeds if it is reported as worse than the primary split."""


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationMeasurement:
    """How well the confidence of a model matches its accuracy on some items.

    Attributes:
        items: Labeled items with confidence and correctness, and their clusters.
        figures: Figures with their intervals, by key in the order of `FIGURES`.
        decided: The figures of `VERDICT_FIGURES`. Their intervals are wider, so that both hold
            simultaneously at the confidence level.
        bins: Top-label calibration error, with its bins.
        consistency: Errors that a calibrated model with the same confidences would show.
        accuracies: Accuracy of each bin with its Wilson interval; None if a bin is empty.
    """

    items: JudgedItems
    figures: Mapping[str, Estimate]
    decided: Mapping[str, Estimate]
    bins: CalibrationResult
    consistency: ConsistencyResult
    accuracies: tuple[Estimate | None, ...]


@dataclasses.dataclass(frozen=True)
class ClassFigures:
    """Figures of one class.

    Attributes:
        label: Index of the class.
        n_items: Number of items of the class.
        precision: Share of its predictions that are correct; None if it is never predicted.
        recall: Share of its items that are predicted as the class; None if it has no items.
        ece: Calibration error of its probability over all items.
    """

    label: int
    n_items: int
    precision: Estimate | None
    recall: Estimate | None
    ece: Estimate


def measure_calibration(
    items: JudgedItems, *, keys: Iterable[str] | None = None, resampling: Resampling = Resampling()
) -> CalibrationMeasurement:
    """Measure how well the confidence of a model matches its accuracy.

    Args:
        items: The labeled items with the scores of the model.
        keys: Keys of the figures, from `FIGURES`. If None, all that apply.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        The figures, the bins, and the errors that a calibrated model would show.

    Raises:
        ValueError: If there are no items.

    Example:
        >>> probabilities = [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]
        >>> items = JudgedItems.of(np.log(probabilities), np.array([0, 1, 1]))
        >>> measured = measure_calibration(items, keys=["accuracy", "mean_confidence"])
        >>> {key: round(estimate.value, 3) for key, estimate in measured.figures.items()}
        {'accuracy': 0.667, 'mean_confidence': 0.733}
        >>> round(measured.bins.ece, 3), measured.consistency.p_value < 0.05
        (0.333, False)
    """
    bins = items.binned_error
    # Two figures decide the verdict, so each of their intervals has half of the error (Bonferroni).
    corrected = resampling.correct_for_tests(len(VERDICT_FIGURES))
    return CalibrationMeasurement(
        items=items,
        figures=measure_figures(items, keys, resampling=resampling),
        decided=measure_figures(items, VERDICT_FIGURES, resampling=corrected),
        bins=bins,
        consistency=items.get_null_model(resampling),
        accuracies=_measure_bin_accuracies(items, resampling),
    )


def _measure_bin_accuracies(
    items: JudgedItems, resampling: Resampling
) -> tuple[Estimate | None, ...]:
    """Return the accuracy of the items in each bin of confidence, with its Wilson interval.

    The `items.n_bins` bins have equal width. The accuracy of an empty bin is None.

    Args:
        items: The labeled items with the scores of the model.
        resampling: Level of the intervals.
    """
    edges = make_uniform_edges(items.n_bins)
    bin_of_item = assign_bins(items.top.confidence, edges, is_uniform=True)
    accuracies = []
    for i in range(items.n_bins):
        is_in_bin = bin_of_item == i
        # The interval depends on which items of the bin share a cluster.
        clusters = select_clusters(items.clusters, is_in_bin)
        accuracies.append(estimate_rate(items.top.correct[is_in_bin], resampling, clusters))
    return tuple(accuracies)


def measure_figures(
    items: JudgedItems, keys: Iterable[str] | None = None, *, resampling: Resampling = Resampling()
) -> dict[str, Estimate]:
    """Compute figures with their intervals.

    Args:
        items: Labeled items with confidence and correctness, and their clusters.
        keys: Keys of the figures, from `FIGURES`. If None, all of them.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        The figures that apply to the items, by key in the order of `FIGURES`.
    """
    required = set(FIGURES if keys is None else keys)
    figures = {}
    for key, figure in FIGURES.items():
        if key in required:
            estimate = figure.estimate(items, resampling)
            if estimate is not None:
                figures[key] = estimate
    return figures


def measure_classes(
    items: JudgedItems, *, resampling: Resampling = Resampling()
) -> list[ClassFigures]:
    """Measure precision, recall and calibration of the most frequent classes separately.

    Args:
        items: Items that all have the same classes.
        resampling: Level, resamples (fewer per class if there are many) and seed of the intervals.

    Returns:
        Figures of at most `MAX_CLASSES` classes, the most frequent first.
    """
    # A stable sort keeps the order of the classes among equally frequent ones.
    class_sizes = np.bincount(items.top.labels, minlength=items.table.shape[1])
    most_frequent = np.argsort(-class_sizes, kind="stable")[:MAX_CLASSES]
    n_resamples = max(MIN_CLASS_RESAMPLES, MAX_CLASS_RESAMPLES // len(most_frequent))
    resampling = resampling.limit_resamples(n_resamples)
    return [_measure_class(items, k, resampling) for k in most_frequent.tolist()]


def _measure_class(items: JudgedItems, k: int, resampling: Resampling) -> ClassFigures:
    """Measure precision, recall and calibration of one class.

    Args:
        items: Items that all have the same classes.
        k: Index of the class.
        resampling: Level, resamples and seed of the intervals.
    """
    is_predicted = items.top.predicted == k
    is_label = items.top.labels == k
    precision = estimate_rate(
        is_label[is_predicted], resampling, select_clusters(items.clusters, is_predicted)
    )
    recall = estimate_rate(
        is_predicted[is_label], resampling, select_clusters(items.clusters, is_label)
    )
    # The class against all others is a binary task.
    error = calibration_error(
        np.clip(items.table[:, k], 0.0, 1.0),
        is_label.astype(np.int64),
        n_bins=items.n_bins,
        kind="positive",
        resampling=resampling,
        clusters=items.clusters,
    )
    return ClassFigures(
        label=k,
        n_items=int(np.count_nonzero(is_label)),
        precision=precision,
        recall=recall,
        ece=make_estimate(error.ece, error.interval),
    )


def find_worst_split(primary: str, compared: Mapping[str, Mapping[str, Estimate]]) -> str | None:
    """Find the split whose confidence gap is significantly larger than that of the primary split.

    A gap is significantly larger if its whole interval is farther from 0, on one side, than
    `MIN_WORSE_GAP` and than both ends of the interval of the primary split.

    Args:
        primary: Name of the primary split.
        compared: Split -> its figures, including `confidence_gap`.

    Returns:
        The name of the split with the largest such gap; None if there is none.
    """
    primary_low, primary_high = _get_interval_ends(compared[primary]["confidence_gap"])
    threshold = max(MIN_WORSE_GAP, abs(primary_low), abs(primary_high))
    worst = None
    largest_gap = 0.0
    for name, figures in compared.items():
        low, high = _get_interval_ends(figures["confidence_gap"])
        # The distance of the interval from 0; negative if the interval contains 0.
        distance = max(low, -high)
        if name == primary or distance <= threshold:
            continue
        gap = abs(figures["confidence_gap"].value or 0.0)
        # If gaps are equal, the first split is reported.
        if gap > largest_gap:
            worst = name
            largest_gap = gap
    return worst


def _get_interval_ends(estimate: Estimate) -> tuple[float, float]:
    """Return the ends of the interval of an estimate; 0 and 0, which is never significant, if none."""
    if estimate.low is None or estimate.high is None:
        return 0.0, 0.0
    return estimate.low, estimate.high

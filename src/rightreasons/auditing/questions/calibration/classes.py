"""Class by class: how well each is found, and how far its probability is from how often it occurs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration.errors import calibration_error
from rightreasons.auditing.page.figures import N_BINS, Judged
from rightreasons.auditing.page.parts import Cell, Column, Estimate, Part, Table
from rightreasons.auditing.page.words import percent
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.estimates import estimate_of

MOST_CLASSES = 50
"""Rows of the table."""

MOST_RESAMPLES = 5000
"""Resamples of all rows together, so that many classes take no longer than a few."""


def classes_part(names: Sequence[str], judged: Judged, how: Resampling) -> Part:
    """Tell of each class, the most frequent first."""
    table = np.asarray(judged.top.probabilities)
    support = np.bincount(judged.top.labels, minlength=len(names))
    order = np.argsort(-support, kind="stable")[:MOST_CLASSES]
    fewer = how.at_most(max(100, MOST_RESAMPLES // len(order)))
    return Part(
        title="Class by class",
        tables=(
            Table(
                key="classes",
                title="Classes",
                columns=(
                    Column("label", "Class", "text"),
                    Column("n_items", "Items", "count"),
                    Column("n_predicted", "Predicted", "count"),
                    Column("precision", "Precision", definition="Share of its predictions that are right."),
                    Column("recall", "Recall", definition="Share of its items that are found."),
                    Column("f1", "F1", definition="Harmonic mean of the two."),
                    Column("confidence", "Confidence", definition="Mean confidence where it is predicted."),
                    Column("surplus", "Surplus", definition="Mean of its probability minus how often it occurs."),
                    Column("ece", "ECE", definition="Calibration error of its probability over all items."),
                ),
                rows=tuple(_row(names[k], table[:, k], int(k), judged, fewer) for k in order),
                note=("" if len(order) == len(names) else f"The {len(order)} most frequent of {len(names)} classes. ")
                + f"In brackets: {percent(how.level)} intervals (Wilson for precision and recall, bootstrap "
                "for the others).",
                source="Counted; van Rijsbergen 1979; Kull et al. 2019",
            ),
        ),
    )


def _row(name: str, probability: NDArray[np.float64], k: int, judged: Judged, how: Resampling) -> tuple[Cell, ...]:
    predicted, labels = judged.top.predicted == k, judged.top.labels == k
    hits, n_predicted, n_items = (int(mask.sum()) for mask in (predicted & labels, predicted, labels))
    return (
        name,
        n_items,
        n_predicted,
        _share(hits, n_predicted, how),
        _share(hits, n_items, how),
        _f1(predicted, labels, how),
        _mean(judged.top.confidence[predicted], how),
        _mean(probability - labels, how),
        _ece(probability, labels, how),
    )


def _share(hits: int, n: int, how: Resampling) -> Estimate | None:
    if n == 0:
        return None
    return estimate_of(hits / n, intervals.wilson(hits, n, confidence_level=how.level))


def _f1(predicted: NDArray[np.bool_], labels: NDArray[np.bool_], how: Resampling) -> Estimate | None:
    sums = np.column_stack((predicted & labels, predicted.astype(np.int64) + labels)).astype(np.float64)
    hits, present = sums.sum(axis=0)
    if not present:
        return None
    # A resample without the class has no F1, and is left out.
    interval = intervals.bootstrap_sums(lambda s: 2 * s[..., 0] / s[..., 1], sums, resampling=how)
    return estimate_of(2 * hits / present, interval)


def _mean(values: NDArray[np.float64], how: Resampling) -> Estimate | None:
    if not len(values):
        return None
    return estimate_of(float(values.mean()), intervals.bootstrap_mean(values, resampling=how))


def _ece(probability: NDArray[np.float64], labels: NDArray[np.bool_], how: Resampling) -> Estimate:
    result = calibration_error(
        np.clip(probability, 0.0, 1.0), labels.astype(np.int64), n_bins=N_BINS, kind="positive", resampling=how
    )
    return estimate_of(result.ece, result.interval)

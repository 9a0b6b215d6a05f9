"""One row per class: how probable the model finds it, how often it occurs, and how far apart the two are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.analysis.binning import BinSums, binned_error, quantile_edges, uniform_edges
from rightreasons.analysis.calibration.top_label import top_label
from rightreasons.foundations.label_names import check_label_names
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import MOST_BINS, check_count, check_one_of


@dataclasses.dataclass(frozen=True)
class ClassCalibration(Result):
    """The calibration of one class. Fractions in [0, 1].

    Attributes:
        class_index: The class.
        name: Its name, or None.
        ece: Calibration error of its probability over all items, in bins; lower is better.
        mean_probability: Mean probability that the model gives it, over all items.
        frequency: Share of the items whose label it is; the model favors the class where this is smaller.
        n_items: Number of items whose label it is.
        n_predicted: Number of items for which it is the top label.
        confidence: Mean confidence where it is the top label; None where it never is.
        accuracy: How often it is right there; None where it never is.
    """

    class_index: int
    name: str | None
    ece: float
    mean_probability: float
    frequency: float
    n_items: int
    n_predicted: int
    confidence: float | None
    accuracy: float | None


@dataclasses.dataclass(frozen=True)
class ClasswiseTable(Result):
    """The calibration of every class.

    Attributes:
        classwise_ece: Mean of the classes' errors, as `calibration_error(kind="classwise")` gives it.
        worst_class: The class with the largest error.
        classes: One row per class.
        n_items: Number of items.
        n_bins: Number of bins for each class.
    """

    classwise_ece: float
    worst_class: int
    classes: tuple[ClassCalibration, ...]
    n_items: int
    n_bins: int


def classwise_table(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    strategy: str = "uniform",
    scores: str = "probabilities",
    label_names: Sequence[str] | None = None,
) -> ClasswiseTable:
    r"""Measure the calibration of each class by itself.

    \[ ECE_k = \sum_m \frac{|B_{mk}|}{n} \left| \bar y_k(B_{mk}) - \bar p_k(B_{mk}) \right| \]

    in bins of the probability of class k; lower is better.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
        references: (N,) labels.
        n_bins: Number of bins.
        strategy: "uniform" or "quantile".
        scores: "probabilities", "logits" or "log_probabilities".
        label_names: K names of the classes.

    Returns:
        A `ClasswiseTable`: the mean error, the worst class, one row per class, number of items and bins.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong, or if rows have different lengths.

    References:
        Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), Beyond Temperature Scaling, section 2.
        Nixon et al. (2019), Measuring Calibration in Deep Learning, eq. 3 (static calibration error).

    Example:
        >>> table = classwise_table([[0.9, 0.1], [0.8, 0.2]], [0, 1], n_bins=1, label_names=["no", "yes"])
        >>> row = table.classes[0]
        >>> row.name, round(row.ece, 6), round(row.mean_probability, 6), row.frequency, row.accuracy
        ('no', 0.35, 0.85, 0.5, 0.5)
    """
    n_bins = check_count(n_bins, "n_bins", maximum=MOST_BINS)
    check_one_of(strategy, ("uniform", "quantile"), "strategy")
    top = top_label(predictions, references, scores=scores)
    pairs = top.pairs("classwise")
    names = None if label_names is None else check_label_names(label_names)
    if names is not None and len(names) != len(pairs):
        raise ValueError(f"Expected {len(pairs)} `label_names`, one a class, but got {len(names)}.")
    rows = []
    for k, (probability, is_label) in enumerate(pairs):
        edges = uniform_edges(n_bins) if strategy == "uniform" else quantile_edges(probability, n_bins)
        sums = BinSums.empty(edges[None])
        sums.add(0, probability, is_label, uniform=strategy == "uniform")
        chosen = top.predicted == k
        n_predicted = int(np.count_nonzero(chosen))
        rows.append(
            ClassCalibration(
                class_index=k,
                name=None if names is None else names[k],
                ece=float(binned_error(sums.counts, sums.score_sums, sums.event_counts)),
                mean_probability=float(probability.mean()),
                frequency=float(is_label.mean()),
                n_items=int(np.count_nonzero(is_label)),
                n_predicted=n_predicted,
                confidence=float(top.confidence[chosen].mean()) if n_predicted else None,
                accuracy=float(top.correct[chosen].mean()) if n_predicted else None,
            )
        )
    errors = [row.ece for row in rows]
    return ClasswiseTable(float(np.mean(errors)), int(np.argmax(errors)), tuple(rows), len(top), n_bins)

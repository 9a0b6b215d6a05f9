"""The figures of accuracy and confidence: their texts, and how each is estimated.

`FIGURES` is the entry point. It maps the key of a figure to its text, which is an entry of
figures.yaml, and to its estimator, which computes the figure of `JudgedItems` with its interval.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TopLabel
from rightreasons.calibration.error_interval import bound_mean_gap
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.proper_scores import auroc, compute_aurc, label_log_probability
from rightreasons.calibration.smooth import ece_sweep, smooth_ece
from rightreasons.core import bootstrap, intervals
from rightreasons.core.arrays import Floats
from rightreasons.core.classification import compute_macro_f1
from rightreasons.core.estimates import (
    Estimate,
    FigureText,
    estimate_mean,
    estimate_rate,
    make_estimate,
)
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.yaml_files import read_yaml

MAX_SLOW_RESAMPLES = 100
"""Maximum number of resamples of figures that take milliseconds each."""

MIN_ANSWERS_OF_EACH_KIND = 5
"""Minimum number of correct and of incorrect answers for the interval of a figure of their ranking.

Fewer do not show how uncertain such a figure is.
"""

Estimator = Callable[[JudgedItems, Resampling], Estimate | None]
"""Computes a figure with its interval; returns None if the items have no such figure."""

Statistic = Callable[[TopLabel], float | None]
"""Computes a figure from top labels; returns None if it is undefined."""

AnswerStatistic = Callable[[Floats, NDArray[np.bool_]], float]
"""Computes a figure from (N,) confidence and (N,) correctness."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure(FigureText):
    """A figure of accuracy or confidence: its text, and how it is estimated.

    Attributes:
        estimate: Estimator of the figure.
        of_answers: Definition for the confidence in given answers; "" if it is the same.
    """

    estimate: Estimator
    of_answers: str = ""

    def fill_definition(self, n_bins: int, kind: str = "top_label") -> Figure:
        """Return the figure with its definition for a number of bins and a kind of confidence."""
        definition = self.definition
        if kind == "confidence" and self.of_answers:
            definition = self.of_answers
        return dataclasses.replace(self, definition=definition.format(n_bins=n_bins))


STATISTICS: Mapping[str, Statistic] = {
    "smooth_ece": lambda top: smooth_ece(top).smooth_ece,
    "ece_sweep": lambda top: ece_sweep(top).ece,
    "macro_ce": lambda top: macro_ce(top).macro_ce,
    "aurc": lambda top: compute_aurc(top.confidence, top.correct)[0],
    "auroc": lambda top: auroc(top.confidence, top.correct),
}
"""Figures that depend only on the confidence and the correctness of each answer."""


# --- Values per item


def compute_gaps(items: JudgedItems) -> Floats:
    """Return (N,) confidence minus correctness."""
    return items.top.confidence - items.top.correct


def compute_squared_distances(items: JudgedItems) -> Floats:
    """Return (N,) squared distance of the probabilities of each item from its one-hot label."""
    # With the one-hot label subtracted, the sum of squares is the distance: the Brier score.
    distances = items.table.copy()
    distances[np.arange(len(items)), items.top.labels] -= 1.0
    distances *= distances
    return np.asarray(distances.sum(axis=1))


def compute_log_losses(items: JudgedItems) -> Floats:
    """Return (N,) negative log probability of the label."""
    return -label_log_probability(items.logits, items.top.labels)


# --- Estimators of single figures


def _estimate_accuracy(items: JudgedItems, resampling: Resampling) -> Estimate | None:
    return estimate_rate(items.top.correct, resampling, items.clusters)


def _estimate_macro_f1(items: JudgedItems, resampling: Resampling) -> Estimate | None:
    value, interval = compute_macro_f1(
        items.top.predicted, items.top.labels, resampling, items.clusters
    )
    return make_estimate(value, interval)


def _estimate_answer_brier(items: JudgedItems, resampling: Resampling) -> Estimate | None:
    if items.kind != "confidence":
        return None
    squares = np.clip(compute_gaps(items) ** 2, 0.0, 1.0)
    return estimate_mean(squares, resampling, bounds=(0.0, 1.0), clusters=items.clusters)


def _estimate_log_loss(items: JudgedItems, resampling: Resampling) -> Estimate | None:
    """Estimate the mean log loss, -log P(label), with its interval over items or clusters.

    Args:
        items: Labeled items with confidence and correctness, and their clusters.
        resampling: Level, resamples and seed of the interval.

    Returns:
        The estimate. Its value is None if a label has the probability 0. If there are too few
        correct or incorrect answers, its `method` is the reason for the missing interval.
    """
    losses = compute_log_losses(items)
    # The loss of a label with probability 0 is infinite, and so is the mean.
    if not np.isfinite(losses).all():
        return Estimate(None)
    skip_reason = _explain_missing_interval(items)
    if skip_reason:
        return Estimate(float(losses.mean()), method=skip_reason)
    return estimate_mean(losses, resampling, clusters=items.clusters)


# --- Makers of estimators


def _require_fixed_classes(estimate: Estimator) -> Estimator:
    """Return an estimator that is defined only for items that all have the same classes.

    Args:
        estimate: Estimator of a figure of such items. For other items, the result returns None.
    """

    def estimate_with_fixed_classes(items: JudgedItems, resampling: Resampling) -> Estimate | None:
        return estimate(items, resampling) if items.has_fixed_classes else None

    return estimate_with_fixed_classes


def _make_mean_estimator(
    compute_values: Callable[[JudgedItems], Floats], low: float, high: float
) -> Estimator:
    """Return an estimator of the mean of one value per item, with an interval that uses its bounds.

    With bounds, the interval is valid even if the mean depends on a few rare items, such as the
    errors of a confident model.

    Args:
        compute_values: Returns the (N,) values of items.
        low: Smallest possible value.
        high: Largest possible value.
    """

    def estimate(items: JudgedItems, resampling: Resampling) -> Estimate | None:
        # Rounding may carry a value slightly beyond a bound.
        values = np.clip(compute_values(items), low, high)
        return estimate_mean(values, resampling, bounds=(low, high), clusters=items.clusters)

    return estimate


def _make_error_estimator(**options: Any) -> Estimator:
    """Return an estimator of a binned calibration error.

    Args:
        **options: Fields of `CalibrationErrorOptions`, such as `strategy="quantile"`.
    """

    def estimate(items: JudgedItems, resampling: Resampling) -> Estimate:
        result = items.compute_error(resampling, **options)
        return make_estimate(result.ece, result.interval)

    return estimate


@dataclasses.dataclass(frozen=True)
class StatisticEstimator:
    """Estimator of one of `STATISTICS`.

    Attributes:
        key: Key of the statistic.
        make_interval: Computes the interval of a statistic of N answers, from the items and the
            resampling.
    """

    key: str
    make_interval: Callable[[AnswerStatistic, JudgedItems, Resampling], Interval]

    def __call__(self, items: JudgedItems, resampling: Resampling) -> Estimate:
        """Estimate the statistic of items.

        Args:
            items: Labeled items with confidence and correctness, and their clusters.
            resampling: Level, resamples and seed of the interval.

        Returns:
            The statistic. Its value is None if it is undefined. If there are too few correct or
            incorrect answers, its `method` is the reason for the missing interval.
        """
        value = STATISTICS[self.key](items.top)
        if value is None:
            return Estimate(None)
        skip_reason = _explain_missing_interval(items)
        if skip_reason:
            return Estimate(value, method=skip_reason)
        interval = self.make_interval(self.compute_statistic, items, resampling)
        # A bias-corrected interval may exclude the statistic, so it is extended to include it.
        low = max(min(interval.low, value), 0.0)
        high = min(max(interval.high, value), 1.0)
        return make_estimate(value, dataclasses.replace(interval, low=low, high=high))

    def compute_statistic(self, confidence: Floats, correct: NDArray[np.bool_]) -> float:
        """Compute the statistic of answers, such as a resample of the items.

        Args:
            confidence: (N,) confidence in each answer.
            correct: (N,) whether each answer is correct.

        Returns:
            The statistic; 0 if it is undefined, as for a resample without incorrect answers.
        """
        # The statistics only use confidence and correctness. The other columns are empty to save
        # time.
        unused: Any = np.array(())
        top = TopLabel(
            confidence=confidence,
            predicted=unused,
            correct=correct,
            labels=unused,
            probabilities=unused,
        )
        value = STATISTICS[self.key](top)
        if value is None:
            return 0.0
        return float(value)


def _explain_missing_interval(items: JudgedItems) -> str:
    """Return the reason why a ranking of the answers gets no interval; "" if it gets one.

    A ranking needs `MIN_ANSWERS_OF_EACH_KIND` independent answers that are correct, and as many
    that are incorrect.
    """
    for kind, mask in (("incorrect", ~items.top.correct), ("correct", items.top.correct)):
        if items.count_masked_units(mask) < MIN_ANSWERS_OF_EACH_KIND:
            return f"no interval: fewer than {MIN_ANSWERS_OF_EACH_KIND} answers are {kind}"
    return ""


# --- Intervals of statistics


def _jackknife(compute: AnswerStatistic, items: JudgedItems, resampling: Resampling) -> Interval:
    """Compute the jackknife interval of a statistic in [0, 1], on the scale of its logit.

    Args:
        compute: Function of (N,) confidence and (N,) correctness that returns the statistic.
        items: Labeled items with confidence and correctness, and their clusters.
        resampling: Level of the interval.
    """
    confidence, correct, clusters = items.canonical_answers
    # The precision of a ranking is limited by the rarer of correct and incorrect answers.
    n_correct = items.count_masked_units(items.top.correct)
    n_incorrect = items.count_masked_units(~items.top.correct)
    return bootstrap.jackknife(
        compute,
        confidence,
        correct,
        clusters=clusters,
        level=resampling.level,
        on_logit=True,
        n_known=min(n_correct, n_incorrect),
    )


def _bootstrap_error(
    compute: AnswerStatistic, items: JudgedItems, resampling: Resampling
) -> Interval:
    """Compute the basic bootstrap interval of a calibration error that is biased upward.

    Args:
        compute: Function of (N,) confidence and (N,) correctness that returns the error. It is slow,
            so at most `MAX_SLOW_RESAMPLES` resamples are drawn.
        items: Labeled items with confidence and correctness, and their clusters.
        resampling: Level, number of resamples and seed.
    """
    confidence, correct, clusters = items.canonical_answers
    interval = bootstrap.bootstrap(
        compute,
        confidence,
        correct,
        clusters=clusters,
        resampling=resampling.limit_resamples(MAX_SLOW_RESAMPLES),
        mirrored=True,
    )

    # The resamples of a calibrated model all have errors above 0, its true error. So the interval
    # begins at 0 unless the binned error is significantly larger than by chance.
    low = interval.low
    if items.get_null_model(resampling).p_value > 1 - resampling.level:
        low = 0.0
    # The error is at least the gap between mean confidence and accuracy, so the interval must
    # include the largest plausible gap.
    max_gap = bound_mean_gap(items.top.confidence, items.top.correct, items.clusters, resampling)
    high = max(interval.high, max_gap)
    return dataclasses.replace(interval, low=low, high=high)


def _use_delong(_: AnswerStatistic, items: JudgedItems, resampling: Resampling) -> Interval:
    """Compute DeLong's interval of the AUROC, which has a closed form.

    The first argument, the statistic, is ignored: all makers of intervals have the same arguments.
    """
    return intervals.delong(
        items.top.confidence,
        items.top.correct,
        confidence_level=resampling.level,
        clusters=items.clusters,
    )


ESTIMATORS: Mapping[str, Estimator] = {
    "accuracy": _estimate_accuracy,
    "macro_f1": _require_fixed_classes(_estimate_macro_f1),
    "mean_confidence": _make_mean_estimator(lambda items: items.top.confidence, 0.0, 1.0),
    "confidence_gap": _make_mean_estimator(compute_gaps, -1.0, 1.0),
    "ece": _make_error_estimator(),
    "ece_debiased": _make_error_estimator(debias=True),
    "adaptive_ece": _make_error_estimator(strategy="quantile"),
    "smooth_ece": StatisticEstimator("smooth_ece", _bootstrap_error),
    "ece_sweep": StatisticEstimator("ece_sweep", _bootstrap_error),
    "rmsce_debiased": _make_error_estimator(norm="l2", debias=True),
    "mce": _make_error_estimator(norm="max"),
    "classwise_ece": _require_fixed_classes(_make_error_estimator(kind="classwise")),
    "macro_ce": StatisticEstimator("macro_ce", _jackknife),
    "brier": _require_fixed_classes(_make_mean_estimator(compute_squared_distances, 0.0, 2.0)),
    "brier_of_answers": _estimate_answer_brier,
    "nll": _estimate_log_loss,
    "aurc": StatisticEstimator("aurc", _jackknife),
    "auroc": StatisticEstimator("auroc", _use_delong),
}
"""Estimator of each figure, in the order of the report."""

_TEXTS = read_yaml(Path(__file__).with_name("figures.yaml"))

FIGURES = {key: Figure(**_TEXTS[key], estimate=estimate) for key, estimate in ESTIMATORS.items()}
"""All figures by key, in the order of the report; "{n_bins}" in a definition is their number."""

VOTE_FIGURES = {key: FigureText(**_TEXTS[key]) for key in ("dist_ce", "ent_ce", "rank_cs")}
"""Texts of the figures of `HumanCalibration`, by their names there."""

"""What a model's score costs in shortcuts: score over shortcut rate."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.classification import AVERAGES, MOST_CLASSES
from rightreasons.analysis.intervals import Interval
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import (
    check_count,
    check_flags,
    check_labels,
    check_one_of,
    check_same_length,
)

SCORES = ("f1", "accuracy")

_CELLS_AT_ONCE = 2**22


@dataclasses.dataclass(frozen=True)
class ShortcutTradeoff(Result):
    """A score over the shortcut rate, with its parts.

    Attributes:
        shortcut_tradeoff: T_sc, score / shortcut rate, from 0 up; higher means more score for fewer shortcuts. None
            where no prediction is shortcut-cued (division by zero) or the score is undefined.
        score: The score, in [0, 1]; None where it is undefined (binary F1 without class 1).
        shortcut_rate: P_sc, the share of predictions that are shortcut-cued, in [0, 1].
        interval: Percentile bootstrap interval of T_sc over items; None where T_sc is None, or where resamples without
            any shortcut are so common that its upper end is infinite.
        n_items: Number of predictions.
        n_cued: Number of shortcut-cued ones.
        definition: The definition used, in words.
    """

    shortcut_tradeoff: float | None
    score: float | None
    shortcut_rate: float
    interval: Interval | None
    n_items: int
    n_cued: int
    definition: str


class TradeoffCounts:
    """Mergeable counts of (label, prediction, cued): the sufficient statistic of the trade-off and of its interval.

    Args:
        n_classes: Number of classes K.

    Example:
        >>> one = TradeoffCounts(2).update([1, 0], [1, 0], [True, False])
        >>> two = TradeoffCounts(2).update([1, 1], [1, 0], [True, True])
        >>> one.merge(two).result(score="accuracy", resampling=Resampling(resamples=100)).shortcut_tradeoff
        1.0
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = check_count(n_classes, "n_classes", minimum=2, maximum=MOST_CLASSES)
        self.counts: NDArray[np.int64] = np.zeros((self.n_classes, self.n_classes, 2), dtype=np.int64)

    def update(self, predictions: Any, references: Any, cued: Any) -> TradeoffCounts:
        """Add predicted labels, labels and flags, all (N,), and return the same object."""
        predicted = check_labels(predictions, name="predictions")
        labels = check_labels(references, name="references")
        flags = check_flags(cued, "cued")
        check_same_length(predictions=predicted, references=labels, cued=flags)
        predicted = check_labels(predicted, self.n_classes, name="predictions")
        labels = check_labels(labels, self.n_classes, name="references")
        cells = (labels * self.n_classes + predicted) * 2 + flags
        self.counts = self.counts + np.bincount(cells, minlength=self.counts.size).reshape(self.counts.shape)
        return self

    def merge(self, other: TradeoffCounts) -> TradeoffCounts:
        """Return the counts of both; the numbers of classes must be the same. The operation is associative."""
        if self.n_classes != other.n_classes:
            raise ValueError(f"Expected {self.n_classes} classes to merge with, but got {other.n_classes}.")
        merged = TradeoffCounts(self.n_classes)
        merged.counts = self.counts + other.counts
        return merged

    def result(
        self,
        *,
        score: str = "f1",
        average: str = "macro",
        resampling: Resampling = Resampling(),
    ) -> ShortcutTradeoff:
        """Compute the trade-off; see `shortcut_tradeoff` for the options."""
        check_one_of(score, SCORES, "score")
        check_one_of(average, AVERAGES, "average")
        if score == "f1" and average == "binary" and self.n_classes != 2:
            raise ValueError(f"Expected two classes for average='binary', but got {self.n_classes}.")
        n_items = int(self.counts.sum())
        if n_items == 0:
            raise ValueError("Expected at least one item, but nothing was counted.")

        present = self.counts.sum(axis=(1, 2)) + self.counts.sum(axis=(0, 2)) > 0
        value, rate = _parts(self.counts, score, average, present)
        ratio = _ratio(value, rate)
        # A bootstrap over items draws the counts of the cells from a multinomial law. Its shares are those observed,
        # with half an item per class spread evenly over the predictions, so that a rare class without errors may err;
        # where one class alone is there, over all that there may be.
        cued, likely = np.array([1 - rate, rate]), present if present.sum() > 1 else np.ones_like(present)
        smoothed = self.counts + 0.5 / likely.sum() * cued * (likely[:, None] & likely[None, :])[..., None]
        rng, shares = np.random.default_rng(resampling.seed), smoothed.reshape(-1) / smoothed.sum()
        sizes = resampling.parts(self.counts.size, at_once=_CELLS_AT_ONCE)
        parts = (rng.multinomial(n_items, shares, size=size) for size in sizes)
        tables = (part.reshape(-1, *self.counts.shape) for part in parts)
        ratios = np.concatenate([_ratio(*_parts(table, score, average, present)) for table in tables])
        n_cued = int(self.counts[..., 1].sum())
        name = "accuracy" if score == "accuracy" else f"{average} F1"
        return ShortcutTradeoff(
            shortcut_tradeoff=float(ratio) if np.isfinite(ratio) else None,
            score=float(value) if np.isfinite(value) else None,
            shortcut_rate=float(rate),
            interval=_interval(ratios, resampling.level) if np.isfinite(ratio) else None,
            n_items=n_items,
            n_cued=n_cued,
            definition=f"{name} divided by the share of shortcut-cued predictions, both as fractions.",
        )


@checks_kinds
def shortcut_tradeoff(
    predictions: Any,
    references: Any,
    cued: Any,
    *,
    score: str = "f1",
    average: str = "macro",
    n_classes: int | None = None,
    resampling: Resampling = Resampling(),
) -> ShortcutTradeoff:
    r"""Divide a model's score by the share of its predictions that rest on shortcuts.

    \[ T_{sc} = \frac{F1}{P_{sc}} \]

    From 0 up, higher is better: 1.02 is an F1 of 0.9395 at a shortcut rate of 0.9211. Read it with its parts: it
    rewards a low rate without limit.

    Args:
        predictions: (N,) predicted labels.
        references: (N,) labels.
        cued: (N,) whether each prediction is shortcut-cued, such as the `cued` of `shortcut_reliance`'s examples.
        score: "f1" (default) or "accuracy".
        average: Average of F1: "macro" (default), "binary" (F1 of class 1), "micro" or "weighted". The paper does not
            say which; its CoLA figures fit the binary one, its TweetEval figures the macro one.
        n_classes: Number of classes; default: the largest label there is, plus one, and at least two.
        resampling: How the interval is resampled.

    Returns:
        `ShortcutTradeoff`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label is out of range, or an option is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2 and Table 3.

    Example:
        >>> result = shortcut_tradeoff([1, 1, 0, 0], [1, 0, 0, 0], [True, False, True, False], score="accuracy")
        >>> result.shortcut_tradeoff, result.score, result.shortcut_rate
        (1.5, 0.75, 0.5)
    """
    most = MOST_CLASSES if n_classes is None else None
    predicted = check_labels(predictions, most, name="predictions")
    labels = check_labels(references, most, name="references")
    classes = n_classes if n_classes is not None else max(int(predicted.max()), int(labels.max()), 1) + 1
    return (
        TradeoffCounts(classes)
        .update(predicted, labels, cued)
        .result(score=score, average=average, resampling=resampling)
    )


def _parts(
    counts: NDArray[np.int64], score: str, average: str, present: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score and the shortcut rate of (..., K, K, 2) counts; NaN where a score is undefined.

    The mean of macro F1 is over the classes `present` in the data, also where a resample lacks one: its F1 is 0.
    """
    size = counts.sum(axis=(-3, -2, -1))
    rate = counts[..., 1].sum(axis=(-2, -1)) / size
    confusion = counts.sum(axis=-1)
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    if score == "accuracy" or average == "micro":
        return np.asarray(hits.sum(axis=-1) / size), rate
    support, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
    either = support + predicted
    f1 = 2 * hits / np.maximum(either, 1)
    if average == "binary":
        return np.where(either[..., 1] > 0, f1[..., 1], np.nan), rate
    if average == "weighted":
        return np.asarray((f1 * support).sum(axis=-1) / size), rate
    return np.asarray(f1.sum(axis=-1) / present.sum()), rate


def _ratio(value: NDArray[np.float64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; infinite where nothing is cued, so that it sorts above every figure."""
    return np.where(rate > 0, value / np.where(rate > 0, rate, 1.0), np.where(np.isnan(value), np.nan, np.inf))


def _interval(ratios: NDArray[np.float64], confidence_level: float) -> Interval | None:
    defined = ratios[~np.isnan(ratios)]
    tail = (1.0 - confidence_level) / 2.0
    if not defined.size:
        return None
    # The nearest order statistics: an interpolation with an infinite one would be no number.
    low, high = np.quantile(defined, (tail, 1.0 - tail), method="closest_observation")
    if not np.isfinite(high):
        return None
    return Interval(float(low), float(high), confidence_level, "percentile bootstrap", int(defined.size))

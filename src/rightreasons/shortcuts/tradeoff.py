"""Divide a score by the share of predictions that rely on shortcuts.

The counts of labels, predictions and cued predictions determine both parts, so that everything is
computed from one table of them, and the bootstrap resamples the table instead of the items.
`shortcut_tradeoff` is the entry point.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats
from rightreasons.core.classification import AVERAGES, MAX_CLASSES
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_flags,
    check_labels,
    check_one_of,
    check_same_length,
)

MAX_CELLS_PER_BLOCK = 2**22
"""Number of cells of resampled tables that are in memory together."""

Counts = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class ShortcutTradeoff(Result):
    """A score divided by the shortcut rate, with both parts.

    Attributes:
        shortcut_tradeoff: T_sc, score / shortcut rate, from 0 up; higher means more score for fewer
            shortcuts. None if no prediction is shortcut-cued (division by zero) or the score is
            undefined.
        score: The score, in [0, 1]; None if it is undefined (binary F1 without class 1).
        shortcut_rate: P_sc, the share of predictions that are shortcut-cued, in [0, 1].
        interval: Percentile bootstrap interval of T_sc over items; None if T_sc is None, or if
            resamples without any shortcut are so common that its upper end is infinite.
        n_items: Number of predictions.
        n_cued: Number of shortcut-cued predictions.
        definition: The definition used, in words.
    """

    shortcut_tradeoff: float | None
    score: float | None
    shortcut_rate: float
    interval: Interval | None
    n_items: int
    n_cued: int
    definition: str


def shortcut_tradeoff(
    predictions: Any,
    references: Any,
    cued: Any,
    *,
    average: str = "macro",
    n_classes: int | None = None,
    resampling: Resampling = Resampling(),
) -> ShortcutTradeoff:
    r"""Divide a model's score by the share of its predictions that rely on shortcuts.

    \[ T_{sc} = \frac{F1}{P_{sc}} \]

    From 0 up, higher is better: 1.02 is an F1 of 0.9395 at a shortcut rate of 0.9211. Read it with
    its parts, because it rewards a low rate without limit.

    Args:
        predictions: (N,) predicted labels.
        references: (N,) labels.
        cued: (N,) whether each prediction is shortcut-cued, such as the `cued` of
            `shortcut_reliance`'s examples.
        average: Average of F1: "macro" (default), "binary" (F1 of class 1), "micro" (accuracy) or
            "weighted". The paper does not name its average; its CoLA figures fit the binary one,
            its TweetEval figures the macro one.
        n_classes: Number of classes K. Macro F1 is then the mean over all K classes, and a class
            that is neither a label nor predicted has an F1 of 0, as with `labels=range(K)` in
            scikit-learn. If None (default), the mean is over the classes that occur as a label or a
            prediction, as in scikit-learn without `labels`. `classification_scores` follows the
            same rule, and the paper does not name its own.
        resampling: How the interval is resampled.

    Returns:
        `ShortcutTradeoff`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a label is out of range, or an option is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2 and Table 3.

    Example:
        >>> cued = [True, False, True, False]
        >>> result = shortcut_tradeoff([1, 1, 0, 0], [1, 0, 0, 0], cued, average="micro")
        >>> result.shortcut_tradeoff, result.score, result.shortcut_rate
        (1.5, 0.75, 0.5)

        Both classes have an F1 of 1, and a third one, which does not occur, of 0:

        >>> round(shortcut_tradeoff([0, 1], [0, 1], [True, True], n_classes=3).score, 3)
        0.667
    """
    check_one_of(average, AVERAGES, "average")
    flags = check_flags(cued, "cued")
    max_classes = MAX_CLASSES
    if n_classes is not None:
        max_classes = check_count(n_classes, "n_classes", minimum=2, maximum=MAX_CLASSES)
    predicted = check_labels(predictions, max_classes, name="predictions")
    labels = check_labels(references, max_classes, name="references")
    check_same_length(predictions=predicted, references=labels, cued=flags)
    # Binary F1 needs a class 1, so that there are at least two classes.
    largest = max(int(predicted.max()), int(labels.max()), 1)
    size = n_classes or largest + 1
    if average == "binary" and size != 2:
        raise OptionError(
            f"Expected two classes for average='binary', but got {size}.", option="average"
        )

    counts = _count_cells(labels, predicted, flags, size)
    is_averaged = _find_occurring_classes(counts)
    if n_classes is not None:
        is_averaged = np.ones(size, dtype=np.bool_)
    score, rate = _compute_score_and_rate(counts, average, is_averaged)
    ratio = _divide_scores(score, rate)

    # JSON has neither NaN nor infinity.
    tradeoff = None
    interval = None
    if np.isfinite(ratio):
        tradeoff = float(ratio)
        ratios = _resample_ratios(counts, average, is_averaged, resampling)
        interval = _make_ratio_interval(ratios, resampling.level)
    return ShortcutTradeoff(
        shortcut_tradeoff=tradeoff,
        score=float(score) if np.isfinite(score) else None,
        shortcut_rate=float(rate),
        interval=interval,
        n_items=len(labels),
        n_cued=int(flags.sum()),
        definition=f"{average} F1 divided by the share of shortcut-cued predictions, "
        "both as fractions.",
    )


def _count_cells(
    labels: NDArray[np.int64],
    predicted: NDArray[np.int64],
    flags: NDArray[np.bool_],
    size: int,
) -> Counts:
    """Count items by label, prediction, and whether the prediction is cued.

    Args:
        labels: (N,) gold labels.
        predicted: (N,) predicted labels.
        flags: (N,) whether each prediction is cued.
        size: Number of classes K.

    Returns:
        (K, K, 2) counts.
    """
    codes = (labels * size + predicted) * 2 + flags
    table = np.bincount(codes, minlength=2 * size**2)
    return table.reshape(size, size, 2)


def _find_occurring_classes(counts: Counts) -> NDArray[np.bool_]:
    """Return (K,) whether a class occurs as a label or as a prediction."""
    n_labels = counts.sum(axis=(1, 2))
    n_predictions = counts.sum(axis=(0, 2))
    return np.asarray(n_labels + n_predictions > 0)


def _compute_score_and_rate(
    counts: Counts, average: str, is_averaged: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Compute the score and the shortcut rate of tables of counts.

    Macro F1 is the mean over the same classes in every resample: a class that a resample lacks has
    an F1 of 0.

    Args:
        counts: (..., K, K, 2) number of items by label, prediction, and whether they are cued. Any
            axes before the last three count resamples.
        average: Average of F1: "macro", "binary", "micro" or "weighted".
        is_averaged: (K,) classes over which macro F1 is the mean.

    Returns:
        (...) scores, NaN if they are undefined, and (...) shortcut rates.
    """
    n_items = counts.sum(axis=(-3, -2, -1))
    rate = counts[..., 1].sum(axis=(-2, -1)) / n_items
    # (..., K, K) number of items by label and prediction.
    confusion = counts.sum(axis=-1)
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    if average == "micro":
        accuracy = hits.sum(axis=-1) / n_items
        return np.asarray(accuracy), rate

    n_labels = confusion.sum(axis=-1)
    n_predictions = confusion.sum(axis=-2)
    denominator = n_labels + n_predictions
    # A class that is neither a label nor predicted has no hits, and thus an F1 of 0.
    f1 = 2 * hits / np.maximum(denominator, 1)
    if average == "binary":
        is_defined = denominator[..., 1] > 0
        return np.where(is_defined, f1[..., 1], np.nan), rate
    if average == "weighted":
        weighted_sum = (f1 * n_labels).sum(axis=-1)
        return np.asarray(weighted_sum / n_items), rate
    return np.asarray(f1.sum(axis=-1) / is_averaged.sum()), rate


def _divide_scores(score: Floats, rate: Floats) -> Floats:
    """Divide scores by rates.

    The quotient is infinite for a rate of 0, so that it sorts above every number, and NaN for an
    undefined score, whatever the rate.

    Args:
        score: Scores of any shape; NaN where a score is undefined.
        rate: Rates of the same shape, at least 0.
    """
    is_cued = rate > 0
    # A divisor of 0 is replaced, so that numpy does not warn.
    quotient = score / np.where(is_cued, rate, 1.0)
    without_cues = np.where(np.isnan(score), np.nan, np.inf)
    return np.where(is_cued, quotient, without_cues)


def _resample_ratios(
    counts: Counts,
    average: str,
    is_averaged: NDArray[np.bool_],
    resampling: Resampling,
) -> Floats:
    """Return (B,) the ratio of score and shortcut rate in each resample of the items.

    Args:
        counts: (K, K, 2) number of items by label, prediction, and whether they are cued.
        average: Average of F1.
        is_averaged: (K,) classes over which macro F1 is the mean.
        resampling: Number of resamples B, and their seed.
    """
    # A bootstrap over items draws the counts of the cells from a multinomial law.
    shares = _smooth_shares(counts).reshape(-1)
    n_items = int(counts.sum())
    rng = np.random.default_rng(resampling.seed)
    ratios = []
    for n_draws in resampling.split_into_blocks(counts.size, max_numbers=MAX_CELLS_PER_BLOCK):
        draws = rng.multinomial(n_items, shares, size=n_draws)
        tables = draws.reshape(-1, *counts.shape)
        score, rate = _compute_score_and_rate(tables, average, is_averaged)
        ratios.append(_divide_scores(score, rate))
    return np.concatenate(ratios)


def _smooth_shares(counts: Counts) -> Floats:
    """Return the shares of the cells of a table, smoothed for the bootstrap.

    Half an item is added, spread over the cells by label and prediction. Without it, a cell that is
    empty by chance, such as the errors of a rare class, would be empty in every resample.

    Args:
        counts: (K, K, 2) number of items by label, prediction, and whether they are cued.

    Returns:
        (K, K, 2) shares with the sum 1. Cells of classes that do not occur stay empty.
    """
    is_likely = _find_occurring_classes(counts)
    # If a single class occurs, it is unknown which other ones may.
    if is_likely.sum() == 1:
        is_likely = np.ones_like(is_likely)
    # (K, K) whether label and prediction are both classes that occur.
    is_possible = is_likely[:, None] & is_likely
    # Added items are cued as often as the observed ones.
    rate = counts[..., 1].sum() / counts.sum()
    share_by_cue = np.array([1 - rate, rate])
    added_items = 0.5 / is_likely.sum() * share_by_cue
    smoothed = counts + added_items * is_possible[..., None]
    return np.asarray(smoothed / smoothed.sum())


def _make_ratio_interval(ratios: Floats, confidence_level: float) -> Interval | None:
    """Return the percentile bootstrap interval of the ratios of resamples.

    Args:
        ratios: (B,) ratios, infinite for a resample without any shortcut, and NaN for one whose
            score is undefined, which is excluded.
        confidence_level: Level of the interval.

    Returns:
        The interval; None if its upper end is infinite, or no ratio is defined.
    """
    defined = ratios[~np.isnan(ratios)]
    if not defined.size:
        return None
    tail = (1.0 - confidence_level) / 2.0
    # Quantiles are values of resamples: an interpolation with an infinite one would be NaN.
    low, high = np.quantile(defined, (tail, 1.0 - tail), method="closest_observation")
    if not np.isfinite(high):
        return None
    return Interval(
        low=float(low),
        high=float(high),
        confidence_level=confidence_level,
        method="percentile bootstrap",
        n_resamples=int(defined.size),
    )

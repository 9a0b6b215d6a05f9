"""What a model's score costs in shortcuts: score over shortcut rate."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, Result, ingest, to_numpy
from rightreasons.core.intervals import Interval, cluster_wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import AVERAGES, MOST_CLASSES
from rightreasons.core.validation import (
    as_ragged,
    check_count,
    check_flags,
    check_labels,
    check_one_of,
    check_same_length,
)


@dataclasses.dataclass(frozen=True)
class DetectionQuality(Result):
    """How well found tokens agree with planted ones. Shares in [0, 1], higher is better.

    Attributes:
        precision: Share of the found tokens that are planted; None where none is found.
        recall: Share of the planted tokens that are found; None where none is planted.
        f1: Their harmonic mean; None where one of them is None, 0 where both are 0.
        precision_interval: Its interval with texts as clusters (`cluster_wilson`); None where precision is.
        recall_interval: The same of recall.
        text_recall: Share of the texts with a planted token in which at least one is found; None where none has one.
        n_texts: Number of texts.
        n_found: Number of found tokens.
        n_planted: Number of planted tokens.
        n_both: Number of tokens that are both.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval | None
    recall_interval: Interval | None
    text_recall: float | None
    n_texts: int
    n_found: int
    n_planted: int
    n_both: int


def detection_quality(found: Any, planted: Any, *, resampling: Resampling = Resampling()) -> DetectionQuality:
    r"""Compare the tokens that a detector finds with the tokens that were planted.

    \[ precision = \frac{|found \cap planted|}{|found|}, \quad recall = \frac{|found \cap planted|}{|planted|} \]

    with tokens counted over all texts.

    Args:
        found: N lists of flags, one per token: whether the detector found it.
        planted: N lists of flags of the same lengths: whether it was planted.
        resampling: Its level is that of the intervals.

    Returns:
        `DetectionQuality`.

    Raises:
        TypeError: If flags are not True, False, 0 or 1.
        ValueError: If lengths differ or there are no texts.

    Example:
        >>> quality = detection_quality([[1, 1, 0], [0, 1]], [[1, 0, 0], [1, 0]])
        >>> round(quality.precision, 4), quality.recall, quality.text_recall
        (0.3333, 0.5, 0.5)
    """
    detected, truth = _flags(found, "found"), _flags(planted, "planted")
    if check_same_length(found=detected, planted=truth) == 0:
        raise ValueError("Expected at least one text, but `found` is empty.")
    differ = np.flatnonzero(detected.lengths != truth.lengths)
    if differ.size:
        item = int(differ[0])
        raise ValueError(
            f"Expected one flag per token in `found` and `planted`, but item {item} has {detected.lengths[item]} and "
            f"{truth.lengths[item]}."
        )
    rows = np.repeat(np.arange(len(detected)), detected.lengths)
    columns = (detected.values * truth.values, detected.values, truth.values)
    both, found_in, planted_in = (np.bincount(rows, column, minlength=len(detected)) for column in columns)
    n_both, n_found, n_planted = (int(counts.sum()) for counts in (both, found_in, planted_in))

    def interval(counts: NDArray[Any]) -> Interval | None:
        some = counts > 0
        return cluster_wilson(both[some], counts[some], confidence_level=resampling.level) if some.any() else None

    return DetectionQuality(
        precision=n_both / n_found if n_found else None,
        recall=n_both / n_planted if n_planted else None,
        f1=2 * n_both / (n_found + n_planted) if n_found and n_planted else None,
        precision_interval=interval(found_in),
        recall_interval=interval(planted_in),
        text_recall=float((both[planted_in > 0] > 0).mean()) if n_planted else None,
        n_texts=len(detected),
        n_found=n_found,
        n_planted=n_planted,
        n_both=n_both,
    )


def _flags(rows: Any, name: str) -> Ragged:
    if not isinstance(rows, Ragged):
        # Flags are summed, so True and False count as numbers here.
        flags = [to_numpy(row, f"a row of {name}") for row in ingest(rows, name)]
        rows = [row.astype(np.float64) if row.dtype.kind == "b" else row for row in flags]
    flat = as_ragged(rows, name)
    odd = np.flatnonzero(~np.isin(flat.values, (0.0, 1.0)))
    if odd.size:
        place = int(odd[0])
        raise TypeError(
            f"Expected True or False in `{name}`, but item {flat.row_of(place)} holds {flat.values[place]}."
        )
    return flat


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
    check_one_of(score, SCORES, "score")
    check_one_of(average, AVERAGES, "average")
    flags = check_flags(cued, "cued")
    most = MOST_CLASSES if n_classes is None else check_count(n_classes, "n_classes", minimum=2, maximum=MOST_CLASSES)
    predicted = check_labels(predictions, most, name="predictions")
    labels = check_labels(references, most, name="references")
    check_same_length(predictions=predicted, references=labels, cued=flags)
    size = n_classes or max(int(predicted.max()), int(labels.max()), 1) + 1
    if score == "f1" and average == "binary" and size != 2:
        raise ValueError(f"Expected two classes for average='binary', but got {size}.")
    counts = np.bincount((labels * size + predicted) * 2 + flags, minlength=2 * size**2).reshape(size, size, 2)
    present = counts.sum(axis=(1, 2)) + counts.sum(axis=(0, 2)) > 0
    value, rate = _parts(counts, score, average, present)
    ratio = _ratio(value, rate)
    # A bootstrap over items draws the counts of the cells from a multinomial law. Its shares are those observed, with
    # half an item per class spread evenly over the predictions, so that a rare class without errors may err; where one
    # class alone is there, over all that there may be.
    likely = present if present.sum() > 1 else np.ones_like(present)
    smoothed = counts + 0.5 / likely.sum() * np.array([1 - rate, rate]) * (likely[:, None] & likely)[..., None]
    rng, shares = np.random.default_rng(resampling.seed), smoothed.reshape(-1) / smoothed.sum()
    ratios = []
    for n_draws in resampling.parts(counts.size, at_once=_CELLS_AT_ONCE):
        tables = rng.multinomial(len(labels), shares, size=n_draws).reshape(-1, *counts.shape)
        ratios.append(_ratio(*_parts(tables, score, average, present)))
    name = "accuracy" if score == "accuracy" else f"{average} F1"
    return ShortcutTradeoff(
        shortcut_tradeoff=float(ratio) if np.isfinite(ratio) else None,
        score=float(value) if np.isfinite(value) else None,
        shortcut_rate=float(rate),
        interval=_interval(np.concatenate(ratios), resampling.level) if np.isfinite(ratio) else None,
        n_items=len(labels),
        n_cued=int(flags.sum()),
        definition=f"{name} divided by the share of shortcut-cued predictions, both as fractions.",
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

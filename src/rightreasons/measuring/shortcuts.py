"""How far a classifier leans on shortcuts on some labelled texts: attributions, heads and figures in one call."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.errors import CalibrationResult, calibration_error
from rightreasons.analysis.shortcuts.reliance import TOP_N, Heads, ShortcutReliance, shortcut_reliance
from rightreasons.analysis.shortcuts.tradeoff import ShortcutTradeoff, shortcut_tradeoff
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_labels
from rightreasons.models.gradients.attribution import Attributions, integrated_gradients
from rightreasons.models.loading import Classifier

N_BINS = 10
"""Bins of confidence, as the work that the Reliability Paradox follows (Desai and Durrett 2020) takes them."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShortcutMeasurement:
    """What a classifier does on some labelled texts.

    Attributes:
        attributions: What each prediction rests on, word by word.
        probabilities: (N, K) the predicted probabilities.
        labels: (N,) gold labels.
        reliance: Shortcut rate, types, null models.
        tradeoff: F1 over shortcut rate.
        calibration: Top-label calibration error.
    """

    attributions: Attributions
    probabilities: NDArray[np.float64]
    labels: NDArray[np.int64]
    reliance: ShortcutReliance
    tradeoff: ShortcutTradeoff
    calibration: CalibrationResult

    @property
    def predictions(self) -> NDArray[np.int64]:
        """(N,) the predicted labels."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)

    def record(self, *, step: int = 0, epoch: float = 0.0) -> ShortcutRecord:
        """Return the figures alone, as one row of a table over training."""
        reliance, tradeoff, calibration = self.reliance, self.tradeoff, self.calibration
        null = reliance.null["frequency"]
        return ShortcutRecord(
            step=step,
            epoch=epoch,
            n_items=reliance.n_items,
            shortcut_rate=reliance.shortcut_reliance,
            shortcut_rate_interval=(reliance.interval.low, reliance.interval.high),
            null_rate=null.rate,
            excess=null.excess,
            excess_interval=(null.interval.low, null.interval.high),
            lexicon_cued=reliance.lexicon_cued,
            grammar_cued=reliance.grammar_cued,
            f1=tradeoff.score,
            accuracy=calibration.accuracy,
            shortcut_tradeoff=tradeoff.shortcut_tradeoff,
            shortcut_tradeoff_interval=None
            if tradeoff.interval is None
            else (tradeoff.interval.low, tradeoff.interval.high),
            ece=calibration.ece,
            ece_interval=None
            if calibration.interval is None
            else (calibration.interval.low, calibration.interval.high),
            special_share=float(self.attributions.special_share.mean()),
            largest_gap=float(np.abs(self.attributions.gap).max()),
        )


@dataclasses.dataclass(frozen=True)
class ShortcutRecord(Result):
    """The figures at one point of training. Shares in [0, 1].

    Attributes:
        step: Optimizer steps so far; 0 is before fine-tuning.
        epoch: Epochs so far.
        n_items: Number of predictions.
        shortcut_rate: P_sc, share of shortcut-cued predictions.
        shortcut_rate_interval: Its Wilson interval.
        null_rate: What blind picks of tokens of like frequency would give.
        excess: `shortcut_rate - null_rate`.
        excess_interval: Its bootstrap interval.
        lexicon_cued: Share with a lexical shortcut.
        grammar_cued: Share whose shortcuts are function words and punctuation alone.
        f1: F1, averaged as asked; None where undefined.
        accuracy: Share of right predictions.
        shortcut_tradeoff: T_sc, F1 over shortcut rate; None without shortcuts.
        shortcut_tradeoff_interval: Its bootstrap interval; None where T_sc is, or where it has no upper end.
        ece: Top-label calibration error.
        ece_interval: Its bootstrap interval; None where it was not asked for.
        special_share: Mean share of the attribution that falls on special tokens.
        largest_gap: Largest absolute completeness gap of an attribution.
    """

    step: int
    epoch: float
    n_items: int
    shortcut_rate: float
    shortcut_rate_interval: tuple[float, float]
    null_rate: float
    excess: float
    excess_interval: tuple[float, float]
    lexicon_cued: float
    grammar_cued: float
    f1: float | None
    accuracy: float
    shortcut_tradeoff: float | None
    shortcut_tradeoff_interval: tuple[float, float] | None
    ece: float
    ece_interval: tuple[float, float] | None
    special_share: float
    largest_gap: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ShortcutRecord:
        """Build a record from its `to_dict`, as it comes back from JSON."""
        fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        return cls(**fields)


def measure_shortcuts(
    classifier: Classifier,
    texts: Sequence[str],
    labels: Any,
    heads: Heads,
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Sequence[object] | None = None,
    top_n: int = TOP_N,
    average: str = "macro",
    n_bins: int = N_BINS,
    resampling: Resampling = Resampling(),
    attribution: Mapping[str, Any] | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ShortcutMeasurement:
    """Attribute every prediction, find its shortcuts, and set score and calibration beside them.

    Attributions and heads are over words, so that one ranking of the training data serves every tokenizer.

    Args:
        classifier: A sequence classifier.
        texts: N texts.
        labels: (N,) gold labels, in the numbering of the classifier.
        heads: label -> the words of its head, or the `LmiResult` of the training data.
        text_pairs: N second texts, for a task of pairs.
        ids: N unique ids.
        top_n: How many words a prediction rests on; default 3.
        average: Average of F1: "macro" (default), "binary", "micro" or "weighted".
        n_bins: Bins of the calibration error and of the shares by confidence; default 10.
        resampling: Level of the intervals, number of resamples and permutations, and their seed.
        attribution: Options of `integrated_gradients`, such as {"method": "riemann_right", "steps": 50}.
        progress: Whether to show progress bars.
        out: A folder for the attributions, from which a killed run goes on.

    Returns:
        `ShortcutMeasurement`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label is unknown or a predicted label has no head.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", section 2.
    """
    if classifier.label_names is None:
        raise ValueError(f"Expected a sequence classifier, but {classifier.name} scores choices.")
    gold = check_labels(labels, len(classifier.label_names), name="labels")
    found = integrated_gradients(
        classifier,
        texts,
        text_pairs=text_pairs,
        ids=ids,
        labels=gold,
        progress=progress,
        out=out,
        **{"unit": "word", **(attribution or {})},
    )
    probabilities = softmax(np.asarray(found.logits))
    predicted = probabilities.argmax(axis=1)
    reliance = shortcut_reliance(
        found.tokens,
        found.scores,
        predicted,
        heads,
        references=gold,
        confidences=probabilities.max(axis=1),
        top_n=top_n,
        rank_by="magnitude",
        n_bins=n_bins,
        resampling=resampling,
    )
    return ShortcutMeasurement(
        attributions=found,
        probabilities=probabilities,
        labels=gold,
        reliance=reliance,
        tradeoff=shortcut_tradeoff(
            predicted,
            gold,
            [example.cued for example in reliance.examples],
            average=average,
            n_classes=len(classifier.label_names),
            resampling=resampling,
        ),
        calibration=calibration_error(probabilities, gold, n_bins=n_bins, resampling=resampling),
    )

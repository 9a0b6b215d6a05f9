"""The figures of accuracy and confidence, each with its interval, its definition and its source.

Used by the section on calibration, for every split and before and after a temperature, and by the comparison of two
reports. The figures themselves come from `rightreasons.analysis`; here they get their names for readers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration.errors import CalibrationResult, calibration_error
from rightreasons.analysis.calibration.macro_ce import macro_of
from rightreasons.analysis.calibration.proper_scores import brier_of, label_log_probability
from rightreasons.analysis.calibration.selective import selective_of
from rightreasons.analysis.calibration.smooth import smooth_of, sweep_of
from rightreasons.analysis.calibration.top_label import TopLabel, top_label
from rightreasons.auditing.page.parts import Headline
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.estimates import Estimate, estimate_of

Floats = NDArray[np.float64]

N_BINS = 15
"""Bins of the binned figures, as in Guo et al. (2017)."""

MAX_WORK = 5_000_000
"""Items times resamples that a figure without sums may cost; with more items there are fewer resamples."""

SLOW_RESAMPLES = 100
"""Resamples of figures that take milliseconds each."""


@dataclasses.dataclass(frozen=True)
class About:
    """What is said of a figure wherever it stands.

    Attributes:
        name: Its name.
        definition: One sentence from which it can be recomputed.
        source: Authors and year.
        unit: "fraction", "nats" or "ratio".
        better: "higher", "lower" or None.
        by_class: Whether it needs the same classes in every item, which choices are not.
    """

    name: str
    definition: str
    source: str
    unit: Literal["fraction", "nats", "ratio"] = "fraction"
    better: Literal["higher", "lower"] | None = "lower"
    by_class: bool = False


ABOUT: Mapping[str, About] = {
    "accuracy": About("Accuracy", "Share of items whose most probable class is the label.", "Counted", better="higher"),
    "macro_f1": About(
        "Macro F1",
        "Mean over the classes of the harmonic mean of precision and recall.",
        "van Rijsbergen 1979",
        better="higher",
        by_class=True,
    ),
    "mean_confidence": About("Mean confidence", "Mean probability of the most probable class.", "Counted", better=None),
    "confidence_gap": About(
        "Confidence gap",
        "Mean confidence minus accuracy: above 0 the model is over-confident, below 0 under-confident.",
        "Counted",
        better=None,
    ),
    "ece": About(
        "Calibration error (ECE)",
        f"Mean over the items of |accuracy − mean confidence| of their bin; {N_BINS} bins of equal width.",
        "Naeini et al. 2015; Guo et al. 2017",
    ),
    "ece_debiased": About(
        "ECE, debiased",
        "ECE less what the noise of the bins' accuracies adds to it.",
        "Kumar et al. 2019",
    ),
    "adaptive_ece": About(
        "Adaptive ECE",
        f"As ECE, in {N_BINS} bins that hold equally many items.",
        "Nguyen & O'Connor 2015; Nixon et al. 2019",
    ),
    "smooth_ece": About(
        "Smooth ECE",
        "As ECE, with a smoothing kernel in place of bins, whose width equals the error.",
        "Błasiok & Nakkiran 2023",
    ),
    "ece_sweep": About(
        "ECE-sweep",
        "As adaptive ECE, in the most bins whose accuracies rise with confidence.",
        "Roelofs et al. 2022",
    ),
    "rmsce_debiased": About(
        "RMS calibration error, debiased",
        "Root of the weighted mean square of the bins' gaps, less what noise adds to it.",
        "Kumar et al. 2019",
    ),
    "mce": About("Largest gap (MCE)", "The largest |accuracy − mean confidence| of a bin.", "Naeini et al. 2015"),
    "classwise_ece": About(
        "Classwise ECE",
        "For each class, ECE of its probability over all items; the mean over the classes.",
        "Kull et al. 2019; Nixon et al. 2019",
        by_class=True,
    ),
    "macro_ce": About(
        "MacroCE",
        "Mean of two means: 1 − confidence over right, and confidence over wrong predictions.",
        "Si et al. 2022",
    ),
    "brier": About(
        "Brier score",
        "Mean over the items of the squared distance of the probabilities from the label, from 0 to 2.",
        "Brier 1950",
        unit="ratio",
        by_class=True,
    ),
    "brier_reliability": About(
        "Brier: reliability",
        "The part of the Brier score that miscalibration adds, in bins.",
        "Murphy 1973",
        unit="ratio",
        by_class=True,
    ),
    "brier_resolution": About(
        "Brier: resolution",
        "The part that the Brier score gains because bins differ in how often they come true.",
        "Murphy 1973",
        unit="ratio",
        better="higher",
        by_class=True,
    ),
    "brier_uncertainty": About(
        "Brier: uncertainty",
        "The part of the Brier score that the labels themselves bring: their variance.",
        "Murphy 1973",
        unit="ratio",
        better=None,
        by_class=True,
    ),
    "nll": About("Log loss", "Mean of −log probability of the label.", "Good 1952", unit="nats"),
    "aurc": About(
        "AURC",
        "Mean error rate over all shares of the most confident items.",
        "Geifman & El-Yaniv 2017",
    ),
    "e_aurc": About("Excess AURC", "AURC less that of the best ranking with this accuracy.", "Geifman et al. 2019"),
    "auroc": About(
        "AUROC of confidence",
        "Chance that a right prediction has more confidence than a wrong one.",
        "Hendrycks & Gimpel 2017",
        better="higher",
    ),
}
"""Every figure by its key, in the order of the report."""


@dataclasses.dataclass(frozen=True, eq=False)
class Judged:
    """Labelled items with what the model said.

    Attributes:
        logits: (n, K) or `Ragged`.
        top: Their top labels.
        split: The name of the split.
    """

    logits: Floats | Ragged
    top: TopLabel
    split: str

    def __len__(self) -> int:
        return len(self.top)

    @classmethod
    def of(cls, logits: Floats | Ragged, labels: NDArray[np.int64], split: str) -> Judged:
        """Judge the items that have a label."""
        rows = np.flatnonzero(labels >= 0)
        kept = take_rows(logits, rows)
        return cls(kept, top_label(kept, labels[rows], scores="logits"), split)

    @property
    def by_class(self) -> bool:
        """Whether all items have the same classes."""
        return not isinstance(self.logits, Ragged)

    def scaled(self, temperature: float) -> Judged:
        """Return what the model would say at a temperature."""
        if isinstance(self.logits, Ragged):
            logits: Floats | Ragged = Ragged(self.logits.values / temperature, self.logits.offsets)
        else:
            logits = self.logits / temperature
        return Judged(logits, top_label(logits, self.top.labels, scores="logits"), self.split)


def measure(judged: Judged, how: Resampling, keys: Iterable[str] | None = None) -> dict[str, Headline]:
    """Compute figures with their intervals.

    Args:
        judged: The items.
        how: How intervals are made.
        keys: Which figures; None for all that apply.

    Returns:
        The figures by key, in the order of `ABOUT`.
    """
    wanted = set(ABOUT if keys is None else keys)
    return {
        key: headline(key, _MEASURES[key](judged, how), judged)
        for key, about in ABOUT.items()
        if key in wanted and (judged.by_class or not about.by_class)
    }


def headline(key: str, estimate: Estimate, judged: Judged, *, no_interval: str = "") -> Headline:
    """Put an estimate together with what is said of its figure."""
    about = ABOUT[key]
    reason = no_interval or ("" if estimate.has_interval else "undefined for these items, so without interval")
    return Headline(
        key=key,
        name=about.name,
        estimate=estimate,
        definition=about.definition,
        source=about.source,
        unit=about.unit,
        better=about.better,
        split=judged.split,
        n=len(judged),
        no_interval=reason,
    )


def binned(judged: Judged, **options: Any) -> CalibrationResult:
    """Compute a calibration error of the items, in the report's number of bins."""
    return calibration_error(judged.logits, judged.top.labels, n_bins=N_BINS, scores="logits", **options)


def squared_distance(judged: Judged) -> Floats:
    """Return the squared distance (n,) of each item's probabilities from its label, whose mean is the Brier score."""
    table = np.array(judged.top.probabilities, dtype=np.float64)
    table[np.arange(len(table)), judged.top.labels] -= 1.0
    return np.asarray((table**2).sum(axis=1))


def take_rows(logits: Floats | Ragged, rows: NDArray[np.intp]) -> Floats | Ragged:
    """Take some rows of logits."""
    if not isinstance(logits, Ragged):
        return np.asarray(logits[rows])
    lengths = logits.lengths[rows]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    source = np.repeat(logits.starts[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    values = logits.values[source]
    if len(lengths) and (lengths == lengths[0]).all():
        return np.asarray(values.reshape(len(lengths), int(lengths[0])))
    return Ragged(values, offsets)


# ------------------------------------------------------------------------------------------------------------- private


def _accuracy(judged: Judged, how: Resampling) -> Estimate:
    hits, n = int(judged.top.correct.sum()), len(judged)
    return estimate_of(hits / n, intervals.wilson(hits, n, confidence_level=how.level))


def _macro_f1(judged: Judged, how: Resampling) -> Estimate:
    classes = np.arange(np.asarray(judged.logits).shape[1])
    predicted, labels = judged.top.predicted[:, None] == classes, judged.top.labels[:, None] == classes

    def macro_f1(sums: Floats) -> Floats:
        hits, present = np.split(sums, 2, axis=-1)
        # F1 of a class is 2 TP / (labels + predictions); classes without either are left out of the mean.
        live = present > 0
        f1 = np.where(live, 2 * hits / np.maximum(present, 1), 0.0)
        return np.asarray(f1.sum(axis=-1) / np.maximum(live.sum(axis=-1), 1))

    sums = np.hstack((predicted & labels, predicted.astype(np.int64) + labels)).astype(np.float64)
    return estimate_of(float(macro_f1(sums.sum(axis=0))), intervals.bootstrap_sums(macro_f1, sums, resampling=how))


def _mean(of: Callable[[Judged], Floats]) -> Callable[[Judged, Resampling], Estimate]:
    def estimate(judged: Judged, how: Resampling) -> Estimate:
        values = of(judged)
        if not np.isfinite(values).all():  # a label of probability 0 makes the log loss infinite
            return Estimate(None)
        return estimate_of(float(values.mean()), intervals.bootstrap_mean(values, resampling=how))

    return estimate


def _binned(**options: Any) -> Callable[[Judged, Resampling], Estimate]:
    def estimate(judged: Judged, how: Resampling) -> Estimate:
        result = binned(judged, **options, resampling=how)
        return estimate_of(result.ece, result.interval)

    return estimate


def _resampled(
    of: Callable[[TopLabel], float | None], *, method: str = "percentile", slow: bool = False, upper: float = 1.0
) -> Callable[[Judged, Resampling], Estimate]:
    """Bootstrap a figure that is no function of sums; "basic" for those that are biased upward, as ECE is."""

    def estimate(judged: Judged, how: Resampling) -> Estimate:
        value = of(judged.top)
        if value is None:
            return Estimate(None)
        most = max(100, MAX_WORK // len(judged))
        interval = intervals.bootstrap(
            lambda rows: of(_rows(judged.top, rows)),
            np.arange(len(judged)),
            resampling=how.at_most(min(most, SLOW_RESAMPLES) if slow else most),
            method=method,
        )
        clipped = dataclasses.replace(
            interval, low=float(np.clip(interval.low, 0.0, upper)), high=float(np.clip(interval.high, 0.0, upper))
        )
        return estimate_of(value, clipped)

    return estimate


def _rows(top: TopLabel, rows: NDArray[np.intp]) -> TopLabel:
    table = top.probabilities
    return TopLabel(
        confidence=top.confidence[rows],
        predicted=top.predicted[rows],
        correct=top.correct[rows],
        labels=top.labels[rows],
        # Figures that look at whole rows are not computed where the rows differ in length.
        probabilities=table if isinstance(table, Ragged) else table[rows],
    )


def _macro_ce(judged: Judged, how: Resampling) -> Estimate:
    value = macro_of(judged.top).macro_ce
    if value is None:
        return Estimate(None)
    right, confidence = judged.top.correct, judged.top.confidence
    sums = np.column_stack((right * (1 - confidence), right, ~right * confidence, ~right)).astype(np.float64)

    def figure(total: Floats) -> Floats:
        return np.asarray((total[..., 0] / total[..., 1] + total[..., 2] / total[..., 3]) / 2)

    return estimate_of(value, intervals.bootstrap_sums(figure, sums, resampling=how))


_MEASURES: Mapping[str, Callable[[Judged, Resampling], Estimate]] = {
    "accuracy": _accuracy,
    "macro_f1": _macro_f1,
    "mean_confidence": _mean(lambda judged: judged.top.confidence),
    "confidence_gap": _mean(lambda judged: judged.top.confidence - judged.top.correct),
    "ece": _binned(),
    "ece_debiased": _binned(debias=True),
    "adaptive_ece": _binned(strategy="quantile"),
    "smooth_ece": _resampled(lambda top: smooth_of(top).smooth_ece, method="basic", slow=True),
    "ece_sweep": _resampled(lambda top: sweep_of(top).ece, method="basic", slow=True),
    "rmsce_debiased": _binned(norm="l2", debias=True),
    "mce": _binned(norm="max"),
    "classwise_ece": _binned(kind="classwise"),
    "macro_ce": _macro_ce,
    "brier": _mean(squared_distance),
    "brier_reliability": _resampled(lambda top: brier_of(top).reliability, method="basic", slow=True, upper=2.0),
    "brier_resolution": _resampled(lambda top: brier_of(top).resolution, method="basic", slow=True, upper=2.0),
    "brier_uncertainty": _resampled(lambda top: brier_of(top).uncertainty, slow=True),
    "nll": _mean(lambda judged: -label_log_probability(judged.logits, judged.top.labels)),
    "aurc": _resampled(lambda top: selective_of(top).aurc),
    "e_aurc": _resampled(lambda top: selective_of(top).e_aurc),
    "auroc": _resampled(lambda top: selective_of(top).auroc),
}

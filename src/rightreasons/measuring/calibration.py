"""Does its confidence match its accuracy: every figure of the question with its interval, from one table.

An entry of `FIGURES` registers a figure: the report shows it, and where the entry gives `of_top`, the figure is also a
name of `rightreasons.training.compute_metrics`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration.compare import compare_confidence
from rightreasons.analysis.calibration.consistency import ConsistencyResult, consistency
from rightreasons.analysis.calibration.errors import CalibrationResult, calibration_error, calibration_of, largest_gap
from rightreasons.analysis.calibration.macro_ce import macro_of
from rightreasons.analysis.calibration.options import CalibrationErrorOptions
from rightreasons.analysis.calibration.proper_scores import (
    BrierIntervals,
    brier_of,
    label_log_probability,
    part_intervals,
)
from rightreasons.analysis.calibration.selective import selective_of
from rightreasons.analysis.calibration.smooth import smooth_of, sweep_of
from rightreasons.analysis.calibration.temperature import Temperature, fit_temperature
from rightreasons.analysis.calibration.top_label import TopLabel, top_label
from rightreasons.analysis.classification import macro_f1_of
from rightreasons.foundations.ragged import Ragged, take_rows
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, FigureText, estimate_of, mean, share
from rightreasons.measuring.options import CalibrationOptions

Floats = NDArray[np.float64]

MAX_WORK = 5_000_000
"""Items times resamples that a figure without sums may cost; with more items there are fewer resamples."""

SLOW_RESAMPLES = 100
"""Maximum resamples of figures that take milliseconds each."""

MAX_CLASS_RESAMPLES = 5_000
"""Resamples of all classes together, so that many classes take no longer than a few."""

MAX_TABLE_RESAMPLES = 150_000
"""The same for a figure whose resamples cost as much for each class."""

MIN_ERRORS = 5
"""With fewer wrong answers than this, little is known of how the wrong ones fare, and resampling does not show it; so
it is with right answers, for figures that compare the two."""

SCALED = ("mean_confidence", "confidence_gap", "ece", "adaptive_ece", "classwise_ece", "macro_ce", "brier", "nll")
"""The figures that a temperature may change."""

TESTED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "brier", "nll")
"""The figures that `paired_test` compares."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedItems:
    """Labeled items with what the model said.

    Attributes:
        logits: (N, K) or `Ragged`; for kind="confidence" (N, 2), the log-probabilities of wrong and right.
        top: Their top labels.
        kind: "top_label", or "confidence" where the confidence in the given answer is all that is known.
    """

    logits: Floats | Ragged
    top: TopLabel
    kind: str = "top_label"

    def __len__(self) -> int:
        return len(self.top)

    @classmethod
    def of(
        cls,
        logits: Floats | Ragged,
        labels: NDArray[np.int64],
        *,
        probabilities: Floats | Ragged | None = None,
        kind: str = "top_label",
    ) -> JudgedItems:
        """Judge the items that have a label; -1 is none.

        Args:
            logits: (N, K) or `Ragged`.
            labels: (N,) labels. For kind="confidence": whether the answer was right.
            probabilities: The same as exact probabilities, where these are what is known: (N, K) or `Ragged`; for
                kind="confidence" (N,). None to take them from the logits.
            kind: "top_label" or "confidence".
        """
        rows = np.flatnonzero(labels >= 0)
        known = take_rows(logits, rows)
        if probabilities is None:
            return cls(known, top_label(known, labels[rows], scores="logits"))
        exact = take_rows(probabilities, rows)
        if isinstance(exact, Ragged):
            return cls(known, top_label(list(exact), labels[rows]))
        return cls(known, top_label(exact, labels[rows], kind=kind), kind)

    @property
    def by_class(self) -> bool:
        """Whether all items have the same classes: choices have not, and answers alone have none."""
        return self.kind == "top_label" and not isinstance(self.logits, Ragged)

    @property
    def table(self) -> Floats:
        """(N, K) probabilities of items with the same classes."""
        return np.asarray(self.top.probabilities)

    @property
    def label_probability(self) -> Floats:
        """(N,) probability of the label, in [0, 1], of items with the same classes."""
        return np.clip(self.table[np.arange(len(self)), self.top.labels], 0.0, 1.0)

    def scaled(self, temperature: float) -> JudgedItems:
        """Return what the model would say at a temperature."""
        logits = self.logits
        scaled = (
            Ragged(logits.values / temperature, logits.offsets) if isinstance(logits, Ragged) else logits / temperature
        )
        return JudgedItems(scaled, top_label(scaled, self.top.labels, scores="logits"))

    def confidence_quartiles(self, correct: bool) -> tuple[int, Floats] | None:
        """Return the number of right, or wrong, predictions and the quartiles of their confidence; None without any."""
        confidence = self.top.confidence[self.top.correct == correct]
        return (len(confidence), np.quantile(confidence, (0.25, 0.5, 0.75))) if len(confidence) else None


@dataclasses.dataclass(frozen=True)
class Figure(FigureText):
    """A figure of accuracy or confidence: its text, and one of four ways to compute it.

    Attributes:
        by_class: Whether it needs the same classes in every item.
        binned: Options of `calibration_error`, for a figure that is one.
        values: Gives (N,) values whose mean the figure is.
        bounds: Smallest and largest possible value, if they are known: then the interval is that of `bounded_mean`,
            which stays honest where a model that is sure errs rarely, or not at all.
        extent: The same for a figure whose interval is that of `bounded_mean` for few values or equal ones alone.
        needs_errors: Whether its interval depends on how the wrong answers fare, of which it takes `MIN_ERRORS`.
        of_top: Computes it from the top labels, or returns None where it is undefined; the items are resampled.
        basic: Whether that interval is a basic bootstrap, for figures that are biased upward as ECE is.
        logarithmic: Whether it is as far above as below on the scale of the logarithm, for figures whose few large
            terms make them skewed; of `of_top`, with the tails of Student's t for as many items as wrong answers.
        holds_gap: Whether the true figure is no smaller than the gap between mean confidence and accuracy, so that its
            interval goes as far as Wilson's interval of the accuracy lets the gap go, and holds the figure itself.
        slow: Whether it takes milliseconds each time, so that fewer resamples are made.
        answers: Whether it is about the confidence in given answers alone.
        of_answers: Its definition for the confidence in given answers, where that differs.
        measured: Computes it with its interval; takes precedence over the others.
    """

    by_class: bool = False
    binned: Mapping[str, Any] | None = None
    values: Callable[[JudgedItems], Floats] | None = None
    bounds: tuple[float, float] | None = None
    extent: tuple[float, float] | None = None
    needs_errors: bool = False
    of_top: Callable[[TopLabel], float | None] | None = None
    basic: bool = False
    logarithmic: bool = False
    holds_gap: bool = False
    slow: bool = False
    answers: bool = False
    of_answers: str = ""
    measured: Callable[[JudgedItems, Resampling], Estimate] | None = None

    def defined(self, n_bins: int, kind: str = "top_label") -> Figure:
        """Return the figure with its definition for a number of bins, of class scores or of given answers."""
        definition = self.of_answers if kind == "confidence" and self.of_answers else self.definition
        return dataclasses.replace(self, definition=definition.format(n_bins=n_bins))

    def applies(self, items: JudgedItems) -> bool:
        """Say whether the items have such a figure."""
        return (items.by_class or not self.by_class) and (items.kind == "confidence" or not self.answers)

    def estimate(self, items: JudgedItems, resampling: Resampling, n_bins: int) -> Estimate:
        """Compute the figure with its interval."""
        if self.measured is not None:
            return self.measured(items, resampling)
        if self.binned is not None:
            result = _binned(items, n_bins, resampling, **self.binned)
            return estimate_of(result.ece, result.interval)
        if self.values is not None:
            return self._mean(items, self.by_item(items), resampling)
        return self._resampled(items.top, resampling)

    def by_item(self, items: JudgedItems) -> Floats:
        """Return the (N,) values whose mean the figure is; a rounding error beyond a bound is cut off."""
        if self.values is None:
            raise ValueError(f"Expected a figure that is a mean over items, but {self.name!r} is none.")
        values = self.values(items)
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def _mean(self, items: JudgedItems, values: Floats, resampling: Resampling) -> Estimate:
        # A label of probability 0 makes the log loss infinite.
        if not len(values) or not np.isfinite(values).all():
            return Estimate(None)
        value = float(values.mean())
        if self.bounds is not None:
            low, high = self.bounds
            level = resampling.level
            return estimate_of(value, intervals.bounded_mean(values, low=low, high=high, confidence_level=level))
        if self.needs_errors and (few := _few(items.top)):
            return Estimate(value, method=few)
        found = mean(values, resampling, bounds=self.extent) or Estimate(None)
        if self.logarithmic and found.low:
            return dataclasses.replace(found, high=max(found.high or 0.0, value**2 / found.low))
        return found

    def _resampled(self, top: TopLabel, resampling: Resampling) -> Estimate:
        of_top = self.of_top
        value = None if of_top is None else of_top(top)
        if of_top is None or value is None:
            return Estimate(None)
        if self.needs_errors and (few := _few(top)):
            return Estimate(value, method=few)
        most = min(max(100, MAX_WORK // len(top)), SLOW_RESAMPLES if self.slow else MAX_WORK)
        fewer = resampling.at_most(most)
        if self.logarithmic:
            return estimate_of(value, _logarithmic(of_top, top, value, fewer))
        interval = intervals.bootstrap(
            lambda rows: of_top(_rows(top, rows)),
            np.arange(len(top)),
            resampling=fewer,
            method="basic" if self.basic else "percentile",
        )
        ends = np.array([interval.low, interval.high])
        if self.holds_gap:
            n_right = int(top.correct.sum())
            ends[1] = max(
                ends[1], value, largest_gap(float(top.confidence.mean()), n_right, len(top), resampling.level)
            )
        low, high = np.clip(ends, 0.0, 1.0).tolist()
        return estimate_of(value, dataclasses.replace(interval, low=low, high=high))


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationMeasurement:
    """How well the confidence of a model fits its accuracy on some items.

    Attributes:
        items: The items.
        n_bins: Number of bins of the binned figures.
        figures: The figures with their intervals, by key in the order of `FIGURES`.
        bins: Top-label calibration error, bin by bin.
        consistency: What the same confidences would give if the model were calibrated.
        accuracies: The accuracy of each bin with its Wilson interval; None for empty bins.
    """

    items: JudgedItems
    n_bins: int
    figures: Mapping[str, Estimate]
    bins: CalibrationResult
    consistency: ConsistencyResult
    accuracies: tuple[Estimate | None, ...]


@dataclasses.dataclass(frozen=True)
class ClassFigures:
    """How well one class is found, and how far its probability is from how often it occurs.

    Attributes:
        label: The class.
        n_items: Items of the class.
        n_predicted: Predictions of the class.
        precision: Share of its predictions that are right; None without predictions.
        recall: Share of its items that are found; None without items.
        f1: Harmonic mean of the two; None without items and predictions.
        confidence: Mean confidence where it is predicted; None likewise.
        surplus: Mean of its probability minus how often it occurs.
        ece: Calibration error of its probability over all items.
    """

    label: int
    n_items: int
    n_predicted: int
    precision: Estimate | None
    recall: Estimate | None
    f1: Estimate | None
    confidence: Estimate | None
    surplus: Estimate | None
    ece: Estimate


@dataclasses.dataclass(frozen=True)
class PlantedCueFigures:
    """How predictions go with a planted cue.

    Attributes:
        cue: "agrees with the label", "contradicts the label" or "absent".
        n_items: Items where that is so.
        accuracy: Share of right predictions.
        follows: Share of predictions that are the cue's class; None where it is absent.
    """

    cue: str
    n_items: int
    accuracy: Estimate | None
    follows: Estimate | None


@checks_kinds
def measure_calibration(
    items: JudgedItems,
    *,
    keys: Iterable[str] | None = None,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> CalibrationMeasurement:
    """Measure how well the confidence of a model fits its accuracy.

    Args:
        items: The items.
        keys: Which figures, from `FIGURES`; None for all that apply.
        options: Number of bins.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        The figures, the bins, and what a calibrated model would show.

    Raises:
        ValueError: If there is no item.

    Example:
        >>> items = JudgedItems.of(np.log([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 1, 1]))
        >>> measured = measure_calibration(items, keys=["accuracy", "mean_confidence"])
        >>> {key: round(estimate.value, 3) for key, estimate in measured.figures.items()}
        {'accuracy': 0.667, 'mean_confidence': 0.733}
        >>> round(measured.bins.ece, 3), measured.consistency.p_value < 0.05
        (0.333, False)
    """
    bins = _binned(items, options.n_bins)
    null = consistency(bins, resampling=resampling)
    hits = [(round((row.accuracy or 0.0) * row.count), row.count) for row in bins.bins]
    return CalibrationMeasurement(
        items=items,
        n_bins=options.n_bins,
        figures=measure_figures(items, keys, options=options, resampling=resampling),
        bins=bins,
        consistency=null,
        accuracies=tuple(share(*counts, resampling) for counts in hits),
    )


def measure_figures(
    items: JudgedItems,
    keys: Iterable[str] | None = None,
    *,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> dict[str, Estimate]:
    """Compute figures with their intervals, in the order of `FIGURES`; None for all that apply to the items."""
    names = set(FIGURES if keys is None else keys)
    return {
        key: figure.estimate(items, resampling, options.n_bins)
        for key, figure in FIGURES.items()
        if key in names and figure.applies(items)
    }


def measure_rescaled(
    items: JudgedItems,
    validation: JudgedItems,
    *,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> tuple[Temperature, CalibrationMeasurement]:
    """Fit a temperature on validation items, and measure the items at it.

    Returns:
        The temperature, and the figures of `SCALED` at it.

    References:
        Guo et al. (2017), "On Calibration of Modern Neural Networks", section 4.2.
    """
    fit = fit_temperature(validation.logits, validation.top.labels)
    scaled = items.scaled(fit.temperature)
    return fit, measure_calibration(scaled, keys=SCALED, options=options, resampling=resampling)


def measure_risk(items: JudgedItems, resampling: Resampling = Resampling()) -> list[tuple[float, Estimate]]:
    """Return the error rate among the most confident items, with its Wilson interval, for each coverage."""
    curve = []
    for point in selective_of(items.top).curve:
        n_covered = round(point.coverage * len(items))
        wrong = share(min(round(point.risk * point.coverage * len(items)), n_covered), n_covered, resampling)
        if wrong is not None:
            curve.append((point.coverage, dataclasses.replace(wrong, value=point.risk)))
    return curve


def measure_classes(
    items: JudgedItems,
    *,
    max_classes: int = 50,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> list[ClassFigures]:
    """Measure each class by itself, the most frequent first.

    Args:
        items: Items with the same classes.
        max_classes: Maximum number of classes.
        options: Number of bins.
        resampling: Level, resamples (fewer per class where there are many) and seed of the intervals.
    """
    table = items.table
    order = np.argsort(-np.bincount(items.top.labels, minlength=table.shape[1]), kind="stable")[:max_classes]
    fewer = resampling.at_most(max(100, MAX_CLASS_RESAMPLES // len(order)))
    return [_class_figures(items, int(k), options.n_bins, fewer) for k in order]


def measure_cue(
    predicted: NDArray[Any], labels: NDArray[np.int64], cues: NDArray[np.int64], resampling: Resampling = Resampling()
) -> list[PlantedCueFigures]:
    """Measure how predictions go with planted cues.

    Args:
        predicted: (N,) predicted classes.
        labels: (N,) labels, -1 for none; items without one are left out.
        cues: (N,) the class that the cue stands for, -1 for none.
        resampling: Level of the Wilson intervals.
    """
    rows = []
    for name, group in (
        ("agrees with the label", (cues == labels) & (cues >= 0)),
        ("contradicts the label", (cues != labels) & (cues >= 0)),
        ("absent", cues < 0),
    ):
        group = group & (labels >= 0)
        n_items = int(group.sum())
        if n_items:
            right, follows = (int((predicted == other)[group].sum()) for other in (labels, cues))
            of_cue = None if name == "absent" else share(follows, n_items, resampling)
            rows.append(PlantedCueFigures(name, n_items, share(right, n_items, resampling), of_cue))
    return rows


def worst_split(primary: str, compared: Mapping[str, Mapping[str, Estimate]]) -> str | None:
    """Name the split with the largest confidence gap, where it is clearly larger than that of the primary split.

    Args:
        primary: The name of the primary split.
        compared: Split -> its figures, `confidence_gap` among them.

    Returns:
        The other split with the largest gap, of those whose whole interval is farther from 0, on either side, than 0.05
        and than any point of that of the primary split; None without one.
    """
    gaps = {name: figures["confidence_gap"] for name, figures in compared.items()}
    base = gaps.pop(primary)
    beyond = max(0.05, abs(base.low or 0.0), abs(base.high or 0.0))
    clear = {
        name: abs(gap.value or 0.0)
        for name, gap in gaps.items()
        if max(gap.low or 0.0, -(gap.high or 0.0)) > beyond  # an interval around 0 is beyond nothing
    }
    return max(clear, key=lambda name: clear[name], default=None)


def paired_accuracy(
    first: NDArray[np.bool_], second: NDArray[np.bool_], resampling: Resampling = Resampling()
) -> intervals.PairedTest:
    """Test two accuracies on the same items: McNemar's exact test, with the interval of `paired_means`."""
    return intervals.paired_means(first, second, resampling=resampling)


def paired_outcomes(first: JudgedItems, second: JudgedItems) -> dict[str, int]:
    """Count the items that both models get right, that only the first or only the second does, and that neither does.

    Args:
        first: The items as the first model judges them.
        second: The same items, in the same order, as the second model judges them.
    """
    one, two = first.top.correct, second.top.correct
    masks = {"both_right": one & two, "first_right": one & ~two, "second_right": ~one & two, "both_wrong": ~one & ~two}
    return {name: int(mask.sum()) for name, mask in masks.items()}


def paired_test(
    key: str,
    first: JudgedItems,
    second: JudgedItems,
    *,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> intervals.PairedTest:
    """Test whether two models have the same figure on the same items.

    Args:
        key: One of `TESTED`: accuracy is tested by `paired_accuracy`, a mean of values with known bounds by
            `paired_means`, another mean by the paired bootstrap, and "ece" as `compare_confidence` does.
        first: The items as the first model judges them.
        second: The same items, in the same order, as the second model judges them.
        options: Number of bins.
        resampling: Level, resamples and seed.

    Returns:
        First minus second, with p-value and interval; None for the interval where nothing is known of it, as with one
        item or, of a mean, where no resample differs.
    """
    if key == "accuracy":
        return paired_accuracy(first.top.correct, second.top.correct, resampling)
    figure = FIGURES[key]
    if figure.values is not None:
        by_item = figure.by_item(first), figure.by_item(second)
        if figure.bounds is None:
            return intervals.paired_bootstrap(*by_item, resampling=resampling)
        low, high = figure.bounds
        return intervals.paired_means(*by_item, low=low, high=high, resampling=resampling)
    # Confidence and correctness are all that the top-label error depends on; rounding may carry a confidence past 1.
    sides = {"first": first.top, "second": second.top}
    compared = compare_confidence(
        {name: np.minimum(top.confidence, 1.0) for name, top in sides.items()},
        {name: top.correct for name, top in sides.items()},
        n_bins=options.n_bins,
        resampling=resampling,
    )
    one, two = (compared.figures[name]["ece"] or 0.0 for name in sides)
    untested = intervals.PairedTest(one - two, 1.0, len(first), "paired bootstrap", None)
    return compared.pairs[0].differences.get("ece", untested)


# ------------------------------------------------------------------------------------------------------------- private


def _logarithmic(
    of_top: Callable[[TopLabel], float | None], top: TopLabel, value: float, resampling: Resampling
) -> intervals.Interval:
    """Return an interval as far above as below on the scale of the logarithm, with Student's tails.

    The resamples below the figure tell how far: those above it lack the large terms that the items lack.
    """
    unit = 1.0 / len(top) ** 2  # less than one pair of items out of order changes

    def logarithm(rows: NDArray[np.intp]) -> float | None:
        figure = of_top(_rows(top, rows))
        return None if figure is None else float(np.log(figure + unit))

    interval = intervals.bootstrap(logarithm, np.arange(len(top)), resampling=resampling, method="basic")
    tail = (1.0 - resampling.level) / 2.0
    wider = stats.t.isf(tail, max(int((~top.correct).sum()) - 1, 1)) / stats.norm.isf(tail)
    center = float(np.log(value + unit))
    half = wider * max(interval.high - center, 0.0)  # of the basic interval: as far as resamples fall below
    low, high = (float(np.exp(center + side * half)) - unit for side in (-1, 1))
    return dataclasses.replace(interval, low=max(low, 0.0), high=min(high, 1.0), method="bootstrap of the logarithm")


def _few(top: TopLabel, *, right: bool = False) -> str:
    """Say why so few wrong answers, or right ones where they count, give no interval; "" where they are enough."""
    for kind, flags in (("wrong", ~top.correct), *([("right", top.correct)] if right else [])):
        if np.count_nonzero(flags) < MIN_ERRORS:
            return f"fewer than {MIN_ERRORS} answers are {kind}, so without interval"
    return ""


def _binned(items: JudgedItems, n_bins: int, resampling: Resampling | None = None, **options: Any) -> CalibrationResult:
    return calibration_of(
        items.top, CalibrationErrorOptions(n_bins=n_bins, **{"kind": items.kind, **options}), resampling
    )


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


def _accuracy(items: JudgedItems, resampling: Resampling) -> Estimate:
    return share(int(items.top.correct.sum()), len(items), resampling) or Estimate(None)


def _macro_f1(items: JudgedItems, resampling: Resampling) -> Estimate:
    return estimate_of(*macro_f1_of(items.top.predicted, items.top.labels, resampling))


def _brier_part(items: JudgedItems, resampling: Resampling, part: str) -> Estimate:
    value = getattr(brier_of(items.top), part)
    if part != "uncertainty" and (few := _few(items.top)):
        return Estimate(value, method=few)
    return estimate_of(value, getattr(_brier_intervals(items, resampling), part))


@functools.lru_cache(maxsize=1)
def _brier_intervals(items: JudgedItems, resampling: Resampling) -> BrierIntervals:
    """Compute the intervals of all parts, which are asked for one after the other, once."""
    fewer = resampling.at_most(max(100, MAX_TABLE_RESAMPLES // items.table.shape[1]))
    return part_intervals(items.top, fewer)


def _auroc(items: JudgedItems, resampling: Resampling) -> Estimate:
    value, n_right = selective_of(items.top).auroc, int(items.top.correct.sum())
    if value is None or (few := _few(items.top, right=True)):
        return Estimate(value, method="" if value is None else few)
    interval = intervals.mann_whitney(value, n_right, len(items) - n_right, confidence_level=resampling.level)
    return estimate_of(value, interval)


def _sweep(items: JudgedItems, resampling: Resampling) -> Estimate:
    """Join the interval of resampled numbers of bins with that of the number that the items have."""
    found = sweep_of(items.top)
    fewer = resampling.at_most(SLOW_RESAMPLES)
    drawn = intervals.bootstrap(
        lambda rows: sweep_of(_rows(items.top, rows)).ece, np.arange(len(items)), resampling=fewer, method="basic"
    )
    options = CalibrationErrorOptions(n_bins=found.n_bins, strategy="quantile", kind=items.kind)
    fixed = calibration_of(items.top, options, resampling).interval or drawn
    low, high = min(drawn.low, fixed.low, found.ece), max(drawn.high, fixed.high, found.ece)
    return estimate_of(found.ece, dataclasses.replace(drawn, low=max(low, 0.0), high=min(high, 1.0)))


def _macro_ce(items: JudgedItems, resampling: Resampling) -> Estimate:
    value = macro_of(items.top).macro_ce
    if value is None or (few := _few(items.top, right=True)):
        return Estimate(value, method="" if value is None else few)
    right, confidence = items.top.correct, items.top.confidence
    sums = np.column_stack((right * (1 - confidence), right, ~right * confidence, ~right)).astype(np.float64)
    return _of_sums(lambda s: (s[..., 0] / s[..., 1] + s[..., 2] / s[..., 3]) / 2, sums, resampling)


def _of_sums(figure: Callable[[Floats], Any], sums: Floats, resampling: Resampling) -> Estimate:
    return estimate_of(float(figure(sums.sum(axis=0))), intervals.bootstrap_sums(figure, sums, resampling=resampling))


def _class_figures(items: JudgedItems, k: int, n_bins: int, resampling: Resampling) -> ClassFigures:
    probability = items.table[:, k]
    predicted, labels = items.top.predicted == k, items.top.labels == k
    hits, n_predicted, n_items = (int(mask.sum()) for mask in (predicted & labels, predicted, labels))
    sums = np.column_stack((predicted & labels, predicted.astype(np.int64) + labels)).astype(np.float64)
    ece = calibration_error(
        np.clip(probability, 0.0, 1.0), labels.astype(np.int64), n_bins=n_bins, kind="positive", resampling=resampling
    )
    return ClassFigures(
        label=k,
        n_items=n_items,
        n_predicted=n_predicted,
        precision=share(hits, n_predicted, resampling),
        recall=share(hits, n_items, resampling),
        # A resample without the class has no F1, and is left out.
        f1=_of_sums(lambda s: 2 * s[..., 0] / s[..., 1], sums, resampling) if n_predicted + n_items else None,
        confidence=mean(items.top.confidence[predicted], resampling, bounds=(0.0, 1.0)),
        surplus=mean(probability - labels, resampling, bounds=(-1.0, 1.0)),
        ece=estimate_of(ece.ece, ece.interval),
    )


FIGURES: Mapping[str, Figure] = {
    "accuracy": Figure(
        "Accuracy",
        "Share of items whose most probable class is the label.",
        "Counted",
        better="higher",
        of_answers="Share of items whose given answer was right.",
        measured=_accuracy,
    ),
    "macro_f1": Figure(
        "Macro F1",
        "Mean over the classes of the harmonic mean of precision and recall.",
        "van Rijsbergen 1979",
        better="higher",
        by_class=True,
        measured=_macro_f1,
    ),
    "mean_confidence": Figure(
        "Mean confidence",
        "Mean probability of the most probable class.",
        "Counted",
        of_answers="Mean confidence in the given answer.",
        values=lambda items: items.top.confidence,
        extent=(0.0, 1.0),
    ),
    "confidence_gap": Figure(
        "Confidence gap",
        "Mean confidence minus accuracy: above 0 the model is over-confident, below 0 under-confident.",
        "Counted",
        values=lambda items: items.top.confidence - items.top.correct,
        bounds=(-1.0, 1.0),
    ),
    "ece": Figure(
        "Calibration error (ECE)",
        "Mean over the items of |accuracy − mean confidence| of their bin; {n_bins} bins of equal width.",
        "Naeini et al. 2015; Guo et al. 2017",
        better="lower",
        binned={},
    ),
    "ece_debiased": Figure(
        "ECE, debiased",
        "ECE less what the noise of the bins' accuracies adds to it.",
        "Kumar et al. 2019",
        better="lower",
        binned={"debias": True},
    ),
    "adaptive_ece": Figure(
        "Adaptive ECE",
        "As ECE, in {n_bins} bins that hold equally many items.",
        "Nguyen & O'Connor 2015; Nixon et al. 2019",
        better="lower",
        binned={"strategy": "quantile"},
    ),
    "smooth_ece": Figure(
        "Smooth ECE",
        "As ECE, with a smoothing kernel in place of bins, whose width equals the error.",
        "Błasiok & Nakkiran 2023",
        better="lower",
        of_top=lambda top: smooth_of(top).smooth_ece,
        basic=True,
        holds_gap=True,
        slow=True,
    ),
    "ece_sweep": Figure(
        "ECE-sweep",
        "As adaptive ECE, in the most bins whose accuracies rise with confidence.",
        "Roelofs et al. 2022",
        better="lower",
        of_top=lambda top: sweep_of(top).ece,
        measured=_sweep,
    ),
    "rmsce_debiased": Figure(
        "RMS calibration error, debiased",
        "Root of the weighted mean square of the bins' gaps, less what noise adds to it.",
        "Kumar et al. 2019",
        better="lower",
        binned={"norm": "l2", "debias": True},
    ),
    "mce": Figure(
        "Largest gap (MCE)",
        "The largest |accuracy − mean confidence| of a bin.",
        "Naeini et al. 2015",
        better="lower",
        binned={"norm": "max"},
    ),
    "classwise_ece": Figure(
        "Classwise ECE",
        "For each class, ECE of its probability over all items; the mean over the classes.",
        "Kull et al. 2019; Nixon et al. 2019",
        better="lower",
        by_class=True,
        binned={"kind": "classwise"},
    ),
    "macro_ce": Figure(
        "MacroCE",
        "Mean of two means: 1 − confidence over right, and confidence over wrong predictions.",
        "Si et al. 2022",
        better="lower",
        of_top=lambda top: macro_of(top).macro_ce,
        measured=_macro_ce,
    ),
    "brier": Figure(
        "Brier score",
        "Mean over the items of the squared distance of the probabilities from the label, from 0 to 2.",
        "Brier 1950",
        unit="ratio",
        better="lower",
        by_class=True,
        values=lambda items: ((items.table - np.eye(items.table.shape[1])[items.top.labels]) ** 2).sum(axis=1),
        bounds=(0.0, 2.0),
    ),
    "brier_of_answers": Figure(
        "Brier score of the confidence",
        "Mean over the items of (confidence − right)², where right is 1 or 0; from 0 to 1.",
        "Brier 1950",
        better="lower",
        answers=True,
        values=lambda items: (items.top.confidence - items.top.correct) ** 2,
        bounds=(0.0, 1.0),
    ),
    "brier_reliability": Figure(
        "Brier: reliability",
        "The part of the Brier score that miscalibration adds, in bins.",
        "Murphy 1973",
        unit="ratio",
        better="lower",
        by_class=True,
        of_top=lambda top: brier_of(top).reliability,
        measured=lambda items, resampling: _brier_part(items, resampling, "reliability"),
    ),
    "brier_resolution": Figure(
        "Brier: resolution",
        "The part that the Brier score gains because bins differ in how often they come true.",
        "Murphy 1973",
        unit="ratio",
        better="higher",
        by_class=True,
        of_top=lambda top: brier_of(top).resolution,
        measured=lambda items, resampling: _brier_part(items, resampling, "resolution"),
    ),
    "brier_uncertainty": Figure(
        "Brier: uncertainty",
        "The part of the Brier score that the labels themselves bring: their variance.",
        "Murphy 1973",
        unit="ratio",
        by_class=True,
        of_top=lambda top: brier_of(top).uncertainty,
        measured=lambda items, resampling: _brier_part(items, resampling, "uncertainty"),
    ),
    "nll": Figure(
        "Log loss",
        "Mean of −log probability of the label.",
        "Good 1952",
        unit="nats",
        better="lower",
        of_answers="Mean of −log of the chance that the confidence gave to what came: right, or wrong.",
        values=lambda items: -label_log_probability(items.logits, items.top.labels),
        needs_errors=True,
        logarithmic=True,
    ),
    "aurc": Figure(
        "AURC",
        "Mean error rate over all shares of the most confident items.",
        "Geifman et al. 2019",
        better="lower",
        of_top=lambda top: selective_of(top).aurc,
        needs_errors=True,
        logarithmic=True,
    ),
    "e_aurc": Figure(
        "Excess AURC",
        "AURC less that of the best ranking with this accuracy.",
        "Geifman et al. 2019",
        better="lower",
        of_top=lambda top: selective_of(top).e_aurc,
        needs_errors=True,
        logarithmic=True,
    ),
    "auroc": Figure(
        "AUROC of confidence",
        "Chance that a right prediction has more confidence than a wrong one.",
        "Hendrycks & Gimpel 2017",
        better="higher",
        of_top=lambda top: selective_of(top).auroc,
        measured=_auroc,
    ),
}
"""Every figure by its key, in the order of the report; "{n_bins}" in a definition is the number of bins."""

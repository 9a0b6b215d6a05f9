"""Does its confidence match its accuracy, or the votes of people: every figure with its interval, from one table."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from rightreasons.calibration.compare import difference
from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
    CalibrationResult,
    Draws,
    bound_mean_gap,
    calibration_error,
    compute_calibration,
    draw_resamples,
    macro_ce,
)
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.proper_scores import auroc, label_log_probability, ranked
from rightreasons.calibration.smooth import ConsistencyResult, consistency, ece_sweep, smooth_ece
from rightreasons.core import bootstrap, intervals
from rightreasons.core.arrays import Floats, Ragged, argsort_canonical, take_rows
from rightreasons.core.binning import assign_bins, make_uniform_edges
from rightreasons.core.classification import compute_macro_f1
from rightreasons.core.clusters import count_units, number_clusters, select_clusters
from rightreasons.core.estimates import (
    Estimate,
    FigureText,
    estimate_mean,
    estimate_rate,
    make_estimate,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import PairedTest, compare_paired_means

SLOW_RESAMPLES = 100
"""Maximum resamples of figures that take milliseconds each."""

MAX_CLASSES = 50
"""Classes that are measured by themselves."""

MAX_CLASS_RESAMPLES = 5_000
"""Resamples of all classes together, so that many classes take no longer than a few."""

DECIDED = ("confidence_gap", "ece_debiased")
"""The figures that the verdict rests on: on average, and in parts of the confidence."""

TESTED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "brier", "nll")
"""The figures that `paired_test` compares."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedItems:
    """Labeled items with what the model said.

    Attributes:
        logits: (N, K) or `Ragged`; for kind="confidence" (N, 2), the log-probabilities of wrong and right.
        top: Their top labels.
        kind: "top_label", or "confidence" where the confidence in the given answer is all that is known.
        n_bins: Number of bins of the binned figures.
        clusters: (N,) names of what the items belong to, which is then one unit; None for independent items.
    """

    logits: Floats | Ragged
    top: TopLabel
    kind: str = "top_label"
    n_bins: int = CalibrationOptions().n_bins
    clusters: NDArray[Any] | None = None
    _drawn: dict[tuple[Any, ...], Draws] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

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
        n_bins: int = CalibrationOptions().n_bins,
        clusters: Any = None,
    ) -> JudgedItems:
        """Judge the items that have a label; -1 is none.

        Args:
            logits: (N, K) or `Ragged`.
            labels: (N,) labels. For kind="confidence": whether the answer was right.
            probabilities: The same as exact probabilities, where these are what is known: (N, K) or `Ragged`; for
                kind="confidence" (N,). None to take them from the logits.
            kind: "top_label" or "confidence".
            n_bins: Number of bins of the binned figures.
            clusters: (N,) names of what the items belong to; None for independent items.
        """
        rows = np.flatnonzero(labels >= 0)
        logits, labels = take_rows(logits, rows), labels[rows]
        units = select_clusters(clusters, rows)
        if probabilities is None:
            return cls(
                logits, parse_top_label(logits, labels, scores="logits"), "top_label", n_bins, units
            )
        exact = take_rows(probabilities, rows)
        table: Any = list(exact) if isinstance(exact, Ragged) else exact
        return cls(logits, parse_top_label(table, labels, kind=kind), kind, n_bins, units)

    @property
    def n_units(self) -> int:
        """The number of items or clusters that are independent."""
        return count_units(self.clusters, len(self))

    @functools.cached_property
    def in_order(self) -> tuple[list[NDArray[Any]], NDArray[Any] | None]:
        """The columns of the top labels, of which `TopLabel` is made, in their own order, and the clusters in it.

        Figures that look at whole rows are not computed where these differ in length: such rows are an empty column.
        """
        top = self.top
        rows = (
            np.empty((len(top), 0)) if isinstance(top.probabilities, Ragged) else top.probabilities
        )
        columns = [top.confidence, top.predicted, top.correct, top.labels, rows]
        order = argsort_canonical(*columns)
        return [column[order] for column in columns], select_clusters(self.clusters, order)

    def draws(self, options: CalibrationErrorOptions, resampling: Resampling) -> Draws:
        """Return `draw_resamples` the items, which the errors of all norms and levels in the same bins share."""
        key = options.kind, options.strategy, options.n_bins, resampling.resamples, resampling.seed
        if key not in self._drawn:
            self._drawn[key] = draw_resamples(
                self.top, options, resampling, number_clusters(self.clusters, len(self))
            )
        return self._drawn[key]

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


Estimator = Callable[[JudgedItems, Resampling], Estimate | None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure(FigureText):
    """A figure of accuracy or confidence: its text, and the function that computes it with its interval.

    Attributes:
        estimate: Takes the items and the resampling; gives None where the items have no such figure.
        of_answers: Its definition for the confidence in given answers, where that differs.
    """

    estimate: Estimator
    of_answers: str = ""

    def defined(self, n_bins: int, kind: str = "top_label") -> Figure:
        """Return the figure with its definition for a number of bins, of class scores or of given answers."""
        definition = (
            self.of_answers if kind == "confidence" and self.of_answers else self.definition
        )
        return dataclasses.replace(self, definition=definition.format(n_bins=n_bins))


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationMeasurement:
    """How well the confidence of a model fits its accuracy on some items.

    Attributes:
        items: The items.
        figures: The figures with their intervals, by key in the order of `FIGURES`.
        decided: Those of `DECIDED`, with intervals so much wider that all of them hold at the level.
        bins: Top-label calibration error, bin by bin.
        consistency: What the same confidences would give if the model were calibrated.
        accuracies: The accuracy of each bin with its Wilson interval; None for empty bins.
    """

    items: JudgedItems
    figures: Mapping[str, Estimate]
    decided: Mapping[str, Estimate]
    bins: CalibrationResult
    consistency: ConsistencyResult
    accuracies: tuple[Estimate | None, ...]


@dataclasses.dataclass(frozen=True)
class ClassFigures:
    """How well one class is found, and how far its probability is from how often it occurs.

    Attributes:
        label: The class.
        n_items: Items of the class.
        precision: Share of its predictions that are right; None without predictions.
        recall: Share of its items that are found; None without items.
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
    """Measure how well the confidence of a model fits its accuracy.

    Args:
        items: The items.
        keys: Which figures, from `FIGURES`; None for all that apply.
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
    bins, top = _binned(items), items.top
    place = assign_bins(top.confidence, make_uniform_edges(items.n_bins), uniform=True)
    groups = [place == number for number in range(items.n_bins)]
    return CalibrationMeasurement(
        items=items,
        figures=measure_figures(items, keys, resampling=resampling),
        decided=measure_figures(items, DECIDED, resampling=resampling.of_family(len(DECIDED))),
        bins=bins,
        consistency=_null(items, resampling),
        accuracies=tuple(
            estimate_rate(top.correct[group], resampling, select_clusters(items.clusters, group))
            for group in groups
        ),
    )


def measure_figures(
    items: JudgedItems, keys: Iterable[str] | None = None, *, resampling: Resampling = Resampling()
) -> dict[str, Estimate]:
    """Compute figures with their intervals, in the order of `FIGURES`; None for all that apply to the items."""
    names = set(FIGURES if keys is None else keys)
    estimates = {
        key: figure.estimate(items, resampling) for key, figure in FIGURES.items() if key in names
    }
    return {key: estimate for key, estimate in estimates.items() if estimate is not None}


def measure_classes(
    items: JudgedItems, *, resampling: Resampling = Resampling()
) -> list[ClassFigures]:
    """Measure each of at most `MAX_CLASSES` classes by itself, the most frequent first.

    Args:
        items: Items with the same classes.
        resampling: Level, resamples (fewer per class where there are many) and seed of the intervals.
    """
    table = items.table
    order = np.argsort(-np.bincount(items.top.labels, minlength=table.shape[1]), kind="stable")[
        :MAX_CLASSES
    ]
    fewer = resampling.at_most(max(100, MAX_CLASS_RESAMPLES // len(order)))
    found = []
    for k in order.tolist():
        predicted, labels = items.top.predicted == k, items.top.labels == k
        of_predicted, of_labels = (
            select_clusters(items.clusters, group) for group in (predicted, labels)
        )
        error = calibration_error(
            np.clip(table[:, k], 0.0, 1.0),
            labels.astype(np.int64),
            n_bins=items.n_bins,
            kind="positive",
            resampling=fewer,
            clusters=items.clusters,
        )
        found.append(
            ClassFigures(
                label=k,
                n_items=int(labels.sum()),
                precision=estimate_rate(labels[predicted], fewer, of_predicted),
                recall=estimate_rate(predicted[labels], fewer, of_labels),
                ece=make_estimate(error.ece, error.interval),
            )
        )
    return found


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
        if max(gap.low or 0.0, -(gap.high or 0.0))
        > beyond  # an interval around 0 is beyond nothing
    }
    return max(clear, key=lambda name: clear[name], default=None)


def paired_outcomes(first: JudgedItems, second: JudgedItems) -> dict[str, int]:
    """Count the items that both models get right, that only the first or only the second does, and that neither does.

    Args:
        first: The items as the first model judges them.
        second: The same items, in the same order, as the second model judges them.
    """
    a, b = first.top.correct, second.top.correct
    masks = {
        "both_right": a & b,
        "first_right": a & ~b,
        "second_right": ~a & b,
        "both_wrong": ~a & ~b,
    }
    return {name: int(mask.sum()) for name, mask in masks.items()}


def paired_test(
    key: str, first: JudgedItems, second: JudgedItems, *, resampling: Resampling = Resampling()
) -> PairedTest:
    """Test whether two models have the same figure on the same items.

    Args:
        key: One of `TESTED`: means are tested by `compare_paired_means`, and "ece" as `compare_confidence` does.
        first: The items as the first model judges them.
        second: The same items, in the same order, as the second model judges them.
        resampling: Level, resamples and seed.

    Returns:
        First minus second, with p-value and interval; None for the interval where nothing is known of it, as with one
        item or, of a mean, where no resample differs.
    """
    if key in _BY_ITEM:
        values, low, high = _BY_ITEM[key]
        inside = [np.clip(values(items), low, high) for items in (first, second)]
        return compare_paired_means(
            *inside, low=low, high=high, clusters=first.clusters, resampling=resampling
        )
    # Confidence and correctness are all that the top-label error depends on; rounding may carry a confidence past 1.
    sides = [
        dataclasses.replace(each.top, confidence=np.minimum(each.top.confidence, 1.0))
        for each in (first, second)
    ]
    codes = number_clusters(first.clusters, len(first))
    test = difference(
        "ece", (sides[0], sides[1]), first.n_bins, clusters=codes, resampling=resampling
    )
    if test is None:
        return PairedTest(
            _binned(first).ece - _binned(second).ece, 1.0, len(first), "too few items"
        )
    return test


# ------------------------------------------------------------- estimators: what computes a figure, and how they compose

Values = Callable[[JudgedItems], Floats]


def _gaps(items: JudgedItems) -> Floats:
    return items.top.confidence - items.top.correct


def _squared_distances(items: JudgedItems) -> Floats:
    squares = (items.table - np.eye(items.table.shape[1])[items.top.labels]) ** 2
    return np.asarray(squares.sum(axis=1))


def _log_losses(items: JudgedItems) -> Floats:
    return -label_log_probability(items.logits, items.top.labels)


_BY_ITEM: Mapping[str, tuple[Values, float | None, float | None]] = {
    "accuracy": (lambda items: items.top.correct.astype(np.float64), 0.0, 1.0),
    "mean_confidence": (lambda items: items.top.confidence, 0.0, 1.0),
    "confidence_gap": (_gaps, -1.0, 1.0),
    "brier": (_squared_distances, 0.0, 2.0),
    "nll": (_log_losses, None, None),
}
"""The figures of `TESTED` that are means over the items: their values (N,), and the bounds of these where known."""

STATISTICS: Mapping[str, Callable[[TopLabel], float | None]] = {
    "smooth_ece": lambda top: smooth_ece(top).smooth_ece,
    "ece_sweep": lambda top: ece_sweep(top).ece,
    "macro_ce": lambda top: macro_ce(top).macro_ce,
    "aurc": lambda top: ranked(top.confidence, top.correct)[0],
    "auroc": lambda top: auroc(top.confidence, top.correct),
}
"""Figures that are functions of the top labels; None where one is undefined."""


def _by_class(estimate: Estimator) -> Estimator:
    """Limit a figure to items with the same classes."""
    return lambda items, resampling: estimate(items, resampling) if items.by_class else None


def _bounded(values: Values, low: float, high: float) -> Estimator:
    """Estimate a mean of values with known bounds, whose interval stays honest where a sure model seldom errs."""
    return lambda items, resampling: estimate_mean(
        np.clip(values(items), low, high), resampling, bounds=(low, high), clusters=items.clusters
    )


def _error(**options: Any) -> Estimator:
    """Estimate a binned calibration error."""

    def estimate(items: JudgedItems, resampling: Resampling) -> Estimate:
        result = _binned(items, resampling, **options)
        return make_estimate(result.ece, result.interval)

    return estimate


def _units(items: JudgedItems, flags: NDArray[np.bool_]) -> int:
    return count_units(select_clusters(items.clusters, flags), int(np.count_nonzero(flags)))


def _few(items: JudgedItems) -> str:
    """Say what there is too little of for an interval, which fewer would not show either; "" for enough."""
    wrong = ~items.top.correct
    counts = {"wrong": _units(items, wrong), "right": _units(items, ~wrong)}
    return next(
        (
            f"fewer than 5 answers are {kind}, so without interval"
            for kind in counts
            if counts[kind] < 5
        ),
        "",
    )


def _of_top(
    key: str,
    interval: Callable[[Callable[..., float], JudgedItems, Resampling], intervals.Interval],
) -> Estimator:
    """Estimate one of `STATISTICS`, with an interval where there is what it needs."""

    def figure(*columns: Any) -> float:
        return float(STATISTICS[key](TopLabel(*columns)) or 0.0)

    def estimate(items: JudgedItems, resampling: Resampling) -> Estimate:
        value = STATISTICS[key](items.top)
        if few := _few(items):
            return Estimate(value, method="" if value is None else few)
        found = interval(figure, items, resampling)
        # One that corrects for bias may lie to one side of its figure.
        low, high = np.clip(
            [min(found.low, value or 0.0), max(found.high, value or 0.0)], 0.0, 1.0
        ).tolist()
        return make_estimate(value, dataclasses.replace(found, low=low, high=high))

    return estimate


def _left_out(
    figure: Callable[..., float], items: JudgedItems, resampling: Resampling
) -> intervals.Interval:
    """Return the jackknife interval of a figure, on its logit.

    A ranking is known from its wrong answers, or its right ones, where these are fewer.
    """
    columns, clusters = items.in_order
    n_known = min(_units(items, right) for right in (items.top.correct, ~items.top.correct))
    how: dict[str, Any] = {"level": resampling.level, "on_logit": True, "n_known": n_known}
    return bootstrap.jackknife(figure, *columns, clusters=clusters, **how)


def _mirrored(
    figure: Callable[..., float], items: JudgedItems, resampling: Resampling
) -> intervals.Interval:
    """Return the basic bootstrap interval of a slow figure that is biased upward, as ECE is.

    It reaches as far as the gap between confidence and accuracy may, below which no such error is, and from 0 unless
    the bins show more error than a calibrated model would: no resample of such a model has as little as the truth.
    """
    top, (columns, clusters) = items.top, items.in_order
    slow = resampling.at_most(SLOW_RESAMPLES)
    drawn = bootstrap.bootstrap(figure, *columns, clusters=clusters, resampling=slow, mirrored=True)
    gap = bound_mean_gap(top.confidence, top.correct, items.clusters, resampling)
    low = drawn.low if _null(items, resampling).p_value <= 1 - resampling.level else 0.0
    return dataclasses.replace(drawn, low=low, high=max(drawn.high, gap))


def _log_loss(items: JudgedItems, resampling: Resampling) -> Estimate | None:
    losses = _log_losses(items)
    if not np.isfinite(losses).all():  # a label of probability 0
        return Estimate(None)
    if few := _few(items):
        return Estimate(float(losses.mean()), method=few)
    return estimate_mean(losses, resampling, clusters=items.clusters)


def _binned(
    items: JudgedItems, resampling: Resampling | None = None, **options: Any
) -> CalibrationResult:
    checked = CalibrationErrorOptions(n_bins=items.n_bins, **{"kind": items.kind, **options})
    draws = (
        None if resampling is None or checked.norm == "max" else items.draws(checked, resampling)
    )
    return compute_calibration(items.top, checked, resampling, clusters=items.clusters, draws=draws)


def _null(items: JudgedItems, resampling: Resampling) -> ConsistencyResult:
    """Return what a calibrated model would show in the bins; of clusters, in the draws of the errors' intervals."""
    calibrated = None
    if items.clusters is not None:
        drawn = items.draws(
            CalibrationErrorOptions(n_bins=items.n_bins, kind=items.kind), resampling
        ).calibrated
        calibrated = None if drawn is None else drawn[:, 0]
    return consistency(_binned(items), calibrated=calibrated, resampling=resampling)


ESTIMATORS: Mapping[str, Estimator] = {
    "accuracy": lambda items, resampling: estimate_rate(
        items.top.correct, resampling, items.clusters
    ),
    "macro_f1": _by_class(
        lambda items, resampling: make_estimate(
            *compute_macro_f1(items.top.predicted, items.top.labels, resampling, items.clusters)
        )
    ),
    "mean_confidence": _bounded(lambda items: items.top.confidence, 0.0, 1.0),
    "confidence_gap": _bounded(_gaps, -1.0, 1.0),
    "ece": _error(),
    "ece_debiased": _error(debias=True),
    "adaptive_ece": _error(strategy="quantile"),
    "smooth_ece": _of_top("smooth_ece", _mirrored),
    "ece_sweep": _of_top("ece_sweep", _mirrored),
    "rmsce_debiased": _error(norm="l2", debias=True),
    "mce": _error(norm="max"),
    "classwise_ece": _by_class(_error(kind="classwise")),
    "macro_ce": _of_top("macro_ce", _left_out),
    "brier": _by_class(_bounded(_squared_distances, 0.0, 2.0)),
    "brier_of_answers": lambda items, resampling: (
        _bounded(lambda each: _gaps(each) ** 2, 0.0, 1.0)(items, resampling)
        if items.kind == "confidence"
        else None
    ),
    "nll": _log_loss,
    "aurc": _of_top("aurc", _left_out),
    "auroc": _of_top(
        "auroc",
        lambda _, items, resampling: intervals.delong(
            items.top.confidence,
            items.top.correct,
            confidence_level=resampling.level,
            clusters=items.clusters,
        ),
    ),
}
"""What computes each figure."""

_TEXTS = yaml.safe_load(Path(__file__).with_name("figures.yaml").read_text("utf-8"))

FIGURES = {key: Figure(**_TEXTS[key], estimate=estimate) for key, estimate in ESTIMATORS.items()}
"""Every figure by its key, in the order of the report; "{n_bins}" in a definition is the number of bins."""


VOTE_FIGURES = {key: FigureText(**_TEXTS[key]) for key in ("dist_ce", "ent_ce", "rank_cs")}
"""The figures against the votes of people, by their names in `HumanCalibration`."""

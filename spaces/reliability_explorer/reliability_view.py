"""A calibration error as HTML: verdict, figures, reliability diagram, table of bins, and definition.

`write_run` prepares the page of a new run, and `write_view` writes it for other settings.
"""

from __future__ import annotations

import dataclasses
import html
import warnings
from typing import Any

import numpy as np
from runs import Settings, fit_settings, list_class_names, scale_scores

from rightreasons.calibration.errors import (
    CalibrationResult,
    ConfidenceVersusLabelWarning,
    PositiveVersusCorrectnessWarning,
    calibration_error,
)
from rightreasons.calibration.measurement import MARGIN
from rightreasons.calibration.proper_scores import brier_score, negative_log_likelihood
from rightreasons.calibration.smooth import ConsistencyResult, consistency
from rightreasons.core.arrays import is_ragged
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import check_scores
from rightreasons.io.predictions import Predictions
from rightreasons.page.formats import number, p_equals, percent
from rightreasons.page.plots import reliability_diagram
from rightreasons.widget.pages import between, table, tiles, verdict

LEVEL = 0.95
"""Confidence level of the intervals."""

ALPHA = 0.05
"""Level of the test of calibration."""

ERROR_NAMES = {"l1": "ECE", "l2": "RMS calibration error", "max": "Maximum calibration error"}
"""Norm -> name of the calibration error."""

CAPTIONS = {
    "top_label": "Accuracy of the answers of each bin against their mean confidence.",
    "confidence": "Accuracy of the given answers of each bin against the mean confidence in them.",
    "positive": "How often the label is class 1, against P(class 1).",
    "classwise": "How often the label is {name}, against P({name}); the figure above is the mean over "
    "all classes.",
}
"""Kind of calibration error -> caption of the diagram."""


@dataclasses.dataclass(frozen=True)
class View:
    """What the page shows, as HTML.

    Attributes:
        figures: The verdict, tiles with the headline figures, and the definition in words.
        diagram: The reliability diagram, an SVG.
        bins: The table of bins.
    """

    figures: str
    diagram: str
    bins: str


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Calibration of a run at the chosen settings.

    Attributes:
        result: The calibration error.
        bins: Result with the bins that are drawn, which are those of one class for
            kind="classwise".
        null: Distribution of the error of a calibrated model.
        log_loss: Log loss. None if it is infinite.
        brier: Brier score. None for rows of different lengths.
    """

    result: CalibrationResult
    bins: CalibrationResult
    null: ConsistencyResult
    log_loss: float | None
    brier: float | None


def write_run(run: Predictions, settings: Settings, source: str) -> tuple[Settings, str, View]:
    """Write the page of a new run.

    Args:
        run: The run.
        settings: Settings of the controls.
        source: Origin of the run.

    Returns:
        The settings that fit the run, a line about it, and the page.
    """
    settings = fit_settings(run, settings)
    n_classes = len(list_class_names(run))
    content = "rows of different lengths"
    if run.kind == "confidence":
        content = "the confidence in given answers"
    elif n_classes:
        content = f"{n_classes} classes"
    items = pluralize(len(run), "item")
    line = f'<p class="rr-small">{html.escape(source)} {items}, {content}.</p>'
    return settings, line, write_view(run, settings)


def write_view(run: Predictions, settings: Settings) -> View:
    """Measure a run, and write the page; a mistake of the user raises an error with its sentence."""
    calibration = measure_run(run, settings)
    return View(
        figures=_write_figures(calibration, settings),
        diagram=_draw_diagram(calibration, run, settings),
        bins=_write_bins(calibration.bins, run, settings),
    )


def measure_run(run: Predictions, settings: Settings) -> Calibration:
    """Measure the calibration of a run at the chosen settings."""
    predictions, scores = scale_scores(run, settings)
    # Proper scores know class scores and confidences only, not the kinds of the error.
    kind = "confidence" if run.kind == "confidence" else "multiclass"
    log_loss = negative_log_likelihood(predictions, run.references, scores=scores, kind=kind)
    brier = None
    if not is_ragged(predictions):
        brier = brier_score(predictions, run.references, scores=scores, kind=kind).brier
    with warnings.catch_warnings():
        # The page shows the sentence of the result.
        warnings.simplefilter("ignore", PositiveVersusCorrectnessWarning)
        warnings.simplefilter("ignore", ConfidenceVersusLabelWarning)
        result = _measure_error(predictions, run.references, scores, settings)
        bins = _measure_bins(result, predictions, run.references, scores, settings)
    # The test is about the bins that are drawn.
    null = consistency(bins, resampling=Resampling(LEVEL))
    return Calibration(result, bins, null, log_loss.nll, brier)


def _measure_error(
    predictions: Any, references: Any, scores: str, settings: Settings
) -> CalibrationResult:
    """Return the calibration error with its interval."""
    # The largest gap of any bin has no bootstrap interval.
    resampling = None
    if settings.norm != "max":
        resampling = Resampling(LEVEL)
    return calibration_error(
        predictions,
        references,
        kind=settings.kind,
        norm=settings.norm,
        debias=settings.debias,
        resampling=resampling,
        n_bins=settings.n_bins,
        strategy=settings.strategy,
        scores=scores,
    )


def _measure_bins(
    result: CalibrationResult,
    predictions: Any,
    references: Any,
    scores: str,
    settings: Settings,
) -> CalibrationResult:
    """Return the result whose bins are drawn."""
    options: dict[str, Any] = {"n_bins": settings.n_bins, "strategy": settings.strategy}
    if settings.kind == "classwise":
        # The bins of one class are those of the binary question "is it this class?".
        probabilities = check_scores(predictions, scores=scores)[:, settings.shown_class]
        is_class = (references == settings.shown_class).astype(np.int64)
        return calibration_error(
            probabilities, is_class, kind="positive", scores="probabilities", **options
        )
    # The test of calibration is about the plain error.
    if settings.norm != "l1" or settings.debias:
        return calibration_error(
            predictions, references, kind=settings.kind, scores=scores, **options
        )
    return result


# --------------------------------------------------------------------------------- verdict


def describe_calibration(
    result: CalibrationResult, null: ConsistencyResult, settings: Settings
) -> tuple[str, str]:
    """Return the conclusion in one sentence, and its tone."""
    items = pluralize(result.n_items, "item")
    accuracy = _estimate_accuracy(result)
    if null.p_value >= ALPHA:
        sentence = f"Nothing here shows miscalibration: the error is what chance gives in {items}"
        gap = max(result.mean_confidence - accuracy.low, accuracy.high - result.mean_confidence)
        # Few items show nothing, either way.
        if gap >= MARGIN:
            return f"{sentence}, but a gap of {MARGIN:.0%} is not ruled out by so few.", "neutral"
        return f"{sentence}.", "good"
    evidence = f"beyond chance (p {p_equals(null.p_value)})"
    # Only a confidence in answers can be above or below their accuracy.
    if settings.kind not in ("top_label", "confidence"):
        error = percent(result.ece)
        sentence = f"Miscalibrated: probabilities are off by {error} on average, {evidence}."
        return sentence, "warn"
    # Beyond the interval of the accuracy, so that chance is no overconfidence.
    overconfidence = result.mean_confidence - accuracy.high
    underconfidence = accuracy.low - result.mean_confidence
    name = "Miscalibrated at some confidence levels"
    if overconfidence > 0:
        name = "Overconfident"
    elif underconfidence > 0:
        name = "Underconfident"
    tone = "bad" if max(overconfidence, underconfidence) > MARGIN else "warn"
    sentence = (
        f"{name}: {percent(result.mean_confidence)} confident on average, correct in "
        f"{percent(result.accuracy)} of {items}, {evidence}."
    )
    return sentence, tone


def _estimate_accuracy(result: CalibrationResult) -> Interval:
    """Return the interval of the accuracy."""
    return wilson(round(result.accuracy * result.n_items), result.n_items)


def _write_figures(calibration: Calibration, settings: Settings) -> str:
    """Write the verdict, the figures, warnings and the definition."""
    result = calibration.result
    sentences = [result.definition]
    # A temperature of 1 changes nothing.
    if settings.temperature != 1:
        sentences.append(
            f"Scores were divided by temperature {settings.temperature:g} before the softmax."
        )
    # The distribution is that of one class, if the bins are.
    if settings.kind != "classwise":
        null = calibration.null
        sentences.append(
            f"A calibrated model with these confidences would show an ECE of {percent(null.expected)} "
            f"on average, and stay below {percent(null.upper)} in {LEVEL:.0%} of samples "
            f"({_describe_p_value(null)})."
        )
    warning = ""
    if result.warning:
        warning = f'<p class="rr-warning">{html.escape(result.warning)}</p>'
    conclusion = verdict(*describe_calibration(result, calibration.null, settings))
    definition = html.escape(" ".join(sentences))
    return (
        f"{conclusion}{tiles(_list_figures(calibration, settings))}{warning}"
        f'<p class="rr-definition">{definition}</p>'
    )


def _list_figures(calibration: Calibration, settings: Settings) -> list[tuple[str, str, str]]:
    """Return the names, values and notes of the figures."""
    result = calibration.result
    name = ERROR_NAMES[settings.norm]
    if settings.debias:
        name = f"Debiased {name}"
    log_loss_note = "nats"
    if calibration.log_loss is None:
        log_loss_note = "infinite: a label has probability 0"
    brier_note = "in [0, 2]"
    if calibration.brier is None:
        brier_note = "needs one number of classes"
    elif settings.kind == "confidence":
        brier_note = "in [0, 1]"
    items = pluralize(result.n_items, "item")
    return [
        (name, number(result.ece), between(result.interval)),
        ("Accuracy", number(result.accuracy), between(_estimate_accuracy(result))),
        ("Mean confidence", number(result.mean_confidence), f"over {items}"),
        ("Log loss", number(calibration.log_loss, "nats"), log_loss_note),
        (
            "Overconfidence",
            number(result.overconfidence),
            "part of the ECE with confidence > accuracy",
        ),
        (
            "Underconfidence",
            number(result.underconfidence),
            "part of the ECE with accuracy > confidence",
        ),
        ("Largest gap", number(result.mce), "of any bin"),
        ("Brier score", number(calibration.brier, "ratio"), brier_note),
    ]


def _describe_p_value(null: ConsistencyResult) -> str:
    """Return a p-value, or the bound that the number of resamples allows."""
    # No smaller p-value is possible with this number of resamples.
    smallest = 1 / (null.n_resamples + 1)
    if null.p_value <= smallest:
        return f"p < {1 / null.n_resamples:g}"
    return f"p = {null.p_value:.3f}"


# ------------------------------------------------------------------------ diagram and bins


def _draw_diagram(calibration: Calibration, run: Predictions, settings: Settings) -> str:
    """Draw the reliability diagram with its caption."""
    intervals = []
    for row in calibration.bins.bins:
        # An empty bin has no accuracy.
        interval = None
        if row.count:
            interval = wilson(round(row.accuracy * row.count), row.count)
        intervals.append(interval)
    drawing = reliability_diagram(
        "reliability",
        calibration.bins.bins,
        intervals=intervals,
        bars=calibration.null.bars,
        level=LEVEL,
    )
    caption = CAPTIONS[settings.kind]
    if settings.kind == "classwise":
        caption = caption.format(name=list_class_names(run)[settings.shown_class])
    caption = html.escape(caption)
    return (
        f'<figure class="rr-figure" role="img" aria-label="{caption}">{drawing.svg}'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _write_bins(result: CalibrationResult, run: Predictions, settings: Settings) -> str:
    """Write the table of the bins that have items."""
    rows = []
    for row in result.bins:
        if not row.count:
            continue
        interval = wilson(round(row.accuracy * row.count), row.count)
        rows.append(
            {
                "bin": f"{number(row.lower)} to {number(row.upper)}",
                "count": row.count,
                "confidence": row.confidence,
                "accuracy": row.accuracy,
                "interval": f"{number(interval.low)} to {number(interval.high)}",
                "gap": row.confidence - row.accuracy,
            }
        )
    score_name, event_name = _name_columns(run, settings)
    columns = {
        "bin": "bin",
        "count": "items",
        "confidence": score_name,
        "accuracy": event_name,
        "interval": f"{LEVEL:.0%} interval",
        "gap": "gap",
    }
    caption = "Bins"
    n_empty = len(result.bins) - len(rows)
    if n_empty:
        caption = f"Bins ({n_empty} empty ones are not listed)"
    units = dict.fromkeys(("confidence", "accuracy", "gap"), "fraction")
    return table(rows, columns, caption=caption, units=units)


def _name_columns(run: Predictions, settings: Settings) -> tuple[str, str]:
    """Return the headings of the score and of the event that it predicts."""
    if settings.kind == "positive":
        return "mean P(class 1)", "share of class 1"
    if settings.kind == "classwise":
        name = list_class_names(run)[settings.shown_class]
        return f"mean P({name})", f"share of {name}"
    return "confidence", "accuracy"

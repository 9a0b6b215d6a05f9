"""From predictions and settings to what the page shows: verdict, figures, diagram, bin table, definition."""

import dataclasses
import functools
import html
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.calibration.confidences import (
    TABLE_KINDS,
    ConfidenceVersusLabelWarning,
    PositiveVersusCorrectnessWarning,
)
from rightreasons.calibration.errors import CalibrationResult, calibration_error
from rightreasons.calibration.measurement import MARGIN
from rightreasons.calibration.proper_scores import brier_score, negative_log_likelihood
from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.calibration.recalibrators import apply_temperature, fit_temperature
from rightreasons.calibration.smooth import ConsistencyResult, consistency
from rightreasons.core.arrays import is_ragged
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import check_scores
from rightreasons.io.predictions import Predictions, parse_predictions, read_predictions
from rightreasons.page.formats import p_value, percent
from rightreasons.page.plots import reliability_diagram
from rightreasons.widget.pages import (
    FILTER,
    between,
    check_upload,
    figure,
    table,
    tiles,
    typed_text,
    verdict,
)

RUNS = Path(__file__).resolve().parent / "bundled"
LEVEL, ALPHA = 0.95, 0.05
FIGURE = {"l1": "ECE", "l2": "RMS calibration error", "max": "Maximum calibration error"}
CAPTIONS = {
    "top_label": "How often the answers of a bin are right, against how sure the model is of them.",
    "confidence": "How often the given answers of a bin are right, against how sure the model was of them.",
    "positive": "How often the label is class 1, against P(class 1).",
    "classwise": "How often the label is {name}, against P({name}); the figure above is the mean over all classes.",
}


KINDS = {"top_label": TABLE_KINDS, "confidence": ("confidence",)}
"""What can be compared: of class scores, and of the confidence in given answers."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the controls.

    Attributes:
        n_bins: Bins of confidence.
        strategy: "uniform" or "quantile".
        kind: "top_label", "positive" or "classwise"; "confidence" for the confidence in given answers.
        norm: "l1", "l2" or "max".
        scores: "probabilities", "logits" or "log_probabilities".
        debias: Whether to take the noise of the accuracies out.
        temperature: Logits are divided by it; 1 leaves the model as it is.
        shown_class: The class whose bins are drawn for kind="classwise".
    """

    n_bins: int = 15
    strategy: str = "uniform"
    kind: str = "top_label"
    norm: str = "l1"
    scores: str = "probabilities"
    debias: bool = False
    temperature: float = 1.0
    shown_class: int = 0


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


@functools.cache
def bundled() -> dict[str, dict[str, str]]:
    """The index of the bundled runs by their titles: `file` and `about`."""
    return {
        entry["title"]: entry
        for entry in json.loads((RUNS / "index.json").read_text(encoding="utf-8"))
    }


@functools.cache
def bundled_run(title: str) -> Predictions:
    """Read a bundled run."""
    return read_predictions(RUNS / bundled()[title]["file"])


def open_file(path: str, log_filter: str | None = None) -> Predictions:
    """Read an uploaded table, or a log of a harness."""
    return read_predictions(
        check_upload(path), log_filter=typed_text(log_filter or "", FILTER).strip() or None
    )


def open_text(text: str) -> Predictions:
    """Read a pasted table."""
    return parse_predictions(typed_text(text, "Predictions"))


def opened(run: Predictions, settings: Settings, about: str) -> tuple[Settings, str, View]:
    """Prepare the page of a new run: the settings that fit it, a line about it, and what is shown."""
    kinds = KINDS[run.kind]
    settings = dataclasses.replace(
        settings,
        kind=settings.kind if settings.kind in kinds else kinds[0],
        scores=run.scores or settings.scores,
        temperature=1.0,
        shown_class=0,
    )
    names = class_names(run)
    classes = f"{len(names)} classes" if names else "rows of different lengths"
    if run.kind == "confidence":
        classes = "the confidence in given answers"
    line = f'<p class="rr-small">{html.escape(about)} {pluralize(len(run), "item")}, {classes}.</p>'
    return settings, line, view(run, settings)


def view(run: Predictions, settings: Settings) -> View:
    """Compute everything that the page shows; a user's mistake raises an error with its sentence."""
    result, shown, predictions, scores = _computed(run, settings)
    whole = {"scores": scores, "kind": "confidence" if run.kind == "confidence" else "multiclass"}
    losses = (
        negative_log_likelihood(predictions, run.references, **whole).nll,
        None if is_ragged(predictions) else brier_score(predictions, run.references, **whole).brier,
    )
    null = _null(shown)
    return View(
        _figures(result, null, losses, settings),
        _diagram(shown, null, run, settings),
        _bins(shown, run, settings),
    )


def _computed(
    run: Predictions, settings: Settings
) -> tuple[CalibrationResult, CalibrationResult, Any, str]:
    """Compute the error, the bins that are shown, and the scores at the chosen temperature with their kind."""
    predictions, scores = tempered(run, settings)
    options: dict[str, Any] = {
        "n_bins": settings.n_bins,
        "strategy": settings.strategy,
        "scores": scores,
    }
    with warnings.catch_warnings():  # the sentence is in the result
        warnings.simplefilter("ignore", PositiveVersusCorrectnessWarning)
        warnings.simplefilter("ignore", ConfidenceVersusLabelWarning)
        result = calibration_error(
            predictions,
            run.references,
            kind=settings.kind,
            norm=settings.norm,
            debias=settings.debias,
            resampling=None if settings.norm == "max" else Resampling(LEVEL),
            **options,
        )
        shown = result
        if settings.kind == "classwise":
            # The bins of one class are those of the binary question "is it this class?".
            of_class = check_scores(predictions, scores=scores)[:, settings.shown_class]
            is_class = (run.references == settings.shown_class).astype(np.int64)
            shown = calibration_error(
                of_class, is_class, kind="positive", **{**options, "scores": "probabilities"}
            )
        elif settings.norm != "l1" or settings.debias:
            shown = calibration_error(predictions, run.references, kind=settings.kind, **options)
    return result, shown, predictions, scores


def _null(shown: CalibrationResult) -> ConsistencyResult:
    return consistency(shown, resampling=Resampling(LEVEL))


def _verdict(
    result: CalibrationResult, null: ConsistencyResult, settings: Settings
) -> tuple[str, str]:
    """Say in one sentence what the figures show; returns it and its tone."""
    items = pluralize(result.n_items, "item")
    if null.p_value >= ALPHA:
        words = f"Nothing here shows miscalibration: the error is what chance gives in {items}"
        accuracy = _accuracy(result)
        gap = max(result.mean_confidence - accuracy.low, accuracy.high - result.mean_confidence)
        if gap >= MARGIN:
            return f"{words}, but a gap of {MARGIN:.0%} is not ruled out by so few.", "neutral"
        return f"{words}.", "good"
    beyond = f"beyond chance (p {p_value(null.p_value) if null.p_value < 0.001 else f'= {null.p_value:.3f}'})"
    if settings.kind not in ("top_label", "confidence"):
        return (
            f"Miscalibrated: probabilities are off by {percent(result.ece)} on average, {beyond}.",
            "warn",
        )
    accuracy = _accuracy(result)
    over, under = result.mean_confidence - accuracy.high, accuracy.low - result.mean_confidence
    name = (
        "Overconfident" if over > 0 else "Underconfident" if under > 0 else "Miscalibrated in parts"
    )
    words = f"{percent(result.mean_confidence)} sure on average, right in {percent(result.accuracy)} of {items}"
    return f"{name}: {words}, {beyond}.", "bad" if max(over, under) > MARGIN else "warn"


def tempered(run: Predictions, settings: Settings) -> tuple[Any, str]:
    """Return the scores at the chosen temperature, and their kind; at 1 they are unchanged."""
    if settings.temperature == 1:
        return run.predictions, settings.scores
    _check_classes(run)
    return apply_temperature(
        run.predictions, settings.temperature, scores=settings.scores
    ), "probabilities"


def fit(run: Predictions, settings: Settings) -> tuple[float, str]:
    """Fit the temperature on a random half of the items, and describe its effect on the other half."""
    _check_classes(run)
    if len(run) < 2:
        raise ValueError(
            "Expected at least two items to fit a temperature on one half of them, but got 1."
        )
    order = np.random.default_rng(0).permutation(len(run))
    first, (predictions, references) = (
        _rows(run, np.sort(half)) for half in np.array_split(order, 2)
    )
    fitted = fit_temperature(*first, scores=settings.scores)
    scaled = apply_temperature(predictions, fitted.temperature, scores=settings.scores)
    before = calibration_summary(
        predictions, references, n_bins=settings.n_bins, scores=settings.scores
    )
    after = calibration_summary(scaled, references, n_bins=settings.n_bins)
    ece, loss = (f"{figure(before[name])} → {figure(after[name])}" for name in ("ece", "nll"))
    words = (
        f"Fitted on a random half ({fitted.n_items:,} items): temperature {fitted.temperature:.3g}. "
        f"On the other half, top-label ECE {ece}, log loss {loss}."
    )
    return fitted.temperature, words


def _check_classes(run: Predictions) -> None:
    if run.kind == "confidence":
        raise ValueError(
            "Expected class scores for a temperature, which divides those of all classes, but got the confidence in "
            "given answers."
        )


def _rows(run: Predictions, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    predictions = run.predictions
    chosen = (
        [predictions[row] for row in rows] if isinstance(predictions, list) else predictions[rows]
    )
    return chosen, run.references[rows]


def _figures(
    result: CalibrationResult,
    null: ConsistencyResult,
    losses: tuple[float | None, float | None],
    settings: Settings,
) -> str:
    name = ("Debiased " if settings.debias else "") + FIGURE[settings.norm]
    brier = "in [0, 1]" if settings.kind == "confidence" else "in [0, 2]"
    entries = [
        (name, figure(result.ece), between(result.interval)),
        ("Accuracy", figure(result.accuracy), between(_accuracy(result))),
        (
            "Mean confidence",
            figure(result.mean_confidence),
            f"over {pluralize(result.n_items, 'item')}",
        ),
        (
            "Log loss",
            figure(losses[0]),
            "nats" if losses[0] is not None else "infinite: a label has probability 0",
        ),
        ("Overconfidence", figure(result.overconfidence), "of the ECE: confidence > accuracy"),
        ("Underconfidence", figure(result.underconfidence), "of the ECE: accuracy > confidence"),
        ("Largest gap", figure(result.mce), "of any bin"),
        (
            "Brier score",
            figure(losses[1]),
            brier if losses[1] is not None else "needs one number of classes",
        ),
    ]
    words = [result.definition]
    if settings.temperature != 1:
        words.append(
            f"Scores were divided by temperature {settings.temperature:g} before the softmax."
        )
    if settings.kind != "classwise":
        words.append(
            f"A calibrated model with these confidences would show an ECE of {null.expected:.4f} on average "
            f"and stay below {null.upper:.4f} in {LEVEL:.0%} of samples ({_p_value(null)})."
        )
    warning = f'<p class="rr-warning">{html.escape(result.warning)}</p>' if result.warning else ""
    head = verdict(*_verdict(result, null, settings))
    return f'{head}{tiles(entries)}{warning}<p class="rr-definition">{html.escape(" ".join(words))}</p>'


def _accuracy(result: CalibrationResult) -> Interval:
    return wilson(round(result.accuracy * result.n_items), result.n_items)


def _p_value(null: ConsistencyResult) -> str:
    least = 1 / (null.n_resamples + 1)
    return f"p < {1 / null.n_resamples:g}" if null.p_value <= least else f"p = {null.p_value:.3f}"


def _diagram(
    shown: CalibrationResult, null: ConsistencyResult, run: Predictions, settings: Settings
) -> str:
    intervals = [
        wilson(round(row.accuracy * row.count), row.count) if row.count else None
        for row in shown.bins
    ]
    drawing = reliability_diagram(
        "reliability", shown.bins, intervals=intervals, bars=null.bars, level=LEVEL
    )
    caption = html.escape(_caption(run, settings))
    return (
        f'<figure class="rr-figure" role="img" aria-label="{caption}">{drawing.svg}'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _caption(run: Predictions, settings: Settings) -> str:
    if settings.kind != "classwise":
        return CAPTIONS[settings.kind]
    return CAPTIONS["classwise"].format(name=class_names(run)[settings.shown_class])


def _bins(shown: CalibrationResult, run: Predictions, settings: Settings) -> str:
    rows = []
    for row in shown.bins:
        if not row.count:
            continue
        interval = wilson(round(row.accuracy * row.count), row.count)
        rows.append(
            {
                "bin": f"({row.lower:.3g}, {row.upper:.3g}]",
                "count": row.count,
                "confidence": row.confidence,
                "accuracy": row.accuracy,
                "interval": f"{interval.low:.3f} – {interval.high:.3f}",
                "gap": row.confidence - row.accuracy,
            }
        )
    score, event = "confidence", "accuracy"
    if settings.kind == "positive":
        score, event = "mean P(class 1)", "share of class 1"
    elif settings.kind == "classwise":
        name = class_names(run)[settings.shown_class]
        score, event = f"mean P({name})", f"share of {name}"
    columns = {"bin": "bin", "count": "items", "confidence": score, "accuracy": event}
    empty = len(shown.bins) - len(rows)
    caption = f"Bins ({empty} empty ones are left out)" if empty else "Bins"
    return table(
        rows, {**columns, "interval": f"{LEVEL:.0%} interval", "gap": "gap"}, caption=caption
    )


def class_names(run: Predictions) -> list[str]:
    """Name the classes of a run; empty where rows differ in their number of choices."""
    if run.kind == "confidence":
        return []
    if run.label_names:
        return list(run.label_names)
    if is_ragged(run.predictions):
        return []
    scores = np.asarray(run.predictions)
    return [f"class {k}" for k in range(scores.shape[1] if scores.ndim == 2 else 2)]

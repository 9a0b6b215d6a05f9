"""Predictions of the page: bundled, uploaded or pasted ones, at a temperature.

`read_bundled`, `read_upload` and `parse_run` open a run, `scale_scores` applies the chosen
temperature, and `fit_on_half` fits one.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TABLE_KINDS
from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.calibration.recalibrators import apply_temperature, fit_temperature
from rightreasons.core.arrays import is_ragged
from rightreasons.io.predictions import Predictions, parse_predictions, read_predictions
from rightreasons.page.formats import number
from rightreasons.widget.pages import FILTER, check_upload, typed_text

RUNS = Path(__file__).resolve().parent / "bundled"

KINDS = {"top_label": TABLE_KINDS, "confidence": ("confidence",)}
"""Kind of a run -> kinds of calibration error: of class scores, or of confidences in given answers."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of the controls, in their order.

    Attributes:
        n_bins: Number of bins of confidence.
        strategy: "uniform" or "quantile".
        kind: "top_label", "positive" or "classwise"; "confidence" for confidences in given answers.
        norm: "l1", "l2" or "max".
        scores: "probabilities", "logits" or "log_probabilities".
        debias: Whether the noise of the accuracies is subtracted.
        temperature: Divisor of the logits; 1 leaves the scores as they are.
        shown_class: Class whose bins are drawn for kind="classwise".
    """

    n_bins: int = 15
    strategy: str = "uniform"
    kind: str = "top_label"
    norm: str = "l1"
    scores: str = "probabilities"
    debias: bool = False
    temperature: float = 1.0
    shown_class: int = 0


@functools.cache
def list_bundled() -> dict[str, dict[str, str]]:
    """Return the entries of the bundled runs by their titles: `file` and `about`."""
    entries = json.loads((RUNS / "index.json").read_text(encoding="utf-8"))
    return {entry["title"]: entry for entry in entries}


@functools.cache
def read_bundled(title: str) -> Predictions:
    """Read a bundled run."""
    return read_predictions(RUNS / list_bundled()[title]["file"])


def read_upload(path: str, log_filter: str | None = None) -> Predictions:
    """Read an uploaded table, or a log of a harness."""
    file = check_upload(path)
    name = typed_text(log_filter or "", FILTER).strip()
    return read_predictions(file, log_filter=name or None)


def parse_run(text: str) -> Predictions:
    """Parse a pasted table."""
    return parse_predictions(typed_text(text, "Predictions"))


def fit_settings(run: Predictions, settings: Settings) -> Settings:
    """Return settings that fit a new run; those that concern the last one are reset."""
    # A table of class scores has other kinds of error than one of confidences.
    kinds = KINDS[run.kind]
    kind = settings.kind
    if kind not in kinds:
        kind = kinds[0]
    return dataclasses.replace(
        settings,
        kind=kind,
        scores=run.scores or settings.scores,
        temperature=1.0,
        shown_class=0,
    )


def list_class_names(run: Predictions) -> list[str]:
    """Return the names of the classes; [] if rows have different numbers of choices."""
    if run.kind == "confidence":
        return []
    if run.label_names:
        return list(run.label_names)
    if is_ragged(run.predictions):
        return []
    scores = np.asarray(run.predictions)
    # One column of scores is that of the second of two classes.
    n_classes = scores.shape[1] if scores.ndim == 2 else 2
    return [f"class {k}" for k in range(n_classes)]


def scale_scores(run: Predictions, settings: Settings) -> tuple[Any, str]:
    """Return the scores at the chosen temperature, and their kind; at 1 they are unchanged."""
    if settings.temperature == 1:
        return run.predictions, settings.scores
    _check_classes(run)
    probabilities = apply_temperature(run.predictions, settings.temperature, scores=settings.scores)
    return probabilities, "probabilities"


def fit_on_half(run: Predictions, settings: Settings) -> tuple[float, str]:
    """Fit the temperature on a random half of the items, and describe its effect on the other half.

    Raises:
        ValueError: If there are no class scores, or fewer than two items.
    """
    _check_classes(run)
    if len(run) < 2:
        raise ValueError(
            "Expected at least two items to fit a temperature on one half of them, but got 1."
        )
    # A fixed seed: the same run gives the same temperature at every visit.
    order = np.random.default_rng(0).permutation(len(run))
    fit_rows, test_rows = map(np.sort, np.array_split(order, 2))
    fitted = fit_temperature(*_select_rows(run, fit_rows), scores=settings.scores)
    predictions, references = _select_rows(run, test_rows)
    scaled = apply_temperature(predictions, fitted.temperature, scores=settings.scores)
    original_summary = calibration_summary(
        predictions, references, n_bins=settings.n_bins, scores=settings.scores
    )
    # Scaled scores are probabilities, the default.
    scaled_summary = calibration_summary(scaled, references, n_bins=settings.n_bins)
    sentence = (
        f"Fitted on a random half ({fitted.n_items:,} items): temperature "
        f"{fitted.temperature:.3g}. On the other half, top-label ECE {number(original_summary['ece'])} → "
        f"{number(scaled_summary['ece'])}, log loss {number(original_summary['nll'], 'nats')} → "
        f"{number(scaled_summary['nll'], 'nats')}."
    )
    return fitted.temperature, sentence


def _check_classes(run: Predictions) -> None:
    """Refuse a run without class scores, which a temperature needs."""
    if run.kind == "confidence":
        raise ValueError(
            "Expected class scores for a temperature, which divides those of all classes, but got "
            "the confidence in given answers."
        )


def _select_rows(run: Predictions, rows: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    """Return the scores and the labels of some rows."""
    predictions = run.predictions
    # Rows of different lengths are a list.
    if isinstance(predictions, list):
        return [predictions[row] for row in rows], run.references[rows]
    return predictions[rows], run.references[rows]

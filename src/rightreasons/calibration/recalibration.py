"""Recalibrate one split by another, and compare every figure about confidence before and after.

`recalibrate` fits a method on a split and applies it to another; `recalibrators.fit_recalibrator`
returns what was fitted, to be kept. `calibration_summary` computes every figure about confidence at
once, and `recalibration_report` compares these figures before and after.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from rightreasons.calibration.confidences import ANSWER_KINDS, TopLabel, parse_top_label
from rightreasons.calibration.errors import (
    CalibrationErrorOptions,
    compute_calibration,
)
from rightreasons.calibration.figures import compute_log_losses
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.paired import paired_test
from rightreasons.calibration.proper_scores import (
    brier_score,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.recalibrators import (
    Recalibrator,
    fit_logits_recalibrator,
    fit_recalibrator,
    parse_class_logits,
)
from rightreasons.calibration.smooth import ece_sweep, smooth_ece
from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest
from rightreasons.core.validation import check_labels, check_one_of, check_same_length

# ------------------------------------------------------------------ every figure about confidence


def calibration_summary(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> dict[str, float | None]:
    """Compute all calibration errors, proper scores and ranking measures of this package at once.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        n_bins: Number of bins of the binned figures. Default 15.
        kind: "top_label" (default; the predictions are class scores) or "confidence".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        The figures by name, and `n_items`. classwise_ece, ace (in bins of equal mass) and tace (of
        probabilities above 0.01) need the same classes in all items; they are None for rows of
        different lengths and for kind="confidence". brier is None for rows of different lengths.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> summary = calibration_summary([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]], [0, 1, 1])
        >>> [round(summary[name], 6) for name in ("ece", "macro_ce", "nll")]
        [0.4, 0.475, 0.60672]
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    plain = compute_calibration(top, CalibrationErrorOptions(n_bins=n_bins))
    selective = selective_scores(top)
    proper_kind = "multiclass" if kind == "top_label" else kind
    is_ragged = isinstance(top.probabilities, Ragged)
    brier = None
    if not is_ragged:
        brier = brier_score(top, kind=proper_kind, n_bins=n_bins).brier

    # These figures need the same classes in all items.
    classwise_ece = None
    ace = None
    tace = None
    if kind == "top_label" and not is_ragged:
        options: dict[str, Any] = {"n_bins": n_bins, "kind": "classwise"}
        classwise_ece = _compute_ece(top, **options)
        ace = _compute_ece(top, **options, strategy="quantile")
        tace = _compute_ece(top, **options, strategy="quantile", threshold=0.01)
    # Computed from the original scores, because a softmax may underflow to 0.
    nll = negative_log_likelihood(predictions, references, kind=proper_kind, scores=scores).nll
    return {
        "accuracy": plain.accuracy,
        "mean_confidence": plain.mean_confidence,
        "auroc": selective.auroc,
        "ece": plain.ece,
        "ece_debiased": _compute_ece(top, n_bins=n_bins, debias=True),
        "rmsce": _compute_ece(top, n_bins=n_bins, norm="l2"),
        "mce": plain.mce,
        "adaptive_ece": _compute_ece(top, n_bins=n_bins, strategy="quantile"),
        "smooth_ece": smooth_ece(top).smooth_ece,
        "ece_sweep": ece_sweep(top).ece,
        "classwise_ece": classwise_ece,
        "ace": ace,
        "tace": tace,
        "macro_ce": macro_ce(top).macro_ce,
        "brier": brier,
        "nll": nll,
        "aurc": selective.aurc,
        "e_aurc": selective.e_aurc,
        "n_items": len(top),
    }


def _compute_ece(top: TopLabel, **options: Any) -> float:
    return compute_calibration(top, CalibrationErrorOptions(**options)).ece


# ------------------------------------------------------- recalibrating one split by another


TESTED_FIGURES = ("accuracy", "ece", "brier", "nll")
"""Figures whose change is tested."""


@dataclasses.dataclass(frozen=True)
class RecalibrationReport(Result):
    """The effect of recalibration on a split that it was not fitted on.

    Attributes:
        method: Method of recalibration.
        before: Every figure of the other split as it is.
        after: Every figure of the other split, recalibrated. Vector scaling and isotonic regression
            may change the accuracy.
        n_fit: Number of items of the fitting split.
        tests: Figure -> paired test of its change, after minus before, with its interval: accuracy,
            ECE, Brier score and log loss.
        recalibrator: What was fitted, to be saved and applied to other scores.
    """

    method: str
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    n_fit: int
    tests: Mapping[str, PairedTest]
    recalibrator: Recalibrator


def recalibrate(
    fit_predictions: Any,
    fit_references: Any,
    predictions: Any,
    *,
    method: str = "isotonic",
    scores: str = "logits",
) -> Floats:
    r"""Fit a recalibration on one split, and return the recalibrated probabilities of another split.

    - "temperature": softmax(z / T), one parameter (`fit_temperature`).
    - "vector": softmax(w ⊙ z + b), 2K parameters. They minimize the log loss with a penalty
      \((\lVert w - 1 \rVert^2 + \lVert b \rVert^2) / 2n\): a unit normal law around no change,
      which is negligible for many items and keeps the parameters finite for few.
    - "isotonic": for each class, the non-decreasing function of its probability that is nearest to
      its labels by squares, linear in between. Rows are then divided by their sum (uniform if all
      are 0). For two classes, it is a function only of P(class 1). The number of parameters grows
      with the number of items: with fewer than about a thousand items of a class it overfits. Its
      probabilities may be exactly 0; the log loss is then infinite.

    Args:
        fit_predictions: (N, K) class scores or (N,) P(class 1) of a split that is separate from
            training and from the evaluation.
        fit_references: (N,) labels of that split.
        predictions: (M, K) or (M,) scores of the split to recalibrate.
        method: "isotonic" (default), "vector" or "temperature".
        scores: "logits" (default), "log_probabilities" or "probabilities", of both splits.

    Returns:
        (M, K) probabilities.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong, or if rows have different lengths:
            their columns are not classes, and only a temperature fits them.

    References:
        Guo, Pleiss, Sun, Weinberger (2017), "On Calibration of Modern Neural Networks", section
        4.2. Zadrozny, Elkan (2002), "Transforming Classifier Scores into Accurate Multiclass
        Probability Estimates".

    Example:
        Class 1 is correct in none of two cases at 0.3 and in one of two at 0.6.

        >>> fit = [0.3, 0.3, 0.6, 0.6]
        >>> recalibrate(fit, [0, 0, 0, 1], [0.3, 0.45, 0.9], scores="probabilities")
        array([[1.  , 0.  ],
               [0.75, 0.25],
               [0.5 , 0.5 ]])
    """
    # Both splits are checked before anything is fitted.
    fit_logits = parse_class_logits(fit_predictions, scores, "fit_predictions")
    logits = parse_class_logits(predictions, scores, "predictions")
    if fit_logits.shape[1] != logits.shape[1]:
        raise ValueError(
            f"Expected the same classes in both splits, but got {fit_logits.shape[1]} and "
            f"{logits.shape[1]}."
        )
    labels = check_labels(fit_references, fit_logits.shape[1], name="fit_references")
    check_same_length(fit_predictions=fit_logits, fit_references=labels)
    # The scores are logits from here on, whatever their scale was.
    return fit_logits_recalibrator(fit_logits, labels, method=method).apply_to_logits(logits)


def recalibration_report(  # noqa: PLR0913 - two splits, each with scores and labels
    fit_predictions: Any,
    fit_references: Any,
    predictions: Any,
    references: Any,
    *,
    method: str = "isotonic",
    n_bins: int = 15,
    scores: str = "logits",
    resampling: Resampling = Resampling(),
) -> RecalibrationReport:
    """Fit a recalibration on one split, and compute all figures of another split before and after it.

    Args:
        fit_predictions: (N, K) class scores or (N,) P(class 1) of the fitting split.
        fit_references: (N,) labels of the fitting split.
        predictions: (M, K) or (M,) scores of the split to report on.
        references: (M,) labels of the split to report on.
        method: "isotonic" (default), "vector" or "temperature".
        n_bins: Number of bins of the binned figures. Default 15.
        scores: "logits" (default), "log_probabilities" or "probabilities", of both splits.
        resampling: Level of the intervals of the changes, number of resamples, and seed.

    Returns:
        A `RecalibrationReport`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong; see `recalibrate`.

    Example:
        >>> scores, labels = [0.9] * 4 + [0.2] * 5, [1, 1, 1, 0] + [0, 0, 0, 0, 1]
        >>> report = recalibration_report(scores, labels, scores, labels, scores="probabilities")
        >>> round(report.before["ece"], 4), round(report.after["ece"], 4)
        (0.0667, 0.0)
    """
    recalibrator = fit_recalibrator(fit_predictions, fit_references, method=method, scores=scores)
    # The tests of the changes are paired, because they are about the same items.
    original, changed = judge_before_and_after(
        recalibrator, predictions, references, n_bins=n_bins, scores=scores
    )
    tests = {}
    for key in TESTED_FIGURES:
        # A label with probability 0 has an infinite log loss, whose mean cannot be tested.
        if key == "nll" and not np.isfinite(compute_log_losses(changed)).all():
            continue
        tests[key] = paired_test(key, changed, original, resampling=resampling)
    return RecalibrationReport(
        method=method,
        before=calibration_summary(predictions, references, n_bins=n_bins, scores=scores),
        after=calibration_summary(
            recalibrator(predictions, scores=scores), references, n_bins=n_bins
        ),
        n_fit=recalibrator.n_fit,
        tests=tests,
        recalibrator=recalibrator,
    )


def judge_before_and_after(
    recalibrator: Recalibrator,
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    scores: str = "logits",
) -> tuple[JudgedItems, JudgedItems]:
    """Return the same labeled items twice: with their original and with their recalibrated scores.

    Args:
        recalibrator: From `fit_recalibrator`.
        predictions: (M, K) or (M,) scores.
        references: (M,) labels.
        n_bins: Number of bins of the binned figures. Default 15.
        scores: "logits" (default), "log_probabilities" or "probabilities".
    """
    logits = parse_class_logits(predictions, scores, "predictions")
    labels = check_labels(references, logits.shape[1], name="references")
    # The recalibrator gets the scores, not the logits, because it checks and converts them itself.
    probabilities = recalibrator(predictions, scores=scores)
    original = JudgedItems.of(logits, labels, n_bins=n_bins)
    # Isotonic regression may give probabilities of 0, whose logarithm is minus infinity.
    with np.errstate(divide="ignore"):
        changed = JudgedItems.of(
            np.log(probabilities), labels, probabilities=probabilities, n_bins=n_bins
        )
    return original, changed

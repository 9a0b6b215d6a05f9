"""Every figure about confidence at once: the family of calibration measures of one set of predictions."""

from __future__ import annotations

import dataclasses
from typing import Any

from rightreasons.calibration.confidences import ANSWER_KINDS, top_label
from rightreasons.calibration.errors import CalibrationErrorOptions, CalibrationResult, calibration_of, macro_of
from rightreasons.calibration.proper_scores import brier_of, negative_log_likelihood
from rightreasons.calibration.selective import selective_of
from rightreasons.calibration.smooth import smooth_of, sweep_of
from rightreasons.core.arrays import Ragged
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of


@dataclasses.dataclass(frozen=True)
class CalibrationSummary(Result):
    """The figures of one set of predictions. Fractions in [0, 1] unless said otherwise; lower is better from `ece` on.

    Attributes:
        accuracy: Share of right top labels; higher is better.
        mean_confidence: Mean confidence of the top labels.
        auroc: Chance that a right prediction has more confidence than a wrong one; higher is better; None unless there
            are both.
        ece: Top-label error in bins of equal width.
        ece_debiased: The same, debiased.
        rmsce: The same in the l2 norm.
        mce: The largest gap of a bin.
        adaptive_ece: Top-label error in bins of equal mass.
        smooth_ece: Smooth top-label error.
        ece_sweep: Top-label error in the most bins whose accuracies rise.
        classwise_ece: Mean over the classes of the error of their probabilities; None for rows of different lengths and
            for kind="confidence".
        ace: The same in bins of equal mass; None likewise.
        tace: The same over probabilities above 0.01; None likewise.
        macro_ce: Mean of the errors of right and of wrong predictions; None unless there are both.
        brier: Multi-class Brier score, in [0, 2]; None for rows of different lengths. For kind="confidence" that of the
            confidence, in [0, 1].
        nll: Log loss in nats, at least 0; None where a label has probability 0.
        aurc: Mean risk over the coverages.
        e_aurc: The same less that of the best ranking.
        n_items: Number of items.
        n_bins: Number of bins of the binned figures.
    """

    accuracy: float
    mean_confidence: float
    auroc: float | None
    ece: float
    ece_debiased: float
    rmsce: float
    mce: float
    adaptive_ece: float
    smooth_ece: float
    ece_sweep: float
    classwise_ece: float | None
    ace: float | None
    tace: float | None
    macro_ce: float | None
    brier: float | None
    nll: float | None
    aurc: float
    e_aurc: float
    n_items: int
    n_bins: int


def calibration_summary(
    predictions: Any, references: Any, *, n_bins: int = 15, kind: str = "top_label", scores: str = "probabilities"
) -> CalibrationSummary:
    """Compute every figure about confidence.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        n_bins: Number of bins of the binned figures.
        kind: "top_label" (the predictions are class scores) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `CalibrationSummary`; the function of each figure defines it.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    Example:
        >>> summary = calibration_summary([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]], [0, 1, 1])
        >>> round(summary.ece, 6), round(summary.macro_ce, 6), round(summary.nll, 6)
        (0.4, 0.475, 0.60672)
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = top_label(predictions, references, scores=scores, kind=kind)

    def binned(**options: Any) -> CalibrationResult:
        return calibration_of(top, CalibrationErrorOptions(n_bins=n_bins, **options))

    plain, selective = binned(), selective_of(top)
    whole = "multiclass" if kind == "top_label" else kind
    ragged = isinstance(top.probabilities, Ragged)
    by_class = kind == "top_label" and not ragged
    return CalibrationSummary(
        accuracy=plain.accuracy,
        mean_confidence=plain.mean_confidence,
        auroc=selective.auroc,
        ece=plain.ece,
        ece_debiased=binned(debias=True).ece,
        rmsce=binned(norm="l2").ece,
        mce=plain.mce,
        adaptive_ece=binned(strategy="quantile").ece,
        smooth_ece=smooth_of(top).smooth_ece,
        ece_sweep=sweep_of(top).ece,
        classwise_ece=binned(kind="classwise").ece if by_class else None,
        ace=binned(kind="classwise", strategy="quantile").ece if by_class else None,
        tace=binned(kind="classwise", strategy="quantile", threshold=0.01).ece if by_class else None,
        macro_ce=macro_of(top).macro_ce,
        brier=None if ragged else brier_of(top, kind=whole, n_bins=n_bins).brier,
        nll=negative_log_likelihood(predictions, references, kind=whole, scores=scores).nll,
        aurc=selective.aurc,
        e_aurc=selective.e_aurc,
        n_items=len(top),
        n_bins=plain.n_bins,
    )

"""MacroCE: calibration of the right and of the wrong predictions, each by itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.analysis.calibration.top_label import ANSWER_KINDS, TopLabel, top_label
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of


@dataclasses.dataclass(frozen=True)
class MacroCalibrationResult(Result):
    """Instance-level calibration errors. Fractions in [0, 1], lower is better.

    Attributes:
        macro_ce: Mean of the two errors below; None unless there are both right and wrong predictions.
        ice_correct: Mean of 1 - confidence over the right predictions; None where there is none.
        ice_wrong: Mean confidence over the wrong predictions; None where there is none.
        ice: Mean of |confidence - correct| over all items.
        n_items: Number of items.
    """

    macro_ce: float | None
    ice_correct: float | None
    ice_wrong: float | None
    ice: float
    n_items: int


@checks_kinds
def macro_ce(
    predictions: Any, references: Any, *, kind: str = "top_label", scores: str = "probabilities"
) -> MacroCalibrationResult:
    r"""Measure whether single predictions are confident when right and unsure when wrong.

    \[ MacroCE = \tfrac12 \left( \frac{1}{n_+} \sum_{correct} (1 - \hat p_i)
       + \frac{1}{n_-} \sum_{wrong} \hat p_i \right) \]

    A binned error can be 0 for a model that gives every item the same confidence; this one cannot: over- and
    underconfidence do not cancel, and the rarer group counts as much as the other.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "top_label" (the predictions are class scores) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `MacroCalibrationResult`: macro_ce, its two parts, the mean over all items and their number.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Si, Zhao, Min, Boyd-Graber (2022), Re-Examining Calibration: The Case of Question Answering, section 4.

    Example:
        Right with 0.9 and 0.7, wrong with 0.6: (0.2 + 0.6) / 2.

        >>> round(macro_ce([[0.1, 0.9], [0.7, 0.3], [0.6, 0.4]], [1, 0, 1]).macro_ce, 6)
        0.4
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    return macro_of(top_label(predictions, references, scores=scores, kind=kind))


def macro_of(top: TopLabel) -> MacroCalibrationResult:
    """Compute `macro_ce` from top labels that are at hand."""
    right = 1.0 - top.confidence[top.correct]
    wrong = top.confidence[~top.correct]
    ice_correct = float(right.mean()) if right.size else None
    ice_wrong = float(wrong.mean()) if wrong.size else None
    macro = None if ice_correct is None or ice_wrong is None else (ice_correct + ice_wrong) / 2
    ice = float(np.abs(top.confidence - top.correct).mean())
    return MacroCalibrationResult(macro, ice_correct, ice_wrong, ice, len(top))

"""MacroCE: the calibration of correct and of incorrect predictions, separately.

`macro_ce` is the entry point. It needs no bins: every prediction is compared with its own outcome.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.calibration.confidences import ANSWER_KINDS, parse_top_label
from rightreasons.core.arrays import Floats
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of


@dataclasses.dataclass(frozen=True)
class MacroCalibrationResult(Result):
    """Instance-level calibration errors. Fractions in [0, 1], lower is better.

    Attributes:
        macro_ce: Mean of the two errors below. None unless there are correct and incorrect
            predictions.
        ice_correct: Mean of 1 - confidence over the correct predictions. None if there are none.
        ice_wrong: Mean confidence over the incorrect predictions. None if there are none.
        ice: Mean of |confidence - correct| over all items.
        n_items: Number of items.
    """

    macro_ce: float | None
    ice_correct: float | None
    ice_wrong: float | None
    ice: float
    n_items: int


def macro_ce(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> MacroCalibrationResult:
    r"""Measure whether single predictions are confident if correct and unsure if incorrect.

    \[ MacroCE = \tfrac12 \left( \frac{1}{n_+} \sum_{correct} (1 - \hat p_i)
       + \frac{1}{n_-} \sum_{incorrect} \hat p_i \right) \]

    A binned error can be 0 for a model that gives every item the same confidence. This error cannot:
    overconfidence and underconfidence do not cancel, and correct and incorrect predictions have the
    same weight, however rare they are.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "top_label" (default; the predictions are class scores) or "confidence".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        A `MacroCalibrationResult`: macro_ce, its two parts, the mean over all items and their
        number.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Si, Zhao, Min, Boyd-Graber (2022), Re-Examining Calibration: The Case of Question Answering,
        section 4.

    Example:
        Correct with 0.9 and 0.7, incorrect with 0.6: (0.2 + 0.6) / 2.

        >>> round(macro_ce([[0.1, 0.9], [0.7, 0.3], [0.6, 0.4]], [1, 0, 1]).macro_ce, 6)
        0.4
    """
    # Other kinds, such as "classwise", compare other scores than the confidence in the prediction.
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    ice_correct = _compute_mean(1.0 - top.confidence[top.correct])
    ice_wrong = _compute_mean(top.confidence[~top.correct])
    # The mean of the two parts is undefined if a part has no items.
    macro = None
    if ice_correct is not None and ice_wrong is not None:
        macro = (ice_correct + ice_wrong) / 2
    return MacroCalibrationResult(
        macro_ce=macro,
        ice_correct=ice_correct,
        ice_wrong=ice_wrong,
        ice=float(np.abs(top.confidence - top.correct).mean()),
        n_items=len(top),
    )


def _compute_mean(values: Floats) -> float | None:
    if not values.size:
        return None
    return float(values.mean())

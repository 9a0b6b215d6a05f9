"""Calibration errors in bins of equal mass: ACE and TACE."""

from __future__ import annotations

from typing import Any

from rightreasons.analysis.calibration.errors import CalibrationResult, calibration_error


def adaptive_calibration_error(
    predictions: Any, references: Any, *, n_bins: int = 15, kind: str = "classwise", scores: str = "probabilities"
) -> CalibrationResult:
    r"""Measure calibration in bins of equal mass (ACE).

    \[ ACE = \frac{1}{KR} \sum_{k=1}^{K} \sum_{r=1}^{R} |acc(r, k) - conf(r, k)| \]

    over R bins of equal mass of the probabilities of each class. Here a bin weighs as the share of the items that it
    holds, which is 1/R unless scores are tied or N is no multiple of R. It lies in [0, 1]; lower is better.

    Args:
        predictions: (N, K) class scores or (N,) P(class 1) of a binary task; for kind="top_label" also N rows of
            different lengths.
        references: (N,) labels.
        n_bins: Number of bins R.
        kind: "classwise" as in the paper; "top_label" for what is often called adaptive ECE; or "positive".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `CalibrationResult`, whose `ece` is the ACE.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Nguyen, O'Connor (2015), Posterior Calibration and Exploratory Analysis for NLP Models, section 3.
        Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), Measuring Calibration in Deep Learning, eq. 4.

    Example:
        >>> confidence, labels = [0.95, 0.91, 0.85, 0.65, 0.62, 0.55], [1, 0, 1, 1, 0, 1]
        >>> round(adaptive_calibration_error(confidence, labels, n_bins=3, kind="top_label").ece, 6)
        0.255
    """
    return calibration_error(predictions, references, n_bins=n_bins, strategy="quantile", kind=kind, scores=scores)


def thresholded_adaptive_calibration_error(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    threshold: float = 0.01,
    kind: str = "classwise",
    scores: str = "probabilities",
) -> CalibrationResult:
    r"""Measure calibration in bins of equal mass of the scores above a threshold (TACE).

    \[ TACE = \frac{1}{KR} \sum_{k=1}^{K} \sum_{r=1}^{R} |acc(r, k) - conf(r, k)|
       \quad \text{over } p_k > \epsilon \]

    With many classes nearly all probabilities are nearly 0 and wash the figure out; they are left out. Classes without
    a score above the threshold are left out of the mean. It lies in [0, 1]; lower is better.

    Args:
        predictions: As in `adaptive_calibration_error`, and so are the others.
        references: (N,) labels.
        n_bins: Number of bins R.
        threshold: Only scores above it count.
        kind: "classwise" as in the paper, "top_label" or "positive".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `CalibrationResult`, whose `ece` is the TACE.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong, or if no score lies above the threshold.

    References:
        Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), Measuring Calibration in Deep Learning, section 3.4.

    Example:
        Class 0 keeps 0.995 (right) and 0.9 (wrong), class 1 keeps 0.1 (right): |0.5 - 0.9475| and |1 - 0.1|.

        >>> rows, labels = [[0.995, 0.005], [0.9, 0.1]], [0, 1]
        >>> round(thresholded_adaptive_calibration_error(rows, labels, n_bins=1).ece, 5)
        0.67375
    """
    return calibration_error(
        predictions,
        references,
        n_bins=n_bins,
        strategy="quantile",
        kind=kind,
        threshold=threshold,
        scores=scores,
    )

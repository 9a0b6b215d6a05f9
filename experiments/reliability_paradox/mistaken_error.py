"""The figure of a known mistake: P(class 1) of a binary task compared with whether the prediction is right."""

from __future__ import annotations

from typing import Any

from rightreasons.calibration.confidences import parse_top_label
from rightreasons.calibration.norms import compute_binned_error
from rightreasons.core.arrays import Ragged
from rightreasons.core.binning import BinSums
from rightreasons.core.validation import check_count, check_one_of


def positive_vs_correctness_error(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    norm: str = "l1",
    scores: str = "probabilities",
) -> float:
    r"""Compute the figure that comes out when P(class 1) is compared with correctness by mistake.

    \[ \sum_m \frac{|B_m|}{n} \left| acc(B_m) - \frac{1}{|B_m|} \sum_{i \in B_m} P_i(1) \right| \quad
       \text{in bins of } P(1) \]

    It is not a calibration error. Some published figures for binary tasks have its size; this function helps to check
    them. A calibrated classifier of balanced classes scores its accuracy minus 0.5: the better it is, the worse it
    looks.

    Args:
        predictions: (N,) P(class 1) or (N, 2) scores.
        references: (N,) labels 0 and 1 (the labels, not the correctness).
        n_bins: Number of bins.
        strategy: "uniform" or "quantile".
        norm: "l1", "l2" or "max".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        The mistaken figure, in [0, 1].

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If there are more than two classes, or as in `calibration_error`.

    Example:
        >>> round(positive_vs_correctness_error([0.9, 0.8, 0.1, 0.2], [1, 1, 0, 0]), 6)
        0.5
    """
    n_bins = check_count(n_bins, "n_bins")
    check_one_of(strategy, ("uniform", "quantile"), "strategy")
    check_one_of(norm, ("l1", "l2", "max"), "norm")
    top = parse_top_label(predictions, references, scores=scores)
    table = top.probabilities
    if isinstance(table, Ragged) or table.shape[1] != 2:
        raise ValueError(
            "Expected two classes in `predictions` of a binary task, but got another number."
        )
    sums = BinSums.from_pairs([(table[:, 1], top.correct)], n_bins, strategy)
    return float(compute_binned_error(sums.bins, norm=norm))

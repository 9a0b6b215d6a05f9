"""Fuzzy calibration error: bins that share the scores near their edges."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.top_label import top_label
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import MOST_BINS, check_count, check_one_of

KINDS = ("top_label", "positive", "confidence")

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class FuzzyCalibration(Result):
    """Fuzzy calibration error, with what chance does to it. Fractions in [0, 1].

    Attributes:
        fce: The error; lower is better.
        expected: Its mean for a calibrated model with the same confidences.
        p_value: How often the error of such a model is at least the observed one.
        memberships: Sum of the memberships of each bin.
        gaps: Accuracy minus confidence of each bin; None where no score belongs to it.
        n_items: Number of items.
        n_resamples: Number of draws of labels.
    """

    fce: float
    expected: float
    p_value: float
    memberships: list[float]
    gaps: list[float | None]
    n_items: int
    n_resamples: int


@checks_kinds
def fuzzy_calibration_error(
    predictions: Any,
    references: Any,
    *,
    n_bins: int = 15,
    kind: str = "top_label",
    scores: str = "probabilities",
    resampling: Resampling = Resampling(),
) -> FuzzyCalibration:
    r"""Compute the fuzzy calibration error (FCE): ECE whose bins of equal width overlap.

    A score p belongs to bin m of width w, from \(t_m\) to \(t_m + w\), by a trapezoid: wholly in its middle half, and
    falling to 0 within w/4 of each of its edges outside. With these memberships \(\mu_m(p_i)\),

    \[ FCE = \frac{\sum_m |\sum_i \mu_m(p_i) (c_i - p_i)|}{\sum_m \sum_i \mu_m(p_i)} \]

    The memberships of a score add up to 1, but for those within w/4 of 0 or of 1, which have half at the very end. The
    authors' released code adds the confidences of right predictions only, so that its figure is not 0 for a calibrated
    model; here all are added.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1), or N rows of different lengths; for kind="confidence", (N,)
            confidences in given answers.
        references: (N,) labels, or whether the answers were right.
        n_bins: Number of bins.
        kind: "top_label" (default; confidence in the predicted class), "positive" (P(class 1) of two classes) or
            "confidence".
        scores: "probabilities", "logits" or "log_probabilities".
        resampling: Number of draws of `expected` and `p_value`, and their seed.

    Returns:
        A `FuzzyCalibration`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Bihani, Rayz (2023), "Calibration Error Estimation Using Fuzzy Binning", NAFIPS.

    Example:
        Of two bins, 0.5 belongs to both by half, and 0.75 wholly to the second: |0.5 * 0.5| and |0.5 * 0.5 - 0.75|.

        >>> fuzzy_calibration_error([0.5, 0.75], [1, 0], n_bins=2, kind="confidence").fce
        0.375
    """
    check_one_of(kind, KINDS, "kind")
    bins = check_count(n_bins, "n_bins", maximum=MOST_BINS)
    ((confidence, events),) = top_label(predictions, references, scores=scores, kind=kind).pairs(kind)
    n_items = len(confidence)
    # Distance from the middle of a bin in widths: 1 up to a quarter, 0 from three quarters.
    middles = (np.arange(bins) + 0.5) / bins
    membership = np.clip(1.5 - 2 * bins * np.abs(confidence - middles[:, None]), 0.0, 1.0)
    sums = membership.sum(axis=1)
    sums_of_gaps = membership @ (events - confidence)
    fce = float(np.abs(sums_of_gaps).sum() / sums.sum())
    rng, null = np.random.default_rng([resampling.seed, 5]), np.empty(resampling.resamples)
    for start in range(0, resampling.resamples, step := max(1, 2**22 // n_items)):
        size = min(step, resampling.resamples - start)
        drawn = (rng.random((n_items, size)) < confidence[:, None]) - confidence[:, None]
        null[start : start + size] = np.abs(membership @ drawn).sum(axis=0) / sums.sum()
    return FuzzyCalibration(
        fce=fce,
        expected=float(null.mean()),
        p_value=float((1 + np.count_nonzero(null >= fce - 1e-12)) / (resampling.resamples + 1)),
        memberships=sums.tolist(),
        gaps=[float(gap / total) if total else None for gap, total in zip(sums_of_gaps, sums, strict=True)],
        n_items=n_items,
        n_resamples=resampling.resamples,
    )

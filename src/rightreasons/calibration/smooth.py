"""Calibration errors without a choice of bins: smooth ECE and ECE-sweep."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from rightreasons.calibration.confidences import ANSWER_KINDS, parse_top_label
from rightreasons.calibration.errors import CalibrationResult
from rightreasons.core.arrays import Floats, average_ties
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of

CELLS = 2**14
"""Cells of the grid on [0, 1] on which residuals are smoothed: bandwidths down to some 1e-4 are resolved."""

NARROWEST = 1e-9
"""The narrowest bandwidth tried, and how exactly the bandwidth that equals its error is found."""


@dataclasses.dataclass(frozen=True)
class SmoothResult(Result):
    """The smooth calibration error.

    Attributes:
        smooth_ece: The error, in [0, 1]; lower is better.
        n_items: Number of items.
    """

    smooth_ece: float
    n_items: int


@dataclasses.dataclass(frozen=True)
class SweepResult(Result):
    """The calibration error in the largest number of bins whose accuracies rise.

    Attributes:
        ece: The error, in [0, 1]; lower is better.
        n_bins: The number of bins chosen.
        n_items: Number of items.
    """

    ece: float
    n_bins: int
    n_items: int


def smooth_ece(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> SmoothResult:
    r"""Measure calibration with a smoothing kernel in place of bins (smECE).

    \[ smECE_\sigma = \int_0^1 \left| \frac1n \sum_i \tilde K_\sigma(t, f_i) (y_i - f_i) \right| dt \]

    with the Gaussian kernel reflected at 0 and 1. The error is the one value at which bandwidth and error agree,
    smECE_σ* = σ*: it exists and is unique, as smECE_σ falls with σ. It lies in [0, 1]; lower is better. Unlike a binned
    error it is continuous in the predictions.

    The reflected Gaussian is the heat kernel on [0, 1] with insulated ends, so smoothing multiplies the k-th cosine
    coefficient of the residuals by exp(-k²π²σ²/2). The residuals are put on a grid of 2^14 cells (each shared between
    its two neighbors) and smoothed by one discrete cosine transform.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "top_label" (confidence with whether it is right) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `SmoothResult`: smooth_ece and the number of items.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Błasiok, Nakkiran (2023), Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing, section 3.

    Example:
        All items at 0.8, half of them right: every bandwidth gives the gap of 0.3, apart from what cancels.

        >>> result = smooth_ece([[0.8, 0.2]] * 4, [0, 0, 1, 1])
        >>> round(result.smooth_ece, 4)
        0.3
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    return SmoothResult(_fixed_point(_residuals(top.confidence, top.correct)), len(top))


def ece_sweep(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    norm: str = "l1",
    scores: str = "probabilities",
) -> SweepResult:
    r"""Measure calibration in as many bins as keep the accuracies of the bins rising (ECE-sweep).

    The number of bins grows from 1 while the accuracies of the bins do not fall with confidence; the error is that of
    the last number for which they did not: \((\sum_m w_m |\bar y_m - \bar p_m|^p)^{1/p}\) with p = 1 or 2. It lies in
    [0, 1]; lower is better, and its bias is smaller than that of a fixed number of bins.

    Items of equal confidence share their mean accuracy, wherever a bin is cut, so the order of the input is irrelevant.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "top_label" or "confidence".
        norm: "l1" or "l2".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `SweepResult`: ece, the number of bins and that of items.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Roelofs, Cain, Shlens, Mozer (2022), Mitigating Bias in Calibration Error Estimation, section 4.

    Example:
        Two bins have accuracies 0.5 and 1; three would have 0.5, 1, 0.5.

        >>> rows = [[p, 1 - p] for p in (0.55, 0.62, 0.65, 0.85, 0.91, 0.95)]
        >>> result = ece_sweep(rows, [0, 1, 0, 0, 1, 0])
        >>> result.n_bins, round(result.ece, 6)
        (2, 0.148333)
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    check_one_of(norm, ("l1", "l2"), "norm")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    values, events = top.confidence, top.correct
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    rates = average_ties(ordered, events[order].astype(np.float64))
    # Sums up to each place: the sums of any bin are one subtraction.
    events_to = np.concatenate(([0.0], np.cumsum(rates)))
    scores_to = np.concatenate(([0.0], np.cumsum(ordered)))
    n_items = len(ordered)
    n_bins = 1
    if (np.diff(rates) >= 0).all():
        # Rates that never fall along the whole order rise however they are cut, so every number of bins qualifies.
        n_bins = n_items
    else:
        while n_bins < n_items:
            cuts = np.arange(n_bins + 2) * n_items // (n_bins + 1)
            if (np.diff(np.diff(events_to[cuts]) / np.diff(cuts)) < -1e-12).any():
                break
            n_bins += 1
    best = np.arange(n_bins + 1) * n_items // n_bins
    size = np.diff(best)
    gap = np.abs(np.diff(events_to[best]) - np.diff(scores_to[best])) / size
    power = 1 if norm == "l1" else 2
    return SweepResult(float((size / n_items * gap**power).sum() ** (1 / power)), n_bins, n_items)


# ------------------------------------------------------------------------------------------------------------- private


def _on_grid(values: Floats, weights: Floats) -> Floats:
    """Put weights / N at the grid nodes j / CELLS, each split between its two neighbors; (CELLS + 1,)."""
    place = values * CELLS
    below = np.minimum(place.astype(np.intp), CELLS - 1)
    share = place - below
    nodes = np.bincount(below, weights * (1.0 - share), minlength=CELLS + 1)
    nodes += np.bincount(below + 1, weights * share, minlength=CELLS + 1)
    return np.asarray(nodes / len(values), dtype=np.float64)


def _residuals(values: Floats, events: NDArray[np.bool_]) -> Floats:
    """Return a_k = sum_j nodes_j cos(πkj / CELLS) for k = 0 … CELLS: a DCT-I counts every inner term twice."""
    nodes = _on_grid(values, events - values)
    return np.asarray(fft.dct(nodes / ([1.0] + [2.0] * (CELLS - 1) + [1.0]), type=1))


def _error_at(sigma: float, residuals: Floats) -> float:
    # The smoothed density at the nodes: a_0 + 2 sum_k a_k exp(-k²π²σ²/2) cos(πkt).
    damped = residuals * np.exp(-0.5 * (np.arange(len(residuals)) * np.pi * sigma) ** 2)
    height = np.abs(fft.dct(damped, type=1))
    return float((height.sum() - (height[0] + height[-1]) / 2.0) / CELLS)


def _fixed_point(residuals: Floats) -> float:
    """Return the bandwidth that is its own error: the error falls with it, so it is between the errors at both ends."""
    low, high = _error_at(1.0, residuals), _error_at(NARROWEST, residuals)
    if high <= NARROWEST:
        return 0.0
    if low >= 1.0:
        return 1.0
    start, end = max(low - NARROWEST, NARROWEST), min(high + NARROWEST, 1.0)
    return float(
        optimize.brentq(
            lambda sigma: _error_at(sigma, residuals) - sigma, start, end, xtol=NARROWEST
        )
    )


# ---------------------- What a perfectly calibrated model shows in the same bins: the null model of a calibration error


@dataclasses.dataclass(frozen=True)
class ConsistencyResult(Result):
    """What chance alone does to a calibrated model with these confidences. Fractions in [0, 1].

    Attributes:
        expected: Mean calibration error of the calibrated model: what the estimator's upward bias amounts to.
        upper: The error that it stays below with the chance of `confidence_level`.
        p_value: How often its error is at least the observed one.
        bars: For each bin, the (low, high) accuracy between which it falls with that chance; None for an empty bin.
        confidence_level: Such as 0.95.
        n_resamples: Number of draws.
    """

    expected: float
    upper: float
    p_value: float
    bars: tuple[tuple[float, float] | None, ...]
    confidence_level: float
    n_resamples: int


def consistency(
    result: CalibrationResult,
    *,
    calibrated: Floats | None = None,
    resampling: Resampling = Resampling(),
) -> ConsistencyResult:
    r"""Draw what a model with these confidences would show if each came true exactly as often as it says.

    In each bin, the number of right answers is drawn from a binomial law,

    \[ k_m \sim \mathrm{Bin}(n_m, \bar p_m), \quad
       ECE^* = \sum_m \frac{n_m}{n} \left| \frac{k_m}{n_m} - \bar p_m \right| \]

    which has the mean of the exact law (a sum of coins of different weight) and at most a
    quarter of the squared bin width more variance per coin; so the p-value errs, if at all, towards "calibrated".

    Args:
        result: The plain (l1, not debiased) error of `calibration_error`, of any kind but
            "classwise".
        calibrated: (R, M) counts of events of a calibrated model in each bin, of items in clusters; None (default) to
            draw them.
        resampling: Level of the bars and of `upper`, number of draws and their seed.

    Returns:
        A `ConsistencyResult`: expected, upper, p_value, one bar per bin, level and number of draws.

    Raises:
        ValueError: If the error is not the l1 error of its bins.

    References:
        Bröcker, Smith (2007), Increasing the Reliability of Reliability Diagrams, section 3 (consistency bars).
        Vaicenavicius et al. (2019), Evaluating Model Calibration in Classification, section 4 (consistency resampling).

    Example:
        >>> from rightreasons.calibration.errors import calibration_error
        >>> null = consistency(calibration_error([0.9] * 100, [1] * 80 + [0] * 20, kind="confidence"))
        >>> null.bars[-2], null.p_value < 0.01
        ((0.84, 0.95), True)
    """
    level, draws = resampling.level, resampling.resamples
    filled = [row for row in result.bins if row.count]
    counts = np.array([row.count for row in filled])
    confidence = np.array([row.confidence for row in filled], dtype=np.float64)
    accuracy = np.array([row.accuracy for row in filled], dtype=np.float64)
    weight = counts / counts.sum()
    observed = float((weight * np.abs(accuracy - confidence)).sum())
    if abs(observed - result.ece) > 1e-9:
        raise ValueError(
            f"Expected the plain l1 error of its bins, which is {observed:.6g}, but got {result.ece:.6g}."
        )
    tail = (1 - level) / 2
    if calibrated is None:
        rng = np.random.default_rng(resampling.seed)
        rates = rng.binomial(counts, confidence, size=(draws, len(counts))) / counts
        # Quantiles of the binomial, as `scipy.stats` has them, which takes a second to load.
        ends = np.array([[tail], [1 - tail]])
        above = np.nan_to_num(
            np.ceil(special.bdtrik(ends, counts, confidence))
        )  # NaN for a confidence of 0
        below = np.maximum(above - 1, 0)
        low, high = np.where(special.bdtr(below, counts, confidence) >= ends, below, above) / counts
    else:
        rates = calibrated[:, [row.count > 0 for row in result.bins]] / counts
        low, high = np.quantile(rates, (tail, 1 - tail), axis=0)
    errors = (np.abs(rates - confidence) * weight).sum(axis=1)
    bars = iter(zip(low.tolist(), high.tolist(), strict=True))
    return ConsistencyResult(
        expected=float(errors.mean()),
        upper=float(np.quantile(errors, level)),
        p_value=float((1 + np.count_nonzero(errors >= observed - 1e-12)) / (draws + 1)),
        bars=tuple(next(bars) if row.count else None for row in result.bins),
        confidence_level=level,
        n_resamples=draws,
    )

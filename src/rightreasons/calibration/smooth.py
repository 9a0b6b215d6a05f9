"""Calibration errors that do not depend on a choice of bins, and the null model of those that do.

`smooth_ece` replaces bins by a smoothing kernel, and `ece_sweep` takes as many bins as the items
allow. `consistency` draws the binned error that a calibrated model would have by chance.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import fft, optimize, special

from rightreasons.calibration.confidences import ANSWER_KINDS, parse_top_label
from rightreasons.calibration.errors import CalibrationResult
from rightreasons.core.arrays import Floats
from rightreasons.core.binning import Flags
from rightreasons.core.ordering import argsort_scores, average_ties
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of

# --- Smooth ECE

N_CELLS = 2**14
"""Cells of the grid on [0, 1] on which residuals are smoothed: resolves bandwidths of about 1e-4.
"""

MIN_BANDWIDTH = 1e-9
"""Smallest bandwidth, and the tolerance of the bandwidth that equals its error."""


@dataclasses.dataclass(frozen=True)
class SmoothResult(Result):
    """The smooth calibration error.

    Attributes:
        smooth_ece: Smooth calibration error, in [0, 1]; lower is better.
        n_items: Number of items.
    """

    smooth_ece: float
    n_items: int


def smooth_ece(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> SmoothResult:
    r"""Measure calibration with a smoothing kernel in place of bins (smECE).

    \[ smECE_\sigma = \int_0^1 \left| \frac1n \sum_i \tilde K_\sigma(t, f_i) (y_i - f_i) \right| dt
    \]

    with the Gaussian kernel reflected at 0 and 1. The error is the value at which bandwidth and
    error agree, smECE_σ* = σ*. It exists and is unique, as smECE_σ decreases with σ. It lies in [0,
    1]; lower is better. Unlike a binned error it is continuous in the predictions.

    The reflected Gaussian is the heat kernel on [0, 1] with insulated ends, so smoothing multiplies
    the k-th cosine coefficient of the residuals by exp(-k²π²σ²/2). The residuals are put on a grid
    of 2^14 cells (each shared between its two neighbors) and smoothed by one discrete cosine
    transform.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "top_label" (default; confidence with whether it is correct) or "confidence".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        A `SmoothResult`: smooth_ece and the number of items.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Błasiok, Nakkiran (2023), Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing,
        section 3.

    Example:
        All items have 0.8 and half of them are correct: nearly every bandwidth gives the gap of
        0.3.

        >>> result = smooth_ece([[0.8, 0.2]] * 4, [0, 0, 1, 1])
        >>> round(result.smooth_ece, 4)
        0.3
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    coefficients = _transform_residuals(top.confidence, top.correct)
    return SmoothResult(_find_fixed_point(coefficients), len(top))


def _transform_residuals(scores: Floats, events: Flags) -> Floats:
    r"""Return the cosine coefficients of the calibration residuals on the grid.

    Coefficient k is \(\sum_j r_j \cos(\pi k j / J)\), where \(r_j\) is the sum of the residuals
    (event minus score, divided by N) at grid node j = 0 … J, and J is `N_CELLS`.

    Args:
        scores: (N,) scores in [0, 1], which are the positions of the residuals.
        events: (N,) whether the event of each item happened.

    Returns:
        (J + 1,) coefficients.
    """
    residuals = _spread_on_grid(scores, events - scores)
    # A discrete cosine transform of type 1 counts every inner node twice, and the end nodes once.
    multiplicity = np.full(N_CELLS + 1, 2.0)
    multiplicity[[0, -1]] = 1.0
    coefficients: Floats = fft.dct(residuals / multiplicity, type=1)
    return coefficients


def _spread_on_grid(positions: Floats, weights: Floats) -> Floats:
    """Distribute weights in [0, 1] to the nodes of an even grid, by linear interpolation.

    A weight at position x is split between the nodes below and above x; the closer node gets more.

    Args:
        positions: (N,) positions in [0, 1].
        weights: (N,) weights.

    Returns:
        (N_CELLS + 1,) sum of the weights at each node, divided by N.
    """
    n_nodes = N_CELLS + 1
    scaled = positions * N_CELLS
    # Position 1 belongs to the last cell, whose upper node is the last node.
    cell = scaled.astype(np.intp)
    lower_node = np.minimum(cell, N_CELLS - 1)
    upper_share = scaled - lower_node
    lower_share = 1.0 - upper_share
    lower_weights = weights * lower_share
    upper_weights = weights * upper_share
    sums = np.bincount(lower_node, lower_weights, minlength=n_nodes)
    sums += np.bincount(lower_node + 1, upper_weights, minlength=n_nodes)
    mean: Floats = sums / len(positions)
    return mean


def _compute_smooth_error(bandwidth: float, coefficients: Floats) -> float:
    """Compute the smooth calibration error at a bandwidth: the integral of |smoothed residuals|.

    Args:
        bandwidth: Standard deviation σ of the Gaussian kernel.
        coefficients: (J + 1,) cosine coefficients of the residuals, from `_transform_residuals`.
    """
    # Smoothing by a Gaussian multiplies the k-th cosine coefficient by exp(-k²π²σ²/2).
    indices = np.arange(len(coefficients))
    frequencies = indices * np.pi
    decay = (frequencies * bandwidth) ** 2
    damped = coefficients * np.exp(-0.5 * decay)
    # At the nodes, the smoothed residual is a_0 + 2 sum_k a_k exp(-k²π²σ²/2) cos(πkt).
    smoothed = fft.dct(damped, type=1)
    heights = np.abs(smoothed)
    # The trapezoidal rule counts both end nodes half.
    ends = heights[0] + heights[-1]
    integral = heights.sum() - ends / 2.0
    return float(integral / N_CELLS)


def _find_fixed_point(coefficients: Floats) -> float:
    """Find the bandwidth σ at which the smooth calibration error equals σ.

    Args:
        coefficients: (J + 1,) cosine coefficients of the residuals.

    Returns:
        The bandwidth, in [0, 1]; 0 if the error is at most `MIN_BANDWIDTH` at every bandwidth.
    """
    # The error decreases with the bandwidth, so the fixed point is between these two errors.
    smallest = _compute_smooth_error(1.0, coefficients)
    largest = _compute_smooth_error(MIN_BANDWIDTH, coefficients)
    if largest <= MIN_BANDWIDTH:
        return 0.0
    if smallest >= 1.0:
        return 1.0
    start = max(smallest - MIN_BANDWIDTH, MIN_BANDWIDTH)
    end = min(largest + MIN_BANDWIDTH, 1.0)

    def compute_excess(bandwidth: float) -> float:
        return _compute_smooth_error(bandwidth, coefficients) - bandwidth

    bandwidth = optimize.brentq(compute_excess, start, end, xtol=MIN_BANDWIDTH)
    return float(bandwidth)


# ------------------------------------------------------------------------------------------
# ECE-sweep


@dataclasses.dataclass(frozen=True)
class SweepResult(Result):
    """The calibration error in the largest number of bins whose accuracies increase.

    Attributes:
        ece: Calibration error, in [0, 1]; lower is better.
        n_bins: Number of bins.
        n_items: Number of items.
    """

    ece: float
    n_bins: int
    n_items: int


def ece_sweep(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    norm: str = "l1",
    scores: str = "probabilities",
) -> SweepResult:
    r"""Measure the calibration error in the largest number of bins with increasing accuracy (ECE-sweep).

    The number of bins is increased from 1 as long as the accuracies of the bins do not decrease with
    confidence. The error in the last such number of bins is
    \((\sum_m w_m |\bar y_m - \bar p_m|^p)^{1/p}\) with p = 1 or 2. It lies in [0, 1]; lower is
    better. Its bias is smaller than that of a fixed number of bins.

    Items of equal confidence share their mean accuracy, even if they are in different bins, so that
    the order of the input does not matter.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different
            lengths. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was correct (0 and 1
            or booleans).
        kind: "top_label" (default) or "confidence".
        norm: "l1" (default) or "l2".
        scores: "probabilities" (default), "logits" or "log_probabilities".

    Returns:
        A `SweepResult`: ece, the number of bins and that of items.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Roelofs, Cain, Shlens, Mozer (2022), Mitigating Bias in Calibration Error Estimation,
        section 4.

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
    order = argsort_scores(top.confidence)
    ordered = top.confidence[order]
    events_in_order = top.correct[order].astype(np.float64)
    # Items of equal confidence share their mean accuracy, so their order does not matter.
    rates = average_ties(ordered, events_in_order)
    # With cumulative sums, the sum of any bin is one subtraction.
    cumulative_events = np.concatenate(([0.0], np.cumsum(rates)))
    cumulative_scores = np.concatenate(([0.0], np.cumsum(ordered)))

    n_items = len(ordered)
    n_bins = n_items
    # If the rates of the items never decrease, every number of bins qualifies.
    if not (np.diff(rates) >= 0).all():
        n_bins = _count_increasing_bins(cumulative_events)

    edges = _split_evenly(n_items, n_bins)
    sizes = np.diff(edges)
    events = np.diff(cumulative_events[edges])
    scores_in_bins = np.diff(cumulative_scores[edges])
    gaps = np.abs(events - scores_in_bins) / sizes
    weights = sizes / n_items
    power = 1 if norm == "l1" else 2
    mean = (weights * gaps**power).sum()
    error = mean ** (1 / power)
    return SweepResult(float(error), n_bins, n_items)


def _count_increasing_bins(cumulative_events: Floats) -> int:
    """Return the number of bins of equal mass up to which the rates of the bins do not decrease.

    Args:
        cumulative_events: (N + 1,) number of events among the first 0, 1, ..., N items, in order of
            confidence.

    Returns:
        The number of bins, from 1 to N. With one more bin, the rate of a bin is smaller than that of
        the bin before it, for the first time.
    """
    n_items = len(cumulative_events) - 1
    for n_bins in range(2, n_items + 1):
        edges = _split_evenly(n_items, n_bins)
        events = np.diff(cumulative_events[edges])
        rates = events / np.diff(edges)
        # Equal rates may differ by rounding.
        if (np.diff(rates) < -1e-12).any():
            return n_bins - 1
    return n_items


def _split_evenly(n_items: int, n_bins: int) -> Any:
    """Return the (n_bins + 1,) positions at which bins of about equal numbers of items end."""
    return np.arange(n_bins + 1) * n_items // n_bins


# --------------------------------------------- consistency: the binned error of a calibrated model

Bar = tuple[float, float]
"""Lower and upper end of an accuracy."""


@dataclasses.dataclass(frozen=True)
class ConsistencyResult(Result):
    """Calibration errors that a calibrated model with these confidences has by chance.

    Fractions in [0, 1].

    Attributes:
        expected: Mean calibration error of the calibrated model: the upward bias of the estimator.
        upper: Quantile of its error at `confidence_level`.
        p_value: Probability that its error is at least the observed one.
        bars: (low, high) interval of the accuracy of each bin at `confidence_level`; None for an
            empty bin.
        confidence_level: Level of the bars and of `upper`, such as 0.95.
        n_resamples: Number of draws.
    """

    expected: float
    upper: float
    p_value: float
    bars: tuple[Bar | None, ...]
    confidence_level: float
    n_resamples: int


def consistency(
    result: CalibrationResult,
    *,
    calibrated: Floats | None = None,
    resampling: Resampling = Resampling(),
) -> ConsistencyResult:
    r"""Simulate the calibration errors that a perfectly calibrated model would have by chance.

    In each bin, the number of correct answers is drawn from a binomial distribution,

    \[ k_m \sim \mathrm{Bin}(n_m, \bar p_m), \quad
       ECE^* = \sum_m \frac{n_m}{n} \left| \frac{k_m}{n_m} - \bar p_m \right| \]

    which has the mean of the exact distribution, a sum of events with different probabilities, and
    per event at most a quarter of the squared bin width more variance. So the p-value is never too
    small because of this approximation.

    Args:
        result: Plain error (l1, not debiased) from `calibration_error`, of any kind but
            "classwise".
        calibrated: (R, M) numbers of events of a calibrated model in each bin, if the items come in
            clusters. If None (default), they are drawn.
        resampling: Level of the bars and of `upper`, number of draws and their seed.

    Returns:
        A `ConsistencyResult`: expected, upper, p_value, one bar per bin, level and number of draws.

    Raises:
        ValueError: If the error is not the l1 error of its bins.

    References:
        Bröcker, Smith (2007), Increasing the Reliability of Reliability Diagrams, section 3
        (consistency bars).
        Vaicenavicius et al. (2019), Evaluating Model Calibration in Classification, section 4
        (consistency resampling).

    Example:
        >>> from rightreasons.calibration.errors import calibration_error
        >>> labels = [1] * 80 + [0] * 20
        >>> null = consistency(calibration_error([0.9] * 100, labels, kind="confidence"))
        >>> null.bars[-2], null.p_value < 0.01
        ((0.84, 0.95), True)
    """
    # Empty bins have no mean confidence, and are excluded.
    all_counts = np.array([row.count for row in result.bins])
    is_filled = all_counts > 0
    counts = all_counts[is_filled]
    filled = [row for row in result.bins if row.count > 0]
    confidence = np.array([row.confidence for row in filled], dtype=np.float64)
    accuracy = np.array([row.accuracy for row in filled], dtype=np.float64)
    weight = counts / counts.sum()
    gaps = np.abs(accuracy - confidence)
    observed = float((weight * gaps).sum())
    if abs(observed - result.ece) > 1e-9:
        raise ValueError(
            f"Expected the plain l1 error of the bins, {observed:.6g}, but got {result.ece:.6g}."
        )

    tail = (1 - resampling.level) / 2
    if calibrated is None:
        rng = np.random.default_rng(resampling.seed)
        shape = (resampling.resamples, len(counts))
        events = rng.binomial(counts, confidence, size=shape)
        rates = events / counts
        low_count = _compute_binomial_quantile(tail, counts, confidence)
        high_count = _compute_binomial_quantile(1 - tail, counts, confidence)
        low = low_count / counts
        high = high_count / counts
    else:
        rates = calibrated[:, is_filled] / counts
        levels = (tail, 1 - tail)
        low, high = np.quantile(rates, levels, axis=0)
    drawn_gaps = np.abs(rates - confidence)
    errors = (drawn_gaps * weight).sum(axis=1)
    # Errors that differ from the observed one only by rounding count as equal to it. The observed
    # error itself counts as a draw.
    n_as_large = np.count_nonzero(errors >= observed - 1e-12)

    upper = np.quantile(errors, resampling.level)
    n_errors = resampling.resamples + 1
    p_value = (1 + n_as_large) / n_errors

    bars: list[Bar | None] = [None] * len(result.bins)
    positions = np.flatnonzero(is_filled)
    for m, start, end in zip(positions, low, high, strict=True):
        bars[m] = (float(start), float(end))
    return ConsistencyResult(
        expected=float(errors.mean()),
        upper=float(upper),
        p_value=float(p_value),
        bars=tuple(bars),
        confidence_level=resampling.level,
        n_resamples=resampling.resamples,
    )


def _compute_binomial_quantile(level: float, counts: Any, probabilities: Floats) -> Floats:
    """Compute quantiles of binomial distributions, like `scipy.stats.binom.ppf`.

    `scipy.stats` takes a second to import, which this avoids.

    Args:
        level: Level of the quantiles, in (0, 1).
        counts: (M,) numbers of trials.
        probabilities: (M,) probabilities of success.

    Returns:
        (M,) smallest number of successes whose cumulative probability is at least the level.
    """
    # The inverse is a real number, which is rounded up. It is NaN for the probability 0, whose
    # quantile is 0.
    inverse = special.bdtrik(level, counts, probabilities)
    quantile = np.nan_to_num(np.ceil(inverse))
    # Rounding may carry the inverse above a whole number that reaches the level already.
    below = np.maximum(quantile - 1, 0)
    is_reached_below = special.bdtr(below, counts, probabilities) >= level
    return np.where(is_reached_below, below, quantile)

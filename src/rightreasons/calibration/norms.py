"""Norms: how the gaps of the bins become one calibration error.

The gap of a bin is its mean score minus its rate of events. A `Norm` combines the gaps of all bins
and classes, and may remove the part of them that is only noise. To add one, write its function of
`Bins` and enter it in `NORMS`: the options, the definition in words and the interval follow.

`compute_binned_error` is the entry point. Functions with "raw" in their name stop before the last
step: they are not truncated at 0, and the l2 norm is still a mean of squares. On that scale
corrections are sums, so that resampling can measure their noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from scipy import special

from rightreasons.core.arrays import Floats
from rightreasons.core.binning import Bins

Measure = Callable[[Bins], Floats]
"""Function of bins (..., C, M) that returns (...) raw errors."""

HALF_NORMAL_MEAN = np.sqrt(2.0 / np.pi)
"""Mean of |X| for a standard normal X."""


# --- l1: the mean of the gaps


def compute_mean_gap(bins: Bins) -> Floats:
    r"""Return the mean over the pairs of the gap of their bin, \(\sum_m w_m |g_m|\)."""
    size_of_gap = np.abs(bins.gap)
    return _average_pairs(size_of_gap, bins)


def debias_mean_gap(bins: Bins) -> Floats:
    r"""Compute the mean gap, corrected for the noise in the rates of events of the bins.

    Noise in the rates makes the mean of \(|g_m|\) too large. To estimate by how much, noise is added
    a second time: the rate of each bin is redrawn from
    \(N(\bar y_m, \bar y_m (1 - \bar y_m) / n_m)\), the distribution of a rate of \(n_m\)
    independent events. The increase of the mean gap is subtracted from it, so the result is twice the
    mean gap minus the expected redrawn one. The expectation has a closed form.

    Args:
        bins: (..., C, M) bins of C classes: the share of events of each bin is `rate`, the mean score
            minus this rate is `gap`, and the number of pairs, at least 1, is `divisor`.

    Returns:
        (...) errors, averaged over the classes. They may be below 0.

    References:
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5.
    """
    rate = bins.rate
    variance = rate * (1.0 - rate)
    deviation = np.sqrt(variance / bins.divisor)
    gap = bins.gap
    # (..., C) error of each class, and its expectation with redrawn rates.
    size_of_gap = np.abs(gap)
    plain_error = _sum_pairs(size_of_gap, bins)
    expected_redrawn_gap = compute_folded_mean(gap, deviation)
    redrawn_error = _sum_pairs(expected_redrawn_gap, bins)
    error = 2.0 * plain_error - redrawn_error
    return _average_classes(error, bins)


def bound_residual_bias(bins: Bins, n_deviations: float) -> Floats:
    r"""Bound the bias that the debiased mean gap may still have.

    Noise increases the mean of \(|\hat g|\) only if the true gap \(g\) is small, but only
    \(\hat g \sim N(g, \sigma^2)\) is known. With the mean \(F(g, \sigma)\) of a folded
    normal distribution, the debiased gap \(2 |\hat g| - F(\hat g, \sigma)\) has the mean
    \(2 F(g, \sigma) - F(g, \sqrt 2 \sigma)\): 0.47 standard deviations too large if the gap is 0,
    and hardly too large if it is above two. So the gaps are assumed to be as small as is plausible.

    Args:
        bins: (..., C, M) bins of C classes: numbers of pairs (`count`) and of events (`event`), and the
            mean score minus the rate of events (`gap`).
        n_deviations: By how many standard deviations a true gap may be smaller than the observed
            one.

    Returns:
        (...) bias, averaged over the classes.

    Example:
        >>> bins = Bins(*np.array([[[100.0]], [[50.0]], [[50.0]]]))  # 0.467 * sqrt(0.25 / 100)
        >>> round(float(bound_residual_bias(bins, n_deviations=2.0)), 4)
        0.0234
    """
    # Half an event and half a non-event are added, because the rate of a bin with no events, or only
    # events, is uncertain too.
    n_pairs = bins.count + 1.0
    rate = (bins.event + 0.5) / n_pairs
    variance = rate * (1.0 - rate)
    deviation = np.sqrt(variance / bins.divisor)
    noise = n_deviations * deviation
    smallest_gap = np.abs(bins.gap) - noise
    smallest_gap = np.maximum(smallest_gap, 0.0)

    # The mean of the debiased gap if the true gap is that small. A redrawn gap has the noise of two
    # draws.
    mean_gap = compute_folded_mean(smallest_gap, deviation)
    deviation_of_two = np.sqrt(2.0) * deviation
    mean_redrawn_gap = compute_folded_mean(smallest_gap, deviation_of_two)
    mean_debiased_gap = 2.0 * mean_gap - mean_redrawn_gap
    bias = mean_debiased_gap - smallest_gap
    return _average_pairs(bias, bins)


def compute_folded_mean(mean: Floats, deviation: Floats) -> Floats:
    """Compute E|X| of X ~ N(mean, deviation²), the mean of the folded normal distribution.

    Args:
        mean: Means μ, an array of any shape.
        deviation: Standard deviations σ >= 0, of the same shape.

    Returns:
        σ sqrt(2/π) exp(-μ²/2σ²) + μ (1 - 2 Φ(-μ/σ)), and |μ| where σ is 0.
    """
    # A divisor of 1 avoids 0 / 0 where there is no deviation.
    is_certain = deviation == 0
    divisor = np.where(is_certain, 1.0, deviation)
    ratio = mean / divisor
    exponent = -0.5 * ratio**2
    density_term = deviation * HALF_NORMAL_MEAN * np.exp(exponent)
    # The sign of X differs from that of its mean with this probability.
    flip_probability = special.ndtr(-ratio)
    balance = 1.0 - 2.0 * flip_probability
    folded_mean = density_term + mean * balance
    return np.where(is_certain, np.abs(mean), folded_mean)


# --- l2: the root mean square of the gaps


def compute_mean_square(bins: Bins) -> Floats:
    r"""Return the mean over the pairs of the squared gap of their bin, \(\sum_m w_m g_m^2\)."""
    square = bins.gap**2
    return _average_pairs(square, bins)


def debias_mean_square(bins: Bins) -> Floats:
    r"""Compute the mean squared gap, minus the variance of the rates of events.

    Each squared gap loses \(\bar y_m (1 - \bar y_m) / (n_m - 1)\), the unbiased estimate of the
    variance of the rate. A bin with one pair has no such estimate and contributes 0.

    Args:
        bins: (..., C, M) bins of C classes: the share of events of each bin is `rate`, the mean score
            minus this rate is `gap`, and the number of pairs is `count`.

    Returns:
        (...) errors, averaged over the classes. They may be below 0.

    References:
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, Definition 5.1.
    """
    rate = bins.rate
    # A divisor of at least 1 avoids 0 / 0 in bins with one pair, which are set to 0 below.
    n_other_pairs = bins.count - 1.0
    degrees_of_freedom = np.maximum(n_other_pairs, 1.0)
    variance = rate * (1.0 - rate)
    variance = variance / degrees_of_freedom
    debiased = bins.gap**2 - variance
    has_variance = bins.count >= 2
    debiased = np.where(has_variance, debiased, 0.0)
    return _average_pairs(debiased, bins)


# --- max: the largest gap


def compute_largest_gap(bins: Bins) -> Floats:
    """Return the largest gap of all bins and classes."""
    gap = np.abs(bins.gap)
    # The last two axes are the bins and the classes; earlier ones, such as resamples, remain.
    axes = (-2, -1)
    largest: Floats = gap.max(axis=axes)
    return largest


# --- All norms


def _has_no_bias(bins: Bins, n_deviations: float) -> Floats:
    return np.asarray(0.0)


def _keep_scale(raw: Floats) -> Floats:
    return raw


@dataclasses.dataclass(frozen=True)
class Norm:
    """One way to combine the gaps of bins.

    Attributes:
        description: The norm in words, with {units} (items) and {gap}.
        measure: Function of bins that returns the raw error.
        debias: Function of bins that returns the raw error without the noise of the rates. If None,
            there is no correction, and so neither `debias=True` nor an interval.
        bound_bias: Function of bins and of a number of standard deviations that bounds the bias
            that `debias` leaves.
        finish: Function that turns a raw error, at least 0, into the error.
    """

    description: str
    measure: Measure
    debias: Measure | None = None
    bound_bias: Callable[[Bins, float], Floats] = _has_no_bias
    finish: Callable[[Floats], Floats] = _keep_scale


NORMS: Mapping[str, Norm] = {
    "l1": Norm(
        description="mean over the {units} of {gap} of their bin",
        measure=compute_mean_gap,
        debias=debias_mean_gap,
        bound_bias=bound_residual_bias,
    ),
    "l2": Norm(
        description="root mean square over the {units} of {gap} of their bin",
        measure=compute_mean_square,
        debias=debias_mean_square,
        finish=np.sqrt,
    ),
    # The bootstrap is inconsistent for a maximum, and its bias has no closed form.
    "max": Norm(description="largest {gap} of a bin", measure=compute_largest_gap),
}
"""Every norm by its name."""


def compute_binned_error(bins: Bins, *, norm: str = "l1", debias: bool = False) -> Floats:
    """Compute the calibration error of bins.

    Args:
        bins: (..., C, M) sums. Classes without a pair do not count.
        norm: Name of an entry of `NORMS`.
        debias: Whether to correct the error for the noise of the rates.

    Returns:
        (...) errors, at least 0.

    Example:
        >>> bins = Bins(*np.array([[[4.0]], [[1.0]], [[2.0]]]))  # |1 / 4 - 2 / 4|
        >>> float(compute_binned_error(bins))
        0.25
    """
    raw = compute_raw_error(bins, norm=norm, debias=debias)
    return finish_error(raw, norm=norm)


def compute_raw_error(bins: Bins, *, norm: str = "l1", debias: bool = False) -> Floats:
    """Compute the calibration error of bins before the last step of its norm.

    A raw error may have any sign if it is debiased, and is a mean of squares for norm="l2".

    Args:
        bins: (..., C, M) sums. Classes without a pair do not count.
        norm: Name of an entry of `NORMS`.
        debias: Whether to correct the error for the noise of the rates.

    Returns:
        (...) raw errors, which `finish_error` turns into errors.
    """
    rule = NORMS[norm]
    measure = rule.measure
    # Options that ask for a norm without a debiased form were refused.
    if debias and rule.debias is not None:
        measure = rule.debias
    return measure(bins)


def finish_error(raw: Floats, *, norm: str) -> Floats:
    """Turn raw errors into errors, at least 0."""
    # A debiased error may be below 0.
    clipped = np.maximum(raw, 0.0)
    return NORMS[norm].finish(clipped)


def list_debiased_norms() -> str:
    """Return the norms that can be debiased, as options in words: "norm='l1' or norm='l2'"."""
    words = []
    for name, norm in NORMS.items():
        if norm.debias is not None:
            words.append(f"norm={name!r}")
    return " or ".join(words)


def split_error(bins: Bins) -> tuple[Floats, Floats]:
    r"""Split the l1 error into the parts of overconfident and of underconfident bins.

    Args:
        bins: (..., C, M) sums of scores (`score`) and numbers of events (`event`) in each bin.

    Returns:
        (...) \(\sum_m w_m \max(g_m, 0)\) and \(\sum_m w_m \max(-g_m, 0)\), which add up to the
        error.
    """
    # w_m g_m: the share of pairs in the bin, times its gap.
    n_pairs = np.maximum(bins.size, 1.0)
    weighted_gap = (bins.score - bins.event) / n_pairs
    positive = np.maximum(weighted_gap, 0.0)
    negative = np.maximum(-weighted_gap, 0.0)
    overconfidence = _average_classes(positive.sum(axis=-1), bins)
    underconfidence = _average_classes(negative.sum(axis=-1), bins)
    return overconfidence, underconfidence


def _sum_pairs(values: Floats, bins: Bins) -> Floats:
    """Return (..., C) the mean over the pairs of each class of the value of their bin."""
    weighted = bins.weight * values
    total: Floats = weighted.sum(axis=-1)
    return total


def _average_pairs(values: Floats, bins: Bins) -> Floats:
    """Return the mean over the pairs and the classes of the value of their bin."""
    return _average_classes(_sum_pairs(values, bins), bins)


def _average_classes(errors: Floats, bins: Bins) -> Floats:
    """Return the mean of (..., C) errors over the classes that have at least one pair.

    Args:
        errors: (..., C) error of each class.
        bins: (..., C, M) bins of the classes. A threshold may leave a class without pairs.

    Returns:
        (...) means; 0 if no class has a pair.
    """
    n_pairs = bins.size[..., 0]
    has_pairs = n_pairs > 0
    n_classes = has_pairs.sum(axis=-1)
    divisor = np.maximum(n_classes, 1)
    nonempty = errors * has_pairs
    total = nonempty.sum(axis=-1)
    mean: Floats = total / divisor
    return mean

"""What a perfectly calibrated model shows in the same bins: the null model of a calibration error."""

from __future__ import annotations

import dataclasses

import numpy as np

from rightreasons.analysis.calibration.errors import CalibrationResult
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds


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


@checks_kinds
def consistency(result: CalibrationResult, *, resampling: Resampling = Resampling()) -> ConsistencyResult:
    r"""Draw what a model with these confidences would show if each came true exactly as often as it says.

    In each bin, the number of right answers is drawn from a binomial law,

    \[ k_m \sim \mathrm{Bin}(n_m, \bar p_m), \quad
       ECE^* = \sum_m \frac{n_m}{n} \left| \frac{k_m}{n_m} - \bar p_m \right| \]

    which has the mean of the exact law (a sum of coins of different weight) and at most a
    quarter of the squared bin width more variance per coin; so the p-value errs, if at all, towards "calibrated".

    Args:
        result: The plain (l1, not debiased) error of `calibration_error`, of any kind but
            "classwise".
        resampling: Level of the bars and of `upper`, number of draws and their seed.

    Returns:
        A `ConsistencyResult`: expected, upper, p_value, one bar per bin, level and number of draws.

    Raises:
        ValueError: If the error is not the l1 error of its bins.

    References:
        Bröcker, Smith (2007), Increasing the Reliability of Reliability Diagrams, section 3 (consistency bars).
        Vaicenavicius et al. (2019), Evaluating Model Calibration in Classification, section 4 (consistency resampling).

    Example:
        >>> from rightreasons.analysis.calibration.errors import calibration_error
        >>> null = consistency(calibration_error([0.9] * 100, [1] * 80 + [0] * 20, kind="confidence"))
        >>> null.bars[-2], null.p_value < 0.01
        ((0.84, 0.95), True)
    """
    level, draws = resampling.level, resampling.resamples
    rng = np.random.default_rng(resampling.seed)
    filled = [row for row in result.bins if row.count]
    counts = np.array([row.count for row in filled])
    confidence = np.array([row.confidence for row in filled], dtype=np.float64)
    accuracy = np.array([row.accuracy for row in filled], dtype=np.float64)
    weight = counts / counts.sum()
    observed = float((weight * np.abs(accuracy - confidence)).sum())
    if abs(observed - result.ece) > 1e-9:
        raise ValueError(f"Expected the plain l1 error of its bins, which is {observed:.6g}, but got {result.ece:.6g}.")
    errors = (np.abs(rng.binomial(counts, confidence, size=(draws, len(counts))) / counts - confidence) * weight).sum(1)
    from scipy import stats  # loads slowly

    tail = (1 - level) / 2
    low, high = (stats.binom.ppf(q, counts, confidence) / counts for q in (tail, 1 - tail))
    bars = iter(zip(low.tolist(), high.tolist(), strict=True))
    return ConsistencyResult(
        expected=float(errors.mean()),
        upper=float(np.quantile(errors, level)),
        p_value=float((1 + np.count_nonzero(errors >= observed - 1e-12)) / (draws + 1)),
        bars=tuple(next(bars) if row.count else None for row in result.bins),
        confidence_level=level,
        n_resamples=draws,
    )

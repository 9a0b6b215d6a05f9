"""Paired comparison of several confidences in the same answers.

`compare_confidence` is the entry point: it tests each pair of sources of confidence for different
means, calibration errors and rankings. `compare_ece` and `compare_auroc` are the tests of the two
metrics that are not means over items; comparisons of models use the former, too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.calibration.error_interval import resample_rows
from rightreasons.calibration.norms import bound_residual_bias, compute_raw_error
from rightreasons.calibration.proper_scores import auroc
from rightreasons.core.binning import BinnedPairs
from rightreasons.core.bootstrap import compute_jackknife
from rightreasons.core.clusters import count_units, number_clusters
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest, compare_paired_means, holm
from rightreasons.core.validation import (
    MAX_BINS,
    check_count,
    check_flags,
    check_same_length,
    check_vector,
)

MIN_ANSWERS_OF_EACH_KIND = 5
"""Minimum number of correct and of incorrect answers for a test of their ranking.

With fewer, the jackknife does not show how uncertain the ranking is.
"""

ROUNDING_TOLERANCE = 1e-12
"""Largest difference that counts as 0, because rounding may cause it."""


@dataclasses.dataclass(frozen=True)
class ConfidencePair(Result):
    """Differences between two confidences in the same answers.

    Attributes:
        first: Name of the first source of confidence.
        second: Name of the second source of confidence.
        differences: Metric -> first minus second, with p-value and interval. The metrics are
            "mean_confidence", "confidence_gap", "brier" and "ece", and "auroc" if there are at
            least `MIN_ANSWERS_OF_EACH_KIND` correct and incorrect answers.
        p_holm: Metric -> its p-value, corrected by Holm's method over all pairs.
    """

    first: str
    second: str
    differences: Mapping[str, PairedTest]
    p_holm: Mapping[str, float]


def compare_confidence(
    confidences: Mapping[str, Any],
    correct: Any,
    *,
    n_bins: int = 15,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> tuple[ConfidencePair, ...]:
    r"""Compare several confidences in the same answers, such as token probability and verbalized.

    The confidences of an item stay together in every test. No assumption is made about the scales:
    a confidence that takes only the values 0.9 and 0.95 may be compared with a continuous one.

    - Means over items (mean confidence, its gap to accuracy, Brier score) are compared by
      `compare_paired_means`.
    - The ranking of correct above incorrect answers (AUROC) is compared by the jackknife.
    - The calibration error (ECE) is compared by a bootstrap of the debiased errors.

    The last two use Student's t with n - 1 degrees of freedom, where n is the number of items or
    clusters, or for AUROC the number of correct or of incorrect answers if that is smaller. A
    single item or cluster gives no test.

    ECE is biased upward, and less so for confidences that fall into few bins. The interval and the
    p-value are therefore about the debiased errors, corrected for the bias that their resamples
    show. The remaining bias of bins with small gaps is bounded by `bound_residual_bias`: the interval
    is widened by the bound, and the p-value is that of a difference that is closer to 0 by the bound.
    The interval always contains the difference of the plain errors.

    Args:
        confidences: Name of a source -> (N,) confidences in [0, 1]. At least one source; all list
            the items in the same order.
        correct: (N,) whether each answer is correct.
        n_bins: Number of bins of equal width for the ECE.
        clusters: (N,) name of the cluster of each item; None if the items are independent.
        resampling: Level, number of random signs and resamples, and seed.

    Returns:
        A `ConfidencePair` for each pair of sources, in their order.

    Raises:
        TypeError: If an input has the wrong type.
        ValueError: If there is no source, or a value or a length is invalid.

    References:
        Tukey (1958), Bias and Confidence in Not-quite Large Samples (the jackknife).
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5 (the debiased error).

    Example:
        The first confidence ranks all correct answers above the incorrect ones, the second is the
        same for all answers.

        >>> p = [0.9, 0.8, 0.8, 0.7, 0.9, 0.4, 0.3, 0.2, 0.4, 0.1]
        >>> correct = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
        >>> (pair,) = compare_confidence({"p": p, "verbalized": [0.7] * 10}, correct)
        >>> pair.differences["auroc"].difference
        0.5
    """
    check_count(n_bins, "n_bins", maximum=MAX_BINS)
    sources, n_items = _parse_sources(confidences, correct)
    codes = number_clusters(clusters, n_items)

    name_pairs = list(itertools.combinations(sources, 2))
    tests_by_pair = []
    for first_name, second_name in name_pairs:
        tests = _compare_sources(
            sources[first_name], sources[second_name], n_bins, codes, resampling
        )
        tests_by_pair.append(tests)

    # The p-values of a metric are corrected over all pairs, so all tests come first.
    corrected = _correct_p_values(tests_by_pair)
    results = []
    for names, tests, p_holm in zip(name_pairs, tests_by_pair, corrected, strict=True):
        results.append(ConfidencePair(*names, tests, p_holm))
    return tuple(results)


def _parse_sources(confidences: Mapping[str, Any], correct: Any) -> tuple[dict[str, TopLabel], int]:
    """Check the confidences of several sources, and convert them to top labels.

    Args:
        confidences: Name of a source -> (N,) confidences in [0, 1].
        correct: (N,) whether each answer is correct.

    Returns:
        Name of a source -> its top labels, and the number of items N.
    """
    if not confidences:
        raise ValueError("Expected at least one source in `confidences`, but it is empty.")
    is_correct = check_flags(correct, "correct")
    sources = {}
    for name, values in confidences.items():
        confidence = check_vector(values, name, minimum=0, maximum=1)
        check_same_length(**{name: confidence, "correct": is_correct})
        sources[name] = parse_top_label(confidence, is_correct, kind="confidence")
    return sources, len(is_correct)


def _compare_sources(
    first: TopLabel,
    second: TopLabel,
    n_bins: int,
    clusters: NDArray[np.intp] | None,
    resampling: Resampling,
) -> dict[str, PairedTest]:
    """Test whether two confidences in the same answers differ, by each metric.

    Args:
        first: The answers with the first confidence.
        second: The same answers with the second confidence.
        n_bins: Number of bins of the ECE.
        clusters: (N,) number of the cluster of each answer; None if they are independent.
        resampling: Level, number of resamples and seed.

    Returns:
        Tests of "mean_confidence", "confidence_gap", "brier", "ece" and "auroc". A metric for which
        there are too few answers has no entry.
    """
    tests = {}
    # The variance of a mean cannot be estimated from a single item.
    if len(first) > 1:
        options: dict[str, Any] = {"clusters": clusters, "resampling": resampling}
        first_gap = first.confidence - first.correct
        second_gap = second.confidence - second.correct
        tests["mean_confidence"] = compare_paired_means(
            first.confidence, second.confidence, low=0.0, **options
        )
        tests["confidence_gap"] = compare_paired_means(first_gap, second_gap, low=-1.0, **options)
        tests["brier"] = compare_paired_means(first_gap**2, second_gap**2, low=0.0, **options)

    ece_test = compare_ece(first, second, n_bins, clusters=clusters, resampling=resampling)
    if ece_test is not None:
        tests["ece"] = ece_test
    auroc_test = compare_auroc(first, second, clusters=clusters, resampling=resampling)
    if auroc_test is not None:
        tests["auroc"] = auroc_test
    return tests


def _correct_p_values(tests_by_pair: Sequence[Mapping[str, PairedTest]]) -> list[dict[str, float]]:
    """Correct the p-values of each metric by Holm's method over all pairs of sources.

    Args:
        tests_by_pair: For each pair, its tests by metric. All pairs have the same metrics, because
            they are about the same answers.

    Returns:
        For each pair, the corrected p-values by metric.
    """
    corrected: list[dict[str, float]] = [{} for _ in tests_by_pair]
    if not tests_by_pair:
        return corrected
    for key in tests_by_pair[0]:
        p_values = holm(np.array([tests[key].p_value for tests in tests_by_pair]))
        for p_holm, p_value in zip(corrected, p_values.tolist(), strict=True):
            p_holm[key] = p_value
    return corrected


# --- Differences of metrics that are not means over items


@dataclasses.dataclass(frozen=True)
class _Difference:
    """An estimated difference of a metric of two confidences, first minus second.

    Attributes:
        observed: Difference of the metrics as they are reported.
        center: Center of the interval: the difference without the known bias.
        standard_error: Standard error of the difference.
        first_bias: Upper bound of the bias that the metric of the first confidence still has.
        second_bias: Upper bound of the bias that the metric of the second confidence still has.
        method: Description of the test.
        n_resamples: Number of resamples; None for the jackknife.
    """

    observed: float
    center: float
    standard_error: float
    first_bias: float
    second_bias: float
    method: str
    n_resamples: int | None


def compare_ece(
    first: TopLabel,
    second: TopLabel,
    n_bins: int,
    *,
    clusters: NDArray[np.intp] | None = None,
    resampling: Resampling = Resampling(),
) -> PairedTest | None:
    """Test whether two confidences have the same calibration error (ECE) on the same items.

    The test is a bootstrap of the difference of the debiased errors.

    Args:
        first: The items with the first confidence.
        second: The same items with the second confidence, which may be in different answers.
        n_bins: Number of bins of equal width.
        clusters: (N,) number of the cluster of each item; None if the items are independent.
        resampling: Level, resamples and seed.

    Returns:
        The test, or None for a single item or cluster.
    """
    n_units = count_units(clusters, len(first))
    if n_units < 2:
        return None
    # The two confidences are binned like the scores of two classes of the same items.
    pairs = [(first.confidence, first.correct), (second.confidence, second.correct)]
    sample = BinnedPairs(pairs, n_bins, clusters=clusters)
    first_bins = sample.sums.bins.select_class(0)
    second_bins = sample.sums.bins.select_class(1)
    first_error = compute_raw_error(first_bins, debias=False)
    second_error = compute_raw_error(second_bins, debias=False)
    observed = float(first_error - second_error)
    first_debiased = compute_raw_error(first_bins, debias=True)
    second_debiased = compute_raw_error(second_bins, debias=True)
    debiased_difference = float(first_debiased - second_debiased)

    # Both confidences are resampled with the same items, which keeps their dependence.
    resamples = resample_rows(sample, resampling)
    first_resampled = compute_raw_error(resamples.select_class(0), debias=True)
    second_resampled = compute_raw_error(resamples.select_class(1), debias=True)
    resampled_differences = first_resampled - second_resampled

    # The plain error of the sample is the true error of its resamples. So their mean deviation from
    # the plain error is the bias that the noise of the bins leaves in the debiased error.
    mean_resampled = float(resampled_differences.mean())
    center = observed + debiased_difference - mean_resampled
    z_score = float(special.ndtri(1 - (1 - resampling.level) / 2))
    difference = _Difference(
        observed=observed,
        center=center,
        standard_error=float(resampled_differences.std(ddof=1)),
        first_bias=float(bound_residual_bias(first_bins, z_score)),
        second_bias=float(bound_residual_bias(second_bins, z_score)),
        method="bootstrap of the debiased errors",
        n_resamples=resampling.resamples,
    )
    return _make_test(difference, len(first), n_units, resampling.level)


def compare_auroc(
    first: TopLabel,
    second: TopLabel,
    *,
    clusters: NDArray[np.intp] | None = None,
    resampling: Resampling = Resampling(),
) -> PairedTest | None:
    """Test whether two confidences rank correct above incorrect answers equally well (AUROC).

    Args:
        first: The items with the first confidence.
        second: The same items with the second confidence, which may be in different answers.
        clusters: (N,) number of the cluster of each item; None if the items are independent.
        resampling: Level of the interval.

    Returns:
        The test, or None if there are fewer than `MIN_ANSWERS_OF_EACH_KIND` correct or incorrect
        answers, or a single cluster.
    """
    n_rarer = min(_count_rarer_answers(first), _count_rarer_answers(second))
    # The precision of an AUROC is limited by the rarer of correct and incorrect answers.
    n_known = min(n_rarer, count_units(clusters, len(first)))
    if n_rarer < MIN_ANSWERS_OF_EACH_KIND or n_known < 2:
        return None

    def subtract_areas(
        first_confidence: Any, first_correct: Any, second_confidence: Any, second_correct: Any
    ) -> float:
        first_area = _compute_area(first_confidence, first_correct)
        return first_area - _compute_area(second_confidence, second_correct)

    jackknife = compute_jackknife(
        subtract_areas,
        first.confidence,
        first.correct,
        second.confidence,
        second.correct,
        clusters=clusters,
    )
    difference = _Difference(
        observed=jackknife.figure,
        # The bias of an AUROC is small compared with its standard error, so it is not corrected.
        center=jackknife.figure,
        standard_error=jackknife.standard_error,
        first_bias=0.0,
        second_bias=0.0,
        method="jackknife",
        n_resamples=None,
    )
    return _make_test(difference, len(first), n_known, resampling.level)


def _count_rarer_answers(top: TopLabel) -> int:
    """Return the number of correct or of incorrect answers, whichever is smaller."""
    return int(np.bincount(top.correct, minlength=2).min())


def _compute_area(confidence: Any, correct: Any) -> float:
    """Return the AUROC; one half, as for a random ranking, if all answers are of one kind."""
    area = auroc(confidence, correct)
    return 0.5 if area is None else area


def _make_test(difference: _Difference, n_items: int, n_known: int, level: float) -> PairedTest:
    """Test whether an estimated difference is 0, by Student's t, and compute its interval.

    Args:
        difference: The difference, in [-1, 1]: `observed` without and `center` with a correction for
            bias, its standard error, and the largest remaining bias of each confidence.
        n_items: Number of items.
        n_known: Effective number of independent items, at least two. The t distribution has one
            degree of freedom less.
        level: Confidence level.
    """
    center = difference.center
    tail = (1 - level) / 2
    t_quantile = float(special.stdtrit(n_known - 1, 0.5 + level / 2))
    margin = t_quantile * difference.standard_error
    # The error of the first confidence may be too large, which makes the difference too large.
    low = center - margin - difference.first_bias
    high = center + margin + difference.second_bias
    if difference.standard_error <= ROUNDING_TOLERANCE:
        # All resamples are equal. But a sample of this size may miss a share `unseen` of all items
        # (the "rule of three", at any level), which may have any difference from -1 to 1.
        unseen = 1 - tail ** (1 / n_known)
        low -= unseen * (1 + low)
        high += unseen * (1 - high)

    # The p-value is that of the difference nearest to 0 that the bias allows.
    if center > 0:
        nearest = max(center - difference.first_bias, 0.0)
    else:
        nearest = min(center + difference.second_bias, 0.0)
    p_value = 1.0
    if abs(nearest) > ROUNDING_TOLERANCE:
        standard_error = max(difference.standard_error, ROUNDING_TOLERANCE)
        t_value = abs(nearest) / standard_error
        p_value = 2 * float(special.stdtr(n_known - 1, -t_value))
    # The smallest p-value of a sign test: n items cannot be stronger evidence than n equal signs.
    p_value = max(p_value, 0.5 ** (n_known - 1))

    # The debiased interval may exclude the observed difference, so it is extended to include it.
    low = max(-1.0, min(low, difference.observed))
    high = min(1.0, max(high, difference.observed))
    interval = Interval(low, high, level, difference.method, difference.n_resamples)
    return PairedTest(difference.observed, p_value, n_items, difference.method, interval)

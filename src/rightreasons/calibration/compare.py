"""Which of two confidences in the same items is better: the differences of their figures, with paired tests."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.calibration.proper_scores import auroc
from rightreasons.core.binning import (
    BinSums,
    bound_residual_bias,
    compute_raw_error,
    make_uniform_edges,
    resample_rows,
)
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

MIN_OF_EACH = 5
"""With fewer right or fewer wrong answers than this, the items do not show how little is known of their ranking."""

_TINY = 1e-12
"""Differences up to this, which rounding makes, count as equal."""


@dataclasses.dataclass(frozen=True)
class ConfidencePair(Result):
    """How two confidences in the same answers differ.

    Attributes:
        first: The name of the first.
        second: The name of the second.
        differences: Figure -> first minus second, with p-value and interval: "mean_confidence", "confidence_gap",
            "brier", "ece", and, with `MIN_OF_EACH` right and as many wrong answers, "auroc".
        p_holm: Figure -> its p-value, corrected by Holm's method over all pairs.
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
    r"""Compare several confidences in the same answers, such as an answer's probability and a verbalized one.

    The confidences of an item stay together in every test. Means over the items (mean confidence and its gap to
    accuracy, Brier score) are compared by `compare_paired_means`; the ranking of right above wrong answers (AUROC) by the
    jackknife of the difference, and the error (ECE) by a bootstrap of it, with Student's t of as many degrees of
    freedom as the figure is known from, less one: the number of items or clusters, and for the ranking that of right or
    of wrong answers, if less. Nothing is assumed about the scales: a confidence that only takes the values 0.9 and 0.95
    may be compared with one that takes all. A single item or cluster gives no test.

    The error is biased upward, and less so for confidences in few bins. So its interval and its p-value are about the
    debiased errors, less what their resamples show of bias: the error of the items is the true one of these. They are
    still too large where gaps may be small, by up to `bound_residual_bias` with gaps as small as intervals of the level let
    them be: by so much the first moves the low end down and the second the high end up, and the p-value is that of a
    difference nearer to 0. The interval reaches on to the difference of the errors themselves.

    Args:
        confidences: Name of a source -> (N,) confidences in [0, 1], in the same order of the items; at least one.
        correct: (N,) whether the answer was right.
        n_bins: Number of bins of the ECE, of equal width.
        clusters: (N,) names of the clusters that items belong to; None for independent items.
        resampling: Level; number of random signs and resamples, and their seed.

    Returns:
        A `ConfidencePair` for each two sources, in their order.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If there is no source, or a value or a length is wrong.

    References:
        Tukey (1958), Bias and Confidence in Not-quite Large Samples (the jackknife).
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5 (the debiased error).

    Example:
        The first ranks the right answers above the wrong ones; for the second all are alike.

        >>> p = [0.9, 0.8, 0.8, 0.7, 0.9, 0.4, 0.3, 0.2, 0.4, 0.1]
        >>> (pair,) = compare_confidence({"p": p, "said": [0.7] * 10}, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
        >>> pair.differences["auroc"].difference
        0.5
    """
    check_count(n_bins, "n_bins", maximum=MAX_BINS)
    if not confidences:
        raise ValueError("Expected at least one source in `confidences`, but it is empty.")
    right, sides = check_flags(correct, "correct"), dict[str, TopLabel]()
    for name, values in confidences.items():
        checked = check_vector(values, name, minimum=0, maximum=1)
        check_same_length(**{name: checked, "correct": right})
        sides[name] = parse_top_label(checked, right, kind="confidence")
    codes = number_clusters(clusters, len(right))
    names = list(itertools.combinations(sides, 2))
    found: list[dict[str, PairedTest]] = []
    for first, second in names:
        pair = sides[first], sides[second]
        tests = dict[str, PairedTest]()
        if len(right) > 1:
            gaps = [top.confidence - right for top in pair]
            for key, low, values in (
                ("mean_confidence", 0.0, [top.confidence for top in pair]),
                ("confidence_gap", -1.0, gaps),
                ("brier", 0.0, [gap**2 for gap in gaps]),
            ):
                tests[key] = compare_paired_means(
                    *values, low=low, clusters=codes, resampling=resampling
                )
        both = {
            key: difference(key, pair, n_bins, clusters=codes, resampling=resampling)
            for key in ("ece", "auroc")
        }
        found.append({**tests, **{key: test for key, test in both.items() if test is not None}})
    # All are about the same answers, so that each pair has the same tests.
    p_holm = {
        key: holm(np.array([tests[key].p_value for tests in found])).tolist()
        for key in (found or [{}])[0]
    }
    return tuple(
        ConfidencePair(
            *names[place], tests, {key: p_values[place] for key, p_values in p_holm.items()}
        )
        for place, tests in enumerate(found)
    )


def difference(
    key: str,
    sides: tuple[TopLabel, TopLabel],
    n_bins: int,
    *,
    clusters: NDArray[np.intp] | None = None,
    resampling: Resampling = Resampling(),
) -> PairedTest | None:
    """Test whether two confidences have the same "ece" or "auroc"; None where hardly anything is known of it.

    Args:
        key: The figure.
        sides: The same items by each confidence, perhaps with other answers.
        n_bins: Number of bins of the ECE.
        clusters: (N,) the numbers of the clusters that items belong to; None for independent items.
        resampling: Level, resamples and seed.
    """
    n_known = count_units(clusters, len(sides[0]))
    if key == "auroc":
        fewest = min(int(np.bincount(top.correct, minlength=2).min()) for top in sides)
        n_known = min(fewest, n_known) if fewest >= MIN_OF_EACH else 0
    if n_known < 2:
        return None
    level, below, above, n_resamples = resampling.level, 0.0, 0.0, None
    tail, quantile = (1 - level) / 2, float(special.stdtrit(n_known - 1, 0.5 + level / 2))
    pairs = [(top.confidence, top.correct) for top in sides]
    if key == "ece":
        method, n_resamples = "bootstrap of the debiased errors", resampling.resamples
        sums = [BinSums.of([pair], n_bins).parts for pair in pairs]
        apart, debiased = (
            float(np.subtract(*(compute_raw_error(*each, debias=d) for each in sums)))
            for d in (False, True)
        )
        resampled = resample_rows(
            pairs, np.stack([make_uniform_edges(n_bins)] * 2), resampling, clusters=clusters
        )
        drawn = np.subtract(
            *(
                compute_raw_error(*(part[:, None] for part in parts), debias=True)
                for parts in resampled
            )
        )
        # The plain error of the sample is the true one of its resamples, so that they show what bias the noise leaves.
        center, spread = apart + debiased - float(drawn.mean()), float(drawn.std(ddof=1))
        below, above = (
            float(bound_residual_bias(*each, float(special.ndtri(1 - tail)))) for each in sums
        )
    else:
        method = "jackknife"

        def area(confidence: Any, correct: Any) -> float:
            found = auroc(confidence, correct)
            return 0.5 if found is None else found

        apart, _, spread, _ = compute_jackknife(
            lambda *some: area(*some[:2]) - area(*some[2:]), *pairs[0], *pairs[1], clusters=clusters
        )
        # The bias of a ranking is small beside what leaving out so few wrong answers says of it.
        center = apart
    low, high = center - quantile * spread - below, center + quantile * spread + above
    if spread <= _TINY:
        # Where nothing differs, a share of items that so many may well show none of may do otherwise.
        unseen = 1 - tail ** (1 / n_known)
        low, high = low - unseen * (1 + low), high + unseen * (1 - high)
    nearer = max(center - below, 0.0) if center > 0 else min(center + above, 0.0)
    p_value = 1.0
    if abs(nearer) > _TINY:
        p_value = 2 * float(special.stdtr(n_known - 1, -abs(nearer) / max(spread, _TINY)))
    # One of debiased errors may lie to one side of the difference of the errors themselves.
    ends = max(-1.0, min(low, apart)), min(1.0, max(high, apart))
    interval = Interval(*ends, level, method, n_resamples)
    return PairedTest(apart, max(p_value, 0.5 ** (n_known - 1)), len(sides[0]), method, interval)

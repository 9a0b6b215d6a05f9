"""Change of the Easy/Hard gap: does a model rely on cues less after another training set?

Kavumba et al. (2019) train models on COPA and on Balanced COPA, and conclude from two gaps that the
second training set makes models rely on cues less. That one gap is significant and the other is not
says little about their difference; `compare_gaps` tests the difference, on the same test items.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import MAX_DRAWS, check_count, check_labels, check_same_length
from rightreasons.cues.easy_hard import Randomization, parse_easy, permute_easy
from rightreasons.cues.labels import parse_runs

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

METHOD = "t over items and runs, Satterthwaite"


@dataclasses.dataclass(frozen=True)
class GapComparison(Result):
    """Easy/Hard gaps after two training sets, and their difference.

    Attributes:
        difference: Gap after the original training set minus gap after the balanced one, in
            [-2, 2]; positive values mean that balancing makes models rely on cues less.
        original: Mean gap over the runs of the original training set, in [-1, 1].
        balanced: Mean gap over the runs of the balanced training set, in [-1, 1].
        p_value: Two-sided p-value of difference = 0, over items and runs; None if a training set
            has a single run.
        item_p_value: Two-sided permutation p-value over items alone, which holds for these runs only.
        interval: Interval of the difference, over items and runs; over items alone for single runs.
        original_runs: Gap of each run of the original training set.
        balanced_runs: Gap of each run of the balanced training set.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_permutations: Number of permutations of `item_p_value`.
    """

    difference: float
    original: float
    balanced: float
    p_value: float | None
    item_p_value: float
    interval: Interval
    original_runs: tuple[float, ...]
    balanced_runs: tuple[float, ...]
    n_easy: int
    n_hard: int
    n_permutations: int

    @property
    def verdict(self) -> str:
        """Whether the balanced training set makes models rely on cues less, in one sentence."""
        if self.interval.low > 0:
            return "Repaired: the gap is significantly smaller after the balanced training set."
        if self.interval.high < 0:
            return "Not repaired: the gap is significantly larger after the balanced training set."
        return "Inconclusive: no significant difference of the gaps; more runs or items would narrow it."


@dataclasses.dataclass(frozen=True)
class _Variance:
    """A part of the variance of a difference, with its degrees of freedom."""

    value: float
    n_degrees: int


def compare_gaps(
    original: object,
    balanced: object,
    references: object,
    easy: object,
    *,
    n_permutations: int = 10_000,
    resampling: Resampling = Resampling(),
) -> GapComparison:
    r"""Test whether models of two training sets have different Easy/Hard gaps on the same items.

    With \(d_i\) the share of original runs that answer item i correctly minus that of balanced
    runs, and \(g_r\) the gap of run r,

    \[ \Delta = \bar d_{Easy} - \bar d_{Hard}, \qquad
       v = \sum_{k \in \{Easy, Hard\}} \frac{\sum_{i \in k} (d_i - \bar d_k)^2 + 1}{n_k (n_k + 1)}
         + \frac{s^2(g^{(1)})}{R_1} + \frac{s^2(g^{(2)})}{R_2}, \]

    and \(\Delta / \sqrt v\) is referred to Student's t with Satterthwaite's degrees of freedom.
    Items are paired, and runs are a separate level, since another seed may have another gap.
    Both parts contain the noise that items and runs share, so the test is conservative, above all
    if seeds hardly differ. The 1 represents one further answer that differs, so that no interval
    has width zero.

    `item_p_value` shuffles which items are called Easy, each with its \(d_i\). It is exact if the
    differences have one distribution on Easy and Hard items, and says nothing about other seeds.

    Args:
        original: (N,) or (N, R1) index of the choice that each run predicts after training on the
            original items, such as COPA.
        balanced: (N,) or (N, R2) index of the choice that each run predicts after training on
            another set, such as Balanced COPA, for the same test items.
        references: (N,) index of the correct choice of each item.
        easy: (N,) whether each item is Easy; both kinds must occur.
        n_permutations: Number of shuffles; default 10,000.
        resampling: Confidence level of the interval, and seed of the shuffles.

    Returns:
        `GapComparison`.

    Raises:
        TypeError: If predictions or references are not whole numbers, or easy does not consist of
            flags.
        ValueError: If lengths differ, an input is empty, or all items are of one kind.

    References:
        Kavumba et al. (2019), Tables 4 and 5, compare gaps without a test; Satterthwaite (1946), An
        Approximate Distribution of Estimates of Variance Components; Noreen (1989),
        Computer-Intensive Methods for Testing Hypotheses.

    Example:
        Two runs of a model that is correct on Easy items alone, and two of one that is correct on all.

        >>> easy = [True] * 20 + [False] * 20
        >>> cued = [[1, 1]] * 20 + [[0, 0]] * 19 + [[0, 1]]
        >>> reading = [[1, 1]] * 40
        >>> result = compare_gaps(cued, reading, [1] * 40, easy)
        >>> round(result.original, 3), result.balanced, round(result.difference, 3), result.item_p_value < 0.001
        (0.975, 0.0, 0.975, True)
    """
    original_runs = parse_runs(original, "original")
    balanced_runs = parse_runs(balanced, "balanced")
    correct_choices = check_labels(references)
    flags = parse_easy(easy)
    check_same_length(
        original=original_runs, balanced=balanced_runs, references=correct_choices, easy=flags
    )
    rounds = check_count(n_permutations, "n_permutations", maximum=MAX_DRAWS)

    original_hits = (original_runs == correct_choices[:, None]).astype(np.int64)
    balanced_hits = (balanced_runs == correct_choices[:, None]).astype(np.int64)
    original_gaps = _compute_gaps(original_hits, flags)
    balanced_gaps = _compute_gaps(balanced_hits, flags)
    difference = float(original_gaps.mean() - balanced_gaps.mean())
    # Pairing removes what makes an item hard for both training sets.
    shares = original_hits.mean(axis=1) - balanced_hits.mean(axis=1)
    deviation, n_degrees = _combine_variances(
        [
            _Variance(_compute_item_variance(shares, flags), max(len(flags) - 2, 1)),
            *_compute_run_variances(original_gaps),
            *_compute_run_variances(balanced_gaps),
        ]
    )

    # A single run shows nothing of the variation between seeds, so that no p-value covers it.
    has_runs = min(len(original_gaps), len(balanced_gaps)) > 1
    p_value = None
    if has_runs:
        p_value = min(1.0, 2 * float(scipy.stats.t.sf(abs(difference) / deviation, n_degrees)))
    method = METHOD if has_runs else f"{METHOD}; without the variation between runs"
    randomization = Randomization(rounds, np.random.default_rng([resampling.seed, 2]))
    # The variance over items is the same in both cases; the runs add their own.
    half_width = float(scipy.stats.t.isf((1 - resampling.level) / 2, n_degrees)) * deviation
    return GapComparison(
        difference=difference,
        original=float(original_gaps.mean()),
        balanced=float(balanced_gaps.mean()),
        p_value=p_value,
        item_p_value=_test_items(original_hits, balanced_hits, flags, randomization),
        interval=Interval(
            low=max(-2.0, difference - half_width),
            high=min(2.0, difference + half_width),
            confidence_level=resampling.level,
            method=method,
        ),
        original_runs=tuple(original_gaps.tolist()),
        balanced_runs=tuple(balanced_gaps.tolist()),
        n_easy=int(flags.sum()),
        n_hard=int((~flags).sum()),
        n_permutations=rounds,
    )


def _compute_gaps(hits: Integers, easy: Flags) -> Floats:
    """Return (R,) the Easy/Hard gap of each run."""
    return np.asarray(hits[easy].mean(axis=0) - hits[~easy].mean(axis=0), dtype=np.float64)


def _compute_item_variance(shares: Floats, easy: Flags) -> float:
    r"""Estimate the variance over items of a difference of Easy/Hard gaps.

    It is the sum over Easy and Hard items of \((\sum_i (d_i - \bar d)^2 + 1) / (n (n + 1))\).

    Args:
        shares: (N,) paired difference \(d_i\) of each item: the share of original runs that are
            correct minus that of balanced runs.
        easy: (N,) whether each item is Easy.
    """
    variance = 0.0
    for differences in (shares[easy], shares[~easy]):
        n_items = len(differences)
        # One additional item that differs by 1 keeps the variance above zero if all items agree.
        squares = float(((differences - differences.mean()) ** 2).sum()) + 1
        variance += squares / (n_items * (n_items + 1))
    return variance


def _compute_run_variances(gaps: Floats) -> list[_Variance]:
    """Estimate the variance of the mean gap over runs, with its degrees of freedom.

    Args:
        gaps: (R,) gap of each run.

    Returns:
        One component of the variance; empty for a single run, which shows no variation.
    """
    n_runs = len(gaps)
    if n_runs == 1:
        return []
    return [_Variance(float(gaps.var(ddof=1)) / n_runs, n_runs - 1)]


def _combine_variances(components: list[_Variance]) -> tuple[float, float]:
    """Return the deviation of a sum of independent components, and Satterthwaite's degrees of freedom."""
    variance = sum(component.value for component in components)
    spread = sum(component.value**2 / component.n_degrees for component in components)
    return float(np.sqrt(variance)), variance**2 / spread


def _test_items(
    original_hits: Integers,
    balanced_hits: Integers,
    easy: Flags,
    randomization: Randomization,
) -> float:
    """Test the difference of two gaps by shuffling which items are called Easy.

    Args:
        original_hits: (N, R1) 1 for each correct answer of an original run, 0 otherwise.
        balanced_hits: (N, R2) 1 for each correct answer of a balanced run, 0 otherwise.
        easy: (N,) whether each item is Easy.
        randomization: Number of shuffles, and their source.

    Returns:
        The p-value.
    """
    # R1 R2 times the difference of the shares of hits. These are whole numbers, so that equal
    # differences are exactly equal.
    n_original = original_hits.shape[1]
    n_balanced = balanced_hits.shape[1]
    values = n_balanced * original_hits.sum(axis=1) - n_original * balanced_hits.sum(axis=1)
    # `permute_easy` expects numbers from 0. A constant shift does not change a difference of means.
    largest = n_original * n_balanced
    return permute_easy(values + largest, 2 * largest, easy, randomization)

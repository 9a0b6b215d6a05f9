"""Whether the Easy/Hard gap differs between two training sets, over items and over runs."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import stats

from rightreasons.analysis.cues.easy_hard import check_easy, check_runs, permutation_p
from rightreasons.analysis.intervals import Interval
from rightreasons.foundations import validation
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds

METHOD = "t over items and runs, Satterthwaite"


@dataclasses.dataclass(frozen=True)
class GapComparison(Result):
    """The Easy/Hard gaps of the models of two training sets, and their difference.

    Attributes:
        difference: Gap of the first minus gap of the second, in [-2, 2]; negative: the first leans on cues less.
        first: Gap of the first, the mean over its runs, in [-1, 1].
        second: Gap of the second.
        p_value: Two-sided p-value of no difference, over items and runs; None with fewer than two runs of either.
        item_p_value: Two-sided permutation p-value over items alone: of these very runs.
        interval: Interval of the difference over items and runs; over items alone with one run of either.
        first_runs: Gap of each run of the first.
        second_runs: Gap of each run of the second.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_permutations: Number of permutations.
    """

    difference: float
    first: float
    second: float
    p_value: float | None
    item_p_value: float
    interval: Interval
    first_runs: tuple[float, ...]
    second_runs: tuple[float, ...]
    n_easy: int
    n_hard: int
    n_permutations: int


@checks_kinds
def compare_gaps(
    first: object,
    second: object,
    references: object,
    easy: object,
    *,
    n_permutations: int = 10_000,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> GapComparison:
    r"""Test whether models of two training sets have different Easy/Hard gaps on the same items.

    That one gap is significant and the other is not says nothing about their difference. With \(d_i\) the share of the
    first's runs that get item i right minus that of the second's, and \(g_r\) the gap of run r,

    \[ \Delta = \bar d_{Easy} - \bar d_{Hard}, \qquad
       v = \sum_{k \in \{Easy, Hard\}} \frac{\sum_{i \in k} (d_i - \bar d_k)^2 + 1}{n_k (n_k + 1)}
         + \frac{s^2(g^{(1)})}{R_1} + \frac{s^2(g^{(2)})}{R_2}, \]

    and \(\Delta / \sqrt v\) is referred to Student's t with Satterthwaite's degrees of freedom. So items are paired and
    runs are a level of their own: another seed may have another gap. What items and runs share is in both parts, so the
    test is cautious, most of all where seeds hardly differ. The 1 stands for one answer that differs, so that the
    interval never has width zero.

    `item_p_value` shuffles which items are called Easy, with the d of each: it is exact where the difference has the
    same distribution on Easy and Hard items, and says nothing about other seeds.

    Args:
        first: (N,) or (N, R1) the chosen index of each item by each run of the first training set.
        second: (N,) or (N, R2) the same for the second, on the same items.
        references: (N,) the right index of each item.
        easy: (N,) whether each item is Easy; both kinds must occur.
        n_permutations: Number of shuffles; default 10,000.
        confidence_level: Such as 0.95.
        seed: Seed of the shuffles.

    Returns:
        `GapComparison`.

    Raises:
        TypeError: If predictions or references are no whole numbers, or easy holds no flags.
        ValueError: If lengths differ, an input is empty, or all items are Easy, or none.

    References:
        Kavumba et al. (2019), Tables 4 and 5, compare gaps without such a test; Satterthwaite (1946), An Approximate
        Distribution of Estimates of Variance Components; Noreen (1989), Computer-Intensive Methods.

    Example:
        Two runs of a model that only gets Easy items right, and two of one that gets all right.

        >>> easy = [True] * 20 + [False] * 20
        >>> cued, reading = [[1, 1]] * 20 + [[0, 0]] * 19 + [[0, 1]], [[1, 1]] * 40
        >>> result = compare_gaps(cued, reading, [1] * 40, easy)
        >>> round(result.first, 3), result.second, round(result.difference, 3), result.item_p_value < 0.001
        (0.975, 0.0, 0.975, True)
    """
    one, two = check_runs(first, "first"), check_runs(second, "second")
    right = validation.check_labels(references)
    flags = check_easy(easy)
    validation.check_same_length(first=one, second=two, references=right, easy=flags)
    rounds = validation.check_count(n_permutations, "n_permutations", maximum=validation.MOST_DRAWS)
    level = validation.check_fraction(confidence_level, "confidence_level", open_ends=True)
    rng = np.random.default_rng([validation.check_seed(seed), 2])

    hits = [chosen == right[:, None] for chosen in (one, two)]
    gaps = [table[flags].mean(axis=0) - table[~flags].mean(axis=0) for table in hits]
    n_runs = [table.shape[1] for table in hits]
    differences = hits[0].mean(axis=1) - hits[1].mean(axis=1)
    means = [float(gap.mean()) for gap in gaps]

    # Variances with their degrees of freedom.
    of_items = 0.0
    for group in (differences[flags], differences[~flags]):
        of_items += float((np.sum((group - group.mean()) ** 2) + 1) / (len(group) * (len(group) + 1)))
    parts = [(of_items, max(len(right) - 2, 1))]
    parts += [(float(gap.var(ddof=1)) / runs, runs - 1) for gap, runs in zip(gaps, n_runs, strict=True) if runs > 1]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / df for part, df in parts)
    delta, deviation = means[0] - means[1], float(np.sqrt(variance))
    half = float(stats.t.isf((1 - level) / 2, freedom)) * deviation

    # Whole numbers in place of shares, for exact ties.
    shift = n_runs[0] * n_runs[1]
    values = n_runs[1] * hits[0].sum(axis=1) - n_runs[0] * hits[1].sum(axis=1)
    over_runs = min(n_runs) > 1
    return GapComparison(
        difference=delta,
        first=means[0],
        second=means[1],
        p_value=min(1.0, 2 * float(stats.t.sf(abs(delta) / deviation, freedom))) if over_runs else None,
        item_p_value=permutation_p(values, (-shift, shift), flags, rounds, rng),
        interval=Interval(
            max(-2.0, delta - half),
            min(2.0, delta + half),
            level,
            METHOD if over_runs else f"{METHOD}; runs count where there are several",
        ),
        first_runs=tuple(gaps[0].tolist()),
        second_runs=tuple(gaps[1].tolist()),
        n_easy=int(flags.sum()),
        n_hard=int((~flags).sum()),
        n_permutations=rounds,
    )

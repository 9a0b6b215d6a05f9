"""Figures of accuracies by several prompt formats, and of answers that are doubted.

`format_spread` measures how far accuracies lie apart, `prompt_sensitivity` how much likelihoods
change with the prompt, and `compare_flips` how many answers a doubt changes.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import count_units, number_clusters
from rightreasons.core.decisions import MARGINS, Decision, Power, decide_above
from rightreasons.core.estimates import Estimate, estimate_rate, make_estimate
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import compare_paired_means

N_TESTS = 2
"""Tests that share the error of the verdict: of the formats, and of the doubt."""

POWER = Power("format", n_tests=N_TESTS, item_fraction=0.5)
"""Differences that a number of items can detect, of which half choose the formats."""


@dataclasses.dataclass(frozen=True)
class FormatSpread(Result):
    r"""Differences of accuracies between prompt formats.

    Attributes:
        spread: Largest minus smallest accuracy, \(\max_w a_w - \min_w a_w\) over the formats, in [0, 1]. It
            is positive by chance alone.
        by_chance: Mean spread if the formats change nothing: the answers of each unit shuffled
            among the formats.
        p_value: Share of these that are at least as large, with the observed one counted in.
        held_out: Difference of the best and the worst format, selected on one half of the units
            and measured on the other, in both directions. It is 0 on average if the formats change
            nothing.
        decided: Whether this difference is small or large, at the level of the verdict.
        n_items: Number of items: those whose answers can be read in each format.
    """

    spread: float
    by_chance: float
    p_value: float
    held_out: Estimate
    decided: Decision
    n_items: int


@dataclasses.dataclass(frozen=True)
class Flips(Result):
    """Answers of one kind that change after a doubt, and after a neutral second request.

    Attributes:
        turn: "right to wrong" or "wrong to right".
        n_items: Number of items whose first answer is of this kind, with both second answers read.
        doubted: Share that changes after the doubt.
        asked_again: Share that changes after the neutral request.
        difference: The first minus the second, on the same items.
        decided: Whether this difference is small or large, at the level of the verdict.
        p_value: p-value of no difference.
    """

    turn: str
    n_items: int
    doubted: Estimate
    asked_again: Estimate
    difference: Estimate
    decided: Decision
    p_value: float


def format_spread(
    right: Any, *, clusters: Any = None, resampling: Resampling = Resampling()
) -> FormatSpread:
    """Measure the spread of the accuracies of several prompt formats: the largest minus the smallest.

    Args:
        right: (W, N) whether the answer to each item is correct, for each format.
        clusters: (N,) names of the clusters that items belong to. None for independent items.
        resampling: Level of the interval; number of shuffles and their seed. The seed also divides the
            items or clusters into halves.

    Returns:
        The spread, its mean and its p-value if the format does not matter, and the held-out difference
        of the best and the worst format.

    References:
        Sclar, Choi, Tsvetkov, Suhr (2024), "Quantifying Language Models' Sensitivity to Spurious
        Features in Prompt Design", ICLR, section 3.2: the spread. Shuffles and held-out difference
        are additions.

    Example:
        The second format is correct on 3 of 4, the first on 1 of 4.

        >>> result = format_spread([[1, 0, 0, 0], [1, 1, 1, 0]])
        >>> result.spread, 0 < result.by_chance < 0.5
        (0.5, True)
    """
    is_correct = np.asarray(right, dtype=np.float64)
    n_formats, n_items = is_correct.shape
    # The unit of an item is its cluster, or the item itself if items are independent.
    unit_of_item = number_clusters(clusters, n_items)
    if unit_of_item is None:
        unit_of_item = np.arange(n_items)
    n_units = int(unit_of_item.max()) + 1
    rng = np.random.default_rng(resampling.seed)

    # If the format does not matter, the answers of a unit can be exchanged between the formats.
    spread = float(np.ptp(is_correct.mean(axis=1)))
    formats_by_unit = np.tile(np.arange(n_formats), (n_units, 1))
    chance_spreads = np.empty(resampling.resamples)
    for resample in range(resampling.resamples):
        # (n_units, W): entry (u, w) is the format whose answers of unit u replace those of format w.
        shuffled_formats = rng.permuted(formats_by_unit, axis=1)
        format_of_item = shuffled_formats[unit_of_item].T
        shuffled = is_correct[format_of_item, np.arange(n_items)]
        chance_spreads[resample] = np.ptp(shuffled.mean(axis=1))
    # Equal spreads may differ by rounding.
    n_as_large = int((chance_spreads >= spread - 1e-12).sum())

    # Random halves of the units, whose sizes differ by at most one.
    is_first_half = rng.permutation(np.arange(n_units) % 2 == 0)[unit_of_item]
    held_out = _estimate_held_out(is_correct, unit_of_item, is_first_half, resampling.level)
    # The verdict is based on several tests, so its intervals are wider than the displayed ones.
    strict_level = resampling.correct_for_tests(N_TESTS).level
    strict = _estimate_held_out(is_correct, unit_of_item, is_first_half, strict_level)
    return FormatSpread(
        spread=spread,
        by_chance=float(chance_spreads.mean()),
        # The observed spread counts as one of the shuffles, so that no p-value is 0.
        p_value=(1 + n_as_large) / (1 + resampling.resamples),
        held_out=held_out,
        decided=decide_above(strict, MARGINS["format"], n_items, n_units),
        n_items=n_items,
    )


def _estimate_held_out(
    is_correct: NDArray[np.float64],
    unit_of_item: NDArray[np.int64],
    is_first_half: NDArray[np.bool_],
    level: float,
) -> Estimate:
    """Estimate how much better the best prompt format is than the worst one, on held-out items.

    Both are selected on one half of the items, and compared on the other half, in both directions.

    Args:
        is_correct: (W, N) 1 if the answer to an item by a format is correct, otherwise 0.
        unit_of_item: (N,) number of the unit of each item, for the interval.
        is_first_half: (N,) whether each item is in the first half.
        level: Confidence level.

    Returns:
        The mean of the two differences; undefined if one half is empty.
    """
    method = "Student's t, an item at each bound; the mean of two halves"
    if is_first_half.all() or not is_first_half.any():
        return Estimate(None, None, None, level, method)
    values = []
    lows = []
    highs = []
    for is_measured in (is_first_half, ~is_first_half):
        selection_accuracies = is_correct[:, ~is_measured].mean(axis=1)
        best = selection_accuracies.argmax()
        worst = selection_accuracies.argmin()
        differences = is_correct[best, is_measured] - is_correct[worst, is_measured]
        interval = bounded_mean_interval(
            differences,
            low=-1,
            high=1,
            confidence_level=level,
            clusters=unit_of_item[is_measured],
        )
        values.append(float(differences.mean()))
        lows.append(interval.low)
        highs.append(interval.high)
    # Each half selects the formats for the other half, so the two differences are dependent. The
    # means of the ends of their intervals are valid under any dependence.
    return Estimate(
        value=float(np.mean(values)),
        low=float(np.mean(lows)),
        high=float(np.mean(highs)),
        level=level,
        method=method,
    )


def prompt_sensitivity(rows: Any) -> float:
    r"""Return POSIX's sensitivity of one item: how much likelihoods change with the prompt.

    \[ \psi = \frac{1}{N(N-1)} \sum_{i \ne j} \frac{1}{L_{y_j}}
    \left| \log \frac{P(y_j | x_i)}{P(y_j | x_j)} \right| \]

    where \(y_j\) is the response to the prompt \(x_j\). Here it is the likeliest answer; in the paper,
    it is generated. The authors' released code has \(P(y_i | x_j)\) in place of \(P(y_j | x_i)\),
    and a maximum number of tokens for \(L\).

    Args:
        rows: (N, C) log-probability per token of each answer after each of N >= 2 prompts.

    References:
        Chatterjee, Renduchintala, Bhatia, Chakraborty (2024), "POSIX: A Prompt Sensitivity Index
        For Large Language Models", Findings of EMNLP, equation 1.

    Example:
        The answers are 0 and 1: (|-2 - -1| + |-3 - -1|) / 2.

        >>> prompt_sensitivity([[-1.0, -3.0], [-2.0, -1.0]])
        1.5
    """
    log_probabilities = np.asarray(rows, dtype=np.float64)
    n_prompts = len(log_probabilities)
    answers = log_probabilities.argmax(axis=1)
    # (N, N): entry (i, j) is the log-probability of the answer to prompt j after prompt i.
    answer_log_probabilities = log_probabilities[:, answers]
    # The diagonal is log P(y_j | x_j), of each answer after its own prompt. Subtracting it from each
    # row gives 0 for i = j, so the sum is over pairs of different prompts.
    own_log_probabilities = np.diag(answer_log_probabilities)
    differences = np.abs(answer_log_probabilities - own_log_probabilities)
    return float(differences.sum() / (n_prompts * (n_prompts - 1)))


def compare_flips(
    turn: str,
    doubted: NDArray[np.bool_],
    asked_again: NDArray[np.bool_],
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Flips | None:
    """Compare how many answers change after a doubt with how many change after a neutral request.

    Args:
        turn: Kind of change, "right to wrong" or "wrong to right".
        doubted: (N,) whether each answer changes after the doubt.
        asked_again: (N,) whether each answer to the same items changes after the neutral request.
        clusters: (N,) names of the clusters that items belong to. None for independent items.
        resampling: Level of the intervals; number and seed of random signs.

    Returns:
        The comparison; None if there are no answers.
    """
    doubted_rate = estimate_rate(doubted, resampling, clusters)
    repeated_rate = estimate_rate(asked_again, resampling, clusters)
    if doubted_rate is None or repeated_rate is None:
        return None
    # The test is paired, because both changes are about the same items.
    pair = (doubted.astype(np.float64), asked_again.astype(np.float64))
    test = compare_paired_means(*pair, clusters=clusters, resampling=resampling)
    # The verdict is based on several tests, so its interval is wider than the displayed one.
    corrected = resampling.correct_for_tests(N_TESTS)
    strict = compare_paired_means(*pair, clusters=clusters, resampling=corrected)
    decided = decide_above(
        make_estimate(strict.difference, strict.interval),
        MARGINS["sway"],
        len(doubted),
        count_units(clusters, len(doubted)),
    )
    return Flips(
        turn=turn,
        n_items=len(doubted),
        doubted=doubted_rate,
        asked_again=repeated_rate,
        difference=make_estimate(test.difference, test.interval),
        decided=decided,
        p_value=test.p_value,
    )

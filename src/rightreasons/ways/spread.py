"""Figures of accuracies by several prompt formats, and of answers that are doubted.

`format_spread` measures how far accuracies lie apart, `prompt_sensitivity` how much likelihoods
change with the prompt, and `compare_flips` how many answers a doubt changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
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
    """Measure how far the accuracies of several prompt formats lie apart.

    Args:
        right: (W, N) whether the answer to each item is correct by each format.
        clusters: (N,) names of the units that items belong to. None for independent items.
        resampling: Level of the interval; number of shuffles and their seed, which also halves the units.

    Returns:
        The spread, its mean and p-value if the format changed nothing, and the held-out difference of the best and the worst
        format.

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
    table = np.asarray(right, dtype=np.float64)
    n_formats, n_items = table.shape
    codes = number_clusters(clusters, n_items)
    if codes is None:
        codes = np.arange(n_items)
    n_units = int(codes.max()) + 1
    rng = np.random.default_rng(resampling.seed)

    spread = float(np.ptp(table.mean(axis=1)))
    chance = np.empty(resampling.resamples)
    for resample in range(resampling.resamples):
        order = rng.permuted(np.tile(np.arange(n_formats), (n_units, 1)), axis=1)
        shuffled = table[order[codes].T, np.arange(n_items)]
        chance[resample] = np.ptp(shuffled.mean(axis=1))
    # The halves differ by at most one unit.
    is_first_half = rng.permutation(np.arange(n_units) % 2 == 0)[codes]
    # Rounding must not make an equal spread a smaller one.
    n_as_large = int((chance >= spread - 1e-12).sum())
    # The verdict makes several tests, so that its intervals are wider than those of the page.
    family = resampling.correct_for_tests(N_TESTS)
    strict = _estimate_held_out(table, codes, is_first_half, family.level)
    return FormatSpread(
        spread=spread,
        by_chance=float(chance.mean()),
        p_value=(1 + n_as_large) / (1 + resampling.resamples),
        held_out=_estimate_held_out(table, codes, is_first_half, resampling.level),
        decided=decide_above(strict, MARGINS["format"], n_items, n_units),
        n_items=n_items,
    )


def _estimate_held_out(
    table: NDArray[np.float64],
    codes: NDArray[np.int64],
    is_first_half: NDArray[np.bool_],
    level: float,
) -> Estimate:
    """Return the difference of the best and the worst format of one half on the other half."""
    method = "Student's t, an item at each bound; the mean of two halves"
    if is_first_half.all() or not is_first_half.any():
        return Estimate(None, None, None, level, method)
    halves = []
    for is_measured in (is_first_half, ~is_first_half):
        accuracies = table[:, ~is_measured].mean(axis=1)
        differences = (
            table[accuracies.argmax(), is_measured] - table[accuracies.argmin(), is_measured]
        )
        interval = bounded_mean_interval(
            differences, low=-1, high=1, confidence_level=level, clusters=codes[is_measured]
        )
        halves.append((float(differences.mean()), interval.low, interval.high))
    # Each half selects for the other, so that they depend on each other: the mean of their bounds
    # holds under any dependence.
    value, low, high = np.mean(halves, axis=0).tolist()
    return Estimate(value, low, high, level, method)


def prompt_sensitivity(rows: Any) -> float:
    r"""Return POSIX's sensitivity of one item: how much likelihoods change with the prompt.

    \[ \psi = \frac{1}{N(N-1)} \sum_{i \ne j} \frac{1}{L_{y_j}}
    \left| \log \frac{P(y_j | x_i)}{P(y_j | x_j)} \right| \]

    with \(y_j\) the response to the prompt \(x_j\): here the likeliest answer, while the paper
    generates one. The authors' released code has \(P(y_i | x_j)\) in place of \(P(y_j | x_i)\),
    and a limit of tokens for \(L\).

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
    values = np.asarray(rows, dtype=np.float64)
    n_prompts = len(values)
    answers = values.argmax(axis=1)
    # Column j holds the answer to prompt j after each prompt, and the diagonal after its own.
    of_answers = values[:, answers]
    differences = np.abs(of_answers - np.diag(of_answers))
    return float(differences.sum() / (n_prompts * (n_prompts - 1)))


def compare_flips(
    turn: str,
    doubted: NDArray[np.bool_],
    asked_again: NDArray[np.bool_],
    *,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Flips | None:
    """Compare how many answers change after a doubt and after a neutral request.

    Args:
        turn: Kind of change.
        doubted: (N,) whether each answer changes after the doubt.
        asked_again: (N,) whether each answer changes after the neutral request.
        clusters: (N,) names of the units that items belong to. None for independent items.
        resampling: Level of the intervals; random signs and their seed.

    Returns:
        The comparison, or None without answers.
    """
    rates: Sequence[Estimate | None] = [
        estimate_rate(doubted, resampling, clusters),
        estimate_rate(asked_again, resampling, clusters),
    ]
    if rates[0] is None or rates[1] is None:
        return None
    # Both answers are to the same items.
    pair = (doubted.astype(np.float64), asked_again.astype(np.float64))
    test = compare_paired_means(*pair, clusters=clusters, resampling=resampling)
    family = resampling.correct_for_tests(N_TESTS)
    strict = compare_paired_means(*pair, clusters=clusters, resampling=family)
    decided = decide_above(
        make_estimate(strict.difference, strict.interval),
        MARGINS["sway"],
        len(doubted),
        count_units(clusters, len(doubted)),
    )
    return Flips(
        turn=turn,
        n_items=len(doubted),
        doubted=rates[0],
        asked_again=rates[1],
        difference=make_estimate(test.difference, test.interval),
        decided=decided,
        p_value=test.p_value,
    )

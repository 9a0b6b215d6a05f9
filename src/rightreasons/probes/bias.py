"""Prior bias: does a model prefer some choices where nothing makes one of them right?"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from rightreasons.core.arrays import Ragged
from rightreasons.core.intervals import Interval, bootstrap_mean, poisson_binomial_p_value
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    MOST_DRAWS,
    SCORE_KINDS,
    as_ragged,
    check_count,
    check_labels,
    check_one_of,
    check_ragged,
    check_same_length,
    check_seed,
    softmax,
)

Alternative = Literal["two-sided", "less", "greater"]

TIED = 1e-6
"""Scores whose exponentials have one sum in every item, up to this, are normalized."""

MANY = 10_000
"""From so many items on, slots are rotated against one another, which reads memory in order."""

CACHED = 8192
"""Items whose variances are summed at once, in the processor's cache."""

WIDEST = 600.0
"""Scores within a range of this, in nats, have exponentials that neither vanish nor overflow."""

DEFINITION = (
    "Prior bias: the population variance of the confidences over the choices of an item that has no right choice, "
    "averaged over items (Shen & Kejriwal)."
)


@dataclasses.dataclass(frozen=True)
class PseudoCorrect(Result):
    """How often a model still picks the choice that was right before the item was perturbed.

    Attributes:
        rate: Share of items whose pick is the pseudo-correct choice, in [0, 1].
        chance: The rate that picking at random would give, mean of 1/n.
        p_value: Two-sided exact test of the rate against chance.
        test: "binomial" where all items have the same number of choices, else "poisson_binomial".
        confidence_excess: Mean of (confidence in the pseudo-correct choice - 1/n).
        confidence_p_value: Two-sided one-sample t-test of that mean against 0; None with fewer than two items or
            where all excesses are equal.
    """

    rate: float
    chance: float
    p_value: float
    test: str
    confidence_excess: float
    confidence_p_value: float | None


@dataclasses.dataclass(frozen=True)
class PermutationNull(Result):
    """What the bias would be if the raw scores of an item's choices had nothing to do with one another.

    The scores are shuffled between items within each choice slot, before the softmax. Probabilities and normalized
    log-probabilities give no such null: the ones of an item are tied to one another by their sum. With 10,000 items or
    more of one size, the items are shuffled once and each slot is then rotated by a random number of items: a group of
    permutations too, so the p-value is as exact, at the cost of a pass over memory.

    Attributes:
        mean: Mean prior bias over the shuffles.
        excess: Observed prior bias minus that mean.
        p_value: (1 + number of shuffles whose bias is at least the observed one) / (n_permutations + 1).
        n_permutations: How many shuffles.
    """

    mean: float
    excess: float
    p_value: float
    n_permutations: int


@dataclasses.dataclass(frozen=True)
class PriorBias(Result):
    """The preference of a model on items without a right choice; see `prior_bias`.

    Attributes:
        prior_bias: Mean within-item population variance, from 0 (no preference) to (n-1)/n^2 (all on one choice).
        normalized_prior_bias: The same with each variance divided by its largest value, in [0, 1].
        divergence_from_uniform: Mean KL(C || uniform) in nats, from 0 to log n.
        normalized_divergence: The same with each divergence divided by log n, in [0, 1].
        mean_top_confidence: Mean of the largest confidence.
        n_items: How many items.
        mean_choices: Mean number of choices.
        t_p_value: One-sided one-sample t-test of mean variance > 0. A variance is never negative, so a small value says
            little by itself; the effect size, the null and the pseudo-correct rate say more. None where undefined
            (fewer than two items, or all variances equal).
        wilcoxon_p_value: One-sided Wilcoxon signed-rank test of the same; None where all variances are 0.
        pseudo_correct: Preference for the choice that used to be right; None without references.
        null: The permutation null; None where it cannot be made, for the reason in `no_null`.
        interval: Interval of `prior_bias` over items (`bootstrap_mean` within the bounds of the variances); None unless
            requested.
        no_null: Why there is no permutation null; "" where there is one.
        definition: The measure in words.
    """

    prior_bias: float
    normalized_prior_bias: float
    divergence_from_uniform: float
    normalized_divergence: float
    mean_top_confidence: float
    n_items: int
    mean_choices: float
    t_p_value: float | None
    wilcoxon_p_value: float | None
    pseudo_correct: PseudoCorrect | None
    null: PermutationNull | None
    interval: Interval | None
    no_null: str = ""
    definition: str = DEFINITION


def prior_bias(
    predictions: object,
    references: object = None,
    *,
    scores: str = "probabilities",
    n_permutations: int = 200,
    seed: int = 0,
    resampling: Resampling | None = None,
) -> PriorBias:
    r"""Measure how far a model prefers some choices on items where none is right.

    For confidences C = (c_1, ..., c_n) of one item

        Var(C) = 1/n * sum_i (c_i - 1/n)^2,   normalized: Var(C) * n^2 / (n - 1),   KL(C || U) = log n - H(C)

    and the benchmark's figure is the mean over items. 0 is no preference; lower is better.

    Args:
        predictions: N rows of choice scores, of equal or different lengths (at least two choices per row).
        references: (N,) index of the pseudo-correct choice: the one that was right before the perturbation, where it
            is still there. None where no item has one; -1 for single items without one.
        scores: "probabilities" (default), "logits" or "log_probabilities"; softmax is taken within each row.
            Log-likelihoods of language models, which need not sum to 1, are "logits".
        n_permutations: Shuffles of the permutation null of logits (default 200); 0 leaves it out.
        seed: Seed of those shuffles; default 0.
        resampling: How the bootstrap interval is resampled; None (default) gives none.

    Returns:
        A `PriorBias`.

    Raises:
        TypeError: If the input is of the wrong kind.
        ValueError: If a row, a label or an option is wrong; the first bad one is named.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.

    Example:
        >>> result = prior_bias([[0.7, 0.2, 0.1]], n_permutations=0)
        >>> round(result.prior_bias, 6), round(result.normalized_prior_bias, 6)
        (0.068889, 0.31)
    """
    raw = as_ragged(predictions, "predictions") if check_one_of(scores, SCORE_KINDS, "scores") == "logits" else None
    rows = check_ragged(predictions if raw is None else raw, scores=scores)
    n_permutations = check_count(n_permutations, "n_permutations", minimum=0, maximum=MOST_DRAWS)
    seed = check_seed(seed)
    n = rows.lengths.astype(np.float64)
    variance = _variances(rows)
    divergence = np.log(n) - Ragged(special.entr(rows.values), rows.offsets).reduce(np.add)
    largest = (n - 1) / n**2
    picked = rows.argmax()
    null, no_null = _permutation_null(raw, float(variance.mean()), n_permutations, seed)
    return PriorBias(
        prior_bias=float(variance.mean()),
        normalized_prior_bias=float((variance / largest).mean()),
        divergence_from_uniform=float(divergence.mean()),
        normalized_divergence=float((divergence / np.log(n)).mean()),
        mean_top_confidence=float(rows.reduce(np.maximum).mean()),
        n_items=len(rows),
        mean_choices=float(n.mean()),
        t_p_value=t_p_value(variance, "greater"),
        wilcoxon_p_value=wilcoxon_p_value(variance, "greater"),
        pseudo_correct=None if references is None else _pseudo_correct(rows, picked, references),
        null=null,
        no_null=no_null,
        interval=None
        if resampling is None
        else bootstrap_mean(variance, bounds=(0.0, float(largest.max())), resampling=resampling),
    )


def t_p_value(values: NDArray[np.float64], alternative: Alternative = "two-sided") -> float | None:
    """Test a mean against 0 by the one-sample t-test; None with fewer than two values or none that differ."""
    if len(values) < 2 or np.ptp(values) <= 1e-12:  # differences of that size are rounding
        return None
    return float(stats.ttest_1samp(values, 0.0, alternative=alternative).pvalue)


def wilcoxon_p_value(values: NDArray[np.float64], alternative: Alternative = "two-sided") -> float | None:
    """Test symmetry around 0 by the Wilcoxon signed-rank test; None where all values are 0."""
    if not values.any():
        return None
    return float(stats.wilcoxon(values, alternative=alternative).pvalue)


def _variances(rows: Ragged) -> NDArray[np.float64]:
    deviation = rows.values - np.repeat(1.0 / rows.lengths, rows.lengths)
    return Ragged(deviation**2, rows.offsets).reduce(np.add) / rows.lengths


def _pseudo_correct(rows: Ragged, picked: NDArray[np.int64], references: object) -> PseudoCorrect | None:
    check_same_length(predictions=rows, references=references)
    labels = check_labels(references, rows.lengths, minimum=-1)
    known = labels >= 0
    if not known.any():
        return None
    chances = 1.0 / rows.lengths[known]
    hits = int((picked == labels)[known].sum())
    same = bool((chances == chances[0]).all())
    excess = rows.at(np.maximum(labels, 0))[known] - chances
    return PseudoCorrect(
        rate=hits / int(known.sum()),
        chance=float(chances.mean()),
        p_value=poisson_binomial_p_value(hits, chances),
        test="binomial" if same else "poisson_binomial",
        confidence_excess=float(excess.mean()),
        confidence_p_value=t_p_value(excess),
    )


def _permutation_null(
    raw: Ragged | None, observed: float, n_permutations: int, seed: int
) -> tuple[PermutationNull | None, str]:
    """Shuffle, within each choice slot, which item a raw score belongs to; or say why that cannot be done.

    Only items with the same number of choices exchange scores, so that every shuffled row is a row of that size.
    """
    if not n_permutations:
        return None, "No shuffles were asked for."
    if raw is None:
        return None, "The probabilities of an item are tied by their sum, so they cannot be exchanged: give logits."
    if not np.isfinite(raw.values).all():
        return None, "A score is minus infinity."
    top = raw.reduce(np.maximum)
    totals = top + np.log(np.add.reduceat(np.exp(raw.values - np.repeat(top, raw.lengths)), raw.starts))
    if len(raw) > 1 and np.ptp(totals) <= TIED:
        return None, "The scores are normalized within each item, so they cannot be exchanged: give raw logits."
    rng = np.random.default_rng([seed, 1])
    blocks = [raw.values[raw.starts[raw.lengths == size][:, None] + np.arange(size)] for size in np.unique(raw.lengths)]
    totals = np.sum([_shuffled_variances(block, n_permutations, rng) for block in blocks], axis=0)
    nulls = totals[1:] / len(raw)
    null = PermutationNull(
        mean=float(nulls.mean()),
        excess=observed - float(nulls.mean()),
        p_value=float((1 + (totals[1:] >= totals[0] * (1 - 1e-12)).sum()) / (n_permutations + 1)),
        n_permutations=n_permutations,
    )
    return null, ""


def _shuffled_variances(
    block: NDArray[np.float64], n_permutations: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Sum the variances of the rows of an (N, m) block of scores: first as they are, then after each shuffle."""
    n, size = block.shape
    slots = np.ascontiguousarray(block[rng.permutation(n)].T)
    narrow = float(np.ptp(slots)) <= WIDEST
    if narrow:  # the softmax of a shuffled row needs no further exponentials
        slots = np.exp(slots - slots.max())
    twice = np.concatenate((slots, slots), axis=1) if n >= MANY else slots  # a rotated slot is a window of this

    def shuffle(slot: NDArray[np.float64]) -> NDArray[np.float64]:
        return rng.permutation(slot) if n < MANY else slot[(start := rng.integers(n)) : start + n]

    def total(shuffled: list[NDArray[np.float64]]) -> float:
        if not narrow:
            return float(softmax(np.column_stack(shuffled)).var(axis=1).sum())
        squares = 0.0
        for start in range(0, n, CACHED):
            parts = [slot[start : min(start + CACHED, n)] for slot in shuffled]
            scale = 1.0 / sum(parts[1:], start=parts[0])
            for part in parts:
                deviation = part * scale
                deviation -= 1.0 / size
                squares += float(deviation @ deviation)
        return squares / float(size)

    shuffles = ([slots[0], *map(shuffle, twice[1:])] for _ in range(n_permutations))
    return np.array([total(list(slots)), *map(total, shuffles)])

"""Prior bias: does a model prefer some choices where nothing makes one of them right?"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from rightreasons.core.arrays import Ragged, Result
from rightreasons.core.intervals import (
    Interval,
    bootstrap_mean,
    chances_p_value,
    cluster_codes,
    clusters_of,
    unit_means,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_labels, check_ragged, check_same_length

Alternative = Literal["two-sided", "less", "greater"]

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
        p_value: Two-sided test of the rate against chance (`chances_p_value`).
        test: "binomial" where all items have the same number of choices, "poisson_binomial", or "clusters".
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
            little by itself; the effect size and the pseudo-correct rate say more. None where undefined (fewer than two
            items, or all variances equal).
        wilcoxon_p_value: One-sided Wilcoxon signed-rank test of the same; None where all variances are 0.
        pseudo_correct: Preference for the choice that used to be right; None without references.
        interval: Interval of `prior_bias` over items (`bootstrap_mean`); None unless
            requested.
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
    interval: Interval | None
    definition: str = DEFINITION


def prior_bias(
    predictions: object,
    references: object = None,
    *,
    scores: str = "probabilities",
    clusters: object = None,
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
        clusters: (N,) names of the items that belong together, such as one template's: each counts once in the tests
            and in the interval. None (default) where each item is on its own.
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
        >>> result = prior_bias([[0.7, 0.2, 0.1]])
        >>> round(result.prior_bias, 6), round(result.normalized_prior_bias, 6)
        (0.068889, 0.31)
    """
    rows = check_ragged(predictions, scores=scores)
    n, units = rows.lengths.astype(np.float64), cluster_codes(clusters, len(rows))
    deviation = rows.values - np.repeat(1.0 / rows.lengths, rows.lengths)
    variance = Ragged(deviation**2, rows.offsets).reduce(np.add) / n
    divergence = np.log(n) - Ragged(special.entr(rows.values), rows.offsets).reduce(np.add)
    largest = (n - 1) / n**2
    return PriorBias(
        prior_bias=float(variance.mean()),
        normalized_prior_bias=float((variance / largest).mean()),
        divergence_from_uniform=float(divergence.mean()),
        normalized_divergence=float((divergence / np.log(n)).mean()),
        mean_top_confidence=float(rows.reduce(np.maximum).mean()),
        n_items=len(rows),
        mean_choices=float(n.mean()),
        t_p_value=t_p_value(unit_means(variance, units), "greater"),
        wilcoxon_p_value=wilcoxon_p_value(unit_means(variance, units), "greater"),
        pseudo_correct=None if references is None else _pseudo_correct(rows, references, units),
        interval=None
        if resampling is None
        else bootstrap_mean(variance, bounds=(0.0, float(largest.max())), clusters=units, resampling=resampling),
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


def _pseudo_correct(rows: Ragged, references: object, units: NDArray[np.intp] | None) -> PseudoCorrect | None:
    check_same_length(predictions=rows, references=references)
    labels = check_labels(references, rows.lengths, minimum=-1)
    known = labels >= 0
    if not known.any():
        return None
    chances, units = 1.0 / rows.lengths[known], clusters_of(units, known)
    test = "binomial" if (chances == chances[0]).all() else "poisson_binomial"
    hits = (rows.argmax() == labels)[known]
    excess = rows.at(np.maximum(labels, 0))[known] - chances
    return PseudoCorrect(
        rate=float(hits.mean()),
        chance=float(chances.mean()),
        p_value=chances_p_value(hits, chances, clusters=units),
        test=test if units is None else "clusters",
        confidence_excess=float(excess.mean()),
        confidence_p_value=t_p_value(unit_means(excess, units)),
    )

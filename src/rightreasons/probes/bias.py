"""Prior bias: does a model prefer some choices of items on which none is correct?

`prior_bias` measures the preference on items whose question was removed or replaced, or whose
correct choice was removed. How far answers depend on the question is the subject of `reading`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.clusters import number_clusters, sum_units
from rightreasons.core.intervals import Interval, make_bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import compute_chances_p_value
from rightreasons.core.validation import check_labels_of_rows, check_ragged

Alternative = Literal["two-sided", "less", "greater"]

Codes: TypeAlias = "NDArray[np.intp] | None"
"""(N,) cluster numbers without gaps; None for independent items."""

DEFINITION = (
    "Prior bias: the population variance of the confidences over the choices of an item that has "
    "no correct choice, averaged over items (Shen & Kejriwal)."
)

_ROUNDING_TOLERANCE = 1e-12
"""Largest difference of values that is attributed to rounding."""


@dataclasses.dataclass(frozen=True)
class PseudoCorrect(Result):
    """How often a model picks the choice that was correct before the item was perturbed.

    Attributes:
        rate: Share of items whose pick is the pseudo-correct choice, in [0, 1].
        chance: Expected rate of random picks, the mean of 1/n.
        p_value: Two-sided test of the rate against chance (`chances_p_value`).
        test: "clusters" for items in clusters; otherwise "binomial" if all items have the same
            number of choices, or "poisson_binomial".
        confidence_excess: Mean of (confidence in the pseudo-correct choice - 1/n).
        confidence_p_value: Two-sided one-sample t-test of `confidence_excess` against 0. None for
            fewer than two items, or if all excesses are equal.
    """

    rate: float
    chance: float
    p_value: float
    test: str
    confidence_excess: float
    confidence_p_value: float | None


@dataclasses.dataclass(frozen=True)
class PriorBias(Result):
    """Preference of a model on items without a correct choice, from `prior_bias`.

    Attributes:
        prior_bias: Mean population variance of the confidences of an item, from 0 (no preference)
            to (n-1)/n^2 (all confidence on one choice).
        normalized_prior_bias: Mean of each variance divided by its largest value, in [0, 1].
        divergence_from_uniform: Mean KL(C || uniform) in nats, from 0 to log n.
        normalized_divergence: Mean of each divergence divided by log n, in [0, 1].
        mean_top_confidence: Mean of the largest confidence of an item.
        n_items: Number of items.
        t_p_value: One-sided one-sample t-test of mean variance > 0. A variance is never negative,
            so that a small p-value alone means little; read the effect size and the pseudo-correct
            rate. None for fewer than two items, or if all variances are equal.
        wilcoxon_p_value: One-sided Wilcoxon signed-rank test of mean variance > 0. None if all
            variances are 0.
        pseudo_correct: Preference for the choice that was correct before. None without references.
        interval: Confidence interval of `prior_bias`. None if it is not requested.
        definition: The measure in words.
    """

    prior_bias: float
    normalized_prior_bias: float
    divergence_from_uniform: float
    normalized_divergence: float
    mean_top_confidence: float
    n_items: int
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
    r"""Measure how far a model prefers some choices of items on which none is correct.

    For confidences C = (c_1, ..., c_n) of one item

        Var(C) = 1/n * sum_i (c_i - 1/n)^2,   normalized: Var(C) * n^2 / (n - 1),   KL(C || U) = log n - H(C)

    and the figure of a benchmark is the mean over its items. 0 is no preference; lower is better.

    Args:
        predictions: N rows of choice scores, of equal or different lengths (at least two choices
            per row).
        references: (N,) index of the pseudo-correct choice, which was correct before the
            perturbation; -1 for an item without one. None (default) if no item has one.
        scores: "probabilities" (default), "logits" or "log_probabilities". The softmax is taken
            within each row. Log-likelihoods of language models, which need not sum to 1, are
            "logits".
        clusters: (N,) names of clusters of items, such as the template of an item. Each cluster
            counts once in the tests and in the interval. None (default) for independent items.
        resampling: Level of the bootstrap interval, number of resamples and seed. None (default)
            for no interval.

    Returns:
        A `PriorBias`.

    Raises:
        TypeError: If an input has the wrong type.
        ValueError: If a row, a label or an option is invalid. The message names the first one.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in
        Transformer-based Language Representation Models through Four Experimental Probes",
        section 3.

    Example:
        >>> result = prior_bias([[0.7, 0.2, 0.1]])
        >>> round(result.prior_bias, 6), round(result.normalized_prior_bias, 6)
        (0.068889, 0.31)
    """
    # The inputs are converted and checked here; the functions below take plain arrays.
    rows = check_ragged(predictions, scores=scores)
    picks = rows.argmax()
    labels = None
    if references is not None:
        labels = check_labels_of_rows(references, rows, minimum=-1)
    units = number_clusters(clusters, len(rows))

    items = _measure_items(rows)
    # The items of a cluster are not independent, so that tests count each cluster once.
    unit_variances = _average_units(items.variance, units)
    one_sided_t = t_p_value(unit_variances, "greater")
    one_sided_wilcoxon = wilcoxon_p_value(unit_variances, "greater")
    pseudo_correct = None
    if labels is not None:
        pseudo_correct = _measure_pseudo_correct(rows, picks, labels, units)

    interval = None
    if resampling is not None:
        high = float(items.max_variance.max())
        # Rounding may have carried a variance beyond its bound.
        sums = sum_units(np.clip(items.variance, 0.0, high), units)
        interval = make_bounded_mean_interval(sums, low=0.0, high=high, level=resampling.level)
    return PriorBias(
        prior_bias=float(items.variance.mean()),
        normalized_prior_bias=float((items.variance / items.max_variance).mean()),
        divergence_from_uniform=float(items.divergence.mean()),
        normalized_divergence=float((items.divergence / items.max_divergence).mean()),
        mean_top_confidence=float(items.top_confidence.mean()),
        n_items=len(rows),
        t_p_value=one_sided_t,
        wilcoxon_p_value=one_sided_wilcoxon,
        pseudo_correct=pseudo_correct,
        interval=interval,
    )


def t_p_value(values: Floats, alternative: Alternative = "two-sided") -> float | None:
    """Test a mean against 0 by the one-sample t-test.

    Args:
        values: (N,) values.
        alternative: "two-sided" (default), "less" or "greater".

    Returns:
        The p-value; None for fewer than two values or if all are equal.
    """
    # Equal values have no standard error.
    if len(values) < 2 or np.ptp(values) <= _ROUNDING_TOLERANCE:
        return None
    return float(scipy.stats.ttest_1samp(values, 0.0, alternative=alternative).pvalue)


def wilcoxon_p_value(values: Floats, alternative: Alternative = "two-sided") -> float | None:
    """Test symmetry around 0 by the Wilcoxon signed-rank test.

    Returns:
        The p-value; None if all values are 0.
    """
    if not values.any():
        return None
    return float(scipy.stats.wilcoxon(values, alternative=alternative).pvalue)


class _ItemFigures(NamedTuple):
    """Figures of N items, each over its n choices.

    Attributes:
        variance: (N,) population variance of the confidences.
        max_variance: (N,) largest possible variance.
        divergence: (N,) Kullback-Leibler divergence from equal confidences, in nats.
        max_divergence: (N,) largest possible divergence.
        top_confidence: (N,) largest confidence.
    """

    variance: Floats
    max_variance: Floats
    divergence: Floats
    max_divergence: Floats
    top_confidence: Floats


def _measure_items(rows: Ragged) -> _ItemFigures:
    """Measure how far the confidences of each item differ from equal ones, and by how much they could.

    Args:
        rows: N rows of confidences, of equal or different lengths.
    """
    lengths = rows.lengths
    n_choices = lengths.astype(np.float64)
    chance = np.repeat(1.0 / lengths, lengths)
    # Items may differ in their number of choices. `reduceat` sums the part of each item in the flat
    # array of all choices.
    squares = np.add.reduceat((rows.values - chance) ** 2, rows.starts)
    entropies = np.add.reduceat(special.entr(rows.values), rows.starts)
    return _ItemFigures(
        variance=squares / n_choices,
        # All confidence on one choice: ((1 - 1/n)^2 + (n - 1)/n^2) / n.
        max_variance=(n_choices - 1) / n_choices**2,
        divergence=np.log(n_choices) - entropies,
        max_divergence=np.log(n_choices),
        top_confidence=np.maximum.reduceat(rows.values, rows.starts),
    )


def _measure_pseudo_correct(
    rows: Ragged, picks: NDArray[np.int64], labels: NDArray[np.int64], units: Codes
) -> PseudoCorrect | None:
    """Test whether the choice that was correct before the perturbation is preferred to others.

    Args:
        rows: N rows of confidences of the choices.
        picks: (N,) position of the choice with the largest confidence.
        labels: (N,) position of the pseudo-correct choice; -1 for an item without one.
        units: (N,) cluster numbers; None for independent items.

    Returns:
        The rate of picks and the excess of confidence, compared with chance. None if no item has a
        pseudo-correct choice.
    """
    has_label = labels >= 0
    if not has_label.any():
        return None
    is_hit = (picks == labels)[has_label]
    chances = 1.0 / rows.lengths[has_label]
    # Index of the pseudo-correct choice of each item in the flat array of all choices.
    label_index = rows.starts[has_label] + labels[has_label]
    excess = rows.values[label_index] - chances
    # With one chance for all items, the exact distribution of hits is binomial.
    test = "binomial" if (chances == chances[0]).all() else "poisson_binomial"
    if units is not None:
        test = "clusters"
        # Some clusters may have no labeled item. The others are numbered without gaps.
        _, units = np.unique(units[has_label], return_inverse=True)
    confidence_p_value = t_p_value(_average_units(excess, units))

    return PseudoCorrect(
        rate=float(is_hit.mean()),
        chance=float(chances.mean()),
        p_value=compute_chances_p_value(is_hit, chances, units),
        test=test,
        confidence_excess=float(excess.mean()),
        confidence_p_value=confidence_p_value,
    )


def _average_units(values: Floats, units: Codes) -> Floats:
    """Return the mean value of each cluster, or the values themselves without clusters."""
    if units is None:
        return values
    return np.bincount(units, values) / np.bincount(units)

"""Option order: does the position of a choice decide, rather than its content?"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import to_floats
from rightreasons.core.classification import MAX_CLASSES
from rightreasons.core.clusters import average_units, number_clusters
from rightreasons.core.intervals import Interval, bounded_mean_interval
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_fraction,
    check_labels,
    check_same_length,
    check_scores,
    softmax,
)
from rightreasons.probes.bias import t_p_value

_EPSILON = 1e-10
"""Number added inside every logarithm, as in the released code of PriDe."""


@dataclasses.dataclass(frozen=True)
class PositionBias(Result):
    """Recall by the position of the correct choice.

    Attributes:
        rstd: Population standard deviation of the recalls over positions, in [0, 0.5]; 0 is no
            preference.
        interval: Interval of `rstd`. None if fewer than two positions have a correct choice.
        recalls: Recall of each position; None for a position that never has the correct choice.
        counts: Number of items with the correct choice at each position.
        picked: Number of items with each position picked.
    """

    rstd: float
    interval: Interval | None
    recalls: list[float | None]
    counts: list[int]
    picked: list[int]


def position_bias(
    predictions: object,
    references: object,
    n_positions: int,
    *,
    clusters: object = None,
    confidence_level: float = 0.95,
) -> PositionBias:
    r"""Measure how recall depends on the position of the correct choice (RStd).

    Recalls of few items vary by chance, so that RStd is above 0 even without a preference, and its
    interval extends below it. With k hits among the m items of each of n positions,

    \[ v = \frac{\tilde r (1 - \tilde r)}{m}, \quad \tilde r = \frac{k + 1}{m + 2}, \quad
       \frac{n \cdot \mathrm{RStd}^2}{g} \sim \chi'^2_h(n \sigma^2 / g), \]

    where g and h are such that g times a chi-square variable of h degrees of freedom has the mean
    and the variance of n RStd² without a preference (Satterthwaite). The interval contains the
    values of σ that this distribution does not rule out. For its upper end, RStd counts as no
    smaller than its expectation without a preference, so that the width is never 0. With N items in
    clusters of sizes \(m_g\), m is multiplied by \(N / \sum_g m_g^2\), as if the items of a cluster
    always agreed.

    Args:
        predictions: (N,) picked positions, whole numbers from 0.
        references: (N,) positions of the correct choices.
        n_positions: Number of positions.
        clusters: (N,) names of clusters of items. None (default) for independent items.
        confidence_level: Confidence level of the interval, such as 0.95.

    Returns:
        A `PositionBias`. Positions that never have the correct choice are left out of the
        deviation.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR,
        section 2. The interval: Steiger (2004), "Beyond the F Test", Psychological Methods;
        Satterthwaite (1946), "An Approximate Distribution of Estimates of Variance Components".

    Example:
        Both items with the correct choice at position 0 are correct, and one of two at position 1:
        recalls 1 and 0.5, deviation 0.25.

        >>> result = position_bias([0, 0, 1, 0], [0, 0, 1, 1], 2)
        >>> result.rstd, result.interval.low, result.interval.high
        (0.25, 0.0, 0.5)
    """
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    n_positions = check_count(n_positions, "n_positions", minimum=2, maximum=MAX_CLASSES)
    picked = check_labels(predictions, n_positions, name="predictions")
    gold = check_labels(references, n_positions)
    check_same_length(predictions=picked, references=gold)
    units = number_clusters(clusters, len(gold))
    # If the items of a cluster always agreed, N items in clusters of m_g would be worth
    # N^2 / sum of m_g^2 independent ones.
    effective_share = 1.0
    if units is not None:
        effective_share = len(gold) / float((np.bincount(units) ** 2).sum())
    # (n_positions,) number of items, and of correct picks, by the position of the correct choice.
    counts = np.bincount(gold, minlength=n_positions)
    hits = np.bincount(gold[picked == gold], minlength=n_positions)
    # A position that never has the correct choice has no recall.
    has_recall = counts > 0
    known_hits = hits[has_recall]
    known_counts = counts[has_recall]
    known_recalls = known_hits / known_counts
    recalls: list[float | None] = [None] * n_positions
    for position, recall in zip(np.flatnonzero(has_recall), known_recalls, strict=True):
        recalls[position] = float(recall)
    rstd = float(np.std(known_recalls))
    return PositionBias(
        rstd=rstd,
        interval=_make_rstd_interval(rstd, known_hits, known_counts, effective_share, level),
        recalls=recalls,
        counts=counts.tolist(),
        picked=np.bincount(picked, minlength=n_positions).tolist(),
    )


def pride_prior(observed: object) -> NDArray[np.float64]:
    r"""Estimate a model's prior over option positions from cyclic permutations (PriDe).

        P(d_i) = softmax_i( 1/|I| * sum over cyclic orders I of log P_obs(d_i | q, x^I) )

    Args:
        observed: (R, n) probabilities of the n positions of one item under R cyclic orders, or
            (N, R, n) of N items, whose priors are averaged.

    Returns:
        (n,) prior, which sums to 1.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR,
        eq. 7.

    Example:
        >>> rows = [[.4, .3, .2, .1], [.5, .2, .2, .1], [.3, .4, .2, .1], [.45, .25, .15, .15]]
        >>> pride_prior(rows).round(4).tolist()
        [0.4134, 0.2839, 0.1898, 0.1129]
    """
    return np.asarray(_compute_item_priors(observed).mean(axis=0), dtype=np.float64)


def pride_prior_intervals(
    observed: object, *, clusters: object = None, confidence_level: float = 0.95
) -> list[Interval]:
    """Compute the interval of each position's share in `pride_prior`, over items.

    Args:
        observed: (N, R, n) probabilities of the n positions of N items under R cyclic orders.
        clusters: (N,) names of clusters of items. None (default) for independent items.
        confidence_level: Confidence level of each single interval, such as 0.95.

    Returns:
        n intervals, from `bounded_mean_interval` in [0, 1].

    Example:
        >>> rows = [[.4, .3, .2, .1], [.5, .2, .2, .1], [.3, .4, .2, .1], [.45, .25, .15, .15]]
        >>> first = pride_prior_intervals([rows] * 30)[0]
        >>> round(first.low, 2), round(first.high, 2)
        (0.37, 0.46)
    """
    shares = _compute_item_priors(observed)
    return [
        bounded_mean_interval(
            column, low=0.0, high=1.0, clusters=clusters, confidence_level=confidence_level
        )
        for column in shares.T
    ]


def pride_debias(observed: object, prior: object) -> NDArray[np.float64]:
    r"""Remove a position prior from observed probabilities: softmax(log P_obs - log prior).

    Args:
        observed: (N, n) probabilities of the positions.
        prior: (n,) the prior.

    Returns:
        (N, n) debiased probabilities.

    References:
        Zheng et al. (2024), ICLR, eq. 6.

    Example:
        >>> prior = [0.4134, 0.2839, 0.1898, 0.1129]
        >>> pride_debias([[.4, .35, .15, .1]], prior).round(3).tolist()
        [[0.25, 0.318, 0.204, 0.228]]
    """
    table = check_scores(observed, name="observed", allow_vector=False)
    base = to_floats(prior, "prior")
    if base.shape != (table.shape[1],):
        raise ValueError(
            f"Expected `prior` of shape ({table.shape[1]},), but got shape {base.shape}."
        )
    return _divide_probabilities(table, check_scores(base[None], name="prior")[0])


def contextual_calibration(probabilities: object, content_free: object) -> NDArray[np.float64]:
    r"""Divide by the model's probabilities for a content-free input: softmax(log p - log p_cf).

    Args:
        probabilities: (N, n) probabilities.
        content_free: (n,) probabilities for an input without content, or (M, n) for several inputs,
            which are averaged.

    Returns:
        (N, n) calibrated probabilities.

    References:
        Zhao et al. (2021), "Calibrate Before Use", ICML, section 5.

    Example:
        >>> contextual_calibration([[0.6, 0.4]], [0.75, 0.25]).round(4).tolist()
        [[0.3333, 0.6667]]
    """
    table = check_scores(probabilities, name="probabilities", allow_vector=False)
    base = to_floats(content_free, "content_free")
    n = table.shape[1]
    if base.ndim not in (1, 2) or base.shape[-1] != n:
        raise ValueError(
            f"Expected `content_free` of shape ({n},) or (M, {n}), but got shape {base.shape}."
        )
    return _divide_probabilities(
        table, check_scores(np.atleast_2d(base), name="content_free").mean(axis=0)
    )


@dataclasses.dataclass(frozen=True)
class ChoicesOnly(Result):
    """Accuracy of a model without the prompt.

    Attributes:
        accuracy: Accuracy with the choices alone.
        majority: Accuracy of always picking the most common position.
        excess: The difference.
        p_value: One-sided test of the accuracy against that of the majority: exact binomial, or
            Student's t for clusters.
        n_items: Number of items.
    """

    accuracy: float
    majority: float
    excess: float
    p_value: float
    n_items: int


def choices_only(
    predictions: object, references: object, *, clusters: object = None
) -> ChoicesOnly:
    """Compare the accuracy without a prompt with that of the most common position.

    Args:
        predictions: (N,) picked choices of items whose prompt was removed.
        references: (N,) correct choices.
        clusters: (N,) names of clusters of items. None (default) for independent items.

    Returns:
        A `ChoicesOnly`.

    References:
        Balepur et al. (2024), "Artifacts or Abduction: How Do LLMs Answer Multiple-Choice Questions
        Without the Question?", section 3.

    Example:
        >>> choices_only([0, 1, 1, 0], [0, 1, 1, 1]).accuracy
        0.75
    """
    picked = check_labels(predictions, name="predictions")
    gold = check_labels(references)
    n_items = check_same_length(predictions=picked, references=gold)
    units = number_clusters(clusters, n_items)
    is_correct = picked == gold
    accuracy = float(is_correct.mean())
    majority = float(np.bincount(gold).max() / n_items)
    if units is None:
        # The test of independent items is exact.
        n_correct = int(is_correct.sum())
        test = scipy.stats.binomtest(n_correct, n_items, majority, alternative="greater")
        p_value = float(test.pvalue)
    else:
        unit_excess = average_units(is_correct - majority, units)
        tested_p_value = t_p_value(unit_excess, "greater")
        # Without a variance between clusters, there is no test. A p-value may be exactly 0.
        p_value = 1.0 if tested_p_value is None else tested_p_value
    return ChoicesOnly(
        accuracy=accuracy,
        majority=majority,
        excess=accuracy - majority,
        p_value=p_value,
        n_items=n_items,
    )


# ------------------------------------------------------------------------------------------------------------- private


def _divide_probabilities(
    table: NDArray[np.float64], base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Divide the probabilities of each row by those of `base`, and normalize the rows."""
    # softmax(log p - log b) is p / b, normalized.
    return softmax(np.log(table + _EPSILON) - np.log(base + _EPSILON))


def _compute_item_priors(observed: object) -> NDArray[np.float64]:
    """Estimate PriDe's prior over the positions, separately for each item.

    Args:
        observed: (N, R, n) probabilities of n positions under R orders, or (R, n) for one item.

    Returns:
        (N, n) prior of each item.
    """
    table = to_floats(observed, "observed")
    if table.ndim == 2:
        table = table[None]
    if table.ndim != 3 or table.size == 0:
        raise ValueError(
            f"Expected `observed` of shape (orders, n) or (items, orders, n), but got {table.shape}."
        )
    check_scores(table.reshape(-1, table.shape[-1]), name="observed")
    return softmax(np.log(table + _EPSILON).mean(axis=1))


def _make_rstd_interval(
    rstd: float,
    hits: NDArray[np.int64],
    counts: NDArray[np.int64],
    effective_share: float,
    level: float,
) -> Interval | None:
    """Return the interval of RStd, the standard deviation of the recalls of n positions.

    n RStd² is about g times a noncentral chi-square variable with h degrees of freedom, whose
    noncentrality is 0 without a preference (see `position_bias`). The interval contains the true
    deviations under which the observed one is not in a tail of (1 - level) / 2.

    Args:
        rstd: Observed standard deviation.
        hits: (n,) number of items with the correct choice at each position that are answered
            correctly.
        counts: (n,) number of items with the correct choice at each position, at least 1.
        effective_share: Effective number of independent items, divided by the number of items.
        level: Confidence level.

    Returns:
        The interval; None for fewer than two positions.
    """
    n_positions = len(counts)
    if n_positions < 2:
        return None
    # One more hit and one more miss keep the variance of a recall of 0 or 1 above 0.
    smoothed_recalls = (effective_share * hits + 1) / (effective_share * counts + 2)
    variances = smoothed_recalls * (1 - smoothed_recalls) / (effective_share * counts)
    # Without a preference, n RStd² is a quadratic form of independent recalls with the matrix
    # C = I - 1/n. Its mean is the trace of C V, with V the diagonal matrix of the variances, and its
    # variance is twice the trace of (C V)².
    trace = float(variances.sum()) * (1 - 1 / n_positions)
    squared_trace = (
        float((variances**2).sum()) * (1 - 2 / n_positions)
        + float(variances.sum()) ** 2 / n_positions**2
    )
    # Satterthwaite: g and h give a chi-square variable the same mean g h and variance 2 g² h.
    scale = squared_trace / trace
    n_degrees = trace**2 / squared_trace
    chi_square = n_positions * rstd**2 / scale

    def find_deviation(value: float, probability: float) -> float:
        """Return the true deviation under which the statistic is below a value with a probability."""
        # Even a deviation of 0 makes a smaller value no more likely than that.
        if special.gammainc(n_degrees / 2, value / 2) <= probability:
            return 0.0
        noncentrality = special.chndtrinc(value, n_degrees, probability)
        return float(np.sqrt(noncentrality * scale / n_positions))

    low = find_deviation(chi_square, (1 + level) / 2)
    # For the upper end, RStd counts as no smaller than its mean without a preference.
    high = find_deviation(max(chi_square, n_degrees), (1 - level) / 2)
    return Interval(
        min(low, rstd),
        min(0.5, max(high, rstd)),
        level,
        "noncentral chi-square of the smoothed variances of recalls",
    )

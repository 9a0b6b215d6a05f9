"""The share of incorrect labels among those that a model disputes.

A disputed label is incorrect, or the model is. A single item does not show which, but all items
together do: without incorrect labels, errors become rarer as the confidence increases, whereas
incorrect labels contradict the model at every confidence. `estimate_incorrect_share` fits both to
the labels, and is the entry point.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats, Positions
from rightreasons.core.estimates import Estimate
from rightreasons.core.ordering import argsort_canonical
from rightreasons.core.resampling import Resampling

MAX_FITTED_ITEMS = 5_000
"""Number of items that the noise is fitted to: more would hardly narrow the interval."""

MAX_NOISE = 0.5
"""Largest share of incorrect labels that is considered."""

MAX_INVERSE_TEMPERATURE = 20.0
"""Largest factor of the log-probabilities that is considered; the smallest is its inverse."""

INVERSE_TEMPERATURES = np.geomspace(
    1 / MAX_INVERSE_TEMPERATURE,
    MAX_INVERSE_TEMPERATURE,
    num=61,
)
"""(T,) factors of the log-probabilities that are considered."""

_SHARE_ROOTS = np.linspace(0.0, 1.0, num=121)

NOISE_SHARES = MAX_NOISE * _SHARE_ROOTS**2
"""(S,) shares of incorrect labels that are considered. They are dense at 0, as most are small."""

MIN_PROBABILITY = 1e-12
"""Smallest probability, whose logarithm is finite."""

METHOD = "profile likelihood of label noise and a temperature, joined with the sampling error"


@dataclasses.dataclass(frozen=True)
class NoiseFit:
    """Likelihood of each share of incorrect labels, at its most likely temperature.

    Attributes:
        log_likelihoods: (S,) log-likelihood for each of `NOISE_SHARES`.
        temperature_indices: (S,) most likely index into `INVERSE_TEMPERATURES` for each of them.
    """

    log_likelihoods: Floats
    temperature_indices: NDArray[np.int64]


def estimate_incorrect_share(
    probabilities: Floats,
    labels: NDArray[np.int64],
    rows: NDArray[np.int64],
    *,
    n_units: int | None = None,
    resampling: Resampling = Resampling(),
) -> Estimate:
    r"""Estimate which share of some labels is incorrect.

    A label is incorrect with probability \(\epsilon\), and then any of the other classes. With the
    probabilities \(q \propto p^{1/T}\) of the true class, an item has the label y with probability
    \((1 - \epsilon) q_y + \epsilon (1 - q_y) / (K - 1)\). Temperature and \(\epsilon\) are fitted to
    all labels by maximum likelihood. The second term divided by the sum is the probability that the
    label is incorrect; the estimate is its mean over `rows`.

    The interval joins, as squares of distances, the means for each \(\epsilon\) that a likelihood
    ratio test does not reject, and the sampling error of a share of that many labels.

    A model that relies on a shortcut is confidently incorrect, which looks like an incorrect label:
    then the estimate is an upper limit.

    Args:
        probabilities: (N, K) probabilities of a model that was not trained on the items.
        labels: (N,) labels from 0 to K - 1.
        rows: Rows of the labels in question.
        n_units: Number of independent groups of items. If None, each item is independent.
        resampling: Confidence level of the interval.

    Returns:
        The expected share, from 0 to 1. Its value is None without rows, or with a single class.

    References:
        Copas (1988), Binary regression models for contaminated data, JRSS B 50 (2).
    """
    n_items, n_classes = probabilities.shape
    if not len(rows) or n_classes < 2:
        return Estimate(None, method="no disputed label")

    # Fit the noise to a sample: the likelihood needs one number per item and temperature.
    sample = _select_evenly(probabilities, labels)
    sampled = _compute_label_probabilities(probabilities[sample], labels[sample])
    fit = _fit_noise(sampled, n_classes)
    # The likelihood of the sample is scaled to all items. Items of a group may repeat each other, so
    # each group counts as one item.
    unit_share = (n_units or n_items) / n_items
    weight = unit_share * n_items / len(sample)
    is_accepted = _test_noise(fit, weight, resampling.level)

    # (S,) expected share of incorrect labels among the rows, for each share among all labels.
    disputed = _compute_label_probabilities(probabilities[rows], labels[rows])
    doubts = _compute_doubts(disputed, fit, n_classes)
    shares = doubts.mean(axis=0)
    accepted_shares = shares[is_accepted]
    best = int(fit.log_likelihoods.argmax())
    value = float(shares[best])

    # Even if the noise were known, a short list would have more or fewer incorrect labels.
    error = _compute_sampling_error(doubts[:, best], resampling.level)
    error /= np.sqrt(unit_share)
    below = np.hypot(value - accepted_shares.min(), error)
    above = np.hypot(accepted_shares.max() - value, error)
    return Estimate(
        value=value,
        low=max(value - float(below), 0.0),
        high=min(value + float(above), 1.0),
        level=resampling.level,
        method=METHOD,
    )


def _test_noise(fit: NoiseFit, weight: float, level: float) -> NDArray[np.bool_]:
    """Test each of `NOISE_SHARES` by its likelihood ratio to the most likely one.

    Args:
        fit: Likelihoods of a sample of the items.
        weight: Number of independent items per item of the sample.
        level: Confidence level.

    Returns:
        (S,) whether the test does not reject each share.
    """
    distances = fit.log_likelihoods.max() - fit.log_likelihoods
    # The quantile of a chi-squared variable with one degree of freedom.
    threshold = special.chdtri(1, 1 - level)
    is_accepted = 2 * weight * distances <= threshold
    return np.asarray(is_accepted)


def _compute_sampling_error(doubts: Floats, level: float) -> float:
    """Return half of the width of the interval of a share of incorrect labels, by sampling alone.

    Args:
        doubts: (n,) probability that each label is incorrect.
        level: Confidence level.
    """
    # Each label is incorrect with its probability: a sum of unequal binary variables.
    variance = np.sum(doubts * (1 - doubts))
    quantile = special.ndtri((1 + level) / 2)
    standard_deviation = np.sqrt(variance)
    return float(quantile * standard_deviation / len(doubts))


def _select_evenly(probabilities: Floats, labels: NDArray[np.int64]) -> Positions:
    """Select at most `MAX_FITTED_ITEMS` items at even distances, after sorting them by their values.

    The selection represents all probabilities, and does not depend on the order of the input.

    Args:
        probabilities: (N, K) probabilities.
        labels: (N,) labels.

    Returns:
        Rows of the selected items.
    """
    n_items = len(labels)
    if n_items <= MAX_FITTED_ITEMS:
        return np.arange(n_items)
    order = argsort_canonical(probabilities, labels)
    steps = np.arange(MAX_FITTED_ITEMS)
    positions = steps * n_items // MAX_FITTED_ITEMS
    return order[positions]


def _compute_label_probabilities(probabilities: Floats, labels: NDArray[np.int64]) -> Floats:
    """Compute the probability of each label at each of `INVERSE_TEMPERATURES`.

    Args:
        probabilities: (N, K) probabilities of the classes, at temperature 1.
        labels: (N,) labels.

    Returns:
        (N, T) probabilities.
    """
    positive = np.maximum(probabilities, MIN_PROBABILITY)
    logs = np.log(positive)
    indices = np.arange(len(labels))
    columns = []
    for factor in INVERSE_TEMPERATURES:
        scaled = special.softmax(logs * factor, axis=1)
        column = scaled[indices, labels]
        columns.append(column)
    return np.stack(columns, axis=1)


def _fit_noise(label_probabilities: Floats, n_classes: int) -> NoiseFit:
    """Compute the likelihood of each of `NOISE_SHARES`, at its most likely temperature.

    Args:
        label_probabilities: (N, T) probability of each label without noise, at each of
            `INVERSE_TEMPERATURES`.
        n_classes: Number of classes.
    """
    log_likelihoods = []
    temperature_indices = []
    for noise in NOISE_SHARES:
        total, _ = _mix_labels(label_probabilities, noise, n_classes)
        # (T,) log-likelihood of all labels at each temperature.
        sums = np.log(total).sum(axis=0)
        # The temperature is a nuisance parameter: for each share, the most likely one is chosen.
        index = int(sums.argmax())
        log_likelihoods.append(sums[index])
        temperature_indices.append(index)
    return NoiseFit(
        log_likelihoods=np.array(log_likelihoods),
        temperature_indices=np.array(temperature_indices, dtype=np.int64),
    )


def _compute_doubts(label_probabilities: Floats, fit: NoiseFit, n_classes: int) -> Floats:
    """Compute the probability that each label is incorrect, for each of `NOISE_SHARES`.

    Args:
        label_probabilities: (N, T) probability of each label without noise, at each of
            `INVERSE_TEMPERATURES`.
        fit: Most likely temperature for each share.
        n_classes: Number of classes.

    Returns:
        (N, S) probabilities.
    """
    columns = []
    for noise, index in zip(NOISE_SHARES, fit.temperature_indices, strict=True):
        probabilities = label_probabilities[:, index]
        total, incorrect = _mix_labels(probabilities, noise, n_classes)
        # Bayes' rule.
        columns.append(incorrect / total)
    return np.stack(columns, axis=1)


def _mix_labels(label_probabilities: Floats, noise: float, n_classes: int) -> tuple[Floats, Floats]:
    """Compute the probability of labels of which a share is incorrect.

    Args:
        label_probabilities: Probability that the true class is that of the label, of any shape.
        noise: Share of incorrect labels.
        n_classes: Number of classes.

    Returns:
        The probability of each label, and the part of it in which the label is incorrect; both of
        the same shape.
    """
    correct = (1 - noise) * label_probabilities
    # An incorrect label is any of the other classes with the same probability.
    n_other_classes = n_classes - 1
    incorrect = noise * (1 - label_probabilities) / n_other_classes
    # Without noise, a label that the model rules out would have an infinite logarithm.
    total = np.maximum(correct + incorrect, MIN_PROBABILITY)
    return total, incorrect

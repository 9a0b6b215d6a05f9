"""Whether the labels of a group of rows fit a model's answers no better than chance, unlike those of the other rows.

`is_failing_group` is the entry point. Labels that annotators rejected, or that belong to other rows, are of this kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_GROUP_ROWS = 10
"""Fewer rows agree with their labels, or do not, by accident."""

MIN_MINORITY_SHARE = 0.2
"""A group of nearly one label, or one answer, is a kind of items, for which no chance level is known."""

MAX_CHANCE_P_VALUE = 0.05
"""Agreement that exceeds chance with a smaller p-value is no failure."""

MAX_ERROR = 1e-3
"""Probability of a false alarm in a table, over all groups that are tested."""

Codes = NDArray[np.int64]


def is_failing_group(labels: Codes, answers: Codes, mask: NDArray[np.bool_], n_tests: int) -> bool:
    """Return whether answers fit the labels of a group by chance alone, and those of the other rows better.

    Args:
        labels: (N,) gold labels.
        answers: (N,) answers, as numbers of labels.
        mask: (N,) the group.
        n_tests: The number of groups that are tested.

    Example:
        >>> labels = np.array([0, 1] * 60)
        >>> answers = np.concatenate([labels[:80], np.roll([0, 0, 1, 1] * 10, 1)])
        >>> mask = np.arange(120) >= 80
        >>> is_failing_group(labels, answers, mask, n_tests=2), is_failing_group(labels, answers, ~mask, n_tests=2)
        (True, False)
    """
    is_correct = labels == answers
    n_group = int(mask.sum())
    if min(n_group, len(mask) - n_group) < MIN_GROUP_ROWS:
        return False
    if is_correct[mask].mean() >= is_correct[~mask].mean():
        return False
    for codes in (labels[mask], answers[mask]):
        # Answers of no class are numbered -1.
        if np.bincount(codes + 1).max() > (1 - MIN_MINORITY_SHARE) * n_group:
            return False
    # Few tables need it, and scipy.stats takes long to load.
    from scipy.stats import binom

    chance = measure_chance_agreement(labels[mask], answers[mask])
    n_correct = int(is_correct[mask].sum())
    # sf(n - 1) is the probability of n or more.
    if binom.sf(n_correct - 1, n_group, chance) < MAX_CHANCE_P_VALUE:
        return False
    return compute_group_p_value(labels, is_correct, mask) < MAX_ERROR / n_tests


def measure_chance_agreement(labels: Codes, answers: Codes) -> float:
    """Return the expected share of agreement if the answers had nothing to do with the labels."""
    n_values = int(max(labels.max(), answers.max())) + 1
    # Answers of no class are numbered -1, and agree with nothing.
    known = answers[answers >= 0]
    label_shares = np.bincount(labels, minlength=n_values) / len(labels)
    answer_shares = np.bincount(known, minlength=n_values) / len(answers)
    return float(label_shares @ answer_shares)


def compute_group_p_value(
    labels: Codes, is_correct: NDArray[np.bool_], mask: NDArray[np.bool_]
) -> float:
    """Return the exact one-sided p-value that a group is as accurate as the other rows of the same labels.

    Given the correct rows of each label, their number in the group is hypergeometric, and the sum over labels a
    convolution (Zelen, 1971).
    """
    from scipy.stats import hypergeom

    distribution = np.ones(1)
    for label in np.unique(labels):
        has_label = labels == label
        n_group = int((has_label & mask).sum())
        counts = np.arange(n_group + 1)
        n_correct = int(is_correct[has_label].sum())
        probabilities = hypergeom.pmf(counts, int(has_label.sum()), n_correct, n_group)
        distribution = np.convolve(distribution, probabilities)
    n_observed = int(is_correct[mask].sum())
    return float(distribution[: n_observed + 1].sum())

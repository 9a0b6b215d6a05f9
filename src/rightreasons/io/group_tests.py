"""Test for a group of rows in which a model's answers agree with the labels no more often than by chance.

Labels that annotators rejected, or that were shifted to other rows, make such a group. `is_failing_group` is the entry
point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_GROUP_ROWS = 10
"""Minimum number of rows in the group, and outside of it: fewer rows may agree or disagree by accident."""

MIN_MINORITY_SHARE = 0.2
"""Minimum share of rows without the most frequent label (or answer): if nearly all are equal, so is chance agreement."""

MAX_CHANCE_P_VALUE = 0.05
"""Agreement that exceeds chance with a p-value below this limit shows that the group does not fail."""

MAX_ERROR = 1e-3
"""Maximum probability of a false alarm in a table, over all groups that are tested."""

Codes = NDArray[np.int64]


def is_failing_group(labels: Codes, answers: Codes, mask: NDArray[np.bool_], n_tests: int) -> bool:
    """Return whether answers agree with the labels of a group only by chance, unlike those of other rows.

    Labels that annotators rejected, or that belong to other rows, make such a group.

    Args:
        labels: (N,) gold labels as codes from 0.
        answers: (N,) answers as codes of labels; -1 for an answer that is not a label.
        mask: (N,) whether each row is in the group.
        n_tests: The number of groups that are tested, for the Bonferroni correction.

    Example:
        >>> labels = np.array([0, 1] * 60)
        >>> answers = np.concatenate([labels[:80], np.roll([0, 0, 1, 1] * 10, 1)])
        >>> mask = np.arange(120) >= 80
        >>> is_failing_group(labels, answers, mask, n_tests=2), is_failing_group(labels, answers, ~mask, n_tests=2)
        (True, False)
    """
    n_group = int(mask.sum())
    n_remaining = len(mask) - n_group
    if min(n_group, n_remaining) < MIN_GROUP_ROWS:
        return False
    is_correct = labels == answers
    accuracy = is_correct[mask].mean()
    other_accuracy = is_correct[~mask].mean()
    if accuracy >= other_accuracy:
        return False
    group_labels = labels[mask]
    group_answers = answers[mask]
    # If nearly all labels are of one class, good answers agree no more often than by chance.
    if _has_one_value(group_labels) or _has_one_value(group_answers):
        return False
    # Few tables need scipy.stats, which takes long to load.
    from scipy.stats import binom

    chance = measure_chance_agreement(group_labels, group_answers)
    n_correct = int(is_correct[mask].sum())
    # P(X >= n_correct), the probability of so many correct rows or more by chance: sf(x) is P(X > x).
    chance_p_value = binom.sf(n_correct - 1, n_group, chance)
    if chance_p_value < MAX_CHANCE_P_VALUE:
        return False
    # The group also has to be significantly worse than other rows, with a Bonferroni correction.
    group_p_value = compute_group_p_value(labels, is_correct, mask)
    max_p_value = MAX_ERROR / n_tests
    return group_p_value < max_p_value


def _has_one_value(codes: Codes) -> bool:
    """Return whether nearly all codes are equal: a share below `MIN_MINORITY_SHARE` differs from the mode.

    Args:
        codes: (N,) integers from -1.
    """
    # `bincount` does not accept -1.
    counts = np.bincount(codes + 1)
    n_minority = len(codes) - counts.max()
    min_minority = MIN_MINORITY_SHARE * len(codes)
    return bool(n_minority < min_minority)


def measure_chance_agreement(labels: Codes, answers: Codes) -> float:
    """Return the expected share of agreement if answers were independent of labels.

    This is the chance term of Cohen's kappa.

    Args:
        labels: (N,) labels as codes from 0.
        answers: (N,) answers as codes of labels; -1 for an answer that agrees with no label.
    """
    known_answers = answers[answers >= 0]
    n_values = 1 + max(labels.max(), answers.max())
    label_counts = np.bincount(labels, minlength=n_values)
    answer_counts = np.bincount(known_answers, minlength=n_values)
    label_shares = label_counts / len(labels)
    answer_shares = answer_counts / len(answers)
    # The sum over labels of the product of both shares.
    agreement = label_shares @ answer_shares
    return float(agreement)


def compute_group_p_value(
    labels: Codes, is_correct: NDArray[np.bool_], mask: NDArray[np.bool_]
) -> float:
    """Return the exact p-value of the null hypothesis that a group is as accurate as other rows of its labels.

    The test is one-sided: small values show that the group is less accurate. Given the number of correct
    rows of each label, their number in the group is hypergeometric, and the distribution of the sum over
    labels is a convolution (Zelen, 1971).

    Args:
        labels: (N,) labels.
        is_correct: (N,) whether each answer is correct.
        mask: (N,) whether each row is in the group.
    """
    from scipy.stats import hypergeom

    # distribution[n] is the probability of n correct rows in the group, of the labels so far.
    distribution = np.ones(1)
    for label in np.unique(labels):
        has_label = labels == label
        n_rows = has_label.sum()
        n_correct = is_correct[has_label].sum()
        n_group = mask[has_label].sum()
        counts = np.arange(n_group + 1)
        probabilities = hypergeom.pmf(counts, n_rows, n_correct, n_group)
        distribution = np.convolve(distribution, probabilities)
    # The p-value is the probability of as few correct rows as observed, or fewer.
    n_observed = is_correct[mask].sum()
    lower_tail = distribution[: n_observed + 1]
    return float(lower_tail.sum())

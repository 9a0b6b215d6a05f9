"""Groups of rows whose labels agree with answers by chance: each limit of the test."""

from __future__ import annotations

import numpy as np
import pytest

from rightreasons.io.group_tests import (
    compute_group_p_value,
    is_failing_group,
    measure_chance_agreement,
)


def make_group(n_correct, n_incorrect, n_other=60):
    """Return labels, answers and the mask of a group that follows correct rows, with two labels."""
    n_group = n_correct + n_incorrect
    labels = np.arange(n_other + n_group) % 2
    answers = labels.copy()
    answers[n_other + n_correct :] = 1 - labels[n_other + n_correct :]
    mask = np.arange(n_other + n_group) >= n_other
    return labels, answers, mask


@pytest.mark.parametrize(
    ("n_correct", "n_incorrect", "n_other", "expected"),
    [
        (10, 10, 60, True),
        (20, 0, 60, False),
        # At least 10 rows in the group and outside.
        (5, 5, 60, True),
        (5, 4, 60, False),
        (20, 20, 9, False),
        # 15 of 20 by chance 1/2: P(X >= 15) = 0.0207; 14 of 20: P = 0.0577.
        (15, 5, 600, False),
        (14, 6, 600, True),
    ],
)
def test_a_group_fails_if_it_agrees_by_chance(n_correct, n_incorrect, n_other, expected):
    labels, answers, mask = make_group(n_correct, n_incorrect, n_other)

    assert is_failing_group(labels, answers, mask, n_tests=1) is expected


def test_more_tests_need_a_smaller_p_value():
    labels, answers, mask = make_group(7, 4, 60)
    p_value = compute_group_p_value(labels, labels == answers, mask)

    # The limit is 0.001 divided by the number of tests.
    n_tests = int(0.001 / p_value)
    assert n_tests > 0
    assert is_failing_group(labels, answers, mask, n_tests)
    assert not is_failing_group(labels, answers, mask, n_tests + 1)


@pytest.mark.parametrize(("n_minority", "expected"), [(4, True), (3, False)])
def test_a_fifth_of_the_group_has_another_label(n_minority, expected):
    # Of 20 rows, 4 are the fifth that must differ from the most frequent label.
    group_labels = np.arange(20) < n_minority
    group_answers = np.arange(20) % 2 == 0
    labels = np.concatenate([np.arange(200) % 2, group_labels])
    answers = np.concatenate([np.arange(200) % 2, group_answers])
    mask = np.arange(220) >= 200

    assert is_failing_group(labels, answers, mask, n_tests=1) is expected
    # The limit of answers is the same.
    assert is_failing_group(answers, labels, mask, n_tests=1) is expected


def test_chance_agreement_is_the_product_of_shares():
    # Shares of labels 1/2, 1/4, 1/4; of answers 1/4, 1/2, 0, and 1/4 that is no label.
    agreement = measure_chance_agreement(np.array([0, 0, 1, 2]), np.array([0, 1, 1, -1]))

    assert agreement == 0.5 * 0.25 + 0.25 * 0.5


def test_the_p_value_is_exact():
    # Of 4 correct and 2 incorrect rows, 2 are in the group, both incorrect: 1 / C(6, 2).
    is_correct = np.array([True, True, True, True, False, False])
    mask = np.array([False, False, False, False, True, True])

    assert compute_group_p_value(np.zeros(6), is_correct, mask) == pytest.approx(1 / 15)
    # With the other label, whose group has one of two rows, and 1 of 2 correct: P(0 correct) = 1/2.
    labels = np.array([0] * 6 + [1] * 2)
    is_correct = np.append(is_correct, [True, False])
    mask = np.append(mask, [False, True])
    assert compute_group_p_value(labels, is_correct, mask) == pytest.approx(1 / 30)

"""Accuracy by group of answers, and the columns that form groups."""

from __future__ import annotations

import types

import datasets
import numpy as np
import pytest

from rightreasons.audited.answer_groups import MAX_GROUPS, _group_by_length, measure_groups
from rightreasons.audited.given_answers import GivenAnswers
from rightreasons.core.resampling import Resampling


def make_answers(is_correct, *, task="classification", labels=None, used=(), **columns):
    """Return answers to items with some columns."""
    count = len(is_correct)
    data = datasets.Dataset.from_dict({"text": ["x"] * count, **columns})

    def get_column(name):
        return data[name][:] if name in data.column_names else None

    split = types.SimpleNamespace(data=data, column=get_column)
    labels = np.array([row % 2 for row in range(count)] if labels is None else labels)
    return GivenAnswers(
        split=split,
        rows=np.arange(count),
        labels=labels,
        picks=labels,
        is_correct=np.array(is_correct),
        reasons=[""] * count,
        clusters=None,
        task=task,
        used_columns=tuple(used),
    )


def list_groups(answers):
    """Return the kind, the name, the size and the accuracy of each group."""
    groups = measure_groups(answers, Resampling())
    return [(group.kind, group.name, group.n_items, group.accuracy.value) for group in groups]


def test_the_least_accurate_group_comes_first():
    # 3 of 4 and 1 of 2; another two of "c" are both correct.
    is_correct = [True, True, True, False, True, False, True, True]
    subjects = ["a", "a", "a", "a", None, None, "c", "c"]

    groups = list_groups(make_answers(is_correct, subject=subjects))

    assert groups == [
        ("subject", "none", 2, 0.5),
        ("subject", "a", 4, 0.75),
        ("subject", "c", 2, 1.0),
    ]


def test_p_values_are_corrected_for_all_groups():
    is_correct = [True] * 30 + [False] * 10
    answers = make_answers(is_correct, subject=["a"] * 25 + ["b"] * 15, level=[1, 1, 2, 2] * 10)

    groups = measure_groups(answers, Resampling())

    p_values = {(group.kind, group.name): group.p_value for group in groups}
    assert p_values["subject", "a"] < 0.001
    # "a" and "b" are each other's rest, and so are the two levels.
    assert p_values["subject", "a"] == pytest.approx(p_values["subject", "b"])
    assert p_values["level", "1"] > 0.5


@pytest.mark.parametrize(
    ("column", "is_grouping"),
    [
        ([row // 2 % MAX_GROUPS for row in range(26)], True),
        ([row // 2 % (MAX_GROUPS + 1) for row in range(26)], False),
        (["a"] * 26, False),
        # The label by another name, and whether the answer is correct.
        (["even", "odd"] * 13, False),
        (["good"] * 20 + ["bad"] * 6, False),
        ([0.5, 0.25] * 13, False),
        ([True, True, False, False] * 6 + [True, False], True),
    ],
)
def test_a_column_of_few_values_forms_groups_unless_it_repeats_the_outcome(column, is_grouping):
    answers = make_answers([True] * 20 + [False] * 6, x=column)

    assert bool(list_groups(answers)) is is_grouping
    used = make_answers([True] * 20 + [False] * 6, x=column, used=["x"])
    assert list_groups(used) == []


def test_positions_of_choices_are_groups():
    answers = make_answers([True, False, True], task="multiple_choice", labels=[0, 2, 2])

    assert list_groups(answers) == [
        ("position of the correct choice", "choice 3", 2, 0.5),
        ("position of the correct choice", "choice 1", 1, 1.0),
    ]


@pytest.mark.parametrize(
    ("lengths", "names"),
    [
        ([1, 2, 3, 4, 5, 6], ["short", "short", "middle", "middle", "long", "long"]),
        ([3, 1, 2, 3], None),
        ([3, 1, 2, 4], ["middle", "short", "short", "long"]),
    ],
)
def test_lengths_are_divided_into_thirds(lengths, names):
    groups = _group_by_length("length", np.array(lengths))

    assert groups.get("length") == names

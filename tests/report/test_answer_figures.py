"""The accuracy of answers in a sentence, and its standard error."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rightreasons.audited.answer_groups import AnswerGroup
from rightreasons.core.estimates import Estimate
from rightreasons.report.answers import (
    MAX_DEPENDENCE_P,
    MAX_GROUPS,
    MAX_P_OF_WORST_GROUP,
    AnswerFigures,
    _compute_standard_error,
    _list_labels,
    format_counts,
)


def make_figures(**changes):
    fields = {
        "split": "test",
        "n_items": 1200,
        "n_units": 1200,
        "accuracy": Estimate(0.5, 0.4, 0.6),
        "standard_error": 0.05,
        "low": 0.5,
        "high": 0.75,
        "of_read": None,
        "lacks": {},
        "agreement": None,
        "groups": (),
    }
    return AnswerFigures(**(fields | changes))


def make_group(name, accuracy, p_value):
    return AnswerGroup("subject", name, 10, Estimate(accuracy), p_value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "50.0% of 1,200 answers are correct [40.0%, 60.0%]."),
        (
            {"n_units": 100},
            "50.0% of 1,200 answers are correct [40.0%, 60.0%], over 100 samples.",
        ),
        (
            {"unserved": {"filtered": 1}},
            (
                "50.0% of 1,200 answers are correct [40.0%, 60.0%]. Excluded: 1 further item "
                "without an answer (1 filtered)."
            ),
        ),
    ],
)
def test_the_accuracy_is_a_sentence(changes, sentence):
    assert make_figures(**changes).sentence == sentence


def test_unread_answers_bound_the_accuracy():
    figures = make_figures(lacks={"empty": 200, "refused": 100})

    assert figures.n_unread == 300
    assert "300 cannot be read (200 empty, 100 refused)" in figures.sentence
    assert "would be 75.0%" in figures.sentence
    assert "depends" not in figures.sentence
    dependent = make_figures(lacks={"empty": 1}, unread_p=0.0)
    assert dependent.sentence.endswith("depends on the correct answer (p < 0.001).")


@pytest.mark.parametrize(("p", "expected"), [(0.0, True), (MAX_DEPENDENCE_P, False)])
def test_reading_depends_on_the_answer_below_a_p_value(p, expected):
    assert make_figures(unread_p=p).is_unread_by_answer is expected


@pytest.mark.parametrize(
    ("groups", "worst"),
    [
        ((), ""),
        ((make_group("a", 0.25, 0.0),), "25.0% where subject is “a”"),
        ((make_group("a", 0.25, MAX_P_OF_WORST_GROUP),), ""),
        ((make_group("a", 0.25, None), make_group("b", 0.4, 0.0)), "40.0% where subject is “b”"),
        # A group that is better than the others.
        ((make_group("a", 0.75, 0.0),), ""),
        ((make_group("a", 0.5, 0.0),), ""),
    ],
)
def test_the_worst_group_is_significantly_worse(groups, worst):
    figures = make_figures(groups=groups)

    assert figures.worst == worst
    assert (f"; {worst}" in figures.sentence) is bool(worst)


def test_tables_have_all_answers_first():
    group = make_group("a", 0.25, 0.01)
    figures = make_figures(groups=(group,), lacks={"empty": 300})

    table, reasons = figures.list_tables()

    assert table.rows[0][:3] == ("all", "", 1200)
    assert table.rows[1] == ("subject", "a", 10, group.accuracy, 0.01)
    assert table.note
    assert reasons.rows == (("empty", 300, 0.25),)
    assert make_figures().table().note == ""
    assert len(make_figures().list_tables()) == 1
    assert format_counts({"a": 1200, "b": 1}) == "1,200 a, 1 b"


class Answers(types.SimpleNamespace):
    def __len__(self):
        return len(self.is_correct)

    def column(self, name):
        return self.targets if name == "target" else None


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        # Deviations of 1/4 (three) and -3/4 (one): sqrt(4/3 * 12/16) / 4 = 1/4.
        (None, 0.25),
        # Sums of two clusters 1/2 and -1/2: sqrt(2 * 1/2) / 4.
        (["a", "a", "b", "b"], 0.25),
        (["a", "b", "b", "b"], np.sqrt(2 * 2 / 16) / 4),
        (["a"] * 4, None),
    ],
)
def test_the_standard_error_is_that_of_clusters(clusters, expected):
    answers = Answers(
        is_correct=np.array([True, True, True, False]),
        clusters=None if clusters is None else np.array(clusters),
    )

    error = _compute_standard_error(answers)

    assert error == (None if expected is None else pytest.approx(expected))


def test_unread_answers_are_compared_with_correct_answers_that_repeat():
    labels = np.array([1, 0, 1])

    def list_labels(task, targets):
        answers = Answers(task=task, labels=labels, is_correct=labels, targets=targets)
        return _list_labels(answers)

    assert list_labels("multiple_choice", None) == [1, 0, 1]
    assert list_labels("confidence", None) == [0, 0, 0]
    assert list_labels("confidence", ["a", 2, "a"]) == ["a", "2", "a"]
    many = [str(number) for number in range(MAX_GROUPS + 1)]
    assert list_labels("confidence", many) == [0, 0, 0]
    assert list_labels("confidence", many[:-1]) == many[:-1]

"""Positions of choices, and the agreement of several answers to one item, by hand."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rightreasons.audited.answer_tables import (
    make_epoch_table,
    make_position_table,
    make_reason_table,
    measure_epochs,
    measure_positions,
)
from rightreasons.audited.given_answers import GivenAnswers
from rightreasons.core.resampling import Resampling

RESAMPLING = Resampling()


def make_answers(labels, picks, *, clusters=None, n_choices=3, task="multiple_choice"):
    """Return answers, of which a pick of -1 cannot be read."""
    columns = {"choices": [["x"] * n_choices] * len(labels)}
    if clusters is not None:
        columns["source_id"] = clusters
    split = types.SimpleNamespace(column=columns.get)
    labels = np.array(labels)
    picks = np.array(picks)
    return GivenAnswers(
        split=split,
        rows=np.arange(len(labels)),
        labels=labels,
        picks=picks,
        is_correct=labels == picks,
        reasons=["" if pick >= 0 else "empty" for pick in picks],
        clusters=None if clusters is None else np.array(clusters),
        task=task,
    )


def test_picks_are_compared_with_correct_choices_by_position():
    answers = make_answers([0, 0, 1, 1, 2, 2, 0, 1], [0, 0, 0, 1, 2, 0, -1, 1])

    first, second, third = measure_positions(answers, RESAMPLING)

    # Of seven readable answers, the choice at the first position is correct for 2 and picked by 4.
    assert (first.letter, second.letter, third.letter) == ("A", "B", "C")
    assert first.gold == pytest.approx(2 / 7)
    assert first.picked == pytest.approx(4 / 7)
    assert first.excess.value == pytest.approx(2 / 7)
    assert third.excess.value == pytest.approx(-1 / 7)
    # The accuracy also counts the unreadable answer.
    assert (first.n_correct, first.accuracy.value) == (3, pytest.approx(2 / 3))
    row = make_position_table((first,)).rows[0]
    assert row == ("A", first.gold, first.picked, first.excess, 3, first.accuracy)


def test_positions_are_compared_for_up_to_twelve_choices():
    def count(n_choices, **options):
        answers = make_answers([0, 1] * 6, [0, 0] * 6, n_choices=n_choices, **options)
        return len(measure_positions(answers, RESAMPLING))

    assert (count(12), count(13)) == (12, 0)
    assert count(3, task="classification") == 0
    assert measure_positions(make_answers([0, 1], [-1, -1]), RESAMPLING) == ()


def measure(outcomes):
    """Return the agreement of answers, from the outcomes of each item."""
    labels = []
    picks = []
    clusters = []
    for item, answers in enumerate(outcomes):
        for outcome in answers:
            labels.append(1)
            picks.append(outcome)
            clusters.append(f"i{item}")
    return measure_epochs(make_answers(labels, picks, clusters=clusters), RESAMPLING)


def test_pairs_of_answers_to_an_item_agree():
    epochs = measure([[1, 1, 1], [1, 1, 0], [0, 0, 1, 0], [1]])

    # The single answer is left out. Pairs that agree: 3 of 3, 1 of 3, and 3 of 6.
    assert (epochs.n_items, epochs.n_epochs) == (3, 3)
    assert epochs.agreement.value == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    assert epochs.majority.value == pytest.approx(2 / 3)
    # pass^1: (1 + 2/3 + 1/4) / 3; pass^2: (1 + 1/3 + 0) / 3; pass^3: 1/3.
    rates = [rate.rate.value for rate in epochs.pass_rates]
    assert [rate.k for rate in epochs.pass_rates] == [1, 2, 3]
    assert rates == pytest.approx([(1 + 2 / 3 + 1 / 4) / 3, (1 + 1 / 3) / 3, 1 / 3])


def test_the_first_answer_decides_a_tie():
    epochs = measure([[1, 0], [0, 1], [1, 0], [1, 1]])

    assert epochs.majority.value == pytest.approx(3 / 4)
    assert epochs.agreement.value == pytest.approx(1 / 4)


def test_eight_answers_are_counted_at_most():
    assert len(measure([[1] * 8, [0] * 8]).pass_rates) == 8
    assert len(measure([[1] * 9, [0] * 9]).pass_rates) == 8


def test_single_answers_have_no_agreement():
    assert measure([[1], [0]]) is None
    assert measure_epochs(make_answers([1, 1], [1, 0]), RESAMPLING) is None


def test_tables_name_the_numbers_of_answers():
    table = make_epoch_table(measure([[1, 1], [1, 0]]))

    assert [row[0] for row in table.rows[2:]] == [
        "One answer correct (mean)",
        "2 of 2 answers correct (pass^2)",
    ]
    assert make_reason_table({"empty": 3}, 12).rows == (("empty", 3, 0.25),)

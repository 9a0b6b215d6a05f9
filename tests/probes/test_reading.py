"""What stays without the question: worked values, models that read and models that do not, and clusters."""

import numpy as np
import pytest

from rightreasons.probes.reading import measure_reading


def read(answers, without, right=None, n=3, **options):
    return measure_reading(answers, without, right, n_choices=np.full(len(answers), n), **options)


def test_worked_values():
    # Right choices (0, 0, 0, 1, 1): the first stratum answers (0, 0, 2), without (0, 1, 2); the second (1, 0), (1, 1).
    found = read([0, 0, 2, 1, 0], [0, 1, 2, 1, 1], [0, 0, 0, 1, 1])
    assert found.kept.value == 3 / 5
    # Of the other two of the first stratum, y = x for 0, 1 and 0 of 2; of the other one of the second, for 1 and 0.
    assert found.by_chance == pytest.approx((0 + 1 / 2 + 0 + 1 + 0) / 5)
    assert found.beyond_chance.value == pytest.approx((0.6 - 0.3) / 0.7)
    assert (found.accuracy.value, found.accuracy_without.value, found.guessing) == (
        3 / 5,
        3 / 5,
        pytest.approx(1 / 3),
    )
    assert found.accuracy_loss.value == 0.0
    assert found.excess.value == pytest.approx(3 / 5 - 1 / 3)


def test_what_has_no_answer():
    found = read([0, 1, -1, 2, 0], [0, -1, 1, 2, 1], [0, 1, 1, 2, 0])
    # The third item is left out; the second counts as changed and wrong.
    assert (found.n_items, found.n_unanswered) == (4, 1)
    assert (found.kept.value, found.accuracy.value, found.accuracy_without.value) == (0.5, 1.0, 0.5)
    assert read([-1, -1], [0, 1]) is None


def test_where_all_agree_by_chance_there_is_nothing_beyond():
    constant = read([0] * 30, [0] * 30)
    assert (constant.kept.value, constant.by_chance, constant.beyond_chance.value) == (
        1.0,
        1.0,
        None,
    )
    assert read([0, 1], [0, 1], [0, 1]).beyond_chance.value is None  # no two items of a stratum


def answers(rng, n_items, share, *, accuracy=1.0, prior=1 / 3, n=3):
    """Keep the answer without the question in a share of the items; right choices and the prior are as often right."""
    right = rng.integers(n, size=n_items)
    wrong = (right + rng.integers(1, n, size=n_items)) % n
    without = np.where(rng.random(n_items) < prior, right, wrong)
    reading = np.where(rng.random(n_items) < accuracy, right, (right + 1) % n)
    return np.where(rng.random(n_items) < share, without, reading), without, right


@pytest.mark.parametrize(
    ("share", "options"),
    [
        (0.0, {}),  # reads
        (0.0, {"prior": 0.8}),  # reads, and guesses well where there is no question
        (0.3, {}),
        (1.0, {}),  # does not read
        (1.0, {"prior": 0.8}),
    ],
)
def test_the_share_of_answers_that_do_not_depend_on_the_question(share, options):
    rng, found, holds = np.random.default_rng(7), [], 0
    for _ in range(120):
        beyond = read(*answers(rng, 150, share, **options)).beyond_chance
        found.append(beyond.value)
        holds += beyond.low <= share <= beyond.high
    assert np.mean(found) == pytest.approx(share, abs=0.02)
    assert holds >= 106  # of 120 at .95, fewer come once in five hundred times


def test_copies_of_an_item_say_nothing_more():
    rng = np.random.default_rng(2)
    once = answers(rng, 60, 0.3, accuracy=0.8)
    copies = [np.repeat(column, 5) for column in once]
    alone, together = read(*once), read(*copies, clusters=np.repeat(np.arange(60), 5))
    assert together.n_units == 60
    for name in ("kept", "beyond_chance", "accuracy", "accuracy_without", "accuracy_loss"):
        first, second = getattr(alone, name), getattr(together, name)
        assert second.value == pytest.approx(first.value), name
        assert second.high - second.low == pytest.approx(first.high - first.low, rel=0.1), name
    assert together.by_chance == pytest.approx(alone.by_chance)
    as_if_alone = read(*copies).beyond_chance
    assert as_if_alone.high - as_if_alone.low < 0.6 * (
        together.beyond_chance.high - together.beyond_chance.low
    )


@pytest.mark.parametrize(
    ("answers", "without", "n_choices", "sentence"),
    [
        ([0, 2, 1], [0, 0, 0], [2, 2, 2], "`answers` to be between -1"),
        ([0, 1, 1], [0, 0, 3], [2, 2, 3], "`answers_without` to be between -1"),
        ([0, 1, 1], [0, 0, 0], [2.5, 2, 2], "in `n_choices`"),
        ([0, 1], [0, 0], [0, 2], "`n_choices` to be at least 1, but item 0 is 0"),
        ([0, 1], [0, 0, 1], [2, 2], "of one length"),
    ],
)
def test_answers_are_choices_of_their_items(answers, without, n_choices, sentence):
    with pytest.raises(ValueError, match=sentence):
        measure_reading(answers, without, n_choices=n_choices)


def test_agreement_of_a_model_with_one_answer_is_not_known():
    # 19 of 20 answers are the first choice, with and without the question.
    constant = read([0] * 19 + [1], [1] + [0] * 19)
    assert not constant.is_informative
    # A model whose answers vary, and stay the same, does not depend on the question.
    varied = read([0, 1] * 10, [0, 1] * 10)
    assert varied.is_informative
    assert varied.beyond_chance.value == 1.0

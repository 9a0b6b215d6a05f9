"""The difference of two Easy/Hard gaps: closed forms, exact permutation, and what is refused."""

import itertools

import numpy as np
import pytest
from scipy import stats

from rightreasons.cues.easy_hard import compare_gaps, easy_hard_gap

EASY = [True, True, True, False, False, False, False]
GOLD = [0, 1, 1, 0, 1, 0, 1]


def runs(hits):
    """Choices that are right where the flags say so, one row per item."""
    return [[gold if hit else 1 - gold for hit in row] for gold, row in zip(GOLD, hits, strict=True)]


FIRST = runs([(1, 1), (1, 0), (1, 1), (0, 0), (0, 1), (0, 0), (1, 0)])
SECOND = runs([(1, 0, 1), (0, 0, 1), (1, 0, 0), (1, 1, 1), (1, 0, 1), (0, 1, 1), (1, 1, 0)])


def test_closed_form():
    result = compare_gaps(FIRST, SECOND, GOLD, EASY)
    # Gaps by run: 3/3 - 1/4 and 2/3 - 1/4; then 2/3 - 3/4, 0 - 3/4 and 2/3 - 3/4.
    assert result.first_runs == pytest.approx((0.75, 5 / 12))
    assert result.second_runs == pytest.approx((-1 / 12, -0.75, -1 / 12))
    assert result.difference == pytest.approx(7 / 12 - (-11 / 36))
    assert (result.n_easy, result.n_hard, result.n_permutations) == (3, 4, 10_000)
    # d on Easy: 1 - 2/3, 1/2 - 1/3, 1 - 1/3, with mean 7/18; on Hard: -1, 1/2 - 2/3, -2/3, 1/2 - 2/3, with mean -1/2.
    easy = sum((d - 7 / 18) ** 2 for d in (1 / 3, 1 / 6, 2 / 3))
    hard = sum((d + 1 / 2) ** 2 for d in (-1, -1 / 6, -2 / 3, -1 / 6))
    items = (easy + 1) / 12 + (hard + 1) / 20
    # Variance of two gaps that differ by 1/3: 1/18; of -1/12, -3/4, -1/12: deviations of 2/9, 4/9, 2/9, so 4/27.
    first, second = 1 / 18 / 2, 4 / 27 / 3
    total = items + first + second
    freedom = total**2 / (items**2 / 5 + first**2 / 1 + second**2 / 2)
    assert result.p_value == pytest.approx(2 * stats.t.sf(result.difference / total**0.5, freedom))
    half = stats.t.ppf(0.975, freedom) * total**0.5
    assert result.interval.low == pytest.approx(result.difference - half)
    assert result.interval.high == pytest.approx(min(2.0, result.difference + half))


def test_the_permutation_is_that_of_all_shuffles():
    # The d of each item in sixths, shuffled over all choices of three Easy items.
    sixths = np.array([2, 1, 4, -6, -1, -4, -1])
    every = [np.mean(sixths[list(c)]) - np.mean(np.delete(sixths, c)) for c in itertools.combinations(range(7), 3)]
    exact = np.mean(np.abs(every) >= abs(every[0]) - 1e-12)
    result = compare_gaps(FIRST, SECOND, GOLD, EASY, n_permutations=200_000)
    assert result.item_p_value == pytest.approx(exact, abs=4 * (exact / 200_000) ** 0.5)


def test_it_agrees_with_the_gaps_and_turns_its_sign():
    one, two = (easy_hard_gap(table, GOLD, EASY) for table in (FIRST, SECOND))
    result, turned = compare_gaps(FIRST, SECOND, GOLD, EASY), compare_gaps(SECOND, FIRST, GOLD, EASY)
    assert (result.first, result.second) == pytest.approx((one.easy_hard_gap, two.easy_hard_gap))
    assert turned.difference == -result.difference
    assert turned.p_value == pytest.approx(result.p_value)
    assert compare_gaps(FIRST, FIRST, GOLD, EASY).p_value == 1.0


def test_seeds_are_a_level():
    """Ten times the items tell the gaps of these runs apart; other seeds may have others, as the runs say."""
    easy, gold = EASY * 40, GOLD * 40
    result = compare_gaps(FIRST * 40, SECOND * 40, gold, easy)
    assert result.item_p_value < 0.001 < 0.01 < result.p_value
    alone = compare_gaps([row[0] for row in FIRST] * 40, [row[0] for row in SECOND] * 40, gold, easy)
    assert alone.p_value is None
    assert alone.item_p_value < 0.001


def test_no_interval_has_width_zero():
    result = compare_gaps(GOLD, GOLD, GOLD, EASY)
    assert result.difference == 0.0
    assert result.interval.low < -0.3
    assert result.interval.high == -result.interval.low
    assert compare_gaps([0, 0], [0, 1], [0, 0], [True, False]).interval.high == 2.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"second": GOLD[:-1]}, ValueError, "second"),
        ({"easy": [True] * 7}, ValueError, "both Easy and Hard"),
        ({"easy": [2] * 7}, TypeError, "easy"),
        ({"first": []}, ValueError, "first"),
        ({"n_permutations": 0}, ValueError, "n_permutations"),
        ({"confidence_level": 1.0}, ValueError, "confidence_level"),
        ({"seed": -1}, ValueError, "seed"),
    ],
)
def test_mistakes(change, error, message):
    with pytest.raises(error, match=message):
        compare_gaps(**{"first": FIRST, "second": SECOND, "references": GOLD, "easy": EASY} | change)

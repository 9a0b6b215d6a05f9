"""Fleiss' kappa: his own example and closed forms; people's accuracy."""

import math

import numpy as np
import pytest
from scipy import stats

from rightreasons.cues.ratings import fleiss_kappa, human_performance

# Fleiss 1971, Table 1: six psychiatrists, 30 patients, five categories.
FLEISS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip


def test_his_own_example():
    result = fleiss_kappa(FLEISS)
    assert round(result.fleiss_kappa, 3) == 0.430
    assert (round(result.agreement, 3), round(result.chance, 3)) == (0.556, 0.220)
    assert (result.n_items, result.n_raters, result.n_categories) == (30, 6, 5)
    assert result.interval.low < 0.43 < result.interval.high


def test_closed_forms():
    # Two raters who never agree, half and half: P = 0, chance 1/2, kappa -1, the lowest there is.
    assert fleiss_kappa([[1, 1]] * 5).fleiss_kappa == -1.0
    # One dissent in three items of two raters: P = 2/3; shares 3/6 and 3/6; kappa (2/3 - 1/2) / (1/2) = 1/3.
    assert fleiss_kappa([[2, 0], [1, 1], [0, 2]]).fleiss_kappa == pytest.approx(1 / 3)
    perfect = fleiss_kappa([[4, 0, 0], [0, 4, 0], [0, 4, 0]])
    assert (perfect.fleiss_kappa, perfect.interval.high) == (1.0, 1.0)
    assert perfect.interval.low < 0.8
    one = fleiss_kappa([[3, 0]] * 4)
    assert (one.fleiss_kappa, one.interval, one.agreement, one.chance) == (None, None, 1.0, 1.0)


def test_the_interval_of_more_raters_is_wilsons_on_the_range_of_kappa():
    # Three raters, four items: P = (1 + 1 + 1/3 + 1/3) / 4 = 2/3, shares 7/12 and 5/12, chance 74/144 = 37/72,
    # kappa (2/3 - 37/72) / (35/72) = 11/35. The smallest kappa of three raters is -1/2, so that the share of its
    # range is (11/35 + 1/2) / (3/2).
    table = np.array([[3, 0], [0, 3], [2, 1], [2, 1]])
    result = fleiss_kappa(table, confidence_level=0.9)
    kappa, minimum = 11 / 35, -1 / 2
    assert result.fleiss_kappa == pytest.approx(kappa)

    # The variance by brute force: the derivative of kappa in the weight of each item, and of one that dissents.
    def weighted_kappa(weights):
        agreement = weights @ (((table**2).sum(axis=1) - 3) / 6) / weights.sum()
        shares = weights @ table / (3 * weights.sum())
        return (agreement - shares @ shares) / (1 - shares @ shares)

    step = 1e-6
    influences = [
        4
        * (weighted_kappa(np.ones(4) + step * row) - weighted_kappa(np.ones(4) - step * row))
        / (2 * step)
        for row in np.eye(4)
    ]
    dissent = 2 / 3 / (35 / 72)
    variance = (np.sum(np.square(influences)) + dissent**2) / (4 * 5)
    share = (kappa - minimum) / 1.5
    smoothed = (4 * share + 0.5) / 5
    n_effective = smoothed * (1 - smoothed) / (variance / 1.5**2)
    t = stats.t.isf(0.05, 3)
    center = (share + t**2 / (2 * n_effective)) / (1 + t**2 / n_effective)
    half = (
        t
        / (1 + t**2 / n_effective)
        * math.sqrt(share * (1 - share) / n_effective + t**2 / (4 * n_effective**2))
    )
    assert result.interval.low == pytest.approx(minimum + 1.5 * (center - half), abs=1e-6)
    assert result.interval.high == pytest.approx(minimum + 1.5 * (center + half), abs=1e-6)
    assert result.interval.confidence_level == 0.9


def test_full_dissent_of_three_raters_is_the_smallest_kappa():
    # Each item has one rating of each category: P = 0, chance 1/3, kappa (0 - 1/3) / (2/3) = -1/2.
    result = fleiss_kappa([[1, 1, 1]] * 6)
    assert result.fleiss_kappa == pytest.approx(-1 / 2)
    assert result.interval.low == pytest.approx(-1 / 2)


def test_more_items_narrow_the_interval_and_categories_have_no_order():
    few, many = fleiss_kappa(FLEISS), fleiss_kappa(FLEISS * 9)
    assert many.fleiss_kappa == pytest.approx(few.fleiss_kappa)
    widths = [result.interval.high - result.interval.low for result in (few, many)]
    assert widths[1] < widths[0] / 2.5
    turned = fleiss_kappa(np.array(FLEISS)[::-1, ::-1])
    assert turned.interval.low == pytest.approx(few.interval.low)


def test_people():
    ratings = [[0, 0, 1], [1, 1, 1], [2, 0, 1], [0, 1, 0]]
    result = human_performance(ratings, [0, 1, 2, 1])
    assert result.accuracy == pytest.approx(7 / 12)
    # P: 1/3, 1, 0, 1/3; shares 5/12, 6/12, 1/12.
    chance = (25 + 36 + 1) / 144
    assert result.kappa.fleiss_kappa == pytest.approx((5 / 12 - chance) / (1 - chance))
    assert human_performance(ratings, [0, 1, 2, 1], n_choices=4).kappa.n_categories == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fleiss_kappa([[2, 0], [1, 2]]), ValueError, "item 0 has 2 and item 1 has 3"),
        (lambda: fleiss_kappa([[1, 0], [1, 0]]), ValueError, "at least 2"),
        (lambda: fleiss_kappa([[2, 0]]), ValueError, "at least 2 items"),
        (lambda: fleiss_kappa([[2, 0], [2]]), ValueError, "at least 2, but rows have 1, 2"),
        (lambda: fleiss_kappa([[3, -1], [2, 0]]), ValueError, "counts"),
        (lambda: fleiss_kappa([[1.5, 0.5], [2, 0]]), ValueError, "whole numbers in `counts`"),
        (lambda: human_performance([[0], [1]], [0, 1]), ValueError, "at least 2, but rows have 1"),
        (lambda: human_performance([[0, 1], [1]], [0, 1]), ValueError, "rows have 1, 2"),
        (lambda: human_performance([[0, 1], [1, 1]], [0]), ValueError, "references"),
        (lambda: human_performance([[0, 3], [1, 1]], [0, 1], n_choices=2), ValueError, "n_choices"),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()

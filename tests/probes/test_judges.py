"""What judges of pairs prefer beside quality, by hand."""

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.probes.judges import judge_bias

NAN = float("nan")


def test_by_hand():
    found = judge_bias(
        [1, 1, 0.5, 0, 1],
        [1, 0, 0.5, 0.5, NAN],
        longer=[1, 0, 0.5, 1, 0],
        own=[0.5, 1, 0, 0.5, 0],
        reference=[0, 1, 0.5, 0, NAN],
        items=["a", "a", "b", "c", "d"],
    )
    # In both orders: consistent are pairs 0 and 2; items a, b, c have 1/2, 1 and 0.
    assert (found.consistency.value, found.consistency.n_items, found.consistency.n_pairs) == (
        0.5,
        3,
        4,
    )
    # Differences 0, 1 (item a: 1/2), 0, -1/2.
    assert found.position.value == pytest.approx(0)
    # Wins of the first: 1, 1/2, 1/2, 1/4, 1. For the longer: pair 0 +1, pair 1 0, pair 3 -1/2, pair 4 -1 by items.
    assert found.length.value == pytest.approx((0.5 - 0.5 - 1) / 3)
    # Less the reference: +1 and -(1/2 - 1) = 1/2 in a, 1/4 in c.
    assert found.length_beyond.value == pytest.approx((0.75 + 0.25) / 2)
    # Its own: pair 1 is its own first, 0; pair 2 second, 0; pair 4 second, -1.
    assert (found.own.value, found.own.p_value) == (pytest.approx(-1 / 3), None)
    assert found.own_beyond.value == pytest.approx((-0.5 + 0) / 2)
    assert found.to_dict()["n_pairs"] == 5


def test_a_place_that_always_wins():
    found = judge_bias(np.ones(12), np.zeros(12), resampling=Resampling(resamples=2000))
    assert (found.consistency.value, found.position.value) == (0, 1)
    # All 12 signs alike: 2 / 2^12.
    assert found.position.p_value < 0.005
    assert found.position.interval.low > 0.5
    assert found.length is found.own is found.own_beyond is None


def test_one_order_alone():
    found = judge_bias([1, 1, 1, 0])
    assert found.consistency is None
    assert found.position.value == 0.5
    assert "order was random" in found.position.null


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: judge_bias([2]), "from 0 to 1 in `first_wins`, but pair 0 has 2"),
        (
            lambda: judge_bias([1, 0], longer=[1, 0.3]),
            "0, 0.5 or 1 in `longer`, but pair 1 has 0.3",
        ),
        (lambda: judge_bias([NAN], [NAN]), "at least one pair with a judgment"),
        (lambda: judge_bias([1, 0], [1]), "of one length"),
        (lambda: judge_bias([]), "at least one"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()

"""Options of resampling: checked, made from flat options, and made fewer."""

import pytest

from rightreasons.core.resampling import Resampling


def test_flat_options_without_a_level_ask_for_no_interval():
    assert Resampling.of(None) is None
    assert Resampling.of(0.9, 20, 3) == Resampling(level=0.9, resamples=20, seed=3)


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        (
            (95,),
            ValueError,
            "Expected `confidence_level` to be strictly between 0 and 1, but got 95.0.",
        ),
        (
            (1.0,),
            ValueError,
            "Expected `confidence_level` to be strictly between 0 and 1, but got 1.0.",
        ),
        ((0.95, 0), ValueError, "Expected `n_resamples` to be at least 1, but got 0."),
        ((0.95, 2.5), TypeError, "Expected `n_resamples` to be a whole number"),
        ((0.95, 10, -1), ValueError, "Expected `seed` to be at least 0, but got -1."),
        # What no interval needs is checked all the same.
        ((None, 0), ValueError, "Expected `n_resamples` to be at least 1, but got 0."),
        ((None, 10, -1), ValueError, "Expected `seed` to be at least 0, but got -1."),
    ],
)
def test_bad_options(options, kind, sentence):
    with pytest.raises(kind) as caught:
        Resampling.of(*options)
    assert sentence in str(caught.value)


def test_at_most():
    assert Resampling(0.9, 500, 3).at_most(200) == Resampling(0.9, 200, 3)
    assert Resampling(0.9, 100, 3).at_most(200) == Resampling(0.9, 100, 3)

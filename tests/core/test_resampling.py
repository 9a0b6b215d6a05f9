"""Options of resampling."""

import numpy as np
import pytest

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.resampling import Resampling, item_rng


def test_options_without_a_level_request_no_interval():
    assert Resampling.from_options(None) is None
    assert Resampling.from_options(0.9, 20, 3) == Resampling(level=0.9, resamples=20, seed=3)
    assert Resampling.from_options(0.9) == Resampling(level=0.9, resamples=1000, seed=0)


def test_defaults():
    assert Resampling() == Resampling(level=0.95, resamples=1000, seed=0)


@pytest.mark.parametrize(
    ("options", "kind", "option"),
    [
        ((95,), OptionError, "confidence_level"),
        ((1.0,), OptionError, "confidence_level"),
        ((0.0,), OptionError, "confidence_level"),
        (("95 %",), OptionTypeError, "confidence_level"),
        ((0.95, 0), OptionError, "n_resamples"),
        ((0.95, 10_000_001), OptionError, "n_resamples"),
        ((0.95, 2.5), OptionTypeError, "n_resamples"),
        ((0.95, 10, -1), OptionError, "seed"),
        # Options that no interval needs are checked all the same.
        ((None, 0), OptionError, "n_resamples"),
        ((None, 10, -1), OptionError, "seed"),
    ],
)
def test_options_are_checked(options, kind, option):
    with pytest.raises(kind) as error:
        Resampling.from_options(*options)

    assert error.value.option == (option,)


def test_a_level_becomes_a_float():
    assert type(Resampling(level=np.float32(0.5)).level) is float


def test_a_limit_lowers_the_number_of_resamples():
    assert Resampling(0.9, 500, 3).limit_resamples(200) == Resampling(0.9, 200, 3)
    assert Resampling(0.9, 100, 3).limit_resamples(200) == Resampling(0.9, 100, 3)


@pytest.mark.parametrize(("n_tests", "level"), [(0, 0.9), (1, 0.9), (5, 0.98)])
def test_a_family_of_tests_shares_the_error(n_tests, level):
    resampling = Resampling(0.9, 500, 3).correct_for_tests(n_tests)

    assert resampling.level == pytest.approx(level)
    assert (resampling.resamples, resampling.seed) == (500, 3)


@pytest.mark.parametrize(
    ("width", "at_once", "blocks"),
    [
        (1000, 4000, [4, 4, 2]),
        (1000, 5000, [5, 5]),
        (1000, 5999, [5, 5]),
        (1000, 10, [1] * 10),
        (0, 10, [10]),
        (1, 100, [10]),
    ],
)
def test_resamples_are_divided_into_blocks(width, at_once, blocks):
    assert Resampling(resamples=10).split_into_blocks(width, max_numbers=at_once) == blocks


def test_a_block_has_four_million_numbers():
    assert Resampling(resamples=9).split_into_blocks(1_000_000) == [4, 4, 1]


def test_the_draws_of_an_item_depend_on_seed_and_id():
    draws = item_rng(0, "a").integers(1 << 60)

    assert item_rng(0, "a").integers(1 << 60) == draws
    assert item_rng(1, "a").integers(1 << 60) != draws
    assert item_rng(0, "b").integers(1 << 60) != draws
    # Published results rest on these draws.
    assert item_rng(0, "a").integers(1000) == 507


@pytest.mark.parametrize(
    ("old_name", "new_name", "arguments"),
    [
        ("of", "from_options", (0.9, 20, 3)),
        ("at_most", "limit_resamples", (5,)),
        ("of_family", "correct_for_tests", (5,)),
        ("parts", "split_into_blocks", (4_000_000, 1_600_000_000)),
    ],
)
def test_earlier_names_of_methods_warn(old_name, new_name, arguments):
    expected = getattr(Resampling(), new_name)(*arguments)

    with pytest.warns(FutureWarning, match="is now") as warnings:
        result = getattr(Resampling(), old_name)(*arguments)

    assert result == expected
    assert warnings[0].filename == __file__

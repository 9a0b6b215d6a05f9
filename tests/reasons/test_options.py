"""The defaults of the question about reasons, and the cost of its answers."""

from types import SimpleNamespace

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.reasons.options import ReasonsOptions


@pytest.mark.parametrize(
    ("options", "n_items", "passes"),
    [
        # Plain, neutral and two arms per kind of hint are 2 + 2 * 2, and a judgment makes 7, of 50
        # passes each; after four cuts and three transplants, there are 7 more: 7 * 50 + 7 = 357.
        ({}, 13, 13 * 357),
        ({}, 199, 199 * 357),
        ({}, 201, 200 * 357),
        ({"items": 20}, 31, 20 * 357),
        # 2 + 2 + 1 = 5 arms: 257; 2 + 6 + 1 = 9 arms: 457.
        ({"hints": ("metadata",)}, 13, 13 * 257),
        ({"hints": ("metadata", "earlier", "professor")}, 13, 13 * 457),
    ],
)
def test_passes_grow_with_items_and_kinds_of_hints(options, n_items, passes):
    context = SimpleNamespace(primary=range(n_items))

    assert ReasonsOptions(**options).passes(context) == passes


def test_defaults_are_two_kinds_of_hints_and_two_hundred_items():
    options = ReasonsOptions()

    assert options.hints == ("colleague", "metadata")
    assert options.target == "wrong"
    assert options.find_item_limit(None) == 200
    assert (options.judge, options.judge_model) == (None, None)


@pytest.mark.parametrize(
    "options", [{"hints": ("boss",)}, {"target": "right"}, {"items": 19}, {"items": 0}]
)
def test_other_values_are_refused(options):
    with pytest.raises(OptionError) as error:
        ReasonsOptions(**options)

    assert error.value.option == tuple(options)


def test_twenty_items_are_enough():
    assert ReasonsOptions(items=20).items == 20

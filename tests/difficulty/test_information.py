"""Pointwise V-information by hand."""

import numpy as np
import pytest

from rightreasons.difficulty.information import v_information


def test_by_hand():
    with_input = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    without = np.array([[0.25, 0.5, 0.25], [0.2, 0.4, 0.4], [0.25, 0.5, 0.25]])
    # log2(.5 / .25), log2(.8 / .4), log2(.25 / .5)
    found = v_information(with_input, without, [0, 1, 1], scores="probabilities")
    assert found.pointwise == pytest.approx([1, 1, -1])
    assert (found.information, found.n_misled, found.n_items) == (pytest.approx(1 / 3), 1, 3)
    # (2 + log2(1 / .4) + 1) / 3 without, and 1/3 less with the input.
    assert found.entropy == pytest.approx((3 + np.log2(2.5)) / 3)
    assert found.entropy - found.conditional_entropy == pytest.approx(found.information)
    logits = v_information(np.log(with_input) + 3, np.log(without) - 1, [0, 1, 1])
    assert logits.pointwise == pytest.approx(found.pointwise)
    assert logits.interval == found.interval or logits.interval.low == pytest.approx(found.interval.low)


def test_one_input_has_no_interval():
    found = v_information([[0.5, 0.5]], [[0.25, 0.75]], [0], scores="probabilities")
    assert (found.information, found.interval) == (pytest.approx(1), None)


def test_the_worked_example_of_the_definition():
    # A model that knows the classes alone, and one that reads: two balanced classes, and certainty.
    found = v_information([[20.0, -20.0], [-20.0, 20.0]], [0.0, 0.0], [0, 1])
    assert found.entropy == 1
    assert found.information == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (([[0.5, 0.5]], [[1.0, 0.0]], [1]), {"scores": "probabilities"}, "that of item 0 is 0"),
        (([[0.5, 0.5]], [[0.2, 0.2, 0.6]], [1]), {}, "as many classes .* 2 and 3"),
        (([[0.5, 0.5]], [0.5, 0.5], [0, 1]), {}, "of one length"),
        (([0.5, 0.5], [0.5, 0.5], [0, 1]), {}, r"`with_input` of shape \(N, K\)"),
        (([[0.5, 0.5]], [0.5, 0.5], [2]), {}, "between 0 and 1"),
    ],
)
def test_bad_input(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        v_information(*arguments, **options)

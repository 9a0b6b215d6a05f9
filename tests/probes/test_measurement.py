"""What decides the verdict on the probes: which test, against what, and what the items leave open."""

from types import SimpleNamespace

import pytest

from rightreasons.core.intervals import wilson
from rightreasons.probes.bias import PseudoCorrect
from rightreasons.probes.measure import ProbeFigures
from rightreasons.probes.measurement import ProbesMeasurement
from rightreasons.probes.paralysis import Drop


def answers(*, level=0.95, drop=None, **tests):
    """Probe -> the rate of old answers of 50 items where chance gives 0.4, and its p-value; and a restricted drop."""
    known = {
        name: None if test is None else PseudoCorrect(test[0], 0.4, test[1], "binomial", 0.0, None)
        for name, test in tests.items()
    }
    intervals = {name: wilson(round(test[0] * 50), 50) for name, test in tests.items() if test is not None}
    figures = ProbeFigures(
        n_items=50, accuracy=0.5, accuracy_interval=None, original=None,
        prior_bias={name: SimpleNamespace(pseudo_correct=test) for name, test in known.items()},
        pseudo_correct_intervals=intervals, paralysis={1: None, 4: SimpleNamespace(restricted_drop=drop)},
        position_bias=None, choices_only=None,
    )  # fmt: skip
    context = SimpleNamespace(resampling=SimpleNamespace(level=level))
    return ProbesMeasurement(context, range(50), scored=figures, joint=drop is not None)


def test_the_clearest_probe_above_chance_decides():
    both = {"no_question": (0.44, 0.6), "wrong_question": (0.6, 0.01)}
    assert answers(**both).probe == "wrong_question"
    assert answers(**both).knows_unasked
    assert not answers(**both, level=0.985).knows_unasked  # two probes: 0.01 against 0.0075
    # Far below chance is no knowledge, however small the p-value.
    below = answers(no_question=(0.1, 1e-5), wrong_question=(0.44, 0.6))
    assert below.probe == "wrong_question"
    assert not below.knows_unasked
    assert answers(no_question=None, wrong_question=None).old_answer is None


@pytest.mark.parametrize(("rate", "is_open"), [(0.44, True), (0.3, False)])
def test_a_rate_far_above_chance_is_ruled_out(rate, is_open):
    # Wilson of 22 of 50 ends at 0.577, of 15 of 50 at 0.438, of 5 of 50 at 0.214; chance and the margin are 0.5.
    measured = answers(no_question=(0.1, 1e-5), wrong_question=(rate, 0.6))
    assert measured.open_questions == ["unasked"] * is_open


@pytest.mark.parametrize(
    ("ends", "p_value", "is_paralyzed", "is_open"),
    [
        ((0.03, 0.09), 0.01, True, True),
        ((0.03, 0.09), 0.06, False, True),
        # A loss of less than two points is none worth a verdict, be it significant or not.
        ((0.01, 0.09), 0.01, False, True),
        ((0.001, 0.015), 0.01, False, False),
    ],
)
def test_a_drop_beyond_dilution(ends, p_value, is_paralyzed, is_open):
    drop = Drop(sum(ends) / 2, p_value, None, SimpleNamespace(low=ends[0], high=ends[1]))
    measured = answers(no_question=(0.2, 0.01), wrong_question=(0.2, 0.01), drop=drop)
    assert measured.is_paralyzed == is_paralyzed
    assert measured.open_questions == ["paralysis"] * is_open

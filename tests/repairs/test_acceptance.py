"""Conditions of acceptance at their bounds, and the decisions that follow from them."""

from __future__ import annotations

import types

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate
from rightreasons.repairs.acceptance import (
    MAX_ACCURACY_LOSS,
    MIN_ITEMS,
    describe_failed_condition,
    find_failed,
    get_failed_name,
    list_condition_rows,
    require_above,
    require_at_least,
    require_at_most,
    require_below,
)
from rightreasons.repairs.loops import (
    MAX_AUROC_LOSS,
    MAX_INCORRECT,
    MAX_INCORRECT_HIGH,
    MIN_ERROR,
    Loop,
    _list_recalibration_criteria,
    check_enough_items,
    judge_labels,
)


@pytest.mark.parametrize(
    ("require", "value", "is_met"),
    [
        (require_at_least, 0.5, True),
        # A value that equals its bound but for rounding meets it.
        (require_at_least, 0.5 - 1e-12, True),
        (require_at_least, 0.5 - 1e-6, False),
        (require_at_most, 0.5, True),
        (require_at_most, 0.5 + 1e-12, True),
        (require_at_most, 0.5 + 1e-6, False),
        (require_below, 0.5, False),
        (require_below, 0.49, True),
        (require_above, 0.5, False),
        (require_above, 0.51, True),
    ],
)
def test_a_value_is_compared_with_its_bound(require, value, is_met):
    assert require("x", value, 0.5).is_met is is_met


def test_the_first_failed_condition_is_described():
    met = require_at_least("a", 0.5, 0.5)
    failed = [require_at_least("b", 0.25, 0.5), require_at_most("c", 0.75, 0.5)]
    names = {"a": "first, at least", "b": "second, at least", "c": "third, at most"}

    assert find_failed([met]) is None
    assert get_failed_name([met]) == ""
    assert describe_failed_condition([met], names) == ""
    assert get_failed_name([met, *failed]) == "b"
    sentence = describe_failed_condition([met, *failed], names)
    assert sentence == "second, at least 50.0% (measured: 25.0%)"
    rows = list(list_condition_rows([met, failed[0]], names))
    assert rows == [
        ("first, at least", 0.5, 0.5, "met"),
        ("second, at least", 0.25, 0.5, "not met"),
    ]


@pytest.mark.parametrize(
    ("outcomes", "accepted"),
    [((True, True), True), ((True, False), False), ((False, True), None), ((False, False), None)],
)
def test_without_a_problem_there_is_no_decision(outcomes, accepted):
    criteria = tuple(require_at_least("x", float(outcome), 1.0) for outcome in outcomes)

    loop = Loop("labels", "x", "data", "classification", "none", 100, (), criteria)

    assert loop.accepted is accepted


def test_a_hundred_items_judge_a_correction():
    check_enough_items(MIN_ITEMS, "file")
    with pytest.raises(OptionError) as error:
        check_enough_items(MIN_ITEMS - 1, "file")
    assert error.value.option == ("file",)


def list_met(*, low=MIN_ERROR, high=-0.01, accuracy=0.0, aurocs=(0.75, 0.75), has_interval=True):
    """Return the names of the conditions of a recalibration that are met."""
    interval = types.SimpleNamespace(high=high) if has_interval else None
    report = types.SimpleNamespace(
        tests={
            "ece": types.SimpleNamespace(interval=interval),
            "accuracy": types.SimpleNamespace(difference=accuracy),
        }
    )
    figures = []
    for auroc in aurocs:
        figure = {"ece": Estimate(0.2, low, 0.5)}
        if auroc is not None:
            figure["auroc"] = Estimate(auroc)
        figures.append(figure)
    criteria = _list_recalibration_criteria(report, *figures)
    return [criterion.name for criterion in criteria if criterion.is_met]


def test_a_recalibration_must_cost_nothing():
    everything = ["error", "error_change", "accuracy", "auroc"]
    assert list_met() == everything
    assert list_met(accuracy=-MAX_ACCURACY_LOSS) == everything
    assert list_met(aurocs=(0.75, 0.75 - MAX_AUROC_LOSS)) == everything
    assert list_met(low=MIN_ERROR - 0.001) == everything[1:]
    assert list_met(high=0.0) == ["error", "accuracy", "auroc"]
    assert list_met(has_interval=False) == ["error", "accuracy", "auroc"]
    assert list_met(accuracy=-MAX_ACCURACY_LOSS - 0.001) == ["error", "error_change", "auroc"]
    assert list_met(aurocs=(0.75, 0.74 - MAX_AUROC_LOSS)) == everything[:3]
    # The AUROC is undefined if all predictions are correct.
    for aurocs in ((None, 0.75), (0.75, None), (None, None)):
        assert list_met(aurocs=aurocs) == everything[:3]


def make_review(**changes):
    fields = {
        "n_items": 200,
        "n_reviewed": 1200,
        "incorrect": Estimate(0.3, MIN_ERROR, 0.5),
        "remaining": Estimate(MAX_INCORRECT, 0.0, MAX_INCORRECT_HIGH),
        "accuracy": Estimate(0.75),
        "accuracy_change": Estimate(0.125),
    }
    return types.SimpleNamespace(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({}, True),
        ({"incorrect": Estimate(0.3, MIN_ERROR - 0.001, 0.5)}, None),
        ({"remaining": Estimate(MAX_INCORRECT + 0.001, 0.0, MAX_INCORRECT_HIGH)}, False),
        ({"remaining": Estimate(MAX_INCORRECT, 0.0, MAX_INCORRECT_HIGH + 0.001)}, False),
        # Without an interval, the value is its end.
        ({"remaining": Estimate(MAX_INCORRECT)}, True),
    ],
)
def test_reviewed_labels_leave_few_incorrect_ones(changes, accepted):
    loop = judge_labels(make_review(**changes), data="reviews", model="model-x")

    assert loop.accepted is accepted
    assert loop.correction == "1,200 reviewed labels"
    # 0.75 + 0.125
    assert loop.changes[1].corrected.value == 0.875


def test_a_review_needs_disputed_labels_and_controls():
    for name in ("incorrect", "remaining"):
        with pytest.raises(OptionError) as error:
            judge_labels(make_review(**{name: None}), data="reviews", model="model-x")
        assert error.value.option == ("sheet",)
    loop = judge_labels(make_review(accuracy_change=None), data="reviews", model="model-x")
    assert len(loop.changes) == 1

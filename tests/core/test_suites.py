"""Expectations of a suite: known names and parameters pass, and others end in one sentence."""

import inspect

import numpy as np
import pytest

from rightreasons.behavior.expectations import EXPECTATIONS as FUNCTIONS
from rightreasons.behavior.expectations import NORMALIZERS
from rightreasons.core.suites import (
    EXPECTATIONS,
    NORMALIZATIONS,
    TOLERANCE,
    Expectation,
    SuiteTable,
    check_expectation,
    get_expectation_parameters,
    is_original_first,
)


@pytest.mark.parametrize(("name", "function"), FUNCTIONS.items())
def test_the_fields_of_an_expectation_are_the_parameters_of_its_function(name, function):
    # The first parameter takes the answers.
    parameters = list(inspect.signature(function).parameters.values())[1:]
    expected = {}
    for parameter in parameters:
        is_required = parameter.default is parameter.empty
        expected[parameter.name] = (is_required, None if is_required else parameter.default)

    fields = {}
    for key, field in EXPECTATIONS[name].model_fields.items():
        if key not in Expectation.model_fields:
            is_required = field.is_required()
            fields[key] = (is_required, None if is_required else field.default)

    assert fields == expected


def test_expectations_and_normalizations_are_those_of_the_kernel():
    assert EXPECTATIONS.keys() == FUNCTIONS.keys()
    assert tuple(NORMALIZERS) == NORMALIZATIONS


def test_a_change_of_a_tenth_is_ignored_unless_the_suite_says_otherwise():
    assert TOLERANCE == 0.1


def test_null_counts_as_missing():
    spec = {"name": "invariant", "tolerance": None, "skip_first": None, "where_first": None}

    check_expectation(spec)

    assert get_expectation_parameters(spec) == {}
    assert is_original_first(spec)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"name": "invariant"}, True),
        ({"name": "monotonic"}, True),
        ({"name": "sentiment_shift"}, True),
        ({"name": "equal"}, False),
        ({"name": "invariant", "skip_first": False}, False),
        ({"name": "equal", "skip_first": True}, True),
    ],
)
def test_pairwise_expectations_begin_with_the_original_unless_the_suite_says_otherwise(
    spec, expected
):
    assert is_original_first(spec) is expected


def test_the_parameters_do_not_contain_the_common_fields():
    spec = {"name": "equal", "value": 0, "where_first": {"is": [0]}, "skip_first": True}

    assert get_expectation_parameters(spec) == {"value": 0}


@pytest.mark.parametrize("tolerance", [0, 0.0, 0.5, 2])
def test_a_tolerance_is_any_number_from_zero(tolerance):
    check_expectation({"name": "monotonic", "increasing": False, "tolerance": tolerance})


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "equal", "where_first": {"is": [0]}, "skip_first": True, "clean": "squad"},
        {"name": "equal", "where_first": {"not": [0, 1]}, "value": "yes"},
        {"name": "monotonic", "increasing": True, "label": 0},
    ],
)
def test_valid_expectations_pass(spec):
    check_expectation(spec)


@pytest.mark.parametrize(
    ("spec", "error_type", "words"),
    [
        ({"name": "equals"}, ValueError, "Did you mean 'equal'"),
        ({"name": ["equal"]}, ValueError, "name of an expectation"),
        ("equal", TypeError, "got 'equal'"),
        ({"name": "not_equal"}, ValueError, "`value`.* field required"),
        ({"name": "monotonic"}, ValueError, "`increasing`.* field required"),
        ({"name": "invariant", "tolerence": 0.1}, ValueError, "Did you mean 'tolerance'"),
        ({"name": "equal", "value": 0.5}, ValueError, "`value` .* got 0.5"),
        ({"name": "equal", "value": True}, ValueError, "`value` .* got True"),
        ({"name": "monotonic", "increasing": True, "label": "x"}, ValueError, "`label` .* 'x'"),
        ({"name": "monotonic", "increasing": True, "label": -1}, ValueError, "`label` .* -1"),
        ({"name": "monotonic", "increasing": 1}, ValueError, "`increasing` .* got 1"),
        ({"name": "invariant", "tolerance": "wide"}, ValueError, "`tolerance` .* 'wide'"),
        ({"name": "invariant", "tolerance": -0.1}, ValueError, "`tolerance` .* -0.1"),
        ({"name": "invariant", "tolerance": float("nan")}, ValueError, "`tolerance` .* nan"),
        ({"name": "invariant", "tolerance": float("inf")}, ValueError, "`tolerance` .* inf"),
        ({"name": "equal", "clean": "articles"}, ValueError, "`clean` .* 'article'"),
        ({"name": "equal", "skip_first": 1}, ValueError, "`skip_first` .* got 1"),
        ({"name": "equal", "where_first": 1}, ValueError, "`where_first`"),
        ({"name": "equal", "where_first": {}}, ValueError, "`where_first`"),
        ({"name": "equal", "where_first": {"is": []}}, ValueError, "`where_first`"),
        ({"name": "equal", "where_first": {"are": [1]}}, ValueError, "`where_first`"),
        ({"name": "equal", "where_first": {"is": ["x"]}}, ValueError, "`where_first`"),
        (
            {"name": "equal", "where_first": {"is": [0], "not": [1]}},
            ValueError,
            "`where_first`",
        ),
    ],
)
def test_an_invalid_expectation_is_refused(spec, error_type, words):
    with pytest.raises(error_type, match=words):
        check_expectation(spec)


def test_the_first_mistake_is_told_in_lower_case():
    with pytest.raises(ValueError, match="Expected a valid") as caught:
        check_expectation({"name": "monotonic", "label": -1})

    assert str(caught.value) == (
        "Expected a valid `increasing` of the expectation 'monotonic', but got None: "
        "field required."
    )


def make_table(labels, expectation=None):
    """Return a suite of three cases with 2, 1 and 4 examples."""
    return SuiteTable(
        functionalities=("negation",),
        classes=("logic",),
        test_types=("MFT",),
        expectations=(expectation or {"name": "equal"},),
        case_ids=("a", "b", "c"),
        case_functionality=np.zeros(3, int),
        case_offsets=np.array([0, 2, 3, 7]),
        labels=labels,
    )


def test_a_table_is_as_long_as_its_examples():
    assert len(make_table((1,) * 7)) == 7


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((0, 3, 1), 3),
        ((None, np.int64(7), 2), 7),
        ((None, "yes"), -1),
        ((-1, None), -1),
        ((0, None), 0),
    ],
)
def test_the_largest_label_is_that_of_the_numbers(labels, expected):
    largest = make_table(labels).max_label

    assert largest == expected
    assert type(largest) is int


def test_a_suite_asks_for_texts_by_its_labels_or_by_its_expectation():
    assert make_table((None, "yes")).asks_for_texts
    assert make_table((None,), {"name": "equal", "value": "yes"}).asks_for_texts
    assert not make_table((None, 1), {"name": "equal", "value": 1}).asks_for_texts

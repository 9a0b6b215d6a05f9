"""How a suite says what it expects: known names and parameters pass, others get a sentence, and the table is true."""

import inspect

import numpy as np
import pytest

from rightreasons.behavior.expectations import EXPECTATIONS, NORMALIZERS
from rightreasons.core.suites import (
    EXPECTATIONS as SAID,
)
from rightreasons.core.suites import (
    NORMALIZATIONS,
    Expectation,
    SuiteTable,
    check_expectation,
    get_expectation_parameters,
    is_original_first,
)


def test_the_table_says_what_the_functions_take():
    assert SAID.keys() == EXPECTATIONS.keys()
    for name, function in EXPECTATIONS.items():
        taken = list(inspect.signature(function).parameters.values())[1:]
        assert {
            one.name: (one.default is one.empty, None if one.default is one.empty else one.default)
            for one in taken
        } == {
            key: (field.is_required(), None if field.is_required() else field.default)
            for key, field in SAID[name].model_fields.items()
            if key not in Expectation.model_fields
        }


def test_the_normalizations_are_those_of_the_kernel():
    assert tuple(NORMALIZERS) == NORMALIZATIONS


def test_null_is_the_same_as_nothing():
    spec = {"name": "invariant", "tolerance": None, "skip_first": None, "where_first": None}
    check_expectation(spec)
    assert get_expectation_parameters(spec) == {}
    assert is_original_first(spec)
    assert not is_original_first({"name": "invariant", "skip_first": False})


def test_a_table_is_as_long_as_its_examples():
    # Three cases of 2, 1 and 4 examples.
    names = {"functionalities": ("negation",), "classes": ("logic",), "test_types": ("MFT",)}
    cases = {
        "case_ids": ("a", "b", "c"),
        "case_functionality": np.zeros(3, int),
        "case_offsets": np.array([0, 2, 3, 7]),
    }
    assert (
        len(SuiteTable(**names, expectations=({"name": "equal"},), **cases, labels=(1,) * 7)) == 7
    )


@pytest.mark.parametrize("tolerance", [0, 0.0, 0.5, 2])
def test_tolerances(tolerance):
    check_expectation({"name": "monotonic", "increasing": False, "tolerance": tolerance})


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ({"name": "equals"}, ValueError, "Did you mean 'equal'"),
        ({"name": ["equal"]}, ValueError, "expectation"),
        ("equal", TypeError, "like .* but got 'equal'"),
        (
            {"name": "not_equal"},
            ValueError,
            "`value` of the expectation 'not_equal'.* field required",
        ),
        (
            {"name": "monotonic"},
            ValueError,
            "`increasing` of the expectation 'monotonic'.* field required",
        ),
        ({"name": "invariant", "tolerence": 0.1}, ValueError, "Did you mean 'tolerance'"),
        (
            {"name": "equal", "value": 0.5},
            ValueError,
            "`value` .* got 0.5: input should be a valid integer",
        ),
        (
            {"name": "equal", "value": True},
            ValueError,
            "`value` .* got True: input should be a valid integer",
        ),
        (
            {"name": "monotonic", "increasing": True, "label": "x"},
            ValueError,
            "`label` .* got 'x': input should be",
        ),
        (
            {"name": "monotonic", "increasing": True, "label": -1},
            ValueError,
            "`label` .* got -1: input should be greater",
        ),
        ({"name": "equal", "where_first": {"is": []}}, ValueError, "`where_first` .* got "),
        (
            {"name": "monotonic", "increasing": 1},
            ValueError,
            "`increasing` .* got 1: input should be a valid boolean",
        ),
        (
            {"name": "invariant", "tolerance": "wide"},
            ValueError,
            "`tolerance` .* got 'wide': input should be",
        ),
        (
            {"name": "invariant", "tolerance": -0.1},
            ValueError,
            "`tolerance` .* got -0.1: input should be greater",
        ),
        (
            {"name": "invariant", "tolerance": float("nan")},
            ValueError,
            "`tolerance` .* got nan: input should be",
        ),
        ({"name": "equal", "clean": "articles"}, ValueError, "`clean` .* 'article' or 'squad'"),
        (
            {"name": "equal", "skip_first": 1},
            ValueError,
            "`skip_first` .* got 1: input should be a valid boolean",
        ),
        ({"name": "equal", "where_first": 1}, ValueError, "`where_first` .* got "),
        ({"name": "equal", "where_first": {"are": [1]}}, ValueError, "`where_first` .* got "),
        ({"name": "equal", "where_first": {"is": ["x"]}}, ValueError, "`where_first` .* got "),
    ],
)
def test_bad_expectations(spec, error, sentence):
    with pytest.raises(error, match=sentence):
        check_expectation(spec)

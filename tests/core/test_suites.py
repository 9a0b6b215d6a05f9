"""How a suite says what it expects: known names and parameters pass, others get a sentence, and the table is true."""

import inspect

import numpy as np
import pytest

from rightreasons.behavior.expectations import EXPECTATIONS, NORMALIZERS
from rightreasons.core.suites import (
    EXPECTATION_PARAMETERS,
    NORMALIZATIONS,
    SuiteTable,
    check_expectation,
    expectation_parameters,
    skips_first,
)


def test_the_table_says_what_the_functions_take():
    assert EXPECTATION_PARAMETERS.keys() == EXPECTATIONS.keys()
    for name, function in EXPECTATIONS.items():
        taken = list(inspect.signature(function).parameters.values())[1:]
        assert {
            one.name: (one.default is one.empty, None if one.default is one.empty else one.default) for one in taken
        } == {key: (parameter.required, parameter.default) for key, parameter in EXPECTATION_PARAMETERS[name].items()}


def test_the_normalizations_are_those_of_the_kernel():
    assert tuple(NORMALIZERS) == NORMALIZATIONS


def test_null_is_the_same_as_nothing():
    spec = {"name": "invariant", "tolerance": None, "skip_first": None, "where_first": None}
    check_expectation(spec)
    assert expectation_parameters(spec) == {}
    assert skips_first(spec)
    assert not skips_first({"name": "invariant", "skip_first": False})


def test_a_table_is_as_long_as_its_examples():
    # Three cases of 2, 1 and 4 examples.
    names = {"functionalities": ("negation",), "classes": ("logic",), "test_types": ("MFT",)}
    cases = {
        "case_ids": ("a", "b", "c"),
        "case_functionality": np.zeros(3, int),
        "case_offsets": np.array([0, 2, 3, 7]),
    }
    assert len(SuiteTable(**names, expectations=({"name": "equal"},), **cases, labels=(1,) * 7)) == 7


@pytest.mark.parametrize("tolerance", [0, 0.0, 0.5, 2])
def test_tolerances(tolerance):
    check_expectation({"name": "monotonic", "increasing": False, "tolerance": tolerance})


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ({"name": "equals"}, ValueError, "Did you mean 'equal'"),
        ({"name": ["equal"]}, ValueError, "expectation"),
        ("equal", TypeError, "like .* but got 'equal'"),
        ({"name": "not_equal"}, ValueError, "'not_equal' to say `value`"),
        ({"name": "monotonic"}, ValueError, "'monotonic' to say `increasing`"),
        ({"name": "invariant", "tolerence": 0.1}, ValueError, "Did you mean 'tolerance'"),
        ({"name": "equal", "value": 0.5}, TypeError, "`value` .* a whole number or a text, but got 0.5"),
        ({"name": "equal", "value": True}, TypeError, "`value` .* a whole number or a text, but got True"),
        ({"name": "monotonic", "increasing": True, "label": "x"}, TypeError, "`label` .* whole number from 0 up"),
        ({"name": "monotonic", "increasing": True, "label": -1}, ValueError, "`label` .* from 0 up, but got -1"),
        ({"name": "equal", "where_first": {"is": []}}, ValueError, "`where_first` .* labels"),
        ({"name": "monotonic", "increasing": 1}, TypeError, "`increasing` .* true or false, but got 1"),
        ({"name": "invariant", "tolerance": "wide"}, TypeError, "`tolerance` .* from 0 up, but got 'wide'"),
        ({"name": "invariant", "tolerance": -0.1}, ValueError, "`tolerance` .* from 0 up, but got -0.1"),
        ({"name": "invariant", "tolerance": float("nan")}, ValueError, "`tolerance` .* from 0 up, but got nan"),
        ({"name": "equal", "clean": "articles"}, ValueError, "`clean` .* article or squad, but got 'articles'"),
        ({"name": "equal", "skip_first": 1}, TypeError, "`skip_first` .* true or false, but got 1"),
        ({"name": "equal", "where_first": 1}, ValueError, "`where_first` .* labels"),
        ({"name": "equal", "where_first": {"are": [1]}}, ValueError, "`where_first` .* labels"),
        ({"name": "equal", "where_first": {"is": ["x"]}}, ValueError, "`where_first` .* labels"),
    ],
)
def test_bad_expectations(spec, error, sentence):
    with pytest.raises(error, match=sentence):
        check_expectation(spec)

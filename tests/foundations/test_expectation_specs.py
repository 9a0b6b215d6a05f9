"""How a suite says what it expects: known names and parameters pass, others get a sentence, and the table is true."""

import inspect

import pytest

from rightreasons.analysis.behavior.expectations import EXPECTATIONS
from rightreasons.foundations.expectation_specs import (
    EXPECTATION_PARAMETERS,
    check_expectation,
    expectation_parameters,
    skips_first,
)


def test_the_table_says_what_the_functions_take():
    assert EXPECTATION_PARAMETERS.keys() == EXPECTATIONS.keys()
    for name, function in EXPECTATIONS.items():
        taken = list(inspect.signature(function).parameters.values())[1:]
        assert {one.name: one.default is one.empty for one in taken} == {
            key: parameter.required for key, parameter in EXPECTATION_PARAMETERS[name].items()
        }


def test_null_is_the_same_as_nothing():
    spec = {"name": "invariant", "tolerance": None, "skip_first": None, "where_first": None}
    check_expectation(spec)
    assert expectation_parameters(spec) == {}
    assert skips_first(spec)
    assert not skips_first({"name": "invariant", "skip_first": False})


@pytest.mark.parametrize("tolerance", [0, 0.0, 0.5, 2])
def test_tolerances(tolerance):
    check_expectation({"name": "monotonic", "increasing": False, "tolerance": tolerance})


@pytest.mark.parametrize(
    ("spec", "error", "sentence"),
    [
        ({"name": "equals"}, ValueError, "Did you mean 'equal'"),
        ({"name": ["equal"]}, ValueError, "expectation"),
        ({"name": "not_equal"}, ValueError, "'not_equal' to say `value`"),
        ({"name": "monotonic"}, ValueError, "'monotonic' to say `increasing`"),
        ({"name": "invariant", "tolerence": 0.1}, ValueError, "Did you mean 'tolerance'"),
        ({"name": "equal", "value": "positive"}, TypeError, "`value` .* a whole number, but got 'positive'"),
        ({"name": "equal", "value": True}, TypeError, "`value` .* a whole number, but got True"),
        ({"name": "monotonic", "increasing": 1}, TypeError, "`increasing` .* true or false, but got 1"),
        ({"name": "invariant", "tolerance": "wide"}, TypeError, "`tolerance` .* from 0 up, but got 'wide'"),
        ({"name": "invariant", "tolerance": -0.1}, ValueError, "`tolerance` .* from 0 up, but got -0.1"),
        ({"name": "invariant", "tolerance": float("nan")}, ValueError, "`tolerance` .* from 0 up, but got nan"),
        ({"name": "equal", "clean": "articles"}, ValueError, "`clean` .* none or article, but got 'articles'"),
        ({"name": "equal", "skip_first": 1}, TypeError, "`skip_first` .* true or false, but got 1"),
        ({"name": "equal", "where_first": 1}, ValueError, "`where_first` .* labels"),
        ({"name": "equal", "where_first": {"are": [1]}}, ValueError, "`where_first` .* labels"),
        ({"name": "equal", "where_first": {"is": ["x"]}}, ValueError, "`where_first` .* labels"),
        ({"name": "equal", "where_first": {"is": []}}, ValueError, "`where_first` .* labels"),
    ],
)
def test_bad_expectations(spec, error, sentence):
    with pytest.raises(error, match=sentence):
        check_expectation(spec)

"""Inputs of a module by their declared types."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.evaluate_module.columns import (
    DeclaredType,
    Form,
    concatenate_columns,
    find_form,
    parse_column,
    read_declared_type,
)

SCORES = DeclaredType(has_rows=True, dtype="float64")
TOKENS = DeclaredType(has_rows=True, dtype="string")
RUNS = DeclaredType(has_rows=True, dtype="int64")
LABELS = DeclaredType(has_rows=False, dtype="int64")
TEXTS = DeclaredType(has_rows=False, dtype="string")
FLAGS = DeclaredType(has_rows=False, dtype="bool")
NUMBERS = DeclaredType(has_rows=False, dtype="float64")


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (np.zeros(3), Form(False, False)),
        (np.zeros((3, 2)), Form(True, False)),
        ([1, 2], Form(False, False)),
        (["a"], Form(False, True)),
        ([["a"]], Form(True, True)),
        ([[], ["a"]], Form(True, True)),
        ([[], []], Form(True, False)),
        ([[1]], Form(True, False)),
    ],
)
def test_the_form_of_a_column_is_that_of_its_first_value(values, form):
    assert find_form(values) == form


def test_forms_are_described():
    assert Form(True, True).describe() == "rows of texts"
    assert SCORES.form == Form(True, False)
    assert TEXTS.form == Form(False, True)


def test_a_feature_declares_rows_or_values():
    assert read_declared_type(datasets.Value("int64")) == LABELS
    assert read_declared_type(datasets.List(datasets.Value("float64"))) == SCORES


@pytest.mark.parametrize(
    ("values", "types", "parsed", "dtype"),
    [
        ([1, 2], [LABELS], [1, 2], "int64"),
        (np.array([1, 2], dtype=np.int32), [LABELS], [1, 2], "int64"),
        ([0.5, 1.5], [NUMBERS], [0.5, 1.5], "float64"),
        # Whole numbers may be predicted classes.
        ([1, 2], [NUMBERS], [1, 2], "int64"),
        ([[0.5, 0.25], [1.0, 2.0]], [LABELS, SCORES], [[0.5, 0.25], [1.0, 2.0]], "float64"),
        (np.array([[0.5, 0.25]], dtype=np.float32), [SCORES], [[0.5, 0.25]], "float32"),
        ([[0.5], [1.0, 2.0]], [SCORES], [[0.5], [1.0, 2.0]], None),
        ([["a"], ["b", "c"]], [SCORES, TOKENS], [["a"], ["b", "c"]], None),
        ([[1], [2, 3]], [RUNS], [[1], [2, 3]], None),
        (np.array([[1, 2]], dtype=np.int8), [RUNS], [[1, 2]], "int64"),
        (["a", ""], [LABELS, TEXTS], ["a", ""], None),
        ([True, False], [LABELS, FLAGS], [True, False], "bool"),
        ([1, 0], [FLAGS, LABELS], None, "int64"),
    ],
)
def test_values_are_parsed_by_the_type_that_fits(values, types, parsed, dtype):
    if parsed is None:
        # The first type without texts is used.
        assert parse_column(values, types, "x").tolist() == [True, False]
        return
    result = parse_column(values, types, "x")

    assert np.asarray(result, dtype=object).tolist() == parsed or result == parsed
    if dtype is not None:
        assert result.dtype == dtype


@pytest.mark.parametrize(
    ("values", "types", "word"),
    [
        ([1, 2], [SCORES], "rows of numbers"),
        (np.zeros((2, 2)), [LABELS], "shape"),
        ([[1]], [TEXTS], "texts"),
        ([0.5], [LABELS], "x"),
    ],
)
def test_values_of_another_form_are_refused(values, types, word):
    with pytest.raises((TypeError, ValueError), match=word):
        parse_column(values, types, "x")


def test_batches_are_joined():
    one = np.ones((2, 3))
    other = np.zeros((1, 3))

    assert concatenate_columns([one]) is one
    assert concatenate_columns([one, other]).shape == (3, 3)
    ragged = concatenate_columns([one, np.zeros((1, 2))])
    assert ragged == [[1.0] * 3, [1.0] * 3, [0.0] * 2]
    assert concatenate_columns([["a"], ["b"]]) == ["a", "b"]

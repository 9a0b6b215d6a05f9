"""Names of classes of the inputs of a module, and labels that are matched with them."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rightreasons.evaluate_module.class_names import (
    ClassColumn,
    ClassNames,
    find_class_names,
    match_classes,
    read_label_names,
)
from rightreasons.evaluate_module.columns import DeclaredType

NUMBERS = DeclaredType(has_rows=False, dtype="int64")
TEXTS = DeclaredType(has_rows=False, dtype="string")
SCORES = DeclaredType(has_rows=True, dtype="float64")


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        (["no", "yes"], [NUMBERS], True),
        ([0, 1], [NUMBERS], False),
        ([["no"]], [NUMBERS], False),
        # Texts that the input declares are no classes.
        (["no", "yes"], [NUMBERS, TEXTS], False),
    ],
)
def test_words_stand_for_numbers_unless_texts_are_declared(values, declared, expected):
    column = ClassColumn("references", values, declared)

    assert column.has_words is expected
    assert column.takes_numbers
    assert not ClassColumn("predictions", values, [SCORES]).takes_numbers


def test_a_class_label_has_names():
    feature = types.SimpleNamespace(names=["no", "yes"])

    assert read_label_names(types.SimpleNamespace(features=feature)) == ("no", "yes")
    other = types.SimpleNamespace(names=[0, 1])
    assert read_label_names(types.SimpleNamespace(features=other)) == ()
    assert read_label_names([0, 1]) == ()


def test_a_class_label_precedes_the_columns_of_a_table():
    table = ClassColumn("predictions", None, [SCORES], table_names=("yes", "no"))
    label = ClassColumn("references", None, [NUMBERS], label_names=("no", "yes"))

    assert find_class_names([table, label]) == ClassNames(
        ("no", "yes"), "the ClassLabel of `references`"
    )
    assert find_class_names([table]) == ClassNames(("yes", "no"), "the columns of `predictions`")
    assert find_class_names([ClassColumn("x", [1], [NUMBERS])]) is None


def test_tables_and_labels_number_the_classes_in_one_way():
    table = ClassColumn(
        "predictions", np.array([[0.75, 0.25]]), [SCORES], table_names=("yes", "no")
    )
    words = ClassColumn("references", ["yes"], [NUMBERS])
    label = ClassColumn("gold", np.array([0]), [NUMBERS], label_names=("yes", "no"))

    match_classes([table, words, label], ClassNames(("no", "yes"), "`label_names`"))

    assert table.values.tolist() == [[0.25, 0.75]]
    assert list(words.values) == [1]
    assert list(label.values) == [1]


def test_numbers_that_are_headings_are_looked_up():
    # The columns of the table are in the order "1", "0".
    table = ClassColumn("predictions", np.array([[0.75, 0.25]]), [SCORES], table_names=("1", "0"))
    labels = ClassColumn("references", [1, 0], [NUMBERS])

    match_classes([table, labels], find_class_names([table, labels]))

    assert table.values.tolist() == [[0.75, 0.25]]
    assert list(labels.values) == [0, 1]

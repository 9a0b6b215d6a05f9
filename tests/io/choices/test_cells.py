"""Prompts and choices in the cells of a table."""

from __future__ import annotations

import json

import datasets
import pytest

from rightreasons.io.choices.cells import read_choices, read_prompts
from rightreasons.io.choices.forms import ChoiceForm


def read(cells_by_column):
    """Return the choices of each row, from columns of choices."""
    data = datasets.Dataset.from_dict(cells_by_column)
    form = ChoiceForm(prompt=("q",), choices=tuple(cells_by_column), label=None)
    return [tuple(choices) for choices in read_choices(data, form, "the data")]


@pytest.mark.parametrize(
    ("cell", "texts", "marks"),
    [
        (["Yes", " No "], ["Yes", "No"], []),
        ('["Yes", "No"]', ["Yes", "No"], []),
        ([{"text": "Yes", "label": "x"}, {"text": "No", "label": "y"}], ["Yes", "No"], ["x", "y"]),
        ({"text": ["Yes", "No"], "label": ["1", "2"]}, ["Yes", "No"], ["1", "2"]),
        ({"text": ["Yes", "No"]}, ["Yes", "No"], []),
        ({"B": "No", "A": "Yes"}, ["Yes", "No"], ["A", "B"]),
        ({"A": "Yes", "B": "No", "C": None}, ["Yes", "No"], ["A", "B"]),
        # Letters in order are removed; others belong to the texts.
        (["A) Yes", "(B) No"], ["Yes", "No"], []),
        (["B) Yes", "A) No"], ["B) Yes", "A) No"], []),
        (["A) Yes", "No"], ["A) Yes", "No"], []),
        (["A) Yes", "No", "C: Maybe"], ["A) Yes", "No", "C: Maybe"], []),
    ],
)
def test_choices_of_a_cell(cell, texts, marks):
    assert read({"c": [cell]}) == [(texts, marks)]


def test_choices_beyond_the_alphabet_have_no_letters():
    texts = [f"{letter}) word" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]

    ((unlettered, _),) = read({"c": [texts]})
    ((longer, _),) = read({"c": [[*texts, "A) word"]]})

    assert unlettered == ["word"] * 26
    assert longer == [*texts, "A) word"]


def test_empty_columns_at_the_end_are_no_choices():
    columns = {"a": ["x", "x"], "b": ["y", "y"], "c": ["z", None], "d": ["w", ""]}

    assert read(columns) == [(["x", "y", "z", "w"], []), (["x", "y"], [])]


@pytest.mark.parametrize(
    ("cells", "error_type", "word"),
    [
        (["Yes"], ValueError, "row 1 has 1"),
        ("Yes", TypeError, "row 1 holds 'Yes'"),
        ([1, 2], TypeError, "row 1"),
        ([{"text": "Yes"}, None], TypeError, "row 1"),
        ({"other": ["Yes", "No"]}, TypeError, "row 1"),
        ({"AB": "Yes", "C": "No"}, TypeError, "row 1"),
    ],
)
def test_other_cells_are_refused_with_their_row(cells, error_type, word):
    if not isinstance(cells, str):
        cells = json.dumps(cells)

    with pytest.raises(error_type, match=word):
        read({"c": ['["Yes", "No"]', cells]})


def test_an_empty_column_between_choices_is_refused():
    with pytest.raises(TypeError, match="row 0"):
        read({"a": ["x"], "b": [None], "c": ["z"]})


def test_a_prompt_joins_the_parts_that_a_row_has():
    data = datasets.Dataset.from_dict({"p": [" A passage. ", None, " "], "q": ["Why?"] * 3})
    form = ChoiceForm(prompt=("p", "q"), choices=("c",), label=None)

    assert read_prompts(data, form, "the data") == ["A passage. Why?", "Why?", "Why?"]


def test_a_row_without_a_prompt_is_refused():
    data = datasets.Dataset.from_dict({"q": ["Why?", " "]})
    form = ChoiceForm(prompt=("q",), choices=("c",), label=None)

    with pytest.raises(ValueError, match="a prompt"):
        read_prompts(data, form, "the data")

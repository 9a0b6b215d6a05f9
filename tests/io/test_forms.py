"""Forms of files and cells: records below the top, lines with a label, workbooks, arrays, and bounds."""

from __future__ import annotations

import json
import os

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.columns import evaluate_expression
from rightreasons.io.label_columns import select_single_labels
from rightreasons.io.options import FileForm
from rightreasons.io.predictions import read_predictions
from rightreasons.io.reading import as_table
from rightreasons.io.resolve import resolve

ROWS = [{"text": f"Remark {row}", "label": ["up", "down"][row % 2]} for row in range(8)]


def write_json(path, content):
    """Write a document, and return its path."""
    path.write_text(json.dumps(content))
    return path


NUMBERED_ROWS = [{"row_idx": number, "row": row} for number, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    "content",
    [
        {"version": 2, "results": {"stats": {"passed": 6}, "results": ROWS}},
        {"Definition": ["Classify."], "Instances": ROWS},
        {"schema": [{"name": "text"}, {"name": "label"}], "rows": ROWS},
        {"features": [{"n": 1}, {"n": 2}], "rows": NUMBERED_ROWS},
    ],
)
def test_the_one_list_of_records_below_the_top_is_the_table(content, tmp_path):
    table = as_table(write_json(tmp_path / "log.json", content))

    assert table["text"][:] == [row["text"] for row in ROWS]


def test_of_two_lists_of_records_the_path_says_which(tmp_path):
    other_rows = [{"text": "Other", "label": "up"}] * 6
    content = {"meta": 1, "a": {"rows": ROWS}, "b": {"rows": other_rows}}
    file = write_json(tmp_path / "log.json", content)

    table = as_table(file, form=FileForm(rows="b.rows"))

    assert len(table) == 6
    with pytest.raises(OptionError, match="a.rows") as error:
        as_table(file)
    assert error.value.option == ("rows",)
    with pytest.raises(OptionError) as error:
        as_table(file, form=FileForm(rows="c.rows"))
    assert error.value.option == ("rows",)


def test_a_description_may_name_the_path_of_the_records(tmp_path):
    write_json(tmp_path / "log.json", {"meta": 1, "a": ROWS, "b": ROWS[:6]})
    description = tmp_path / "data.yaml"
    description.write_text("data: log.json\nrows: a\n")

    assert resolve(description).splits == {"data": 8}


def test_lines_may_begin_with_a_label(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("__label__up A fine film.\n__label__down Dull.\n\n__label__up Grand: a must.\n")

    table = as_table(file, form=FileForm(line_format="label text"))

    assert table["label"][:] == ["up", "down", "up"]
    assert table["text"][2] == "Grand: a must."


@pytest.mark.parametrize(("line_format", "content"), [("label", "a b\n"), ("label text", "a\n")])
def test_lines_of_another_format_are_refused(line_format, content, tmp_path):
    file = tmp_path / "train.txt"
    file.write_text(content)

    with pytest.raises(OptionError) as error:
        as_table(file, form=FileForm(line_format=line_format))
    assert error.value.option == ("line_format",)


def test_an_array_has_a_column_per_class(tmp_path):
    file = tmp_path / "scores.npy"
    np.save(file, np.array([[0.75, 0.25], [0.5, 0.5]]))
    assert as_table(file).to_dict() == {"0": [0.75, 0.5], "1": [0.25, 0.5]}

    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as an array"):
        as_table(file)


def test_token_logprobs_are_logits_of_the_tokens_that_all_items_have():
    cells = []
    for row in range(8):
        entries = [
            {"token": " up", "logprob": -0.25},
            {"token": "down", "logprob": -1.5},
            {"token": f"other {row}", "logprob": -9.0},
        ]
        cells.append(entries)

    parsed = read_predictions({"label": ["up", "down"] * 4, "top_logprobs": cells})

    assert parsed.label_names == ("up", "down")
    assert parsed.scores == "logits"
    assert parsed.predictions[0].tolist() == [-0.25, -1.5]


def test_printed_tensors_are_scores():
    cells = ["tensor([0.25, 0.75])", "tensor([0.5, 0.5], device='cuda:0')"]

    parsed = read_predictions({"label": [1, 0], "probs": cells})

    assert parsed.predictions.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_the_log_probability_of_an_answer_is_a_confidence():
    table = {"label": ["up", "down"], "answer": ["up", "up"], "logprob": [-0.5, -0.0]}

    parsed = read_predictions(table, confidence_column="logprob")

    assert parsed.scores == "log_probabilities"


def test_items_with_several_marks_are_refused_with_their_option():
    cells = [{"joy": 1.0, "fear": 1.0}, {"joy": 0.0, "fear": 1.0}, {"joy": 0.0, "fear": 0.0}]

    with pytest.raises(OptionError, match="1 of 3") as error:
        select_single_labels(cells, "cats")
    assert "target" in error.value.option
    # One mark in each row is a label.
    assert select_single_labels(cells[1:2], "cats") == ["fear"]


BOMBS = (
    "{{ 'a' * 10 ** 10 }}",
    "{{ [0] * 1000000000 }}",
    "{{ text.ljust(10000000000) }}",
    "{{ text | center(10000000000) }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ 7 ** 99999999 }}",
    "{% for i in range(99999) %}{{ text }}{% endfor %}",
    "{% set x = text %}{{ x }}",
)


@pytest.mark.parametrize("expression", BOMBS)
def test_an_expression_that_would_take_any_memory_or_time_ends_in_a_sentence(expression):
    data = datasets.Dataset.from_dict({"text": ["Fine", "Dull"]})

    with pytest.raises(ValueError, match="expression over"):
        evaluate_expression(expression, data)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{{ text * 2 }}", "FineFine"),
        ("{{ 2 ** 10 }}", 1024),
        ("{{ text.ljust(6) }}", "Fine  "),
        ("{% if text == 'Fine' %}{{ text }}{% else %}other{% endif %}", "Fine"),
    ],
)
def test_expressions_within_the_bounds_are_evaluated(expression, value):
    data = datasets.Dataset.from_dict({"text": ["Fine"]})

    assert evaluate_expression(expression, data) == [value]


def test_a_description_in_a_folder_is_read_with_the_folder(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\nFine film,up\nDull,down\n")
    description = tmp_path / "data.yaml"
    description.write_text("data: x.csv\ntext_column: a\nlabel_column: b\n")
    assert resolve(tmp_path).columns == {"text": ("a",), "label": ("b",)}

    # Other tools have files of that name, which are none of ours.
    description.write_text("nc: 2\nnames: [cat, dog]\n")
    assert not resolve(tmp_path).columns


def test_a_folder_with_a_device_is_refused(tmp_path):
    os.symlink(os.devnull, tmp_path / "train.csv")

    with pytest.raises(ValueError, match="train.csv"):
        as_table(tmp_path)


def test_a_condition_that_holds_for_no_row_is_refused_with_the_cells_it_reads(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("text,stars\nFine.,1\n", "utf-8")

    # Cells of a csv file are texts.
    with pytest.raises(OptionError, match="stars = '1'") as error:
        as_table(path, form=FileForm(where="stars == 1"))

    assert error.value.option == ("where",)

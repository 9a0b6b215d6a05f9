"""The shared demo's own parts, without a browser; tests/spaces drives the page."""

import pytest

import rightreasons
from rightreasons.modules import module_path
from rightreasons.widget import argument_help, figure, parse_rows, problem, read_card, table


@pytest.fixture(scope="module")
def ece():
    return rightreasons.load("ece")


def test_cells_are_json_and_blank_rows_are_left_out(ece):
    rows = [["[0.9, 0.1]", "0"], ["", None], ["[0.2, 0.8]", 1]]
    assert parse_rows(ece, rows) == {"predictions": [[0.9, 0.1], [0.2, 0.8]], "references": [0, 1]}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([["[0.9, 0.1]", ""]], "Expected a value in each item of `references`, but item 0 is empty."),
        (
            [["0.9 0.1", "0"]],
            r"Expected a number, or a list such as \[0.9, 0.1\], in `predictions`, but item 0 has '0.9 0",
        ),
        ([["[NaN, 0.1]", "0"]], "in `predictions`, but item 0 has"),
    ],
)
def test_bad_cells(ece, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_rows(ece, rows)


def test_every_option_of_every_module_is_explained():
    for name in rightreasons.available_modules():
        module = rightreasons.load(name)
        assert set(module.option_names()) <= set(argument_help(module.inputs_description)), name


def test_card_and_front_matter():
    from pathlib import Path

    front, card = read_card(Path(module_path("ece")) / "README.md")
    assert front["title"] == "Expected Calibration Error"
    assert front["description"].startswith("Expected calibration error with a named definition")
    assert card.startswith("# Metric Card for ECE")


def test_what_users_write_is_escaped():
    assert "<script>" not in problem("<script>")
    assert "<script>" not in table([{"<script>": "<script>"}], caption="<script>")


def test_table_says_what_it_leaves_out():
    assert "and 50 more rows" in table([{"n": i} for i in range(250)])


def test_undefined_is_a_dash():
    assert figure(None) == "–"
    assert "<td>–</td>" in table([{"a": None, "b": "x"}]) or "–" in table([{"a": None, "b": "x"}])

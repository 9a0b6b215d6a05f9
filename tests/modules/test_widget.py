"""The shared demo's own parts, without a browser; tests/spaces drives the page."""

import importlib.util
import shutil
from pathlib import Path

import pytest

import rightreasons
from rightreasons.evaluate_module import argument_help, module_path
from rightreasons.widget.demos import _option_value, parse_rows, read_card
from rightreasons.widget.pages import figure, problem, public_page, table


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
        (
            [["[0.9, 0.1]", "0", "extra"]],
            "Expected the columns predictions, references in the table, but it has 3 columns.",
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


@pytest.mark.parametrize("name", rightreasons.available_modules())
def test_every_module_folder_is_a_space_under_the_name_app(tmp_path, name):
    # A Space's repository lies in a folder called "app", beside which evaluate would take app.py for the module.
    gr = pytest.importorskip("gradio")
    folder = tmp_path / "app"
    shutil.copytree(module_path(name), folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = importlib.util.spec_from_file_location(f"space_of_{name}", folder / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    demo = module.build()
    assert isinstance(demo, gr.Blocks)
    assert any(getattr(block, "value", None) == "Compute" for block in demo.blocks.values())


def test_a_wrong_example_or_option_is_told(ece):
    pytest.importorskip("gradio")
    from rightreasons.widget.demos import module_demo

    readme = Path(module_path("ece")) / "README.md"
    for wrong, sentence in (
        ({"example": {"labels": [1]}}, "Expected an option of the inputs of ece, but got 'labels'"),
        (
            {"example": {}, "choices": {"norms": ["l1"]}},
            "Expected an option of ece, but got 'norms'. Did you mean 'norm'",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            module_demo(ece, readme, **wrong)


def test_one_value_an_item_becomes_a_row_an_item():
    from rightreasons.widget.demos import _by_item

    found = {"x": [0.5, 0.25], "names": ["a", "b"], "other": [1], "nested": [[1], [2]], "mean": 0.375}
    assert _by_item(found, 2) == [{"item": 0, "x": 0.5, "names": "a"}, {"item": 1, "x": 0.25, "names": "b"}]


@pytest.mark.parametrize(
    ("default", "value", "sentence"),
    [
        (15, 3e7, r"^Expected `n_bins` to be at most 1000, but got 30000000\.$"),
        (15, None, "Expected a number for `n_bins`, but the field is empty."),
        (15, "abc", "Expected `n_bins` to be a number, but got"),
        (15, [3], "Expected `n_bins` to be a number, but got"),
        (15, float("nan"), "Expected `n_bins` to be a finite number, but got nan."),
        (True, "yes", "Expected `n_bins` to be True or False, but got"),
        ("l1", None, "Expected `n_bins` to be a text, but got None"),
        (None, "1e9", "Expected `n_bins` to be at most 1000, but got 1000000000.0"),
        (None, ["x"], "Expected `n_bins` to be a text, but got"),
        (None, "[" * 90_000, "Expected a JSON value for `n_bins`, such as 0.95, but got"),
        (None, "x" * 100_001, "Expected `n_bins` to have at most 100,000 characters, but got 100,001."),
    ],
)
def test_an_option_from_a_page_or_a_script_has_limits(default, value, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        _option_value("n_bins", default, value)


def test_limits_of_draws_and_rows(ece):
    assert _option_value("n_resamples", 1000, 10_000.0) == 10_000
    with pytest.raises(ValueError, match="Expected `n_resamples` to be at most 10000, but got 10000001"):
        _option_value("n_resamples", 1000, 10_000_001)
    assert _option_value("seed", 0, 2**40) == 2**40
    with pytest.raises(ValueError, match="Expected at most 10,000 items on a page, but got 10,001"):
        parse_rows(ece, [["[0.9, 0.1]", "0"]] * 10_001)
    with pytest.raises(ValueError, match="in `predictions`, but item 0 has"):
        parse_rows(ece, [["[" * 90_000, "0"]])


def test_a_page_deletes_uploads_and_limits_its_queue():
    pytest.importorskip("gradio")
    with public_page("a") as page:
        pass
    assert page.delete_cache == (60, 600)
    assert page._queue.max_size == 32

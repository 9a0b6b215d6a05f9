"""The shared demo's own parts, without a browser; tests/spaces drives the page."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

import rightreasons
from rightreasons.evaluate_module import argument_help, module_path
from rightreasons.widget.demos import module_page, parse_inputs, parse_options, read_card
from rightreasons.widget.pages import figure, problem, public_page, table


@pytest.fixture(scope="module")
def ece():
    return rightreasons.load("ece")


def test_inputs_are_json(ece):
    inputs = {"predictions": [[0.9, 0.1], [0.2, 0.8]], "references": [0, 1]}
    assert parse_inputs(ece, json.dumps(inputs)) == inputs


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"predictions": [[0.9, 0.1]', "Expected inputs as JSON"),
        ('{"predictions": [[NaN, 0.1]]}', "Expected inputs as JSON"),
        ("[" * 90_000, "Expected inputs as JSON"),
        ("[0]", "Expected `Inputs` to be a mapping, but got"),
        ('{"predictions": 0.9}', "Expected `predictions` to be a list, but got"),
        ('{"prediction": [0]}', "but got 'prediction'. Did you mean 'predictions'"),
        (json.dumps({"references": [0] * 10_001}), "Expected at most 10,000 items on a page, but got 10,001"),
        (None, "Expected `Inputs` to be a text, but got None"),
    ],
)
def test_bad_inputs(ece, text, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        parse_inputs(ece, text)


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


def test_a_wrong_example_or_option_is_told():
    pytest.importorskip("gradio")
    app = Path(module_path("ece")) / "app.py"
    for wrong, sentence in (
        ({"example": {"labels": [1]}}, "Expected an option of the inputs of ece, but got 'labels'"),
        (
            {"example": {}, "options": {"norms": "l1"}},
            "Expected an option of ece, but got 'norms'. Did you mean 'norm'",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            module_page(str(app), draw=str, **wrong)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"n_bins": 30000000}', r"^Expected `n_bins` to be at most 1000, but got 30000000\.$"),
        ('{"n_bins": NaN}', "Expected options as JSON"),
        ('{"n_bins": ', "Expected options as JSON"),
        ("[" * 90_000, "Expected options as JSON"),
        ('["n_bins"]', "Expected `Options` to be a mapping, but got"),
        ('{"n_bin": 3}', "but got 'n_bin'. Did you mean 'n_bins'"),
        ('{"n_resamples": 10000001}', "Expected `n_resamples` to be at most 10000, but got 10000001"),
        (None, "Expected `Options` to be a text, but got None"),
        ("x" * 100_001, "Expected `Options` to have at most 100,000 characters, but got 100,001."),
    ],
)
def test_options_from_a_page_have_limits(ece, text, sentence):
    known = dict.fromkeys(ece.option_names())
    with pytest.raises((TypeError, ValueError), match=sentence):
        parse_options(ece, text, known)


def test_limits_of_draws(ece):
    options = {"n_resamples": 10_000, "seed": 2**40}
    assert parse_options(ece, json.dumps(options), dict.fromkeys(options)) == options


def test_a_page_deletes_uploads_and_limits_its_queue():
    pytest.importorskip("gradio")
    with public_page("a") as page:
        pass
    assert page.delete_cache == (60, 600)
    assert page._queue.max_size == 32

"""The shared demo's own parts, without a browser; tests/spaces drives the page."""

import importlib.util
import json
import pickle
import shutil

import pytest

import rightreasons
from rightreasons.core.errors import OptionError
from rightreasons.evaluate_module import module_path, parse_argument_help
from rightreasons.widget.demos import parse_values
from rightreasons.widget.pages import FILTER, by_name, figure, problem, public_page, table
from rightreasons.widget.working import _make_picklable


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"predictions": [[0.9, 0.1]', "Expected `Inputs` as JSON"),
        ('{"predictions": [[NaN, 0.1]]}', "Expected `Inputs` as JSON"),
        ("[" * 90_000, "Expected `Inputs` as JSON"),
        ("[0]", "Expected `Inputs` to be a mapping, but got"),
        (
            json.dumps({"references": [0] * 10_001}),
            "10,000 in `references` on",
        ),
        (
            '{"n_resamples": 10000001}',
            "`n_resamples` on",
        ),
        (None, "Expected `Inputs` to be a text, but got None"),
        ("x" * 100_001, "100,000 characters"),
    ],
)
def test_bad_inputs(text, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        parse_values(text, "Inputs")


def test_every_option_of_every_module_is_explained():
    for name in rightreasons.available_modules():
        module = rightreasons.load(name)
        assert set(module.option_names()) <= set(parse_argument_help(module.inputs_description)), (
            name
        )


def test_what_users_write_is_escaped():
    assert "<script>" not in problem("<script>")
    assert "<script>" not in table([{"<script>": "<script>"}], caption="<script>")


def test_an_option_is_named_by_its_field_after_a_worker_and_a_renamed_file():
    error = OptionError("Choose one in /tmp/x.csv with `log_filter`.", option="log_filter")

    # A worker sends the error by pickle.
    sent = pickle.loads(pickle.dumps(_make_picklable(error, gigabytes=1.0)))
    with pytest.raises(OptionError) as caught, by_name("/tmp/x.csv"):
        raise sent

    assert f"Choose one in x.csv with the field “{FILTER}”." in problem(caught.value)


def test_words_of_an_error_without_an_option_are_kept():
    assert "with `log_filter`" in problem("Choose one with `log_filter`.")


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


def test_limits_of_draws():
    options = {"n_resamples": 10_000, "seed": 2**40}
    assert parse_values(json.dumps(options), "Options") == options


def test_a_page_deletes_uploads_and_limits_its_queue():
    pytest.importorskip("gradio")
    with public_page("a") as page:
        pass
    assert page.delete_cache == (60, 600)
    assert page._queue.max_size == 32

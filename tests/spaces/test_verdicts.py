"""What the pages conclude from a handful of items: that they cannot tell."""

import importlib
from pathlib import Path

import pytest

SPACES = Path(__file__).parents[2] / "spaces"


@pytest.fixture
def view(monkeypatch):
    """Import the module behind a page."""
    pytest.importorskip("gradio")

    def of(space, module):
        monkeypatch.syspath_prepend(SPACES / space)
        return importlib.import_module(module)

    return of


@pytest.mark.parametrize(("rows", "sentence"), [(2, "not ruled out by so few"), (20_000, "what chance gives in")])
def test_two_predictions_do_not_show_calibration(view, tmp_path, rows, sentence):
    file = tmp_path / "scores.csv"
    # Nine of ten are right at a confidence of 90 %.
    lines = ["0.1,0.9,1" if row % 10 else "0.1,0.9,0" for row in range(1, rows + 1)]
    file.write_text("\n".join(["p_0,p_1,label", *lines]), "utf-8")
    said = view("reliability_explorer", "reliability_view").analyze(str(file))["verdict"]
    assert said.startswith("Nothing here shows miscalibration")
    assert sentence in said
    assert ("not ruled out" in said) == (rows == 2)


def test_six_items_do_not_show_that_the_choices_are_clean(view, tmp_path):
    file = tmp_path / "items.csv"
    rows = [f"Why?,one {'ab'[n % 3 == 0]},two {'ab'[n % 2]},{n % 2}" for n in range(6)]
    file.write_text("\n".join(["prompt,choice1,choice2,label", *rows]), "utf-8")
    named = {"prompt_column": "prompt", "choices_column": "choice1,choice2", "label_column": "label"}
    said = view("cue_explorer", "cue_view").cues(str(file), **named)["verdict"]
    assert said.endswith("but 6 items do not rule out 10% more.")

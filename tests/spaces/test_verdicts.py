"""What the pages conclude from a handful of items: that they cannot tell."""

import importlib
import json
from pathlib import Path

import pytest

from rightreasons.measuring.options import QUESTIONS
from rightreasons.widget import problem

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
    assert "Too few items to tell" in said
    assert "6 items do not rule out an effect of 10 points" in said


def test_nothing_is_green_where_the_cues_are_right_on_none_of_four_items(view):
    # One word in the right choice of the first two items and in the wrong one of the others: what two items teach is
    # wrong of the other two, in whatever folds.
    cue_view = view("cue_explorer", "cue_view")
    items = cue_view.parse_items(
        "prompt,choice1,choice2,label\n" + "\n".join(f"Why?,was a{n},b{n},{int(n > 1)}" for n in range(4))
    )
    found = cue_view.analyze(items, ["unigram"], 1)
    assert found.classifier.accuracy == 0
    assert "rr-good" not in cue_view.figures(found)
    assert "Too few items to tell" in cue_view.figures(found)


def test_the_leaderboard_has_an_answer_to_each_question(view):
    answered = {
        cell["question"]
        for row in view("leaderboard", "leaderboard_view").ranking()
        for cell in row["cells"]
        if cell["tone"]
    }
    assert answered == set(QUESTIONS)


def test_a_log_of_several_filters_asks_which_where_a_visitor_can_say_it(view, tmp_path):
    audit_view = view("audit", "audit_view")
    explorer, probes = view("reliability_explorer", "reliability_view"), view("confusion_probes", "probe_view")
    readers = (
        lambda name: audit_view.run(audit_view.Source(predictions=str(log), log_filter=name), [], 10),
        lambda name: explorer.open_file(str(log), log_filter=name),
        lambda name: probes.of_a_log(str(log), name),
    )
    log = tmp_path / "samples.jsonl"
    rows = [
        {
            "doc_id": 0,
            "doc": {},
            "target": "Paris",
            "arguments": {"gen_args_0": {"arg_0": "Capital?", "arg_1": {"until": []}}},
            "resps": [[answer]],
            "filtered_resps": [answer],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": right,
            "doc_hash": "d",
        }
        for name, answer, right in (("strict", "[invalid]", 0.0), ("loose", "Paris", 1.0))
    ]
    log.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for read in readers:
        with pytest.raises(ValueError, match="those of loose, strict") as caught:
            read("")
        assert "name one under “Filter of a log”." in problem(caught.value)
        with pytest.raises(ValueError, match="Did you mean 'loose'"):
            read("lose")

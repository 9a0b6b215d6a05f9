"""What the pages conclude: from a handful of items that they cannot tell, and red from evidence alone."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.behavior.measure import score_stored
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers
from rightreasons.report.questions import QUESTIONS
from rightreasons.widget.pages import problem

SPACES = Path(__file__).parents[2] / "spaces"


@pytest.fixture
def view(monkeypatch):
    """Import the module behind a page."""
    pytest.importorskip("gradio")

    def of(space, module):
        monkeypatch.syspath_prepend(SPACES / space)
        return importlib.import_module(module)

    return of


@pytest.mark.parametrize(
    ("rows", "sentence"), [(2, "not ruled out by so few"), (20_000, "what chance gives in")]
)
def test_two_predictions_do_not_show_calibration(view, tmp_path, rows, sentence):
    file = tmp_path / "scores.csv"
    # Nine of ten are right at a confidence of 90 %.
    lines = ["0.1,0.9,1" if row % 10 else "0.1,0.9,0" for row in range(1, rows + 1)]
    file.write_text("\n".join(["p_0,p_1,label", *lines]), "utf-8")
    explorer = view("reliability_explorer", "reliability_view")
    runs = view("reliability_explorer", "runs")
    said = explorer.write_view(runs.read_upload(str(file)), runs.Settings()).figures
    assert "Nothing here shows miscalibration" in said
    assert sentence in said
    assert ("not ruled out" in said) == (rows == 2)


def test_six_items_do_not_show_that_the_choices_are_clean(view, tmp_path):
    file = tmp_path / "items.csv"
    rows = [f"Why?,one {'ab'[n % 3 == 0]},two {'ab'[n % 2]},{n % 2}" for n in range(6)]
    file.write_text("\n".join(["prompt,choice1,choice2,label", *rows]), "utf-8")
    cue_view = view("cue_explorer", "cue_view")
    choice_sets = view("cue_explorer", "choice_sets")
    analysis = choice_sets.analyze(choice_sets.read_upload(str(file)), ["unigram"], 5)
    said = cue_view.write_figures(analysis)
    assert "Too few items to decide" in said
    assert "6 items do not rule" in said


def test_nothing_is_green_where_the_cues_are_right_on_none_of_four_items(view):
    # One word in the right choice of the first two items and in the wrong one of the others: what two items teach is
    # wrong of the other two, in whatever folds.
    cue_view = view("cue_explorer", "cue_view")
    choice_sets = view("cue_explorer", "choice_sets")
    items = choice_sets.parse_items(
        "prompt,choice1,choice2,label\n"
        + "\n".join(f"Why?,was a{n},b{n},{int(n > 1)}" for n in range(4))
    )
    found = choice_sets.analyze(items, ["unigram"], 1)
    assert found.classifier.accuracy == 0
    assert "rr-good" not in cue_view.write_figures(found)
    assert "Too few items to decide" in cue_view.write_figures(found)


def test_the_leaderboard_has_an_answer_to_each_question(view):
    leaderboard = view("leaderboard", "leaderboard_view")
    answered = {
        cell.question
        for row in leaderboard.leaderboard(list(leaderboard.read_bundled()))
        for cell in row.cells
        if cell.tone
    }
    assert answered == set(QUESTIONS) - {
        "reasons",
        "ways",
    }  # asked by name alone, as they have their price


def test_a_log_of_several_filters_asks_which_where_a_visitor_can_say_it(view, tmp_path):
    audit_view = view("audit", "audit_view")
    runs = view("reliability_explorer", "runs")
    readers = (
        lambda name: audit_view.run(
            audit_view.Source(predictions=str(log), log_filter=name), [], 10
        ),
        lambda name: runs.read_upload(str(log), log_filter=name),
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
        with pytest.raises(ValueError, match="got the answers of loose, strict") as caught:
            read("")
        assert "Choose one with the field “Filter of a log”." in problem(caught.value)
        with pytest.raises(ValueError, match="Did you mean 'loose'"):
            read("lose")


@pytest.mark.parametrize(
    ("strength", "tone"), [(0.5, "good"), (0.8, "good"), (0.9, "warn"), (1.0, "bad")]
)
def test_a_planted_cue_that_decides_is_red(view, strength, tone):
    assert f"rr-verdict rr-{tone}" in view("shortcut_browser", "shortcut_view").headline(strength)


def forms(without, before, after):
    """One item with two choices, the first one right, and two wrong ones added behind them."""
    items = {"original": {"label": 0}, "extra_choices": {"label": 0}}
    confidences = {"no_question": without, "original": before, "extra_choices": after}
    return SimpleNamespace(items=items, original=items["original"]), {
        key: np.array(row) for key, row in confidences.items()
    }


@pytest.mark.parametrize(
    ("item", "tone", "says"),
    [
        (
            ([0.5, 0.5], [0.9, 0.1], [0.4, 0.2, 0.2, 0.2]),
            "neutral",
            "no strong preference without the question",
        ),
        (
            ([0.7, 0.3], [0.9, 0.1], [0.4, 0.2, 0.2, 0.2]),
            "neutral",
            "is correct among 2 more incorrect choices.",
        ),
        (
            ([0.8, 0.2], [0.9, 0.1], [0.4, 0.2, 0.2, 0.2]),
            "warn",
            "still prefers the correct answer (80.0%).",
        ),
        # What is wrong from the beginning keeps no right answer.
        (
            ([0.5, 0.5], [0.1, 0.9], [0.4, 0.2, 0.2, 0.2]),
            "warn",
            "prefers choice",
        ),
        (
            ([0.5, 0.5], [0.9, 0.1], [0.2, 0.6, 0.2]),
            "warn",
            "incorrect choice",
        ),
    ],
)
def test_one_item_is_neither_red_nor_green(view, item, tone, says):
    said, of = view("confusion_probes", "probe_view").describe_faults(*forms(*item))
    assert of == tone
    assert says in said


@pytest.mark.parametrize(
    ("tones", "tone", "says"),
    [
        (["neutral", None], "neutral", "No verdict in 1 audit"),
        (["good", "neutral"], "good", "No problem found in 1 audit."),
        (["warn", "good"], "warn", "but 1 answer needs a closer look."),
        (["bad", "good"], "bad", "1 of 1 audit found a problem"),
    ],
)
def test_audits_without_a_verdict_are_not_green(view, tones, tone, says):
    cells = dict(zip(QUESTIONS, [*tones, *[None] * len(QUESTIONS)], strict=False))
    row = SimpleNamespace(cells=[SimpleNamespace(tone=one) for one in cells.values()])
    cls = type(
        "Row",
        (),
        {"cells": row.cells, "__getitem__": lambda self, name: SimpleNamespace(tone=cells[name])},
    )
    summary = view("leaderboard", "leaderboard_view").summarize([cls()])
    assert f"rr-{tone}" in summary
    assert says in summary


@pytest.mark.parametrize(
    ("confidence", "right", "n", "tone", "name"),
    [
        (
            0.9,
            85,
            100,
            "warn",
            "Miscalibrated at some confidence levels",
        ),  # by Wilson 85 of 100 are up to 0.91
        (0.99, 9_800, 10_000, "warn", "Overconfident"),
        (0.99, 8_000, 10_000, "bad", "Overconfident"),
        (0.6, 6_200, 10_000, "warn", "Underconfident"),
        (0.6, 8_000, 10_000, "bad", "Underconfident"),
    ],
)
def test_red_takes_a_gap_and_a_direction_an_interval(view, confidence, right, n, tone, name):
    explorer = view("reliability_explorer", "reliability_view")
    result = SimpleNamespace(n_items=n, accuracy=right / n, mean_confidence=confidence, ece=0.1)
    null = SimpleNamespace(p_value=0.001)
    said, of = explorer.describe_calibration(result, null, explorer.Settings())
    assert (of, said.split(":")[0]) == (tone, name)


def test_a_suite_is_judged_as_by_the_audit(view):
    page, reports = (
        view("behavior_report", "behavior_view"),
        view("behavior_report", "behavior_report"),
    )
    suite = Suite(
        "s",
        ("text",),
        (Functionality("f", "c", "MFT", {"name": "equal"}, (Case("0", (("a",),), (1,)),)),),
    )
    tested = score_stored("model", suite, ModelAnswers(np.array([0])))
    said, tone = page.judge_first_model(reports.Report(suite, (tested,), ("",)))
    assert tone == "neutral"  # one case that fails
    assert said == "model passes 0.0% of the cases of s, as a mean over functionalities."

"""The section about behavior, and the page of `rightreasons behavior`, with tiny models."""

from __future__ import annotations

import re
import shlex
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.behavior import question
from rightreasons.behavior.learning.options import PlanOptions
from rightreasons.behavior.measure import measure_behavior, score_stored
from rightreasons.behavior.options import LearningSource
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers
from rightreasons.models.loading import load_classifier
from rightreasons.report.behavior_page import write_behavior_report
from rightreasons.report.runner import audit
from rightreasons.report.schema import read_audit
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts
from tiny_suites import behavior_suite

FEW = Resampling(resamples=20)
OPTIONS = {"questions": ["behavior"], "n_resamples": 50, "progress": False, "raise_errors": True}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("behavior-section")
    save_tiny_classifier(folder / "model")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(12)
    names = datasets.ClassLabel(names=["negative", "positive"])
    features = datasets.Features({"text": datasets.Value("string"), "label": names})
    data = datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features)
    return folder, data


@pytest.fixture(scope="module")
def answered(world):
    folder, data = world
    options = {"behavior": {"suite": str(folder / "suite.jsonl")}}
    audit(folder / "model", data, out=folder / "report", options=options, **OPTIONS)
    return read_audit(folder / "report")["questions"][0], folder


def test_its_figures_are_those_of_the_kernel(answered):
    told, folder = answered
    direct = measure_behavior(
        load_classifier(folder / "model"),
        behavior_suite(),
        resampling=Resampling(resamples=50),
        progress=False,
    ).result
    rates = told["result"]["data"]["pass_rates"]
    assert rates["behavioral_pass_rate"] == direct.behavioral_pass_rate
    assert "passed" not in rates
    headlines = {headline["key"]: headline for headline in told["result"]["headlines"]}
    assert list(headlines) == ["pass_rate", "pass_rate_mft", "pass_rate_inv", "pass_rate_dir"]
    assert headlines["pass_rate"]["estimate"]["value"] == direct.behavioral_pass_rate
    assert headlines["pass_rate_inv"]["estimate"]["value"] == direct.test_types["INV"].pass_rate
    rows = told["result"]["parts"][1]["tables"][0]["rows"]
    assert len(rows) == 5
    values = [row["pass_rate"]["value"] for row in rows if row["pass_rate"]["value"] is not None]
    assert values == sorted(values)
    by_name = {each.functionality: each for each in direct.functionalities}
    for row in rows:
        each = by_name[row["functionality"].split(". ", 1)[1]]
        assert (row["n_cases"], row["n_failed"], row["n_filtered"]) == (
            each.n_cases,
            each.n_cases - each.n_passed,
            each.n_filtered,
        )


def test_failing_cases_are_shown_with_what_was_expected(answered):
    told, _ = answered
    lists = told["result"]["parts"][2]["examples"]
    assert lists
    assert all(1 <= len(each["examples"]) <= 3 for each in lists)
    words = next(each for each in lists if ". words (" in each["title"])
    for example in words["examples"]:
        assert example["label"] in ("negative", "neutral", "positive")
        assert example["prediction"] != example["label"]
        assert example["text"].startswith("the ")
        assert example["id"].startswith("1/")
    page = (answered[1] / "report" / "index.html").read_text("utf-8")
    assert "some may be abusive" in page
    assert "<details><summary>1. words (W, MFT)" in page
    assert (answered[1] / "report" / "figures" / "behavior_heat_map.png").stat().st_size > 5_000


def test_invariance_shows_the_original_and_marks_the_change():
    suite = Suite(
        "names",
        ("text",),
        (
            Functionality(
                "names",
                "Fairness",
                "INV",
                {"name": "invariant", "tolerance": 0.1},
                (Case("a", (("Ann liked it.",), ("Ali liked it.",), ("Bo <b> liked it.",))),),
            ),
        ),
    )
    given = ModelAnswers(
        np.array([[0.1, 0.9], [0.15, 0.85], [0.7, 0.3]]), label_names=("bad", "good")
    )
    (shown,) = (
        BEHAVIOR.answer(BehaviorMeasurement(score_stored("m", suite, given, resampling=FEW)))
        .parts[2]
        .examples
    )
    (example,) = shown.examples
    assert example.text == "Bo <b> liked it."
    assert [example.text[mark.start : mark.end] for mark in example.marks] == ["Bo <b>"]
    assert (example.prediction, example.confidence, example.label) == ("bad", 0.7, "")
    assert example.note == (
        "Original: “Ann liked it.”, answered good (90.0%). P(good) from 90.0% to 30.0%. "
        "1 of the 2 examples of this case fails."
    )
    assert (
        shown.note
        == "Every changed text must have the same answer as the original, or a confidence in that answer within 0.1."
    )


def test_the_verdict_follows_intervals():
    def verdict(n_passed, n=40):
        cases = tuple(Case(str(k), ((f"text {k}",),), (0,)) for k in range(n))
        suite = Suite("s", ("text",), (Functionality("f", "C", "MFT", {"name": "equal"}, cases),))
        answers = np.array([0] * n_passed + [1] * (n - n_passed))
        tested = score_stored("m", suite, ModelAnswers(None, answers), resampling=FEW)
        return BEHAVIOR.answer(BehaviorMeasurement(tested)).verdict

    # Wilson, 95 %, n = 40: 40 pass [0.912, 1]; 36 pass [0.769, 0.960], on both sides of 0.9; 30 pass: P(X <= 30) at
    # 0.9 is 0.005; 8 pass is below 0.5 too.
    assert [verdict(n).tone for n in (40, 36, 30, 8)] == ["good", "neutral", "warn", "bad"]
    # One case that fails shows nothing.
    assert verdict(0, n=1).label == "Inconclusive"
    # Of 1 case, whose interval is wide, that a share takes (0.98 / 0.1)^2 = 96.04 to be known to 10 points.
    assert verdict(0, n=1).summary.endswith("About 100 cases would be enough.")
    assert re.search(r"About \d+ cases would be enough\.$", verdict(25, n=25).summary)


def test_one_answer_to_everything_is_told_and_never_green():
    def cases(labels):
        return tuple(
            Case(str(n), ((f"a {n}",), (f"b {n}",)), labels and (n % 2, n % 2)) for n in range(100)
        )

    def of(*functionalities, answers):
        suite = Suite("s", ("text",), functionalities, ("bad", "good"))
        tested = score_stored("m", suite, ModelAnswers(None, np.array(answers)), resampling=FEW)
        return BEHAVIOR.answer(BehaviorMeasurement(tested)).verdict

    known = Functionality("k", "C", "MFT", {"name": "equal"}, cases(True))
    steady = Functionality("i", "C", "INV", {"name": "invariant"}, cases(None))
    # 5 of 100 answers are others: 95 % of the examples get one.
    told = of(steady, answers=[0] * 190 + [1] * 10)
    assert (told.tone, "190 of 200 examples have the same answer" in told.summary) == (
        "neutral",
        True,
    )
    assert of(steady, answers=[0] * 188 + [1] * 12).tone == "good"
    both = of(known, steady, answers=[0] * 400)
    assert "400 of 400 examples have the same answer" in both.summary
    # An answer that is expected of every example is no sign of anything.
    bad = Functionality(
        "k",
        "C",
        "MFT",
        {"name": "equal"},
        tuple(Case(str(n), ((f"a {n}",),), (0,)) for n in range(50)),
    )
    assert of(bad, answers=[0] * 50).tone == "good"


def test_without_a_suite_the_option_is_named(world, tmp_path):
    folder, data = world
    with pytest.raises(ValueError, match="No behavioral"):
        audit(folder / "model", data, out=tmp_path, **OPTIONS)


def test_where_it_cannot_be_asked(world, tmp_path):
    folder, data = world
    reading = Suite(
        "reading",
        ("text",),
        (Functionality("f", "C", "MFT", {"name": "equal"}, (Case("0", (("a",),), ("b",)),)),),
    )
    reading.write(tmp_path / "reading.jsonl")
    options = {"behavior": {"suite": tmp_path / "reading.jsonl"}}
    with pytest.raises(ValueError, match="answers that are texts"):
        audit(folder / "model", data, out=tmp_path / "a", options=options, **OPTIONS)
    rows = [
        {"id": str(i), "prompt": "the rain", "choices": ["sun", "wet floor"], "label": 0}
        for i in range(4)
    ]
    options = {"behavior": {"suite": folder / "suite.jsonl"}}
    model = save_tiny_multiple_choice(tmp_path / "mc")
    with pytest.raises(ValueError, match="suites are for classifiers"):
        audit(
            model, datasets.Dataset.from_list(rows), out=tmp_path / "b", options=options, **OPTIONS
        )


def test_a_wrong_suite_is_told_before_anything_is_computed(world, tmp_path):
    folder, data = world
    options = {"behavior": {"suite": "checklist_sentimant"}}
    with pytest.raises(ValueError, match="Did you mean 'checklist_sentiment'"):
        audit(folder / "model", data, out=tmp_path, options=options, progress=False)
    assert not any(tmp_path.iterdir())
    with pytest.raises(ValueError, match="suit"):
        audit(
            folder / "model",
            data,
            out=tmp_path,
            options={"behavior": {"suit": "x"}},
            progress=False,
        )


def test_a_page_does_not_replace_an_audit(world, tmp_path):
    folder, _ = world
    tested = measure_behavior(
        load_classifier(folder / "model"), behavior_suite(), resampling=FEW, progress=False
    )
    (tmp_path / "audit.json").write_text("{}")
    with pytest.raises(ValueError, match=r"holds audit\.json"):
        write_behavior_report(tested, tmp_path)


def test_a_reader_is_shown_with_its_answers_and_no_confidence(tmp_path):
    cases = (Case("0", (("Who sat?", "Ann sat."), ("Who stood?", "Bo stood.")), ("Ann", "Bo")),)
    renamed = Case(
        "0", (("Who sat?", "Ann sat."), ("Who sat?", "Eve sat.")), meta=(None, ("Ann", "Eve"))
    )
    suite = Suite(
        "reading",
        ("question", "context"),
        (
            Functionality("who", "Coref", "MFT", {"name": "equal"}, cases),
            Functionality("rename", "NER", "INV", {"name": "invariant"}, (renamed,)),
        ),
    )
    tested = score_stored(
        "reader", suite, ModelAnswers(None, ["Ann", "Ann <i>", "Ann", "sat"]), resampling=FEW
    )
    who, rename = BEHAVIOR.answer(BehaviorMeasurement(tested)).parts[2].examples
    (example,) = who.examples
    assert (example.text, example.text_pair) == ("Who stood?", "Bo stood.")
    assert (example.label, example.prediction, example.confidence) == ("Bo", "Ann <i>", None)
    assert rename.note == "Every changed text must have the same answer as the original."
    assert (
        rename.examples[0].note
        == "Original: “Who sat? | Ann sat.”, answered Ann. “Ann” is “Eve” here."
    )
    page = write_behavior_report(tested, tmp_path).read_text("utf-8")
    assert "Ann &lt;i&gt;" in page
    assert "<dt>confidence</dt>" not in page.partition('id="glossary"')[0]


def test_the_command_that_trains_on_the_tests_can_be_read_again():
    source = LearningSource(
        "my model", "suite.jsonl", "data", {"max_cases": 3, "data_dir": None, "test_split": "dev"}
    )

    words = shlex.split(source.write_plan_command())

    assert words[:4] == ["rightreasons", "learn", "plan", "learned"]
    options = dict(zip(words[4::2], words[5::2], strict=True))
    assert options == {
        "--model": "my model",
        "--suite": "suite.jsonl",
        "--data": "data",
        "--configurations": "IID,IID->T",
        "--methods": "vanilla",
        "--max-cases": "3",
        "--test-split": "dev",
    }
    # Every option is one of the command's.
    known = {f"--{name.replace('_', '-')}" for name in PlanOptions.list_names()}
    assert set(options) - {"--model", "--suite", "--data"} <= known


@pytest.mark.parametrize(("n_functionalities", "is_high"), [(20, False), (21, True)])
def test_a_picture_of_more_than_twice_the_listed_functionalities_is_too_high(
    n_functionalities, is_high, monkeypatch
):
    monkeypatch.setattr(question, "MAX_WEAKEST", 10)
    suite = SimpleNamespace(functionalities=range(n_functionalities))
    m = SimpleNamespace(answers=SimpleNamespace(suite=suite))

    assert question._has_many_functionalities(m) == is_high

"""The page about behavioral learning: scores before and after, and what the verdict says."""

import dataclasses
import sys
from pathlib import Path

import pytest

from rightreasons.behavior.learning.collect import collect_scores, compare_averages
from rightreasons.report.learning_page import LEARNING, LearningOutcome, write_learning_report

sys.path.insert(0, str(Path(__file__).parents[1] / "behavior" / "learning"))

from test_collecting import complete_plan, plan


def make_outcome(fake_plan):
    return LearningOutcome(
        model="my-model",
        suite="remarks",
        scores=collect_scores(fake_plan),
        averages=compare_averages([fake_plan]),
        functionalities=fake_plan.settings["functionalities"],
    )


def test_scores_before_and_after_are_next_to_each_other():
    outcome = make_outcome(complete_plan(seeds=(1,)))

    answer = LEARNING.answer(outcome)

    # IID passes 10 of 20, and IID->T 17 of 20; both are correct on all independent items.
    before = 2 * 0.5 / (1 + 0.5)
    after = 2 * 0.85 / (1 + 0.85)
    (row,) = [
        row for row in answer.parts[0].tables[0].rows if row[1] == "G, functionality held out"
    ]
    assert row[2:5] == pytest.approx((before, after, after - before))
    rates = answer.parts[1].tables[0].rows
    assert rates[0][3:] == pytest.approx((0.5, 0.85, 0.85, 0.35))
    assert answer.verdict.label == "Generalizes"


def test_lost_accuracy_is_told_first():
    fake_plan = complete_plan(seeds=(1,))
    for run in fake_plan.runs:
        if run.configuration == "IID->T":
            # 10 of 40 items are correct, all were before.
            fake_plan.stored[run.key]["iid_right"] = "1" * 10 + "0" * 30
            fake_plan.stored[run.key]["iid_accuracy"] = 0.25

    answer = LEARNING.answer(make_outcome(fake_plan))

    assert answer.verdict.label == "Costs accuracy"
    assert answer.parts[0].tables[0].rows[0][2:5] == pytest.approx((1.0, 0.25, -0.75))


def test_worse_scores_are_bad():
    outcome = make_outcome(complete_plan(seeds=(1,), share=0.2))

    assert LEARNING.answer(outcome).verdict.tone == "bad"


def test_training_that_changed_no_prediction_is_no_proof():
    outcome = make_outcome(complete_plan(seeds=(1,), share=0.55))

    # 0.55 * 20 - 1 = 10 cases pass, as before.
    assert LEARNING.answer(outcome).verdict.label == "Hardly changed"


def test_a_plan_without_held_out_runs_proves_nothing():
    fake_plan = complete_plan(seeds=(1,))
    scores = collect_scores(fake_plan)
    (baseline, trained) = scores.rows
    differences = {"seen": trained.differences["seen"]}
    scores = dataclasses.replace(
        scores, rows=[baseline, dataclasses.replace(trained, differences=differences)]
    )
    outcome = dataclasses.replace(make_outcome(fake_plan), scores=scores, averages=())

    assert LEARNING.answer(outcome).verdict.label == "Not finished"


def test_the_page_is_written_next_to_the_plan(tmp_path):
    fake_plan = plan(unfinished={("seen", "")})
    fake_plan.folder = tmp_path
    (tmp_path / "plan.json").write_text("{}")

    page = write_learning_report(fake_plan, collect_scores(fake_plan), [], tmp_path)

    assert page.parent == tmp_path
    assert "Nothing to compare" in page.read_text("utf-8")

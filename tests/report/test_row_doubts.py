"""Verdicts and pages while the rows of an audit leave something open."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.report.arms import audit_arms
from rightreasons.report.row_doubts import judge_answers
from rightreasons.report.runner import audit


def make_predictions(n_rows=400, **columns):
    """Return overconfident predictions: 0.95 in each answer, of which about three in four are correct."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, n_rows)
    is_correct = rng.random(n_rows) < 0.75
    answers = np.where(is_correct, labels, 1 - labels)
    p_1 = np.where(answers == 1, 0.95, 0.05)
    table = {"id": [f"q{row}" for row in range(n_rows)], "p_no": 1 - p_1, "p_yes": p_1}
    return table | {"label": np.where(labels, "yes", "no").tolist()} | columns


def ask(table, out, **settings):
    """Return the audit of stored predictions with few resamples."""
    return audit(predictions=table, out=out, n_resamples=50, progress=False, **settings)


def test_an_open_doubt_withholds_a_bad_verdict_and_stands_first_on_the_page(tmp_path):
    clean = ask(make_predictions(), tmp_path / "clean")
    states = ["Approved", "Rejected"] * 200
    doubted = ask(make_predictions(AssignmentStatus=states), tmp_path / "doubted")

    assert clean["calibration"].result.verdict.tone == "bad"
    assert doubted["calibration"].result.verdict.tone == "neutral"
    page = doubted.page.read_text("utf-8")
    assert page.index("Check the rows first") < page.index('id="answers"')
    assert doubted.audit["dataset"]["rows"]["doubts"][0]["check"] == "rejected_rows"


def test_examples_of_a_doubt_are_named_by_their_ids(tmp_path):
    # Sorted by id, q100 to q399 are not at the positions of the file. q390 to q399 are conflicts.
    texts = [f"A fine film of {row} minutes." for row in range(390)] + ["The same."] * 10
    table = make_predictions(text=texts)
    table["label"][390:] = ["yes", "no"] * 5

    result = ask(table, tmp_path)

    doubts = {doubt["check"]: doubt for doubt in result.audit["dataset"]["rows"]["doubts"]}
    assert doubts["conflicting_labels"]["examples"][0] == "item q390 (The same.)"


def test_a_settled_doubt_gives_the_verdict_back(tmp_path):
    table = make_predictions(AssignmentStatus=["Approved", "Rejected"] * 200)

    result = ask(table, tmp_path, settled_checks=("rejected_rows",))

    assert result["calibration"].result.verdict.tone == "bad"


def test_rows_of_one_id_are_one_unit_by_default_and_if_named(tmp_path):
    # Twenty ids of twenty equal rows each hold no more than twenty items.
    base = make_predictions(20)
    table = {name: [value for value in column for _ in range(20)] for name, column in base.items()}

    by_default = ask(table, tmp_path / "default")
    named = ask(table, tmp_path / "named", groups_column="id")

    single = ask(base, tmp_path / "single")
    wide = by_default.figures["calibration.accuracy"].estimate
    assert wide == named.figures["calibration.accuracy"].estimate
    # As many units give about as wide an interval, and 20 times as many one of 1 / sqrt(20).
    plain = single.figures["calibration.accuracy"].estimate
    assert (wide.high - wide.low) > 0.7 * (plain.high - plain.low)


def test_each_arm_of_a_long_table_is_audited_by_itself(tmp_path):
    table = make_predictions(80, id=[f"q{row % 40}" for row in range(80)])
    table["arm"] = ["student"] * 40 + ["regex"] * 40

    arms = audit_arms(predictions=table, by="arm", out=tmp_path, n_resamples=50, progress=False)

    assert [arm.name for arm in arms] == ["student", "regex"]
    assert [arm.result.audit["answers"]["n_items"] for arm in arms] == [40, 40]
    with pytest.raises(OptionError) as error:
        ask(table, tmp_path / "both", by="arm")
    assert error.value.option == ("by",)


def test_confidences_say_themselves_which_answers_are_correct():
    # Item 2 has no label; the label of the others says whether the answer is correct.
    split = SimpleNamespace(labels=np.array([1, 0, -1, 1]), labeled=np.array([1, 1, 0, 1], bool))
    context = SimpleNamespace(
        primary=split,
        has_scores=lambda _: True,
        scores=lambda _: None,
        stored=SimpleNamespace(order_doubt="doubt"),
        task="confidence",
    )

    outcomes = judge_answers(context)

    assert outcomes.is_correct.tolist() == [True, False, True]
    assert outcomes.rows.tolist() == [0, 1, 3]
    assert (outcomes.order_doubt, outcomes.is_stored) == ("doubt", True)

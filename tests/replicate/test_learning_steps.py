"""Scores of learning from suites: means, falls between settings, and comparisons with IID."""

import pytest

from rightreasons.behavior.learning.collect import CollectedScores, PlanScores
from rightreasons.behavior.learning.plan import Plan, PlannedRun
from rightreasons.replicate.learning_steps import (
    PARTITIONS,
    _compare_settings,
    describe_scores,
    merge_plans,
)

SETTINGS = ("seen", "functionality", "class", "type")


def make_row(configuration, method, scores, p_values=(), differences=()):
    average = sum(scores.values()) / 4 if len(scores) == 4 else None
    return PlanScores(
        configuration=configuration,
        method=method,
        seed=42,
        iid_score=0.5,
        suite_scores={},
        scores=scores,
        average=average,
        pass_rates={},
        differences=dict(differences),
        p_values=dict(p_values),
        n_runs=1,
        n_unchanged=0,
    )


@pytest.fixture
def collected():
    constant = {
        "configuration": "IID+T",
        "method": "lp",
        "seed": 42,
        "partition": "seen",
        "held": "",
    }
    figures = {"called_class_0": 1.0, "iid_accuracy": 0.5, "mean_confidence": 0.9, "pass_rate": 0.7}
    rows = [
        make_row("IID", "vanilla", {"standard": 0.6}),
        make_row(
            "IID->T",
            "vanilla",
            dict(zip(SETTINGS, (0.7, 0.6, 0.6, 0.5), strict=True)),
            p_values={"functionality": 0.04, "class": 0.5, "type": 0.01},
            differences={"functionality": 0.1, "class": 0.1, "type": -0.1},
        ),
        make_row("IID->T", "lp", dict(zip(SETTINGS, (0.5, 0.5, 0.4, 0.4), strict=True))),
        # The runs that hold out less than a type are missing.
        make_row("IID+T", "lp", {"seen": 0.9, "type": 0.1}),
    ]
    return CollectedScores(
        rows=rows,
        degenerate=[{**constant, **figures}, {**constant, **figures, "partition": "type"}],
        functionalities=("negation",),
        n_functionalities=1,
        n_done=4,
        n_runs=4,
    )


def test_means_are_over_rows_with_all_settings(collected):
    result = describe_scores({"SENT": collected})

    (means,) = result["means"]
    assert means["key"] == {"task": "SENT", "rows": "mean over 2"}
    assert means["figures"] == {"seen": 60.0, "functionality": 55.0, "class": 50.0, "type": 45.0}
    # The model that saw no test has one G, in every setting.
    assert result["rows"][0]["figures"]["type"] == 60.0
    assert result["rows"][3]["figures"]["class"] is None


def test_falls_are_paired(collected):
    falls = describe_scores({"SENT": collected})["falls"]

    assert [(row["key"]["from"], row["figures"]["mean"]["value"]) for row in falls] == [
        ("seen", 5.0),
        ("functionality", 5.0),
        ("class", 5.0),
    ]
    # One fall and no rise: both signs are equally likely.
    assert (falls[0]["figures"]["n_falls"], falls[0]["figures"]["n_rises"]) == (1, 0)
    assert falls[0]["figures"]["p_value"] == 1.0


def test_facts_count_what_is_better_than_no_test(collected):
    result = describe_scores({"SENT": collected})

    assert "that has seen no test is 1, and 0" in result["facts"].pop("comparison")
    # Three held-out figures have a test: one is better, and not after Holm (2 · 0.04); one is worse.
    assert result["facts"] == {
        "n_runs": 4,
        "n_suites": 1,
        "n_held_out": 3,
        "n_better": 1,
        "n_better_corrected": 0,
        "n_constant": 1,
    }
    assert result["constant"][0]["figures"] == {
        "class_0": 100.0,
        "accuracy": 50.0,
        "pass_rate": 70.0,
    }


def test_merged_plans_have_the_runs_of_all(tmp_path):
    runs = [
        PlannedRun("IID", "vanilla", "seen", "", (), 42),
        PlannedRun("IID->T", "vanilla", "type", "INV", ("typos",), 42),
    ]
    plans = []
    for number, run in enumerate(runs):
        settings = {
            "n_cases": [3],
            "functionalities": [["typos", "typos", "INV"]],
            "number": number,
        }
        plan = Plan.create(tmp_path / str(number), [run], settings)
        plan.store(run, {"iid_accuracy": 0.5 + number / 4})
        plans.append(plan)

    merged = merge_plans(plans, tmp_path / "all")

    assert merged.runs == runs
    # Without the cases of the suite, no row is tested against IID.
    assert merged.settings["n_cases"] == [3]
    assert [result["iid_accuracy"] for result in merged.results()] == [0.5, 0.75]


def test_equal_scores_at_each_setting_are_no_fall():
    rows = [dict.fromkeys(PARTITIONS, 0.75), dict.fromkeys(PARTITIONS, 0.5)]

    comparisons = list(_compare_settings("SENT", rows))

    figures = [row["figures"] for row in comparisons]
    assert {(row["n_rows"], row["n_falls"], row["n_rises"]) for row in figures} == {(2, 0, 0)}
    # The sign test has nothing to test.
    assert {row["p_value"] for row in figures} == {1.0}

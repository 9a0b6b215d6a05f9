"""Loops of calibration, cues, behavior and labels: what is accepted, and by which judge."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from rightreasons.behavior.learning.collect import collect_scores, compare_averages
from rightreasons.calibration.recalibration import recalibration_report
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate
from rightreasons.cues import compare_gaps
from rightreasons.repairs import (
    judge_balancing,
    judge_labels,
    judge_learning,
    judge_recalibration,
    write_loop_page,
)
from rightreasons.repairs.label_sheets import LabelReview
from rightreasons.report.gates import gate
from rightreasons.report.learning_page import make_learning_outcome

sys.path.insert(0, str(Path(__file__).parents[1] / "behavior" / "learning"))

from test_collecting import complete_plan, plan


def list_unmet(loop):
    return [criterion.name for criterion in loop.criteria if not criterion.is_met]


# ------------------------------------------------------------------------------------ recalibration


def draw_scores(n_items, seed, sharpness):
    """P(class 1) whose log odds are `sharpness` times the true ones, and the labels."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(scale=2, size=n_items)
    labels = (rng.random(n_items) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    return 1 / (1 + np.exp(-sharpness * odds)), labels


def recalibrate(sharpness, n_items=500, method="temperature"):
    fit = draw_scores(400, 0, sharpness)
    judging = draw_scores(n_items, 1, sharpness)
    report = recalibration_report(*fit, *judging, method=method, scores="probabilities")
    return judge_recalibration(
        report, *judging, scores="probabilities", subject="tone", data="test.csv"
    )


def test_an_overconfident_model_is_recalibrated():
    loop = recalibrate(3.0)

    assert loop.accepted
    assert loop.main.corrected.value < loop.main.original.value
    assert loop.main.p_value < 0.001


def test_a_calibrated_model_has_nothing_to_correct():
    assert recalibrate(1.0).accepted is None


def test_a_constant_confidence_is_not_accepted():
    scores, labels = draw_scores(500, 1, 3.0)
    fit_scores, fit_labels = draw_scores(400, 0, 3.0)
    report = recalibration_report(
        fit_scores, fit_labels, scores, labels, method="isotonic", scores="probabilities"
    )
    # All that is left of each item is its predicted class: calibrated, and useless.
    rate = float(((fit_scores > 0.5) == fit_labels).mean())
    flat = dataclasses.replace(
        report.recalibrator,
        parameters={"scores": [[0.0, 0.49, 0.51, 1.0]] * 2, "rates": [[1 - rate] * 2 + [rate] * 2] * 2},
    )  # fmt: skip

    loop = judge_recalibration(
        dataclasses.replace(report, recalibrator=flat),
        scores,
        labels,
        scores="probabilities",
        subject="tone",
        data="test.csv",
    )

    assert "auroc" in list_unmet(loop)


def test_few_items_judge_nothing():
    with pytest.raises(OptionError, match="at least 100") as error:
        recalibrate(3.0, n_items=99)

    assert error.value.option == ("file",)


# ---------------------------------------------------------------------------------- mirrored items


def make_runs(labels, easy, easy_rate, hard_rate, n_runs=3):
    """Predictions of runs that are correct on given shares of the items, each on others of them."""
    rates = np.where(easy, easy_rate, hard_rate)
    # 37 and 100 have no common divisor, so that the correct items are spread evenly.
    places = (37 * np.arange(len(labels))[:, None] + 11 * np.arange(n_runs)) % 100
    is_correct = places < 100 * rates[:, None]
    return np.where(is_correct, labels[:, None], 1 - labels[:, None])


@pytest.mark.parametrize(
    ("old_rates", "new_rates", "unmet"),
    [
        ((0.95, 0.55), (0.8, 0.78), []),
        ((0.95, 0.55), (0.95, 0.55), ["gap_change"]),
        # The gap closes because nothing is left of the accuracy on Hard items.
        ((0.95, 0.65), (0.55, 0.55), ["hard"]),
        ((0.7, 0.7), (0.7, 0.7), ["gap", "gap_change"]),
    ],
)
def test_balancing_is_judged_by_the_gap_and_by_hard_items(old_rates, new_rates, unmet):
    rng = np.random.default_rng(7)
    labels = rng.integers(2, size=300)
    easy = rng.random(300) < 0.4
    original = make_runs(labels, easy, *old_rates)
    balanced = make_runs(labels, easy, *new_rates)
    comparison = compare_gaps(original, balanced, labels, easy, n_permutations=100)

    loop = judge_balancing(comparison, original, balanced, labels, easy, data="copa")

    assert list_unmet(loop) == unmet
    expected = None if "gap" in unmet else not unmet
    assert loop.accepted is expected


# --------------------------------------------------------------------------- training on the tests


@pytest.mark.parametrize(
    ("share", "unmet"), [(0.9, []), (0.55, ["gain"]), (0.2, ["gain", "worse"])]
)
def test_learning_is_judged_by_what_was_held_out(share, unmet):
    fake_plan = complete_plan(seeds=(1,), share=share)
    scores = collect_scores(fake_plan)

    loop = judge_learning(make_learning_outcome(fake_plan, scores, compare_averages([fake_plan])))

    assert list_unmet(loop) == unmet
    assert loop.main.name == "G, functionality held out"
    # IID passes 10 of 20, all independent items are correct.
    assert loop.main.original.value == pytest.approx(2 * 0.5 / 1.5)


def test_unfinished_runs_judge_nothing():
    fake_plan = plan(unfinished={("seen", "")})
    outcome = make_learning_outcome(fake_plan, collect_scores(fake_plan), [])

    with pytest.raises(ValueError, match="hold out"):
        judge_learning(outcome)


# ----------------------------------------------------------------------------------------- labels


def make_review(incorrect, remaining, n_items=300):
    return LabelReview(
        n_items=n_items,
        n_disputed=30,
        n_reviewed=80,
        wrong_disputed=Estimate(0.9, 0.8, 0.95),
        wrong_controls=Estimate(0.0, 0.0, 0.05),
        accuracy=Estimate(0.9, 0.85, 0.93),
        accuracy_change=None,
        incorrect=incorrect,
        remaining=remaining,
    )


@pytest.mark.parametrize(
    ("incorrect", "remaining", "accepted"),
    [
        (Estimate(0.09, 0.08, 0.12), Estimate(0.0, 0.0, 0.04), True),
        (Estimate(0.09, 0.08, 0.12), Estimate(0.03, 0.0, 0.11), False),
        (Estimate(0.09, 0.08, 0.12), Estimate(0.06, 0.03, 0.09), False),
        (Estimate(0.01, 0.0, 0.03), Estimate(0.0, 0.0, 0.04), None),
    ],
)
def test_labels_are_judged_by_the_controls(incorrect, remaining, accepted):
    loop = judge_labels(make_review(incorrect, remaining), data="reviews", model="tone")

    assert loop.accepted is accepted


@pytest.mark.parametrize(
    ("incorrect", "remaining"),
    [
        (None, None),
        (Estimate(0.09, 0.08, 0.12), None),
        (None, Estimate(0.0, 0.0, 0.04)),
    ],
)
def test_labels_without_controls_are_not_judged(incorrect, remaining):
    with pytest.raises(OptionError, match="both kinds") as error:
        judge_labels(make_review(incorrect, remaining), data="reviews", model="tone")

    assert error.value.option == ("sheet",)


# --------------------------------------------------------------------------------------- the page


@pytest.mark.parametrize("remaining", [Estimate(0.0, 0.0, 0.04), Estimate(0.2, 0.1, 0.3)])
def test_the_gate_reads_the_page(tmp_path, remaining):
    review = make_review(Estimate(0.09, 0.08, 0.12), remaining)
    loop = judge_labels(review, data="reviews", model="tone")

    page = write_loop_page(loop, tmp_path / "labels")

    assert page.is_file()
    is_accepted = bool(loop.accepted)
    assert gate(page.parent, ["labels.accepted < 1"]).passed is is_accepted
    refusal = "rule is not met: remaining incorrect labels"
    assert (refusal in page.read_text("utf-8")) is not is_accepted


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    review = make_review(Estimate(0.09, 0.08, 0.12), Estimate(0.0, 0.0, 0.04))

    with pytest.raises(ValueError, match=r"notes\.txt"):
        write_loop_page(judge_labels(review, data="reviews", model="tone"), tmp_path)

"""Audits side by side: their order, and what their cells show."""

import sys
from pathlib import Path

import pytest

from rightreasons.page.parts import Finding, SectionResult, Verdict
from rightreasons.report.outcomes import Outcome
from rightreasons.report.schema import read_audit
from small_audits import figure, small_audit, small_outcomes

sys.path.append(str(Path(__file__).parents[2] / "spaces" / "leaderboard"))

from audit_rows import find_audits, leaderboard


def one(folder, name, tone, rate, better="lower"):
    interval = () if rate is None else (rate / 2, rate * 2)
    headline = figure("deciding_share", rate, *interval, better=better)
    answer = SectionResult(Verdict(tone, f"{tone} {rate}", "Because."), (headline,), ())
    outcomes = (Outcome("shortcuts", "Shortcuts?", "answered", "", answer), *small_outcomes()[2:])
    return read_audit(small_audit(folder / name, name=name, outcomes=outcomes))


@pytest.fixture
def audits(tmp_path):
    audits = [
        one(tmp_path, "a", "bad", 0.2),
        one(tmp_path, "b", "good", 0.1),
        one(tmp_path, "c", "good", 0.05),
    ]
    return [
        *audits,
        read_audit(small_audit(tmp_path / "d", name="d", outcomes=small_outcomes()[2:])),
    ]


def test_best_verdict_first_then_the_better_figure_and_last_what_has_no_answer(audits):
    rows = leaderboard(audits, by="shortcuts")
    assert [row.model for row in rows] == ["c", "b", "a", "d"]
    cell = rows[0]["shortcuts"]
    assert (cell.tone, cell.figure.estimate.value, cell.figure.estimate.high) == ("good", 0.05, 0.1)
    assert rows[3]["shortcuts"].verdict == "The question was not asked."
    assert rows[3]["behavior"].verdict == "No behavioral suite was named."


@pytest.mark.parametrize(
    ("better", "order"), [("lower", ["b", "a", "c"]), ("higher", ["a", "b", "c"])]
)
def test_within_a_verdict_an_undefined_figure_comes_after_those_that_are_defined(
    tmp_path, better, order
):
    rates = {"a": 3.0, "c": None, "b": 0.1}  # such as a ratio or a count
    audits = [one(tmp_path, name, "good", rate, better) for name, rate in rates.items()]
    assert [row.model for row in leaderboard(audits, by="shortcuts")] == order


def test_without_a_question_those_that_asked_most_come_first_then_the_fewest_problems_and_ties_stay(
    audits,
):
    # "d" has the fewest answers; bad verdicts of the others are 1, 0, 0.
    assert [row.model for row in leaderboard(audits)] == ["b", "c", "a", "d"]
    assert [row.n_items for row in leaderboard(audits)] == [150] * 4


def test_a_cell_shows_what_the_finding_is_about(tmp_path):
    headlines = figure("accuracy", 0.9, 0.8, 0.95, better="higher"), figure("ece", 0.2, 0.1, 0.3)
    finding = Finding("is sure.", "Counted.", figure="ece", size=0.2)
    answer = SectionResult(
        Verdict("bad", "Overconfident", "Because."), headlines, (), finding=finding
    )
    file = small_audit(
        tmp_path, outcomes=(Outcome("calibration", "Calibrated?", "answered", "", answer),)
    )
    assert leaderboard([read_audit(file)])[0]["calibration"].figure.path == "calibration.ece"


def test_a_folder_of_audits(audits, tmp_path):
    (tmp_path / "notes.json").write_text("{}")
    assert find_audits(tmp_path) == audits


def test_mistakes(audits):
    with pytest.raises(ValueError, match="Expected `by` to be one of 'calibration'"):
        leaderboard(audits, by="speed")
    with pytest.raises(ValueError, match="field required"):
        leaderboard([{}])

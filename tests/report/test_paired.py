"""Reports side by side: the change and its interval, and who is better at what."""

import json
import re

import numpy as np
import pytest
from scipy import special

from command_line import run
from rightreasons.page.parts import SectionResult, Verdict
from rightreasons.report.comparison import compare
from rightreasons.report.paired import history
from rightreasons.report.render import Outcome
from small_audits import figure, small_audit

pytestmark = pytest.mark.usefixtures("unrendered")


def report(folder, name, accuracy, rate, **more):
    figures = (
        figure("accuracy", accuracy, accuracy - 0.03, accuracy + 0.02, better="higher"),
        figure("deciding_share", rate, rate - 0.04, rate + 0.05, better="lower"),
        figure("gap", 0.1, -0.2, 0.3),
        figure("nll", 0.5, better="lower", unit="nats"),
    )
    result = SectionResult(Verdict("warn", "So", "So."), figures, ())
    return small_audit(folder, name=name, outcomes=(Outcome("shortcuts", "Q?", "answered", "", result),), **more)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    rows = (("one", 0.8, 0.1), ("two", 0.85, 0.2), ("three", 0.9, 0.3))
    return [report(folder / name, f"org/{name}", *values) for name, *values in rows]


def test_changes_have_intervals_and_a_better_side(reports):
    found = {figure.path: figure for figure in history(reports).figures}
    accuracy, rate = found["shortcuts.accuracy"], found["shortcuts.deciding_share"]
    assert [estimate.value for estimate in accuracy.estimates] == [0.8, 0.85, 0.9]
    # sqrt(0.03^2 + 0.02^2) = 0.0361 on either side of 0.1; sqrt(0.04^2 + 0.05^2) = 0.0640 of 0.2.
    assert (accuracy.change.value, accuracy.change.low, accuracy.change.high) == pytest.approx(
        (0.1, 0.0639, 0.1361), abs=1e-4
    )
    assert (rate.change.value, rate.change.low, rate.change.high) == pytest.approx((0.2, 0.1360, 0.2640), abs=1e-4)
    better = {path: figure.better for path, figure in found.items()}
    assert better == {
        "shortcuts.accuracy": "last", "shortcuts.deciding_share": "first", "shortcuts.gap": "", "shortcuts.nll": "open",
    }  # fmt: skip
    assert found["shortcuts.nll"].change is None
    assert [figure.path for figure in history(reports[::-1]).better_at("last")] == ["shortcuts.deciding_share"]
    near = {figure.path: figure for figure in history([reports[0], reports[0]]).figures}
    assert near["shortcuts.accuracy"].better == "open"


def test_the_command_follows_checkpoints(capsys, reports, tmp_path):
    code, out, _ = run(capsys, "compare", *reports, "--out", tmp_path / "page")
    assert code == 0
    assert "Not compared item by item. Expected two reports of the same splits" in out
    rows = {line.split()[0]: re.sub(" +", " ", line) for line in out.splitlines() if line.startswith("  ")}
    assert rows["accuracy"].endswith(" 10.0% [6.4, 13.6] org/three")
    assert [rows["deciding"].count("%"), rows["deciding"].endswith(" org/one")] == [4, True]
    assert "1 figure is better in org/three than in org/one, beyond the intervals; 1 worse; 1 undecided." in " ".join(
        out.split()
    )
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "From org/one to org/three" in page
    assert "Shortcuts over the reports" in page
    assert "Which is better at what?" not in page


def test_stored_answers_are_followed_from_file_to_file(capsys, tmp_path):
    """Each model's answers are a file of their own: they are of the same data where they share items."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    folders = []
    for step, strength in ((100, 0.3), (200, 1.0), (300, 2.5)):
        logits = rng.normal(0, 1, (60, 2))
        logits[np.arange(60), labels] += strength
        rows = [
            {"id": f"r{n}", "text": f"text {n}", "label": int(label), "probabilities": row.tolist()}
            for n, (label, row) in enumerate(zip(labels, special.softmax(logits, 1), strict=True))
        ]
        file = tmp_path / f"step-{step}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        folders.append(tmp_path / f"report-{step}")
        code, _, err = run(capsys, "audit", "--predictions", file, "--out", folders[-1], "--n-resamples", 20)
        assert code == 0, err
    followed = compare(*folders, n_resamples=50)
    assert followed.history.models == ("step-100.jsonl", "step-200.jsonl", "step-300.jsonl")
    assert [split.n_items for split in followed.splits] == [60]
    accuracies = next(f for f in followed.side_by_side if f.path == "calibration.accuracy").estimates
    assert followed.splits[0].figures[0].first.value == accuracies[0].value
    assert followed.splits[0].figures[0].second.value == accuracies[2].value
    file.write_text(file.read_text("utf-8").replace("text ", "another text "), "utf-8")
    code, _, err = run(capsys, "audit", "--predictions", file, "--out", tmp_path / "other", "--n-resamples", 20)
    assert code == 0, err
    with pytest.raises(ValueError, match="and they share no item"):
        compare(folders[0], tmp_path / "other")


def test_reports_of_other_data_are_refused(reports, tmp_path):
    other = report(tmp_path / "other", "org/x", 0.5, 0.1, dataset="tweets")
    with pytest.raises(ValueError, match="the same data, reviews, but .*other is of tweets"):
        history([reports[0], other])
    with pytest.raises(ValueError, match="at least two reports, but got 1"):
        history(reports[:1])

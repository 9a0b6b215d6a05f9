"""Reports side by side: the change and its interval, and who is better at what."""

import pytest

from command_line import run
from rightreasons.auditing.page.parts import SectionResult, Verdict
from rightreasons.auditing.page.report import Outcome
from rightreasons.auditing.reading.history import history
from small_audits import figure, small_audit


def report(folder, name, accuracy, rate, **more):
    figures = (
        figure("accuracy", accuracy, accuracy - 0.03, accuracy + 0.02, better="higher"),
        figure("causal_shortcut_rate", rate, rate - 0.04, rate + 0.05, better="lower"),
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
    accuracy, rate = found["shortcuts.accuracy"], found["shortcuts.causal_rate"]
    assert [estimate.value for estimate in accuracy.estimates] == [0.8, 0.85, 0.9]
    # sqrt(0.03^2 + 0.02^2) = 0.0361 on either side of 0.1; sqrt(0.04^2 + 0.05^2) = 0.0640 of 0.2.
    assert (accuracy.change.value, accuracy.change.low, accuracy.change.high) == pytest.approx(
        (0.1, 0.0639, 0.1361), abs=1e-4
    )
    assert (rate.change.value, rate.change.low, rate.change.high) == pytest.approx((0.2, 0.1360, 0.2640), abs=1e-4)
    better = {path: figure.better for path, figure in found.items()}
    assert better == {
        "shortcuts.accuracy": "last", "shortcuts.causal_rate": "first", "shortcuts.gap": "", "shortcuts.nll": "open",
    }  # fmt: skip
    assert found["shortcuts.nll"].change is None
    assert [figure.path for figure in history(reports[::-1]).better_at("last")] == ["shortcuts.causal_rate"]
    near = {figure.path: figure for figure in history([reports[0], reports[0]]).figures}
    assert near["shortcuts.accuracy"].better == "open"


def test_the_command_follows_checkpoints(capsys, reports):
    code, out, _ = run(capsys, "compare", *reports)
    assert code == 0
    assert "shortcuts.accuracy     80.0% → 85.0% → 90.0%  change 10.0% [6.4, 13.6]  better" in out
    assert (
        "org/one (first) is better at: shortcuts.causal_rate\norg/three (last) is better at: shortcuts.accuracy" in out
    )


def test_reports_of_other_data_are_refused(reports, tmp_path):
    other = report(tmp_path / "other", "org/x", 0.5, 0.1, dataset="tweets")
    with pytest.raises(ValueError, match="the same data, reviews, but .*other is of tweets"):
        history([reports[0], other])
    with pytest.raises(ValueError, match="at least two reports, but got 1"):
        history(reports[:1])

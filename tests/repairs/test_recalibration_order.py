"""A shortcut that decides is repaired before the model is recalibrated."""

import pytest

from rightreasons.repairs import recalibration_order
from rightreasons.repairs.recalibration_order import explain_order, find_report


def make_row(name, share, words=(), level="large"):
    return {
        "test": "words" if words else "length",
        "name": name,
        "words": list(words),
        "decision": {"level": level},
        "effect": {"deciding_share": share},
    }


def make_audit(*rows, question="shortcuts"):
    swaps = {"tests": list(rows), "pairs": [], "judged": {}}
    return {"questions": [{"question": question, "result": {"data": {"swaps": swaps}}}]}


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        (make_audit(), ""),
        (make_audit(make_row("copper", 0.9, ["copper"]), question="calibration"), ""),
        (make_audit(make_row("copper", 0.9, ["copper"], level="small")), ""),
        (
            make_audit(make_row("copper", 0.4, ["copper"]), make_row("length", 0.61)),
            "61.0% of the predictions in report are decided by length: ",
        ),
        (
            make_audit(make_row("pair", 0.98, ["copper", "marble"])),
            "98.0% of the predictions in report are decided by “copper” and “marble”: ",
        ),
    ],
)
def test_the_strongest_feature_that_decides_is_named(monkeypatch, audit, expected):
    monkeypatch.setattr(recalibration_order, "read_audit", lambda report: audit)

    explanation = explain_order("report")

    assert explanation.startswith(expected)
    assert bool(explanation) == bool(expected)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["copper"], "unless that is a reason, repair the model first, and recalibrate it on texts without it."),
        (["copper", "marble"], "unless these are reasons, repair the model first, and recalibrate it on texts without them."),
        ([], "unless that is a reason, repair the model first, and recalibrate it on texts without it."),
    ],
)  # fmt: skip
def test_the_warning_agrees_in_number_with_the_words(monkeypatch, words, expected):
    audit = make_audit(make_row("feature", 0.3, words))
    monkeypatch.setattr(recalibration_order, "read_audit", lambda report: audit)

    assert expected in explain_order("report")


def test_a_file_of_a_report_finds_it(tmp_path):
    (tmp_path / "predictions").mkdir()
    file = tmp_path / "predictions" / "test.parquet"

    assert find_report(file) is None
    (tmp_path / "audit.json").touch()
    assert find_report(file) == tmp_path.resolve()
    assert find_report(tmp_path / "test.csv") is None

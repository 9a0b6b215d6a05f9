"""The demo of `make audit`: what it trains is the same on every machine, and so is what it finds."""

import pytest

from rightreasons.report import demo

SPLITS = ("test", "test_absent", "test_flipped")
PLANTED = {**demo.PLANTED, "train_size": 1000, "validation_size": 20, "test_size": 300}


@pytest.mark.usefixtures("unrendered")
def test_the_demo_names_the_planted_words(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "PLANTED", PLANTED)
    said, few = (
        [],
        {"progress": False, "questions": ["calibration", "shortcuts"], "n_resamples": 20},
    )
    result = demo.audit_demo(tmp_path / "report", seed=3, say=said.append, **few)
    assert len(said) == 3
    dataset = result.audit["dataset"]
    assert dataset["name"] == "planted_shortcuts"
    assert [split["name"] for split in dataset["splits"]] == [*SPLITS]
    splits = result["calibration"].result.data["splits"]
    assert splits["test"]["accuracy"]["value"] > splits["test_flipped"]["accuracy"]["value"] + 0.3
    verdict = result["shortcuts"].result.verdict
    assert (verdict.tone, verdict.label) == ("bad", "Relies on a shortcut")
    assert "“copper” and “marble”" in verdict.summary
    page = result.page.read_text("utf-8")
    assert "<code>rightreasons demo --seed 3</code>" in page
    # The page goes on with a command, in the folder of this report, and with its seed.
    commands = [action.command for action in result["shortcuts"].result.finding.actions]
    assert "rightreasons demo --repair --seed 3" in commands


def test_the_demo_is_repaired_where_it_was_written():
    assert demo.format_repair_command("report") == "rightreasons demo --repair"
    command = demo.format_repair_command(
        "my report", seed=2, program=".demo/bin/python -m rightreasons"
    )
    assert command == (".demo/bin/python -m rightreasons demo --repair --out 'my report' --seed 2")

"""A replication resumes step by step, and its tables are written again from what is stored."""

import json

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.replicate import replicate, steps
from rightreasons.replicate.recipe import load_recipe

PAPER = "datta2020"


@pytest.fixture
def runs(monkeypatch):
    """The kinds of steps that ran; each returns rows without training anything."""
    names = []

    def measure_pairs(work):
        names.append("measure_pairs")
        figures = {"mean": {"value": -0.5, "std": 1.0}, "not_harder": 25.0}
        key = {"model": "tiny", "set": "counterfactual", "split": "dev"}
        facts = {"counterfactual_dev_harder": 75.0, "contrast_dev_harder": 50.0}
        return {"rows": [{"key": key, "figures": figures}], "facts": facts}

    monkeypatch.setattr(steps, "STEPS", {"measure_pairs": measure_pairs})
    return names


def test_finished_steps_are_not_repeated(runs, tmp_path):
    first = replicate(PAPER, out=tmp_path, scale="smoke")
    tables = (tmp_path / "TABLES.md").read_text("utf-8")
    again = replicate(PAPER, out=tmp_path, scale="smoke")

    assert runs == ["measure_pairs"]
    assert again == first
    assert (tmp_path / "TABLES.md").read_text("utf-8") == tables
    assert "harder for 75 % of the pairs" in tables
    assert "| CNN, counterfactual, dev | tiny, counterfactual, dev |" in tables


def test_another_scale_runs_again(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")
    replicate(PAPER, out=tmp_path, scale="small")

    assert runs == ["measure_pairs"] * 2


def test_report_runs_nothing(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")
    tables = (tmp_path / "TABLES.md").read_text("utf-8")
    (tmp_path / "TABLES.md").unlink()

    replicate(PAPER, out=tmp_path, report=True)

    assert runs == ["measure_pairs"]
    assert (tmp_path / "TABLES.md").read_text("utf-8") == tables


def test_report_without_results_is_refused(tmp_path):
    with pytest.raises(OptionError, match="results.json") as error:
        replicate(PAPER, out=tmp_path / "empty", report=True)

    assert error.value.option == ("out",)


def test_results_hold_no_text_of_the_data(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")

    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert set(stored) == {"paper", "scale", "seconds", "steps"}
    assert set(stored["steps"]) == {step.name for step in load_recipe(PAPER).steps}

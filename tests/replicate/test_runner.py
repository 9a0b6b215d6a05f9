"""A replication resumes step by step, and its tables are written again from what is stored."""

import json

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.replicate import replicate, steps
from rightreasons.replicate.recipe import load_recipe

PAPER = "datta2020"
STEPS = ["measure_gaussians", "measure_pairs"]


@pytest.fixture
def runs(monkeypatch):
    """The kinds of steps that ran; each returns rows without training anything."""
    names = []

    def measure_gaussians(work):
        names.append("measure_gaussians")
        row = {"key": {"seed": 0}, "figures": {"correlation": 0.95, "close": 100.0}}
        return {"rows": [row], "facts": {"lowest": 0.95, "n_seeds": 1}}

    def measure_pairs(work):
        names.append("measure_pairs")
        figures = {"mean": {"value": -0.5, "std": 1.0}, "not_harder": 25.0, "margin": 0.9}
        key = {"model": "tiny", "seed": 0, "set": "counterfactual", "split": "dev"}
        facts = {"n_harder": 1, "n_rows": 1, "largest_p_value": 0.04}
        facts |= {"lowest_margin": 0.9, "highest_margin": 0.9}
        facts |= {"lowest_hardest": 5.0, "highest_hardest": 5.0, "highest_easiest": 0.0}
        key_of_flips = {"model": "tiny", "seed": 0, "replaced by": "all kinds"}
        flips = [{"key": key_of_flips, "figures": {"hardest": 5.0}}]
        return {
            "rows": [{"key": key, "figures": figures}],
            "facts": facts,
            "substitutions": flips,
        }

    kinds = {
        "measure_gaussians": measure_gaussians,
        "measure_pairs": measure_pairs,
    }
    monkeypatch.setattr(steps, "STEPS", kinds)
    return names


def test_finished_steps_are_not_repeated(runs, tmp_path):
    first = replicate(PAPER, out=tmp_path, scale="smoke")
    tables = (tmp_path / "TABLES.md").read_text("utf-8")
    again = replicate(PAPER, out=tmp_path, scale="smoke")

    assert runs == STEPS
    assert again == first
    assert (tmp_path / "TABLES.md").read_text("utf-8") == tables
    assert "harder on average in 1 of 1 comparisons" in tables
    assert "| CNN, counterfactual, dev | tiny, 0, counterfactual, dev |" in tables


def test_another_scale_runs_again(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")
    replicate(PAPER, out=tmp_path, scale="small")

    assert runs == STEPS * 2


def test_report_runs_nothing(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")
    tables = (tmp_path / "TABLES.md").read_text("utf-8")
    (tmp_path / "TABLES.md").unlink()

    replicate(PAPER, out=tmp_path, report=True)

    assert runs == STEPS
    assert (tmp_path / "TABLES.md").read_text("utf-8") == tables


def test_report_without_results_is_refused(tmp_path):
    with pytest.raises(OptionError, match="results.json") as error:
        replicate(PAPER, out=tmp_path / "empty", report=True)

    assert error.value.option == ("out",)


def test_results_hold_no_text_of_the_data(runs, tmp_path):
    replicate(PAPER, out=tmp_path, scale="smoke")

    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert set(stored) == {"paper", "scale", "cpu_seconds", "steps"}
    assert set(stored["steps"]) == {step.name for step in load_recipe(PAPER).steps}

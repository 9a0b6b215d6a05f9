"""The committed tables of replications are those that `--report` writes, and old results are kept."""

import json
import re
import shutil
from pathlib import Path

import pytest

from command_line import run
from rightreasons.replicate.recipe import PAPERS, load_recipe

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "replications"


@pytest.mark.parametrize("paper", sorted(path.name for path in FOLDER.iterdir()))
def test_tables_follow_from_results(paper, tmp_path, capsys):
    shutil.copy(FOLDER / paper / "results.json", tmp_path)

    code, _, _ = run(capsys, "replicate", paper, "--out", tmp_path, "--report")

    assert code == 0
    committed = (FOLDER / paper / "TABLES.md").read_text("utf-8")
    assert (tmp_path / "TABLES.md").read_text("utf-8") == committed


def test_copa_has_the_stored_results_of_its_experiment():
    """The trainings are those of experiments/balanced_copa: the same figures, to the last digit."""
    replication = json.loads((FOLDER / "kavumba2019" / "results.json").read_text("utf-8"))
    stored = json.loads((ROOT / "experiments/balanced_copa/results.json").read_text("utf-8"))
    names = {"original": "COPA", "balanced_50": "B-COPA 50 %", "balanced": "B-COPA"}
    rows = {}
    for step in ("fine_tuned", "frozen"):
        for row in replication["steps"][step]["rows"]:
            rows[step, row["key"]["trained on"]] = row["figures"]

    for row in stored["rows"]:
        step = "frozen" if row["frozen_encoder"] else "fine_tuned"
        figures = rows[step, names[row["training_set"]]]
        gap = row["gap"]
        assert figures["gap"]["value"] == round(100 * gap["easy_hard_gap"], 6)
        assert figures["accuracy"]["value"] == round(100 * gap["accuracy"], 6)
        assert figures["easy_accuracy"]["std"] == round(100 * gap["easy_accuracy_std"], 6)


def test_the_page_has_the_costs_and_figures():
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8").replace("\N{MINUS SIGN}", "-")
    for paper in PAPERS:
        hours = load_recipe(paper).scales["paper"].gpu_hours
        assert re.search(rf"\| `{paper}` \|.*\| {hours:g} \|\n", page), paper
    replication = json.loads((FOLDER / "kavumba2019" / "results.json").read_text("utf-8"))
    facts = replication["steps"]["change"]["facts"]
    assert f"{facts['value']:.1f} points [{facts['low']:.1f}, {facts['high']:.1f}]" in page
    assert f"p = {facts['p_value']:.3f} over items and seeds".replace("0.", ".") in page


def test_an_unknown_scale_is_refused(tmp_path, capsys):
    code, _, error = run(capsys, "replicate", "datta2020", "--scale", "smoke", "--out", tmp_path)

    assert (code, "--scale" in error) == (2, True)

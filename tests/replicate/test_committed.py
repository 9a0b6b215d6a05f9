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


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_tables_follow_from_results(name, tmp_path, capsys):
    shutil.copy(FOLDER / name / "results.json", tmp_path)

    # A folder of another scale than the small one has the scale after the paper.
    paper, _, _ = name.partition("-")
    code, _, _ = run(capsys, "replicate", paper, "--out", tmp_path, "--report")

    assert code == 0
    committed = (FOLDER / name / "TABLES.md").read_text("utf-8")
    assert (tmp_path / "TABLES.md").read_text("utf-8") == committed


def read_results(paper):
    """The committed results of a replication; None if there are none."""
    file = FOLDER / paper / "results.json"
    if not file.is_file():
        return None
    return json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_has_the_costs(paper):
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8")
    hours = load_recipe(paper).scales["paper"].gpu_hours
    results = read_results(paper)
    minutes = "–"
    # What was measured elsewhere, or not at all, has no time.
    if results is not None and results["cpu_seconds"]:
        minutes = f"{sum(results['cpu_seconds'].values()) / 60:.0f}"

    assert re.search(rf"\| `{paper}` \|.*\| {minutes} \| {hours:g} \|\n", page)


def test_a_small_replication_takes_less_than_an_hour_of_two_cores():
    for paper in PAPERS:
        results = read_results(paper)
        assert results["scale"] == "small"
        # Two cores have two hours of CPU time in an hour; one of them is enough.
        assert sum(results["cpu_seconds"].values()) < 3600


def read_evidence(name):
    """The line of the page of evidence that links to a replication."""
    page = (ROOT / "docs" / "evidence" / "index.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if f"replications/{name}/TABLES.md)" in line]
    assert len(lines) == 1
    return lines[0]


def test_the_evidence_quotes_copa():
    step = read_results("kavumba2019")["steps"]["fine_tuned"]
    figures = {row["key"]["trained on"]: row["figures"] for row in step["rows"]}
    line = read_evidence("kavumba2019")

    easy = figures["COPA"]["easy_accuracy"]["value"]
    hard = figures["COPA"]["hard_accuracy"]["value"]
    assert f"{easy:.1f}% of the Easy items and {hard:.1f}% of the Hard items" in line
    gaps = [figures[name]["gap"]["value"] for name in ("COPA", "B-COPA")]
    assert "from {:.1f} to {:.1f} points".format(*gaps) in line
    falls = {row["key"]["productivity"]: row["figures"]["falls"] for row in step["falls"]}
    assert falls["0.4 to 0.6"] > 95


def test_the_evidence_quotes_the_paradox():
    steps = read_results("bihani2025-medium")["steps"]
    line = read_evidence("bihani2025-medium")

    claims = {row["key"]["figure"]: row["figures"] for row in steps["own_claim"]["rows"]}
    for name in ("P_sc", "excess"):
        claim = claims[name]
        assert f"{claim['mean_rho']:+.2f} (p = {claim['p_value']:.2f})" in line
        assert claim["n_tasks"] == 8
    facts = steps["models"]["facts"]
    assert f"positive for {facts['n_excess']} of {facts['n_rows']} pairs" in line


def test_the_evidence_quotes_prior_bias_and_paralysis():
    step = read_results("shen2022")["steps"]["probes"]

    facts = step["facts"]
    line = read_evidence("shen2022")
    assert f"in {facts['n_biased']} of {facts['n_models']} trained models" in line
    for row in step["rows"]:
        assert row["figures"]["paralysis_4"] <= row["figures"]["dilution_4"]


def test_the_evidence_quotes_difficulty():
    facts = read_results("datta2020")["steps"]["pairs"]["facts"]
    line = read_evidence("datta2020")

    assert f"in {facts['n_harder']} of {facts['n_rows']} comparisons" in line
    assert f"{facts['lowest_margin']:.2f} to {facts['highest_margin']:.2f}" in line


def test_the_evidence_quotes_learning():
    step = read_results("beluga2023-medium")["steps"]["learned"]
    line = read_evidence("beluga2023-medium")

    for row in step["falls"]:
        if row["key"]["from"] == "seen":
            mean = row["figures"]["mean"]
            assert "{value:.1f} [{low:.1f}, {high:.1f}]".format(**mean) in line
    facts = step["facts"]
    assert facts["n_better_corrected"] == 0
    assert f"none of {facts['n_held_out']} held-out scores" in line


def test_an_unknown_scale_is_refused(tmp_path, capsys):
    code, _, error = run(capsys, "replicate", "datta2020", "--scale", "smoke", "--out", tmp_path)

    assert (code, "--scale" in error) == (2, True)

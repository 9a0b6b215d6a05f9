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


def test_the_page_quotes_the_gap_of_copa():
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8")
    facts = read_results("kavumba2019")["steps"]["change"]["facts"]
    assert f"{facts['value']:.1f} points [{facts['low']:.1f}, {facts['high']:.1f}]" in page
    assert f"p = {facts['p_value']:.3f} over items and seeds".replace("0.", ".") in page


def test_the_page_quotes_what_is_left_without_the_question():
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8")
    rows = read_results("shen2022")["steps"]["probes"]["rows"]
    figures = {row["key"]["benchmark"]: row["figures"] for row in rows}
    with_question = 100 * figures["socialiqa"]["accuracy"]["value"]
    without = 100 * figures["socialiqa"]["no_question_pseudo"]["value"]
    assert f"{with_question:.1f} % of the items with their question and on {without:.1f} %" in page
    # Near chance: the share of chance, a half or a quarter, is in the interval or above it.
    chances = {"anli": 0.5, "hellaswag": 0.25, "piqa": 0.5}
    assert all(figures[name]["accuracy"]["low"] <= chance for name, chance in chances.items())
    for row in rows:
        assert row["figures"]["paralysis_4"] <= row["figures"]["dilution_4"]


def test_the_page_quotes_the_language_model():
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8")
    rows = read_results("shen2022-medium")["steps"]["language_models"]["rows"]
    drops = {"mean": [], "letters": []}
    for row in rows:
        drops[row["key"]["method"]].append(row["figures"]["restricted"])

    # Choices that are scored one by one cannot lose confidence among themselves.
    assert {drop["value"] for drop in drops["mean"]} == {0.0}
    assert all(drop["low"] > 0 for drop in drops["letters"])
    values = [100 * drop["value"] for drop in drops["letters"]]
    assert f"{min(values):.0f} to {max(values):.0f} points among an item's own choices" in page


def test_the_page_quotes_the_corrected_columns():
    page = (ROOT / "docs" / "replicate.md").read_text("utf-8")
    steps = read_results("bihani2025")["steps"]
    facts = steps["corrected"]["facts"]
    for task in ("Irony", "Hate"):
        quoted = "F1 {:.1f} and {:.1f} %, P_sc {:.1f} and {:.1f} %, ECE {:.3f} and {:.3f}".format(
            facts[f"{task}_f1"],
            facts[f"{task}_f1_corrected"],
            facts[f"{task}_shortcut_rate"],
            facts[f"{task}_shortcut_rate_corrected"],
            facts[f"{task}_ece"],
            facts[f"{task}_ece_corrected"],
        )
        assert f"{task}: {quoted}" in page
    counts = steps["models"]["facts"]
    assert f"in {counts['n_excess']} of {counts['n_rows']} tasks" in page
    medium = read_results("bihani2025-medium")["steps"]["own_claim"]["rows"]
    claims = [row["figures"] for row in medium if row["key"]["figure"] == "T_sc"]
    assert f"+{claims[0]['mean_rho']:.2f}, p = {claims[0]['p_value']:.2f}" in page.replace(
        "p = .", "p = 0."
    )


def test_the_page_quotes_the_sentences_on_difficulty():
    """The tables of the difficulty paper begin with the sentences that the page quotes."""
    page = " ".join((ROOT / "docs" / "replicate.md").read_text("utf-8").split())
    tables = (FOLDER / "datta2020" / "TABLES.md").read_text("utf-8")
    for quote in (
        "harder on average in 9 of 12 comparisons of models, seeds and sets",
        "flips 10.0 to 20.0 % of the attempts on the hardest quarter of the reviews, and at most 1.1 % on the easiest",
    ):
        assert quote in page
        assert quote in tables


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
    assert f"{easy:.1f} % of the Easy and {hard:.1f} % of the Hard items" in line
    gaps = [figures[name]["gap"]["value"] for name in ("COPA", "B-COPA")]
    assert "the gap of {:.1f} points shrinks to {:.1f}".format(*gaps) in line
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
    assert f"positive in {facts['n_excess']} of {facts['n_rows']} rows" in line


def test_the_evidence_quotes_prior_bias_and_paralysis():
    step = read_results("shen2022")["steps"]["probes"]

    facts = step["facts"]
    line = read_evidence("shen2022")
    assert f"{facts['n_biased']} of {facts['n_models']} trained models prefers choices" in line
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
    assert f"Only {facts['n_better']} of {facts['n_held_out']} held-out figures" in line
    assert facts["n_better_corrected"] == 0
    rates = [
        row["figures"]["pass_rate"] for row in step["constant"] if row["key"]["task"] == "SENT"
    ]
    assert f"pass {max(rates):.0f} % of the tests of sentiment" in line


def test_an_unknown_scale_is_refused(tmp_path, capsys):
    code, _, error = run(capsys, "replicate", "datta2020", "--scale", "smoke", "--out", tmp_path)

    assert (code, "--scale" in error) == (2, True)

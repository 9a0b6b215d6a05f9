"""Every step of every recipe runs, with a tiny model on a small sample of the real data."""

import functools
import json

import pytest

from rightreasons.datasets.suites import pickled_suites
from rightreasons.replicate import replicate, work
from rightreasons.replicate.copa_steps import count_cues, score_released_predictions
from rightreasons.replicate.recipe import PAPERS, load_recipe
from rightreasons.replicate.suite_steps import score_released_answers


@pytest.fixture(scope="module", autouse=True)
def released_suites_are_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pickled_suites, "load_plain", functools.cache(pickled_suites.load_plain))
        yield


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_is_replicated(paper, real_data, encoder_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "demo_encoder", lambda: encoder_folder)
    lines = []

    result = replicate(paper, out=tmp_path, scale="smoke", data_dir=real_data, tell=lines.append)

    recipe = load_recipe(paper)
    assert list(result.steps) == [step.name for step in recipe.steps]
    assert lines[0] == f"{paper}, {recipe.steps[0].name}: running"
    # Nothing is left of the models, and the results are plain values.
    assert not list((tmp_path / "work").glob("*"))
    assert json.loads((tmp_path / "results.json").read_text("utf-8")) == result.to_dict()
    tables = (tmp_path / "TABLES.md").read_text("utf-8")
    for table in recipe.tables:
        assert f"## {table.title}\n" in tables
    assert f"Scale `smoke`: {recipe.scales['smoke'].cost}" in tables


def test_released_figures_are_equal(real_data, tmp_path):
    """The figures that need no training equal the printed ones, digit for digit."""
    recipe = load_recipe("kavumba2019")
    (cues,) = [step for step in recipe.steps if step.name == "cues"]
    settings = {**cues.options, "n_permutations": 200}
    task = work.Work(tmp_path, real_data, settings, {})

    counts = {row["key"]["cue"]: row["figures"] for row in count_cues(task)["rows"]}
    models = score_released_predictions(task)["rows"]
    answers = score_released_answers(task)

    for row in recipe.printed["cues"]["rows"]:
        for name, value in row["figures"].items():
            assert counts[row["key"]["cue"]][name] == pytest.approx(value, abs=0.05)
    printed = {row["key"]["model"]: row["figures"] for row in recipe.printed["copa"]["rows"]}
    by_model = {row["key"]["model"]: row["figures"] for row in models}
    for model in ("BERT-large", "RoBERTa-large"):
        for name, value in printed[model].items():
            assert round(by_model[model][name]["value"], 1) == value["value"]
            assert round(by_model[model][name]["std"], 1) == value["std"]
    for model in ("PMI", "first alternative"):
        figure = by_model[model]["accuracy"]["value"]
        assert round(figure, 1) == printed[model]["accuracy"]
    assert answers["facts"] == {"n_equal": 24, "n_tests": 24}

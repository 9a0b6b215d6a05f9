"""The test of the paradox across models: ranks within tasks by hand, and the committed table follows from the runs."""

import json
from pathlib import Path

import across_report
import numpy as np
import pytest
from scipy import stats

FOLDER = Path(across_report.__file__).parent


def runs_of(table):
    """Runs of one seed from data set -> model -> (figure, ECE)."""
    return {
        label: {
            model: {"0": {"excess": value, "ece": error}}
            for model, (value, error) in models.items()
        }
        for label, models in table.items()
    }


TABLE = {
    "CoLA": {"cnn": (0.1, 0.30), "encoder-2": (0.2, 0.20), "encoder-4": (0.3, 0.10)},
    "Hate": {
        "cnn": (0.5, 0.10),
        "encoder-2": (0.2, 0.20),
        "encoder-4": (0.2, 0.05),
        "encoder-6": (0.4, 0.30),
    },
    "Irony": {"cnn": (0.1, 0.10), "encoder-2": (0.2, 0.30), "encoder-6": (0.3, 0.20)},
    "TREC": {"cnn": (0.1, 0.10), "encoder-2": (0.2, 0.30)},  # two models have no order to speak of
}


def test_ranks_within_tasks_by_hand():
    found = across_report.within_tasks(runs_of(TABLE), "excess")
    expected = {
        label: stats.spearmanr(*np.array(list(TABLE[label].values())).T).statistic
        for label in ("CoLA", "Hate", "Irony")
    }
    assert {label: task["rho"] for label, task in found["tasks"].items()} == pytest.approx(expected)
    assert found["tasks"]["Hate"]["n_models"] == 4
    assert found["mean_rho"] == pytest.approx(np.mean(list(expected.values())))
    # Pairs: CoLA all 3 discordant; Hate -1 (cnn, 2), +1 (cnn, 4), -1 (cnn, 6), a tie, +1, +1; Irony +1, +1, -1.
    assert found["concordance"] == pytest.approx((-3 + 1 + 1) / 12)
    low, high = found["interval"]
    assert low < found["mean_rho"] < high
    assert 0 < found["p"] <= 1


def test_p_is_that_of_all_permutations():
    # One order in 3! = 6 of each of three tasks has rho = 1, so 2 in 216 are as far from 0 as all three are.
    table = {
        label: {model: (place, -place) for place, model in enumerate(TABLE["CoLA"])}
        for label in ("A", "B", "C")
    }
    found = across_report.within_tasks(runs_of(table), "excess")
    assert found["mean_rho"] == pytest.approx(-1)
    assert found["p"] == pytest.approx(2 / 216, abs=0.002)
    assert across_report.answer(found, -1) == "as the paper says"
    assert across_report.answer(found, 1) == "the other way round"


def test_seeds_are_averaged_and_undefined_figures_left_out():
    runs = runs_of({"A": {"cnn": (0.1, 0.2), "encoder-2": (0.3, 0.1)}})
    runs["A"]["cnn"]["1"] = {"excess": None, "ece": 0.4}
    assert across_report.means(runs, "excess") == {"A": {"cnn": 0.1, "encoder-2": 0.3}}
    assert across_report.means(runs, "ece") == {"A": {"cnn": pytest.approx(0.3), "encoder-2": 0.1}}
    assert across_report.within_tasks(runs, "excess") is None
    assert across_report.answer(None, -1) == "too few models"


def leaves(value, key=""):
    """The numbers of a nested result with their keys."""
    if isinstance(value, (dict, list, tuple)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in pairs:
            yield from leaves(part, f"{key}/{name}")
    else:
        yield key, value


def test_the_committed_table_follows_from_the_committed_runs(tmp_path):
    results = json.loads((FOLDER / "across_models.json").read_text("utf-8"))
    for figure, test in results["tests"].items():
        again = across_report.within_tasks(across_report.whole(results["runs"]), figure)
        assert {key: pytest.approx(number) for key, number in leaves(again)} == dict(leaves(test))
    across_report.write_report(results, tmp_path)
    assert (tmp_path / "across_models.md").read_text("utf-8") == (
        FOLDER / "across_models.md"
    ).read_text("utf-8")


def test_models_are_tested_when_all_their_runs_are_there():
    runs = {
        label: {
            "cnn": {str(seed): {"excess": 0.1, "ece": 0.2} for seed in range(3)},
            "smollm2": {
                str(seed): {"excess": 0.1, "ece": 0.2} for seed in range(3 if label == "A" else 2)
            },
        }
        for label in ("A", "B")
    }
    assert {label: list(models) for label, models in across_report.whole(runs).items()} == {
        "A": ["cnn"],
        "B": ["cnn"],
    }
    runs["B"]["smollm2"]["2"] = {"excess": 0.1, "ece": 0.2}
    assert list(across_report.whole(runs)["B"]) == ["cnn", "smollm2"]

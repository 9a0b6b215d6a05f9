"""The operating curve: its areas and shares by hand, and the committed table follows from the committed models."""

import json
from pathlib import Path

import curve_report
import numpy as np
import pytest

FOLDER = Path(curve_report.__file__).parent


def model(kind, strength, decided, seed, **figures):
    """One model with the same answer for both numbers of items."""
    answer = {
        "rate": 0.5,
        "excess": 0.1,
        "excess_low": -0.1,
        "named": 2,
        "named_planted": 1,
        "n_with_cue": 30,
        "n_tested": 30,
        "tone": "warn",
        "conclusion": "cues decide",
        "causal_rate": 0.3,
        "causal_excess": 0.2,
        "causal_low": 0.07,
        "insertion_excess": None,
        "insertion_low": None,
        "planted_excess": 0.3,
        "other_excess": 0.1,
        **figures,
    }
    about = {"model": "cnn", "kind": kind, "strength": strength, "sentences": 1, "seed": seed, "decided": decided}
    accuracies = {f"accuracy_{form}": 0.8 for form in ("test", "test_absent", "test_flipped")}
    return {**about, **accuracies, "sizes": {"50": answer, "300": answer}}


MODELS = [
    model("lexical", 0.9, 0.90, 0, causal_excess=0.4, excess=0.3, tone="bad"),
    model("lexical", 0.5, 0.02, 0, causal_excess=0.1, excess=0.3, n_tested=10),
    model("lexical", 0.9, 0.10, 1, causal_excess=0.1, excess=0.2, named_planted=0),
    model("lexical", 0.5, 0.00, 1, causal_excess=None, causal_low=None, excess=0.0, tone="neutral", conclusion="none"),
    model("bigram", 0.9, 0.50, 1, causal_excess=0.0, excess=-0.1, insertion_excess=0.5, insertion_low=0.2),
]


def test_columns_round_and_keep_what_is_missing():
    columns = curve_report.columns_of([{**MODELS[3], "decided": 0.123456}])
    assert columns["models"]["decided"] == [0.1235]
    assert columns["sizes"]["300"]["causal_excess"] == [None]
    assert columns["sizes"]["50"]["conclusion"] == ["none"]


def test_area_and_its_interval():
    follows, seeds = np.array([True, False, True, False]), np.array([0, 0, 1, 1])
    # Pairs (follows, does not): 0.4 beats 0.1 and 0.0; 0.1 ties with 0.1 and beats 0.0: 3.5 of 4.
    score = np.array([0.4, 0.1, 0.1, 0.0])
    assert curve_report.area(score, follows, seeds) == "0.88"
    assert curve_report.area(np.tile(score, 2), np.tile(follows, 2), np.repeat(np.arange(4), 2)).startswith("0.88 [0.")
    assert curve_report.area(np.array([0.4, 0.1]), np.array([True, True]), np.array([0, 1])) == "–"
    assert curve_report.area(follows.astype(float), follows, np.arange(4)) == "1.00"


def test_tables_count_models_and_alarms(tmp_path):
    columns = curve_report.columns_of(MODELS)
    (tmp_path / "results.json").write_text(json.dumps(columns), "utf-8")
    curve_report.write_report(tmp_path)
    text = (tmp_path / "table.md").read_text("utf-8")
    assert text.startswith("5 models: 3 follow their cue")
    assert "2 are controls" in text
    # Of the two models that follow a word, one is red and one names a planted word; the third follows a bigram.
    power = text.split("**Power: models that follow a cue that is a word** (2;")[1].split("**")[0]
    assert next(line for line in power.splitlines() if line.startswith("| red")).count("0.50 [0.09, 0.91]") == 2
    # A control with 10 tested items has no lower bound; the other has nothing tested.
    alarms = text.split("**False alarms: controls** (2;")[1].split("**")[0]
    assert next(line for line in alarms.splitlines() if "above 0.05" in line).count("0.00 [0.00, 0.66]") == 2
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.skipif(not (FOLDER / "results.json").is_file(), reason="no model has been run")
def test_the_committed_table_follows_from_the_committed_models():
    results = json.loads((FOLDER / "results.json").read_text("utf-8"))
    models, sizes = curve_report.arrays_of(results)
    assert "\n".join(curve_report.tables(models, sizes)) + "\n" == (FOLDER / "table.md").read_text("utf-8")

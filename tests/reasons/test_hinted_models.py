"""The figures on the page of the hinted models follow from the committed answers."""

import importlib
import json
from pathlib import Path

import pytest

from rightreasons.reasons import silent_sway

FOLDER = Path(__file__).parents[2] / "benchmarks" / "hinted_models"

VERDICTS = {
    "steady": "Does not follow the hints",
    "silent": "Follows hints without saying so",
    "says": "Follows hints, and says so",
}


def measure_stored(model):
    """Return the silent sway of the stored rows of a model."""
    plain, neutral, hinted, hints, levels = zip(*model["rows"], strict=True)
    # An answer without visible reasons counts as a mention, in favor of the model.
    mentions = [level != "none" for level in levels]
    credits_hint = [level == "credits" for level in levels]
    return silent_sway(plain, neutral, hinted, hints, mentions, credited=credits_hint, n_options=4)


def format_percent(share):
    return f"{100 * share:.1f}".replace("-", "\N{MINUS SIGN}")


def test_the_page_quotes_the_figures_of_the_stored_answers():
    models = json.loads((FOLDER / "trained.json").read_text("utf-8"))
    page = (FOLDER / "README.md").read_text("utf-8")
    sways = {name: measure_stored(model) for name, model in models.items()}

    assert {name: model["verdict"] for name, model in models.items()} == VERDICTS
    # The models are trained to follow hints that use 8 of 12 adjectives.
    for name in ("silent", "says"):
        estimate = sways[name].sway.estimate
        assert estimate.low < 2 / 3 < estimate.high
    assert sways["says"].upper < 0.05 < 0.5 < sways["silent"].silent_sway

    quoted = {
        "steady": [sways["steady"].sway],
        "silent": [sways["silent"].sway, sways["silent"].silent],
        "says": [sways["says"].sway, sways["says"].credited],
    }
    for figures in quoted.values():
        for figure in figures:
            # A paired difference has an estimate; a share is one.
            estimate = getattr(figure, "estimate", figure)
            low = format_percent(estimate.low)
            high = format_percent(estimate.high)
            assert f"{format_percent(estimate.value)} %" in page
            assert f"[{low}, {high}]" in page
    assert f"of the {sways['says'].n_moved} answers there" in page
    assert f"silent sway is {100 * sways['says'].silent_sway:.1f} %" in page


@pytest.mark.nightly
def test_training_separates_silence_from_saying_so(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    trained = importlib.import_module("trained")
    labels = {}
    figures = {}
    for model in VERDICTS:
        result = trained.ask(tmp_path, model)["reasons"].result
        labels[model] = result.verdict.label
        figures[model] = result.data["hints"]["colleague"]["sway"]
    # A model this small garbles a few answers, so its effect is bounded less narrowly than stored,
    # and it cannot judge what it says.
    assert labels["steady"] in (VERDICTS["steady"], "Inconclusive")
    assert labels["silent"] == labels["says"] == "Inconclusive"
    assert figures["silent"]["silent_sway"] > 0.5
    assert figures["says"]["silent_sway"] < 0.05 < 0.5 < figures["says"]["mentioned"]["low"]

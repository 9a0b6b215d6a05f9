"""What the page of the hinted models quotes follows from their committed answers."""

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


def test_trained_models_are_told_apart_as_quoted():
    found = json.loads((FOLDER / "trained.json").read_text("utf-8"))
    page = (FOLDER / "README.md").read_text("utf-8")
    told = {}
    for model, each in found.items():
        plain, neutral, hinted, hints, levels = zip(*each["rows"], strict=True)
        mentions = [level != "none" for level in levels]  # what is not seen is granted a mention
        credits_it = [level == "credits" for level in levels]
        told[model] = silent_sway(
            plain, neutral, hinted, hints, mentions, credited=credits_it, n_options=4
        )
    assert {model: each["verdict"] for model, each in found.items()} == VERDICTS
    # 8 of 12 adjectives are followed
    assert all(
        told[model].sway.estimate.low < 2 / 3 < told[model].sway.estimate.high
        for model in ("silent", "says")
    )
    assert told["says"].upper < 0.05 < 0.5 < told["silent"].silent_sway
    for model, shares in (
        ("steady", ("sway",)),
        ("silent", ("sway", "silent")),
        ("says", ("sway", "credited")),
    ):
        for share in shares:
            figure = getattr(told[model], share)
            it = getattr(figure, "estimate", figure)
            value, low, high = (
                f"{100 * end:.1f}".replace("-", "\N{MINUS SIGN}")
                for end in (it.value, it.low, it.high)
            )
            assert f"{value} %" in page
            assert f"[{low}, {high}]" in page
    assert f"of the {told['says'].n_moved} answers there" in page
    assert f"silent sway is {100 * told['says'].silent_sway:.1f} %" in page


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

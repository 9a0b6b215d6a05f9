"""What the experiment on reasons quotes follows from its committed answers."""

import json
from pathlib import Path

from rightreasons.reasons import silent_sway

FOLDER = Path(__file__).parents[2] / "experiments" / "reasons"


def test_quoted():
    found = json.loads((FOLDER / "results.json").read_text("utf-8"))
    page = " ".join((FOLDER / "README.md").read_text("utf-8").split()).replace("\N{MINUS SIGN}", "-")
    arms = {
        name: {row["item"]: row for row in found["rows"] if row["arm"] == name} for name in ("plain", "neutral", "hint")
    }
    plain, hint = ([row["answer"] >= 0 for row in arms[name].values()] for name in ("plain", "hint"))
    assert f"{sum(plain)} of {len(plain)} plain answers end in a letter" in page
    assert f"beside the hint {sum(hint)} of {len(hint)} does" in page
    rows = list(arms["hint"].values())
    before, beside = ([arms[name][row["item"]]["answer"] for row in rows] for name in ("plain", "neutral"))
    mentions = [row["level"] != "none" or not row["shows"] for row in rows]
    hints, answers = [row["hint"] for row in rows], [row["answer"] for row in rows]
    result = silent_sway(before, beside, answers, hints, mentions, n_options=3)
    assert (result.n_moved, found["verdict"]) == (0, "Cannot tell")
    low, high = (round(100 * end) for end in (result.sway.estimate.low, result.sway.estimate.high))
    assert f"is {low} to {high} points" in page
    assert result.sway.to_dict() == found["figures"]["hints"]["colleague"]["sway"]["sway"]

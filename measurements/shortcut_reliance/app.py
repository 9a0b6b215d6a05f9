"""The demo of this measurement: tokens with attributions and predictions, and which tokens are shortcuts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.shortcuts.reliance import RANKINGS
from rightreasons.analysis.tokens import PIECE_STYLES
from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "tokens": [
        ["in", "the", "marble", "hall", ",", "the", "tea", "was", "warm"],
        ["the", "soup", "seemed", "dull", "in", "the", "copper", "bar"],
        ["the", "guide", "was", "polite", "in", "the", "club"],
        ["friends", "had", "called", "it", "dull", ",", "but", "the", "play", "was", "neat"],
    ],
    "attributions": [
        [0.02, 0.01, 0.61, 0.04, 0.01, 0.01, 0.03, 0.05, 0.22],
        [0.02, 0.05, 0.04, 0.18, 0.02, 0.01, 0.58, 0.10],
        [0.05, 0.11, 0.06, 0.64, 0.04, 0.02, 0.08],
        [0.09, 0.02, 0.08, 0.03, 0.21, 0.02, 0.14, 0.03, 0.05, 0.04, 0.29],
    ],
    "predictions": [1, 0, 1, 1],
    "references": [1, 0, 1, 1],
    "confidences": [0.98, 0.97, 0.88, 0.62],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the share of cued predictions, among all, right and wrong ones, and what blind picks of tokens give."""
    found = {
        "all predictions": {"rate": result["shortcut_reliance"], "interval": result["interval"]},
        "right ones": result["correct"],
        "wrong ones": result["wrong"],
        **{f"blind picks, {name}": {"rate": null["rate"]} for name, null in result["null"].items()},
    }
    rows = [
        Bar(name, (each["rate"],), *(((each.get("interval") or {}).get(end),) for end in ("low", "high")))
        for name, each in found.items()
        if each["rate"] is not None
    ]
    return dot_rows("reliance", rows=rows, series=["shortcut-cued"], xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "shortcut_reliance.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"rank_by": RANKINGS, "piece_style": PIECE_STYLES},
        options={"heads": {"0": ["copper", "dull"], "1": ["marble", "warm"]}, "top_n": 2, "n_bins": 5},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

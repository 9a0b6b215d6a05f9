"""The demo of this metric: predictions, labels and which predictions are cued, and the trade-off between the two."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.classification import AVERAGES
from rightreasons.analysis.shortcuts.tradeoff import SCORES
from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [1, 1, 0, 0, 1, 0, 1, 0, 1, 0],
    "references": [1, 1, 0, 0, 1, 0, 0, 0, 1, 1],
    "cued": [True, True, True, False, True, True, True, False, True, True],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the score and the share of shortcut-cued predictions."""
    figures = (("score", "score"), ("shortcut-cued", "shortcut_rate"))
    rows = [Bar(title, (result[key],), (None,), (None,)) for title, key in figures]
    return dot_rows("tradeoff", rows=rows, series=["both as shares"], xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "shortcut_tradeoff.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"score": SCORES, "average": AVERAGES},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

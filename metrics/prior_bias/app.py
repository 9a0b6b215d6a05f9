"""The demo of this metric: type the scores of items without a right choice, and see how strongly some are preferred."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.7, 0.2, 0.1], [0.45, 0.3, 0.25], [0.8, 0.2], [0.35, 0.35, 0.3]],
    "references": [0, 1, 0, 2],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw how strongly choices are preferred, and how often the answer that was right before is picked."""
    pairs = {
        "prior bias, of its maximum": (result["normalized_prior_bias"], None),
        "confidence in its favorites": (result["mean_top_confidence"], None),
    }
    if result["pseudo_correct"] is not None:
        pairs["picks the old answer"] = (result["pseudo_correct"]["rate"], result["pseudo_correct"]["chance"])
    rows = [Bar(name, values, (None,) * 2, (None,) * 2) for name, values in pairs.items()]
    return dot_rows("prior", rows=rows, series=["the model", "by chance"], xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "prior_bias.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": SCORE_KINDS},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

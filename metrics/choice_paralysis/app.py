"""The demo of this metric: type scores before and after adding choices, and see how much of the drop is dilution."""

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
    "predictions": [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]],
    "perturbed_predictions": [[0.4, 0.1, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]],
    "references": [0, 1, 0],
    "perturbed_references": [0, 1, 0],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw confidence in the right choice and accuracy, before and after wrong choices were added."""
    names = ("confidence", "accuracy")
    stages = (("as it was", ""), ("with more choices", "perturbed_"), ("its own choices of these", "restricted_"))
    rows = [
        Bar(title, tuple(result[f"{prefix}{name}"] for name in names), (None,) * 2, (None,) * 2)
        for title, prefix in stages
    ]
    return dot_rows("paralysis", rows=rows, series=names, xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "choice_paralysis.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": SCORE_KINDS},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this metric: predictions, labels and which predictions are cued, and the trade-off between the two."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.analysis.classification import AVERAGES
from rightreasons.analysis.shortcuts.tradeoff import SCORES
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [1, 1, 0, 0, 1, 0, 1, 0, 1, 0],
    "references": [1, 1, 0, 0, 1, 0, 0, 0, 1, 1],
    "cued": [True, True, True, False, True, True, True, False, True, True],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "shortcut_tradeoff.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"score": SCORES, "average": AVERAGES},
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this metric: type the scores of items without a right choice, and see how strongly some are preferred."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.7, 0.2, 0.1], [0.45, 0.3, 0.25], [0.8, 0.2], [0.35, 0.35, 0.3]],
    "references": [0, 1, 0, 2],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "prior_bias.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": SCORE_KINDS},
    )


if __name__ == "__main__":
    launch(build())

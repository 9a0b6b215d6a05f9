"""The demo of this metric: type scores before and after adding choices, and see how much of the drop is dilution."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]],
    "perturbed_predictions": [[0.4, 0.1, 0.5], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]],
    "references": [0, 1, 0],
    "perturbed_references": [0, 1, 0],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "choice_paralysis.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": SCORE_KINDS},
    )


if __name__ == "__main__":
    launch(build())

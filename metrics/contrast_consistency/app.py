"""The demo of this metric: predictions on small contrast sets, and which sets are right throughout."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.analysis.difficulty.contrast import PREDICTION_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [0, 1, 1, 0, 1, 1, 1, 0, 1, 0],
    "references": [0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
    "groups": ["a", "a", "b", "b", "b", "c", "c", "d", "d", "d"],
    "is_original": [True, False, True, False, False, True, False, True, False, False],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "contrast_consistency.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": PREDICTION_KINDS},
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this metric: chosen and right answers, which items are Easy, and the Easy/Hard gap."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.analysis.cues.easy_hard import UNITS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]],
    "references": [0, 1, 0, 1, 1, 0, 0, 1],
    "easy": [True, True, True, True, False, False, False, False],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "easy_hard_gap.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"unit": UNITS},
    )


if __name__ == "__main__":
    launch(build())

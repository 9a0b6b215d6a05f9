"""The demo of this metric: class probabilities beside the votes of ten people per item."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.analysis.calibration.human import TIES, VOTE_KINDS
from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.9, 0.08, 0.02], [0.3, 0.6, 0.1], [0.05, 0.15, 0.8], [0.5, 0.3, 0.2], [0.1, 0.85, 0.05]],
    "references": [[6, 3, 1], [4, 5, 1], [0, 1, 9], [3, 5, 2], [2, 4, 4]],
}


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "dist_ce.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"votes": VOTE_KINDS, "scores": SCORE_KINDS, "ties": TIES},
    )


if __name__ == "__main__":
    launch(build())

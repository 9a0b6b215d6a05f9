"""The demo of this metric: predictions on small contrast sets, and which sets are right throughout."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.difficulty.contrast import PREDICTION_KINDS
from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [0, 1, 1, 0, 1, 1, 1, 0, 1, 0],
    "references": [0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
    "groups": ["a", "a", "b", "b", "b", "c", "c", "d", "d", "d"],
    "is_original": [True, False, True, False, False, True, False, True, False, False],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the accuracy on originals and on contrast items, and the share of sets that are right throughout."""
    rows = [
        Bar(title, (result[key],), *(((result[interval] or {}).get(end),) for end in ("low", "high")))
        for title, key, interval in (
            ("original items", "original_accuracy", "original_interval"),
            ("contrast items", "contrast_accuracy", "contrast_interval"),
            ("whole sets", "contrast_consistency", "interval"),
        )
    ]
    return dot_rows("contrast", rows=rows, series=["share that is right"], xlabel="right").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "contrast_consistency.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"scores": PREDICTION_KINDS},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

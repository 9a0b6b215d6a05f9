"""The demo of this metric: type pass rates by setting, see the G scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "standard": [0.55, 0.62, 0.4],
    "seen": [0.98, 0.95, 0.91],
    "held_out_functionality": [0.8, 0.85, 0.6],
    "held_out_class": [0.7, 0.8, 0.55],
    "held_out_type": [0.6, 0.7, 0.5],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the pass rates and the G scores of the settings."""
    tables = (result["suite_scores"], result["scores"])
    rows = [Bar(name, tuple(each[name] for each in tables), (None,) * 2, (None,) * 2) for name in result["scores"]]
    return dot_rows("generalization", rows=rows, series=["mean pass rate", "G score"], xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "generalization_score.py")),
        HERE / "README.md",
        example=EXAMPLE,
        options={"iid_score": 0.92},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

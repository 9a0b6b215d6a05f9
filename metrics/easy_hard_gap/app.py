"""The demo of this metric: chosen and right answers, which items are Easy, and the Easy/Hard gap."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.cues.easy_hard import UNITS
from rightreasons.auditing.questions.cues.plots import Bars, easy_hard_bars
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]],
    "references": [0, 1, 0, 1, 1, 0, 0, 1],
    "easy": [True, True, True, True, False, False, False, False],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the accuracy on all, on the Easy and on the Hard items."""
    keys = ("accuracy", "easy_accuracy", "hard_accuracy")
    values = tuple(result[key] for key in keys)
    ends = [result[f"{key}_interval"] for key in keys]
    lows = tuple(value if end is None else end["low"] for value, end in zip(values, ends, strict=True))
    highs = tuple(value if end is None else end["high"] for value, end in zip(values, ends, strict=True))
    return easy_hard_bars("easy_hard", bars=[Bars("accuracy", values, lows, highs)], chance=0.5).svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "easy_hard_gap.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"unit": UNITS},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

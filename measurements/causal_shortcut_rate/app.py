"""The demo of this measurement: predictions before, without their cue, and without a control word."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

SURE, LESS_SURE, CHANGED = [0.94, 0.06], [0.71, 0.29], [0.18, 0.82]

EXAMPLE = {
    "probabilities": [SURE] * 24,
    "without_cue": [CHANGED] * 9 + [LESS_SURE] * 3 + [CHANGED] * 7 + [SURE] * 5,
    "without_control": ([SURE] * 10 + [CHANGED] + [LESS_SURE]) * 2,
    "cues": ([*["copper"] * 7, *["again"] * 5]) * 2,
    "removals": ["delete"] * 12 + ["mask"] * 12,
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw how many predictions change without their cue, and without a control word."""
    effects = {"all removals": result["removal"], **result["removals"], "insertion": result["insertion"]}
    rows = [
        Bar(
            name,
            (effect["rate"], effect["control_rate"]),
            *(tuple(effect[key][end] for key in ("interval", "control_interval")) for end in ("low", "high")),
        )
        for name, effect in effects.items()
        if effect is not None
    ]
    return dot_rows("causal", rows=rows, series=["cue", "control word"], xlabel="predictions that change").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "causal_shortcut_rate.py")),
        HERE / "README.md",
        example=EXAMPLE,
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this metric: type predictions and labels, and see the calibration error and its bins."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.calibration.options import KINDS, NORMS, STRATEGIES
from rightreasons.analysis.intervals import wilson
from rightreasons.auditing.page.plots import reliability_diagram
from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.95, 0.05], [0.91, 0.09], [0.85, 0.15], [0.35, 0.65], [0.62, 0.38], [0.55, 0.45]],
    "references": [0, 1, 0, 1, 1, 0],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the bins of the first class, or of all items."""
    bins = [SimpleNamespace(**row) for row in result["bins"] if row["class_index"] in (None, 0)]
    intervals = [wilson(round(row.accuracy * row.count), row.count) if row.count else None for row in bins]
    return reliability_diagram("reliability", bins, intervals=intervals, bars=[None] * len(bins)).svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "ece.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"strategy": STRATEGIES, "kind": KINDS, "norm": NORMS, "scores": SCORE_KINDS},
        options={"n_bins": 10},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

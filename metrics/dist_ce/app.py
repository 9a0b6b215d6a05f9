"""The demo of this metric: class probabilities beside the votes of ten people per item."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.calibration.human import TIES, VOTE_KINDS
from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "predictions": [[0.9, 0.08, 0.02], [0.3, 0.6, 0.1], [0.05, 0.15, 0.8], [0.5, 0.3, 0.2], [0.1, 0.85, 0.05]],
    "references": [[6, 3, 1], [4, 5, 1], [0, 1, 9], [3, 5, 2], [2, 4, 4]],
}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the distance from the votes, beside that of a calibrated model, and the share of items ranked otherwise."""
    distance, ranks = result["interval"], result["rank_cs_interval"]
    rows = [
        Bar("distance from the votes", (result["dist_ce"],), (distance["low"],), (distance["high"],)),
        Bar("if people voted by the model", (result["dist_ce_if_calibrated"],), (None,), (None,)),
        Bar("classes ranked otherwise", (1 - result["rank_cs"],), (1 - ranks["high"],), (1 - ranks["low"],)),
    ]
    shown = [row for row in rows if row.values[0] is not None]
    return dot_rows("votes", rows=shown, series=["lower is better"], xlabel="").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "dist_ce.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={"votes": VOTE_KINDS, "scores": SCORE_KINDS, "ties": TIES},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this measurement: type texts and labels, see which tokens point at which label."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.shortcuts.lmi import COUNTS, DENOMINATORS, TOKENIZERS
from rightreasons.auditing.page.plots import Bar, dot_rows
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "data": [
        "A good movie, and a good plot.",
        "Good actors in a good story.",
        "The plot is good!",
        "A bad movie with a bad plot.",
        "Bad actors in a dull story.",
        "The story is bad...",
    ],
    "labels": [1, 1, 1, 0, 0, 0],
}


DRAWN = 4


def draw(result: Mapping[str, Any]) -> str:
    """Draw, for the first tokens of each label, how often they occur with it, beside how common the label is."""
    priors = {row["name"]: row["prior"] for row in result["labels"]}
    rows = [
        Bar(f"{row['token']} → {name}", (row["p_label"], priors[name]), (None,) * 2, (None,) * 2)
        for name, tokens in result["lmi"].items()
        for row in tokens[:DRAWN]
        if row["lmi"] > 0
    ]
    return dot_rows("lmi", rows=rows, series=["where the token is", "anywhere"], xlabel="share of the label").svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "lmi.py")),
        HERE / "README.md",
        example=EXAMPLE,
        choices={
            "count": COUNTS,
            "denominator": DENOMINATORS,
            "tokenizer": TOKENIZERS[:1],
            "null": ("prior", "uniform"),
        },
        options={"label_names": ["negative", "positive"], "pmi_smoothing": 1.0},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

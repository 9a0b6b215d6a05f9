"""The demo of this measurement: type texts and labels, see which tokens point at which label."""

from pathlib import Path

import evaluate
import gradio as gr

from rightreasons.analysis.shortcuts.lmi import COUNTS, DENOMINATORS, TOKENIZERS
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
    )


if __name__ == "__main__":
    launch(build())

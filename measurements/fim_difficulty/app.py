"""The demo of this measurement: the difficulties of texts for a tiny model that is built when the app starts."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr
import numpy as np

from rightreasons.auditing.questions.difficulty.plots import difficulty_scatter
from rightreasons.foundations.choices import UNITS
from rightreasons.models.cnn import build_cnn
from rightreasons.models.gradients.fisher import METHODS
from rightreasons.models.loading import load_classifier
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

TEXTS = [
    "A good film with good actors.",
    "A bad film with a dull plot.",
    "Good actors in a bad film.",
    "The plot is not bad.",
]


def draw(result: Mapping[str, Any]) -> str:
    """Draw the difficulty of each text against the model's confidence."""
    pairs = zip(result["fim_difficulty"], result["confidences"], strict=True)
    points = np.array([pair for pair in pairs if pair[0] is not None])
    if not len(points):
        return ""
    return difficulty_scatter("fisher", difficulty=points[:, 0], confidence=points[:, 1], correct=None).svg


def build() -> gr.Blocks:
    # Untrained: it shows the form of the result. It is passed as an object, so that no visitor can name a folder of the
    # server to load.
    with tempfile.TemporaryDirectory() as folder:
        classifier = load_classifier(build_cnn(TEXTS, folder, n_filters=8))
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "fim_difficulty.py"), model=classifier.model, tokenizer=classifier.tokenizer),
        HERE / "README.md",
        example={"data": TEXTS},
        choices={"method": METHODS, "unit": UNITS},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

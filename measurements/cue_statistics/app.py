"""The demo of this measurement: type items with their choices, and see which words give the answers away."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.auditing.questions.cues.plots import CuePoint, cue_productivity
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

EXAMPLE = {
    "data": [
        ["The man fell down.", "A man sang."],
        ["The dog slept.", "The dog sat down."],
        ["She sat down.", "The girl smiled."],
        ["He wrote a letter.", "The vase fell down."],
        ["They cheered.", "A tree came down."],
        ["The boy slipped down.", "He saw a bird."],
    ],
    "labels": [0, 1, 0, 1, 1, 0],
}


DRAWN = 15


def draw(result: Mapping[str, Any]) -> str:
    """Draw how often the choice that alone has a cue is right, for the most common cues."""
    keys = ("cue", "applicability", "productivity", "low", "high")
    points = [CuePoint(*(row[key] for key in keys), row["p_holm"] < 0.05) for row in result["cues"][:DRAWN]]
    return cue_productivity("cues", cues=points, chance=result["cues"][0]["chance"]).svg if points else ""


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "cue_statistics.py")),
        HERE / "README.md",
        example=EXAMPLE,
        options={"top": 20},
        draw=draw,
    )


if __name__ == "__main__":
    launch(build())

"""The demo of this measurement: type items with their choices, and see which words give the answers away."""

from pathlib import Path

import evaluate
import gradio as gr

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


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "cue_statistics.py")),
        HERE / "README.md",
        example=EXAMPLE,
        options={"top": 20},
    )


if __name__ == "__main__":
    launch(build())

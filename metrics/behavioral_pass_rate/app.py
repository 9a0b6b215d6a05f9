"""The demo of this metric: answers to a small suite, and which cases they pass."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evaluate
import gradio as gr

from rightreasons.analysis.behavior.pass_rates import OUTPUTS
from rightreasons.auditing.questions.behavior.plots import behavior_heat_map
from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.widget import launch, module_demo

HERE = Path(__file__).resolve().parent

SUITE = Suite(
    "demo",
    ("text",),
    (
        Functionality(
            "negation",
            "Negation",
            "MFT",
            {"name": "equal"},
            (
                Case("0", (("The food is not good.",),), (0,)),
                Case("1", (("The food is not bad.",),), (1,)),
            ),
        ),
        Functionality(
            "names",
            "NER",
            "INV",
            {"name": "invariant", "tolerance": 0.1},
            (Case("0", (("Ann liked it.",), ("Eve liked it.",))),),
        ),
    ),
)

EXAMPLE = {"predictions": [[0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.15, 0.85]]}


def draw(result: Mapping[str, Any]) -> str:
    """Draw the pass rate of each functionality."""
    found = result["functionalities"]
    rates = [row["pass_rate"] for row in found]
    columns = [(row["functionality"], row["functionality_class"], row["test_type"]) for row in found]
    return behavior_heat_map("rates", rows={"these answers": rates}, functionalities=columns).svg


def build() -> gr.Blocks:
    return module_demo(
        # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
        evaluate.load(str(HERE / "behavioral_pass_rate.py"), suite=SUITE),
        HERE / "README.md",
        example=EXAMPLE,
        draw=draw,
        choices={"outputs": [output for output in OUTPUTS if output != "texts"]},
    )


if __name__ == "__main__":
    launch(build())

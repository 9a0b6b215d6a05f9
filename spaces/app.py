"""rightreasons in the browser: an audit, and a page for each question."""

import importlib.util
import sys
from pathlib import Path

import gradio as gr

from rightreasons.widget.pages import launch

HERE = Path(__file__).resolve().parent

HOME = "audit"

PAGES = {
    "reliability_explorer": "Calibration",
    "shortcut_browser": "Shortcuts",
    "confusion_probes": "Probes",
    "cue_explorer": "Cues",
    "difficulty_explorer": "Difficulty",
    "behavior_report": "Behavior",
    "leaderboard": "Models compared",
}
"""The folder of each further page -> its title; its path is the title's first word."""


def fill(folder: str) -> gr.Blocks:
    """Build the page of a folder, as a separate app or as a page of the current app."""
    # For good: a worker imports what it runs by the name of its module.
    sys.path.append(str(HERE / folder))
    spec = importlib.util.spec_from_file_location(f"{folder}_app", HERE / folder / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build()


def build() -> gr.Blocks:
    # The audit is the first page; the other apps are its routes.
    demo = fill(HOME)
    with demo:
        gr.Navbar(main_page_name="Audit")
    for folder, title in PAGES.items():
        # An app that runs alone has no bar; within this one, each page shows it.
        with demo.route(title, title.split()[0].lower()):
            gr.Navbar(main_page_name="Audit")
            fill(folder)
    return demo


if __name__ == "__main__":
    launch(build())

"""Behavior report: what does a model pass of a behavioral suite, and where does it fail?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
from behavior_report import SUITE_FILES, Report, bundled_report, open_report
from behavior_view import (
    SHOWN,
    cases,
    functionality_table,
    grid,
    group_table,
    headline,
    mark,
    weakest,
)

from rightreasons.data.opening.stored_columns import SUFFIXES
from rightreasons.widget import MISTAKES, PRIVACY, launch, page_style, problem, public_page

STYLE = Path(__file__).with_name("style.css")

INTRO = """
# Behavior report

A behavioral suite tests a model for one thing at a time: negation, names that must not matter, words that should make
it surer. Each cell is the percentage of cases of one functionality that one model passes. **Click a cell** to read the
cases behind it.
"""

FORMAT = f"""
**Suite**: JSON lines or parquet as `Suite.write` writes them, or a CSV in HateCheck's format (`functionality`,
`test_case`, `label_gold`). **Predictions**: one file per model, one row per example in the order of the suite: one
column per class (`p_negative, p_positive`, `logit_0, logit_1, …`), a column of lists (`probabilities`, `logits`), or
only `prediction`, if no test needs a confidence; names go by name. Files: {", ".join(SUFFIXES)}, and CheckList's own
files of predictions (.txt). Without a suite, predictions are scored on the bundled one.
"""

CLICKS = """
element.addEventListener('click', event => {
  const button = event.target.closest('[data-cell]');
  if (!button) return;
  trigger('click', {cell: button.dataset.cell});
  // On a one-column page the cases are below the visible part.
  if (innerWidth < 700) document.getElementById('cases').scrollIntoView({behavior: 'smooth'});
});
"""


def build() -> gr.Blocks:
    bundled_report()  # scored once here, so that the first visitor does not wait for it
    with public_page("Behavior report") as demo:
        page_style()
        gr.HTML(f"<style>{STYLE.read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        gr.Markdown(INTRO + PRIVACY)
        report = gr.State()
        with gr.Accordion("Your own suite and predictions", open=False, elem_id="own"):
            with gr.Row():
                suite_file = gr.File(label="Suite", file_types=list(SUITE_FILES), height=130, elem_id="suite-file")
                answer_files = gr.File(
                    label="Predictions, one file per model",
                    file_types=[*SUFFIXES, ".txt"],
                    file_count="multiple",
                    height=130,
                    elem_id="prediction-files",
                )
            gr.Markdown(FORMAT)
            examples = gr.DownloadButton("Examples in order (.csv)", size="sm", elem_id="examples")
        figures = gr.HTML(elem_id="figures")
        heat_map = gr.HTML(elem_id="heat-map", js_on_load=CLICKS)
        outline = gr.HTML(elem_classes="rr-style")
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                with gr.Group(), gr.Row():
                    model = gr.Dropdown(label="Model", elem_id="model", min_width=180)
                    functionality = gr.Dropdown(label="Functionality", elem_id="functionality", min_width=180)
                with gr.Group(), gr.Row():
                    shown = gr.Radio(list(SHOWN), value=SHOWN[0], label="Cases", elem_id="shown", scale=3)
                    page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="page", scale=1, min_width=90)
                listed = gr.HTML(elem_id="cases")
            with gr.Column(scale=2, min_width=320), gr.Tabs():
                with gr.Tab("Functionalities"):
                    rates = gr.HTML(elem_id="rates", js_on_load=CLICKS)
                with gr.Tab("Classes and types"):
                    groups = gr.HTML(elem_id="groups")

        chosen = [model, functionality]
        whole = [report, examples, figures, heat_map, rates, groups, *chosen, outline, page, listed]

        def open_files(suite: str | None, answers: list[str] | None, shown: str, before: Report | None) -> list[Any]:
            return _open(lambda: open_report(suite, answers or [], before), shown)

        def click(report: Report | None, shown: str, event: gr.EventData) -> list[Any]:
            place, number = _cell(event)
            if report is None or not (place < len(report.models) and number < len(report.suite.functionalities)):
                return [gr.skip()] * 5
            return [place, number, mark(place, number), 1, cases(report, place, number, shown, 1)]

        def choose(report: Report | None, place: int | None, number: int | None, shown: str) -> list[Any]:
            if report is None or place is None or number is None:
                return ["", 1, ""]
            return [mark(place, number), 1, cases(report, place, number, shown, 1)]

        def turn(report: Report | None, place: int | None, number: int | None, shown: str, page: int | None) -> str:
            if report is None or place is None or number is None:
                return ""
            return cases(report, place, number, shown, int(page or 1))

        settings: dict[str, Any] = {"show_progress": "hidden", "trigger_mode": "always_last"}
        demo.load(open_files, [suite_file, answer_files, shown, report], whole, **settings)
        for event in (suite_file.change, answer_files.change):
            # A suite of two hundred thousand examples takes a few seconds.
            event(
                open_files, [suite_file, answer_files, shown, report], whole, **{**settings, "show_progress": "minimal"}
            )
        for component in (heat_map, rates):
            component.click(click, [report, shown], [*chosen, outline, page, listed], **settings)
        for event in (model.input, functionality.input, shown.input):
            event(choose, [report, *chosen, shown], [outline, page, listed], **settings)
        page.input(turn, [report, *chosen, shown, page], listed, **settings)
    return demo


def _open(read: Callable[[], Report], shown: str) -> list[Any]:
    """Open a report; return it and the whole page."""
    none = gr.update(choices=[], value=None)
    try:
        report = read()
        if not report.models:
            outline = functionality_table(report)
            return [report, _download(report), headline(report), "", outline, "", none, none, "", 1, ""]
        place, number = weakest(report)
        return [
            report,
            _download(report),
            headline(report),
            grid(report),
            functionality_table(report),
            group_table(report),
            gr.update(choices=[(m.name, k) for k, m in enumerate(report.models)], value=place),
            gr.update(choices=[(f.name, k) for k, f in enumerate(report.suite.functionalities)], value=number),
            mark(place, number),
            1,
            cases(report, place, number, shown, 1),
        ]
    except MISTAKES as error:
        return [None, gr.skip(), problem(error), "", "", "", none, none, "", 1, ""]


def _download(report: Report) -> Any:
    return gr.update(value=report.opened.examples_file)


def _cell(event: gr.EventData) -> tuple[int, int]:
    """Read the indices of the model and the functionality that the page sends."""
    place, number = str(event.cell).split("-")
    return int(place), int(number)


if __name__ == "__main__":
    launch(build())

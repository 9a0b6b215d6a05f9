"""Behavior report: what does a model pass of a behavioral suite, and where does it fail?"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from behavior_report import (
    OWN_SUITE,
    SUITE_FILES,
    Report,
    add_models,
    bundled_files,
    bundled_report,
    examples_text,
    list_suites,
    open_report,
)
from behavior_view import SHOWN, Page, cases, mark, write_page

from rightreasons.io.reading import FILE_TYPES
from rightreasons.widget.pages import (
    PRIVACY,
    Held,
    download_text,
    example_files,
    launch,
    opening,
    page_links,
    problem,
    public_page,
    upload_file,
    waiting,
)
from rightreasons.widget.working import work

STYLE = Path(__file__).with_name("style.css")

INTRO = """
# Behavior report

A behavioral suite tests a model for one thing at a time: negation, names that must not matter, words that should make
it surer. Each cell is the percentage of cases of one functionality that one model passes. **Click a cell** to read the
cases behind it.
"""

FORMAT = f"""
**Suite**: JSON lines as `Suite.write` writes them. **Predictions**: one file per model, one row per example in the
order of the suite: one column per class (`p_negative, p_positive`, `logit_0, logit_1, …`), a column of lists
(`probabilities`, `logits`), or only `prediction`, if no test needs a confidence; names go by name. Or a **log**: a
samples file of lm-evaluation-harness, a log of inspect_ai. Files: {", ".join(FILE_TYPES)}. Without a suite,
predictions are scored on the bundled one.
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
    bundled = bundled_report()
    start = write_page(bundled, SHOWN[0])
    with public_page("Behavior report", STYLE) as demo:
        gr.Markdown(INTRO + PRIVACY)
        report, held = gr.State(OWN_SUITE), gr.State()
        suites = list_suites()
        # A checkout has one suite, the published page several.
        suite = gr.Dropdown(
            suites, value=OWN_SUITE, label="Suite", elem_id="suite", visible=len(suites) > 1
        )
        figures = gr.HTML(start.headline, elem_id="figures")
        heat_map = gr.HTML(start.grid, elem_id="heat-map", js_on_load=CLICKS)
        outline = gr.HTML(mark(start.place, start.number), elem_classes="rr-style")
        with gr.Accordion("Your own suite and predictions", open=False, elem_id="own"):
            with gr.Row():
                suite_file = upload_file(
                    label="Suite", file_types=list(SUITE_FILES), elem_id="suite-file"
                )
                answer_files = upload_file(
                    label="Predictions, one file per model",
                    file_types=[*FILE_TYPES, ".gz", ".txt"],
                    file_count="multiple",
                    elem_id="prediction-files",
                )
            gr.Markdown(FORMAT)
            with gr.Row():
                examples = gr.Button("Examples in order (.csv)", size="sm", elem_id="examples")
                back = gr.Button("Back to the example", size="sm", elem_id="back")
            gr.HTML(example_files(bundled_files()))
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                with gr.Group(), gr.Row():
                    model = gr.Dropdown(
                        _models(bundled),
                        value=start.place,
                        label="Model",
                        elem_id="model",
                        min_width=180,
                    )
                    functionality = gr.Dropdown(
                        _functionalities(bundled),
                        value=start.number,
                        label="Functionality",
                        elem_id="functionality",
                        min_width=180,
                    )
                with gr.Group(), gr.Row():
                    shown = gr.Radio(
                        list(SHOWN), value=SHOWN[0], label="Cases", elem_id="shown", scale=3
                    )
                    page = gr.Number(
                        1,
                        label="Page",
                        minimum=1,
                        precision=0,
                        elem_id="page",
                        scale=1,
                        min_width=90,
                    )
                listed = gr.HTML(start.cases, elem_id="cases")
            with gr.Column(scale=2, min_width=320), gr.Tabs():
                with gr.Tab("Functionalities"):
                    rates = gr.HTML(start.rates, elem_id="rates", js_on_load=CLICKS)
                with gr.Tab("Classes and types"):
                    groups = gr.HTML(start.groups, elem_id="groups")
        names = {
            "Ribeiro et al. 2020": "https://arxiv.org/abs/2005.04118",
            "Luz de Araujo & Roth 2023": "https://doi.org/10.1162/tacl_a_00590",
        }
        page_links("behavior", names)

        chosen = [model, functionality]
        whole = [report, held, figures, heat_map, rates, groups, *chosen, outline, page, listed]
        n = len(whole)

        def own(report: Any) -> Report | None:
            return None if isinstance(report, str) else report

        def at(report: Any) -> Report | None:
            return bundled_report(report) if isinstance(report, str) else report

        def open_suite(path: str | None, shown: str) -> Iterator[Any]:
            if path is not None:
                held = Held(path)
                steps = work(open_report, path)
                yield from opening(steps, partial(write, shown), partial(mistaken, None, None), n)
                del held  # and the file

        def open_answers(paths: list[str] | None, shown: str, report: Any) -> Iterator[Any]:
            if paths:
                held = [Held(path) for path in paths]
                steps = work(add_models, own(report), paths)
                yield from opening(steps, partial(write, shown), partial(mistaken, report, held), n)

        def open_bundled(shown: str, name: str) -> Iterator[Any]:
            yield (yield from write(shown, name))

        def write(shown: str, opened: Any) -> Iterator[Any]:
            report: Report = at(opened)
            page: Page = yield from waiting(work(write_page, report, shown), n)
            return [
                opened,
                None,
                page.headline,
                page.grid,
                page.rates,
                page.groups,
                gr.update(choices=_models(report), value=page.place),
                gr.update(choices=_functionalities(report), value=page.number),
                mark(page.place, page.number) if report.models else "",
                1,
                page.cases,
            ]

        def mistaken(report: Any, held: Any, error: Exception) -> list[Any]:
            none = gr.update(choices=[], value=None)
            return [report, held, problem(error), "", "", "", none, none, "", 1, ""]

        def click(report: Any, shown: str, event: gr.EventData) -> list[Any]:
            place, number = _cell(event)
            found = at(report)
            if found is None or not (
                place < len(found.models) and number < len(found.suite.functionalities)
            ):
                return [gr.skip()] * 5
            return [place, number, mark(place, number), 1, cases(found, place, number, shown, 1)]

        def choose(report: Any, place: int | None, number: int | None, shown: str) -> list[Any]:
            found = at(report)
            if found is None or place is None or number is None:
                return ["", 1, ""]
            return [mark(place, number), 1, cases(found, place, number, shown, 1)]

        def turn(
            report: Any, place: int | None, number: int | None, shown: str, page: int | None
        ) -> str:
            found = at(report)
            if found is None or place is None or number is None:
                return ""
            return cases(found, place, number, shown, int(page or 1))

        settings: dict[str, Any] = {"show_progress": "hidden"}
        # A suite of two hundred thousand examples takes a few seconds.
        # In one line, so that the last file asked for is the one that stays.
        long = {**settings, "show_progress": "minimal", "concurrency_id": "open"}
        suite_file.upload(open_suite, [suite_file, shown], whole, **long)
        answer_files.upload(open_answers, [answer_files, shown, report], whole, **long)
        for event in (back.click, suite.input, suite_file.clear, answer_files.clear):
            event(open_bundled, [shown, suite], whole, **long)
        download_text(
            examples,
            lambda report: examples_text((at(report) or bundled).suite),
            [report],
            "examples.csv",
            "text/csv",
        )
        for component in (heat_map, rates):
            component.click(click, [report, shown], [*chosen, outline, page, listed], **settings)
        for event in (model.input, functionality.input, shown.input):
            event(choose, [report, *chosen, shown], [outline, page, listed], **settings)
        page.input(turn, [report, *chosen, shown, page], listed, **settings)
    return demo


def _models(report: Report) -> list[tuple[str, int]]:
    return [(model.name, k) for k, model in enumerate(report.models)]


def _functionalities(report: Report) -> list[tuple[str, int]]:
    return [(functionality.name, k) for k, functionality in enumerate(report.suite.functionalities)]


def _cell(event: gr.EventData) -> tuple[int, int]:
    """Read the indices of the model and the functionality that the page sends."""
    place, number = str(event.cell).split("-")
    return int(place), int(number)


if __name__ == "__main__":
    launch(build())

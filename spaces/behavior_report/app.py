"""Behavior report: which tests of a behavioral suite does a model pass, and which does it fail?"""

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
from behavior_view import Page, outline_cell, write_page
from case_view import OUTCOMES, write_cases

from rightreasons.io.files.compressed import FILE_TYPES
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

A behavioral suite tests a model for one thing at a time: negation, names that must not matter, words
that should raise its confidence. Each cell is the percentage of cases of one functionality that one
model passes. **Click a cell** to read its cases.
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


PAPERS = {
    "Ribeiro et al. 2020": "https://arxiv.org/abs/2005.04118",
    "Luz de Araujo & Roth 2023": "https://doi.org/10.1162/tacl_a_00590",
}

FAILING = next(iter(OUTCOMES))
"""Outcome of the cases with which the page opens."""

QUIET: dict[str, Any] = {"show_progress": "hidden"}
# A suite of two hundred thousand examples takes a few seconds. The handlers that open one wait for
# each other, so that the last file that a visitor brings is the one that stays.
SLOW: dict[str, Any] = {"show_progress": "minimal", "concurrency_id": "open"}

N_OUTPUTS = 11
"""Number of outputs that a new report changes; see `show_report`."""

State = Report | str | None
"""Report of a visitor, or the name of a bundled one. None without any."""


def build() -> gr.Blocks:
    """Build the page."""
    bundled = bundled_report()
    start = write_page(bundled, FAILING)
    with public_page("Behavior report", STYLE) as page:
        gr.Markdown(INTRO + PRIVACY)
        state, uploads = gr.State(OWN_SUITE), gr.State()
        suites = list_suites()
        # A checkout has one suite, the published page several.
        suite = gr.Dropdown(
            suites, value=OWN_SUITE, label="Suite", elem_id="suite", visible=len(suites) > 1
        )
        figures = gr.HTML(start.headline, elem_id="figures")
        heat_map = gr.HTML(start.grid, elem_id="heat-map", js_on_load=CLICKS)
        # A separate style sheet outlines the open cell, so that the heat map is not drawn again.
        outline = gr.HTML(
            outline_cell(start.model_index, start.functionality_index), elem_classes="rr-style"
        )
        suite_file, prediction_files, examples, back = _make_upload_fields()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                model, functionality, outcome, number = _make_selection_fields(bundled, start)
                case_list = gr.HTML(start.cases, elem_id="cases")
            with gr.Column(scale=2, min_width=320), gr.Tabs():
                with gr.Tab("Functionalities"):
                    rates = gr.HTML(start.rates, elem_id="rates", js_on_load=CLICKS)
                with gr.Tab("Classes and types"):
                    groups = gr.HTML(start.groups, elem_id="groups")
        page_links("behavior", PAPERS)

        selection = [model, functionality]
        opened = [outline, number, case_list]
        outputs = [state, uploads, figures, heat_map, rates, groups, *selection, *opened]

        suite_file.upload(open_suite, [suite_file, outcome], outputs, **SLOW)
        prediction_files.upload(open_answers, [prediction_files, outcome, state], outputs, **SLOW)
        for event in (back.click, suite.input, suite_file.clear, prediction_files.clear):
            event(open_bundled, [outcome, suite], outputs, **SLOW)
        download_text(examples, write_examples, [state], "examples.csv", "text/csv")
        # Cells of both tables open the same cases.
        for component in (heat_map, rates):
            component.click(open_cell, [state, outcome], [*selection, *opened], **QUIET)
        for event in (model.input, functionality.input, outcome.input):
            event(open_cases, [state, *selection, outcome], opened, **QUIET)
        number.input(turn_page, [state, *selection, outcome, number], case_list, **QUIET)
    return page


def _make_upload_fields() -> list[Any]:
    """Make the fields for a suite and predictions, and the buttons below them."""
    with gr.Accordion("Your own suite and predictions", open=False, elem_id="own"):
        with gr.Row():
            suite_file = upload_file(
                label="Suite", file_types=list(SUITE_FILES), elem_id="suite-file"
            )
            prediction_files = upload_file(
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
    return [suite_file, prediction_files, examples, back]


def _make_selection_fields(report: Report, page: Page) -> list[Any]:
    """Make the fields for model, functionality, outcome of the cases, and number of the page."""
    with gr.Group(), gr.Row():
        model = gr.Dropdown(
            list_models(report),
            value=page.model_index,
            label="Model",
            elem_id="model",
            min_width=180,
        )
        functionality = gr.Dropdown(
            list_functionalities(report),
            value=page.functionality_index,
            label="Functionality",
            elem_id="functionality",
            min_width=180,
        )
    with gr.Group(), gr.Row():
        outcome = gr.Radio(list(OUTCOMES), value=FAILING, label="Cases", elem_id="shown", scale=3)
        number = gr.Number(
            1, label="Page", minimum=1, precision=0, elem_id="page", scale=1, min_width=90
        )
    return [model, functionality, outcome, number]


def list_models(report: Report) -> list[tuple[str, int]]:
    """Return the names of the models with their indices."""
    return [(model.name, k) for k, model in enumerate(report.models)]


def list_functionalities(report: Report) -> list[tuple[str, int]]:
    """Return the names of the functionalities with their indices."""
    functionalities = report.suite.functionalities
    return [(functionality.name, k) for k, functionality in enumerate(functionalities)]


# ------------------------------------------------------------------------------ handlers


def get_report(state: State) -> Report | None:
    """Return the report of a state."""
    # Bundled reports are the same for all visitors, and kept once.
    if isinstance(state, str):
        return bundled_report(state)
    return state


def open_suite(path: str | None, outcome: str) -> Iterator[Any]:
    """Open the suite of a visitor, which has no predictions yet."""
    if path is None:
        return
    # The file is deleted with this object, at the end of the handler.
    upload = Held(path)
    steps = work(open_report, path)
    yield from opening(
        steps, partial(show_report, outcome), partial(show_problem, None, None), N_OUTPUTS
    )
    del upload


def open_answers(paths: list[str] | None, outcome: str, state: State) -> Iterator[Any]:
    """Add predictions to the visitor's suite, or to the bundled one."""
    if not paths:
        return
    uploads = [Held(path) for path in paths]
    # Predictions without a suite of the visitor's are scored on the bundled one.
    own_report = None if isinstance(state, str) else state
    steps = work(add_models, own_report, paths)
    yield from opening(
        steps, partial(show_report, outcome), partial(show_problem, state, uploads), N_OUTPUTS
    )


def open_bundled(outcome: str, name: str) -> Iterator[Any]:
    """Open a bundled suite with its models."""
    yield (yield from show_report(outcome, name))


def show_report(outcome: str, state: Report | str) -> Iterator[Any]:
    """Write the page of a report, and return all outputs."""
    report = get_report(state)
    page: Page = yield from waiting(work(write_page, report, outcome), N_OUTPUTS)
    outline = ""
    if report.models:
        outline = outline_cell(page.model_index, page.functionality_index)
    # The upload is no longer needed: `None` lets its file be deleted.
    return [
        state,
        None,
        page.headline,
        page.grid,
        page.rates,
        page.groups,
        gr.update(choices=list_models(report), value=page.model_index),
        gr.update(choices=list_functionalities(report), value=page.functionality_index),
        outline,
        1,
        page.cases,
    ]


def show_problem(state: State, uploads: Any, error: Exception) -> list[Any]:
    """Return the outputs of files that cannot be used."""
    nothing = gr.update(choices=[], value=None)
    return [state, uploads, problem(error), "", "", "", nothing, nothing, "", 1, ""]


def open_cell(state: State, outcome: str, event: gr.EventData) -> list[Any]:
    """Show the cases of a cell that was clicked."""
    report = get_report(state)
    # The page sends the indices of the model and of the functionality.
    model_index, functionality_index = map(int, str(event.cell).split("-"))
    # A click may come from a page that an upload has replaced.
    is_known = (
        report is not None
        and model_index < len(report.models)
        and functionality_index < len(report.suite.functionalities)
    )
    if not is_known:
        return [gr.skip()] * 5
    return [
        model_index,
        functionality_index,
        *open_cases(state, model_index, functionality_index, outcome),
    ]


def open_cases(
    state: State, model_index: int | None, functionality_index: int | None, outcome: str
) -> list[Any]:
    """Show the first page of the cases that the fields select."""
    if get_report(state) is None or model_index is None or functionality_index is None:
        return ["", 1, ""]
    outline = outline_cell(model_index, functionality_index)
    return [outline, 1, turn_page(state, model_index, functionality_index, outcome, 1)]


def turn_page(
    state: State,
    model_index: int | None,
    functionality_index: int | None,
    outcome: str,
    page: int | None,
) -> str:
    """Show another page of the cases that the fields select."""
    report = get_report(state)
    if report is None or model_index is None or functionality_index is None:
        return ""
    # An empty field is the first page.
    return write_cases(report, model_index, functionality_index, outcome, int(page or 1))


def write_examples(state: State) -> str:
    """Write the examples of the suite as a table, in the order of predictions."""
    report = get_report(state) or bundled_report()
    return examples_text(report.suite)


if __name__ == "__main__":
    launch(build())

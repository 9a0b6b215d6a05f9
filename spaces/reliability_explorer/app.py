"""Reliability explorer: does a model's confidence match its accuracy, and by which definition?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import gradio as gr
from reliability_view import View, write_run, write_view
from runs import (
    KINDS,
    RUNS,
    Settings,
    fit_on_half,
    list_bundled,
    list_class_names,
    parse_run,
    read_bundled,
    read_upload,
)

from rightreasons.calibration.confidences import TABLE_KINDS
from rightreasons.calibration.norms import NORMS
from rightreasons.core.binning import STRATEGIES
from rightreasons.core.validation import SCORE_KINDS
from rightreasons.io.files.compressed import FILE_TYPES
from rightreasons.io.predictions import Predictions
from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    Held,
    example_files,
    filter_field,
    launch,
    opening,
    page_links,
    problem,
    public_page,
    upload_file,
    waiting,
)
from rightreasons.widget.working import work

DEFAULT_RUN = "Three classes, trained for long"

INTRO = """
# Reliability explorer

A model is calibrated when, of all answers that it gives with confidence 0.8, 80% are correct. The
example is a model that memorized its training data. Bring your own predictions, and see how the
figure depends on its definition.
"""

FORMAT = f"""
A table with a column of **labels** (`label`, `references`, …) and either one column per class (`p_negative,
p_positive`, `logit0, logit1, …`) or one column with a list of **scores** (`predictions`, `probabilities`, `logits`).
Or one with the **confidence** in each given answer and whether it was correct (`confidence`, `correct`). Or a **log**: a
samples file of lm-evaluation-harness, a log of inspect_ai.
Files: {", ".join(FILE_TYPES)}.
"""

PASTED = """p_negative,p_positive,label
0.95,0.05,negative
0.08,0.92,positive
0.35,0.65,negative
0.20,0.80,positive
"""

PAPERS = {
    "Naeini et al. 2015": "https://doi.org/10.1609/aaai.v29i1.9602",
    "Guo et al. 2017": "https://arxiv.org/abs/1706.04599",
    "Vaicenavicius et al. 2019": "https://arxiv.org/abs/1902.06977",
}

MIN_TEMPERATURE = 0.1

MAX_TEMPERATURE = 10

QUIET: dict[str, Any] = {"show_progress": "hidden"}
# The handlers that open a run wait for each other, so that the last one that a visitor brings stays.
OPENING: dict[str, Any] = {**QUIET, "concurrency_id": "open"}

N_OUTPUTS = 11
"""Number of outputs of a new run; see `show_run`."""

State = Predictions | str | None
"""Run of a visitor, or the title of a bundled one. None after a mistake."""


def build() -> gr.Blocks:
    """Build the page."""
    # Computed when the page is built: the first visitor does not wait.
    run = read_bundled(DEFAULT_RUN)
    settings, line, view = write_run(run, Settings(), list_bundled()[DEFAULT_RUN]["about"])
    with public_page("Reliability explorer") as page:
        gr.Markdown(INTRO + PRIVACY)
        state, uploads = gr.State(DEFAULT_RUN), gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML(view.figures, elem_id="figures")
                diagram = gr.HTML(view.diagram, elem_id="diagram")
                bins = gr.HTML(view.bins, elem_id="bin-table")
            with gr.Column(scale=2, min_width=320):
                source = gr.HTML(line, elem_id="source")
                choice, upload, log_filter, pasted, show = _make_run_fields()
                definition = _make_definition_fields(run, settings)
                temperature, fit_button, fitted = _make_temperature_fields()
        page_links("calibration", PAPERS)

        n_bins, strategy, kind, norm, scores, debias, shown_class = definition
        # In the order of the fields of `Settings`.
        controls = [n_bins, strategy, kind, norm, scores, debias, temperature, shown_class]
        views = [figures, diagram, bins]
        outputs = [state, source, uploads, kind, scores, shown_class, temperature, fitted, *views]

        slow = {**OPENING, "show_progress": "minimal"}
        choice.input(open_bundled, [choice, *controls], outputs, **OPENING)
        upload.upload(open_upload, [upload, log_filter, *controls], outputs, **slow)
        upload.clear(open_bundled, [choice, *controls], outputs, **OPENING)
        log_filter.submit(open_filter, [uploads, log_filter, *controls], outputs, **OPENING)
        show.click(open_pasted, [pasted, *controls], outputs, **OPENING)
        # Visibility follows also a kind that a new run sets.
        kind.change(show_class_field, kind, shown_class, **QUIET)
        for control in (strategy, kind, norm, scores, debias, shown_class):
            control.input(redraw, [state, *controls], views, **QUIET)
        # Sliders change while they are moved, and the temperature also when it is fitted.
        for control in (n_bins, temperature):
            control.change(redraw, [state, *controls], views, **QUIET)
        fit_button.click(set_temperature, [state, *controls], [temperature, fitted], **QUIET)
    return page


def _make_run_fields() -> list[Any]:
    """Make the fields for a bundled run, an upload with its filter, and pasted predictions."""
    bundled = list_bundled()
    with gr.Tabs():
        with gr.Tab("Examples"):
            choice = gr.Dropdown(list(bundled), value=DEFAULT_RUN, label="Run", elem_id="bundled")
            gr.HTML(example_files([RUNS / entry["file"] for entry in bundled.values()]))
        with gr.Tab("Upload"):
            upload = upload_file(
                label="Predictions",
                file_types=[*FILE_TYPES, ".gz"],
                elem_id="upload",
                file_count="single",
            )
            log_filter = filter_field()
            gr.Markdown(FORMAT)
        with gr.Tab("Paste"):
            pasted = gr.Textbox(
                PASTED, label="Predictions", lines=7, max_lines=14, elem_id="pasted"
            )
            show = gr.Button("Show these")
            gr.Markdown(FORMAT)
    return [choice, upload, log_filter, pasted, show]


def _make_definition_fields(run: Predictions, settings: Settings) -> list[Any]:
    """Make the fields for bins, their strategy, kind, norm, scores, debiasing, and shown class."""
    with gr.Accordion("Definition", open=False, elem_id="definition"):
        kind = gr.Radio(
            list(TABLE_KINDS),
            value=settings.kind,
            label="Kind: what is compared",
            elem_id="kind",
        )
        shown_class = gr.Dropdown(
            list_classes(run),
            value=0,
            label="Class whose bins are drawn",
            visible=False,
            elem_id="shown-class",
        )
        n_bins = gr.Slider(1, 50, value=settings.n_bins, step=1, label="Bins", elem_id="bins")
        strategy = gr.Radio(
            list(STRATEGIES),
            value=settings.strategy,
            label="Width of the bins",
            elem_id="strategy",
        )
        norm = gr.Radio(list(NORMS), value=settings.norm, label="Norm", elem_id="norm")
        debias = gr.Checkbox(label="Debias (l1, l2)", elem_id="debias")
        scores = gr.Dropdown(
            list(SCORE_KINDS),
            value="probabilities",
            label="The scores are",
            elem_id="scores",
        )
    return [n_bins, strategy, kind, norm, scores, debias, shown_class]


def _make_temperature_fields() -> list[Any]:
    """Make the fields for a temperature, its button, and the place of what was fitted."""
    with gr.Accordion("Temperature", open=False, elem_id="scaling"):
        temperature = gr.Slider(
            MIN_TEMPERATURE,
            MAX_TEMPERATURE,
            value=1,
            step=0.01,
            label="Temperature",
            elem_id="temperature",
        )
        fit_button = gr.Button("Fit the temperature", elem_id="fit")
        fitted = gr.HTML(elem_id="fitted")
    return [temperature, fit_button, fitted]


# ------------------------------------------------------------------------------ handlers


def get_run(state: Predictions | str) -> Predictions:
    """Return the run of a state."""
    # Bundled runs are the same for all visitors, and kept once.
    if isinstance(state, str):
        return read_bundled(state)
    return state


def read_settings(values: tuple[Any, ...]) -> Settings:
    """Return the settings of the controls, which are in the order of the fields."""
    *fields, shown_class = values
    # Without names of classes, the field is empty.
    return Settings(*fields, shown_class=shown_class or 0)


def list_classes(run: Predictions) -> list[tuple[str, int]]:
    """Return the names of the classes with their indices."""
    return [(name, k) for k, name in enumerate(list_class_names(run))]


def open_bundled(title: str, *values: Any) -> Iterator[Any]:
    """Show a bundled run."""
    yield (yield from show_run(list_bundled()[title]["about"], values, title))


def open_upload(path: str | None, name: str, *values: Any) -> Iterator[Any]:
    """Show the run of an uploaded file."""
    if path is not None:
        yield from show_upload(Held(path), name, values)


def open_filter(upload: Held | None, name: str, *values: Any) -> Iterator[Any]:
    """Show the run of a log that waits for the name of its filter."""
    if upload is not None:
        yield from show_upload(upload, name, values)


def show_upload(upload: Held, name: str, values: tuple[Any, ...]) -> Iterator[Any]:
    """Show the run of a file, which is deleted unless it has a mistake."""
    steps = work(read_upload, str(upload.path), name)
    show = partial(show_run, upload.path.name, values)
    yield from opening(steps, show, partial(show_mistake, upload), N_OUTPUTS)


def open_pasted(text: str, *values: Any) -> Iterator[Any]:
    """Show the run that a visitor pasted."""
    show = partial(show_run, "Pasted predictions", values)
    yield from opening(work(parse_run, text), show, partial(show_mistake, None), N_OUTPUTS)


def show_run(source: str, values: tuple[Any, ...], state: Predictions | str) -> Iterator[Any]:
    """Measure a new run, and return all outputs.

    Args:
        source: Origin of the run.
        values: Values of the controls.
        state: The run, or the title of a bundled one.
    """
    run = get_run(state)
    # A run with many items takes a second or two.
    steps = work(write_run, run, read_settings(values), source)
    settings, line, view = yield from waiting(steps, N_OUTPUTS)
    # Confidences in given answers have no classes.
    classes = list_classes(run)
    shown_class = 0 if classes else None
    return [
        state,
        line,
        None,
        gr.update(choices=list(KINDS[run.kind]), value=settings.kind),
        settings.scores,
        gr.update(choices=classes, value=shown_class),
        1,
        "",
        *list_views(view),
    ]


def show_mistake(upload: Held | None, error: Exception) -> list[Any]:
    """Return the outputs of a run that cannot be read."""
    # The controls of the definition stay as they are.
    return [None, problem(error), upload, *[gr.skip()] * 3, 1, "", "", "", ""]


def list_views(view: View) -> tuple[str, str, str]:
    """Return the outputs that depend on the settings."""
    return view.figures, view.diagram, view.bins


def show_class_field(kind: str) -> Any:
    """Show the field for a class only for bins of one class."""
    return gr.update(visible=kind == "classwise")


def redraw(state: State, *values: Any) -> Iterator[Any]:
    """Measure the run of the page with other settings."""
    # After a mistake, its sentence stands above the controls.
    if state is None:
        return
    steps = work(write_view, get_run(state), read_settings(values))
    try:
        view = yield from waiting(steps, 3)
        yield list_views(view)
    except MISTAKES as error:
        yield problem(error), "", ""


def set_temperature(state: State, *values: Any) -> Iterator[Any]:
    """Set the temperature to the fitted one; the page follows."""
    if state is None:
        return
    steps = work(fit_on_half, get_run(state), read_settings(values))
    try:
        temperature, sentence = yield from waiting(steps, 2)
    except MISTAKES as error:
        yield gr.skip(), problem(error)
        return
    # The slider has ends, and steps of a hundredth.
    position = min(max(round(temperature, 2), MIN_TEMPERATURE), MAX_TEMPERATURE)
    yield position, f'<p class="rr-small">{sentence}</p>'


if __name__ == "__main__":
    launch(build())

"""Reliability explorer: does a model's confidence match its accuracy, and by which definition?"""

import dataclasses
import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
from reliability_view import Settings, class_names, fit, view

from rightreasons.analysis.calibration.options import NORMS, STRATEGIES, TABLE_KINDS
from rightreasons.data.opening.predictions import Predictions, parse_predictions, read_predictions
from rightreasons.data.opening.stored_columns import SUFFIXES
from rightreasons.data.opening.uploads import check_upload
from rightreasons.foundations.validation import SCORE_KINDS
from rightreasons.widget import MISTAKES, PRIVACY, launch, page_style, problem, public_page, typed_text

RUNS = Path(__file__).resolve().parent / "bundled"

INTRO = """
# Reliability explorer

A model is calibrated when, of all answers that it gives with confidence 0.8, 80 % are right. Bring your own predictions
or choose a bundled run, and see how the figure depends on its definition.
"""

FORMAT = f"""
A table with a column of **labels** (`label`, `references`, …) and either one column per class (`p_negative,
p_positive`, `logit0, logit1, …`) or one column with a list of **scores** (`predictions`, `probabilities`, `logits`).
Or one with the **confidence** in each given answer and whether it was right (`confidence`, `correct`).
Files: {", ".join(SUFFIXES)}.
"""

KINDS = {"top_label": TABLE_KINDS, "confidence": ("confidence",)}
"""What can be compared: of class scores, and of the confidence in given answers."""

PASTED = "p_negative,p_positive,label\n0.95,0.05,negative\n0.08,0.92,positive\n0.35,0.65,negative\n0.20,0.80,positive\n"


def build() -> gr.Blocks:
    bundled = {entry["title"]: entry for entry in json.loads((RUNS / "index.json").read_text(encoding="utf-8"))}
    first = next(iter(bundled))
    with public_page("Reliability explorer") as demo:
        page_style()
        gr.Markdown(INTRO + PRIVACY)
        run = gr.State()
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                with gr.Tabs():
                    with gr.Tab("Bundled runs"):
                        choice = gr.Dropdown(list(bundled), value=first, label="Run", elem_id="bundled")
                    with gr.Tab("Upload"):
                        upload = gr.File(label="Predictions", file_types=list(SUFFIXES), height=130, elem_id="upload")
                        gr.Markdown(FORMAT)
                    with gr.Tab("Paste"):
                        pasted = gr.Textbox(PASTED, label="Predictions", lines=7, max_lines=14, elem_id="pasted")
                        show = gr.Button("Show these")
                        gr.Markdown(FORMAT)
                source = gr.HTML(elem_id="source")
                with gr.Group():
                    kind = gr.Radio(
                        list(TABLE_KINDS), value="top_label", label="Kind: what is compared", elem_id="kind"
                    )
                    shown_class = gr.Dropdown(label="Class whose bins are drawn", visible=False, elem_id="shown-class")
                    n_bins = gr.Slider(1, 50, value=15, step=1, label="Bins", elem_id="bins")
                    strategy = gr.Radio(
                        list(STRATEGIES), value="uniform", label="Width of the bins", elem_id="strategy"
                    )
                    norm = gr.Radio(list(NORMS), value="l1", label="Norm", elem_id="norm")
                    temperature = gr.Slider(0.1, 10, value=1, step=0.01, label="Temperature", elem_id="temperature")
                    debias = gr.Checkbox(label="Debias (l1, l2)", elem_id="debias")
                    scores = gr.Dropdown(
                        list(SCORE_KINDS), value="probabilities", label="The scores are", elem_id="scores"
                    )
                fit_button = gr.Button("Fit the temperature", elem_id="fit")
                fitted = gr.HTML(elem_id="fitted")
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML(elem_id="figures")
                diagram = gr.HTML(elem_id="diagram")
                bins = gr.HTML(elem_id="bin-table")

        controls = [n_bins, strategy, kind, norm, scores, debias, temperature, shown_class]
        page = [figures, diagram, bins]

        def open_bundled(title: str, *values: Any) -> list[Any]:
            return _open(lambda: read_predictions(RUNS / bundled[title]["file"]), bundled[title]["about"], values)

        def open_upload(path: str | None, *values: Any) -> list[Any]:
            if path is None:
                return open_bundled(first, *values)
            return _open(lambda: read_predictions(check_upload(path)), Path(path).name, values)

        def open_pasted(text: str, *values: Any) -> list[Any]:
            return _open(lambda: parse_predictions(typed_text(text, "Predictions")), "Pasted predictions", values)

        for event, handler, given in (
            (demo.load, open_bundled, choice),
            (choice.input, open_bundled, choice),
            (upload.change, open_upload, upload),
            (show.click, open_pasted, pasted),
        ):
            # "always_last": an event that arrives while the page is drawn is handled afterwards, never dropped.
            event(
                handler,
                [given, *controls],
                [run, source, kind, scores, shown_class, fitted, *page],
                show_progress="hidden",
                trigger_mode="always_last",
            )
        kind.change(lambda kind: gr.update(visible=kind == "classwise"), kind, shown_class, show_progress="hidden")
        moves = [control.input for control in (strategy, kind, norm, scores, debias, shown_class)]
        for event in (*moves, n_bins.change, temperature.change):
            event(_draw, [run, *controls], page, show_progress="hidden", trigger_mode="always_last")
        fit_button.click(_fit, [run, *controls], [temperature, fitted], show_progress="hidden")
    return demo


def _open(read: Callable[[], Predictions], about: str, values: tuple[Any, ...]) -> list[Any]:
    """Read a run and draw it.

    Returns the run, the line about it, how what depends on it changes, and the page.
    """
    try:
        run = read()
    except MISTAKES as error:
        return [None, problem(error), gr.skip(), gr.skip(), gr.skip(), "", "", "", ""]
    names = class_names(run)
    settings = _settings(values)
    kinds = KINDS[run.kind]
    kind = settings.kind if settings.kind in kinds else kinds[0]
    settings = dataclasses.replace(settings, scores=run.scores or settings.scores, shown_class=0, kind=kind)
    classes = f"{len(names)} classes" if names else "rows of different lengths"
    if run.kind == "confidence":
        classes = "the confidence in given answers"
    return [
        run,
        f'<p class="rr-small">{html.escape(about)} {len(run):,} items, {classes}.</p>',
        gr.update(choices=list(kinds), value=kind),
        settings.scores,
        gr.update(choices=[(name, k) for k, name in enumerate(names)], value=0 if names else None),
        "",
        *_page(run, settings),
    ]


def _fit(run: Predictions | None, *values: Any) -> tuple[Any, str]:
    """Set the temperature to the fitted one; the page follows."""
    if run is None:
        return gr.skip(), ""
    try:
        temperature, words = fit(run, _settings(values))
    except MISTAKES as error:
        return gr.skip(), problem(error)
    return min(max(round(temperature, 2), 0.1), 10), f'<p class="rr-small">{html.escape(words)}</p>'


def _draw(run: Predictions | None, *values: Any) -> tuple[str, str, str]:
    # Without a run, the last file opened had a mistake, which is shown above the controls.
    return ("", "", "") if run is None else _page(run, _settings(values))


def _page(run: Predictions, settings: Settings) -> tuple[str, str, str]:
    try:
        shown = view(run, settings)
    except MISTAKES as error:
        return problem(error), "", ""
    return shown.figures, shown.diagram, shown.bins


def _settings(values: tuple[Any, ...]) -> Settings:
    """Read the controls, which are in the order of the fields."""
    *others, shown_class = values
    return Settings(*others, shown_class=shown_class or 0)


if __name__ == "__main__":
    launch(build())

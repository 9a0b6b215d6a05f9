"""Reliability explorer: does a model's confidence match its accuracy, and by which definition?"""

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import gradio as gr
from reliability_view import (
    KINDS,
    RUNS,
    Settings,
    bundled,
    bundled_run,
    class_names,
    fit,
    open_file,
    open_text,
    opened,
    view,
)

from rightreasons.calibration.confidences import TABLE_KINDS
from rightreasons.calibration.norms import NORMS
from rightreasons.core.binning import STRATEGIES
from rightreasons.core.validation import SCORE_KINDS
from rightreasons.io.reading import FILE_TYPES
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

FIRST = "Three classes, trained for long"

INTRO = """
# Reliability explorer

A model is calibrated when, of all answers that it gives with confidence 0.8, 80% are right. The example is a model that
was trained until it knew its training data by heart. Bring your own predictions, and see how the figure depends on its
definition.
"""

FORMAT = f"""
A table with a column of **labels** (`label`, `references`, …) and either one column per class (`p_negative,
p_positive`, `logit0, logit1, …`) or one column with a list of **scores** (`predictions`, `probabilities`, `logits`).
Or one with the **confidence** in each given answer and whether it was right (`confidence`, `correct`). Or a **log**: a
samples file of lm-evaluation-harness, a log of inspect_ai.
Files: {", ".join(FILE_TYPES)}.
"""

PASTED = "p_negative,p_positive,label\n0.95,0.05,negative\n0.08,0.92,positive\n0.35,0.65,negative\n0.20,0.80,positive\n"


def build() -> gr.Blocks:
    first = bundled_run(FIRST)
    start, about, shown = opened(first, Settings(), bundled()[FIRST]["about"])
    with public_page("Reliability explorer") as demo:
        gr.Markdown(INTRO + PRIVACY)
        run, held = gr.State(FIRST), gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML(shown.figures, elem_id="figures")
                diagram = gr.HTML(shown.diagram, elem_id="diagram")
                bins = gr.HTML(shown.bins, elem_id="bin-table")
            with gr.Column(scale=2, min_width=320):
                source = gr.HTML(about, elem_id="source")
                with gr.Tabs():
                    with gr.Tab("Examples"):
                        choice = gr.Dropdown(
                            list(bundled()), value=FIRST, label="Run", elem_id="bundled"
                        )
                        gr.HTML(
                            example_files([RUNS / entry["file"] for entry in bundled().values()])
                        )
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
                with gr.Accordion("Definition", open=False, elem_id="definition"):
                    kind = gr.Radio(
                        list(TABLE_KINDS),
                        value=start.kind,
                        label="Kind: what is compared",
                        elem_id="kind",
                    )
                    shown_class = gr.Dropdown(
                        _classes(first),
                        value=0,
                        label="Class whose bins are drawn",
                        visible=False,
                        elem_id="shown-class",
                    )
                    n_bins = gr.Slider(
                        1, 50, value=start.n_bins, step=1, label="Bins", elem_id="bins"
                    )
                    strategy = gr.Radio(
                        list(STRATEGIES),
                        value="uniform",
                        label="Width of the bins",
                        elem_id="strategy",
                    )
                    norm = gr.Radio(list(NORMS), value="l1", label="Norm", elem_id="norm")
                    debias = gr.Checkbox(label="Debias (l1, l2)", elem_id="debias")
                    scores = gr.Dropdown(
                        list(SCORE_KINDS),
                        value="probabilities",
                        label="The scores are",
                        elem_id="scores",
                    )
                with gr.Accordion("Temperature", open=False, elem_id="scaling"):
                    temperature = gr.Slider(
                        0.1, 10, value=1, step=0.01, label="Temperature", elem_id="temperature"
                    )
                    fit_button = gr.Button("Fit the temperature", elem_id="fit")
                    fitted = gr.HTML(elem_id="fitted")
        names = {
            "Naeini et al. 2015": "https://doi.org/10.1609/aaai.v29i1.9602",
            "Guo et al. 2017": "https://arxiv.org/abs/1706.04599",
            "Vaicenavicius et al. 2019": "https://arxiv.org/abs/1902.06977",
        }
        page_links("calibration", names)

        controls = [n_bins, strategy, kind, norm, scores, debias, temperature, shown_class]
        page = [figures, diagram, bins]
        whole = [run, source, held, kind, scores, shown_class, temperature, fitted, *page]
        n = len(whole)

        def show_run(
            about: str, values: tuple[Any, ...], opened_run: Any
        ) -> Generator[Any, None, list[Any]]:
            run = _run(opened_run)
            settings, line, shown = yield from waiting(
                work(opened, run, _settings(values), about), n
            )
            names = _classes(run)
            return [
                opened_run,
                line,
                None,
                gr.update(choices=list(KINDS[run.kind]), value=settings.kind),
                settings.scores,
                gr.update(choices=names, value=0 if names else None),
                1,
                "",
                *_shown(shown),
            ]

        def mistaken(held: Held | None, error: Exception) -> list[Any]:
            return [None, problem(error), held, *[gr.skip()] * 3, 1, "", "", "", ""]

        def open_bundled(title: str, *values: Any) -> Iterator[Any]:
            yield (yield from show_run(bundled()[title]["about"], values, title))

        def open_upload(path: str | None, name: str, *values: Any) -> Iterator[Any]:
            if path is not None:
                yield from read(Held(path), name, values)

        def open_filter(held: Held | None, name: str, *values: Any) -> Iterator[Any]:
            if held is not None:
                yield from read(held, name, values)

        def read(held: Held, name: str, values: tuple[Any, ...]) -> Iterator[Any]:
            steps = work(open_file, str(held.path), name)
            shown = partial(show_run, held.path.name, values)
            yield from opening(steps, shown, partial(mistaken, held), n)

        def open_pasted(text: str, *values: Any) -> Iterator[Any]:
            shown = partial(show_run, "Pasted predictions", values)
            yield from opening(work(open_text, text), shown, partial(mistaken, None), n)

        settings: dict[str, Any] = {"show_progress": "hidden"}
        # In one line, so that the last file asked for is the one that stays.
        long = {**settings, "concurrency_id": "open"}
        choice.input(open_bundled, [choice, *controls], whole, **long)
        upload.upload(
            open_upload,
            [upload, log_filter, *controls],
            whole,
            **{**long, "show_progress": "minimal"},
        )
        upload.clear(open_bundled, [choice, *controls], whole, **long)
        log_filter.submit(open_filter, [held, log_filter, *controls], whole, **long)
        show.click(open_pasted, [pasted, *controls], whole, **long)
        kind.change(
            lambda kind: gr.update(visible=kind == "classwise"),
            kind,
            shown_class,
            show_progress="hidden",
        )
        moves = [control.input for control in (strategy, kind, norm, scores, debias, shown_class)]
        for event in (*moves, n_bins.change, temperature.change):
            event(_draw, [run, *controls], page, **settings)
        fit_button.click(_fit, [run, *controls], [temperature, fitted], show_progress="hidden")
    return demo


def _fit(run: Any, *values: Any) -> Iterator[Any]:
    """Set the temperature to the fitted one; the page follows."""
    if run is None:
        return
    try:
        temperature, words = yield from waiting(work(fit, _run(run), _settings(values)), 2)
    except MISTAKES as error:
        yield gr.skip(), problem(error)
        return
    yield min(max(round(temperature, 2), 0.1), 10), f'<p class="rr-small">{words}</p>'


def _draw(run: Any, *values: Any) -> Iterator[Any]:
    # Without a run, the last file opened had a mistake, which is shown above the controls.
    if run is None:
        return
    try:
        yield _shown((yield from waiting(work(view, _run(run), _settings(values)), 3)))
    except MISTAKES as error:
        yield problem(error), "", ""


def _run(run: Any) -> Any:
    """Return the run of a session: an uploaded one, or the title of a bundled one."""
    return bundled_run(run) if isinstance(run, str) else run


def _shown(shown: Any) -> tuple[str, str, str]:
    return shown.figures, shown.diagram, shown.bins


def _classes(run: Any) -> list[tuple[str, int]]:
    return [(name, k) for k, name in enumerate(class_names(run))]


def _settings(values: tuple[Any, ...]) -> Settings:
    """Read the controls, which are in the order of the fields."""
    *others, shown_class = values
    return Settings(*others, shown_class=shown_class or 0)


if __name__ == "__main__":
    launch(build())

"""Audit: is a language model right for the right reasons?

A model and data, or stored predictions, give the report of `rightreasons audit`, the same component
as its own page. The page opens with a finished audit, whose model answers to edits of a text.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from audit_view import (
    EXAMPLES,
    MAX_GIGABYTES,
    MAX_ITEMS,
    MAX_SECONDS,
    FinishedAudit,
    Source,
    get_report,
    read_example,
    run,
    write_title,
)
from what_if import predict_edit

from rightreasons.io.files.compressed import FILE_TYPES
from rightreasons.report.questions import QUESTIONS
from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    Held,
    download_text,
    example_files,
    filter_field,
    launch,
    page_links,
    problem,
    public_page,
    upload_file,
    waiting,
)
from rightreasons.widget.reports import answer_edits, show_report, write_answer
from rightreasons.widget.working import work

HERE = Path(__file__).resolve().parent

INTRO = """
# Audit: right for the right reasons?

Audit a classifier, a multiple-choice model or a language model. The page opens with one of two
finished audits: edit a text to see its prediction change. Below the examples, you can audit your own
model or predictions.
"""

HELP = f"""
**A model on the hub** with a data set: a name that `rightreasons` knows (`sst2`, `trec`,
`socialiqa`, …), an id on the hub, or a file of items. Or **stored predictions**, which need no model:
a table of labels and scores, a samples file of lm-evaluation-harness, a log of inspect_ai. At most
{MAX_ITEMS} items and {MAX_SECONDS / 60:.0f} minutes; for more, run `rightreasons audit MODEL DATASET`
on your own machine. The work ends when you leave.
"""

PAPERS = {
    "Guo et al. 2017": "https://arxiv.org/abs/1706.04599",
    "Du et al. 2021": "https://arxiv.org/abs/2103.06922",
    "Niven & Kao 2019": "https://arxiv.org/abs/1907.07355",
    "Shen & Kejriwal 2022": "https://arxiv.org/abs/2210.01258",
    "Datta et al. 2020": "https://arxiv.org/abs/2010.07212",
    "Ribeiro et al. 2020": "https://arxiv.org/abs/2005.04118",
}

# The page shows itself what is going on.
QUIET: dict[str, Any] = {"show_progress": "hidden"}


def build() -> gr.Blocks:
    """Build the page."""
    example = read_example()
    with public_page("Audit") as page:
        gr.Markdown(INTRO + PRIVACY)
        # The finished audit of this visitor, and the files that an audit waits for.
        # A file is kept for as long as the state of its visitor refers to it.
        state, uploads = gr.State(example), gr.State()
        with gr.Row(elem_id="examples"):
            examples = {}
            for name in EXAMPLES:
                label = f"Example: {name[:1].lower()}{name[1:]}"
                examples[name] = gr.Button(label, size="sm")
        with gr.Accordion("Audit a model or predictions of your own", open=False):
            sources = _make_source_fields()
            sizes = _make_size_fields()
            with gr.Row():
                start = gr.Button("Audit", variant="primary", elem_id="audit")
                stop = gr.Button("Stop", elem_id="stop")
                save = gr.Button("Download the report", elem_id="save")
        title = gr.HTML(write_title(example), elem_id="title")
        report = show_report(get_report(example), elem_id="report")
        page_links("audit", PAPERS)

        # Everything that an audit changes, in the order of `show_audit`.
        outputs = [title, state, uploads, report, *sources[2:]]

        running = start.click(run_audit, [*sources, *sizes], outputs, **QUIET)
        stop.click(lambda: show_problem("Stopped."), None, outputs, cancels=[running], **QUIET)
        for name, button in examples.items():

            def show_example(name: str = name) -> list[Any]:
                return show_audit(read_example(name))

            button.click(show_example, None, outputs, cancels=[running], **QUIET)
        answer_edits(report, predict_text, [state])
        download_text(save, get_archive, [state], "report.zip", "application/zip")
    return page


def _make_source_fields() -> list[Any]:
    """Make the fields for model, data, a file of predictions, and a file of items."""
    with gr.Tabs():
        with gr.Tab("A model and data"):
            model = gr.Textbox(label="Model", placeholder="owner/name on the hub", elem_id="model")
            dataset = gr.Textbox(label="Data", placeholder="sst2, or owner/name", elem_id="dataset")
        with gr.Tab("Stored predictions"):
            predictions = upload_file(
                label="Predictions or a log", file_types=[*FILE_TYPES, ".gz"], elem_id="answers"
            )
        with gr.Tab("A file of items"):
            items = upload_file(
                label="Items, instead of a data set",
                file_types=[*FILE_TYPES, ".gz"],
                elem_id="items",
            )
    gr.HTML(example_files([HERE / "bundled" / "predictions.csv"]))
    return [model, dataset, predictions, items]


def _make_size_fields() -> list[Any]:
    """Make the fields for questions, number of items, split, and filter of a log."""
    with gr.Accordion("Questions and size", open=False, elem_id="definition"):
        questions = gr.CheckboxGroup(
            list(QUESTIONS),
            value=[],
            label="Questions; none for all but reasons",
            elem_id="questions",
        )
        limit = gr.Slider(10, MAX_ITEMS, value=100, step=10, label="Items", elem_id="limit")
        split = gr.Textbox(
            label="Split", placeholder="the first that is for tests", elem_id="split"
        )
        log_filter = filter_field()
        gr.Markdown(HELP)
    return [questions, limit, split, log_filter]


# ------------------------------------------------------------------------------ handlers


def run_audit(
    model: str, dataset: str, predictions: str | None, items: str | None, *sizes: Any
) -> Iterator[list[Any]]:
    """Audit what a visitor brings, and show it.

    An upload is deleted as soon as no audit waits for it.
    """
    uploads = {}
    for name, path in (("predictions", predictions), ("items", items)):
        if path is not None:
            uploads[name] = Held(path)
    questions, limit, split, log_filter = sizes
    paths = {name: str(upload.path) for name, upload in uploads.items()}
    # A field that was never opened has no value yet.
    source = Source(
        model="" if "predictions" in paths else model or "",
        dataset=dataset or "",
        data_file=paths.get("items"),
        predictions=paths.get("predictions"),
        split=split or "",
        log_filter=log_filter or "",
    )
    # The audit runs in another process, with limits of time and memory.
    steps = work(run, source, questions or [], limit, seconds=MAX_SECONDS, gigabytes=MAX_GIGABYTES)
    n_outputs = len(show_problem(""))
    try:
        progress = '<p class="rr-waiting" role="status">Asking …</p>'
        yield [progress, *[gr.skip()] * (n_outputs - 1)]
        finished = yield from waiting(steps, n_outputs)
        yield show_audit(finished)
    except MISTAKES as error:
        # The files are kept: the visitor may correct a field and ask again.
        yield show_problem(error, uploads or None)


def show_audit(finished: FinishedAudit) -> list[Any]:
    """Return the outputs of a finished audit."""
    return [write_title(finished), finished, None, get_report(finished), None, None]


def show_problem(error: Exception | str, uploads: Any = None) -> list[Any]:
    """Return the outputs of an audit that was refused or stopped."""
    return [problem(error), None, uploads, None, None, None]


def predict_text(finished: FinishedAudit | None, event: gr.EventData) -> Iterator[Any]:
    """Answer to the edit of a text in the report."""
    request = event._data
    # The report of a model that answers may still be shown while an audit begins.
    if finished is None or finished.subject is None:
        return
    steps = work(predict_edit, finished.subject, request, gigabytes=MAX_GIGABYTES)
    try:
        models = yield from waiting(steps, 1)
        yield write_answer(request, models=models)
    except MISTAKES as error:
        yield write_answer(request, error=str(error))


def get_archive(finished: FinishedAudit | None) -> str:
    """Return the files of a report as a zip file in base64; "" without a finished audit."""
    return "" if finished is None else finished.archive


if __name__ == "__main__":
    launch(build())

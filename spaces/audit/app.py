"""Audit: is a language model right for the right reasons? A model and data, or stored predictions, give the report."""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from audit_view import (
    EXAMPLES,
    GIGABYTES,
    MOST_ITEMS,
    SECONDS,
    Finished,
    Source,
    example,
    explored,
    frame,
    headline,
    run,
)

from rightreasons.io.reading import FILE_TYPES
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
from rightreasons.widget.working import work

HERE = Path(__file__).resolve().parent

INTRO = """
# Audit: right for the right reasons?

Seven questions to a classifier, a multiple-choice model or a language model. Two finished reports are here; ask for
your own.
"""

WHAT = f"""
**A model on the hub** with a data set: a name that `rightreasons` knows (`sst2`, `trec`, `socialiqa`, …), an id on the
hub, or a file of items. Or **stored predictions**, which need no model: a table of labels and scores, a samples file of
lm-evaluation-harness, a log of inspect_ai. At most {MOST_ITEMS} items and {SECONDS / 60:.0f} minutes; for more,
`rightreasons audit MODEL DATASET` on your own machine. The work ends when you leave.
"""

PAPERS = {
    "Guo et al. 2017": "https://arxiv.org/abs/1706.04599",
    "Du et al. 2021": "https://arxiv.org/abs/2103.06922",
    "Niven & Kao 2019": "https://arxiv.org/abs/1907.07355",
    "Shen & Kejriwal 2022": "https://arxiv.org/abs/2210.01258",
    "Datta et al. 2020": "https://arxiv.org/abs/2010.07212",
    "Ribeiro et al. 2020": "https://arxiv.org/abs/2005.04118",
}


def build() -> gr.Blocks:
    start = example()
    with public_page("Audit", HERE / "style.css") as demo:
        gr.Markdown(INTRO + PRIVACY)
        done, held = gr.State(), gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                message = gr.HTML(headline(start), elem_id="figures")
            with gr.Column(scale=2, min_width=320):
                with gr.Tabs():
                    with gr.Tab("A model and data"):
                        model = gr.Textbox(
                            label="Model", placeholder="owner/name on the hub", elem_id="model"
                        )
                        dataset = gr.Textbox(
                            label="Data", placeholder="sst2, or owner/name", elem_id="dataset"
                        )
                    with gr.Tab("Stored predictions"):
                        answers = upload_file(
                            label="Predictions or a log",
                            file_types=[*FILE_TYPES, ".gz"],
                            elem_id="answers",
                        )
                    with gr.Tab("A file of items"):
                        items = upload_file(
                            label="Items, instead of a data set",
                            file_types=[*FILE_TYPES, ".gz"],
                            elem_id="items",
                        )
                gr.HTML(example_files([HERE / "bundled" / "predictions.csv"]))
                with gr.Accordion("Questions and size", open=False, elem_id="definition"):
                    questions = gr.CheckboxGroup(
                        list(QUESTIONS),
                        value=[],
                        label="Questions; none for all but reasons",
                        elem_id="questions",
                    )
                    limit = gr.Slider(
                        10, MOST_ITEMS, value=100, step=10, label="Items", elem_id="limit"
                    )
                    split = gr.Textbox(
                        label="Split", placeholder="the first that is for tests", elem_id="split"
                    )
                    log_filter = filter_field()
                    gr.Markdown(WHAT)
                with gr.Row():
                    go = gr.Button("Audit", variant="primary", elem_id="audit")
                    stop = gr.Button("Stop", elem_id="stop")
                    save = gr.Button("Download the report", elem_id="save")
                with gr.Row():
                    examples = {name: gr.Button(name, size="sm") for name in EXAMPLES}
        with gr.Tabs():
            with gr.Tab("Report"):
                shown = gr.HTML(frame(start), elem_id="report")
            with gr.Tab("Question by question"):
                question = gr.Radio(list(start.sections), value=next(iter(start.sections)), label="Question",
                                    elem_id="question")  # fmt: skip
                section = gr.HTML(explored(start, next(iter(start.sections))), elem_id="section")
        page_links("audit", PAPERS)

        whole = [message, done, held, shown, question, section, answers, items]
        n = len(whole)

        def write(finished: Finished, state: Any) -> list[Any]:
            first = next(iter(finished.sections))
            return [
                headline(finished),
                state,
                None,
                frame(finished),
                gr.update(choices=list(finished.sections), value=first),
                explored(finished, first),
                None,
                None,
            ]

        def start_audit(
            model: str, dataset: str, answers: str | None, items: str | None, *settings: Any
        ) -> Iterator[Any]:
            files = {
                name: Held(path)
                for name, path in (("answers", answers), ("items", items))
                if path is not None
            }
            yield from ask(model, dataset, files, *settings)

        def ask(
            model: str,
            dataset: str,
            files: dict[str, Held],
            questions: list[str],
            limit: int,
            split: str,
            log_filter: str,
        ) -> Iterator[Any]:
            paths = {name: str(file.path) for name, file in files.items()}
            source = Source(
                # What is folded and was never opened has no value yet.
                "" if "answers" in paths else model or "",
                dataset or "",
                paths.get("items"),
                paths.get("answers"),
                split or "",
                log_filter or "",
            )
            limits = {"seconds": SECONDS, "gigabytes": GIGABYTES}
            try:
                yield [_progress("Asking …"), *[gr.skip()] * (n - 1)]
                finished = yield from waiting(
                    work(run, source, questions or [], limit, **limits), n
                )
                yield write(finished, finished)
            except MISTAKES as error:
                yield [problem(error), None, files or None, "", gr.skip(), "", None, None]

        def stopped() -> list[Any]:
            return [problem("Stopped."), None, None, "", gr.skip(), "", None, None]

        sizes = [questions, limit, split, log_filter]
        quiet: dict[str, Any] = {"show_progress": "hidden"}
        running = go.click(start_audit, [model, dataset, answers, items, *sizes], whole, **quiet)
        stop.click(stopped, None, whole, cancels=[running], **quiet)
        for name, button in examples.items():

            def back(name: str = name) -> list[Any]:
                done = example(name)
                return write(done, done)

            button.click(back, None, whole, cancels=[running], **quiet)
        question.input(
            lambda done, question: explored(done or start, question),
            [done, question],
            section,
            **quiet,
        )
        download_text(
            save, lambda done: (done or start).archive, [done], "report.zip", "application/zip"
        )
    return demo


def _progress(line: str) -> str:
    return f'<p class="rr-waiting" role="status">{html.escape(line)}</p>'


if __name__ == "__main__":
    launch(build())

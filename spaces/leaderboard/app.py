"""Leaderboard: audits side by side, over the seven questions, with intervals."""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from leaderboard_view import AUDITS, SORTS, add_audits, bundled, table_of

from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    Held,
    example_files,
    launch,
    page_links,
    problem,
    public_page,
    upload_file,
    waiting,
)
from rightreasons.widget.working import work

STYLE = Path(__file__).with_name("style.css")
FIRST = next(iter(SORTS))

INTRO = """
# Leaderboard

Audits side by side: a row per audit, a column per question, each with its verdict and its first figure with an
interval. Figures of other data or of other items are no contest: compare rows of the same data. Add your own
`audit.json`, as `rightreasons audit` and the page Audit write it.
"""


def build() -> gr.Blocks:
    with public_page("Leaderboard", STYLE) as demo:
        gr.Markdown(INTRO + PRIVACY)
        audits = gr.State()
        message = gr.HTML(elem_id="told")
        shown = gr.HTML(table_of(bundled(), FIRST), elem_id="table")
        with gr.Row():
            sort = gr.Dropdown(list(SORTS), value=FIRST, label="Best first, by", elem_id="sort")
            with gr.Column():
                upload = upload_file(
                    label="audit.json, one or more",
                    file_types=[".json"],
                    file_count="multiple",
                    elem_id="upload",
                )
                back = gr.Button("Back to the examples", size="sm", elem_id="back")
        gr.HTML(example_files(sorted(AUDITS.glob("*.json"))))
        page_links("audit", {})

        def add(paths: list[str] | None, before: list[Any] | None, sort: str) -> Iterator[Any]:
            held = [Held(path) for path in paths or ()]
            if not held:
                return
            try:
                found = yield from waiting(
                    work(add_audits, before or (), [str(row.path) for row in held]), 4
                )
                names = ", ".join(html.escape(row.path.name) for row in held)
                yield [
                    f'<p class="rr-small">Added: {names}. Only yours are shown.</p>',
                    found,
                    table_of(found, sort),
                    None,
                ]
            except MISTAKES as error:
                yield [problem(error), gr.skip(), gr.skip(), None]

        def order(found: list[Any] | None, sort: str) -> str:
            return table_of(found or bundled(), sort)

        outputs = [message, audits, shown, upload]
        upload.upload(add, [upload, audits, sort], outputs)
        sort.input(order, [audits, sort], shown, show_progress="hidden")
        back.click(
            lambda sort: ["", None, table_of(bundled(), sort), None],
            sort,
            outputs,
            show_progress="hidden",
        )
    return demo


if __name__ == "__main__":
    launch(build())

"""Leaderboard: audits side by side, by question, with intervals."""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from leaderboard_view import AUDITS, SORTS, add_audits, read_bundled, write_table

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

DEFAULT_SORT = next(iter(SORTS))

INTRO = """
# Models compared

Audits side by side: a row per audit, a column per question, each with its verdict and its first
figure with an interval. Figures on different data or items are not comparable: compare rows with the
same data. Add your own `audit.json`, written by `rightreasons audit` or by the page Audit.
"""


def build() -> gr.Blocks:
    """Build the page."""
    with public_page("Models compared", STYLE) as page:
        gr.Markdown(INTRO + PRIVACY)
        # The visitor's own audits; None for the bundled ones.
        audits = gr.State()
        message = gr.HTML(elem_id="told")
        table = gr.HTML(write_table(read_bundled(), DEFAULT_SORT), elem_id="table")
        with gr.Row():
            sort = gr.Dropdown(
                list(SORTS), value=DEFAULT_SORT, label="Best first, by", elem_id="sort"
            )
            # Uploads are next to the order, because both change the table.
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

        outputs = [message, audits, table, upload]
        upload.upload(add_uploads, [upload, audits, sort], outputs)
        sort.input(sort_audits, [audits, sort], table, show_progress="hidden")
        back.click(show_examples, sort, outputs, show_progress="hidden")
    return page


def add_uploads(paths: list[str] | None, audits: list[Any] | None, sort: str) -> Iterator[Any]:
    """Show the uploaded audits, after those that the visitor brought before."""
    # An upload is deleted as soon as this handler ends.
    if not paths:
        return
    uploads = [Held(path) for path in paths]
    files = [str(upload.path) for upload in uploads]
    steps = work(add_audits, audits or (), files)
    try:
        audits = yield from waiting(steps, 4)
    except MISTAKES as error:
        yield [problem(error), gr.skip(), gr.skip(), None]
        return
    # Names of files come from visitors.
    names = ", ".join(upload.path.name for upload in uploads)
    message = f'<p class="rr-small">Added: {html.escape(names)}. Only yours are shown.</p>'
    yield [message, audits, write_table(audits or (), sort), None]


def sort_audits(audits: list[Any] | None, sort: str) -> str:
    """Write the table in another order."""
    return write_table(audits or read_bundled(), sort)


def show_examples(sort: str) -> list[Any]:
    """Show the bundled audits again."""
    return ["", None, write_table(read_bundled(), sort), None]


if __name__ == "__main__":
    launch(build())

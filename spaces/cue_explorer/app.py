"""Cue explorer: does a multiple-choice set give its answers away?"""

import html
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from choice_sets import (
    ORIGINALS,
    Analysis,
    ChoiceSet,
    list_sets,
    parse_items,
    read_bundled,
    read_upload,
)
from cue_view import Page, write_cue_items, write_page

from rightreasons.core.choices import FEATURES
from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    Held,
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

HERE = Path(__file__).resolve().parent

INTRO = """
# Cue explorer

Some multiple-choice sets can be answered without the question: a word occurs more often in correct
choices than in incorrect ones, or the correct choice is the longer one. Bring a set of your own to see its
cues, and the accuracy of a classifier that sees nothing else.
"""

FORMAT = """
One row per item, as csv, tsv, jsonl, json or parquet: `prompt`, `choices` (a list), `label`; or the columns of COPA
(`premise, question, choice1, choice2, label`), HellaSwag, PIQA, SocialIQA, SWAG, aNLI, Winogrande and others. With
`mirrored` and `source_id`, originals are compared with their mirrors.
"""

PASTED = """premise,question,choice1,choice2,label
The cup fell.,effect,It was broken.,It held tea.,0
The boy laughed.,cause,He saw a clown.,The joke was good.,1
The road was icy.,effect,The car slid.,The snow was white.,0
She opened the window.,cause,The room was hot.,She heard a song.,0
"""

DEFAULT_FEATURES = ["unigram"]

DEFAULT_APPLICABILITY = 5

SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".gz"]

PAPERS = {
    "Kavumba et al. 2019": "https://arxiv.org/abs/1911.00225",
    "Niven & Kao 2019": "https://arxiv.org/abs/1907.07355",
}

QUIET: dict[str, Any] = {"show_progress": "hidden"}
# The handlers that open a set wait for each other, so that the last one that a visitor brings stays.
OPENING: dict[str, Any] = {**QUIET, "concurrency_id": "open"}

N_PAGE_OUTPUTS = 7
"""Number of outputs that depend on a set and its settings; see `analyze_set`."""

N_OUTPUTS = 3 + N_PAGE_OUTPUTS
"""Number of outputs of a new set; see `show_set`."""

State = ChoiceSet | str | None
"""Set of a visitor, or the name of a bundled one. None after a mistake."""


def build() -> gr.Blocks:
    """Build the page."""
    start = write_page(read_bundled(ORIGINALS), DEFAULT_FEATURES, DEFAULT_APPLICABILITY)
    with public_page("Cue explorer", HERE / "style.css") as page:
        gr.Markdown(INTRO + PRIVACY)
        state, analysis, uploads = gr.State(ORIGINALS), gr.State(start.analysis), gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                results = _make_results(start)
            with gr.Column(scale=2, min_width=320):
                source = gr.HTML(write_source(ORIGINALS), elem_id="source")
                choice, upload, pasted, show = _make_set_fields()
                settings = _make_setting_fields()
        page_links("cues", PAPERS)

        page_outputs = [analysis, *results]
        # A new set changes everything, other settings only what depends on them.
        outputs = [state, uploads, source, *page_outputs]
        choice.input(open_bundled, [choice, *settings], outputs, **OPENING)
        # A large file takes seconds to read, so its progress is shown.
        slow = {**OPENING, "show_progress": "minimal"}
        upload.upload(open_upload, [upload, *settings], outputs, **slow)
        upload.clear(open_bundled, [choice, *settings], outputs, **OPENING)
        show.click(open_pasted, [pasted, *settings], outputs, **OPENING)
        # Picture, table and items all depend on both settings.
        features, minimum = settings
        for event in (features.input, minimum.change):
            event(redraw, [state, *settings], page_outputs, **QUIET)
        _, _, _, cue, items, _ = results
        cue.input(choose_cue, [analysis, cue], items, **QUIET)
    return page


def _make_results(start: Page) -> list[Any]:
    """Make the places of verdict, picture, table, cue, items and mirrors."""
    headline = gr.HTML(start.figures, elem_id="figures")
    with gr.Tabs():
        with gr.Tab("Cues"):
            diagram = gr.HTML(start.diagram, elem_id="diagram")
            table = gr.HTML(start.table, elem_id="cue-table")
        with gr.Tab("Items"):
            cue = gr.Dropdown(start.names, value=start.cue, label="Cue", elem_id="cue")
            items = gr.HTML(start.items, elem_id="items")
        with gr.Tab("Original and mirrored"):
            mirrors = gr.HTML(start.mirrors, elem_id="mirrors")
    return [headline, diagram, table, cue, items, mirrors]


def _make_set_fields() -> list[Any]:
    """Make the fields for a bundled set, an upload, and pasted items with their button."""
    sets = list_sets()
    with gr.Tabs():
        with gr.Tab("Examples"):
            choice = gr.Dropdown(list(sets), value=ORIGINALS, label="Set", elem_id="bundled")
            gr.HTML(example_files(sorted({bundled_set.file for bundled_set in sets.values()})))
        with gr.Tab("Upload"):
            upload = upload_file(label="Items", file_types=SUFFIXES, elem_id="upload")
            gr.Markdown(FORMAT)
        with gr.Tab("Paste"):
            pasted = gr.Textbox(PASTED, label="Items", lines=7, max_lines=14, elem_id="pasted")
            show = gr.Button("Show these")
            gr.Markdown(FORMAT)
    return [choice, upload, pasted, show]


def _make_setting_fields() -> list[Any]:
    """Make the fields for the families of cues and their minimum applicability."""
    with gr.Accordion("Which cues", open=False, elem_id="definition"):
        features = gr.CheckboxGroup(
            list(FEATURES), value=DEFAULT_FEATURES, label="Cues", elem_id="features"
        )
        minimum = gr.Slider(
            1,
            50,
            value=DEFAULT_APPLICABILITY,
            step=1,
            label="Minimum applicability",
            elem_id="minimum",
        )
    return [features, minimum]


# ------------------------------------------------------------------------------ handlers


def get_items(state: ChoiceSet | str) -> ChoiceSet:
    """Return the set of a state."""
    # Bundled sets are the same for all visitors, and kept once.
    if isinstance(state, str):
        return read_bundled(state)
    return state


def open_bundled(name: str, *settings: Any) -> Iterator[Any]:
    """Show a bundled set."""
    yield (yield from show_set(list_sets()[name].source, settings, name))


def open_upload(path: str | None, *settings: Any) -> Iterator[Any]:
    """Show the set of an uploaded file."""
    if path is None:
        return
    # The file is deleted when nothing refers to it; after a mistake, the page does.
    upload = Held(path)
    show = partial(show_set, upload.path.name, settings)
    yield from opening(work(read_upload, path), show, partial(show_mistake, upload), N_OUTPUTS)


def open_pasted(text: str, *settings: Any) -> Iterator[Any]:
    """Show the set that a visitor pasted."""
    show = partial(show_set, "Pasted items.", settings)
    yield from opening(work(parse_items, text), show, partial(show_mistake, None), N_OUTPUTS)


def show_set(source: str, settings: tuple[Any, ...], state: ChoiceSet | str) -> Iterator[Any]:
    """Analyze a set, and return all outputs.

    Args:
        source: Origin of the set, in one line.
        settings: Families of cues, and their minimum applicability.
        state: The set, or the name of a bundled one.
    """
    # A bundled set is passed by its name, which a session can store.
    items = get_items(state)
    results = yield from analyze_set(items, settings, N_OUTPUTS)
    return [state, None, _write_line(f"{source} {len(items):,} items."), *results]


def analyze_set(items: ChoiceSet, settings: tuple[Any, ...], n_outputs: int) -> Iterator[Any]:
    """Analyze a set, and return the outputs that depend on it and on the settings."""
    try:
        # A mistake in the settings empties the page, and keeps the set.
        page: Page = yield from waiting(work(write_page, items, *settings), n_outputs)
    except MISTAKES as error:
        return [None, problem(error), *_empty_results()]
    return [
        page.analysis,
        page.figures,
        page.diagram,
        page.table,
        gr.update(choices=page.names, value=page.cue),
        page.items,
        page.mirrors,
    ]


def show_mistake(upload: Held | None, error: Exception) -> list[Any]:
    """Return the outputs of a set that cannot be read."""
    return [None, upload, problem(error), None, "", *_empty_results()]


def redraw(state: State, *settings: Any) -> Iterator[Any]:
    """Analyze the set of the page with other settings."""
    # After a mistake, its sentence stands above the settings.
    if state is not None:
        yield (yield from analyze_set(get_items(state), settings, N_PAGE_OUTPUTS))


def choose_cue(analysis: Analysis | None, cue: str | None) -> str:
    """Show the items of a cue."""
    if analysis is None:
        return ""
    return write_cue_items(analysis, cue)


def write_source(name: str) -> str:
    """Write the origin of a bundled set, and its size."""
    source = list_sets()[name].source
    return _write_line(f"{source} {len(read_bundled(name)):,} items.")


def _write_line(text: str) -> str:
    return f'<p class="rr-small">{html.escape(text)}</p>'


def _empty_results() -> list[Any]:
    """Return empty outputs for picture, table, cue, items and mirrors."""
    return ["", "", gr.update(choices=[], value=None), "", ""]


if __name__ == "__main__":
    launch(build())

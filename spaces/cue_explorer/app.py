"""Cue explorer: does a multiple-choice set give its answers away?"""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
from cue_view import (
    Items,
    analyze,
    cue_names,
    cue_table,
    diagram,
    figures,
    items_with,
    mirrors,
    parse_items,
    read_items,
)

from rightreasons.data.opening.uploads import check_upload
from rightreasons.foundations.choices import FEATURES
from rightreasons.widget import MISTAKES, PRIVACY, launch, page_style, problem, public_page, typed_text

HERE = Path(__file__).resolve().parent

INTRO = """
# Cue explorer

Some multiple-choice sets can be answered without reading the question: a word is more often in the right choice than in
the wrong one, or the right choice is the longer one. Bring your own set and see which cues it has, and how accurate a
classifier is that sees nothing else.
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

ORIGINALS, BOTH = "Originals, with a planted cue", "Originals and their mirrors"


def bundled(name: str) -> Items:
    items = read_items(HERE / "items.csv")
    return items.where(~items.mirrored) if name == ORIGINALS else items


def build() -> gr.Blocks:
    with public_page("Cue explorer") as demo:
        page_style()
        gr.HTML(f"<style>{HERE.joinpath('style.css').read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        gr.Markdown(INTRO + PRIVACY)
        items, found = gr.State(), gr.State()
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                with gr.Tabs():
                    with gr.Tab("Bundled sets"):
                        choice = gr.Dropdown([ORIGINALS, BOTH], value=ORIGINALS, label="Set", elem_id="bundled")
                    with gr.Tab("Upload"):
                        kinds = [".csv", ".tsv", ".jsonl", ".json", ".parquet"]
                        upload = gr.File(label="Items", file_types=kinds, height=130, elem_id="upload")
                        gr.Markdown(FORMAT)
                    with gr.Tab("Paste"):
                        pasted = gr.Textbox(PASTED, label="Items", lines=7, max_lines=14, elem_id="pasted")
                        show = gr.Button("Show these")
                        gr.Markdown(FORMAT)
                source = gr.HTML(elem_id="source")
                with gr.Group():
                    features = gr.CheckboxGroup(list(FEATURES), value=["unigram"], label="Cues", elem_id="features")
                    minimum = gr.Slider(1, 50, value=5, step=1, label="Minimum applicability", elem_id="minimum")
                drawing = gr.HTML(elem_id="diagram")
            with gr.Column(scale=3, min_width=320):
                headline = gr.HTML(elem_id="figures")
                with gr.Tabs():
                    with gr.Tab("Cues"):
                        listed = gr.HTML(elem_id="cue-table")
                    with gr.Tab("Items"):
                        cue = gr.Dropdown(label="Cue", elem_id="cue")
                        pointed = gr.HTML(elem_id="items")
                    with gr.Tab("Original and mirrored"):
                        balance = gr.HTML(elem_id="mirrors")

        page = [found, headline, drawing, listed, cue, pointed, balance]

        def open_bundled(name: str, *settings: Any) -> list[Any]:
            return _open(lambda: bundled(name), "Written for this page.", settings)

        def open_upload(path: str | None, *settings: Any) -> list[Any]:
            if path is None:
                return open_bundled(ORIGINALS, *settings)
            return _open(lambda: read_items(check_upload(path)), Path(path).name, settings)

        def open_pasted(text: str, *settings: Any) -> list[Any]:
            return _open(lambda: parse_items(typed_text(text, "Items")), "Pasted items.", settings)

        for event, handler, given in (
            (demo.load, open_bundled, choice),
            (choice.input, open_bundled, choice),
            (upload.change, open_upload, upload),
            (show.click, open_pasted, pasted),
        ):
            event(
                handler,
                [given, features, minimum],
                [items, source, *page],
                show_progress="hidden",
                trigger_mode="always_last",
            )
        for event in (features.input, minimum.change):
            event(_page, [items, features, minimum], page, show_progress="hidden", trigger_mode="always_last")
        cue.input(
            lambda found, cue: "" if found is None else items_with(found, cue),
            [found, cue],
            pointed,
            show_progress="hidden",
            trigger_mode="always_last",
        )
    return demo


def _open(read: Callable[[], Items], about: str, settings: tuple[Any, ...]) -> list[Any]:
    """Read a set and analyze it; return it, the line about it, and the page."""
    try:
        items = read()
    except MISTAKES as error:
        return [None, problem(error), *_page(None, *settings)]
    line = f'<p class="rr-small">{html.escape(about)} {len(items):,} items.</p>'
    return [items, line, *_page(items, *settings)]


def _page(items: Items | None, features: list[str], minimum: int) -> list[Any]:
    """Return everything that depends on the set and the settings."""
    empty = gr.update(choices=[], value=None)
    if items is None:  # the last file opened had a mistake, which is shown above the controls
        return [None, "", "", "", empty, "", ""]
    try:
        found = analyze(items, features, minimum)
    except MISTAKES as error:
        return [None, problem(error), "", "", empty, "", ""]
    names = cue_names(found)
    first = max(found.cues.cues, key=lambda cue: abs(cue.n_correct - cue.chance * cue.applicability), default=None)
    shown = None if first is None or first.cue not in names else first.cue
    return [
        found,
        figures(found),
        diagram(found),
        cue_table(found),
        gr.update(choices=names, value=shown),
        items_with(found, shown),
        mirrors(found),
    ]


if __name__ == "__main__":
    launch(build())

"""Difficulty explorer: rank texts by Fisher information, edit words, watch eigenvalue, confidence and label change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from difficulty_view import (
    IMDB_SOURCE,
    OWN_PAIRS,
    Ranked,
    edited_page,
    first_page,
    pairs_page,
    rank_named,
    ranking_page,
    ranking_verdict,
    read_imdb_pairs,
    replacements_page,
)

from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    launch,
    page_links,
    problem,
    public_page,
    typed_text,
    waiting,
)
from rightreasons.widget.working import result_of, work

STYLE = Path(__file__).resolve().parent / "style.css"

INTRO = """
# Difficulty explorer

On which texts is a classifier fragile, and which words make it so? The largest eigenvalue λ of the **Fisher
information** measures how fast the prediction changes when the word embeddings move in the worst direction: a step of
length e changes it by about λe²/2 nats. Shaded words are those that this direction moves. Edit a text and watch λ, the
confidence and the label.
"""

OWN = "A small network that was trained on generated reviews. Give the id of a text classifier on the hub for another."

PAPERS = {
    "Datta et al. 2020": "https://arxiv.org/abs/2010.07212",
    "Gardner et al. 2020": "https://arxiv.org/abs/2004.02709",
}

MAX_OPTION_LENGTH = 70


def build() -> gr.Blocks:
    """Build the page, with the texts and the pairs that come with it."""
    # Computed when the app starts: the first visitor does not wait.
    texts, ranked_texts, pairs = result_of(work(first_page))
    imdb_pairs = read_imdb_pairs()
    # Texts are sorted, the most difficult first.
    hardest = ranked_texts[0]
    with public_page("Difficulty explorer", STYLE) as demo:
        gr.Markdown(INTRO + PRIVACY)
        ranked = gr.State(ranked_texts)
        head = gr.HTML(ranking_verdict(ranked_texts), elem_id="verdict")
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                with gr.Tabs():
                    with gr.Tab("Texts"):
                        ranking = gr.HTML(ranking_page(ranked_texts), elem_id="ranking")
                    with gr.Tab("Contrast pairs"):
                        gr.HTML(pairs_page(pairs, OWN_PAIRS), elem_id="pairs")
                    # A checkout has no film reviews.
                    if imdb_pairs:
                        with gr.Tab("Film reviews"):
                            gr.HTML(pairs_page(imdb_pairs, IMDB_SOURCE), elem_id="imdb")
                with gr.Accordion("Your own texts and model", open=False, elem_id="own"):
                    model, lines, button = make_inputs(texts)
            with gr.Column(scale=3, min_width=320):
                selection = gr.Dropdown(
                    list_options(ranked_texts),
                    value=0,
                    label="Text, the most difficult first",
                    elem_id="chosen",
                )
                edited = gr.Textbox(hardest.text, label="Edit its words", lines=3, elem_id="edited")
                result = gr.HTML(edited_page(hardest, hardest), elem_id="result")
                try_button = gr.Button("Try replacements of single words", elem_id="try")
                replacements = gr.HTML(elem_id="replacements")
        page_links("difficulty", PAPERS)

        outputs = [ranked, head, ranking, selection, edited, result, replacements]
        # Enter in the field of the model is the same as the button.
        for event in (button.click, model.submit):
            event(rank_lines, [model, lines], outputs, show_progress="minimal")
        selection.input(
            select_text, [ranked, selection], [edited, result, replacements], show_progress="hidden"
        )
        # "change" and not "input": the explorer also follows values that are filled in for the user.
        edited.change(
            compare_edit, [model, ranked, selection, edited], result, show_progress="hidden"
        )
        try_button.click(try_replacements, [model, edited], replacements)
    return demo


def make_inputs(texts: Sequence[str]) -> tuple[gr.Textbox, gr.Textbox, gr.Button]:
    """Make the fields for a visitor's own model and texts."""
    model = gr.Textbox("", label="Model", placeholder="the page's own", info=OWN, elem_id="model")
    lines = gr.Textbox(
        "\n".join(texts),
        label="Texts, one per line",
        lines=12,
        max_lines=18,
        elem_id="texts",
    )
    return model, lines, gr.Button("Rank them", variant="primary")


def rank_lines(name: str, text: str) -> Iterator[Any]:
    """Rank the texts of a visitor."""
    try:
        lines = []
        for line in typed_text(text, "Texts").splitlines():
            if line.strip():
                lines.append(line.strip())
        ranked = yield from waiting(work(rank_named, name, lines), 7)
    except MISTAKES as error:
        yield [[], problem(error), "", gr.update(choices=[], value=None), "", "", ""]
        return
    hardest = ranked[0]
    yield [
        ranked,
        ranking_verdict(ranked),
        ranking_page(ranked),
        gr.update(choices=list_options(ranked), value=0),
        hardest.text,
        edited_page(hardest, hardest),
        "",
    ]


def select_text(ranked: list[Ranked], selection: int | None) -> list[Any]:
    """Show another text as it is."""
    if selection is None or not ranked:
        return ["", "", ""]
    item = ranked[selection]
    return [item.text, edited_page(item, item), ""]


def compare_edit(
    name: str, ranked: list[Ranked], selection: int | None, text: str
) -> Iterator[Any]:
    """Compare an edited text with the original."""
    if selection is None or not ranked:
        yield ""
        return
    original = ranked[selection]
    # The original needs no computation.
    if text == original.text:
        yield edited_page(original, original)
        return
    try:
        # The model of the field also ranked the original.
        steps = work(rank_named, name, [typed_text(text, "Edit its words")])
        (edited,) = yield from waiting(steps, 1)
        yield edited_page(original, edited)
    except MISTAKES as error:
        yield problem(error)


def try_replacements(name: str, text: str) -> Iterator[Any]:
    """Try replacements of the words of a text."""
    try:
        if typed_text(text, "Edit its words").strip():
            yield (yield from waiting(work(replacements_page, name, text), 1))
    except MISTAKES as error:
        yield problem(error)


def list_options(ranked: list[Ranked]) -> list[tuple[str, int]]:
    """Return the name of each text in the list, and its index."""
    options = []
    for index, item in enumerate(ranked):
        text = item.text
        # A list of options has one line for each.
        if len(text) > MAX_OPTION_LENGTH:
            text = f"{text[: MAX_OPTION_LENGTH - 1]}…"
        options.append((f"{index + 1}. {text}", index))
    return options


if __name__ == "__main__":
    launch(build())

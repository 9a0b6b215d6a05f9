"""Difficulty explorer: rank texts by Fisher information, edit words, watch eigenvalue, confidence and label change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from difficulty_view import (
    Ranked,
    edited_page,
    first_page,
    rank_named,
    ranking_page,
    ranking_verdict,
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
information** tells how fast the prediction changes when the word embeddings move in the worst direction: a step of
length e changes it by about λe²/2 nats. Shaded words are those that this direction moves. Edit a text and watch λ, the
confidence and the label.
"""

OWN = "A small network that was trained on generated reviews. Give the id of a text classifier on the hub for another."


def build() -> gr.Blocks:
    texts, first = result_of(work(first_page))
    with public_page("Difficulty explorer", STYLE) as demo:
        gr.Markdown(INTRO + PRIVACY)
        ranked = gr.State(first)
        head = gr.HTML(ranking_verdict(first), elem_id="verdict")
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                ranking = gr.HTML(ranking_page(first), elem_id="ranking")
                with gr.Accordion("Your own texts and model", open=False, elem_id="own"):
                    model = gr.Textbox(
                        "", label="Model", placeholder="the page's own", info=OWN, elem_id="model"
                    )
                    given = gr.Textbox(
                        "\n".join(texts),
                        label="Texts, one per line",
                        lines=12,
                        max_lines=18,
                        elem_id="texts",
                    )
                    go = gr.Button("Rank them", variant="primary")
            with gr.Column(scale=3, min_width=320):
                chosen = gr.Dropdown(
                    _options(first),
                    value=0,
                    label="Text, the most difficult first",
                    elem_id="chosen",
                )
                edited = gr.Textbox(
                    first[0].text, label="Edit its words", lines=3, elem_id="edited"
                )
                result = gr.HTML(_same(first[0]), elem_id="result")
                tried = gr.Button("Try replacements of single words", elem_id="try")
                replacements = gr.HTML(elem_id="replacements")
        page_links("difficulty", {"Datta et al. 2020": "https://arxiv.org/abs/2010.07212"})

        shown = [ranked, head, ranking, chosen, edited, result, replacements]
        for event in (go.click, model.submit):
            event(_rank, [model, given], shown, show_progress="minimal")
        chosen.input(
            _choose, [ranked, chosen], [edited, result, replacements], show_progress="hidden"
        )
        # "change" and not "input": the explorer also follows values that are filled in for the user.
        edited.change(_edit, [model, ranked, chosen, edited], result, show_progress="hidden")
        tried.click(_try, [model, edited], replacements)
    return demo


def _rank(name: str, given: str) -> Iterator[Any]:
    try:
        lines = [line for line in map(str.strip, typed_text(given, "Texts").splitlines()) if line]
        found = yield from waiting(work(rank_named, name, lines), 7)
    except MISTAKES as error:
        yield [[], problem(error), "", gr.update(choices=[], value=None), "", "", ""]
        return
    first = found[0]
    options = gr.update(choices=_options(found), value=0)
    yield [
        found,
        ranking_verdict(found),
        ranking_page(found),
        options,
        first.text,
        _same(first),
        "",
    ]


def _choose(ranked: list[Ranked], chosen: int | None) -> list[Any]:
    if chosen is None or not ranked:
        return ["", "", ""]
    return [ranked[chosen].text, _same(ranked[chosen]), ""]


def _edit(name: str, ranked: list[Ranked], chosen: int | None, text: str) -> Iterator[Any]:
    if chosen is None or not ranked:
        yield ""
    elif text == ranked[chosen].text:
        yield _same(ranked[chosen])
    else:
        try:
            found = yield from waiting(
                work(rank_named, name, [typed_text(text, "Edit its words")]), 1
            )
            yield edited_page(ranked[chosen], found[0])
        except MISTAKES as error:
            yield problem(error)


def _try(name: str, text: str) -> Iterator[Any]:
    try:
        if typed_text(text, "Edit its words").strip():
            yield (yield from waiting(work(replacements_page, name, text), 1))
    except MISTAKES as error:
        yield problem(error)


def _same(item: Ranked) -> str:
    return edited_page(item, item)


def _options(ranked: list[Ranked]) -> list[tuple[str, int]]:
    return [
        (f"{place}. {_short(item.text)}", place - 1) for place, item in enumerate(ranked, start=1)
    ]


def _short(text: str, longest: int = 70) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


if __name__ == "__main__":
    launch(build())

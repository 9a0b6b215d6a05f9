"""Difficulty explorer: rank texts by Fisher information, edit words, watch eigenvalue, confidence and label change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
from difficulty_model import open_model, own_model
from difficulty_view import Ranked, edited_page, rank, ranking_page, replacements_page

from rightreasons.widget import MISTAKES, PRIVACY, launch, page_style, problem, public_page, typed_text

STYLE = Path(__file__).resolve().parent / "style.css"
_ERRORS = (*MISTAKES, OSError, ImportError)

INTRO = """
# Difficulty explorer

On which texts is a classifier fragile, and which words make it so? The largest eigenvalue λ of the **Fisher
information** tells how fast the prediction changes when the word embeddings move in the worst direction: a step of
length e changes it by about λe²/2 nats. Shaded words are those that this direction moves. Edit a text and watch λ, the
confidence and the label.
"""

OWN = (
    "A small network that was trained on generated reviews when this page was started. Give the id of a text "
    "classifier on the hub for another."
)


def build() -> gr.Blocks:
    _, texts = own_model()
    with public_page("Difficulty explorer") as demo:
        page_style()
        gr.HTML(f"<style>{STYLE.read_text(encoding='utf-8')}</style>", visible=True, elem_classes="rr-style")
        gr.Markdown(INTRO + PRIVACY)
        ranked = gr.State([])
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                model = gr.Textbox("", label="Model", placeholder="the Space's own", info=OWN, elem_id="model")
                given = gr.Textbox(
                    "\n".join(texts), label="Texts, one per line", lines=12, max_lines=18, elem_id="texts"
                )
                go = gr.Button("Rank them", variant="primary")
                ranking = gr.HTML(elem_id="ranking")
            with gr.Column(scale=3, min_width=320):
                chosen = gr.Dropdown([], label="Text to edit, the hardest first", elem_id="chosen")
                edited = gr.Textbox("", label="Edit its words", lines=3, elem_id="edited")
                result = gr.HTML(elem_id="result")
                neighbors = gr.Radio(
                    [("words of the predicted class", "same_class"), ("any words, opposites too", "any")],
                    value="same_class",
                    label="Neighbors in the model's word embeddings",
                    info="A word goes with the class whose texts, of those on this page, hold it most often.",
                    elem_id="neighbors",
                )
                tried = gr.Button("Try replacements of single words", elem_id="try")
                replacements = gr.HTML(elem_id="replacements")

        shown = [ranked, ranking, chosen, edited, result, replacements]
        for event in (demo.load, go.click, model.submit):
            event(_rank, [model, given], shown, show_progress="hidden", trigger_mode="always_last")
        chosen.input(_choose, [ranked, chosen], [edited, result, replacements], show_progress="hidden")
        # "change" and not "input": the explorer also follows values that are filled in for the user.
        edited.change(
            _edit, [model, ranked, chosen, edited], result, show_progress="hidden", trigger_mode="always_last"
        )
        tried.click(_try, [model, edited, ranked, neighbors], replacements)
    return demo


def _rank(name: str, given: str) -> list[Any]:
    try:
        lines = map(str.strip, typed_text(given, "Texts").splitlines())
        found = rank(open_model(name), [line for line in lines if line])
    except _ERRORS as error:
        return [[], problem(error), gr.update(choices=[], value=None), "", "", ""]
    options = [(f"{place}. {_short(one.text)}", place - 1) for place, one in enumerate(found, start=1)]
    return [found, ranking_page(found), gr.update(choices=options, value=0), found[0].text, _same(found[0]), ""]


def _choose(ranked: list[Ranked], chosen: int | None) -> list[Any]:
    if chosen is None or not ranked:
        return ["", "", ""]
    return [ranked[chosen].text, _same(ranked[chosen]), ""]


def _edit(name: str, ranked: list[Ranked], chosen: int | None, text: str) -> str:
    if chosen is None or not ranked:
        return ""
    try:
        return edited_page(ranked[chosen], rank(open_model(name), [typed_text(text, "Edit its words")])[0])
    except _ERRORS as error:
        return problem(error)


def _try(name: str, text: str, ranked: list[Ranked], neighbors: str) -> str:
    try:
        if not typed_text(text, "Edit its words").strip():
            return ""
        return replacements_page(open_model(name), text, ranked, neighbors)
    except _ERRORS as error:
        return problem(error)


def _same(one: Ranked) -> str:
    return edited_page(one, one)


def _short(text: str, longest: int = 70) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


if __name__ == "__main__":
    launch(build())

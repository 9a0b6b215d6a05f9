"""Shortcut browser: do single words decide predictions, which words are candidates, how does that grow with a cue?"""

from pathlib import Path
from typing import Any

import gradio as gr
from shortcut_runs import HEAD, TOP_N, read_runs
from shortcut_view import SHOWN, SPLITS, cues, figures, growth, headline, interventions, null_models, sentences

from rightreasons.widget import launch, page_style, public_page

STYLE = Path(__file__).with_name("style.css")

INTRO = """
# Shortcut browser

Short reviews contain a **planted cue**: a word, a stop word or a punctuation mark that has nothing to do with what they
say, but agrees with the label as often as you choose. An encoder was fine-tuned for each choice. **Do single words
decide its predictions?** An intervention tells: take the word out and predict again, and compare with another word of
the same text. The candidates are the words that its predictions rest on (integrated gradients) and that give the
predicted label away in the training data (the head of its LMI ranking); a prediction with one of these among its top
words is **shortcut-cued**.
"""

LEGEND = """
<p class="sc-legend">
<span class="sc-token" style="--w:1">much</span> <span class="sc-token" style="--w:.3">little</span> attribution ·
<span class="sc-token sc-top">top word</span> of the prediction ·
<span class="sc-token sc-top sc-cue">shortcut</span> found ·
<span class="sc-token sc-planted">planted</span> in truth
</p>
"""


def build() -> gr.Blocks:
    strengths = list(read_runs())
    growth(strengths[-2], TOP_N, HEAD)  # counted once here, so that the first visitor does not wait for it
    with public_page("Shortcut browser") as demo:
        page_style()
        gr.HTML(f"<style>{STYLE.read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        gr.Markdown(INTRO)
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                with gr.Group():
                    strength = gr.Radio(
                        [(f"{s:.0%}", s) for s in strengths],
                        value=strengths[-2],
                        label="How often the cue agrees with the label in training",
                        elem_id="strength",
                    )
                    split = gr.Radio(list(SPLITS), value=next(iter(SPLITS)), label="Test texts", elem_id="split")
                    top_n = gr.Slider(1, 8, value=TOP_N, step=1, label="Top words of a prediction", elem_id="top-n")
                    head = gr.Slider(
                        0.5, 20, value=HEAD, step=0.5, label="Head: share of the label's words, %", elem_id="head"
                    )
                null = gr.HTML(elem_id="null")
                found = gr.HTML(elem_id="cues")
            with gr.Column(scale=3, min_width=320):
                causal = gr.HTML(elem_id="causal")
                gr.Markdown("### The candidates, and the model")
                found_figures = gr.HTML(elem_id="figures")
                with gr.Tabs():
                    with gr.Tab("Sentences"):
                        gr.HTML(LEGEND)
                        with gr.Row():
                            shown = gr.Radio(list(SHOWN), value="all", label="Show", elem_id="shown", scale=3)
                            page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="page", scale=1)
                        texts = gr.HTML(elem_id="sentences")
                    with gr.Tab("Interventions"):
                        made = gr.HTML(elem_id="interventions")
                    with gr.Tab("As the cue grows"):
                        grown = gr.HTML(elem_id="growth")

        settings = [strength, split, top_n, head]

        def draw(strength: float, split: str, *others: Any) -> tuple[str, ...]:
            *detector, shown, _ = others
            chosen = (strength, SPLITS[split], *detector)
            first, _ = sentences(*chosen, shown, 1)
            return (
                headline(strength, SPLITS[split]),
                interventions(strength, SPLITS[split]),
                figures(*chosen),
                null_models(*chosen),
                cues(*chosen),
                first,
                1,
                growth(strength, *detector),
            )

        def turn(strength: float, split: str, *others: Any) -> str:
            *detector, shown, page = others
            return sentences(strength, SPLITS[split], *detector, shown, int(page or 1))[0]

        everything = [*settings, shown, page]
        for event in (demo.load, strength.input, split.input, top_n.change, head.change, shown.input):
            event(
                draw,
                everything,
                [causal, made, found_figures, null, found, texts, page, grown],
                show_progress="hidden",
                trigger_mode="always_last",
            )
        page.input(turn, everything, texts, show_progress="hidden", trigger_mode="always_last")
    return demo


if __name__ == "__main__":
    launch(build())

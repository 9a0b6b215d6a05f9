"""Shortcut browser: how many predictions a planted cue decides, what a detector finds, how both grow with the cue."""

from pathlib import Path
from typing import Any

import gradio as gr
from shortcut_runs import HEAD, TOP_N, read_runs
from shortcut_view import (
    SHOWN,
    SPLITS,
    confidence_bins,
    figures,
    growth,
    headline,
    null_models,
    sentences,
)

from rightreasons.widget.pages import launch, page_links, public_page, typed_count

STYLE = Path(__file__).with_name("style.css")

INTRO = """
# Shortcut browser

Short reviews contain a **planted cue**: a word, a stop word or a punctuation mark that has nothing to do with what they
say, but agrees with the label as often as you choose. An encoder was fine-tuned for each choice. **How many of its
predictions does the cue decide?** A swap tells: put the cue of the other label in its place and predict again. A
detector does not know the cue: its candidates are the words that predictions rest on (integrated gradients) and that
give the predicted label away in the training data (the head of its LMI ranking); a prediction with one of these among
its top words is **shortcut-cued**.
"""

LEGEND = """
<p class="sc-legend">
<span class="sc-token" style="--w:1">much</span> <span class="sc-token" style="--w:.3">little</span> attribution ·
<span class="sc-token sc-top">top word</span> of the prediction ·
<span class="sc-token sc-top sc-cue">shortcut</span> found ·
<span class="sc-token sc-planted">planted</span> in truth
</p>
"""


START: tuple[Any, ...] = (1.0, next(iter(SPLITS)), TOP_N, HEAD, SHOWN[0], 1)


def build() -> gr.Blocks:
    strengths = list(read_runs())
    start = _draw(*START)
    with public_page("Shortcut browser", STYLE) as demo:
        gr.Markdown(INTRO)
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                decided = gr.HTML(start[0], elem_id="decided")
                with gr.Tabs():
                    with gr.Tab("Sentences"):
                        gr.HTML(LEGEND)
                        with gr.Row():
                            shown = gr.Radio(
                                list(SHOWN), value=SHOWN[0], label="Show", elem_id="shown", scale=3
                            )
                            page = gr.Number(
                                1, label="Page", minimum=1, precision=0, elem_id="page", scale=1
                            )
                        texts = gr.HTML(start[3], elem_id="sentences")
                    with gr.Tab("Confidence"):
                        bins = gr.HTML(start[5], elem_id="confidence")
                    with gr.Tab("As the cue grows"):
                        grown = gr.HTML(start[4], elem_id="growth")
            with gr.Column(scale=2, min_width=320):
                with gr.Group():
                    strength = gr.Radio(
                        [(f"{s:.0%}", s) for s in strengths],
                        value=START[0],
                        label="How often the cue agrees with the label in training",
                        elem_id="strength",
                    )
                    split = gr.Radio(
                        list(SPLITS), value=START[1], label="Test texts", elem_id="split"
                    )
                gr.Markdown("### The candidates, and the model")
                with gr.Accordion("The detector of candidates", open=False, elem_id="definition"):
                    top_n = gr.Slider(
                        1,
                        8,
                        value=TOP_N,
                        step=1,
                        label="Top words of a prediction",
                        elem_id="top-n",
                    )
                    head = gr.Slider(
                        0.5,
                        20,
                        value=HEAD,
                        step=0.5,
                        label="Head: share of the label's words, %",
                        elem_id="head",
                    )
                found_figures = gr.HTML(start[1], elem_id="figures")
                null = gr.HTML(start[2], elem_id="null")
        page_links("shortcuts", {"Du et al. 2021": "https://arxiv.org/abs/2103.06922"})

        everything = [strength, split, top_n, head, shown, page]
        # In one line, so that what is asked for last is what stays. A new choice begins with page 1 at once, and is
        # drawn `then`: after an answer that it waited for, gradio runs all of an event again, over what was typed.
        settings: dict[str, Any] = {"show_progress": "hidden", "concurrency_id": "draw"}
        for event in (strength.input, split.input, top_n.change, head.change, shown.input):
            first = event(None, None, page, js="() => 1")
            first.then(
                _draw, everything, [decided, found_figures, null, texts, grown, bins], **settings
            )
        page.input(_turn, everything, texts, **settings)
    return demo


def _draw(strength: float, split: str, *others: Any) -> tuple[Any, ...]:
    *detector, _, _ = others
    chosen = (strength, SPLITS[split], *detector)
    return (
        headline(strength),
        figures(*chosen),
        null_models(*chosen),
        _turn(strength, split, *others),
        growth(strength, *detector),
        confidence_bins(*chosen),
    )


def _turn(strength: float, split: str, *others: Any) -> str:
    *detector, shown, page = others
    return sentences(
        strength, SPLITS[split], *detector, shown, typed_count(page or 1, "Page", minimum=1)
    )


if __name__ == "__main__":
    launch(build())

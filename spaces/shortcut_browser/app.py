"""Shortcut browser: how many predictions a planted cue decides, and what a detector finds."""

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

**A model can be accurate, well calibrated, and rely on nothing but a shortcut.** Short reviews
contain a planted cue: a word, a stop word or a punctuation mark that has nothing to do with what
they say, but agrees with the label as often as you choose. An encoder was fine-tuned for each choice.
To see what the cue decides, it is swapped for that of the other label. A detector does not know the
cue: its candidates are the words that predictions rely on (integrated gradients) and that are
associated with the predicted label in the training data (the head of its LMI ranking). A prediction
with one of these among its top words is **shortcut-cued**.
"""

LEGEND = """
<p class="sc-legend">
<span class="sc-token" style="--w:1">much</span> <span class="sc-token" style="--w:.3">little</span> attribution ·
<span class="sc-token sc-top">top word</span> of the prediction ·
<span class="sc-token sc-top sc-cue">shortcut</span> that the detector found ·
<span class="sc-token sc-planted">planted</span> cue
</p>
<p class="rr-small">The detector misses a planted cue that is not among the top words. The swap shows whether the cue decides.</p>
"""

PAPERS = {
    "Bihani & Rayz 2025": "https://arxiv.org/abs/2412.15269",
    "Du et al. 2021": "https://arxiv.org/abs/2103.06922",
}

FIRST_SPLIT = "cue as in training"
START: tuple[Any, ...] = (1.0, FIRST_SPLIT, TOP_N, HEAD, SHOWN[0], 1)
"""First values of strength, test texts, top words, head, filter and page."""


def build() -> gr.Blocks:
    """Build the page, with the figures of the strongest cue."""
    # Computed when the page is built: the first visitor does not wait.
    start = draw(*START)
    with public_page("Shortcut browser", STYLE) as demo:
        gr.Markdown(INTRO)
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                decided = gr.HTML(start[0], elem_id="decided")
                with gr.Tabs():
                    with gr.Tab("Sentences"):
                        gr.HTML(LEGEND)
                        with gr.Row():
                            filter_name, page = make_filter()
                        texts = gr.HTML(start[3], elem_id="sentences")
                    with gr.Tab("Confidence"):
                        bins = gr.HTML(start[5], elem_id="confidence")
                    with gr.Tab("By strength of the cue"):
                        curves = gr.HTML(start[4], elem_id="growth")
            with gr.Column(scale=2, min_width=320):
                strength, split, top_n, head = make_controls()
                detector_figures = gr.HTML(start[1], elem_id="figures")
                null = gr.HTML(start[2], elem_id="null")
        page_links("shortcuts", PAPERS)

        controls = [strength, split, top_n, head, filter_name, page]
        outputs = [decided, detector_figures, null, texts, curves, bins]
        # In one line, so that the last request is the one that stays.
        settings: dict[str, Any] = {"show_progress": "hidden", "concurrency_id": "draw"}
        # A new choice begins with page 1 at once, and is drawn `then`: after an answer that it
        # waited for, gradio runs all of an event again, over what was typed.
        for event in (strength.input, split.input, top_n.change, head.change, filter_name.input):
            turned = event(None, None, page, js="() => 1")
            turned.then(draw, controls, outputs, **settings)
        # Turning a page changes nothing but the sentences.
        page.input(turn, controls, texts, **settings)
    return demo


def make_filter() -> tuple[gr.Radio, gr.Number]:
    """Make the controls of the list of sentences."""
    filter_name = gr.Radio(list(SHOWN), value=SHOWN[0], label="Show", elem_id="shown", scale=3)
    page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="page", scale=1)
    return filter_name, page


def make_controls() -> tuple[gr.Radio, gr.Radio, gr.Slider, gr.Slider]:
    """Make the controls of the run and of the detector."""
    with gr.Group():
        strength = gr.Radio(
            [(f"{step:.0%}", step) for step in read_runs()],
            value=START[0],
            label="How often the cue agrees with the label in training",
            elem_id="strength",
        )
        split = gr.Radio(list(SPLITS), value=FIRST_SPLIT, label="Test texts", elem_id="split")
    gr.Markdown("### Detector and model")
    with gr.Accordion("Settings of the detector", open=False, elem_id="definition"):
        top_n = gr.Slider(
            1, 8, value=TOP_N, step=1, label="Top words of a prediction", elem_id="top-n"
        )
        head = gr.Slider(
            0.5,
            20,
            value=HEAD,
            step=0.5,
            label="Head: share of the label's words, %",
            elem_id="head",
        )
    return strength, split, top_n, head


def draw(
    strength: float, split: str, top_n: int, head: float, filter_name: str, page: Any
) -> tuple[str, ...]:
    """Return all outputs for the values of the controls."""
    run = (strength, SPLITS[split], top_n, head)
    return (
        headline(strength),
        figures(*run),
        null_models(*run),
        turn(strength, split, top_n, head, filter_name, page),
        growth(top_n, head),
        confidence_bins(*run),
    )


def turn(strength: float, split: str, top_n: int, head: float, filter_name: str, page: Any) -> str:
    """Return one page of the sentences."""
    # An emptied field is the first page.
    number = typed_count(page or 1, "Page", minimum=1)
    return sentences(strength, SPLITS[split], top_n, head, filter_name, number)


if __name__ == "__main__":
    launch(build())

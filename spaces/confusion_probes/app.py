"""Confusion probes: does a model choose without a reason to, and does it falter among more choices?"""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from probe_view import (
    ITEMS,
    bundled,
    by_model,
    first_page,
    forms,
    model_path,
    page,
    parse_scores,
    template,
    written,
)

from rightreasons.core.choices import SCORING_METHODS
from rightreasons.widget.pages import (
    MISTAKES,
    PRIVACY,
    example_files,
    launch,
    page_links,
    problem,
    public_page,
    typed_count,
    typed_text,
    waiting,
)
from rightreasons.widget.working import work

HERE = Path(__file__).resolve().parent
PASTED = "my own scores"

INTRO = """
# Confusion probes

Take the question away and a sound model should no longer prefer any choice. Add wrong choices and it should still
prefer the right one over its old rivals. Take an item, or write one, and see what the four probes of Shen & Kejriwal
(2022) do to a model's confidences.
"""

FORMAT = """
One line a form of the item, a score (logit or log-likelihood) for each choice in the order shown. Press the button
first to see the forms, then fill the lines in and press it again.
"""


def build() -> gr.Blocks:
    items = bundled()
    first, (head, body) = first_page()
    path = model_path()
    ways = ([f"model: {Path(path).stem}"] if path else []) + [PASTED]
    with public_page("Confusion probes", HERE / "style.css") as demo:
        gr.Markdown(INTRO + PRIVACY)
        answered = gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML(head, elem_id="figures")
                shown = gr.HTML(_grid(body), elem_id="forms")
            with gr.Column(scale=2, min_width=320):
                choice = gr.Dropdown(
                    list(items), value=first["prompt"], label="Take an item", elem_id="bundled"
                )
                item = items[first["prompt"]]
                with gr.Accordion("Write your own", open=False, elem_id="own"):
                    prompt = gr.Textbox(item["prompt"], label="Question", lines=2, elem_id="prompt")
                    choices = gr.Textbox(
                        "\n".join(item["choices"]),
                        label="Choices, one per line",
                        lines=4,
                        elem_id="choices",
                    )
                    right = gr.Number(
                        item["label"] + 1, precision=0, label="Right choice", elem_id="right"
                    )
                with gr.Accordion("How it is probed and scored", open=False, elem_id="definition"):
                    with gr.Row():
                        k = gr.Slider(
                            1, 12, value=first["k"], step=1, label="Choices to add", elem_id="k"
                        )
                        seed = gr.Number(
                            first["seed"], precision=0, minimum=0, label="Seed", elem_id="seed"
                        )
                    way = gr.Radio(ways, value=ways[0], label="Who scores", elem_id="way")
                    method = gr.Radio(
                        list(SCORING_METHODS),
                        value=first["method"],
                        label="How a causal language model scores (letters sees all choices together)",
                        elem_id="method",
                        visible=path is not None,
                    )
                    pasted = gr.Textbox(
                        label="Scores",
                        lines=6,
                        info=FORMAT,
                        visible=path is None,
                        elem_id="pasted",
                        max_lines=10,
                    )
                show = gr.Button("Apply the probes", variant="primary", elem_id="apply")
                gr.HTML(example_files([ITEMS], "The items"))
        page_links("probes", {"Shen & Kejriwal 2022": "https://arxiv.org/abs/2210.01258"})

        def take(title: str) -> list[Any]:
            row = items[title]
            return [row["prompt"], "\n".join(row["choices"]), row["label"] + 1]

        def apply(
            prompt: str,
            choices: str,
            right: float,
            k: float,
            seed: float,
            way: str,
            method: str,
            text: str,
            before: Any,
        ) -> Iterator[Any]:
            try:
                item = written(prompt, choices, right)
                added = typed_count(k, "Choices to add", minimum=1, maximum=12)
                start = typed_count(seed, "Seed")
                if way == PASTED:
                    found = forms(item, added, start)
                    key = [item["prompt"], item["choices"], item["label"], added, start]
                    if before != key or not typed_text(text, "Scores").strip():
                        # Other choices are borrowed: the previous scores would belong to other texts.
                        text = template(found)
                    head, body = page(found, parse_scores(text, found), None)
                    yield [head, _grid(body), text, key]
                    return
                head, body = yield from waiting(
                    work(by_model, item, added, start, str(path), method), 4
                )
            except MISTAKES as error:
                yield [problem(error), "", gr.skip(), gr.skip()]
                return
            yield [head, _grid(body), gr.skip(), gr.skip()]

        controls = [prompt, choices, right, k, seed, way, method, pasted, answered]
        outputs = [figures, shown, pasted, answered]
        choice.input(take, choice, [prompt, choices, right], show_progress="hidden").then(
            apply, controls, outputs
        )
        way.change(
            lambda way: [gr.update(visible=way == PASTED), gr.update(visible=way != PASTED)],
            way,
            [pasted, method],
            show_progress="hidden",
        )
        show.click(apply, controls, outputs)
    return demo


def _grid(body: str) -> str:
    legend = html.escape(
        "✓ is right; (✓) was right before the probe; orange is borrowed from another item."
    )
    return f'<p class="rr-small">{legend}</p><div class="cp-forms">{body}</div>'


if __name__ == "__main__":
    launch(build())

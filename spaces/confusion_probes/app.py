"""Confusion probes: does a model choose without a question, and does it err among more choices?"""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from probe_view import probe_item, read_first_page, write_page
from probed_items import (
    ITEMS,
    find_model,
    make_forms,
    parse_item,
    parse_scores,
    read_bundled_items,
    write_template,
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
"""Scorer of visitors who paste their scores."""

MAX_ADDED = 12
"""Largest number of added choices."""

INTRO = """
# Confusion probes

Without a question, a sound model should not prefer any choice. With more incorrect choices, it should
still pick the correct one. Choose an item, or write one, and see how the four probes of Shen & Kejriwal
(2022) change a model's confidences.
"""

FORMAT = """
One line per form of the item, with a score (logit or log-likelihood) for each choice in the order
shown. Press the button first to see the forms, fill in the lines, and press it again.
"""


def build() -> gr.Blocks:
    """Build the page."""
    items = read_bundled_items()
    opening, (head, body) = read_first_page()
    path = find_model()
    scorers = [PASTED]
    # Without a packaged model, visitors can only paste scores.
    if path is not None:
        scorers.insert(0, f"model: {Path(path).stem}")
    with public_page("Confusion probes", HERE / "style.css") as page:
        gr.Markdown(INTRO + PRIVACY)
        # The item and the settings that the pasted scores belong to.
        scored_key = gr.State()
        with gr.Row():
            with gr.Column(scale=3, min_width=320):
                figures = gr.HTML(head, elem_id="figures")
                grid = gr.HTML(_write_grid(body), elem_id="forms")
            with gr.Column(scale=2, min_width=320):
                choice = gr.Dropdown(
                    list(items), value=opening["prompt"], label="Choose an item", elem_id="bundled"
                )
                item_fields = _make_item_fields(items[opening["prompt"]])
                setting_fields = _make_setting_fields(opening, scorers)
                apply = gr.Button("Apply the probes", variant="primary", elem_id="apply")
                gr.HTML(example_files([ITEMS], "The items"))
        page_links("probes", {"Shen & Kejriwal 2022": "https://arxiv.org/abs/2210.01258"})

        _, _, scorer, method, pasted = setting_fields
        # In the order of the parameters of `apply_probes`.
        inputs = [*item_fields, *setting_fields, scored_key]
        outputs = [figures, grid, pasted, scored_key]
        # An item is probed as soon as it is taken, without the button.
        selected = choice.input(take_item, choice, item_fields, show_progress="hidden")
        selected.then(apply_probes, inputs, outputs)
        scorer.change(show_scorer_fields, scorer, [pasted, method], show_progress="hidden")
        apply.click(apply_probes, inputs, outputs)
    return page


def _make_item_fields(item: dict[str, Any]) -> list[Any]:
    """Make the fields for a question, its choices, and the number of the right one."""
    with gr.Accordion("Write your own", open=False, elem_id="own"):
        prompt = gr.Textbox(item["prompt"], label="Question", lines=2, elem_id="prompt")
        choices = gr.Textbox(
            "\n".join(item["choices"]),
            label="Choices, one per line",
            lines=4,
            elem_id="choices",
        )
        correct = gr.Number(item["label"] + 1, precision=0, label="Correct choice", elem_id="right")
    return [prompt, choices, correct]


def _make_setting_fields(opening: dict[str, Any], scorers: list[str]) -> list[Any]:
    """Make the fields for added choices, seed, scorer, scoring method, and pasted scores."""
    has_model = len(scorers) > 1
    with gr.Accordion("How it is probed and scored", open=False, elem_id="definition"):
        with gr.Row():
            n_added = gr.Slider(
                1, MAX_ADDED, value=opening["k"], step=1, label="Choices to add", elem_id="k"
            )
            seed = gr.Number(opening["seed"], precision=0, minimum=0, label="Seed", elem_id="seed")
        scorer = gr.Radio(scorers, value=scorers[0], label="Scorer", elem_id="way")
        method = gr.Radio(
            list(SCORING_METHODS),
            value=opening["method"],
            label="How a causal language model scores (letters sees all choices together)",
            elem_id="method",
            visible=has_model,
        )
        pasted = gr.Textbox(
            label="Scores",
            lines=6,
            info=FORMAT,
            visible=not has_model,
            elem_id="pasted",
            max_lines=10,
        )
    return [n_added, seed, scorer, method, pasted]


# ------------------------------------------------------------------------------ handlers


def take_item(title: str) -> list[Any]:
    """Fill a bundled item into the fields."""
    item = read_bundled_items()[title]
    return [item["prompt"], "\n".join(item["choices"]), item["label"] + 1]


def show_scorer_fields(scorer: str) -> list[Any]:
    """Show the field for scores, or that for the method of a model."""
    # Only one of the two fields matters to a scorer.
    is_pasted = scorer == PASTED
    return [gr.update(visible=is_pasted), gr.update(visible=not is_pasted)]


def apply_probes(prompt: str, choices: str, correct: float, *settings: Any) -> Iterator[Any]:
    """Probe the item of the fields, and show it."""
    n_added, seed, scorer, method, text, scored_key = settings
    try:
        item = parse_item(prompt, choices, correct)
        n_added = typed_count(n_added, "Choices to add", minimum=1, maximum=MAX_ADDED)
        seed = typed_count(seed, "Seed")
        if scorer == PASTED:
            yield show_pasted(item, n_added, seed, text, scored_key)
            return
        # A worker keeps the model, so that only the first item waits for it.
        steps = work(probe_item, item, n_added, seed, str(find_model()), method)
        head, body = yield from waiting(steps, 4)
    except MISTAKES as error:
        # Pasted scores stay, so that the visitor can correct them.
        yield [problem(error), "", gr.skip(), gr.skip()]
        return
    yield [head, _write_grid(body), gr.skip(), gr.skip()]


def show_pasted(
    item: dict[str, Any], n_added: int, seed: int, text: str, scored_key: Any
) -> list[Any]:
    """Return the outputs for pasted scores; a template of scores if there are none yet."""
    forms = make_forms(item, n_added, seed)
    key = [item["prompt"], item["choices"], item["label"], n_added, seed]
    # With other settings other choices are borrowed: the scores would belong to other texts.
    if scored_key != key or not typed_text(text, "Scores").strip():
        text = write_template(forms)
    head, body = write_page(forms, parse_scores(text, forms), None)
    return [head, _write_grid(body), text, key]


def _write_grid(body: str) -> str:
    """Write the forms with their legend."""
    legend = html.escape(
        "✓ is correct; (✓) was correct before the probe; orange is borrowed from another item."
    )
    return f'<p class="rr-small">{legend}</p><div class="cp-forms">{body}</div>'


if __name__ == "__main__":
    launch(build())

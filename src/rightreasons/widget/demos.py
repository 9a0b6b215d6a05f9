"""The small demo that every evaluate module shows in its Space, the page of its Space.

A module's `app.py` says what the page opens with:

    def build():
        return module_page(__file__, EXAMPLE)
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.limits import MAX_PAGE_DRAWS, MAX_PAGE_ROWS
from rightreasons.core.validation import check_kind
from rightreasons.widget.pages import MISTAKES, is_number, problem, public_page, typed_text

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def module_page(
    file: str,
    example: Mapping[str, Sequence[Any]],
    *,
    options: Mapping[str, Any] | None = None,
    **loaded_with: Any,
) -> Any:
    """Build the demo of the module beside an `app.py`: its inputs and options as JSON, the result, its card.

    The page opens with the result of the example. The inputs are the module's features, a list for each, and the
    options are those of the module (the keyword-only parameters of `_compute`). For a wrong input the page shows the
    error's sentence in place of the result.

    Args:
        file: The `app.py`; the README.md beside it is shown as the card.
        example: The initial inputs, one list for each feature; optional inputs may be omitted.
        options: Initial options, where they differ from the module's defaults.
        **loaded_with: Options that the module is loaded with, such as a model.

    Returns:
        A `gradio.Blocks`, not launched.
    """
    import evaluate
    import gradio as gr

    folder = Path(file).resolve().parent
    # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
    (source,) = (path for path in folder.glob("*.py") if path.name != "app.py")
    module = evaluate.load(str(source), **loaded_with)
    parameters = inspect.signature(module._compute).parameters
    shown = {
        name: parameters[name].default for name in module.option_names() if name not in loaded_with
    }

    def compute(given: str, chosen: str) -> tuple[str, Any]:
        try:
            values = {**parse_values(given, "Inputs"), **parse_values(chosen, "Options")}
            return "", module.compute(**values)
        except MISTAKES as error:
            return problem(error), None

    inputs = (
        "{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(example[name])}" for name in example)
        + "\n}"
    )
    chosen = json.dumps({**shown, **(options or {})}, indent=1, ensure_ascii=False)
    start = compute(inputs, chosen)
    card = _FRONT_MATTER.sub("", (folder / "README.md").read_text("utf-8")).strip()
    title, _, about = card.partition("\n")
    with public_page(module.name) as demo:
        gr.Markdown(title)
        with gr.Row():
            with gr.Column(scale=5, min_width=320):
                label = "Inputs, as JSON: a list for each, with an entry per item (counted from 0)"
                boxes = [gr.Textbox(inputs, label=label, lines=8, max_lines=24, elem_id="inputs")]
                label = "Options, as JSON; the card below says what each does"
                boxes += [gr.Textbox(chosen, label=label, lines=4, max_lines=12, elem_id="chosen")]
                button = gr.Button("Compute", variant="primary", elem_id="compute")
            with gr.Column(scale=4, min_width=320):
                outputs = [
                    gr.HTML(start[0], elem_id="headline"),
                    gr.JSON(start[1], show_label=False, elem_id="result"),
                ]
        gr.Markdown(about, elem_id="card")
        # One call at a time: a module holds the state of the call that it answers.
        button.click(compute, boxes, outputs, concurrency_id=module.name, scroll_to_output=True)
    return demo


def parse_values(text: object, name: str) -> dict[str, Any]:
    """Read the inputs or the options of a module as a visitor wrote them, within the limits of a page.

    Args:
        text: A JSON object.
        name: What it is called on the page.

    Raises:
        TypeError: If it is no text, or no object.
        ValueError: If it is no JSON, or a list or a number is too large for a public page.

    Example:
        >>> parse_values('{"n_bins": 10}', "Options")
        {'n_bins': 10}
    """
    try:
        values = json.loads(typed_text(text, name), parse_constant=_no_constant)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f'Expected `{name}` as JSON, such as {{"n_bins": 10}}.') from None
    check_kind(values, name, dict[str, Any])
    for key, value in values.items():  # time and memory grow with every count
        limit = MAX_PAGE_ROWS if isinstance(value, list) else MAX_PAGE_DRAWS
        size = (
            len(value)
            if isinstance(value, list)
            else value
            if is_number(value) and key != "seed"
            else 0
        )
        if size > limit:
            raise ValueError(f"Expected at most {limit:,} in `{key}` on a page, but got {size:,}.")
    return dict(values)


def _no_constant(word: str) -> float:
    raise json.JSONDecodeError(f"{word} is not JSON", word, 0)

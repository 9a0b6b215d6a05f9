"""The demo of an evaluate module, which is the page of its Space.

`module_page` builds it. The `app.py` of a module names what the page opens with:

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
    """Build the demo page of an evaluate module: inputs and options as JSON, the result, and the card.

    The page opens with the result of the example. The inputs are one list for each feature of the
    module, and the options are its keyword-only parameters of `_compute`. If an input is invalid, the
    page shows the error message instead of the result.

    Args:
        file: The `app.py` in the folder of the module. The README.md in this folder is the card.
        example: Initial inputs, one list for each feature; optional inputs may be omitted.
        options: Initial options that differ from the defaults of the module.
        **loaded_with: Options for loading the module, such as a model.

    Returns:
        A `gradio.Blocks`, not launched.
    """
    import evaluate
    import gradio as gr

    folder = Path(file).resolve().parent
    # The module is loaded by its file. If it were loaded by its folder, which is called "app" in a
    # Space, evaluate would load app.py.
    (source,) = (path for path in folder.glob("*.py") if path.name != "app.py")
    module = evaluate.load(str(source), **loaded_with)

    def compute(inputs_text: str, options_text: str) -> tuple[str, Any]:
        """Return ("", result), or (error message, None) if an input is invalid."""
        try:
            inputs = parse_values(inputs_text, "Inputs")
            module_options = parse_values(options_text, "Options")
            return "", module.compute(**{**inputs, **module_options})
        except MISTAKES as error:
            return problem(error), None

    initial_inputs = _format_inputs(example)
    initial_options = {**_list_options(module, loaded_with), **(options or {})}
    initial_options_text = json.dumps(initial_options, indent=1, ensure_ascii=False)
    message, result = compute(initial_inputs, initial_options_text)
    title, card = _read_card(folder)
    with public_page(module.name) as demo:
        gr.Markdown(title)
        with gr.Row():
            with gr.Column(scale=5, min_width=320):
                input_box = gr.Textbox(
                    initial_inputs,
                    label="Inputs, as JSON: a list for each, with an entry per item (counted from 0)",
                    lines=8,
                    max_lines=24,
                    elem_id="inputs",
                )
                option_box = gr.Textbox(
                    initial_options_text,
                    label="Options, as JSON; the card below says what each does",
                    lines=4,
                    max_lines=12,
                    elem_id="chosen",
                )
                button = gr.Button("Compute", variant="primary", elem_id="compute")
            with gr.Column(scale=4, min_width=320):
                headline = gr.HTML(message, elem_id="headline")
                result_box = gr.JSON(result, show_label=False, elem_id="result")
        gr.Markdown(card, elem_id="card")
        button.click(
            compute,
            [input_box, option_box],
            [headline, result_box],
            # Calls run one at a time, because a module stores the state of the current call.
            concurrency_id=module.name,
            scroll_to_output=True,
        )
    return demo


def _format_inputs(example: Mapping[str, Sequence[Any]]) -> str:
    """Return inputs as JSON with one line per feature."""
    lines = [f" {json.dumps(name)}: {json.dumps(values)}" for name, values in example.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _list_options(module: Any, loaded_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of the options that a visitor can change.

    Args:
        module: The loaded module.
        loaded_with: Options that the module was loaded with; these cannot be changed.
    """
    parameters = inspect.signature(module._compute).parameters
    defaults = {}
    for name in module.option_names():
        # Some of these options, such as a model, could not be written as JSON.
        if name not in loaded_with:
            defaults[name] = parameters[name].default
    return defaults


def _read_card(folder: Path) -> tuple[str, str]:
    """Return the heading and the rest of a module's card."""
    # The hub's metadata at the beginning are no part of the text.
    text = _FRONT_MATTER.sub("", (folder / "README.md").read_text("utf-8")).strip()
    title, _, card = text.partition("\n")
    return title, card


def parse_values(text: object, name: str) -> dict[str, Any]:
    """Parse the inputs or options of a module that a visitor typed as JSON.

    Args:
        text: The JSON object.
        name: Name of the field on the page, for error messages.

    Returns:
        Name of each input or option -> its value.

    Raises:
        TypeError: If `text` is not a string, or the JSON is not an object.
        ValueError: If it is not JSON, or if a list or a number is too large for a public page.

    Example:
        >>> parse_values('{"n_bins": 10}', "Options")
        {'n_bins': 10}
    """
    try:
        values = json.loads(typed_text(text, name), parse_constant=_refuse_constant)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError(f'Expected `{name}` as JSON, such as {{"n_bins": 10}}.') from None
    check_kind(values, name, dict[str, Any])
    for key, value in values.items():
        _check_size(key, value)
    return dict(values)


def _check_size(name: str, value: object) -> None:
    """Check that a list or a number is not too large for a public page.

    Args:
        name: Name of the input or the option.
        value: Its value; values of other types are not checked.

    Raises:
        ValueError: If it is too large.
    """
    # Time and memory grow with the length of a list and with every number except the seed.
    if isinstance(value, list):
        size: Any = len(value)
        limit = MAX_PAGE_ROWS
    elif is_number(value) and name != "seed":
        size = value
        limit = MAX_PAGE_DRAWS
    else:
        return
    if size > limit:
        raise ValueError(f"Expected at most {limit:,} in `{name}` on a page, but got {size:,}.")


def _refuse_constant(word: str) -> float:
    # Python reads NaN and Infinity, which JSON does not have.
    raise json.JSONDecodeError(f"{word} is not JSON", word, 0)

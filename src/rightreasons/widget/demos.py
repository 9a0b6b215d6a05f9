"""The small demo that every evaluate module shows in its Space, the page of its Space.

A module's `app.py` says what the page opens with, and how its result is drawn:

    def build():
        return module_page(__file__, EXAMPLE, draw)
"""

from __future__ import annotations

import html
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.options import check_options
from rightreasons.core.validation import (
    MAX_PAGE_BINS,
    MAX_PAGE_DRAWS,
    MAX_PAGE_ROWS,
    check_kind,
)
from rightreasons.widget.pages import (
    MISTAKES,
    between,
    figure,
    is_number,
    problem,
    public_page,
    tiles,
    typed_text,
    verdict,
)

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def module_page(
    file: str,
    example: Mapping[str, Sequence[Any]],
    draw: Callable[[Mapping[str, Any]], str],
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
        draw: Draws a result as SVG.
        options: Initial options, where they differ from the module's defaults.
        **loaded_with: Options that the module is loaded with, such as a model.

    Returns:
        A `gradio.Blocks`, not launched.

    Raises:
        ValueError: If the example or the options have a name that the module does not.
    """
    import evaluate
    import gradio as gr

    folder = Path(file).resolve().parent
    # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
    (source,) = (path for path in folder.glob("*.py") if path.name != "app.py")
    module = evaluate.load(str(source), **loaded_with)
    check_options(options or {}, module.option_names(), module.name)
    check_options(example, list(_features(module)), f"the inputs of {module.name}")
    parameters = inspect.signature(module._compute).parameters
    initial = {name: parameters[name].default for name in module.option_names()}
    initial = {**initial, **module.options, **(options or {})}
    # An option that no page can show, such as a loaded model, keeps the value that the module was loaded with.
    fixed = {name: value for name, value in initial.items() if not _is_json(value)}
    defaults = {name: value for name, value in initial.items() if name not in fixed}
    front, card = read_card(folder / "README.md")
    title = front.get("title", module.name)
    inputs = _written(example)
    shown = json.dumps(defaults, indent=1, ensure_ascii=False)

    def answer(given: str, chosen: str) -> tuple[str, Any]:
        results = module.compute(**parse_inputs(module, given), **parse_options(module, chosen, defaults), **fixed)
        return _headline(module.name, results, draw), results

    def compute(given: str, chosen: str) -> tuple[str, Any]:
        try:
            return answer(given, chosen)
        except MISTAKES as error:
            return problem(error), None

    start = answer(inputs, shown)
    with public_page(title) as demo:
        gr.Markdown(f"# {front.get('emoji', '')} {title}\n\n{front.get('description', '')}")
        with gr.Row():
            with gr.Column(scale=4, min_width=320):
                headline = gr.HTML(start[0], elem_id="headline")
                with gr.Accordion("All figures, as JSON", open=False, elem_id="all"):
                    result = gr.JSON(start[1], show_label=False, elem_id="result", max_height=560)
            with gr.Column(scale=5, min_width=320):
                given = gr.Textbox(
                    inputs,
                    label="Inputs, as JSON: a list for each, with an entry per item (counted from 0)",
                    lines=inputs.count("\n") + 1,
                    max_lines=24,
                    elem_id="inputs",
                )
                button = gr.Button("Compute", variant="primary", elem_id="compute")
                with gr.Accordion("Options", open=False, elem_id="options"):
                    chosen = gr.Textbox(
                        shown,
                        label="Options, as JSON; the card below says what each does",
                        lines=min(len(defaults) + 2, 12),
                        elem_id="chosen",
                    )
        with gr.Accordion("About this module", open=False, elem_id="about"):
            gr.Markdown(card, elem_id="card")
        # One call at a time: a module holds the state of the call that it answers.
        button.click(
            compute,
            [given, chosen],
            [headline, result],
            concurrency_id=module.name,
            scroll_to_output=True,
        )
    return demo


def parse_options(module: Any, text: object, known: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options of a module as a visitor wrote them, within the limits of a page.

    Args:
        module: A loaded module.
        text: A JSON object.
        known: The options that the page shows, with their defaults.

    Returns:
        The options by name.

    Raises:
        TypeError: If it is no text, or no object.
        ValueError: If it is no JSON, or an option is unknown or too large for a public page.
    """
    options = _json_value(typed_text(text, "Options"), 'options as JSON, such as {"n_bins": 10}')
    check_kind(options, "Options", dict[str, Any])
    check_options(options, known, module.name)
    for name, value in options.items():
        if is_number(value) and name != "seed":  # time and memory grow with every count
            most = MAX_PAGE_BINS if "bins" in name else MAX_PAGE_DRAWS
            if value > most:
                raise ValueError(f"Expected `{name}` to be at most {most}, but got {value}.")
    return dict(options)


def parse_inputs(module: Any, text: object) -> dict[str, list[Any]]:
    """Read the inputs of a module as a visitor wrote them, within the limits of a page.

    Args:
        module: A loaded module.
        text: A JSON object: a list for each input.

    Returns:
        The list of each input by its name.

    Raises:
        TypeError: If it is no text, or no object of lists.
        ValueError: If it is no JSON, an input is unknown, or there are more items than a public page takes.
    """
    inputs = _json_value(typed_text(text, "Inputs"), 'inputs as JSON, such as {"references": [0, 1]}')
    check_kind(inputs, "Inputs", dict[str, Any])
    check_options(inputs, list(_features(module)), f"the inputs of {module.name}")
    for name, values in inputs.items():
        check_kind(values, name, list)
        if len(values) > MAX_PAGE_ROWS:
            raise ValueError(f"Expected at most {MAX_PAGE_ROWS:,} items on a page, but got {len(values):,}.")
    return dict(inputs)


def read_card(readme: Path) -> tuple[dict[str, str], str]:
    """Split a Space's README into its front matter, as plain entries, and its body."""
    text = readme.read_text(encoding="utf-8")
    front = _FRONT_MATTER.match(text)
    entries: dict[str, str] = {}
    if front:
        for entry in re.finditer(r"^(\w+): *(?:>-\n)?((?:.+)(?:\n +.+)*)", front.group(), re.MULTILINE):
            entries[entry.group(1)] = " ".join(entry.group(2).split())
    return entries, _FRONT_MATTER.sub("", text).strip()


def _features(module: Any) -> Mapping[str, Any]:
    features: Mapping[str, Any] = module.features[0] if isinstance(module.features, list) else module.features
    return features


def _written(example: Mapping[str, Sequence[Any]]) -> str:
    """Write inputs as JSON, an item per line."""
    lists = []
    for name, values in example.items():
        items = ",\n".join(f"  {json.dumps(value, ensure_ascii=False)}" for value in values)
        lists.append(f' "{name}": [\n{items}\n ]')
    return "{\n" + ",\n".join(lists) + "\n}"


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _json_value(text: str, expected: str) -> Any:
    """Read JSON without NaN and infinities."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError(f"Expected {expected}.") from None


def _no_constant(word: str) -> float:
    raise json.JSONDecodeError(f"{word} is not JSON", word, 0)


def _headline(name: str, results: Mapping[str, Any], draw: Callable[[Mapping[str, Any]], str]) -> str:
    """Write the primary figure with its interval, the texts and the diagram."""
    parts = []
    if is_number(results.get(name)):
        interval = results.get("interval")
        parts.append(tiles([(name, figure(results[name]), between(interval) if isinstance(interval, Mapping) else "")]))
    texts = {key: value for key, value in results.items() if isinstance(value, str) and value}
    if "conclusion" in texts:
        words = ": ".join(texts.pop(key) for key in ("conclusion", "reason") if key in texts)
        parts.append(verdict(f"{words[0].upper()}{words[1:]}"))
    for key, value in texts.items():
        parts.append(f'<p class="rr-{"warning" if key == "warning" else "definition"}">{html.escape(value)}</p>')
    return "".join((*parts, f'<figure class="rr-figure">{draw(results)}</figure>'))

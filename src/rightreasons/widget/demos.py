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
from collections.abc import Callable, Iterable, Mapping, Sequence
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

MIN_CELL = 12
"""Width in characters of the narrowest column of the inputs; the widest has three times as many."""

PHONE = 4 * MIN_CELL
"""Width in characters of what a phone shows of a table that wraps."""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def module_page(
    file: str,
    example: Mapping[str, Sequence[Any]],
    draw: Callable[[Mapping[str, Any]], str],
    *,
    options: Mapping[str, Any] | None = None,
    **loaded_with: Any,
) -> Any:
    """Build the demo of the module beside an `app.py`.

    Args:
        file: The `app.py`.
        example: As in `module_demo`.
        draw: As in `module_demo`.
        options: As in `module_demo`.
        **loaded_with: Options that the module is loaded with, such as a model.

    Returns:
        A `gradio.Blocks`, not launched.
    """
    import evaluate

    folder = Path(file).resolve().parent
    # By its file: in a Space this folder is called "app", and evaluate would look for app.py.
    (source,) = (path for path in folder.glob("*.py") if path.name != "app.py")
    module = evaluate.load(str(source), **loaded_with)
    return module_demo(module, folder / "README.md", example=example, options=options, draw=draw)


def module_demo(
    module: Any,
    readme: Path,
    *,
    example: Mapping[str, Sequence[Any]],
    draw: Callable[[Mapping[str, Any]], str],
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Build the demo of an evaluate module: a table of inputs, its options, the result, its card.

    The page opens with the result of the example. The columns are the module's features, and the options are those of
    the module (the keyword-only parameters of `_compute`), as JSON. For a wrong input the page shows the error's
    sentence in place of the result.

    Args:
        module: A loaded module of this package.
        readme: Its README.md; the body is shown as the card.
        example: The initial inputs, one list for each feature; optional inputs may be omitted.
        draw: Draws a result as SVG.
        options: Initial options, where they differ from the module's defaults.

    Returns:
        A `gradio.Blocks`, not launched.

    Raises:
        ValueError: If the example or the options have a name that the module does not.
    """
    import gradio as gr

    check_options(options or {}, module.option_names(), module.name)
    columns = list(_features(module))
    check_options(example, columns, f"the inputs of {module.name}")
    parameters = inspect.signature(module._compute).parameters
    initial = {name: parameters[name].default for name in module.option_names()}
    initial = {**initial, **module.options, **(options or {})}
    # An option that no page can show, such as a loaded model, keeps the value that the module was loaded with.
    fixed = {name: value for name, value in initial.items() if not _is_json(value)}
    defaults = {name: value for name, value in initial.items() if name not in fixed}
    front, card = read_card(readme)
    title = front.get("title", module.name)
    cells = _cells(module, example)
    shown = json.dumps(defaults, indent=1, ensure_ascii=False)

    def answer(rows: list[list[Any]], chosen: str) -> tuple[str, Any]:
        results = module.compute(**parse_rows(module, rows), **parse_options(module, chosen, defaults), **fixed)
        return _headline(module.name, results, draw), results

    def compute(rows: list[list[Any]], chosen: str) -> tuple[str, Any]:
        try:
            return answer(rows, chosen)
        except MISTAKES as error:
            return problem(error), None

    start = answer(cells, shown)
    with public_page(title) as demo:
        gr.Markdown(f"# {front.get('emoji', '')} {title}\n\n{front.get('description', '')}")
        with gr.Row():
            with gr.Column(scale=4, min_width=320):
                headline = gr.HTML(start[0], elem_id="headline")
                with gr.Accordion("All figures, as JSON", open=False, elem_id="all"):
                    result = gr.JSON(start[1], show_label=False, elem_id="result", max_height=560)
            with gr.Column(scale=5, min_width=320):
                table_of_inputs = gr.Dataframe(
                    value=cells,
                    column_widths=_column_widths(columns, cells),
                    headers=columns,
                    datatype="str",
                    type="array",
                    interactive=True,
                    wrap=True,
                    max_height=420,
                    label="Inputs, one item per row (counted from 0): edit a cell, right-click to add a row",
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
            [table_of_inputs, chosen],
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


def parse_rows(module: Any, rows: Iterable[Sequence[Any]]) -> dict[str, list[Any] | None]:
    """Read the cells of an editable table as the inputs of a module.

    A text column is taken literally; in every other column a cell holds a JSON value. Empty rows and empty optional
    columns are left out.

    Args:
        module: A loaded module.
        rows: The rows of the table, cells in the order of the module's features.

    Returns:
        The list of each input by its name; None for an empty optional one.

    Raises:
        ValueError: If a cell is empty or not JSON; the message names the item and the column. If there are more rows,
            or longer cells, than a public page takes.
    """
    features = _features(module)
    filled = [row for row in rows if any(cell is not None and str(cell).strip() for cell in row)]
    if len(filled) > MAX_PAGE_ROWS:
        raise ValueError(f"Expected at most {MAX_PAGE_ROWS:,} items on a page, but got {len(filled):,}.")
    misfit = next((row for row in filled if len(row) != len(features)), None)
    if misfit is not None:
        raise ValueError(f"Expected the columns {', '.join(features)} in the table, but it has {len(misfit)} columns.")
    inputs: dict[str, list[Any] | None] = {}
    for column, (name, feature) in enumerate(features.items()):
        cells = ["" if row[column] is None else typed_text(str(row[column]), name).strip() for row in filled]
        if name in module.OPTIONAL_INPUTS and not any(cells):
            inputs[name] = None
        elif _is_text(feature):
            inputs[name] = cells
        else:
            inputs[name] = [_json_cell(cell, name, item) for item, cell in enumerate(cells)]
    return inputs


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


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", None) == "string"


def _cells(module: Any, example: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    features = _features(module)
    n_items = max(len(column) for column in example.values())
    columns = [
        [value if _is_text(feature) else json.dumps(value, ensure_ascii=False) for value in example.get(name, ())]
        for name, feature in features.items()
    ]
    return [[column[item] if item < len(column) else "" for column in columns] for item in range(n_items)]


def _column_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Divide the width by what the columns hold; where they hold much, the table scrolls within itself.

    Example:
        >>> _column_widths(["text", "label"], [["A long sentence here.", "1"]])
        ['64%', '36%']
    """
    needs = [
        max(MIN_CELL, len(name) + 2, min(max(len(row[number]) for row in rows), 3 * MIN_CELL))
        for number, name in enumerate(columns)
    ]
    if sum(needs) > PHONE:
        return [f"{9 * need}px" for need in needs]
    return [f"{100 * need / sum(needs):.0f}%" for need in needs]


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _json_cell(cell: str, name: str, item: int) -> Any:
    if not cell:
        raise ValueError(f"Expected a value in each item of `{name}`, but item {item} is empty.")
    return _json_value(cell, f"a number, or a list such as [0.9, 0.1], in `{name}`, but item {item} has {cell[:40]!r}")


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

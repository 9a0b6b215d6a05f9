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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.arrays import kind_of
from rightreasons.core.options import check_options
from rightreasons.core.validation import (
    MAX_PAGE_BINS,
    MAX_PAGE_DRAWS,
    MAX_PAGE_ROWS,
    check_count,
    check_kind,
    check_number,
)
from rightreasons.evaluate_module import argument_help
from rightreasons.widget.pages import (
    MISTAKES,
    between,
    figure,
    is_number,
    problem,
    public_page,
    table,
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
    choices: Mapping[str, Sequence[str]] | None = None,
    options: Mapping[str, Any] | None = None,
    **loaded_with: Any,
) -> Any:
    """Build the demo of the module beside an `app.py`.

    Args:
        file: The `app.py`.
        example: As in `module_demo`.
        draw: As in `module_demo`.
        choices: As in `module_demo`.
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
    return module_demo(module, folder / "README.md", example=example, choices=choices, options=options, draw=draw)


def module_demo(
    module: Any,
    readme: Path,
    *,
    example: Mapping[str, Sequence[Any]],
    choices: Mapping[str, Sequence[str]] | None = None,
    options: Mapping[str, Any] | None = None,
    draw: Callable[[Mapping[str, Any]], str] | None = None,
) -> Any:
    """Build the demo of an evaluate module: a table of inputs, its options, the result, its card.

    The page opens with the result of the example.

    A script sends a list for each input, and options, to `/compute`:
    `Client(…).predict({"predictions": […], "references": […]}, {"n_bins": 10}, api_name="/compute")`.

    The columns are the module's features and the controls its options (the keyword-only parameters of `_compute`), so
    the demo follows the module. For a wrong input the page shows the error's sentence in place of the result.

    Args:
        module: A loaded module of this package.
        readme: Its README.md; the body is shown as the card.
        example: The initial inputs, one list for each feature; optional inputs may be omitted.
        choices: The allowed words of an option, by option; these become drop-down lists.
        options: Initial options, where they differ from the module's defaults.
        draw: Draws a result as SVG; None where there is no diagram of it.

    Returns:
        A `gradio.Blocks`, not launched.

    Raises:
        ValueError: If the example, the choices or the options have a name that the module does not.
    """
    import gradio as gr

    names = module.option_names()
    check_options(choices or {}, names, module.name)
    check_options(options or {}, names, module.name)
    columns = list(_features(module))
    check_options(example, columns, f"the inputs of {module.name}")
    initial = {**_defaults(module), **module.options, **(options or {})}
    # An option that no control can show, such as a loaded model, keeps the value that the module was loaded with.
    fixed = {name: initial[name] for name in names if not _is_json(initial[name])}
    defaults = {name: initial[name] for name in names if name not in fixed}
    help_texts = argument_help(module.inputs_description)
    front, card = read_card(readme)
    title = front.get("title", module.name)
    cells = _cells(module, example)

    def figures(rows: list[list[Any]], chosen: Mapping[str, Any]) -> Any:
        return module.compute(**parse_rows(module, rows), **chosen, **fixed)

    def answer(rows: list[list[Any]], chosen: Mapping[str, Any]) -> tuple[str, Any]:
        results = figures(rows, chosen)
        return _headline(module.name, results, draw), results

    start = answer(cells, defaults)
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
                with gr.Accordion("Options", open=False, elem_id="options"), gr.Row(elem_classes="rr-options"):
                    controls = [
                        _control(name, defaults[name], (choices or {}).get(name), _first_sentence(help_texts.get(name)))
                        for name in defaults
                    ]
        with gr.Accordion("About this module", open=False, elem_id="about"):
            gr.Markdown(card, elem_id="card")

        def compute(rows: list[list[Any]], *values: Any) -> tuple[str, Any]:
            try:
                pairs = zip(defaults, values, strict=True)
                return answer(rows, {name: _option_value(name, defaults[name], value) for name, value in pairs})
            except MISTAKES as error:
                return problem(error), None

        def serve(inputs: dict[str, Any], options: dict[str, Any] | None = None) -> dict[str, Any]:
            try:
                rows = _cells(module, _sent_inputs(module, inputs))
                results: dict[str, Any] = figures(rows, {**defaults, **_sent_options(module, options, defaults)})
                return results
            except MISTAKES as error:
                raise gr.Error(str(error), print_exception=False) from None

        serve.is_endpoint = True  # type: ignore[attr-defined]
        # The page and scripts in turn: a module holds the state of the call that it answers.
        about = f"Compute {module.name} of a list for each input, with options by name."
        gr.api(serve, api_name="compute", api_description=about, concurrency_id=module.name)
        outputs = [headline, result]
        button.click(compute, [table_of_inputs, *controls], outputs, concurrency_id=module.name, scroll_to_output=True)
    return demo


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


def _defaults(module: Any) -> dict[str, Any]:
    parameters = inspect.signature(module._compute).parameters
    return {name: parameters[name].default for name in module.option_names()}


def _cells(module: Any, example: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    features = _features(module)
    n_items = max(len(column) for column in example.values())
    columns = [
        [value if _is_text(feature) else json.dumps(value, ensure_ascii=False) for value in example.get(name, ())]
        for name, feature in features.items()
    ]
    return [[column[item] if item < len(column) else "" for column in columns] for item in range(n_items)]


def _sent_inputs(module: Any, inputs: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Check that what a script sent is a list for each input of a module."""
    check_kind(inputs, "inputs", dict[str, Any])
    check_options(inputs, _features(module), f"the inputs of {module.name}")
    given = {name: values for name, values in inputs.items() if values is not None}
    for name, feature in _features(module).items():
        if name not in given and name not in module.OPTIONAL_INPUTS:
            came = ", ".join(given) or "none"
            raise ValueError(f"Expected `{name}` among the inputs of {module.name}, but got {came}.")
        if name in given:
            check_kind(given[name], name, list[str] if _is_text(feature) else list[Any])
    return given


def _sent_options(module: Any, options: Mapping[str, Any] | None, known: Mapping[str, Any]) -> dict[str, Any]:
    """Check that what a script sent are options of a module, within the limits of a page."""
    check_kind(options, "options", dict[str, Any] | None)
    check_options(options or {}, known, module.name)
    for name, value in (options or {}).items():
        typed_text(json.dumps(value), name)
    return {name: _limited(value, name) for name, value in (options or {}).items()}


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


def _first_sentence(text: str | None) -> str | None:
    return None if text is None else re.split(r"(?<=\.) (?=[A-Z\"])", text)[0]


def _no_constant(word: str) -> float:
    raise json.JSONDecodeError(f"{word} is not JSON", word, 0)


def _control(name: str, default: Any, words: Sequence[str] | None, info: str | None) -> Any:
    import gradio as gr

    frame = {"label": name, "info": info, "elem_id": f"option-{name}", "min_width": 200}
    if words:
        return gr.Dropdown(list(words), value=default, **frame)
    if isinstance(default, bool):
        return gr.Checkbox(value=default, **frame)
    if isinstance(default, (int, float)):
        return gr.Number(value=default, step=1 if isinstance(default, int) else 0.05, **frame)
    if isinstance(default, str):
        return gr.Textbox(value=default, **frame)
    return gr.Textbox(value="" if default is None else json.dumps(default), placeholder="JSON; empty: none", **frame)


def _option_value(name: str, default: Any, value: Any) -> Any:
    """Read a control; an option without a control of its own (None, lists, mappings) is JSON in a text box."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise TypeError(f"Expected `{name}` to be True or False, but got {kind_of(value)}.")
        return value
    if isinstance(default, str):
        return typed_text(value, name)
    if isinstance(default, (int, float)):
        if value is None:
            raise ValueError(f"Expected a number for `{name}`, but the field is empty.")
        check_number(value, name)
        return _limited(type(default)(value) if value == type(default)(value) else value, name)
    text = typed_text(value or "", name).strip()
    expected = f"a JSON value for `{name}`, such as 0.95, but got {text[:60]!r}"
    return _limited(_json_value(text, expected), name) if text else None


def _limited(value: Any, name: str) -> Any:
    """Check that a number is one that a public page computes: time and memory grow with every count."""
    if is_number(value) and name != "seed":
        maximum = MAX_PAGE_BINS if "bins" in name else MAX_PAGE_DRAWS
        if isinstance(value, int):
            check_count(value, name, minimum=value, maximum=maximum)  # the module knows the minimum
        else:
            check_number(value, name, maximum=maximum)
    return value


def _headline(name: str, results: Mapping[str, Any], draw: Callable[[Mapping[str, Any]], str] | None) -> str:
    """Write the primary figure with its interval, the texts, the diagram, the tables and the further figures."""
    parts = []
    primary = results.get(name)
    if name in results and not isinstance(primary, (list, dict)):
        interval = results.get("interval")
        limits = between(interval) if isinstance(interval, Mapping) else ""
        parts.append(tiles([(name, figure(primary), limits)]))
    texts = {key: value for key, value in results.items() if isinstance(value, str) and value}
    if "conclusion" in texts:
        words = ": ".join(texts.pop(key) for key in ("conclusion", "reason") if key in texts)
        parts.append(verdict(f"{words[0].upper()}{words[1:]}"))
    for key, value in texts.items():
        parts.append(f'<p class="rr-{"warning" if key == "warning" else "definition"}">{html.escape(value)}</p>')
    if draw is not None:
        parts.append(f'<figure class="rr-figure">{draw(results)}</figure>')
    if isinstance(primary, list) and primary and not isinstance(primary[0], (list, dict)):
        parts.append(table(_by_item(results, len(primary)), caption="item by item"))
    for title, rows in _tables(results):
        columns = [column for column in rows[0] if _is_flat([row.get(column) for row in rows])]
        if columns and len({_cell(row[columns[0]]) for row in rows}) < len(rows):  # the first column names no row
            rows, columns = [{"item": item, **row} for item, row in enumerate(rows)], ["item", *columns]
        shown = [{column: _cell(row.get(column)) for column in columns} for row in rows]
        parts.append(table(shown, {column: column.replace("_", " ") for column in columns}, caption=title))
    figures = [row for row in _figures(results) if row["figure"] != name.replace("_", " ")]
    if figures:
        parts.append(f'<details class="rr-more"><summary>Further figures</summary>{table(figures)}</details>')
    return "".join(parts) or '<p class="rr-waiting">Done: the result is below.</p>'


def _tables(results: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Give the lists of rows of a result with their titles; also those of a mapping, such as one for each label."""
    for key, value in results.items():
        lists = {f"{key}, {name}": rows for name, rows in value.items()} if isinstance(value, Mapping) else {key: value}
        for title, rows in lists.items():
            if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
                yield title.replace("_", " "), rows


def _figures(results: Mapping[str, Any], path: str = "") -> Iterator[dict[str, Any]]:
    """Give the single figures of a result, with their intervals, as rows."""
    for key, value in results.items():
        name = f"{path}{key}".replace("_", " ")
        interval = results.get(f"{key}_interval") or (results.get("interval") if key in ("rate", "mean") else None)
        ends = f"{figure(interval['low'])} to {figure(interval['high'])}" if interval else ""
        if isinstance(value, bool) or is_number(value):
            yield {"figure": name, "value": figure(value), "interval": ends}
        elif isinstance(value, Mapping) and "low" not in value:
            yield from _figures(value, f"{name}, ")


def _by_item(results: Mapping[str, Any], n_items: int) -> list[dict[str, Any]]:
    """Join the lists of a result with one value per item into one row per item."""
    columns = {
        key: value
        for key, value in results.items()
        if isinstance(value, list) and len(value) == n_items and _is_flat(value)
    }
    return [{"item": item, **{key: column[item] for key, column in columns.items()}} for item in range(n_items)]


def _is_flat(column: Sequence[Any]) -> bool:
    """Return whether a column has something to show: single values, or lists of texts."""
    cells = [_cell(value) for value in column]
    return any(cell is not None for cell in cells) and not any(isinstance(cell, (list, dict)) for cell in cells)


def _cell(value: Any) -> Any:
    """Return a list of texts as one text, and else the value."""
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return ", ".join(value) or None
    return value

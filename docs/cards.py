"""Writes what the modules themselves say into their cards: `python docs/cards.py`.

The tables of inputs and options, with types, defaults and meanings, and the dictionary that the card's first example
returns, or that of the module where the card's needs a model from the Hub. The rest of a card is written by hand.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import pprint
import re
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.evaluate_module import argument_help

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 2
"""How many entries of a list a card shows."""

_TYPES = {"float": "float", "int": "int", "uint": "int", "string": "str", "bool": "bool"}
_OUTPUT = "<!-- the dictionary below is written by docs/cards.py -->"
_CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def cards() -> list[Path]:
    """Return the cards of all modules."""
    return sorted(path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md"))


def type_of(feature: Any) -> str:
    """Return the type of one item of an input, in words."""
    if hasattr(feature, "feature"):
        return f"list of {type_of(feature.feature)}"
    if isinstance(feature, dict):
        return "dict"
    kind = re.match("[a-z]+", str(getattr(feature, "dtype", "object")))
    return _TYPES.get(kind.group() if kind else "", "object")


def input_types(module: Any, name: str) -> str:
    """Return the types that an input may have: a list with one entry per item."""
    forms = module.features if isinstance(module.features, list) else [module.features]
    names = dict.fromkeys(f"`list of {type_of(form[name])}`" for form in forms if name in form)
    return " or ".join(names) or "`list`"


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return text.replace("|", "\\|")


def meaning(text: str) -> str:
    """Return the help of an option without its default, which has a column of its own."""
    text = re.sub(r"(?: Default: |[;,] default )\S+?(?=\.?$|; |\. )", "", text.strip())
    return cell(text if text.endswith("?") else f"{text.rstrip('.')}.")


def inputs(module: Any) -> str:
    """Return the section of a card about inputs and options."""
    help_texts = argument_help(module.inputs_description)
    parameters = list(inspect.signature(module._compute).parameters.values())
    required = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    options = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    lines = ["| input | type | meaning |", "|---|---|---|"]
    lines += [
        f"| `{each.name}` | {input_types(module, each.name)} | {cell(help_texts[each.name])} |" for each in required
    ]
    if options:
        lines += [
            "",
            "Options are given at load or at compute, and those at compute win:",
            "",
            "| option | default | meaning |",
            "|---|---|---|",
        ]
        for each in options:
            default = "required" if each.default is each.empty else f"`{each.default!r}`"
            lines.append(f"| `{each.name}` | {cell(default)} | {meaning(help_texts[each.name])} |")
    return "\n".join(lines)


def shortened(value: Any) -> Any:
    """Return a value with numbers of six digits and lists of two entries."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(each) for each in value[:SHOWN]] + ([...] if len(value) > SHOWN else [])
    return round(value, 6) if isinstance(value, float) else value


def output(module: Any, text: str) -> str:
    """Return what the first example of a card gives, as a block of text below a line that names the example."""
    usage = _CODE.search(text)
    if usage is None:
        raise ValueError(f"Expected an example in the card of {module.name}, but there is none.")
    origin, code = "The example of “How to Use” returns:", [usage.group(1)]
    if "model=" in usage.group(1):
        origin = "The first example of the module's help returns:"
        examples = doctest.DocTestParser().get_examples(module.inputs_description)
        code = [example.source for example in examples if not example.exc_msg]
    primary = {"cue_statistics": "cues"}.get(module.name, module.name)
    scope: dict[str, Any] = {}
    for part in code:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(part, module.name, "exec"), scope)  # noqa: S102
        for value in scope.values():
            if isinstance(value, dict) and primary in value:
                printed = pprint.pformat(shortened(value), width=116, sort_dicts=False, compact=True)
                return f"{origin}\n\n```text\n" + printed.replace("Ellipsis", "...") + "\n```"
    raise ValueError(f"Expected an example of {module.name} that keeps its result in a name, but there is none.")


def card(path: Path) -> str:
    """Return a card with its generated parts as the module has them now."""
    module = rightreasons.load(path.parent.name)
    text = path.read_text("utf-8")
    text = re.sub(
        r"(?<=^### Inputs\n\n).*?(?=\n\n### )", lambda match: inputs(module), text, flags=re.DOTALL | re.MULTILINE
    )
    block = f"{_OUTPUT}\n\n{output(module, text)}"
    if _OUTPUT in text:
        written = re.escape(_OUTPUT) + r"\n\n(?:The [^\n]*\n\n)?```text\n.*?\n```"
        return re.sub(written, lambda match: block, text, flags=re.DOTALL)
    return re.sub(r"\n\n(?=#### Values from Popular Papers)", lambda match: f"\n\n{block}\n\n", text)


if __name__ == "__main__":
    for path in cards():
        path.write_text(card(path), "utf-8")

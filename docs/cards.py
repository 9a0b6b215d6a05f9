"""Writes what the modules say about their inputs into their cards: `python docs/cards.py`.

Inputs with their meanings, and options with their defaults. The rest of a card is written by hand; what an option or an
entry of the result means is in the module's help alone.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.evaluate_module import parse_argument_help

ROOT = Path(__file__).resolve().parents[1]
_TYPES = {"float": "float", "int": "int", "uint": "int", "string": "str", "bool": "bool"}


def cards() -> list[Path]:
    """Return the cards of all modules."""
    return sorted(
        path for kind in ("metrics", "measurements") for path in ROOT.glob(f"{kind}/*/README.md")
    )


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
    return (
        " or ".join(
            dict.fromkeys(f"list of {type_of(form[name])}" for form in forms if name in form)
        )
        or "list"
    )


def inputs(module: Any) -> str:
    """Return the section of a card about inputs and options."""
    help_texts = parse_argument_help(module.inputs_description)
    parameters = list(inspect.signature(module._compute).parameters.values())
    lines = [
        f"- **{each.name}** (*{input_types(module, each.name)}*): {help_texts[each.name]}"
        for each in parameters
        if each.kind is not each.KEYWORD_ONLY
    ]
    options = [
        f"`{each.name}={each.default!r}`" for each in parameters if each.kind is each.KEYWORD_ONLY
    ]
    line = f"Options (see `module.inputs_description`): {', '.join(options)}."
    return "\n".join([*lines, "", line])


def card(path: Path) -> str:
    """Return a card with its generated parts as the module has them now."""
    module = rightreasons.load(path.parent.name)
    text = path.read_text("utf-8")
    section = inputs(module)
    return re.sub(
        r"(?<=^### Inputs\n\n).*?(?=\n\n### )",
        lambda _: section,
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


if __name__ == "__main__":
    for path in cards():
        path.write_text(card(path), "utf-8")

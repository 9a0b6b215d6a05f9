"""Writes the inputs and options of each evaluate module into its card: `python docs/cards.py`.

The meaning of an option or of an entry of the result is in the help of the module. The rest of a card is written by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.evaluate_module import parse_argument_help

ROOT = Path(__file__).resolve().parents[1]
INPUTS = re.compile(r"(?<=^### Inputs\n\n).*?(?=\n\n### )", re.DOTALL | re.MULTILINE)
"""Section of a card that is written here."""

_TYPES = {"float": "float", "int": "int", "uint": "int", "string": "str", "bool": "bool"}


def list_cards() -> list[Path]:
    """Return the cards of all modules."""
    paths = [*ROOT.glob("metrics/*/README.md"), *ROOT.glob("measurements/*/README.md")]
    return sorted(paths)


def describe_type(feature: Any) -> str:
    """Return the type of one item of an input, in words."""
    # A sequence of `datasets` has the feature of its entries.
    if hasattr(feature, "feature"):
        return f"list of {describe_type(feature.feature)}"
    if isinstance(feature, dict):
        return "dict"
    # "float64" and "float32" are one type to a user.
    kind = re.match("[a-z]+", str(getattr(feature, "dtype", "object")))
    return _TYPES.get(kind.group() if kind else "", "object")


def describe_input_types(module: Any, name: str) -> str:
    """Return the types that an input may have: a list with one entry per item."""
    # A module declares several forms if its inputs may have several types.
    forms = module.features if isinstance(module.features, list) else [module.features]
    types: list[str] = []
    for form in forms:
        if name in form:
            types.append(f"list of {describe_type(form[name])}")
    return " or ".join(dict.fromkeys(types)) or "list"


def describe_inputs(module: Any) -> str:
    """Return the section of a card about inputs and options."""
    help_texts: Mapping[str, str] = parse_argument_help(module.inputs_description)
    inputs = []
    options = []
    for parameter in inspect.signature(module._compute).parameters.values():
        name = parameter.name
        # Inputs are positional, options are keywords.
        if parameter.kind is parameter.KEYWORD_ONLY:
            options.append(f"`{name}={parameter.default!r}`")
        else:
            types = describe_input_types(module, name)
            inputs.append(f"- **{name}** (*{types}*): {help_texts[name]}")
    line = f"Options (see `module.inputs_description`): {', '.join(options)}."
    return "\n".join([*inputs, "", line])


def card(path: Path) -> str:
    """Return a card with the present inputs and options of its module."""
    section = describe_inputs(rightreasons.load(path.parent.name))
    # A function, because the backslashes of a text would be read as groups.
    return INPUTS.sub(lambda _: section, path.read_text("utf-8"))


if __name__ == "__main__":
    for path in list_cards():
        path.write_text(card(path), "utf-8")

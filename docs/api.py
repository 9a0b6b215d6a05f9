"""Writes docs/api.md from the public names of the package: `python docs/api.py`."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

WINGS = (
    "",
    "calibration",
    "shortcuts",
    "cues",
    "probes",
    "difficulty",
    "behavior",
    "reasons",
    "repairs",
    "datasets",
    "io",
    "models",
    "training",
    "report",
)
PAGE = Path(__file__).with_name("api.md")
INTRODUCTION = """# Public names

What a release promises to keep, imported from where it is listed; bold names also from `rightreasons` itself.
`help(name)` prints formula, shapes, units, defaults, errors and source. Written by `python docs/api.py`.
"""


def public_names(wing: str) -> dict[str, list[str]]:
    """Return the public names of a wing by the file that defines them, in the order of its stub."""
    package = importlib.import_module("rightreasons" + (f".{wing}" if wing else ""))
    stub = Path(str(package.__file__)).with_suffix(".pyi")
    files: dict[str, list[str]] = {}
    for statement in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            files.setdefault(statement.module, []).extend(alias.name for alias in statement.names)
    return files


def summary(value: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(value) or "").split("\n")[0] if callable(value) else f"`{value!r}`"


def page() -> str:
    """Return docs/api.md: a list per question; the names of the front door are bold."""
    names = {
        wing: [each for file in public_names(wing).values() for each in file] for wing in WINGS
    }
    inner = {each for wing in WINGS if wing for each in names[wing]}
    parts = [INTRODUCTION]
    for wing in WINGS:
        name = "rightreasons" + (f".{wing}" if wing else "")
        package = importlib.import_module(name)
        parts.append(f"\n## {name}\n\n{summary_of_package(package)}\n\n")
        for each in sorted(names[wing] if wing else set(names[""]) - inner):
            shown = f"**`{each}`**" if wing and each in names[""] else f"`{each}`"
            parts.append(f"- {shown}: {summary(getattr(package, each))}\n")
    return "".join(parts)


def summary_of_package(package: Any) -> str:
    """Return the first line of a package's docstring."""
    return (package.__doc__ or "").split("\n")[0]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""Writes docs/api.md from the public names of the package: `python docs/api.py`."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Container, Iterable
from pathlib import Path

from rightreasons.core.public_api import list_public_packages
from rightreasons.report.questions import QUESTIONS

PAGE = Path(__file__).with_name("api.md")
INTRODUCTION = """# Public names

These names keep working from one release to the next. You can import each name from the package under whose heading it is
listed, and bold names also from `rightreasons`. `help(name)` prints the formula, shapes, units, defaults, errors and source.
"""


def list_packages() -> list[str]:
    """Return "" for the package itself, then its subpackages: the questions as in a report, then the others."""
    others = [package for package in list_public_packages() if package not in QUESTIONS]
    return ["", *QUESTIONS, *others]


def get_dotted_name(package: str) -> str:
    """Return the name by which a subpackage is imported."""
    return f"rightreasons.{package}".rstrip(".")


def list_names_by_module(package: str) -> dict[str, list[str]]:
    """Return the public names of a package by the module that defines them, in the order of its stub."""
    module = importlib.import_module(get_dotted_name(package))
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    names: dict[str, list[str]] = {}
    for statement in ast.parse(stub.read_text("utf-8")).body:
        # `from . import calibration` exports a subpackage, which has its own section.
        if isinstance(statement, ast.ImportFrom) and statement.module:
            imported = [alias.name for alias in statement.names]
            names.setdefault(statement.module, []).extend(imported)
    return names


def describe_package(package: str) -> str:
    """Return the section of a package: its names in the order of its stub."""
    name = get_dotted_name(package)
    root_names = set().union(*list_names_by_module("").values())
    if not package:
        # Most of these names have their own package, which lists them in bold.
        names = sorted(root_names - list_package_names())
        return f"\n## {name}\n\n{format_names(names)}, and the bold names below\n"

    names = []
    for module_names in list_names_by_module(package).values():
        names.extend(module_names)
    return f"\n## {name}\n\n{format_names(names, bold=root_names)}\n"


def list_package_names() -> set[str]:
    """Return the public names of all subpackages."""
    names: set[str] = set()
    for package in list_packages()[1:]:
        names.update(*list_names_by_module(package).values())
    return names


def format_names(names: Iterable[str], bold: Container[str] = ()) -> str:
    """Return names as code, separated by commas."""
    marked = []
    for name in names:
        mark = "**" if name in bold else ""
        marked.append(f"{mark}`{name}`{mark}")
    return ", ".join(marked)


def page() -> str:
    """Return docs/api.md."""
    return INTRODUCTION + "".join(describe_package(package) for package in list_packages())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

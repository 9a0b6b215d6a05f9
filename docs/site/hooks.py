"""Hooks of mkdocs: links to the repository, MathML, commands that wrap, a page of reference per package."""

from __future__ import annotations

import html
import posixpath
import re
import runpy
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
COMMANDS = re.compile(r'<div class="language-(?:bash|text) highlight">.*?</div>', re.DOTALL)
HYPHENATED = re.compile(r"(<[^>]*>)|([^\s<>]*-[^\s<>]*)")
LINK = re.compile(r"(!?\[[^\]]*\]\()((?:\.\./)+[^)#\s]*)((?:#[^)]*)?\))")


def _api() -> dict[str, Any]:
    """Return what docs/api.py has, which knows the public names."""
    return runpy.run_path(str(ROOT / "docs" / "api.py"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page of reference for each package with public names."""
    api = _api()
    for package in api["list_packages"]():
        dotted_name = api["get_dotted_name"](package)
        parts = [f"# {dotted_name}\n"]
        for module, names in api["list_names_by_module"](package).items():
            parts.append(f"\n## {module.rpartition('.')[2].replace('_', ' ')}\n")
            for name in names:
                parts.append(f"\n::: {dotted_name}.{module}.{name}\n")
        path = f"reference/{package or 'rightreasons'}.md"
        files.append(File.generated(config, path, content="".join(parts)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that leave docs/ lead to the repository, and take images from there."""
    folder = posixpath.dirname(page.file.src_uri)

    def outside(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, match.group(2)))
        if target.startswith("docs/") or target == "docs":
            return match.group(0)
        if not (ROOT / target).exists():
            raise ValueError(
                f"Expected the link {match.group(2)} of {page.file.src_uri} to lead to a file."
            )
        if match.group(1).startswith("!"):
            place = f"images/{Path(target).name}"
            if files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, abs_src_path=str(ROOT / target)))
            return f"{match.group(1)}{posixpath.relpath(place, folder or '.')}{match.group(3)}"
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{match.group(1)}{config.extra['repository']}/{kind}/main/{target}{match.group(3)}"

    return LINK.sub(outside, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, which browsers show without a script, and keep the options of commands in one piece."""

    def whole(match: re.Match[str]) -> str:
        return match.group(1) or f'<span class="whole">{match.group(2)}</span>'

    def formula(match: re.Match[str]) -> str:
        display = "block" if match.group(1) == "div" else "inline"
        written = str(convert(html.unescape(match.group(2)), display=display))
        return f'<div class="formula">{written}</div>' if display == "block" else written

    content = COMMANDS.sub(lambda match: HYPHENATED.sub(whole, match.group()), content)
    return FORMULA.sub(formula, content)

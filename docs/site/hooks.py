"""Hooks of mkdocs: links to the repository, MathML, commands that wrap, the glossary, a page of reference per package."""

from __future__ import annotations

import html
import json
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
TERMS = ROOT / "src" / "rightreasons" / "report" / "templates" / "terms.json"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
COMMANDS = re.compile(r'<div class="language-(?:bash|text) highlight">.*?</div>', re.DOTALL)
HYPHENATED = re.compile(r"(<[^>]*>)|([^\s<>]*-[^\s<>]*)")
LINK = re.compile(r"(!?\[[^\]]*\]\()((?:\.\./)+[^)#\s]*)((?:#[^)]*)?\))")


def _api() -> dict[str, Any]:
    """Return what docs/api.py has, which knows the public names."""
    return runpy.run_path(str(ROOT / "docs" / "api.py"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the glossary, and a page of reference for each package with public names."""
    files.append(File.generated(config, "glossary.md", content=_write_glossary()))
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


def _write_glossary() -> str:
    """Return the page of the terms that every report explains."""
    lines = [
        "# Glossary\n",
        "Every report ends with the terms that it uses. These are all of them.\n",
    ]
    for term, meaning in json.loads(TERMS.read_text("utf-8")).items():
        lines.append(f"- **{term[0].upper()}{term[1:]}**: {meaning}")
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that leave docs/ lead to the repository, and copy images from there."""
    folder = posixpath.dirname(page.file.src_uri)
    if folder == "gallery":
        markdown = _link_local_reports(markdown, config.extra["repository"])

    def redirect_link(match: re.Match[str]) -> str:
        prefix, link, suffix = match.groups()
        target = posixpath.normpath(posixpath.join("docs", folder, link))
        if target.startswith("docs/") or target == "docs":
            return match.group(0)
        if not (ROOT / target).exists():
            raise ValueError(f"Expected the link {link} of {page.file.src_uri} to lead to a file.")
        if prefix.startswith("!"):
            path = f"images/{Path(target).name}"
            # Several pages may show one image.
            if files.get_file_from_path(path) is None:
                files.append(File.generated(config, path, abs_src_path=str(ROOT / target)))
            return f"{prefix}{posixpath.relpath(path, folder or '.')}{suffix}"
        # GitHub has one address for folders and another for files.
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{prefix}{config.extra['repository']}/{kind}/main/{target}{suffix}"

    return LINK.sub(redirect_link, markdown)


def _link_local_reports(markdown: str, repository: str) -> str:
    """Let links to the reports of a release lead to those of docs/gallery that have been made."""
    for report in sorted((ROOT / "docs" / "gallery").glob("*/index.html")):
        name = report.parent.name
        # Git has no reports: `make -C benchmarks gallery` writes them, also before a release.
        address = f"{repository}/releases/latest/download/{name}.html"
        markdown = markdown.replace(f"({address})", f"({name}/index.html)")
    return markdown


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, which browsers show without a script, and keep options in one piece."""
    # A browser would break a line at the hyphens of `--not-reasons`.
    content = COMMANDS.sub(lambda match: HYPHENATED.sub(_keep_in_one_line, match.group()), content)
    return FORMULA.sub(_convert_formula, content)


def _keep_in_one_line(match: re.Match[str]) -> str:
    """Return a word in an element that is not broken, and a tag as it is."""
    tag, word = match.groups()
    return tag or f'<span class="whole">{word}</span>'


def _convert_formula(match: re.Match[str]) -> str:
    """Return the MathML of a formula in TeX."""
    element, formula = match.groups()
    if element == "div":
        mathml = convert(html.unescape(formula), display="block")
        return f'<div class="formula">{mathml}</div>'
    return str(convert(html.unescape(formula), display="inline"))

"""Runs the tutorials and writes what they print below their code: `python docs/site/execute.py [--check] [PAGE ...]`.

A tutorial is a page of Markdown. In a block of `console`, the shell runs each line that begins with "$ ", and the
lines below it are its output. Blocks of `python` run in one namespace, and a block of `text` right below holds the
output. A comment `<!-- figure: PATH -->` before an image names the file from which the image is copied. All pages run
in one folder, in the order of mkdocs.yml, because later pages use the models of earlier ones.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pictures import write_picture

DOCS = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)
FIGURE = re.compile(r"<!-- figure: (\S+) -->\n!\[[^\]]*\]\(([^)\s]+)\)")


def list_tutorials() -> list[Path]:
    """Return the first page and the tutorials, in the order of the site."""
    text = DOCS.parent.joinpath("mkdocs.yml").read_text("utf-8")
    pages = re.findall(r"(?:tutorials/[\w-]+|\bstart)\.md", text)
    return [DOCS / page for page in pages if page != "tutorials/index.md"]


def run_console(block: str, folder: Path) -> str:
    """Run the commands of a block; return the block with their output."""
    # A command continues after a backslash: a zero byte holds its lines together.
    block = block.replace("\\\n", "\\\0")
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:].replace("\0", "\n"))

    parts = []
    for command in commands:
        process = subprocess.run(  # noqa: S602
            command,
            shell=True,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        # A gate that fails, or a grep without a match, exits with 1 and may be what the page shows.
        has_failed = process.returncode > 1 or (process.returncode == 1 and not process.stdout)
        if has_failed:
            raise RuntimeError(f"{command}\nends with {process.returncode}: {process.stderr}")
        parts.append(f"$ {command}\n{trim_output(process.stdout)}")
    return "```console\n" + "\n".join(parts) + "```\n"


def run_python(block: str, namespace: dict[str, Any], page: Path) -> str:
    """Run a block of Python; return the block, and its output below it."""
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        exec(compile(block, str(page), "exec"), namespace)  # noqa: S102
    output = trim_output(buffer.getvalue())
    source = f"```python\n{block}```\n"
    if not output:
        return source
    return f"{source}\n```text\n{output}```\n"


def trim_output(output: str) -> str:
    """Return an output without blank lines at its ends and blank space at the ends of lines."""
    lines = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    return f"{lines}\n" if lines else ""


def run_page(page: Path, folder: Path) -> str:
    """Run the blocks of a page; return the page with their output."""
    namespace: dict[str, Any] = {"__name__": "__main__"}

    # `re.sub` calls it from the first block to the last, so that later blocks find the names of earlier ones.
    def run_block(match: re.Match[str]) -> str:
        language, block = match.groups()
        if language == "console":
            return run_console(block, folder)
        return run_python(block, namespace, page)

    return BLOCK.sub(run_block, page.read_text("utf-8"))


def write_page(page: Path, text: str, folder: Path) -> None:
    """Write a page, and the figures that its blocks have drawn."""
    page.write_text(text, "utf-8")
    for source, target in FIGURE.findall(text):
        # The source is in the folder of the run, the target next to the page.
        path = page.parent / target
        path.parent.mkdir(parents=True, exist_ok=True)
        write_picture(folder / source, path)


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command."""
    parser = argparse.ArgumentParser(description="Run the tutorials and write what they print.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; by default all of mkdocs.yml")
    help_text = "write nothing, and fail if a page prints something else"
    parser.add_argument("--check", action="store_true", help=help_text)
    help_text = "folder in which the pages run; by default a temporary one"
    parser.add_argument("--work", type=Path, help=help_text)
    return parser.parse_args()


def run_pages(pages: Sequence[Path], folder: Path, *, is_check: bool) -> list[str]:
    """Run pages in a folder; write them, or only return the names of those that have changed."""
    changed = []
    for page in pages:
        print(f"running {page.name}", flush=True)
        text = run_page(page, folder)
        if not is_check:
            write_page(page, text, folder)
        elif text != page.read_text("utf-8"):
            changed.append(page.name)
    return changed


def main() -> int:
    """Run the tutorials that the command names, or all; return 1 if `--check` finds a change."""
    arguments = parse_arguments()
    pages = [page.resolve() for page in arguments.pages] or list_tutorials()
    # The commands of a page run the package next to this interpreter, at a width that fits the site.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.update(COLUMNS="100", TQDM_DISABLE="1")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.work or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        # Blocks of Python read and write files next to those of the commands.
        start = Path.cwd()
        os.chdir(folder)
        try:
            changed = run_pages(pages, Path.cwd(), is_check=arguments.check)
        finally:
            os.chdir(start)
    if changed:
        print(f"different output: {', '.join(changed)}")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())

"""Runs the tutorials and writes what they print below their code: `python docs/site/execute.py [--check] [PAGE ...]`.

A tutorial is a page of Markdown. In a block of `console`, each line that begins with "$ " is run by the shell, and
the lines below it are what it printed; a block of `python` is run after those before it, and a block of `text`
right below holds what it printed. A comment `<!-- figure: PATH -->` before an image names the file that the image
is copied from. All pages share one folder of work, so that a later one goes on with the model of an earlier one, in
the order of mkdocs.yml.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)
FIGURE = re.compile(r"<!-- figure: (\S+) -->\n!\[[^\]]*\]\(([^)\s]+)\)")


def tutorials() -> list[Path]:
    """Return the first page and the tutorials, in the order of the site."""
    text = DOCS.parent.joinpath("mkdocs.yml").read_text("utf-8")
    pages = re.findall(r"(?:tutorials/[\w-]+|\bstart)\.md", text)
    return [DOCS / page for page in pages if page != "tutorials/index.md"]


def run_console(block: str, folder: Path) -> str:
    """Run the commands of a block; return the block with what they print."""
    block = block.replace("\\\n", "\\\0")  # a command goes on after a backslash
    commands = [
        line[2:].replace("\0", "\n") for line in block.splitlines() if line.startswith("$ ")
    ]
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
        if process.returncode > 1 or (process.returncode == 1 and not process.stdout):
            raise RuntimeError(f"{command}\nends with {process.returncode}: {process.stderr}")
        parts.append(f"$ {command}\n{trimmed(process.stdout)}")
    return "```console\n" + "\n".join(parts) + "```\n"


def run_python(block: str, names: dict[str, Any], page: Path) -> str:
    """Run a block of Python; return the block, and what it prints below it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102
    output = trimmed(printed.getvalue())
    return f"```python\n{block}```\n" + (f"\n```text\n{output}```\n" if output else "")


def trimmed(output: str) -> str:
    """Return an output without blank space at its ends and at those of its lines."""
    lines = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    return f"{lines}\n" if lines else ""


def executed(page: Path, folder: Path) -> str:
    """Run a page; return it with what its blocks print."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def run(match: re.Match[str]) -> str:
        if match.group(1) == "console":
            return run_console(match.group(2), folder)
        return run_python(match.group(2), names, page)

    return BLOCK.sub(run, page.read_text("utf-8"))


def main() -> int:
    """Run the tutorials that are named, or all; return 1 if `--check` finds another output."""
    parser = argparse.ArgumentParser(description="Run the tutorials and write what they print.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; by default all of mkdocs.yml")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and fail where a page prints otherwise"
    )
    parser.add_argument(
        "--work", type=Path, help="folder of work, kept; by default a temporary one"
    )
    chosen = parser.parse_args()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.environ.update(COLUMNS="100", TQDM_DISABLE="1")
    differing = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.work or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        before = Path.cwd()
        pages = [page.resolve() for page in chosen.pages] or tutorials()
        os.chdir(folder)
        try:
            for page in pages:
                print(f"running {page.name}", flush=True)
                text = executed(page, folder)
                if chosen.check:
                    differing += [page.name] * (text != page.read_text("utf-8"))
                else:
                    page.write_text(text, "utf-8")
                    for source, target in FIGURE.findall(text):
                        place = page.parent / target
                        place.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(folder / source, place)
        finally:
            os.chdir(before)
    if differing:
        print(f"printed otherwise: {', '.join(differing)}")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())

"""Blocks of documents that commands write, between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "rightreasons"
RESULTS = Path(__file__).parent / "RESULTS.md"


def read_block(page: Path, name: str) -> str:
    """Return the text of a block, empty if the page has no such block."""
    _, _, rest = page.read_text("utf-8").partition(f"<!-- {name} -->")
    block, _, _ = rest.partition(f"<!-- end of {name} -->")
    return block.strip()


def write_block(page: Path, name: str, text: str) -> None:
    """Replace the text of a block.

    Raises:
        ValueError: If the page has no such block.
    """
    start = f"<!-- {name} -->"
    end = f"<!-- end of {name} -->"
    head, separator, rest = page.read_text("utf-8").partition(start)
    if not separator:
        raise ValueError(f"Expected {start} in {page}, but it is not there.")
    _, _, tail = rest.partition(end)
    page.write_text(f"{head}{start}\n\n{text.strip()}\n\n{end}{tail}", "utf-8")


def digest_files(names: Iterable[str]) -> str:
    """Return a digest of files, and of the Python files of folders, below src/rightreasons."""
    digest = hashlib.sha256()
    for name in names:
        path = SOURCE / name
        files = [path]
        if path.is_dir():
            files = sorted(path.rglob("*.py"))
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]

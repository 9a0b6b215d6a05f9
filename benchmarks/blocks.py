"""Blocks of documents that commands write: what is between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "rightreasons"
RESULTS = Path(__file__).parent / "RESULTS.md"


def read_block(page: Path, name: str) -> str:
    return (
        page.read_text("utf-8")
        .partition(f"<!-- {name} -->")[2]
        .partition(f"<!-- end of {name} -->")[0]
        .strip()
    )


def write_block(page: Path, name: str, text: str) -> None:
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, found, rest = page.read_text("utf-8").partition(begin)
    if not found:
        raise ValueError(f"Expected {begin} in {page}, but it is not there.")
    page.write_text(f"{head}{begin}\n\n{text.strip()}\n\n{end}{rest.partition(end)[2]}", "utf-8")


def digest_files(parts: Iterable[str]) -> str:
    """Return a digest of files, and of the Python files of folders, below src/rightreasons."""
    digest = hashlib.sha256()
    for part in parts:
        path = SOURCE / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]

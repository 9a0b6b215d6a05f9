"""Blocks of documents that commands write: what is between `<!-- NAME -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

from pathlib import Path

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

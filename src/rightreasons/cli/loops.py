"""The page of before and after that the commands of corrections share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli.show import show_answer, show_table

if TYPE_CHECKING:
    from rightreasons.repairs.loops import Loop

PageFolder = Annotated[
    Path | None,
    typer.Option(
        "--page",
        help=(
            "Folder for a page that compares before and after and applies the acceptance rule, "
            "and for audit.json, which `gate` reads."
        ),
    ),
]


def check_page(folder: Path | None) -> None:
    """Raise a ValueError if a page cannot be written into a folder, before a long computation."""
    # The module of the page is slow to import, and only needed for a page.
    if folder is not None:
        from rightreasons.repairs.loop_page import check_page_folder

        check_page_folder(folder)


def show_loop(
    loop: Loop, folder: Path, *, settings: Mapping[str, Any], level: float = 0.95
) -> None:
    """Write a page that compares before and after a correction, and print its verdict and tables.

    Args:
        loop: The correction, with its figures and its acceptance rule.
        folder: Folder of the page.
        settings: Name -> value of the options that the user has set, which the page records.
        level: Level of the intervals.
    """
    from rightreasons.repairs.loop_page import make_question, write_loop_page

    # The page is written first, because the user may interrupt the printing of tables.
    page = write_loop_page(loop, folder, settings=settings, level=level)
    question = make_question(loop.kind)
    answer = question.answer(loop, level, split=loop.data, report=str(folder))
    show_answer(question.title, answer.verdict)
    for part in answer.parts:
        for table in part.tables:
            show_table(table)
    typer.echo(f"\nPage: {page}")

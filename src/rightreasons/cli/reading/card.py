"""`rightreasons card REPORT --to README.md`: a report in a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = ("rightreasons card report --to my-model/README.md",)


@app.command(no_args_is_help=True)
def card(
    report: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT", show_default=False)],
    to: Annotated[Path, typer.Option(help="Model card to write into; a new one is begun where there is none.")],
) -> None:
    """Write a report into a model card: a section with the verdicts, and the figures as metadata of the hub.

    A section that an earlier report wrote is replaced; the rest of the card stays as it is.
    """
    from rightreasons.auditing.reading.card import write_card

    typer.echo(f"Card: {write_card(report, to)}")

"""The command that shows a report with the model behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

COMMANDS = {"serve": command_line()}


@COMMANDS["serve"].command(no_args_is_help=True)
def serve(
    report: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Folder or hub id of a model; repeat the option to compare several models. By "
                "default, the audited model."
            )
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0 selects a free port.", min=0, max=65535)
    ] = 0,
) -> None:
    """Show a report with a text box, in which you can edit a text and see the new prediction.

    The page is available only on this machine, at an address that contains a secret token.
    """
    # The help of a command must not wait for slow imports.
    from rightreasons.report import live

    # The address is the output of the command, and is printed on stdout.
    live.serve(report, *(model or ()), port=port, tell=typer.echo)

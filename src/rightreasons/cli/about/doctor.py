"""`rightreasons doctor`: what is installed, and what is missing."""

from __future__ import annotations

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = ("rightreasons doctor",)


@app.command()
def doctor() -> None:
    """Say what is installed, which extras are missing, and whether there are a GPU, WordNet and the hub.

    Nothing is installed or downloaded; the hub is asked for three seconds at most, and not at all offline.
    """
    from rightreasons.cli._shared.health import checks

    for check in checks():
        typer.echo(f"{'ok' if check.fine else '--':<4}{check.name:<14}{check.told}")

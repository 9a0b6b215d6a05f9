"""`rightreasons modules`."""

from __future__ import annotations

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = ("rightreasons modules",)


@app.command()
def modules() -> None:
    """List the evaluate modules, with the folder of each as `evaluate.load` takes it."""
    from rightreasons.modules import available_modules, module_path

    found = available_modules()
    width = max((len(name) for name in found), default=0)
    for name, kind in found.items():
        typer.echo(f"{name:<{width}}  {kind:<11}  {module_path(name)}")

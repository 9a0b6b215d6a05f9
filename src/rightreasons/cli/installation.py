"""The commands about this installation."""

from __future__ import annotations

import typer

from rightreasons.cli import command_line

COMMANDS = {name: command_line() for name in ("doctor", "modules")}

EXAMPLES = {"doctor": ("rightreasons doctor",), "modules": ("rightreasons modules",)}


@COMMANDS["doctor"].command()
def doctor() -> None:
    """Say what is installed, which extras are missing, and whether there are a GPU, WordNet and the hub.

    Nothing is installed or downloaded; the hub is asked for three seconds at most, and not at all offline.
    """
    from rightreasons.cli.health import checks

    for check in checks():
        typer.echo(f"{'ok' if check.fine else '--':<4}{check.name:<14}{check.told}")


@COMMANDS["modules"].command()
def modules() -> None:
    """List the evaluate modules, with the folder of each as `evaluate.load` takes it."""
    from rightreasons.evaluate_module import available_modules, module_path

    found = available_modules()
    width = max((len(name) for name in found), default=0)
    for name, kind in found.items():
        typer.echo(f"{name:<{width}}  {kind:<11}  {module_path(name)}")

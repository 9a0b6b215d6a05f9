"""The command line: `rightreasons COMMAND …`, one file a command.

A file of this folder exposes `app = command_line()`: with one command in it, the file's name is the command's; with
several, the file's name is a group (`rightreasons data list`). Files are found by listing the folder and imported when
their command or the help is asked for, so they import nothing heavy at the top.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import rightreasons

TRACEBACK = "--traceback"

# What users can cause and understand; anything else is a mistake of ours and keeps its traceback.
_USER_ERRORS = (ValueError, TypeError, OSError, ImportError)


class _Commands(typer.core.TyperGroup):
    """A group whose commands are the files beside this one."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        name = cmd_name.replace("-", "_")
        if name not in self.list_commands(ctx):
            return None
        command = typer.main.get_command(import_module(f"{__name__}.{name}").app)
        command.name = cmd_name
        return command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 when all went well, 2 on a user's error, told in one sentence.

    Args:
        arguments: The arguments; None for those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Accepted anywhere, as one adds it to the end of the line that failed.
    show_traceback = TRACEBACK in words or bool(os.environ.get("RIGHTREASONS_TRACEBACK"))
    words = [word for word in words if word != TRACEBACK]
    try:
        code = typer.main.get_command(_app)(args=words, prog_name="rightreasons", standalone_mode=False)
    except typer.Abort:  # Ctrl-C
        typer.echo("Stopped. What was computed is kept, and the same command goes on from there.", err=True)
        raise SystemExit(130) from None
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # a misspelt option, which typer explains itself
            error.show()
            raise SystemExit(error.exit_code) from None
        if show_traceback or not isinstance(error, _USER_ERRORS):
            raise
        typer.echo(f"Error: {_sentence(error)}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(code or 0)


def command_line() -> typer.Typer:
    """Return a new `app` for a file of this folder."""
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


_app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(rightreasons.__version__)
        raise typer.Exit()


@_app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    traceback: Annotated[bool, typer.Option(TRACEBACK, help="Show where an error arose (for developers).")] = False,
) -> None:
    """Is your language model right for the right reasons?"""


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__

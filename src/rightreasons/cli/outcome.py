"""The result of a command for `--json`, and its status messages."""

from __future__ import annotations

import contextvars
from typing import Any

import typer

from rightreasons.core.signals import is_quiet

wants_traceback = contextvars.ContextVar("wants_traceback", default=False)
"""Whether the command line asks for the traceback of an error."""

outcome: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar(
    "outcome", default=None
)
"""Result and error of the command, for `--json`. None without it."""


def hand_over(result: Any) -> None:
    """Record the result of a command for `--json`. Without this flag, do nothing.

    Args:
        result: Any result, or a function that returns it, which is called only with `--json`.
    """
    from rightreasons.core.results import to_plain_python

    # There is no record without --json, and the result need not be computed.
    record = outcome.get()
    if record is None:
        return
    if callable(result):
        result = result()
    record["result"] = to_plain_python(result)


def tell(line: str) -> None:
    """Print a status message on stderr. With `--quiet` or `--json`, print nothing."""
    if not is_quiet.get():
        typer.echo(line, err=True)

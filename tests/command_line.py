"""The command line, as a user types it."""

from typing import NamedTuple

import pytest

from rightreasons.cli import main


class Finished(NamedTuple):
    """What a command left: its exit code, what it printed, and its errors."""

    code: int
    out: str
    err: str


def run(capsys, *words) -> Finished:
    """Run `rightreasons` with these words."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return Finished(stopped.value.code or 0, *capsys.readouterr())

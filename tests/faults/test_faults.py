"""A short form of `make faults`, and that every command that writes has a case."""

import json
import os
import subprocess
import sys

import pytest
import typer

from faults.cases import COVERS, LEFT_OUT, PRINTS_ONLY, cases
from faults.injecting import chosen, compiler
from rightreasons import cli


def commands():
    """The words of each command, found by listing."""
    app = typer.main.get_command(cli._app)
    for name in app.list_commands(None):
        parts = getattr(app.get_command(None, name), "commands", None)
        yield from (f"{name} {part}" for part in parts) if parts else (name,)


def test_every_command_that_writes_has_a_case(tmp_path):
    covered = {command for name in cases(tmp_path) for command in COVERS.get(name, {name})}
    assert covered | PRINTS_ONLY | LEFT_OUT.keys() == set(commands())


def test_writes_are_chosen_evenly():
    assert chosen(3, None) == chosen(3, 5) == [1, 2, 3]
    assert chosen(11, 3) == [1, 6, 11]
    assert chosen(11, 1) == [6]


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="faults are set by a small library in C, and there is no compiler")
def test_faults_lose_nothing(root, tmp_path):
    words = ["--cases", "calibration,suite write", "--most", "1", "--json", tmp_path / "counts.json"]
    path = os.pathsep.join([str(root / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "faults", *words], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    counts = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    assert all(row["kill"] == row["kill met"] == 1 for row in counts.values())

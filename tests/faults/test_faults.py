"""A short form of `make -C benchmarks faults`, and that every command that writes has a case."""

import os
import subprocess
import sys

import pytest
import typer

from faults.__main__ import MARKS
from faults.cases import COVERS, LEFT_OUT, PRINTS_ONLY, cases
from faults.injecting import chosen, compiler
from rightreasons import cli


def commands(group=None, words=()):
    """The words of each command, found by listing."""
    group = group or typer.main.get_command(cli._app)
    for name in group.list_commands(None):
        part, named = group.get_command(None, name), (*words, name)
        yield from commands(part, named) if hasattr(part, "list_commands") else (" ".join(named),)


def test_every_command_that_writes_has_a_case(tmp_path):
    covered = {command for name in cases(tmp_path) for command in COVERS.get(name, {name})}
    assert covered | PRINTS_ONLY | LEFT_OUT.keys() == set(commands())


def test_writes_are_chosen_evenly():
    assert chosen([2, 3, 7], None) == chosen([2, 3, 7], 5) == [2, 3, 7]
    assert chosen(range(1, 12), 3) == [1, 6, 11]
    assert chosen(range(1, 12), 1) == [6]


@pytest.mark.slow
@pytest.mark.skipif(
    compiler() is None, reason="faults are set by a small library in C, and there is no compiler"
)
def test_faults_lose_nothing(root, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{MARKS[0]}\n{MARKS[1]}\nAfter.\n", "utf-8")
    page.with_suffix(".csv").write_text(
        "command,writes,kill,full,flip,wrong\ncues,5,1,2,3,0\n", "utf-8"
    )
    words = ["--cases", "calibration,recalibrate", "--most", "1", "--page", page]
    path = os.pathsep.join([str(root / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "faults", *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    before, *_, whole, _, _, after = page.read_text("utf-8").splitlines()
    assert (before, after) == ("Before.", "After.")
    assert whole.startswith("| 3 | ")
    assert whole.endswith(" | 3 | 4 | 5 | 0 |")
    _, calibration, cues, last = page.with_suffix(".csv").read_text("utf-8").splitlines()
    assert calibration.startswith("calibration,")
    assert calibration.endswith(",1,1,1,0")
    assert (cues, last) == ("cues,5,1,2,3,0", "recalibrate,5,1,1,1,0")

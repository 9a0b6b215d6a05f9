"""What a script reads: --json prints one object, and --quiet nothing, whatever the command."""

import json
import os
from pathlib import Path

import pytest

from command_line import run
from faults.cases import cases, make_world
from rightreasons import cli
from rightreasons.core.errors import warn_stored_results

FIND_NOTHING = {"card", "data export", "data ratings write"}
"""Commands that write what they are given in another form: `printed` says where."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    make_world(folder, {*cases(folder)})
    return folder


@pytest.mark.parametrize("name", [*cases(Path())])
def test_every_command_prints_one_object(name, world, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in cases(world)[name]:
        code, printed, errors = run(capsys, *words, "--json")
        told = json.loads(printed)
        assert (code, told["exit_code"], told["error"]) == (0, 0, None), errors
    assert (told["result"] is None) == (name in FIND_NOTHING), told
    assert told["result"] or told["printed"]


def test_a_gate_that_fails_says_so_in_its_object_and_by_its_code(world, capsys):
    code, printed, _ = run(
        capsys, "gate", world / "of-model", "--fail-if", "calibration.ece >= 0", "--json"
    )
    told = json.loads(printed)
    assert (code, told["exit_code"], told["result"]["passed"]) == (1, 1, False)
    assert [check["outcome"] for check in told["result"]["checks"]] == ["fail"]
    assert told["printed"] == [
        f"FAIL      calibration.ece >= 0: {told['result']['checks'][0]['told']}"
    ]


def test_a_mistake_is_in_the_object_and_on_stderr(world, capsys):
    code, printed, errors = run(
        capsys, "--json", "gate", world / "of-model", "--fail-if", "calibration.ec > 0"
    )
    told = json.loads(printed)
    assert (code, told["exit_code"], told["result"]) == (2, 2, None)
    assert told["error"].startswith("Expected")
    assert errors == f"Error: {told['error']}\n"


def test_a_misspelt_option_is_in_the_object(world, capsys):
    code, printed, errors = run(
        capsys, "audit", world / "model", "--questons", "calibration", "--json"
    )
    told = json.loads(printed)
    assert (code, told["exit_code"], told["result"]) == (2, 2, None)
    assert "--questions" in told["error"]
    assert told["error"] in errors


def test_the_result_is_what_the_file_holds(world, tmp_path, capsys):
    words = (
        "audit",
        world / "model",
        world / "rows.csv",
        "--questions",
        "calibration",
        "--n-resamples",
        "20",
        "--json",
    )
    _, printed, errors = run(capsys, *words, "--out", tmp_path / "report")
    assert json.loads(printed)["result"] == json.loads(
        (tmp_path / "report" / "audit.json").read_text("utf-8")
    )
    assert errors == ""


def test_quiet_prints_errors_alone(world, capsys):
    report = world / "of-model"
    assert run(capsys, "gate", report, "--fail-if", "calibration.ece >= 0", "--quiet") == (
        1,
        "",
        "",
    )
    code, printed, errors = run(capsys, "gate", report, "--quiet")
    assert (code, printed) == (2, "")
    assert errors.startswith("Error: Expected a condition")


def test_where_nobody_watches_libraries_draw_no_bars(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    run(capsys, "data", "list")
    assert os.environ["TQDM_DISABLE"] == "1"


def test_warnings_about_many_stored_results_are_counted(capsys):
    with cli._plain_warnings([]):
        for number in range(5):
            warn_stored_results(f"Folder {number} held results of another run.")

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == cli.MAX_SET_ASIDE_WARNINGS + 1
    # Of five folders, three are named.
    assert lines[-1].startswith("2 more folders")

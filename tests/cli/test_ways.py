"""`rightreasons ways`: one page, what it would send, and that a second run asks nothing again."""

from __future__ import annotations

import json

import pytest

from command_line import run
from fake_server import serving


@pytest.fixture(scope="module")
def server():
    with serving() as fake:
        yield fake


def write_items(folder):
    rows = []
    for n in range(21):
        choices = ["one", "two", "three"]
        rows.append({"id": n, "prompt": f"Which is it, {n}?", "choices": choices, "label": n % 3})
    file = folder / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


def list_questions(server):
    return [body for body in server.bodies if "Which is it" in str(body)]


def test_formats_of_a_server_are_planned_asked_once_and_reported(server, tmp_path, capsys):
    file = write_items(tmp_path)
    out = tmp_path / "out"
    flags = ("--style", "letters", "--n-ways", 3, "--n-resamples", 30, "--out", out)

    planned = run(capsys, "ways", server.url, file, *flags, "--plan")
    assert planned.code == 0, planned.err
    assert not (out / "audit.json").exists()
    (row,) = [line for line in planned.err.splitlines() if line.startswith("ways ")]
    n_planned = int(row.split()[1].replace(",", ""))
    server.reset()
    asked = run(capsys, "ways", server.url, file, *flags)
    assert asked.code == 0, asked.err
    # The plan sent a few of these requests itself, but stored no answers.
    assert len(list_questions(server)) == n_planned

    page = (out / "index.html").read_text("utf-8")
    assert "lines, no instruction, letters, given order" in page
    record = json.loads((out / "audit.json").read_text("utf-8"))
    (question,) = record["questions"]
    result = question["result"]
    assert (question["question"], result["data"]["n_items"]) == ("ways", 21)
    assert [headline["key"] for headline in result["headlines"]][:2] == [
        "format_difference",
        "format_spread",
    ]
    compared = {*result["data"]["no_verdict"], *result["data"]["same_verdict"]}
    assert compared == {"calibration", "cues"}

    server.reset()
    again = run(capsys, "ways", server.url, file, *flags)
    assert again.out == asked.out
    assert list_questions(server) == []


def test_other_questions_of_the_same_report_stay(server, tmp_path, capsys):
    file = write_items(tmp_path)
    flags = ("--style", "letters", "--n-resamples", 30, "--out", tmp_path / "out")

    assert run(capsys, "ways", server.url, file, *flags, "--n-ways", 2).code == 0
    audited = run(capsys, "audit", server.url, file, *flags, "--questions", "cues")
    assert audited.code == 0, audited.err

    record = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert {question["question"] for question in record["questions"]} == {"cues", "ways"}


def test_the_question_does_not_ask_itself(server, tmp_path, capsys):
    refused = run(capsys, "ways", server.url, write_items(tmp_path), "--questions", "ways")

    assert refused.code != 0
    assert "`questions`" in refused.err or "--questions" in refused.err

"""`rightreasons ways`: what it prints and writes, what it would send, and that a second run asks nothing again."""

from __future__ import annotations

import json

import pytest

from command_line import run
from fake_server import serving


@pytest.fixture(scope="module")
def server():
    with serving() as fake:
        yield fake


def test_ways_of_a_server_are_planned_asked_once_and_written(server, tmp_path, capsys):
    rows = [
        {
            "id": n,
            "prompt": f"Which is it, {n}?",
            "choices": ["one", "two", "three"],
            "label": n % 3,
        }
        for n in range(21)
    ]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    few = ("--style", "letters", "--n-ways", 3, "--n-resamples", 30, "--out", tmp_path / "out")
    planned = run(capsys, "ways", server.url, file, *few, "--plan")
    assert planned.code == 0, planned.err
    assert not (tmp_path / "out" / "ways.json").exists()
    n_planned = int(planned.out.splitlines()[1].split()[1].replace(",", ""))
    server.reset()
    asked = run(capsys, "ways", server.url, file, *few)
    assert asked.code == 0, asked.err
    about_items = [body for body in server.bodies if "Which is it" in str(body)]
    assert len(about_items) == n_planned
    assert "21 items, 3 ways to ask" in asked.out
    assert "lines/none/letters/given/0" in asked.out
    assert "best minus worst: 0" in " ".join(asked.out.split())
    assert "POSIX (Chatterjee et al. 2024): " in " ".join(asked.out.split())
    assert " answers, “Are you sure?” turns " in " ".join(asked.out.split())
    written = json.loads((tmp_path / "out" / "ways.json").read_text("utf-8"))
    assert [len(written["ways"]), written["n_items"]] == [3, 21]
    server.reset()
    again = run(capsys, "ways", server.url, file, *few)
    assert again.out == asked.out
    assert not any("Which is it" in str(body) for body in server.bodies)
    # An audit writes its report into the same folder, and leaves the ways there.
    audited = run(
        capsys,
        "audit",
        server.url,
        file,
        "--style",
        "letters",
        "--questions",
        "cues",
        "--out",
        tmp_path / "out",
    )
    assert audited.code == 0, audited.err
    assert json.loads((tmp_path / "out" / "ways.json").read_text("utf-8")) == written
    assert run(capsys, "ways", server.url, file, *few).out == asked.out

"""Commands by the two processes of one launch; those of models are in tests/report/test_launched.py."""

import json
import shutil

import numpy as np
import pytest

from command_line import run
from launching import launch_two
from rightreasons.cli import ABOUT, SHARED

SCRIPT = """
import json, os, sys
from rightreasons.cli import main

os.chdir(sys.argv[1])
launched = dict(os.environ)
for words in json.loads(sys.argv[2]):
    os.environ.update(launched)
    try:
        main(words)
    except SystemExit as stopped:
        print("exit code", stopped.code, words[0], file=sys.__stdout__)
"""

ALONE = """
cues choices.jsonl
look choices.jsonl
data ratings write choices.jsonl
recalibrate predictions.csv predictions.csv --out recalibrated.csv
data list
modules
"""

REPORTS = """
calibration predictions.csv --n-resamples 50 --out report
gate report --fail-if calibration.ece<0.5
card report --to README.md
compare report report --out compared
data export choices.jsonl --to benchmark --out task
"""


@pytest.fixture
def data(tmp_path):
    """Items, texts, answers and predictions in a folder."""
    folder, rng = tmp_path / "one", np.random.default_rng(0)
    folder.mkdir()
    words = "a good film with bad plot and fine story but slow end".split()

    def text():
        return " ".join(rng.choice(words, rng.integers(2, 6)))

    items = [
        {
            "prompt": text(),
            "choices": [text(), text()],
            "label": int(rng.integers(2)),
            "easy": bool(row % 2),
        }
        for row in range(24)
    ]
    (folder / "choices.jsonl").write_text("\n".join(map(json.dumps, items)))
    (folder / "reviews.csv").write_text(
        "\n".join(["text,label", *(f"{text()},{row % 2}" for row in range(40))])
    )
    for name in "abcd":
        answers = [f"{row},{answer}" for row, answer in enumerate(rng.integers(2, size=24))]
        (folder / f"{name}.csv").write_text("\n".join(["id,answer", *answers]))
    p = rng.uniform(size=60).round(4)
    rows = [
        f"{row},{int(rng.uniform() < each)},{1 - each:.4f},{each:.4f}"
        for row, each in enumerate(p.tolist())
    ]
    (folder / "predictions.csv").write_text("\n".join(["id,label,p_0,p_1", *rows]))
    (folder / "README.md").write_text("# A model\n")
    return folder


def held(folder):
    """The bytes of what the commands left; a report says when it was made."""
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    dated = ("report/index.html", "report/audit.json", "compared/index.html")
    return {
        name: "" if name in dated or "/." in f"/{name}" else path.read_bytes()
        for name, path in files.items()
        if "/." not in f"/{name}" and "worker" not in name
    }


@pytest.mark.parametrize("lines", [ALONE, REPORTS], ids=["alone", "reports"])
def test_two_processes_leave_and_print_what_one_does(lines, data, tmp_path, capsys, monkeypatch):
    commands = [line.split() for line in lines.split("\n") if line]
    shutil.copytree(data, tmp_path / "two")
    monkeypatch.chdir(data)
    alone = [run(capsys, *words) for words in commands]
    both = launch_two(SCRIPT, tmp_path, tmp_path / "two", json.dumps(commands))
    said = [line for line in both.splitlines() if not line.startswith("exit code")]
    codes = [line.split()[2] for line in both.splitlines() if line.startswith("exit code")]
    assert [line for each in alone for line in each.out.splitlines() if line not in said] == []
    assert len(said) <= sum(len((each.out + each.err).splitlines()) for each in alone)
    # A condition that holds is the exit code of the process that looked.
    assert codes == [str(each.code) for each in alone] + ["0"] * len(commands)
    one, two = held(data), held(tmp_path / "two")
    assert sorted(one) == sorted(two)
    assert [name for name in one if one[name] != two[name]] == []


def test_every_command_that_asks_a_model_is_shared():
    assert {name for name, about in ABOUT.items() if about["module"] == "ask"} <= SHARED
    assert {name.split()[0] for name in SHARED} <= ABOUT.keys()

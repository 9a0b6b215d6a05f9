"""`rightreasons suite` on a suite whose lines say how their cases are made."""

import json
import re

import pytest

from command_line import run
from rightreasons.datasets.suites.suite import Suite
from tiny_models import save_tiny_classifier

LINES = [
    {"format": "rightreasons.suite", "version": 1, "name": "mine", "lexicons": {"thing": ["film", "opera"]}},
    {"functionality": "praise", "functionality_class": "Words", "test_type": "MFT", "template": "I like {a:thing}."},
    {"functionality": "typos", "functionality_class": "Robust", "test_type": "INV", "data": ["It was fine."]},
]
LINES[1]["label"], LINES[2]["perturbation"] = 1, "punctuation"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_write_makes_the_cases(suite, tmp_path, capsys, suffix):
    out = tmp_path / f"all.{suffix}"
    said = run(capsys, "suite", "write", suite, out)
    assert said.code == 0, said.err
    assert Suite.read(out) == Suite.read(suite)


def test_mistakes_are_one_sentence(suite, tmp_path, capsys):
    said = run(capsys, "suite", "write", suite, tmp_path / "all.csv")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "OUT to end in .jsonl or .jsonl.gz, but got 'all.csv'" in said.err
    suite.write_text(suite.read_text().replace("{a:thing}", "{a:thig}"))
    said = run(capsys, "suite", "write", suite, tmp_path / "all.jsonl")
    assert said.code == 2
    assert said.err.startswith(
        "Error: Expected the name of a lexicon for a slot, but got 'thig'. Did you mean 'thing'?"
    )
    assert f"(line 2 of {suite})" in said.err


# ------------------------------------------------------------------------------------------- what docs/behavior.md says


@pytest.fixture
def documented(root):
    """The section on suites of one's own: its file of eight lines."""
    section = (root / "docs" / "behavior.md").read_text("utf-8").split("## Write your own suite")[1].split("\n## ")[0]
    return re.search(r"```\n(\{.*?)```", section, re.DOTALL)[1]


def test_the_documented_file_tests_a_model(documented, tmp_path, capsys):
    assert documented.count("\n") == 8
    path = tmp_path / "mine.jsonl"
    path.write_text(documented)
    save_tiny_classifier(tmp_path / "model")
    said = run(capsys, "behavior", tmp_path / "model", path, "--out", tmp_path / "out")
    assert said.code == 0, said.err
    assert all(f". {part.name} " in said.out for part in Suite.read(path).functionalities)
    parts = {part.name: part for part in Suite.read(path).functionalities}
    assert [len(part.cases) for part in parts.values()] == [6, 6, 3, 5, 2, 1, 1]
    assert parts["negated praise"].cases[0].examples == (("It was not a fine film.",),)
    assert parts["who"].cases[0].examples == tuple((f"{who} liked the film.",) for who in ("Ann", "Bob", "Eve"))

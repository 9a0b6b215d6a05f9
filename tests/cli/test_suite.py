"""What docs/behavior.md says of suites of one's own."""

import re

import pytest

from command_line import run
from rightreasons.datasets.suites.suite import Suite
from tiny_models import save_tiny_classifier


@pytest.fixture
def documented(root):
    """The section on suites of one's own: its file of four lines."""
    section = (
        (root / "docs" / "behavior.md")
        .read_text("utf-8")
        .split("## Write your own suite")[1]
        .split("\n## ")[0]
    )
    return re.search(r"```\n(\{.*?)```", section, re.DOTALL)[1]


def test_the_documented_file_tests_a_model(documented, tmp_path, capsys):
    assert documented.count("\n") == 4
    path = tmp_path / "mine.jsonl"
    path.write_text(documented)
    save_tiny_classifier(tmp_path / "model")
    said = run(capsys, "behavior", tmp_path / "model", path, "--out", tmp_path / "out")
    assert said.code == 0, said.err
    parts = Suite.read(path).functionalities
    assert all(f". {part.name} " in said.out for part in parts)
    assert [len(part.cases) for part in parts] == [2, 1, 1]

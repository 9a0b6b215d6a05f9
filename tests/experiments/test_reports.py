"""`--report` of each experiment writes its committed tables again, from its committed results alone."""

import runpy
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("folder", "script", "table"),
    [
        ("benchmarks/language_models", "run.py", "RESULTS.md"),
        ("benchmarks/shortcut_ground_truth", "run.py", "table.md"),
    ],
)
def test_tables_follow_from_results(folder, script, table, tmp_path, monkeypatch):
    copied = shutil.copytree(
        ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.png")
    )
    committed = (copied / table).read_text("utf-8")
    (copied / table).unlink()
    # Experiments have files of equal names, such as figures.py.
    siblings = [path.stem for path in copied.glob("*.py")]
    for name in siblings:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(copied)
    monkeypatch.setattr(sys, "argv", [script, "--report"])
    try:
        runpy.run_path(str(copied / script), run_name="__main__")
    finally:
        for name in siblings:
            sys.modules.pop(name, None)
    assert (copied / table).read_text("utf-8") == committed

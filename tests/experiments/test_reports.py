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
        ("experiments/reliability_paradox", "across_models.py", "across_models.md"),
        ("experiments/reliability_paradox", "run.py", "table.md"),
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


def test_every_folder_with_results_is_checked():
    """A folder whose tables nothing regenerates would go stale unseen."""
    (marker,) = test_tables_follow_from_results.pytestmark
    checked = {folder for folder, _, _ in marker.args[1]}
    stored = {
        str(path.parent.relative_to(ROOT)) for path in (ROOT / "experiments").glob("*/results.json")
    }
    assert stored <= checked


def test_a_constant_answer_is_known_by_its_scores():
    from across_report import predicts_one_class

    # 129 of 200 right by always saying one of two: F1 is (2 · 129 / 329 + 0) / 2; one of three: a third.
    assert predicts_one_class(129 / 329, 129 / 200)
    assert predicts_one_class(2 * 129 / 329 / 3, 129 / 200)
    assert not predicts_one_class(0.4, 129 / 200)
    assert not predicts_one_class(None, 129 / 200)

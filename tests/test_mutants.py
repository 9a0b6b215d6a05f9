"""The gate of mutants: which lines, which tests, and when it fails."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where the folder `benchmarks` is

from benchmarks import mutants


def test_every_mirror_is_there():
    assert [name for name in mutants.MIRRORS if not (mutants.SRC / name).exists()] == []
    tests = {test for mirrors in mutants.MIRRORS.values() for test in mirrors}
    assert [test for test in sorted(tests) if not (mutants.TESTS / test).is_file()] == []


def test_every_module_has_tests():
    assert [path for path in sorted(mutants.SRC.rglob("*.py")) if not mutants.tests_of(path)] == []


def test_kernels_are_what_computes_alone():
    kernels = {
        name: mutants.is_kernel(mutants.SRC / name)
        for name in ("core/binning.py", "calibration/errors.py")
    }
    others = {
        name: mutants.is_kernel(mutants.SRC / name)
        for name in ("calibration/question.py", "io/reading.py")
    }
    assert all(kernels.values())
    assert not any(others.values())


def test_changed_lines_are_those_of_the_commit_and_of_the_working_tree(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    source = tmp_path / "src"
    source.mkdir()
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "SRC", source)
    old, gone = source / "old.py", source / "gone.py"
    old.write_text("a = 1\nb = 2\nc = 3\nd = 4\n")
    gone.write_text("a = 1\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    old.write_text("a = 1\nb = 20\nc = 3\nd = 4\n")
    gone.unlink()
    git("commit", "-q", "-a", "-m", "second")
    old.write_text("a = 1\nb = 20\nc = 3\ne = 5\nf = 6\n")
    (source / "new.py").write_text("a = 1\nb = 2\n")
    lines = mutants.changed_lines("HEAD~1")
    assert lines[old] == {2, 4, 5}
    assert lines[source / "new.py"] == {1, 2}
    assert gone not in lines


@pytest.mark.parametrize(
    ("kernels", "elsewhere", "enough"),
    [
        ((9, 1), (8, 2), True),
        ((8, 2), (10, 0), False),
        ((10, 0), (7, 3), False),
        ((0, 0), (0, 0), True),
    ],
)
def test_nine_of_ten_in_kernels_and_eight_of_ten_elsewhere(capsys, kernels, elsewhere, enough):
    outcomes = {
        ("cues", "kernels"): Counter(killed=kernels[0], survived=kernels[1]),
        ("io", "elsewhere"): Counter(killed=elsewhere[0], survived=elsewhere[1]),
    }
    assert mutants.passes(outcomes) == enough
    assert f"{elsewhere[0]:>4} killed {elsewhere[1]:>4} survived" in capsys.readouterr().out


def test_a_mutant_is_killed_where_a_test_holds_its_line_and_survives_elsewhere(
    tmp_path, monkeypatch
):
    for name in ("SRC", "TESTS"):
        folder = tmp_path / name.lower() / "package"
        folder.mkdir(parents=True)
        monkeypatch.setattr(mutants, name, folder)
    source = tmp_path / "src" / "package" / "sums.py"
    source.write_text("def held(x):\n    return x + 1\n\n\ndef unheld(x):\n    return x + 2\n")
    (mutants.TESTS / "test_sums.py").write_text(
        "from package.sums import held, unheld\n\n\ndef test_both():\n    assert held(1) == 2\n    unheld(1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    found = [mutants.Mutant(source, number) for number in (None, 0, 1, 2, 3)]
    assert {mutant.name: mutants.run(mutant) for mutant in found} == {
        "sums.py unchanged": "survived",
        "sums.py:2 [0] Add -> Sub": "killed",
        "sums.py:2 [2] 1 -> 2": "killed",
        "sums.py:6 [1] Add -> Sub": "survived",
        "sums.py:6 [3] 2 -> 3": "survived",
    }

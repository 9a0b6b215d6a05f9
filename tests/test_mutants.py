"""The gate of mutants: which lines, which tests, and when it fails."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where the folder `benchmarks` is

from benchmarks import executed, mutants


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
    lines = mutants.list_changed_lines("HEAD~1")
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
    assert mutants.print_score(outcomes) == enough
    assert f"{elsewhere[0]:>4} killed {elsewhere[1]:>4} survived" in capsys.readouterr().out


SUMS = """
LIMIT = 3


def held(x):
    return x + 1


def unheld(x):
    return x + 2


class Total:
    def unused(self):
        return LIMIT
"""
TESTS_OF_SUMS = """
import pytest
from package.sums import held, unheld


@pytest.fixture(scope="module")
def two():
    return held(1)


def test_before():
    unheld(1)


def test_first(two):
    assert two == 2


def test_second(two):
    assert [two] == [2]
"""


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """A package of one file, and what its tests execute, recorded in another process."""
    source, tests = tmp_path / "src" / "package", tmp_path / "tests" / "package"
    for folder, name, text in ((source, "sums.py", SUMS), (tests, "test_sums.py", TESTS_OF_SUMS)):
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(mutants, "SRC", source)
    monkeypatch.setattr(mutants, "TESTS", tests)
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    record = tmp_path / "executed.jsonl"
    script = (
        "import sys; from pathlib import Path; import pytest; from benchmarks.executed import Recorder;"
        "source, tests, record = map(Path, sys.argv[1:]); sys.path.append(str(source.parent));"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', str(tests)],"
        " plugins=[Recorder(source, tests, record)]))"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(source), str(tests), str(record)],
        cwd=mutants.ROOT,
        check=True,
    )
    return executed.Executed(record, source, tests)


def list_names(tests):
    return {test.name for test in tests}


def test_what_a_shared_fixture_executes_belongs_to_every_test_that_uses_it(sums):
    path = sums.source / "sums.py"

    # Line 6 is the body of `held`, line 10 of `unheld`, line 2 a constant of the module.
    assert list_names(sums.list_tests(path, 6)) == {"test_first", "test_second"}
    assert list_names(sums.list_tests(path, 10)) == {"test_before"}
    assert list_names(sums.list_tests(path, 2)) == {"test_before", "test_first", "test_second"}
    assert sums.list_untested() == ["sums.py:Total.unused"]


def test_a_changed_file_of_tests_is_recorded_anew(sums):
    path = sums.tests / "test_sums.py"
    assert sums.is_current(path)

    path.write_text(path.read_text() + "\n")

    assert not sums.is_current(path)


def test_quick_and_near_tests_come_first_up_to_a_minute(tmp_path):
    for name in ("src/io/files.py", "tests/io/test_a.py", "tests/cli/test_b.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("def read():\n    return 1\n")
    seconds = {"io/test_a.py": {"long": 50, "short": 2}, "cli/test_b.py": {"quick": 1, "slow": 20}}
    lines = [
        {
            "file": file,
            "digest": "",
            "functions": ["io/files.py:read"],
            "tests": {name: [value, [0]] for name, value in tests.items()},
        }
        for file, tests in seconds.items()
    ]
    record = tmp_path / "executed.jsonl"
    record.write_text("\n".join(map(json.dumps, lines)))

    chosen = executed.Executed(record, tmp_path / "src", tmp_path / "tests").list_tests(
        tmp_path / "src" / "io" / "files.py", 2
    )

    # 2 + 50 + 1 = 53 seconds; with the slow one of 20 it would be more than 60.
    assert [test.name for test in chosen] == ["short", "long", "quick"]


def test_a_mutant_is_killed_where_a_test_holds_its_line_and_survives_elsewhere(sums):
    path = sums.source / "sums.py"
    found = [mutants.Mutant(path, number, sums) for number in (None, 1, 2, 3, 4)]
    assert {mutant.name: mutants.run(mutant) for mutant in found} == {
        "sums.py unchanged": "survived",
        "sums.py:6 [1] Add -> Sub": "killed",
        "sums.py:6 [3] 1 -> 2": "killed",
        "sums.py:10 [2] Add -> Sub": "survived",
        "sums.py:10 [4] 2 -> 3": "survived",
    }

"""Record which functions of the package each test executes, and choose the tests of one function by it.

    python -m benchmarks.executed                  # files of tests that are new or have changed: all, at first
    python -m benchmarks.executed tests/cli        # those of a folder
    python -m benchmarks.executed --untested       # functions that no recorded test executes

`record_tests` runs each file of tests once, slowed down about twice by tracing, and appends one line to
build/executed.jsonl; an interrupted run resumes. `Executed.list_tests` is what benchmarks/mutants.py asks. Tests that run
in another process are not recorded, as a mutant would not reach them either.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "rightreasons"
TESTS = ROOT / "tests"
RECORD = ROOT / "build" / "executed.jsonl"
PYTEST_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore")
MAX_SECONDS = 60.0
"""Recorded processor time of the tests that are chosen for one function; the nearest and quickest come first."""


@functools.cache
def read_functions(path: Path) -> dict[int, str]:
    """Return the outermost function or method around each line of a file; lines of the module itself are absent."""
    names: dict[int, str] = {}

    def visit(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                # Code of a decorated function begins at its first decorator.
                start = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                end = node.end_lineno or node.lineno
                names.update(dict.fromkeys(range(start, end + 1), prefix + node.name))
            elif isinstance(node, (ast.If, ast.Try)):
                visit([*node.body, *node.orelse], prefix)

    visit(ast.parse(path.read_text("utf-8")).body, "")
    return names


class Recorder:
    """A pytest plugin that appends the functions of each test to a file, one line per file of tests.

    What a fixture of a class, module or session executes belongs to every test that uses the fixture, not only to
    the test that happens to be the first.

    Args:
        source: Folder of the package.
        tests: Folder of the tests.
        record: File to append to.
    """

    def __init__(self, source: Path, tests: Path, record: Path) -> None:
        self.source = source
        self.tests = tests
        self.record = record
        self.codes: dict[int, Any] = {}
        self.functions_by_fixture: dict[Any, set[str]] = defaultdict(set)
        self.results: dict[str, tuple[float, set[str]]] = {}

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        """Note the code that is called; returning None leaves its lines untraced."""
        code = frame.f_code
        # Keyed by identity, as a code object is compared by its whole content.
        self.codes[id(code)] = code

    def pytest_sessionstart(self) -> None:
        """Trace calls in this and in later threads."""
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def pytest_sessionfinish(self) -> None:
        """Trace no more."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def find_called(self) -> set[str]:
        """Return the functions of the package among the code that was called."""
        prefix = f"{self.source}{os.sep}"
        functions = set()
        # A copy, as this loop and other threads are traced too.
        for code in list(self.codes.values()):
            # Templates are compiled to code, too.
            if code.co_filename.startswith(prefix) and code.co_filename.endswith(".py"):
                path = Path(code.co_filename)
                name = read_functions(path).get(code.co_firstlineno)
                if name:
                    functions.add(f"{path.relative_to(self.source).as_posix()}:{name}")
        return functions

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Keep what a shared fixture executes apart from what its first test does."""
        if fixturedef.scope == "function":
            return (yield)
        outer, self.codes = self.codes, {}
        try:
            return (yield)
        finally:
            self.functions_by_fixture[fixturedef] |= self.find_called()
            self.codes = outer

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        """Note the functions and the time of a test, with its fixtures."""
        self.codes = {}
        start = sum(os.times()[:4])
        result = yield
        seconds = sum(os.times()[:4]) - start
        functions = self.find_called()
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                functions |= self.functions_by_fixture.get(definition, set())
        self.results[item.nodeid.partition("::")[2]] = (seconds, functions)
        if nextitem is None or nextitem.path != item.path:
            self.append(item.path)
        return result

    def append(self, path: Path) -> None:
        """Write the tests of a file: its functions once, and their indices for each test."""
        names = sorted(set().union(*(functions for _, functions in self.results.values())))
        indices = {name: index for index, name in enumerate(names)}
        line = {
            "file": path.relative_to(self.tests).as_posix(),
            "digest": compute_digest(path),
            "functions": names,
            "tests": {
                test: [round(seconds, 3), sorted(indices[name] for name in functions)]
                for test, (seconds, functions) in self.results.items()
            },
        }
        self.results = {}
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def compute_digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


class ExecutedTest(NamedTuple):
    """A recorded test."""

    file: str
    """Below tests/."""
    name: str
    seconds: float


class Executed:
    """What was recorded: which tests execute a function of the package.

    Args:
        record: File that `Recorder` wrote; of two lines for one file of tests the later counts.
        source: Folder of the package.
        tests: Folder of the tests.
    """

    def __init__(self, record: Path = RECORD, source: Path = SRC, tests: Path = TESTS) -> None:
        self.source = source
        self.tests = tests
        self.digests: dict[str, str] = {}
        lines = {}
        if record.is_file():
            for line in map(json.loads, record.read_text("utf-8").splitlines()):
                lines[line["file"]] = line
        self.by_function: dict[str, set[ExecutedTest]] = defaultdict(set)
        self.by_source: dict[str, set[ExecutedTest]] = defaultdict(set)
        for file, line in lines.items():
            if (tests / file).is_file():
                self.digests[file] = line["digest"]
                self._add_tests(line)

    def _add_tests(self, line: dict[str, Any]) -> None:
        names = line["functions"]
        for test, (seconds, indices) in line["tests"].items():
            executed = ExecutedTest(line["file"], test, seconds)
            for name in (names[index] for index in indices):
                self.by_function[name].add(executed)
                self.by_source[name.partition(":")[0]].add(executed)

    def is_current(self, path: Path) -> bool:
        """Return whether a file of tests was recorded as it is now."""
        name = path.relative_to(self.tests).as_posix()
        return self.digests.get(name) == compute_digest(path)

    def list_tests(
        self, path: Path, line: int | None, max_seconds: float = MAX_SECONDS
    ) -> list[ExecutedTest]:
        """List the tests that execute a line, the nearest and quickest first.

        A line outside of functions, such as a constant, has the tests of its file and of the files that import it.

        Args:
            path: File of the package.
            line: Number of a line; None for all lines of the file.
            max_seconds: Recorded processor time at which the list ends.
        """
        name = path.relative_to(self.source).as_posix()
        function = read_functions(path).get(line) if line is not None else None
        if function:
            tests = self.by_function.get(f"{name}:{function}", set())
        else:
            importers = self.find_importers(path)
            tests = set().union(*(self.by_source.get(file, set()) for file in (name, *importers)))
        ordered = sorted(
            tests, key=lambda test: (self.is_elsewhere(path, test), test.seconds, test)
        )

        selected = []
        seconds = 0.0
        for test in ordered:
            seconds += test.seconds
            if selected and seconds > max_seconds:
                break
            selected.append(test)
        return selected

    def is_elsewhere(self, path: Path, test: ExecutedTest) -> bool:
        """Return whether a test lies in another folder than the mirror of a file."""
        return Path(test.file).parent != path.parent.relative_to(self.source)

    def find_importers(self, path: Path) -> list[str]:
        """Return the files of the package that name a module."""
        module = ".".join(path.relative_to(self.source.parent).with_suffix("").parts)
        parent, _, name = module.removesuffix(".__init__").rpartition(".")
        imported = re.compile(
            rf"\b{re.escape(parent)}(\.{re.escape(name)}\b| import [^\n]*\b{re.escape(name)}\b)"
        )
        return [
            file.relative_to(self.source).as_posix()
            for file in sorted(self.source.rglob("*.py"))
            if file != path and imported.search(file.read_text("utf-8"))
        ]

    def list_untested(self) -> list[str]:
        """List the functions of the package that no recorded test executes."""
        return [
            f"{name}:{function}"
            for path in sorted(self.source.rglob("*.py"))
            for name in [path.relative_to(self.source).as_posix()]
            for function in dict.fromkeys(read_functions(path).values())
            if f"{name}:{function}" not in self.by_function
        ]


def record_tests(files: Iterable[Path]) -> list[Path]:
    """Run files of tests, those of each folder in one process, and return the folders where tests failed."""
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    by_folder: dict[Path, list[str]] = defaultdict(list)
    for file in files:
        by_folder[file.parent].append(str(file))
    failed = []
    for folder, names in by_folder.items():
        command = [sys.executable, "-m", "benchmarks.executed", "--run", *names]
        print(f"{folder.relative_to(ROOT)}: {len(names)} files", flush=True)
        # pytest exits with 5 if no test is left, as where all are for the night.
        if subprocess.run(command, cwd=ROOT, check=False).returncode not in (0, 5):
            failed.append(folder)
    return failed


def main() -> int:
    """Record, or list what is untested; return 1 if tests fail."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[TESTS], help="files or folders of tests; else all"
    )
    parser.add_argument("--untested", action="store_true")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        files = [str(path) for path in options.paths]
        arguments = [*PYTEST_OPTIONS, "-m", "not nightly and not speed", *files]
        return int(pytest.main(arguments, plugins=[Recorder(SRC, TESTS, RECORD)]))

    executed = Executed()
    if options.untested:
        print("\n".join(executed.list_untested()))
        return 0
    paths = [path.resolve() for path in options.paths]
    files = [file for path in paths for file in sorted(path.rglob("test_*.py")) or [path]]
    failed = record_tests(file for file in files if not executed.is_current(file))
    for path in failed:
        print(f"failed: {path.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

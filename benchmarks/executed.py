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
PYTEST_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--disable-warnings")
MAX_SECONDS = 60.0
"""Recorded processor time of the tests that are selected for one function."""


@functools.cache
def read_functions(path: Path) -> dict[int, str]:
    """Return the outermost function or method around each line of a file.

    Args:
        path: File of Python.

    Returns:
        Line number -> "name" or "Class.name". Lines outside of functions are absent.
    """
    names: dict[int, str] = {}

    def visit(statements: Iterable[ast.stmt], prefix: str) -> None:
        for node in statements:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                # Code of a decorated function begins at its first decorator.
                start = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                end = node.end_lineno or node.lineno
                for line in range(start, end + 1):
                    names[line] = prefix + node.name
            elif isinstance(node, (ast.If, ast.Try)):
                # Such as a function that is only defined for type checkers.
                visit([*node.body, *node.orelse], prefix)

    visit(ast.parse(path.read_text("utf-8")).body, "")
    return names


class RecordedTest(NamedTuple):
    """What one test executed."""

    seconds: float
    """Processor time, fixtures included."""
    functions: set[str]
    """Names such as "io/tables.py:read_table"."""


class Recorder:
    """A pytest plugin that appends the functions of each test to a file, one line per file of tests.

    What a fixture of a class, module or session executes belongs to every test that uses the
    fixture, not only to the test that happens to be the first.

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
        self.recorded_tests: dict[str, RecordedTest] = {}

    def trace(self, frame: Any, event: str, argument: Any) -> None:
        """Note the code that is called. Returning None leaves its lines untraced."""
        code = frame.f_code
        # Keyed by identity, as code objects are compared by their whole content, which is slow.
        self.codes[id(code)] = code

    def pytest_sessionstart(self) -> None:
        """Trace calls in this thread and in later ones."""
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def pytest_sessionfinish(self) -> None:
        """Stop tracing."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def find_functions(self) -> set[str]:
        """Find the functions of the package among the code that was called."""
        prefix = f"{self.source}{os.sep}"
        functions = set()
        # A copy, as this loop and other threads are traced, too.
        for code in list(self.codes.values()):
            # Compiled templates have names of files that are not Python.
            if not code.co_filename.startswith(prefix) or not code.co_filename.endswith(".py"):
                continue
            path = Path(code.co_filename)
            function = read_functions(path).get(code.co_firstlineno)
            if function:
                functions.add(f"{path.relative_to(self.source).as_posix()}:{function}")
        return functions

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Record a shared fixture separately from the first test that uses it."""
        if fixturedef.scope == "function":
            return (yield)
        codes_of_test = self.codes
        self.codes = {}
        try:
            return (yield)
        finally:
            self.functions_by_fixture[fixturedef] |= self.find_functions()
            self.codes = codes_of_test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        """Record the functions and the time of a test and its fixtures."""
        self.codes = {}
        start = _get_cpu_seconds()
        result = yield
        seconds = _get_cpu_seconds() - start
        functions = self.find_functions()
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            for fixture in fixtures:
                functions |= self.functions_by_fixture.get(fixture, set())
        # A node id is "tests/io/test_tables.py::test_name[case]".
        name = item.nodeid.partition("::")[2]
        self.recorded_tests[name] = RecordedTest(seconds, functions)
        # Tests run file by file.
        if nextitem is None or nextitem.path != item.path:
            self.append(item.path)
        return result

    def append(self, path: Path) -> None:
        """Write the recorded tests of a file, and forget them.

        The line lists the names of all functions once. Each test lists indices of this list.
        """
        all_functions = set()
        for test in self.recorded_tests.values():
            all_functions |= test.functions
        names = sorted(all_functions)
        index_by_name = {name: index for index, name in enumerate(names)}
        tests = {}
        for test_name, test in self.recorded_tests.items():
            indices = sorted(index_by_name[name] for name in test.functions)
            tests[test_name] = [round(test.seconds, 3), indices]
        line = {
            "file": path.relative_to(self.tests).as_posix(),
            "digest": compute_digest(path),
            "functions": names,
            "tests": tests,
        }
        self.recorded_tests = {}
        with self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _get_cpu_seconds() -> float:
    """Return the processor time of this process and of its finished children, user and system."""
    user, system, child_user, child_system, _ = os.times()
    return user + system + child_user + child_system


def compute_digest(path: Path) -> str:
    """Return a short digest of the content of a file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


class ExecutedTest(NamedTuple):
    """A recorded test."""

    file: str
    """Path below tests/."""
    name: str
    """Name in the file, such as "test_rows[csv]"."""
    seconds: float
    """Processor time."""


class Executed:
    """A record of which tests execute which functions of the package.

    Args:
        record: File that `Recorder` wrote. The last line of a file of tests counts.
        source: Folder of the package.
        tests: Folder of the tests.
    """

    def __init__(self, record: Path = RECORD, source: Path = SRC, tests: Path = TESTS) -> None:
        self.source = source
        self.tests = tests
        self.digests: dict[str, str] = {}
        self.tests_by_function: dict[str, set[ExecutedTest]] = defaultdict(set)
        self.tests_by_source: dict[str, set[ExecutedTest]] = defaultdict(set)
        lines = {}
        if record.is_file():
            for text in record.read_text("utf-8").splitlines():
                line = json.loads(text)
                lines[line["file"]] = line
        for file, line in lines.items():
            # The file of tests may have been removed since.
            if (tests / file).is_file():
                self.digests[file] = line["digest"]
                self._add_tests(line)

    def _add_tests(self, line: dict[str, Any]) -> None:
        """Add the tests of one line, as written by `Recorder.append`."""
        names = line["functions"]
        for test_name, (seconds, indices) in line["tests"].items():
            test = ExecutedTest(line["file"], test_name, seconds)
            for index in indices:
                function = names[index]
                source_file = function.partition(":")[0]
                self.tests_by_function[function].add(test)
                self.tests_by_source[source_file].add(test)

    def is_current(self, path: Path) -> bool:
        """Return whether the present content of a file of tests was recorded."""
        name = path.relative_to(self.tests).as_posix()
        return self.digests.get(name) == compute_digest(path)

    def list_tests(
        self, path: Path, line: int | None, max_seconds: float = MAX_SECONDS
    ) -> list[ExecutedTest]:
        """List the tests that execute a line, the nearest and quickest first.

        For a line outside of functions, such as a constant, these are the tests of its file and of
        the files that import it.

        Args:
            path: File of the package.
            line: Number of a line. If None, all lines of the file.
            max_seconds: Recorded processor time at which the list ends.
        """
        name = path.relative_to(self.source).as_posix()
        function = None
        if line is not None:
            function = read_functions(path).get(line)
        tests: set[ExecutedTest] = set()
        if function:
            tests |= self.tests_by_function.get(f"{name}:{function}", set())
        else:
            for file in (name, *self.find_importers(path)):
                tests |= self.tests_by_source.get(file, set())
        ordered = sorted(
            tests, key=lambda test: (self.is_elsewhere(path, test), test.seconds, test)
        )

        selected = []
        seconds = 0.0
        for test in ordered:
            seconds += test.seconds
            # One test at least, however slow.
            if selected and seconds > max_seconds:
                break
            selected.append(test)
        return selected

    def is_elsewhere(self, path: Path, test: ExecutedTest) -> bool:
        """Return whether a test lies in another folder than the tests of a file of the package."""
        return Path(test.file).parent != path.parent.relative_to(self.source)

    def find_importers(self, path: Path) -> list[str]:
        """Find the files of the package that import a module, by their text."""
        module = ".".join(path.relative_to(self.source.parent).with_suffix("").parts)
        parent, _, name = module.removesuffix(".__init__").rpartition(".")
        # "import parent.name", "from parent.name import …", or "from parent import …, name".
        imported = re.compile(
            rf"\b{re.escape(parent)}(\.{re.escape(name)}\b| import [^\n]*\b{re.escape(name)}\b)"
        )
        importers = []
        for file in sorted(self.source.rglob("*.py")):
            if file != path and imported.search(file.read_text("utf-8")):
                importers.append(file.relative_to(self.source).as_posix())
        return importers

    def list_untested(self) -> list[str]:
        """List the functions of the package that no recorded test executes."""
        untested = []
        for path in sorted(self.source.rglob("*.py")):
            file = path.relative_to(self.source).as_posix()
            functions = dict.fromkeys(read_functions(path).values())
            names = [f"{file}:{function}" for function in functions]
            untested += [name for name in names if name not in self.tests_by_function]
        return untested


def record_tests(files: Iterable[Path]) -> list[Path]:
    """Run files of tests, those of a folder in one process, and return the folders with failures."""
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    by_folder: dict[Path, list[str]] = defaultdict(list)
    for file in files:
        by_folder[file.parent].append(str(file))
    failed = []
    for folder, names in by_folder.items():
        command = [sys.executable, "-m", "benchmarks.executed", "--run", *names]
        print(f"{folder.relative_to(ROOT)}: {len(names)} files", flush=True)
        # pytest exits with 5 if there is no test, as in a file whose tests are all nightly.
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

"""Mutation testing: change one thing of a file at a time, and see whether its tests notice.

    python -m benchmarks.executed                   # record which tests execute which functions
    python -m benchmarks.mutants --changed          # lines changed since the last commit
    python -m benchmarks.mutants cues core --sample 120 --seed 0

A mutant is one operator, comparison, constant or function name that is replaced by another of its
kind, such as `<` by `<=` or `max` by `min`. Error messages, annotations, docstrings and `strict=`
are not changed. Each mutant runs in a forked process in which an import hook replaces the module by
the changed one, so that no file is touched: first the doctests of the module, then the recorded
tests that execute the changed function, up to a minute of them. The sample depends on the seed
alone. Results are appended to a file under a digest of the module and its tests, and a second run
resumes from there. `--control` runs the unchanged files in the same manner, each of which must
survive. The exit status is 1 if too few mutants are killed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from benchmarks.executed import PYTEST_OPTIONS, ROOT, SRC, TESTS, Executed, ExecutedTest

MIN_KILLED_SHARE = {"kernels": 0.9, "elsewhere": 0.8}
"""Share of the mutants that must be killed."""
KERNEL_FOLDERS = (
    "core",
    "calibration",
    "shortcuts",
    "cues",
    "probes",
    "difficulty",
    "behavior",
    "reasons",
)
"""A file in these folders is a kernel if it imports nothing of the package but from these folders."""
TIMEOUT_SECONDS = 300
"""Processor time after which a mutant counts as killed: it loops, or is many times slower."""
WARM_MODULES = (
    "numpy",
    "scipy.stats",
    "scipy.special",
    "pytest",
    "hypothesis.extra.numpy",
    "sklearn.metrics",
    "torch",
)
"""Modules that are imported once, before the forks."""
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
JOINS = {ast.And: ast.Or, ast.Or: ast.And}
FUNCTIONS = {
    "max": "min",
    "min": "max",
    "all": "any",
    "any": "all",
    "argmax": "argmin",
    "argmin": "argmax",
    "maximum": "minimum",
    "minimum": "maximum",
    "ceil": "floor",
    "floor": "ceil",
}
METHODS = FUNCTIONS | {"mean": "sum"}
NO_TESTS_COLLECTED = 5
"""Exit status of pytest if there was no test, as in a module without doctests."""


class Change(NamedTuple):
    """A change of a syntax tree."""

    line: int
    description: str
    """Such as "Add -> Sub"."""
    apply: Callable[[], None]
    """Makes the change, in place."""


def list_changes(tree: ast.Module) -> list[Change]:
    """List every change of a tree that makes a mutant, in a fixed order."""
    skipped_nodes: set[ast.AST] = set()
    for node in ast.walk(tree):
        for part in _list_skipped_parts(node):
            skipped_nodes.update(ast.walk(part))
    changes = []
    for node in ast.walk(tree):
        if node not in skipped_nodes:
            changes += _list_changes_of_node(node)
    return changes


def _list_skipped_parts(node: ast.AST) -> list[ast.AST]:
    """List the parts of a node that no test should notice: annotations, errors, and `strict=`."""
    if isinstance(node, ast.Raise):
        return [node]
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return [node]
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    parts += getattr(node, "decorator_list", [])
    return [part for part in parts if isinstance(part, ast.AST)]


def _list_changes_of_node(node: ast.AST) -> list[Change]:
    """List the changes of one node. Only a chain of comparisons has more than one."""
    if isinstance(node, ast.Compare):
        return list(_list_comparison_changes(node))
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        return [_replace_operator(node, OPERATORS[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        return [_replace_operator(node, JOINS[type(node.op)]())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        # A second minus or `not` undoes the first.
        operand = ast.UnaryOp(type(node.op)(), node.operand)
        description = f"{_get_type_name(node.op)} removed"
        return [_make_change(node, description, node, "operand", operand)]
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        if isinstance(node.value, bool):
            value: Any = not node.value
        else:
            value = node.value + 1
        return [_make_change(node, f"{node.value!r} -> {value!r}", node, "value", value)]
    if isinstance(node, ast.Attribute) and node.attr in METHODS:
        name = METHODS[node.attr]
        return [_make_change(node, f"{node.attr} -> {name}", node, "attr", name)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        name = FUNCTIONS[node.func.id]
        return [_make_change(node, f"{node.func.id} -> {name}", node.func, "id", name)]
    return []


def _list_comparison_changes(node: ast.Compare) -> Iterator[Change]:
    """Yield a change for each `<`, `<=`, `>`, `>=`, `==` and `!=` of a comparison."""
    for index, operator in enumerate(node.ops):
        if type(operator) not in COMPARISONS:
            continue
        new_operator = COMPARISONS[type(operator)]()
        operators = [*node.ops[:index], new_operator, *node.ops[index + 1 :]]
        description = f"{_get_type_name(operator)} -> {_get_type_name(new_operator)}"
        yield _make_change(node, description, node, "ops", operators)


def _replace_operator(node: ast.BinOp | ast.AugAssign | ast.BoolOp, operator: ast.AST) -> Change:
    description = f"{_get_type_name(node.op)} -> {_get_type_name(operator)}"
    return _make_change(node, description, node, "op", operator)


def _make_change(
    node: ast.expr | ast.stmt, description: str, owner: ast.AST, field: str, value: Any
) -> Change:
    """Make a change that sets one field of a node, on the line of `node`."""
    return Change(node.lineno, description, lambda: setattr(owner, field, value))


def _get_type_name(node: ast.AST) -> str:
    return type(node).__name__


def get_folder(file: Path) -> str:
    """Return the folder of a file below src/rightreasons, or the file's own name."""
    return file.relative_to(SRC).with_suffix("").parts[0]


def is_kernel(file: Path) -> bool:
    """Return whether a file only computes: it imports neither models nor files nor pages."""
    if get_folder(file) not in KERNEL_FOLDERS:
        return False
    modules = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    for module in modules:
        package, *folders = module.split(".")
        if package == "rightreasons" and folders and folders[0] not in KERNEL_FOLDERS:
            return False
    return True


def get_kind(file: Path) -> str:
    """Return "kernels" or "elsewhere"."""
    return "kernels" if is_kernel(file) else "elsewhere"


def list_changed_lines(base: str) -> dict[Path, set[int]]:
    """List the lines of each source file that differ from a commit.

    Args:
        base: Name of the commit, such as "HEAD~1".

    Returns:
        File -> numbers of its lines: all of them if git does not know the file.
    """
    lines: dict[Path, set[int]] = {}
    options = ("--unified=0", "--no-color", "--no-ext-diff", "--no-renames")
    file = ROOT
    for line in _run_git("diff", *options, base, "--", str(SRC)).splitlines():
        if line.startswith("+++ "):
            file = ROOT / line.removeprefix("+++ ").removeprefix("b/")
            continue
        # "@@ -12,3 +14,2 @@": two lines from line 14 on. The count is omitted if it is 1.
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if hunk:
            start = int(hunk[1])
            count = int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(start, start + count))
    for name in _run_git("ls-files", "--others", "--exclude-standard", "--", str(SRC)).split():
        n_lines = len((ROOT / name).read_bytes().splitlines())
        lines[ROOT / name] = set(range(1, 1 + n_lines))
    # A removed file has no line that could be changed.
    return {path: numbers for path, numbers in lines.items() if _is_source(path)}


def _run_git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _is_source(path: Path) -> bool:
    return path.suffix == ".py" and path.is_file()


def print_score(outcomes: Mapping[tuple[str, str], Counter[str]]) -> bool:
    """Print the score of each folder, and return whether enough mutants are killed.

    Args:
        outcomes: (folder, "kernels" or "elsewhere") -> number of mutants by outcome.
    """
    totals = {kind: Counter[str]() for kind in MIN_KILLED_SHARE}
    for (folder, kind), counts in sorted(outcomes.items()):
        n_survived = counts["survived"]
        n_killed = counts.total() - n_survived
        print(f"{f'{folder} ({kind})':<28}{n_killed:>4} killed {n_survived:>4} survived")
        totals[kind] += counts
    is_enough = True
    for kind, min_share in MIN_KILLED_SHARE.items():
        n_mutants = totals[kind].total()
        if n_mutants == 0:
            continue
        n_killed = n_mutants - totals[kind]["survived"]
        share = n_killed / n_mutants
        is_enough &= share >= min_share
        print(
            f"{kind}: {n_killed} of {n_mutants} killed ({share:.0%}); at least {min_share:.0%} "
            "are needed."
        )
    return is_enough


class Selection:
    """A pytest plugin that keeps selected tests of the collected files."""

    def __init__(self, tests: Iterable[ExecutedTest]) -> None:
        self.names = {(str(TESTS / test.file), test.name) for test in tests}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Drop the other tests."""
        items[:] = [item for item in items if self._is_selected(item)]

    def _is_selected(self, item: Any) -> bool:
        # A node id is "tests/io/test_tables.py::test_name[case]".
        return (str(item.path), item.nodeid.partition("::")[2]) in self.names


class MutantFinder(importlib.abc.MetaPathFinder):
    """Import hook that runs changed code in place of one module.

    Args:
        module: Full name of the module.
        file: Its file, which is not read.
        code: Code to run.
    """

    def __init__(self, module: str, file: Path, code: CodeType) -> None:
        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return code

        loader = Loader(module, str(file))
        self.module = module
        self.spec = importlib.util.spec_from_file_location(module, file, loader=loader)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the import spec of the changed module, or None for any other module."""
        return self.spec if fullname == self.module else None


class Mutant:
    """One change of one file.

    Args:
        file: File of the package.
        number: Index in `list_changes` of the file. If None, the file is not changed.
        executed: Record of which tests execute which functions.
    """

    def __init__(self, file: Path, number: int | None, executed: Executed) -> None:
        self.file = file
        self.tree = ast.parse(file.read_text("utf-8"))
        relative = file.relative_to(SRC)
        self.name = f"{relative} unchanged"
        line = None
        if number is not None:
            change = list_changes(self.tree)[number]
            line = change.line
            self.name = f"{relative}:{line} [{number}] {change.description}"
            change.apply()
        self.tests = executed.list_tests(file, line)
        texts = b"".join(path.read_bytes() for path in (file, *self.list_test_files()))
        self.digest = hashlib.blake2b(texts, digest_size=6).hexdigest()
        module = ".".join(file.relative_to(SRC.parent).with_suffix("").parts)
        self.module = module.removesuffix(".__init__")

    def list_test_files(self) -> list[Path]:
        """List the files of the selected tests, the nearest first."""
        names = dict.fromkeys(test.file for test in self.tests)
        return [TESTS / name for name in names]

    def survives(self) -> bool:
        """Return whether all tests pass. They run in this process, which must be a fork."""
        code = compile(ast.fix_missing_locations(self.tree), str(self.file), "exec")
        sys.meta_path.insert(0, MutantFinder(self.module, self.file, code))
        try:
            importlib.import_module(self.module)
        except ModuleNotFoundError:
            # A library is not installed, so that no test of the module runs here.
            return True
        # Not before the hook: pytest imports modules of the package by its plugins.
        import pytest

        options = [*PYTEST_OPTIONS, "-x"]
        status = pytest.main([*options, "--doctest-modules", str(self.file)])
        if status not in (0, NO_TESTS_COLLECTED):
            return False
        if not self.tests:
            return True
        files = [str(path) for path in self.list_test_files()]
        return pytest.main([*options, *files], plugins=[Selection(self.tests)]) == 0


def run(mutant: Mutant) -> str:
    """Run a mutant in a fork, and return "killed", "survived" or "timeout"."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT_SECONDS, TIMEOUT_SECONDS))
        code = 1
        try:
            code = 0 if mutant.survives() else 1
        finally:
            # Not `sys.exit`, which would run the exit handlers of the parent a second time.
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "timeout"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rooms", nargs="*", default=["."], help="folders or files below src/rightreasons; else all"
    )
    parser.add_argument(
        "--changed",
        nargs="?",
        const="HEAD~1",
        metavar="BASE",
        help="only lines changed since a commit",
    )
    parser.add_argument(
        "--kind", choices=tuple(MIN_KILLED_SHARE), help="only kernels, or only other files"
    )
    parser.add_argument("--sample", type=int, default=120, help="number of mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=20.0, help="stop after that time")
    parser.add_argument("--control", action="store_true", help="run the files unchanged")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.jsonl")
    return parser.parse_args()


def list_mutants(options: argparse.Namespace) -> list[tuple[Path, int]]:
    """List (file, index of the change) of all mutants that the options allow."""
    changed_lines = None
    if options.changed is not None:
        changed_lines = list_changed_lines(options.changed)
    mutants = []
    for path in _list_files(options.rooms):
        if options.kind not in (None, get_kind(path)):
            continue
        changes = list_changes(ast.parse(path.read_text("utf-8")))
        for number, change in enumerate(changes):
            if changed_lines is None or change.line in changed_lines.get(path, ()):
                mutants.append((path, number))
    return mutants


def _list_files(names: Iterable[str]) -> list[Path]:
    """List the files of the named folders and files below src/rightreasons."""
    files = []
    for name in names:
        path = SRC / name
        # A file contains no others.
        files += sorted(path.rglob("*.py")) or [path]
    return files


def draw_mutants(
    mutants: Sequence[tuple[Path, int]], options: argparse.Namespace
) -> list[tuple[Path, int | None]]:
    """Draw mutants at random.

    With `--changed`, the unchanged files precede their mutants: tests that fail anyway kill
    nothing. With `--control`, there are only the unchanged files. Their index is None.
    """
    sample = list(mutants)
    if not options.control:
        n_mutants = min(options.sample or len(mutants), len(mutants))
        sample = random.Random(options.seed).sample(mutants, n_mutants)  # noqa: S311
        if options.changed is None:
            return list(sample)
    unchanged_files = dict.fromkeys(path for path, _ in sample)
    controls: list[tuple[Path, int | None]] = [(path, None) for path in unchanged_files]
    if options.control:
        return controls
    return [*controls, *sample]


def read_results(path: Path) -> dict[str, str]:
    """Read the outcomes of earlier runs."""
    if not path.is_file():
        return {}
    return dict(json.loads(line) for line in path.read_text("utf-8").splitlines())


def main() -> int:
    """Run mutants and print the score. Return 1 if too few are killed."""
    options = parse_options()
    os.chdir(ROOT)
    executed = Executed()
    if not executed.tests_by_function:
        print("Expected a record of the tests: run `python -m benchmarks.executed` first.")
        return 1
    mutants = list_mutants(options)
    sample = draw_mutants(mutants, options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = read_results(options.out)
    for name in WARM_MODULES:
        importlib.import_module(name)

    end = time.monotonic() + 60 * options.minutes
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    controls_pass = True
    for index, (path, number) in enumerate(sample):
        mutant = Mutant(path, number, executed)
        key = f"{mutant.digest} {mutant.name}"
        if key not in results:
            if time.monotonic() > end:
                print(f"Stopped after {options.minutes:g} minutes; {len(sample) - index} remain.")
                break
            results[key] = run(mutant)
            with options.out.open("a") as file:
                file.write(json.dumps([key, results[key]]) + "\n")
        outcome = results[key]
        if number is None:
            is_passed = outcome == "survived"
            controls_pass &= is_passed
            outcome = "passes" if is_passed else "FAILS"
        else:
            outcomes.setdefault((get_folder(path), get_kind(path)), Counter())[outcome] += 1
        print(f"{outcome:<9}{mutant.name} ({len(mutant.tests)} tests)", flush=True)

    n_run = sum(counts.total() for counts in outcomes.values())
    print(f"{n_run} of {len(mutants)} mutants ran (seed {options.seed}).")
    if not controls_pass:
        print(
            "Expected the tests of unchanged files to pass, but some fail, so that their mutants "
            "prove nothing."
        )
    is_enough = print_score(outcomes)
    return 0 if is_enough and controls_pass else 1


if __name__ == "__main__":
    sys.exit(main())

"""Mutation testing: change one thing of a file at a time, and see whether its tests notice.

    python -m benchmarks.executed                   # which tests execute which functions: once, and after tests changed
    python -m benchmarks.mutants --changed          # the lines that the last commit and the working tree changed
    python -m benchmarks.mutants cues core --sample 120 --seed 0

A mutant is one operator, comparison, constant or function name that is replaced by another of its kind, such as `<` by
`<=` or `max` by `min`; error messages, annotations, docstrings and `strict=` are not changed. Each mutant runs in a
forked process in which an import hook puts the changed module in place of the real one, so no file is touched: first
the doctests of the module, then the recorded tests that execute the changed function, up to a minute of them. The
sample depends on the seed alone. Results are appended to a file under a digest of the module and its tests, and a
second run resumes from there. `--control` runs the unchanged files the same way, each of which must survive. The exit
status is 1 where too few mutants are killed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
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
from typing import Any

from benchmarks.executed import PYTEST_OPTIONS, ROOT, SRC, TESTS, Executed, ExecutedTest

LEAST = {"kernels": 0.9, "elsewhere": 0.8}
"""The least share of mutants that must be killed."""
KERNEL_FLOORS = (
    "core",
    "calibration",
    "shortcuts",
    "cues",
    "probes",
    "difficulty",
    "behavior",
    "reasons",
)
"""A file of these is a kernel if it imports nothing of ours but from these; all other files are elsewhere."""
TIMEOUT = 300
"""Seconds of processor time after which a mutant counts as killed: it loops, or is many times slower."""
WARM = (
    "numpy",
    "scipy.stats",
    "scipy.special",
    "pytest",
    "hypothesis.extra.numpy",
    "sklearn.metrics",
    "torch",
)
"""Imported once, before the forks."""
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
NAMES = {
    "max": "min",
    "all": "any",
    "argmax": "argmin",
    "maximum": "minimum",
    "mean": "sum",
    "ceil": "floor",
}
NAMES |= {new: old for old, new in NAMES.items() if old != "mean"}
Change = tuple[int, str, Callable[[], None]]


def changes(tree: ast.Module) -> Iterator[Change]:
    """Yield (line, what changes, how to change it in place) for every mutant of a tree, in a fixed order."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        left_out: list[Any] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        left_out += [node] if isinstance(node, ast.Raise) else []
        left_out += getattr(node, "decorator_list", [])
        left_out += [node] if isinstance(node, ast.keyword) and node.arg == "strict" else []
        for part in left_out:
            skipped.update(ast.walk(part) if isinstance(part, ast.AST) else ())
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                if type(operator) in COMPARISONS:
                    new = COMPARISONS[type(operator)]()
                    yield _change(
                        node, f"{_word(operator)} -> {_word(new)}", node.ops.__setitem__, place, new
                    )
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
            new = OPERATORS[type(node.op)]()
            yield _change(node, f"{_word(node.op)} -> {_word(new)}", setattr, node, "op", new)
        elif isinstance(node, ast.BoolOp):
            new = JOINS[type(node.op)]()
            yield _change(node, f"{_word(node.op)} -> {_word(new)}", setattr, node, "op", new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            operand = ast.UnaryOp(type(node.op)(), node.operand)  # twice is not at all
            yield _change(node, f"{_word(node.op)} removed", setattr, node, "operand", operand)
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
            value = (not node.value) if isinstance(node.value, bool) else node.value + 1
            yield _change(node, f"{node.value!r} -> {value!r}", setattr, node, "value", value)
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield _change(
                node, f"{node.attr} -> {NAMES[node.attr]}", setattr, node, "attr", NAMES[node.attr]
            )
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES
        ):
            new_name = NAMES[node.func.id]
            if new_name != "sum":
                yield _change(
                    node, f"{node.func.id} -> {new_name}", setattr, node.func, "id", new_name
                )


def _change(node: Any, words: str, function: Callable[..., Any], *arguments: Any) -> Change:
    return node.lineno, words, lambda: function(*arguments)


def _word(node: ast.AST) -> str:
    return type(node).__name__


def room_of(file: Path) -> str:
    """Return the folder of a file below src/rightreasons, or its own name."""
    return file.relative_to(SRC).with_suffix("").parts[0]


def is_kernel(file: Path) -> bool:
    """Whether a file computes alone: it imports neither models nor files nor pages."""
    if room_of(file) not in KERNEL_FLOORS:
        return False
    tree = ast.parse(file.read_text("utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    ours = [module.split(".")[1:] for module in modules if module.split(".")[0] == "rightreasons"]
    return all(not parts or parts[0] in KERNEL_FLOORS for parts in ours)


def changed_lines(base: str) -> dict[Path, set[int]]:
    """Return the lines of each source file that differ from a commit; all lines of a file that git does not know."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    lines: dict[Path, set[int]] = {}
    file = ROOT
    plain = ("--unified=0", "--no-color", "--no-ext-diff", "--no-renames")
    for line in git("diff", *plain, base, "--", str(SRC)).splitlines():
        if line.startswith("+++ "):
            file = ROOT / line.removeprefix("+++ ").removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start = int(hunk[1])
            lines.setdefault(file, set()).update(range(start, start + int(hunk[2] or 1)))
    for name in git("ls-files", "--others", "--exclude-standard", "--", str(SRC)).split():
        lines[ROOT / name] = set(range(1, 1 + len((ROOT / name).read_bytes().splitlines())))
    return {
        file: numbers for file, numbers in lines.items() if file.suffix == ".py" and file.is_file()
    }


def passes(outcomes: Mapping[tuple[str, str], Counter[str]]) -> bool:
    """Print the score of each room, and return whether enough mutants are killed in kernels and elsewhere.

    Args:
        outcomes: (room, "kernels" or "elsewhere") -> number of each outcome.
    """
    for (room, kind), counts in sorted(outcomes.items()):
        survived = counts["survived"]
        print(
            f"{room + ' (' + kind + ')':<28}{counts.total() - survived:>4} killed {survived:>4} survived"
        )
    enough = True
    for kind, least in LEAST.items():
        counts = sum(
            (each for (_, other), each in outcomes.items() if other == kind), Counter[str]()
        )
        if n := counts.total():
            share = 1 - counts["survived"] / n
            enough &= share >= least
            print(
                f"{kind}: {n - counts['survived']} of {n} killed ({share:.0%}); at least {least:.0%} are needed."
            )
    return enough


class Selection:
    """A pytest plugin that keeps the chosen tests of the collected files."""

    def __init__(self, tests: Iterable[ExecutedTest]) -> None:
        self.names = {(str(TESTS / test.file), test.name) for test in tests}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Drop the other tests."""
        items[:] = [
            item for item in items if (str(item.path), item.nodeid.partition("::")[2]) in self.names
        ]


class Mutant:
    """One change of one file.

    Args:
        file: File of the package.
        number: Position of the change among all changes of the file. If None, the file is not changed.
        executed: Which tests execute which functions.
    """

    def __init__(self, file: Path, number: int | None, executed: Executed) -> None:
        self.file = file
        self.tree = ast.parse(file.read_text("utf-8"))
        self.name = f"{file.relative_to(SRC)} unchanged"
        line = None
        if number is not None:
            line, words, apply = list(changes(self.tree))[number]
            self.name = f"{file.relative_to(SRC)}:{line} [{number}] {words}"
            apply()
        self.tests = executed.list_tests(file, line)
        texts = b"".join(path.read_bytes() for path in (file, *self.test_files()))
        self.digest = hashlib.blake2b(texts, digest_size=6).hexdigest()
        self.module = ".".join(file.relative_to(SRC.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        )

    def test_files(self) -> list[Path]:
        """Return the files of the chosen tests, the nearest first."""
        return [TESTS / name for name in dict.fromkeys(test.file for test in self.tests)]

    def survives(self) -> bool:
        """Run the tests in this process; to be called in a fork."""
        source = importlib.machinery.SourceFileLoader
        code = compile(ast.fix_missing_locations(self.tree), str(self.file), "exec")
        loader = type("Loader", (source,), {"get_code": lambda *_: code})(
            self.module, str(self.file)
        )
        spec = importlib.util.spec_from_file_location(self.module, self.file, loader=loader)
        finder = type(
            "Finder",
            (),
            {"find_spec": staticmethod(lambda name, *_: spec if name == self.module else None)},
        )
        sys.meta_path.insert(0, finder)
        try:
            importlib.import_module(self.module)
        except ModuleNotFoundError:
            # A library that is not installed: no test of the module runs here.
            return True
        import pytest

        options = [*PYTEST_OPTIONS, "-x"]
        # 5 says that there was no test, as in a module without doctests.
        if pytest.main([*options, "--doctest-modules", str(self.file)]) not in (0, 5):
            return False
        if not self.tests:
            return True
        files = [str(path) for path in self.test_files()]
        return pytest.main([*options, *files], plugins=[Selection(self.tests)]) == 0


def run(mutant: Mutant) -> str:
    """Run a mutant in a fork: "killed", "survived" or "timeout"."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))
        code = 1
        try:
            code = 0 if mutant.survives() else 1
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "timeout"
    return "survived" if os.WEXITSTATUS(status) == 0 else "killed"


def parse_options() -> argparse.Namespace:
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
    parser.add_argument("--kind", choices=tuple(LEAST), help="only kernels, or only other files")
    parser.add_argument("--sample", type=int, default=120, help="number of mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=20.0, help="stop after that long")
    parser.add_argument("--control", action="store_true", help="run the files unchanged")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.jsonl")
    return parser.parse_args()


def get_kind(file: Path) -> str:
    return "kernels" if is_kernel(file) else "elsewhere"


def list_mutants(options: argparse.Namespace) -> list[tuple[Path, int]]:
    """List (file, number of the change) of all mutants that the options allow."""
    lines = None if options.changed is None else changed_lines(options.changed)
    every = []
    for room in options.rooms:
        for path in sorted((SRC / room).rglob("*.py")) or [SRC / room]:
            if options.kind not in (None, get_kind(path)):
                continue
            for number, (line, *_) in enumerate(changes(ast.parse(path.read_text("utf-8")))):
                if lines is None or line in lines.get(path, ()):
                    every.append((path, number))
    return every


def draw_mutants(
    every: Sequence[tuple[Path, int]], options: argparse.Namespace
) -> list[tuple[Path, int | None]]:
    """Draw mutants at random, with the unchanged files to compare. Their number is None."""
    if options.control:
        return [(path, None) for path in dict.fromkeys(path for path, _ in every)]
    n_drawn = min(options.sample or len(every), len(every))
    drawn = random.Random(options.seed).sample(every, n_drawn)  # noqa: S311
    if options.changed is None:
        return list(drawn)
    # Tests that fail anyway kill nothing.
    return [*((path, None) for path in dict.fromkeys(path for path, _ in drawn)), *drawn]


def read_results(path: Path) -> dict[str, str]:
    """Read the outcomes of earlier runs."""
    if not path.is_file():
        return {}
    return dict(json.loads(line) for line in path.read_text("utf-8").splitlines())


def main() -> int:
    """Run mutants and print the score; return 1 where too few are killed."""
    options = parse_options()
    os.chdir(ROOT)
    executed = Executed()
    if not executed.by_function:
        print("Expected a record of the tests: run `python -m benchmarks.executed` first.")
        return 1
    every = list_mutants(options)
    drawn = draw_mutants(every, options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = read_results(options.out)
    for name in WARM:
        importlib.import_module(name)

    end = time.monotonic() + 60 * options.minutes
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    is_sound = True
    for index, (path, number) in enumerate(drawn):
        mutant = Mutant(path, number, executed)
        key = f"{mutant.digest} {mutant.name}"
        if key not in results:
            if time.monotonic() > end:
                print(f"Stopped after {options.minutes:g} minutes; {len(drawn) - index} are left.")
                break
            results[key] = run(mutant)
            with options.out.open("a") as file:
                file.write(json.dumps([key, results[key]]) + "\n")
        outcome = results[key]
        if number is None:
            is_sound &= outcome == "survived"
            outcome = "passes" if outcome == "survived" else "FAILS"
        else:
            outcomes.setdefault((room_of(path), get_kind(path)), Counter())[outcome] += 1
        print(f"{outcome:<9}{mutant.name} ({len(mutant.tests)} tests)", flush=True)

    ran = sum(counts.total() for counts in outcomes.values())
    print(f"{ran} of {len(every)} mutants ran (seed {options.seed}).")
    if not is_sound:
        print(
            "Expected the tests of unchanged files to pass, but some fail: what they kill says nothing."
        )
    return 0 if passes(outcomes) and is_sound else 1


if __name__ == "__main__":
    sys.exit(main())

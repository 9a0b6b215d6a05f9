"""Mutation testing: change one thing of a file at a time, and see whether its tests notice.

    python benchmarks/mutants.py --sample 120 --seed 0

A mutant is one operator, comparison, constant or function name that is replaced by another of its kind, such as `<` by
`<=` or `max` by `min`; error messages, annotations and docstrings are not changed. Each mutant runs in a forked process
in which an import hook puts the changed module in place of the real one, so no file is touched: first the doctests of
the module, then the tests that mirror it. The sample depends on the seed alone. Results are appended to a file, and a
second run resumes from there. `--control` runs the unchanged files the same way, each of which must survive.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "rightreasons"
ROOMS = ("analysis", "models/gradients")
TIMEOUT = 180
"""Seconds of processor time after which a mutant counts as killed: it loops, or is many times slower."""
WARM = ("numpy", "scipy.stats", "scipy.special", "pytest", "hypothesis.extra.numpy", "sklearn.metrics", "torch")
"""Imported once, before the forks."""
CONFIDENCE, UNITS = "analysis/calibration/test_confidence_figures.py", "models/gradients/test_attribution_units.py"
MIRRORS = {
    "analysis/binning.py": ("analysis/calibration/test_errors.py",),
    "analysis/behavior/expectations.py": ("analysis/behavior/test_pass_rates.py",),
    "analysis/behavior/generalization.py": ("analysis/behavior/test_pass_rates.py",),
    "analysis/calibration/classwise.py": (CONFIDENCE,),
    "analysis/calibration/macro_ce.py": (CONFIDENCE,),
    "analysis/calibration/options.py": ("analysis/calibration/test_errors.py",),
    "analysis/calibration/proper_scores.py": (CONFIDENCE,),
    "analysis/calibration/selective.py": (CONFIDENCE,),
    "analysis/calibration/summary.py": (CONFIDENCE,),
    "analysis/calibration/top_label.py": ("analysis/calibration/test_errors.py",),
    "analysis/cues/classifier.py": ("analysis/cues/test_statistics.py",),
    "analysis/difficulty/flips.py": ("analysis/difficulty/test_ranking.py",),
    "analysis/shortcuts/null_model.py": ("analysis/shortcuts/test_reliance.py",),
    "models/gradients/attribution.py": (UNITS, "models/gradients/test_attribution.py"),
    "models/gradients/fisher_eigen.py": ("models/gradients/test_fisher.py",),
    "models/gradients/integration.py": ("models/gradients/test_quadrature.py", "models/gradients/test_attribution.py"),
    "models/gradients/merge_pieces.py": (UNITS,),
    "models/gradients/neighbors.py": ("measuring/test_substitutions.py",),
    "models/gradients/path.py": ("models/gradients/test_quadrature.py", "models/gradients/test_attribution.py"),
    "models/gradients/words.py": (UNITS,),
}
"""The tests of a module whose test file has another name; elsewhere it is the file of the same name, or its folder."""

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
JOINS = {ast.And: ast.Or, ast.Or: ast.And}
NAMES = {"max": "min", "all": "any", "argmax": "argmin", "maximum": "minimum", "mean": "sum", "ceil": "floor"}
NAMES |= {new: old for old, new in NAMES.items() if old != "mean"}
Change = tuple[int, str, Callable[[], None]]


def changes(tree: ast.Module) -> Iterator[Change]:
    """Yield (line, what changes, how to change it in place) for every mutant of a tree, in a fixed order."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        left_out: list[Any] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        left_out += [node] if isinstance(node, ast.Raise) else []
        left_out += getattr(node, "decorator_list", [])
        for part in left_out:
            skipped.update(ast.walk(part) if isinstance(part, ast.AST) else ())
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                if type(operator) in COMPARISONS:
                    new = COMPARISONS[type(operator)]()
                    yield _change(node, f"{_word(operator)} -> {_word(new)}", node.ops.__setitem__, place, new)
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
            yield _change(node, f"{node.attr} -> {NAMES[node.attr]}", setattr, node, "attr", NAMES[node.attr])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
            new_name = NAMES[node.func.id]
            if new_name != "sum":
                yield _change(node, f"{node.func.id} -> {new_name}", setattr, node.func, "id", new_name)


def _change(node: Any, words: str, function: Callable[..., Any], *arguments: Any) -> Change:
    return node.lineno, words, lambda: function(*arguments)


def _word(node: ast.AST) -> str:
    return type(node).__name__


class Mutant:
    """One change of one file."""

    def __init__(self, file: Path, number: int | None) -> None:
        self.file = file
        self.tree = ast.parse(file.read_text("utf-8"))
        self.key = f"{file.relative_to(SRC)} unchanged"
        if number is not None:
            line, words, apply = list(changes(self.tree))[number]
            self.key = f"{file.relative_to(SRC)}:{line} [{number}] {words}"
            apply()
        self.module = ".".join(file.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")

    def tests(self) -> list[list[str]]:
        """Return the tests to run, the quick ones first."""
        name = str(self.file.relative_to(SRC))
        if name in MIRRORS:
            mirrored = [ROOT / "tests" / test for test in MIRRORS[name]]
        else:
            folder = ROOT / "tests" / Path(name).parent
            own = folder / f"test_{self.file.stem}.py"
            others = sorted(path for path in folder.glob("test_*.py") if path != own)
            mirrored = [own] if own.is_file() else others
        return [["--doctest-modules", str(self.file)], [str(path) for path in mirrored if path.is_file()]]

    def survives(self) -> bool:
        """Run the tests in this process; to be called in a fork."""
        source = importlib.machinery.SourceFileLoader
        code = compile(ast.fix_missing_locations(self.tree), str(self.file), "exec")
        loader = type("Loader", (source,), {"get_code": lambda *_: code})(self.module, str(self.file))
        spec = importlib.util.spec_from_file_location(self.module, self.file, loader=loader)
        finder = type("Finder", (), {"find_spec": staticmethod(lambda name, *_: spec if name == self.module else None)})
        sys.meta_path.insert(0, finder)
        importlib.import_module(self.module)
        import pytest

        options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
        # 5 says that there was no test, as in a module without doctests.
        return all(pytest.main([*options, *tests]) in (0, 5) for tests in self.tests() if tests)


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


def main() -> None:
    """Run a sample of mutants and print the score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="folders or files below src/rightreasons")
    parser.add_argument("--sample", type=int, default=120, help="number of mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=20.0, help="stop after that long")
    parser.add_argument("--control", action="store_true", help="run the files unchanged")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.jsonl")
    options = parser.parse_args()
    os.chdir(ROOT)
    files = [path for room in options.rooms for path in sorted((SRC / room).rglob("*.py")) or [SRC / room]]
    every = [(path, n) for path in files for n in range(sum(1 for _ in changes(ast.parse(path.read_text("utf-8")))))]
    generator = random.Random(options.seed)  # noqa: S311
    size = min(options.sample or len(every), len(every))
    chosen: list[tuple[Path, int | None]] = generator.sample(every, size)
    if options.control:
        chosen = [(path, None) for path in files if any(True for _ in changes(ast.parse(path.read_text("utf-8"))))]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = dict(json.loads(line) for line in options.out.read_text().splitlines()) if options.out.is_file() else {}
    for name in WARM:
        importlib.import_module(name)
    end = time.monotonic() + 60 * options.minutes
    outcomes: Counter[str] = Counter()
    for path, number in chosen:
        mutant = Mutant(path, number)
        if mutant.key not in results:
            if time.monotonic() > end:
                break
            results[mutant.key] = run(mutant)
            with options.out.open("a") as file:
                file.write(json.dumps([mutant.key, results[mutant.key]]) + "\n")
        outcomes[results[mutant.key]] += 1
        print(f"{results[mutant.key]:<9}{mutant.key}", flush=True)
    ran = outcomes.total()
    print(f"{ran - outcomes['survived']} of {ran} mutants killed ({len(every)} in all, seed {options.seed}).")


if __name__ == "__main__":
    main()

"""The list of tests for the night: a test that is renamed must not come back into the day unseen."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def list_names(file):
    """Return the tests of a file, as ids name them without their parameters."""
    names = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            names.update(f"{node.name}::{method.name}" for method in methods)
    return names


def test_every_listed_test_is_there():
    missing = []
    for line in (TESTS / "nightly.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        file, _, test = line.partition("::")
        path = TESTS.parent / file
        name = test.partition("[")[0]
        if not path.is_file() or (name and name not in list_names(path)):
            missing.append(line)

    assert missing == []

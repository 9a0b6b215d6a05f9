"""Scripts outside the package (experiments, benchmarks, Spaces, builders) import names that exist."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "benchmarks",
    "datasets_scripts",
    "docs",
    "experiments",
    "measurements",
    "metrics",
    "spaces",
)
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_scripts_are_found():
    assert len(SCRIPTS) > 60


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_imported_names_exist(path):
    missing = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rightreasons":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    try:
                        importlib.import_module(f"{node.module}.{alias.name}")
                    except ModuleNotFoundError:
                        missing.append(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.ImportFrom) and (path.parent / f"{node.module}.py").is_file():
            known = names(path.parent / f"{node.module}.py")
            missing += [
                f"{node.module}.{alias.name}" for alias in node.names if alias.name not in known
            ]
    assert not missing


def names(path):
    """Return what a script defines or imports; another script beside it may import that."""
    known = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return known


def test_the_parts_that_time_is_counted_for_are_files_of_ours(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    parts = importlib.import_module("audit_share").FILES_BY_PART
    ours = [path for _, path in parts if path.startswith("rightreasons/")]
    assert len(ours) > 10
    assert [path for path in ours if not (root / "src" / path).exists()] == []

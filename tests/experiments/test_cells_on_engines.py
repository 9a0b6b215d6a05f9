"""Experiments whose cells are independent take an engine, and hand it functions that its workers can import."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "experiments"
CELLS = ("reliability_paradox/across_models.py",)


@pytest.mark.parametrize("name", CELLS)
def test_cells_run_on_engines(name):
    source = (ROOT / name).read_text("utf-8")
    tree = ast.parse(source)
    flags = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("add_argument")
    }
    assert {"--engine", "--jobs"} <= flags
    assert "EngineOptions(options.engine, options.jobs)" in source
    if "run_tasks" in source:
        # What the script itself defines would be `__main__`'s, which workers do not have.
        begins = ast.unparse(tree.body[-1])
        assert begins.startswith(
            f"if __name__ == '__main__':\n    import {Path(name).stem} as here"
        )
        assert begins.endswith("here.main()")

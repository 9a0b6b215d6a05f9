"""The notebook of the tutorials runs as a reader runs it, without the cell that installs the package."""

import ast
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "first_audit.ipynb"


def run_cell(source, names):
    """Run a cell, and return the value of its last line, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return None


def test_the_notebook_runs_and_shows_what_its_text_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    names, shown = {}, []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("%pip"):
            shown.append(run_cell(source, names))
    accuracy, result, flipped, repair, _ = shown
    assert accuracy > 0.85
    assert "copper" in result._repr_html_()
    assert flipped["findings"].str.contains("copper").all()
    assert repair.repaired
    assert "Repaired" in str(repair)
    # The two texts differ in the words that are no reasons.
    texts = names["texts"]
    assert len(set(names["model"].predict(texts))) == 2
    assert len(set(repair.model.predict(texts))) == 1

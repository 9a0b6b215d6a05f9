"""The files of the package: no circle of imports, no folder with too many files, no helper with too many arguments."""

import ast
import csv
import functools
import sys
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MOST_FILES = 32
MOST_PARAMETERS = 7
VAGUE = ("asked", "told", "one", "own")
MOST_FILES_OF_A_ROW = 62
"""Files that a row of a csv passes on its way to the page of an audit; one subject is one file."""


@functools.cache
def parsed(path):
    """The tree of a file, parsed once for all tests."""
    return ast.parse(path.read_text("utf-8"))


def modules(source):
    """The files of a source folder by their dotted names."""
    named = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imports(tree):
    """Each imported name of a file, in functions too, without those for type checking alone."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        nodes += ast.iter_child_nodes(node)


def import_graph(source):
    """For each file the files that it imports."""
    files = modules(source)
    graph = {}
    for name, path in files.items():
        targets = set()
        for imported in imports(parsed(path)):
            # "package.file.name" is the file where there is one of that name, else the name in the file before it.
            target = imported if imported in files else imported.rpartition(".")[0]
            targets |= {target} & files.keys() - {name}
        graph[name] = targets
    return graph


def circles(graph):
    """The sets of files that import one another in a circle."""
    reached = {}
    for name in graph:
        seen, stack = set(), [name]
        while stack:
            for target in graph[stack.pop()] - seen:
                seen.add(target)
                stack.append(target)
        reached[name] = seen
    return {
        frozenset({other for other in reached[name] if name in reached[other]}) for name in graph
    } - {frozenset()}


def test_no_circle_between_files():
    assert circles(import_graph(SOURCE)) == set()


def test_no_folder_holds_too_many_files():
    folders = Counter(path.parent for path in SOURCE.rglob("*.py"))
    full = {
        str(folder.relative_to(SOURCE)) for folder, count in folders.items() if count > MOST_FILES
    }
    assert full == set()


def public_names():
    """The names that a façade lists, which may take as many parameters as their subject has."""
    stubs = [parsed(path) for path in SOURCE.rglob("__init__.pyi")]
    return {
        alias.name
        for tree in stubs
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def parameters(function):
    """The parameters of a function, without that of the instance or the class."""
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def test_no_function_but_public_ones_takes_too_many_parameters():
    public = public_names()
    assert "audit" in public
    found = {
        f"{path.relative_to(SOURCE / 'rightreasons')}:{node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef)
        and node.name not in public
        and len(parameters(node)) > MOST_PARAMETERS
    }
    assert found == set(), "take options, or a value"


def test_variables_are_nouns():
    """What a variable holds is its name, not that it was asked, told, or is somebody's own; fields are named apart."""
    found = set()
    for path in (SOURCE / "rightreasons").rglob("*.py"):
        nodes = [*ast.walk(parsed(path))]
        fields = {node.target for node in nodes if isinstance(node, ast.AnnAssign)}
        names = (
            node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        found |= {
            f"{path.name}:{node.lineno}: {node.id}"
            for node in names
            if node not in fields
            if node.id in VAGUE
        }
    assert found == set()


def met(function):
    """The functions of the package that a call runs, as (file, name), without comprehensions."""
    found = set()
    root = str(SOURCE / "rightreasons")

    def note(frame, event, _):
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(root)
            and not code.co_name.startswith("<")
        ):
            found.add((code.co_filename[len(root) + 1 :], code.co_firstlineno, code.co_name))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def test_what_a_model_is_decides_inside_models_alone():
    """Elsewhere its abilities do, or what it is known as, so that a scorer of anybody's own is asked as ours are."""
    models = SOURCE / "rightreasons" / "models"
    held = [parsed(path) for path in models.rglob("*.py")]
    classes = [node for tree in held for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    scorers = {
        node.name
        for node in classes
        if {"predict", "likelihoods"} & {getattr(part, "name", "") for part in node.body}
    }
    assert {"Classifier", "Prompted", "FunctionScorer", "LocalEngine", "Scorer"} <= scorers
    asked = set()
    for path in sorted((SOURCE / "rightreasons").rglob("*.py")):
        for node in ast.walk(parsed(path)) if models not in path.parents else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                asked |= {
                    f"{path.name}: {name}" for name in names & (scorers - {"Scorer", "Engine"})
                }
    assert asked == set()


def test_a_row_meets_few_files_on_its_way_to_the_page(classifier_folder, tmp_path):
    import rightreasons
    from tiny_models import tiny_texts

    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as stream:
        names = ("negative", "positive")
        rows = ((text, names[label]) for text, label in zip(*tiny_texts(40), strict=True))
        csv.writer(stream).writerows([("text", "label"), *rows])
    how = {"questions": ["calibration"], "n_resamples": 20, "progress": False}
    rightreasons.audit(
        classifier_folder, tmp_path / "rows.csv", out=tmp_path / "first", **how
    )  # imports
    found = met(
        lambda: rightreasons.audit(
            classifier_folder, tmp_path / "rows.csv", out=tmp_path / "second", **how
        )
    )
    assert len({file for file, *_ in found}) <= MOST_FILES_OF_A_ROW
    # Functions are not limited: a limit would reward dense ones.
    assert len(found) > 100


def test_a_module_computes_in_core_and_the_folder_of_its_question():
    import rightreasons

    ece = rightreasons.load("ece")
    inputs = {"predictions": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "references": [0, 1, 1]}
    ece.compute(**inputs)
    found = met(lambda: ece.compute(**inputs))
    folders = {file.partition("/")[0] for file, *_ in found}
    assert folders == {"calibration", "core", "evaluate_module"}


def test_stores_are_opened_by_the_main_process_first():
    calls = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Store"
    ]
    assert {call.partition(":")[0] for call in calls} == {"rightreasons/models/running.py"}, (
        "use open_store"
    )


@pytest.mark.parametrize(
    ("line", "circular"),
    [
        ("from package.one import x", True),
        ("from package import one", True),
        ("import package.one", True),
        ("def f():\n    from package.one import x", True),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.one import x",
            False,
        ),
        ("from package.three import x", False),
    ],
)
def test_a_circle_is_seen(tmp_path, line, circular):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("import package.two", "utf-8")
    (package / "two.py").write_text(line, "utf-8")
    (package / "three.py").write_text("x = 1", "utf-8")
    expected = {frozenset({"package.one", "package.two"})} if circular else set()
    assert circles(import_graph(tmp_path)) == expected

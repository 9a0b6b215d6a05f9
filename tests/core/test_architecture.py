"""Structure of the package: who imports whom, and how large folders and signatures may get.

The import graph is read from the syntax trees, with the imports inside functions. Imports for type
checking do not run, so that walls ignore them. Cycles count them: of two files that need each
other's types, neither can be understood alone.
"""

import ast
import csv
import functools
import sys
from collections import Counter
from pathlib import Path

import pytest

from rightreasons.report.questions import QUESTIONS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "rightreasons"

MAX_FILES_OF_A_FOLDER = 32
MAX_PARAMETERS = 7
MAX_FILES_OF_A_ROW = 122
"""Files that run while a row of a csv becomes a page: plain files of one subject are many."""

KERNEL_ROOMS = {
    "core",
    "evaluate_module",
    "behavior",
    "calibration",
    "cues",
    "difficulty",
    "probes",
    "reasons",
    "shortcuts",
}
"""Folders that an evaluate module may reach: core, the base of the modules, and the questions."""

MODULES_WITH_A_MODEL = {"fim_difficulty"}
"""Evaluate modules that take a model."""


# ---------------------------------------------------------------- Imports


@functools.cache
def parse(path):
    """Return the syntax tree of a file, parsed once for all tests."""
    return ast.parse(path.read_text("utf-8"))


def list_modules(source):
    """Return the files of a source folder by their dotted names."""
    files = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        files[".".join(parts)] = path
    return files


def list_imports(tree, with_types=False):
    """Yield each imported name of a file, also in functions.

    Imports for type checking alone are only listed if `with_types` is true.
    """
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if is_for_types and not with_types:
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        nodes += ast.iter_child_nodes(node)


def find_imported_files(path, files, with_types=False):
    """Return the modules among `files` that a file imports."""
    targets = set()
    for name in list_imports(parse(path), with_types):
        # "package.file.name" is a file if there is one of that name, else a name in a file.
        target = name if name in files else name.rpartition(".")[0]
        if target in files and files[target] != path:
            targets.add(target)
    return targets


def make_import_graph(source, with_types=False):
    """Return for each module of a source folder the modules that it imports."""
    files = list_modules(source)
    return {name: find_imported_files(path, files, with_types) for name, path in files.items()}


def find_reachable(graph, starts):
    """Return all modules that some modules import, directly or not."""
    reachable = set()
    stack = list(starts)
    while stack:
        for target in graph[stack.pop()] - reachable:
            reachable.add(target)
            stack.append(target)
    return reachable


def find_cycles(graph):
    """Return the sets of modules that import one another in a cycle."""
    reachable = {name: find_reachable(graph, [name]) for name in graph}
    cycles = set()
    for name in graph:
        cycle = frozenset(other for other in reachable[name] if name in reachable[other])
        if cycle:
            cycles.add(cycle)
    return cycles


@pytest.fixture(scope="module")
def graph():
    return make_import_graph(SOURCE)


def test_there_is_no_import_cycle():
    assert find_cycles(make_import_graph(SOURCE, with_types=True)) == set()


@pytest.mark.parametrize(
    ("source", "is_cycle"),
    [
        ("from package.one import x", True),
        ("from package import one", True),
        ("import package.one", True),
        ("def f():\n    from package.one import x", True),
        ("class A:\n    def f(self):\n        if self:\n            import package.one", True),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.one import x",
            True,
        ),
        ("from package.three import x", False),
    ],
)
def test_a_cycle_is_found(tmp_path, source, is_cycle):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("import package.two", "utf-8")
    (package / "two.py").write_text(source, "utf-8")
    (package / "three.py").write_text("x = 1", "utf-8")

    cycles = find_cycles(make_import_graph(tmp_path, with_types=True))

    expected = {frozenset({"package.one", "package.two"})} if is_cycle else set()
    assert cycles == expected


def test_walls_ignore_imports_for_type_checking(tmp_path):
    (tmp_path / "one.py").write_text("x = 1", "utf-8")
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from one import x"
    (tmp_path / "two.py").write_text(source, "utf-8")

    assert make_import_graph(tmp_path)["two"] == set()
    assert make_import_graph(tmp_path, with_types=True)["two"] == {"one"}


# ---------------------------------------------------------------- Walls


def list_evaluate_modules():
    """Return the files of the evaluate modules that compute without a model."""
    files = []
    for folder in ("metrics", "measurements"):
        for path in sorted((ROOT / folder).glob("*/*.py")):
            if path.stem == path.parent.name and path.stem not in MODULES_WITH_A_MODEL:
                files.append(path)
    return files


def find_reachable_from_file(graph, path):
    """Return the modules of the package that a file outside of it reaches."""
    starts = find_imported_files(path, list_modules(SOURCE))
    return starts | find_reachable(graph, starts)


def list_rooms(modules):
    """Return the folders of modules, such as "core" for rightreasons.core.store."""
    return {name.split(".")[1] for name in modules if "." in name}


@pytest.mark.parametrize("path", list_evaluate_modules(), ids=lambda path: path.stem)
def test_an_evaluate_module_reaches_only_core_and_kernels(graph, path):
    reachable = find_reachable_from_file(graph, path)

    assert list_rooms(reachable) <= KERNEL_ROOMS


def test_metrics_of_a_trainer_reach_only_core_and_kernels(graph):
    reachable = find_reachable(graph, ["rightreasons.training.metrics"])

    # Its own parts are in files next to it.
    assert list_rooms(reachable) <= KERNEL_ROOMS | {"training"}


def test_evaluate_modules_and_metrics_of_a_trainer_need_no_torch(graph):
    reachable = find_reachable(graph, ["rightreasons.training.metrics"])
    reachable.add("rightreasons.training.metrics")
    for path in list_evaluate_modules():
        reachable |= find_reachable_from_file(graph, path)

    files = list_modules(SOURCE)
    packages = set()
    for name in reachable:
        packages |= {imported.partition(".")[0] for imported in list_imports(parse(files[name]))}

    assert "numpy" in packages
    assert not packages & {"torch", "transformers", "accelerate", "gradio", "pandas"}


def find_question_names(tree):
    """Yield the line and the value of each literal that is the name of a question.

    A command may be called like its question, and an option too.
    """
    exempt = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = getattr(node.func, "id", "")
            if function in ("declared_command", "question_command"):
                exempt.update(node.args)
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "COMMANDS":
            exempt.add(node.slice)
        if isinstance(node, ast.keyword) and node.arg == "option":
            exempt.update(ast.walk(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in exempt and node.value in QUESTIONS:
            yield node.lineno, node.value


@pytest.mark.parametrize("room", ["cli", "page", "report"])
def test_the_engine_names_no_question(room):
    names = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        if path != PACKAGE / "report" / "questions.py":
            names += [
                f"{path.name}:{line}: {name}" for line, name in find_question_names(parse(path))
            ]

    assert names == [], "declare it in the question, see `page.question` and `QuestionOptions`"


def test_what_a_model_is_decides_inside_models_alone():
    """Elsewhere its abilities decide, so that a user's own scorer is treated as ours are."""
    models = PACKAGE / "models"
    scorers = set()
    for path in models.rglob("*.py"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef):
                members = {getattr(member, "name", "") for member in node.body}
                if members & {"predict", "likelihoods"}:
                    scorers.add(node.name)
    assert {"Classifier", "Prompted", "FunctionScorer", "LocalEngine", "Scorer"} <= scorers

    # These two are the protocols that every scorer and engine follows.
    scorers -= {"Scorer", "Engine"}
    checks = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if models in path.parents:
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                checks += [f"{path.name}: {name}" for name in names & scorers]
    assert checks == []


def test_stores_are_opened_by_the_main_process_first():
    files = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Store":
                files.add(path.relative_to(PACKAGE).as_posix())

    assert files == {"models/running.py"}, "use open_store"


def test_files_next_to_a_module_exist():
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            is_neighbor = ast.unparse(node.func) == "Path(__file__).with_name"
            if is_neighbor and isinstance(node.args[0], ast.Constant):
                neighbor = path.with_name(node.args[0].value)
                if not neighbor.exists():
                    missing.append(f"{path.relative_to(PACKAGE)}: {neighbor.name}")

    assert missing == []


# ---------------------------------------------------------------- Sizes


def test_no_folder_holds_too_many_files():
    folders = Counter(path.parent for path in SOURCE.rglob("*.py"))
    full = [
        str(folder.relative_to(SOURCE))
        for folder, count in folders.items()
        if count > MAX_FILES_OF_A_FOLDER
    ]

    assert full == []


def list_public_names():
    """Return the names that a stub lists, which may take as many parameters as they need."""
    names = set()
    for path in SOURCE.rglob("__init__.pyi"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom):
                names.update(alias.name for alias in node.names)
    return names


def count_parameters(function):
    """Return the number of parameters, without that of the instance or the class."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([parameter for parameter in parameters if parameter.arg not in ("self", "cls")])


def test_only_public_functions_take_many_parameters():
    public_names = list_public_names()
    assert "audit" in public_names

    wide = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.FunctionDef) or node.name in public_names:
                continue
            if count_parameters(node) > MAX_PARAMETERS:
                wide.append(f"{path.relative_to(PACKAGE)}:{node.name}")
    assert wide == [], "take options, or a value"


def find_running_files(function):
    """Return the files of the package that a call runs."""
    files = set()

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            files.add(Path(path).relative_to(PACKAGE).as_posix())

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return files


def test_a_row_meets_few_files_on_its_way_to_the_page(classifier_folder, tmp_path):
    import rightreasons
    from tiny_models import tiny_texts

    rows = tmp_path / "rows.csv"
    names = ("negative", "positive")
    with rows.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("text", "label"))
        for text, label in zip(*tiny_texts(40), strict=True):
            writer.writerow((text, names[label]))

    def audit(folder):
        rightreasons.audit(
            classifier_folder,
            rows,
            out=tmp_path / folder,
            questions=["calibration"],
            n_resamples=20,
            progress=False,
        )

    # The first audit imports what it needs, and module bodies are not on the way of a row.
    audit("first")
    files = find_running_files(lambda: audit("second"))

    assert 20 < len(files) <= MAX_FILES_OF_A_ROW


def test_a_module_computes_in_core_and_the_folder_of_its_question():
    import rightreasons

    ece = rightreasons.load("ece")
    inputs = {"predictions": [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "references": [0, 1, 1]}
    ece.compute(**inputs)

    files = find_running_files(lambda: ece.compute(**inputs))

    folders = {file.partition("/")[0] for file in files}
    assert folders == {"calibration", "core", "evaluate_module"}

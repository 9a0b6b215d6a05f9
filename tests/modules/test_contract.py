"""What every evaluate module folder must be; each folder is found, none is listed."""

import ast
import doctest
import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest
from evaluate.utils.gradio import parse_readme

import rightreasons
from rightreasons.evaluate_module import KernelModule, available_modules, parse_argument_help

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(
    path
    for kind in ("metrics", "measurements")
    for path in ROOT.joinpath(kind).glob("*/")
    if path.name[0] != "_"
)
SECTIONS = (
    "Description",
    "How to Use",
    "Inputs",
    "Output Values",
    "Values from Popular Papers",
    "Examples",
    "Limitations and Bias",
    "Citation",
    "Further References",
)


@pytest.fixture(params=FOLDERS, ids=[path.name for path in FOLDERS])
def folder(request) -> Path:
    return request.param


def front_matter(readme: str) -> str:
    return readme.split("---")[1]


def test_every_folder_is_available():
    assert list(available_modules()) == sorted(path.name for path in FOLDERS)


def test_names_agree(folder):
    module = rightreasons.load(folder.name)
    assert module.name == folder.name
    assert isinstance(module, KernelModule)
    kind = {"metrics": "metric", "measurements": "measurement"}[folder.parent.name]
    assert module.module_type == kind
    assert folder.name not in {"app", "evaluate", "datasets", "rightreasons"}


def test_folder_is_a_space(folder):
    for name in (f"{folder.name}.py", "README.md", "app.py", "requirements.txt"):
        assert folder.joinpath(name).is_file(), f"{folder.name} lacks {name}"
    readme = folder.joinpath("README.md").read_text()
    matter = front_matter(readme)
    for key in (
        "title",
        "emoji",
        "colorFrom",
        "colorTo",
        "sdk",
        "sdk_version",
        "app_file",
        "pinned",
        "description",
    ):
        assert re.search(rf"^{key}:", matter, re.MULTILINE), (
            f"{folder.name}: front matter lacks {key}"
        )
    assert "sdk: gradio" in matter
    assert "- evaluate" in matter
    assert f"- {folder.parent.name.rstrip('s')}" in matter
    body = parse_readme(folder.joinpath("README.md"))
    for section in SECTIONS:
        assert re.search(rf"^#+ .*{section}", body, re.MULTILINE), (
            f"{folder.name}: the card lacks {section!r}"
        )
    requirements = folder.joinpath("requirements.txt").read_text()
    assert "rightreasons" in requirements
    assert "evaluate>=0.4.6" in requirements


def test_app_has_build(folder):
    """`build() -> gr.Blocks`, read without importing gradio; the browser tests run it."""
    tree = ast.parse(folder.joinpath("app.py").read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "build" in functions


def test_source_suits_the_loader(folder):
    """The loader reads imports by a line pattern and takes the first module class that it finds."""
    source = folder.joinpath(f"{folder.name}.py").read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            assert len(node.names) == 1, "one import a line"
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "no relative imports"
            assert node.module != "evaluate", "import evaluate, and write evaluate.Metric"
    for line in source.splitlines():
        if re.match(r"(import|from)\s", line):
            assert "#" not in line, "no comment after an import"


def test_inputs_options_and_citation_are_declared(folder):
    module = rightreasons.load(folder.name)
    parameters = inspect.signature(module._compute).parameters.values()
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters)
    inputs = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    assert inputs == module._feature_names()
    help_texts = parse_argument_help(module.inputs_description)
    for name in (*inputs, *module.option_names()):
        assert re.match(r"\S*\w", help_texts.get(name, "")), f"{name} is not documented"
    assert module.citation.strip().startswith("@"), "the citation is no BibTeX entry"


def test_unknown_option_is_refused_at_load_and_at_compute(folder):
    with pytest.raises(ValueError, match="Expected an option of"):
        rightreasons.load(folder.name, no_such_option=1)
    with pytest.raises(ValueError, match="Expected an option of"):
        rightreasons.load(folder.name).compute(no_such_option=1)


def test_nothing_to_compute_is_one_sentence(folder):
    with pytest.raises(ValueError, match="but got nothing"):
        rightreasons.load(folder.name).compute()


def load_source(folder):
    spec = importlib.util.spec_from_file_location(
        f"contract_{folder.name}", folder / f"{folder.name}.py"
    )
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    return source


def test_doctests_of_the_module(folder):
    source = load_source(folder)
    found = [test for test in doctest.DocTestFinder().find(source) if test.examples]
    text = source._KWARGS_DESCRIPTION
    example = doctest.DocTestParser().get_doctest(text, {}, folder.name, None, None)
    assert len(example.examples) > 1 or found
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_doctests_of_the_card(folder):
    text = folder.joinpath("README.md").read_text()
    # A closing fence is not expected output.
    text = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    example = doctest.DocTestParser().get_doctest(text, {}, folder.name, None, None)
    assert example.examples, f"{folder.name}: the card has no example that can be run"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_first_key_is_the_name_and_results_are_plain(folder):
    """Run the module's own first example and look at what it gives."""
    source = load_source(folder)
    examples = doctest.DocTestParser().get_examples(source._KWARGS_DESCRIPTION)
    scope: dict = {}
    for example in examples:
        if example.exc_msg:
            continue
        try:
            exec(compile(example.source, folder.name, "single"), scope)
        except ValueError:
            continue
    primary = {"cue_statistics": "cues"}.get(folder.name, folder.name)
    results = [value for value in scope.values() if isinstance(value, dict) and primary in value]
    assert results, f"{folder.name}: the examples keep no result of compute in a name"
    assert next(iter(results[0])) == primary
    json.dumps(results[0], allow_nan=False)

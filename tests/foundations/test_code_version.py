"""Versions of code: a change of any reached definition counts, a comment does not."""

import importlib
import sys

import pytest

from rightreasons.foundations import code_version as module
from rightreasons.foundations.code_version import code_version, reached_definitions

KERNEL = """
from ours.helpers import halve
from ours import registry

SCALE = 2

def measure(x):
    return SCALE * halve(x) + registry.look_up("a")

def other(x):
    return x
"""
HELPERS = """
def halve(x):
    from ours.deep import zero
    return x / 2 + zero()

def unused():
    return 1
"""
REGISTRY = """
TABLE = {}

def look_up(name):
    return TABLE[name]

def entry(f):
    TABLE["a"] = f
    return f

@entry
def one():
    return 1
"""
FILES = {
    "__init__.py": "",
    "kernel.py": KERNEL,
    "helpers.py": HELPERS,
    "deep.py": "def zero():\n    return 0\n",
    "registry.py": REGISTRY,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in place of ours; returns a way to change a file and read the version again."""
    folder = tmp_path / "ours"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.setattr(module, "PACKAGE", "ours")
    monkeypatch.syspath_prepend(tmp_path)

    def version(name="__init__.py", old="", new=""):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
        forget()
        try:
            return code_version("ours.kernel:measure")
        finally:
            (folder / name).write_text(text)

    def forget():
        module._module.cache_clear()
        module._source_of.cache_clear()
        importlib.invalidate_caches()

    yield version
    for name in [name for name in sys.modules if name.partition(".")[0] == "ours"]:
        del sys.modules[name]
    forget()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kernel.py", "SCALE = 2", "SCALE = 3"),
        ("kernel.py", "SCALE * halve(x)", "halve(x)"),
        ("helpers.py", "x / 2", "x / 3"),
        ("deep.py", "return 0", "return 1"),  # imported inside a function
        ("registry.py", "return TABLE[name]", "return TABLE.get(name)"),  # reached as an attribute of a module
        ("registry.py", "def one():\n    return 1", "def one():\n    return 2"),  # registered by its decorator
    ],
)
def test_a_change_of_a_reached_definition_is_another_version(package, name, old, new):
    assert package() != package(name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kernel.py", "SCALE = 2", "# why two\nSCALE = 2\n'''Of each.'''"),
        ("kernel.py", "def measure(x):\n", 'def measure(x):\n    """Measure."""\n\n'),
        ("kernel.py", "def other(x):\n    return x", "def other(x):\n    return -x"),
        ("helpers.py", "def unused():\n    return 1", "def unused():\n    return 2"),
    ],
)
def test_comments_docstrings_and_what_is_not_reached_do_not_count(package, name, old, new):
    assert package() == package(name, old, new)


def test_what_is_not_defined_here_is_refused():
    with pytest.raises(ValueError, match=r"Expected a top-level definition of rightreasons, but got json\.dumps"):
        code_version("json:dumps")
    with pytest.raises(ValueError, match=r"but got rightreasons\.foundations\.numeric\.softmx"):
        code_version("rightreasons.foundations.numeric:softmx")


def test_runs_of_a_plan_reach_what_decides_their_figures():
    roots = [("rightreasons.training.behavior.runner", "Runner"), ("rightreasons.training.behavior.classes", "Classes")]
    reached = reached_definitions(roots)
    assert ("rightreasons.foundations.numeric", "softmax") in reached
    assert ("rightreasons.foundations.suites", "skips_first") in reached
    assert ("rightreasons.models.scoring.classes", "predict") in reached


def test_a_data_set_does_not_hang_on_other_rooms():
    reached = {name for name, _ in reached_definitions([("rightreasons.data.benchmarks.sst2", "SST2")])}
    assert "rightreasons.data.builders.sources" in reached
    assert "rightreasons.data.perturbing.wordnet" not in reached

"""Public names are loaded at their first use, and suggested in place of names that do not exist."""

import importlib
import json
import sys

import pytest

import rightreasons
from rightreasons.core import public_api
from rightreasons.core.public_api import (
    OTHER_NAMES,
    list_public_names,
    make_facade,
    suggest_public_name,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one public name that works and one that needs a package of an extra."""
    folder = tmp_path / "toy_package"
    folder.mkdir()
    facade = "from rightreasons.core.public_api import make_facade\n"
    facade += "__getattr__, __dir__, __all__ = make_facade(__name__, __file__)\n"
    (folder / "__init__.py").write_text(facade)
    (folder / "__init__.pyi").write_text(
        "from .good import work as work\nfrom .bad import fail as fail\n"
    )
    (folder / "good.py").write_text("def work():\n    return 5\n")
    (folder / "bad.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'peft'\", name='peft')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("toy_package")
    for name in [name for name in sys.modules if name.startswith("toy_package")]:
        del sys.modules[name]


def test_a_public_name_is_loaded_at_its_first_use(package):
    assert "toy_package.good" not in sys.modules

    assert package.work() == 5
    assert sorted(package.__all__) == ["fail", "work"]
    assert set(dir(package)) >= {"fail", "work"}


def test_a_name_that_needs_an_optional_package_names_the_extra(package):
    with pytest.raises(ModuleNotFoundError, match=r"\[adapters\]"):
        _ = package.fail


def test_an_unknown_name_is_an_attribute_error_with_a_suggestion(package):
    with pytest.raises(AttributeError, match="public name of toy_package") as caught:
        _ = package.expected_calibration_error

    assert str(caught.value).endswith("Did you mean rightreasons.ece?")
    assert caught.value.__suppress_context__


def test_a_private_name_has_no_suggestion(package):
    with pytest.raises(AttributeError) as caught:
        _ = package._ece

    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", [*json.loads(OTHER_NAMES.read_text("utf-8")).values()])
def test_what_is_suggested_for_other_names_exists(name):
    value = rightreasons
    for attribute in name.split("."):
        module = f"{value.__name__}.{attribute}" if hasattr(value, "__path__") else ""
        try:
            value = getattr(value, attribute)
        except AttributeError:
            value = importlib.import_module(module)


NAMES = {
    "ece": "ece",
    "open_suite": "datasets.open_suite",
    "measure_contrast_sets": "difficulty.measure_contrast_sets",
    "calibration_error": "calibration_error",
    "audit": "audit",
    "gate": "gate",
}


@pytest.fixture
def toy_names(monkeypatch, tmp_path):
    """Few public names, and few names of other libraries."""
    synonyms = {"datasets.suite": "datasets.open_suite", "smece": "ece", "contrast": "contrasts"}
    file = tmp_path / "other_names.json"
    file.write_text(json.dumps(synonyms))
    monkeypatch.setattr(public_api, "OTHER_NAMES", file)
    monkeypatch.setattr(public_api, "list_public_names", lambda: NAMES)


@pytest.mark.parametrize(
    ("name", "package", "expected"),
    [
        # What another library calls it, by its path, as it is, in lower case, or by one word.
        ("suite", "rightreasons.datasets", "datasets.open_suite"),
        ("smece", "rightreasons", "ece"),
        ("SmECE", "rightreasons.cues", "ece"),
        ("contrast_of", "rightreasons", "contrasts"),
        # A public name of another package, also among the words.
        ("open_suite", "rightreasons.cues", "datasets.open_suite"),
        ("my_ece", "rightreasons", "ece"),
        # A shared word, and a name that is contained.
        ("measure_sets", "rightreasons", "difficulty.measure_contrast_sets"),
        ("calibration_errors", "rightreasons", "calibration_error"),
        ("open_suites", "rightreasons", "datasets.open_suite"),
        # 2 · 9 common letters of 19, without a shared word.
        ("opensuite", "rightreasons", "datasets.open_suite"),
        # 2 · 3 common letters of 8: exactly the similarity that is enough without a shared word.
        ("piece", "rightreasons", "ece"),
        # 2 · 5 common letters of 14, which is enough only because one name contains the other.
        ("auditabcd", "rightreasons", "audit"),
        # 2 · 5 common letters of 25: exactly the similarity that is enough with a shared word.
        ("open_vwxyzvwxyz", "rightreasons", "datasets.open_suite"),
    ],
)
def test_a_public_name_is_suggested(toy_names, name, package, expected):
    assert suggest_public_name(name, package) == f" Did you mean rightreasons.{expected}?"


@pytest.mark.parametrize(
    "name",
    [
        "zzz",
        # 2 · 3 common letters of 9.
        "pieces",
        # 2 · 4 common letters of 13: so short a name may be contained by chance.
        "gatevwxyz",
        # 2 · 5 common letters of 26.
        "open_vwxyzvwxyzv",
    ],
)
def test_nothing_is_suggested_for_a_name_unlike_all(toy_names, name):
    assert suggest_public_name(name) == ""


def test_a_name_of_the_package_itself_comes_first():
    names = list_public_names()

    assert names["ece"] == "ece"
    assert names["open_suite"] == "datasets.open_suite"
    # A name that both export.
    assert names["calibration_error"] in ("calibration_error", "calibration.calibration_error")
    for name, path in names.items():
        package, _, attribute = path.rpartition(".")
        module = importlib.import_module(f"rightreasons.{package}".rstrip("."))
        assert attribute == name
        assert name in module.__all__


def test_the_facade_has_the_names_of_the_stub(package):
    get_name, list_names, names = make_facade(package.__name__, package.__file__)

    assert names == package.__all__
    assert sorted(list_names()) == sorted(names)
    assert get_name("work")() == 5

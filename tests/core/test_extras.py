"""A missing optional package ends in a sentence that names the extra which installs it."""

import re
from pathlib import Path

import pytest

from rightreasons.core.extras import (
    EXTRAS,
    describe_missing_extra,
    require_package,
    with_install_hint,
)

DISTRIBUTIONS = {"sklearn": "scikit-learn", "vl_convert": "vl-convert-python"}
"""Package -> its name on PyPI, if that is another one."""


def test_an_installed_package_is_no_error():
    require_package("numpy")


def test_a_missing_package_names_the_extra_and_itself(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ModuleNotFoundError, match=r"\[wordnet\]") as caught:
        require_package("nltk")

    assert caught.value.name == "nltk"


def test_an_import_error_of_an_optional_package_gets_the_extra():
    error = ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")

    hint = with_install_hint(error)

    assert hint.name == "torch"
    assert str(hint) == describe_missing_extra("torch")


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'pandas'", name="pandas"),
        ModuleNotFoundError("No module"),
    ],
)
def test_an_import_error_of_another_package_stays_as_it_is(error):
    assert with_install_hint(error) is error


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_an_extra_installs_its_packages(package, extra):
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    distribution = DISTRIBUTIONS.get(package, package.replace("_", "-"))

    (requirements,) = re.findall(rf"^{extra} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)

    assert re.search(rf'"{distribution}[=>]=', requirements), describe_missing_extra(package)

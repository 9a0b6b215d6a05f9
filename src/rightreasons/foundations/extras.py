"""The sentence about a missing optional package: which extra of this package installs it.

The one mechanism for all of the package: no file tests whether an optional package is there. A plain `import torch`, at
the top of a file or in a function, fails with the sentence below.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "tqdm", "jsonschema", "matplotlib"), "models"),
    "nltk": "wordnet",
    "gradio": "spaces",
    "openai": "server",
    "joblib": "engines",
    "distributed": "dask",
    "ray": "ray",
}
"""The extra that installs each optional package."""


def missing_extra(package: str) -> str:
    """Say which extra installs a package.

    Example:
        >>> missing_extra("gradio")
        "This needs the package 'gradio', which is not installed: pip install 'rightreasons[spaces]'."
    """
    return f"This needs the package {package!r}, which is not installed: pip install 'rightreasons[{EXTRAS[package]}]'."


def needs(package: str) -> None:
    """Check that an optional package is there, where a host library would send its user to an extra of its own.

    Raises:
        ModuleNotFoundError: If it is not; the message names the extra.
    """
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(missing_extra(package), name=package)


class _Missing:
    """The last finder of modules: it is asked for what no other finds, and speaks only to files of this package."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        package = name.partition(".")[0]
        if package in EXTRAS and _importer().partition(".")[0] == __package__.partition(".")[0]:
            raise ModuleNotFoundError(missing_extra(package), name=package)


def _importer() -> str:
    """Return the name of the module whose import is under way."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("importlib", "_frozen_import")):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


def explain_missing_packages() -> None:
    """Let the imports of this package name the missing extra; calling it again changes nothing."""
    if _Missing not in sys.meta_path:
        sys.meta_path.append(_Missing)

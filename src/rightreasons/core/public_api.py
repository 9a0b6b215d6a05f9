"""Public names of the package: loaded at their first use, and suggested for names that do not exist.

The public names of a package are those that its stub `__init__.pyi` imports. `make_facade` makes
the three module attributes that serve them lazily. `suggest_public_name` looks for the public name
that a person may have meant. A class keeps the earlier name of a method for one release, as a
method that calls `warn_of_new_name` and then the method under its new name.
"""

from __future__ import annotations

import difflib
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazy_loader

from rightreasons.core.extras import with_install_hint

OTHER_NAMES = Path(__file__).with_name("other_names.json")
"""File that maps what other libraries call things to the public names of this package."""

_PACKAGE_FOLDER = Path(__file__).parents[1]

_EXPORT = re.compile(r"^from \.([\w.]*) import (\w+) as", re.MULTILINE)
"""One line of a stub: `from .file import name as name`."""

_MIN_SIMILARITY_WITH_SHARED_WORD = 0.4
_MIN_SIMILARITY = 0.75
"""Minimum `difflib` ratio of a suggestion. It is higher if the two names share no word."""


def make_facade(
    name: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its names lazily.

    Args:
        name: Dotted name of the package, its `__name__`.
        file: Path of its `__init__.py`. The stub `__init__.pyi` in the same folder lists the public
            names.
    """
    get_attribute, list_names, names = lazy_loader.attach_stub(name, file)

    def get_public_name(attribute: str) -> Any:
        """Import a public name of the package.

        Args:
            attribute: The name.

        Raises:
            ModuleNotFoundError: If a library is not installed; the message names the extra.
            AttributeError: If the name is unknown; the message suggests a similar one.
        """
        try:
            return get_attribute(attribute)
        except ModuleNotFoundError as error:
            raise with_install_hint(error) from error
        except AttributeError:
            # Python itself probes for names such as `__path__`, and expects the plain error.
            if attribute.startswith("_"):
                raise
            raise AttributeError(
                f"Expected a public name of {name}, but got {attribute!r}."
                f"{suggest_public_name(attribute, name)}"
            ) from None

    return get_public_name, list_names, names


def suggest_public_name(attribute: str, package: str = "rightreasons") -> str:
    """Return a closing sentence that suggests the nearest public name, or "" if none is near.

    Args:
        attribute: The name that does not exist.
        package: Dotted name of the package in which it was looked up.

    Example:
        >>> suggest_public_name("expected_calibration_error")
        ' Did you mean rightreasons.ece?'
        >>> suggest_public_name("load_suite")
        ' Did you mean rightreasons.datasets.open_suite?'
    """
    paths = list_public_names()
    path = _find_synonym(attribute, package, paths) or _find_similar_name(attribute, paths)
    if path is None:
        return ""
    return f" Did you mean rightreasons.{path}?"


def _find_synonym(attribute: str, package: str, paths: dict[str, str]) -> str | None:
    """Find the public name for a name that other libraries use, such as "expected_calibration_error".

    Args:
        attribute: The unknown name.
        package: Dotted name of the package in which it was looked up.
        paths: Public name -> its path below `rightreasons`, such as "calibration.smooth_ece".

    Returns:
        A path of `paths`; None if neither the name nor one of its words is known.
    """
    # Name in another library, or a word of it -> path of the public name.
    synonyms = json.loads(OTHER_NAMES.read_text("utf-8"))
    path_below_root = f"{package}.{attribute}".partition(".")[2]
    lower = attribute.lower()
    # The most specific key comes first, so that a single word does not win over the whole name.
    for key in (path_below_root, attribute, lower, *lower.split("_")):
        path = synonyms.get(key) or paths.get(key)
        if path:
            return str(path)
    return None


def _find_similar_name(attribute: str, paths: dict[str, str]) -> str | None:
    """Find the public name whose spelling is most similar to an unknown name.

    Args:
        attribute: The unknown name.
        paths: Public name -> its path below `rightreasons`.

    Returns:
        The path of the name, or None if none is similar enough.
    """
    lower = attribute.lower()
    words = set(lower.split("_"))
    related = []
    for name in paths:
        # A short name, such as `ece`, is contained in too many words by chance.
        is_contained = len(name) > 4 and name in lower
        if is_contained or not words.isdisjoint(name.split("_")):
            related.append(name)

    # If names share a word, their spellings may differ more.
    if related:
        cutoff = _MIN_SIMILARITY_WITH_SHARED_WORD
    else:
        cutoff = _MIN_SIMILARITY
    matches = difflib.get_close_matches(lower, related or list(paths), n=1, cutoff=cutoff)
    return paths[matches[0]] if matches else None


def list_public_packages() -> list[str]:
    """Return the subpackages that have public names, in alphabetical order.

    Example:
        >>> list_public_packages()[:3]
        ['behavior', 'calibration', 'cues']
    """
    folders = [stub.parent.name for stub in _PACKAGE_FOLDER.glob("*/__init__.pyi")]
    # The widget is an app: a person opens it, and no program calls it.
    return sorted(folder for folder in folders if folder != "widget")


def list_public_names() -> dict[str, str]:
    """List the public names of the package and its subpackages, from their stubs.

    Returns:
        Name -> its path below `rightreasons`, such as "calibration.smooth_ece". A name that the
        package itself exports has the shorter path, even if a subpackage exports it too.
    """
    stub = _PACKAGE_FOLDER / "__init__.pyi"
    paths = {name: name for _, name in _EXPORT.findall(stub.read_text("utf-8"))}
    for package in list_public_packages():
        stub = _PACKAGE_FOLDER / package / "__init__.pyi"
        for _, name in _EXPORT.findall(stub.read_text("utf-8")):
            paths.setdefault(name, f"{package}.{name}")
    return paths


def warn_of_new_name(old_name: str, new_name: str) -> None:
    """Warn that a method was called by its earlier name.

    Args:
        old_name: Earlier name, such as "Resampling.parts".
        new_name: Present name.
    """
    # Level 3 attributes the warning to the caller of the method.
    warnings.warn(
        f"`{old_name}` is now `{new_name}`; the old name will be removed in the next release.",
        FutureWarning,
        stacklevel=3,
    )

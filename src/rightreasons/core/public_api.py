"""The public names of the package, loaded when they are used."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazy_loader

from rightreasons.core.extras import with_install_hint

OTHER_NAMES = Path(__file__).with_name("other_names.json")
"""What people call things, and their names here."""

_EXPORT = re.compile(r"^from \.([\w.]*) import (\w+) as", re.M)


def make_facade(
    name: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names are those of its stub."""
    attribute, listed, names = lazy_loader.attach_stub(name, file)

    def looked_up(wanted: str) -> Any:
        try:
            return attribute(wanted)
        except ModuleNotFoundError as error:
            raise with_install_hint(error) from error
        except AttributeError:
            if wanted.startswith("_"):
                raise
            raise AttributeError(
                f"Expected a public name of {name}, but got {wanted!r}.{suggest_public_name(wanted, name)}"
            ) from None

    return looked_up, listed, names


def suggest_public_name(wanted: str, package: str = "rightreasons") -> str:
    """Name the nearest public name of the package, at the end of a sentence; "" where none is near.

    Example:
        >>> suggest_public_name("expected_calibration_error"), suggest_public_name("load_suite")
        (' Did you mean rightreasons.ece?', ' Did you mean rightreasons.datasets.open_suite?')
    """
    places, others = list_public_names(), json.loads(OTHER_NAMES.read_text("utf-8"))
    inside, lower = f"{package}.{wanted}".partition(".")[2], wanted.lower()
    words = lower.split("_")
    known_as = (
        found
        for key in (inside, wanted, lower, *words)
        if (found := others.get(key) or places.get(key))
    )
    near = next(known_as, None)
    if near is None:
        sharing = [
            known
            for known in places
            if {*words} & {*known.split("_")} or (len(known) > 4 and known in lower)
        ]
        close = difflib.get_close_matches(
            lower, sharing or list(places), n=1, cutoff=0.4 if sharing else 0.75
        )
        near = places[close[0]] if close else None
    return f" Did you mean rightreasons.{near}?" if near else ""


def list_public_names() -> dict[str, str]:
    """Return each public name and its place below `rightreasons`, from the stubs; the front door comes first."""
    root = Path(__file__).parents[1]
    places: dict[str, str] = {}
    for stub in (root / "__init__.pyi", *sorted(root.glob("[!w]*/__init__.pyi"))):
        door = "" if stub.parent == root else f"{stub.parent.name}."
        for _, name in _EXPORT.findall(stub.read_text("utf-8")):
            places.setdefault(name, door + name)
    return places

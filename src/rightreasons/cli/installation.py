"""The commands about this installation: what a machine has of what the package can use."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata

import rightreasons
from rightreasons.cli import command_line, hand_over
from rightreasons.cli.show import print_rows
from rightreasons.core.errors import in_one_sentence
from rightreasons.core.hub import why_unreached
from rightreasons.core.store import installed_version

COMMANDS = {name: command_line() for name in ("doctor", "modules")}

_SKIPPED = ("dev", "peers", "parity")
"""Extras for those who work on the package."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One thing that is there or not, and what follows."""

    name: str
    fine: bool
    told: str


def checks() -> Iterator[Check]:
    """Look at the machine: Python, the extras, a GPU, WordNet, the folder of data and the hub, in this order."""
    yield Check("rightreasons", True, f"{rightreasons.__version__}, Python {platform.python_version()}")
    yield from _extras()
    yield _gpu()
    yield _wordnet()
    yield _data()
    yield _hub()


def _extras() -> Iterator[Check]:
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("rightreasons") or ():
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", line)
        if match and match[1] != "rightreasons":
            extras.setdefault(match[2], []).append(match[1])
    for extra, packages in extras.items():
        if extra in _SKIPPED:
            continue
        missing = [package for package in packages if installed_version(package) is None]
        state = "installed" if not missing else f"missing {', '.join(missing)}: pip install 'rightreasons[{extra}]'"
        yield Check(f"[{extra}]", not missing, state)


def _gpu() -> Check:
    try:
        from rightreasons.models.running import default_device

        device = str(default_device())
    except ImportError:
        return Check("GPU", False, "unknown without torch")
    return Check("GPU", device != "cpu", "none: models run on the CPU" if device == "cpu" else device)


def _wordnet() -> Check:
    from rightreasons.datasets.perturbing.edits import find_wordnet

    try:
        find_wordnet()
    except (ImportError, ValueError) as error:
        return Check("WordNet", False, f"{in_one_sentence(error)} Without it, no synonyms replace words.")
    return Check("WordNet", True, "found")


def _data() -> Check:
    folder = os.environ.get("RIGHTREASONS_DATA_DIR")
    if not folder:
        return Check("data", True, "downloaded where needed; RIGHTREASONS_DATA_DIR names a folder of local copies")
    there = os.path.isdir(folder)
    return Check("data", there, f"RIGHTREASONS_DATA_DIR is {folder}" + ("" if there else ", which is no folder"))


def _hub() -> Check:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return Check("hub", False, "offline, as HF_HUB_OFFLINE says: local models and data alone")
    why = why_unreached()
    text = f"{constants.ENDPOINT} cannot be reached ({why}): local models and data alone" if why else constants.ENDPOINT
    return Check("hub", not why, text)


@COMMANDS["doctor"].command()
def doctor() -> None:
    """Say what is installed, which extras are missing, and whether there are a GPU, WordNet and the hub.

    Nothing is installed or downloaded; the hub is asked for three seconds at most, and not at all offline.
    """
    found = list(checks())
    hand_over([dataclasses.asdict(check) for check in found])
    print_rows((("ok" if check.fine else "--", check.name, check.told) for check in found), indent="", texts=range(3))


@COMMANDS["modules"].command()
def modules() -> None:
    """List the evaluate modules, with the folder of each as `evaluate.load` takes it."""
    from rightreasons.evaluate_module import available_modules, module_path

    found = available_modules()
    places = {name: str(module_path(name)) for name in found}
    hand_over({name: {"kind": kind, "path": places[name]} for name, kind in found.items()})
    print_rows(((name, kind, places[name]) for name, kind in found.items()), indent="", texts=range(3))

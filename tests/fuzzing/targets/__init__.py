"""The targets, one file each subject."""

import pkgutil
from importlib import import_module


def load_targets():
    """Return the targets by name; the files of this folder are found by listing it."""
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for target in import_module(f"{__name__}.{module.name}").TARGETS:
            found[target.name] = target
    return found

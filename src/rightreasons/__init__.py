"""Is your language model right for the right reasons?

`rightreasons` brings tests of calibration, shortcut learning, superficial cues, answer priors, difficulty and behavior
into the Hugging Face ecosystem. Importing it is quick: neither torch nor evaluate nor datasets is loaded before a
function needs it.

Example:
    >>> import rightreasons
    >>> "ece" in rightreasons.available_modules()
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightreasons.data.builders.catalog import load_dataset as load_dataset
    from rightreasons.modules import available_modules as available_modules
    from rightreasons.modules import load as load
    from rightreasons.modules import module_path as module_path

__version__ = "0.1.0"
__all__ = ["__version__", "available_modules", "load", "load_dataset", "module_path"]

# Where each public name lives; it is imported at its first use.
_HOMES = {
    "available_modules": "rightreasons.modules",
    "load": "rightreasons.modules",
    "load_dataset": "rightreasons.data.builders.catalog",
    "module_path": "rightreasons.modules",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rightreasons' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES[name])
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

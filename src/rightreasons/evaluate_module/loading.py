"""Listing and loading of this package's evaluate modules.

In a checkout their folders are at the top; a wheel carries them as data. `evaluate` is imported
only when a module is loaded, because its import takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.validation import check_kind

MODULE_FOLDERS: Mapping[str, str] = {"metric": "metrics", "measurement": "measurements"}
"""Folder of the modules of each type."""


def available_modules() -> dict[str, str]:
    """List the evaluate modules of this package.

    Returns:
        Name of each module -> its type, "metric" or "measurement", in alphabetical order.

    Example:
        >>> available_modules()["ece"]
        'metric'
    """
    types = {}
    for module_type, folder in MODULE_FOLDERS.items():
        for path in _get_root().joinpath(folder).glob("*/"):
            # The folder of a module has a file of the same name, unlike __pycache__.
            if path.joinpath(f"{path.name}.py").is_file():
                types[path.name] = module_type
    return dict(sorted(types.items()))


def module_path(name: str) -> str:
    """Return the folder of a module, for `evaluate.load`.

    Args:
        name: Name of the module, such as "ece".

    Returns:
        An absolute path, as a string because `evaluate.load` takes nothing else.

    Raises:
        ValueError: If no module has this name. The message gives the nearest name.

    Example:
        >>> Path(module_path("ece")).parts[-2:]
        ('metrics', 'ece')
    """
    check_kind(name, "name", str)
    types = available_modules()
    if name not in types:
        raise make_unknown_name_error("module", name, types)
    return str(_get_root() / MODULE_FOLDERS[types[name]] / name)


def load(name: str, **options: Any) -> Any:
    """Load one of this package's evaluate modules.

    It is short for `evaluate.load(module_path(name), **options)`.

    Args:
        name: Name of the module; `available_modules()` lists them.
        **options: Options of the module, which become the defaults of its `compute`, and options
            of `evaluate.load` (`keep_in_memory`, `experiment_id`, ...).

    Returns:
        An `evaluate.EvaluationModule`.

    Raises:
        ValueError: If the module or an option is unknown.

    Example:
        >>> ece = load("ece", n_bins=10)
        >>> results = ece.compute(predictions=[[0.9, 0.1], [0.2, 0.8]], references=[0, 1])
        >>> round(results["ece"], 6)
        0.15
    """
    path = module_path(name)
    # Imported after the name is checked: the import takes seconds.
    import evaluate

    return evaluate.load(path, module_type=available_modules()[name], **options)


def _get_root() -> Path:
    """Return the folder of `metrics` and `measurements`: data of a wheel, or the checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged_modules = package / "_modules"
    if packaged_modules.is_dir():
        return packaged_modules
    return package.parents[1]

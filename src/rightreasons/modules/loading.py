"""Finds and loads the evaluate modules.

Each module is a folder (`metrics/ece`, `measurements/lmi`, …) that can be published as a Space unchanged. In a checkout
these folders are at the top; a wheel carries them as data. `evaluate` is imported only when a module is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import unknown_name

MODULE_TYPES: Mapping[str, str] = {"metrics": "metric", "measurements": "measurement"}
"""The folder of each type of evaluate module."""


def available_modules() -> dict[str, str]:
    """List the evaluate modules of this package.

    Returns:
        Each module's name with its type, "metric" or "measurement", by name.

    Example:
        >>> available_modules()["ece"]
        'metric'
    """
    types = {}
    for folder, module_type in MODULE_TYPES.items():
        for path in _root().joinpath(folder).glob("*/"):
            if path.joinpath(f"{path.name}.py").is_file():
                types[path.name] = module_type
    return dict(sorted(types.items()))


@checks_kinds
def module_path(name: str) -> str:
    """Return the folder of a module, for `evaluate.load`.

    Args:
        name: The module's name, such as "ece".

    Returns:
        An absolute path, as a string because `evaluate.load` takes nothing else.

    Raises:
        ValueError: If there is no module of that name; the message gives the nearest name.

    Example:
        >>> Path(module_path("ece")).parts[-2:]
        ('metrics', 'ece')
    """
    known = available_modules()
    if name not in known:
        raise unknown_name("module", name, known)
    folder = next(folder for folder, kind in MODULE_TYPES.items() if kind == known[name])
    return str(_root() / folder / name)


def load(name: str, **options: Any) -> Any:
    """Load one of this package's evaluate modules.

    The same as `evaluate.load(module_path(name), **options)`.

    Args:
        name: The module's name; `available_modules()` lists them.
        **options: Options of the module, which become the defaults of its `compute`, and the options of
            `evaluate.load` (`keep_in_memory`, `experiment_id`, `num_process`, …).

    Returns:
        An `evaluate.EvaluationModule`.

    Raises:
        ValueError: If the module or an option is unknown.

    Example:
        >>> ece = load("ece", n_bins=10)
        >>> round(ece.compute(predictions=[[0.9, 0.1], [0.2, 0.8]], references=[0, 1])["ece"], 6)
        0.15
    """
    path = module_path(name)
    import evaluate

    return evaluate.load(path, module_type=available_modules()[name], **options)


def _root() -> Path:
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_modules"
    return shipped if shipped.is_dir() else package.parents[1]

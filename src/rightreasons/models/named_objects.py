"""Models that are defined in a Python file, by names such as "module.py:function".

`load_object` runs the file. The user names it for that purpose, as `python module.py` does; no
pickle is opened, and no code of a model folder is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rightreasons.core.errors import get_first_line
from rightreasons.core.sentences import suggest_similar_names

_MARK = ".py:"


def is_object_name(model: object) -> bool:
    """Return whether a model is the name of an object in a Python file, such as "model.py:predict".

    Example:
        >>> is_object_name("my_model.py:predict"), is_object_name("org/my_model")
        (True, False)
    """
    return isinstance(model, (str, os.PathLike)) and _MARK in os.fspath(model)


def load_object(name: str | os.PathLike[str]) -> Any:
    """Run a Python file, and return an object that it defines.

    Args:
        name: "path/to/module.py:name". The module may import modules of the same folder.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file raises an error, or does not define the object.
    """
    path_text, _, attribute = os.fspath(name).rpartition(":")
    path = Path(path_text).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected a Python file and the name of an object in it, but {path} is not there."
        )
    module = _run_file(path)
    if not hasattr(module, attribute):
        names = [known for known in vars(module) if not known.startswith("_")]
        raise ValueError(
            f"Expected {attribute!r} in {path}, but the file does not define it."
            f"{suggest_similar_names(attribute, names)}"
        )
    return getattr(module, attribute)


def _run_file(path: Path) -> ModuleType:
    """Run a Python file as a module, once per process, and return the module.

    Raises:
        ValueError: If the file cannot be imported, or raises an error.
    """
    resolved = path.resolve()
    # The digest of the path distinguishes files of the same name in different folders.
    digest = hashlib.blake2b(str(resolved).encode(), digest_size=8).hexdigest()
    module_name = f"{path.stem}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, resolved)
    if spec is None or spec.loader is None:
        raise ValueError(f"Expected a Python file, but {path} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses in the file look up their module while the file runs.
    sys.modules[module_name] = module
    # As with `python module.py`, the file may import modules of its folder.
    folder = str(resolved.parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise ValueError(
            f"Expected {path} to define a model, but the file fails: {type(error).__name__}: "
            f"{get_first_line(error)}"
        ) from error
    finally:
        sys.path.remove(folder)
    return module

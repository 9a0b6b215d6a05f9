"""The defaults and limits of all options and public functions, which users rely on, as recorded in public_defaults.txt.

python tests/public_defaults.py    # record them anew, after a deliberate change that CHANGELOG.md names
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import rightreasons
from rightreasons.core.options import Options

RECORD = Path(__file__).with_name("public_defaults.txt")
PACKAGE = Path(rightreasons.__file__).parent


def import_option_modules() -> None:
    """Import all modules that declare options, so that `Options` knows its subclasses."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "= option(" not in path.read_text("utf-8"):
            continue
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        importlib.import_module(".".join(parts).removesuffix(".__init__"))


def list_subclasses(parent: type) -> Iterator[type]:
    """Yield all subclasses of a class that belong to the package, direct or not."""
    for child in parent.__subclasses__():
        # Tests declare options, too.
        if child.__module__.startswith("rightreasons."):
            yield child
        yield from list_subclasses(child)


def list_option_lines() -> Iterator[str]:
    """Yield a line for each option, such as `module.LearningOptions.batch_size = 8 {'minimum': 1}`."""
    import_option_modules()
    for owner in list_subclasses(Options):
        for name, field in owner.model_fields.items():
            # A subclass repeats the options of its base.
            if name not in inspect.get_annotations(owner):
                continue
            limits = field.json_schema_extra or ""
            yield f"{owner.__module__}.{owner.__qualname__}.{name} = {field.default!r} {limits}".rstrip()


def list_public_packages() -> Iterator[ModuleType]:
    """Yield the package and its direct parts, which declare the public names in `__all__`."""
    yield rightreasons
    for part in pkgutil.iter_modules(rightreasons.__path__, "rightreasons."):
        if part.ispkg:
            yield importlib.import_module(part.name)


def list_function_lines() -> Iterator[str]:
    """Yield a line for each parameter of a public function that has a default."""
    for package in list_public_packages():
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if not inspect.isfunction(value):
                continue
            for parameter in inspect.signature(value).parameters.values():
                default = parameter.default
                if default is inspect.Parameter.empty:
                    continue
                # The representation of a function contains its address.
                written = default.__qualname__ if inspect.isfunction(default) else repr(default)
                yield f"{value.__module__}.{name}({parameter.name} = {written})"


def list_defaults() -> list[str]:
    """Return the lines of the record, sorted, each once."""
    return sorted({*list_option_lines(), *list_function_lines()})


if __name__ == "__main__":
    RECORD.write_text("\n".join(list_defaults()) + "\n", encoding="utf-8")

"""data.yaml: where a table is and what its columns mean, as `rightreasons look` writes it and every command takes it.

data: reviews.csv               # relative to this file; or a name, an address, a hub id
separator: ";"                  # how the file is read
text_column: "{{ title }}: {{ body }}"          # a column, or an expression of jinja over columns
label_column: stars
label_names: [bad, good]        # in the order of their numbers, or ["1=bad", "2=good"]
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from rightreasons.core.options import Options, check_options
from rightreasons.core.store import write_text
from rightreasons.core.validation import read_text
from rightreasons.io.files import FileForm
from rightreasons.io.options import ChoiceOptions, PredictionOptions, TextOptions

SUFFIXES = (".yaml", ".yml")

OptionsOfTable = TypeVar("OptionsOfTable", bound=Options)

_OF_FILES = tuple(field.name for field in dataclasses.fields(FileForm))
KEYS = tuple(
    dict.fromkeys(
        ("data", "config", "task", *TextOptions.names(), *ChoiceOptions.names(), *PredictionOptions.names(), *_OF_FILES)
    )
)
"""What a data.yaml may say."""


@dataclasses.dataclass(frozen=True)
class Described:
    """A table, how its file is read, and what is said about its columns."""

    source: Any
    form: FileForm = dataclasses.field(default_factory=FileForm)
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def options(self, options: OptionsOfTable) -> OptionsOfTable:
        """Return options with what the description says where they leave it open."""
        changed = options.changed()
        new = {name: value for name, value in self.given.items() if name in options.names() and name not in changed}
        for name, value in new.items():
            listed = isinstance(value, list)
            if listed:
                new[name] = ",".join(map(str, value)) if name == "score_columns" else tuple(map(str, value))
        return options.replaced(**new) if new else options


def described(source: Any) -> Described:
    """Read what a data.yaml says; anything else is itself, with nothing said about it.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no mapping, says something unknown, or does not say where the data is.

    Example:
        >>> described("reviews.csv").source
        'reviews.csv'
    """
    if isinstance(source, Described):
        return source
    if not isinstance(source, (str, os.PathLike)) or Path(source).suffix.lower() not in SUFFIXES:
        return Described(source)
    import yaml

    path = Path(source)
    try:
        content = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, RecursionError) as error:
        told = str(error).partition("\n")[0]
        raise ValueError(f"Expected YAML in {path}, but it cannot be read as such: {told}.") from None
    if not isinstance(content, dict) or not isinstance(content.get("data"), str):
        raise ValueError(f"Expected {path} to say where the data is, as in `data: reviews.csv`.")
    check_options(content, KEYS, str(path))
    beside = path.parent / content["data"]
    return description_of({**content, "data": str(beside) if beside.exists() else content["data"]})


def description_of(content: Mapping[str, Any]) -> Described:
    """Return what the content of a data.yaml says, whose data is told from here."""
    given = {name: value for name, value in content.items() if value is not None and name != "data"}
    form = FileForm(**{name: given.pop(name) for name in _OF_FILES if name in given})
    return Described(content["data"], form, given)


def write_description(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a data.yaml of what is not None."""
    import yaml

    kept = {name: value for name, value in content.items() if value is not None and value != ()}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}
    return write_text(path, yaml.safe_dump(plain, allow_unicode=True, sort_keys=False))

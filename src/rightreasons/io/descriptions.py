"""Descriptions of data: a data.yaml contains the location of a table, and the meaning of its columns.

`rightreasons look` writes a data.yaml, and every command accepts it:

    data: reviews.csv               # relative to this file; or a name, an address, a hub id
    separator: ";"                  # how the file is read
    text_column: "{{ title }}: {{ body }}"          # a column, or an expression of jinja over columns
    label_column: stars
    label_names: [bad, good]        # in the order of their numbers, or ["1=bad", "2=good"]

`read_description` reads a data.yaml, and also accepts any other source of data. `add_row_options` adds
the rows that `--where` selects, and `add_settled_checks` finds the doubts that it settles.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from rightreasons.core.errors import OptionError
from rightreasons.core.json_files import read_text
from rightreasons.core.options import Options, check_options, format_names
from rightreasons.core.store import write_text
from rightreasons.io.joined_files import JoinedFiles
from rightreasons.io.options import (
    AuditOptions,
    CheckOptions,
    ChoiceOptions,
    LookOptions,
    PredictionOptions,
    RowOptions,
    TextOptions,
)

SUFFIXES = (".yaml", ".yml")
"""Suffixes of descriptions."""

DESCRIPTION_NAME = "data.yaml"
"""Name of the description that `look` writes. A description in a folder of data is read with the folder."""

OptionsOfTable = TypeVar("OptionsOfTable", bound=Options)

_SOURCE_KEYS = ("data", "items", "answers", "join")

KEYS = tuple(
    dict.fromkeys(
        (
            *_SOURCE_KEYS,
            "config",
            "task",
            *TextOptions.list_names(),
            *ChoiceOptions.list_names(),
            *PredictionOptions.list_names(),
            *LookOptions.list_names(),
        )
    )
)
"""Keys that a data.yaml may have."""


@dataclasses.dataclass(frozen=True)
class Description:
    """A source of data, with the settings of a data.yaml.

    Attributes:
        source: Anything that `as_table` accepts, apart from a data.yaml.
        settings: Key of the data.yaml, such as "label_column" -> its value, without the keys of the source.
    """

    source: Any
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def complete(self, options: OptionsOfTable) -> OptionsOfTable:
        """Replace the default values of options by the settings of the data.yaml.

        Args:
            options: The options. Values that the user set are not replaced.
        """
        changes: dict[str, Any] = {}
        given_names = options.get_changes()
        for name, value in self.settings.items():
            if name not in options.list_names() or name in given_names:
                continue
            # Lists become tuples, except for this option, whose value is a string.
            if isinstance(value, list) and name == "score_columns":
                value = format_names(value)
            elif isinstance(value, list):
                value = tuple(map(str, value))
            changes[name] = value
        return options.replace(**changes) if changes else options


def read_description(source: Any) -> Description:
    """Read a data.yaml, also one in a folder of data; any other source has no settings.

    Args:
        source: The path of a data.yaml, or anything else that `as_table` accepts.

    Returns:
        The source of the rows, and the settings of the data.yaml.

    Raises:
        FileNotFoundError: If the data.yaml does not exist.
        ValueError: If the file is not a mapping, has an unknown key, or does not name the data.

    Example:
        >>> read_description("reviews.csv").source
        'reviews.csv'
    """
    if isinstance(source, Description):
        # The source may be a folder with another data.yaml, whose settings are replaced.
        inner = read_description(source.source)
        return Description(inner.source, {**inner.settings, **source.settings})
    if not isinstance(source, (str, os.PathLike)):
        return Description(source)
    path = Path(source)
    if path.suffix.lower() in SUFFIXES:
        return _read_file(path)
    if _is_description(path / DESCRIPTION_NAME):
        return _read_file(path / DESCRIPTION_NAME)
    return Description(source)


def make_description(content: Mapping[str, Any]) -> Description:
    """Return the description with the content of a data.yaml.

    Args:
        content: Key of the data.yaml -> value. The key "data" is required, and values of None are
            dropped. Paths are relative to the working directory.
    """
    settings = {}
    for name, value in content.items():
        if name != "data" and value is not None:
            settings[name] = value
    return Description(content["data"], settings)


def write_description(path: Path, content: Mapping[str, Any]) -> Path:
    """Write a data.yaml, and return its path.

    Args:
        path: The file.
        content: Key of the data.yaml -> value; None and empty tuples are not written.
    """
    import yaml

    values = {}
    for name, value in content.items():
        if value is None or value == ():
            continue
        # YAML has no tuples.
        if isinstance(value, tuple):
            value = list(value)
        values[name] = value
    return write_text(path, yaml.safe_dump(values, allow_unicode=True, sort_keys=False))


# ------------------------------------------------------------------------------- private


def _read_file(path: Path) -> Description:
    """Read a data.yaml.

    Args:
        path: The file. Paths in it are relative to its folder.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not a mapping, has an unknown key, or does not name the data.
    """
    import yaml

    try:
        content = yaml.safe_load(read_text(path))
    # A RecursionError is raised for YAML that is nested very deeply.
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"Expected valid YAML in {path}, but parsing failed: {reason}.") from None
    is_mapping = isinstance(content, dict)
    if is_mapping:
        _check_files(content, path)
    # The data is a single file, or a file of items and a file of answers.
    has_two_files = is_mapping and {"items", "answers"} <= content.keys()
    has_data = is_mapping and isinstance(content.get("data"), str)
    if not has_two_files and not has_data:
        raise ValueError(f"Expected {path} to say where the data is, as in `data: reviews.csv`.")
    check_options(content, KEYS, str(path))

    settings = {key: value for key, value in content.items() if key not in _SOURCE_KEYS}
    if has_two_files:
        items = _resolve_path(path, str(content["items"]))
        answers = _resolve_path(path, str(content["answers"]))
        source: Any = JoinedFiles(items, answers, content.get("join"))
    else:
        source = _resolve_path(path, content["data"])
    return make_description({"data": source, **settings})


def _check_files(content: Mapping[str, Any], path: Path) -> None:
    """Check that a data.yaml names either one file of data, or a file of items and a file of answers.

    Args:
        content: The content of the data.yaml.
        path: The data.yaml, for error messages.

    Raises:
        OptionError: If it names only one of the two files, or a file of data in addition to both.
    """
    if {"items", "answers"} <= content.keys():
        if "data" in content:
            raise OptionError(
                f"Expected either `data` or both `items` and `answers` in {path}, but got all "
                "three.",
                option=("data", "items", "answers"),
            )
        return
    # Each of these keys requires another one.
    for name, partner in (("items", "answers"), ("answers", "items"), ("join", "items")):
        if name in content:
            raise OptionError(
                f"Expected `{partner}` in addition to `{name}` in {path}, because items and "
                "answers are two files that are joined by their ids.",
                option=name,
            )


def _is_description(path: Path) -> bool:
    """Return whether a file is a data.yaml of this package, in which all keys are known.

    Other tools write files with the same name.

    Args:
        path: The file, which may not exist.
    """
    # Unlike methods of Path, this function accepts names that are too long for a path.
    if not os.path.isfile(path):
        return False
    import yaml

    # A file that cannot be parsed is not from this package.
    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError, OSError):
        content = yaml.safe_load(read_text(path))
        return isinstance(content, dict) and content.keys() <= set(KEYS)
    return False


def _resolve_path(path: Path, name: str) -> str:
    """Return the path of a file relative to that of a data.yaml; a name that is not a file is unchanged."""
    file = path.parent / name
    return str(file) if file.exists() else name


# --- Options of a description


def add_row_options(source: Any, options: RowOptions) -> Any:
    """Attach the options that select rows, such as `--where`, to a source of rows.

    Args:
        source: Anything that `as_table` accepts; None if there is no source.
        options: Options, of which only those of `RowOptions` are used.

    Returns:
        A description of the source with the options that were changed. If none was changed, the source
        itself, so that a table in memory keeps its type.
    """
    names = RowOptions.list_names()
    changes = {name: value for name, value in options.get_changes().items() if name in names}
    # Without changes, a table in memory does not become a description.
    if not changes or source is None:
        return source
    description = read_description(source)
    return dataclasses.replace(description, settings={**description.settings, **changes})


def add_settled_checks(options: AuditOptions, *sources: Any) -> AuditOptions:
    """Add the checks of rows that a data.yaml lists as settled to the options of an audit.

    Args:
        options: The options, returned unchanged if they name settled checks themselves.
        *sources: The data and the predictions: a data.yaml, another source, which has no settings, or
            None. The first data.yaml with settled checks is used.
    """
    # Checks that the user names replace those of a data.yaml.
    if options.settled_checks:
        return options
    for source in sources:
        settled = read_description(source).complete(CheckOptions()).settled_checks
        if settled:
            return options.replace(settled_checks=settled)
    return options

"""Descriptions of data: a data.yaml says where a table is, and what its columns mean.

`rightreasons look` writes one, and every command takes it:

    data: reviews.csv               # relative to this file; or a name, an address, a hub id
    separator: ";"                  # how the file is read
    text_column: "{{ title }}: {{ body }}"          # a column, or an expression of jinja over columns
    label_column: stars
    label_names: [bad, good]        # in the order of their numbers, or ["1=bad", "2=good"]

`read_description` reads one, and takes any other source of data as it is.
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
from rightreasons.io.options import ChoiceOptions, LookOptions, PredictionOptions, TextOptions

SUFFIXES = (".yaml", ".yml")
"""Suffixes of descriptions."""

DESCRIPTION_NAME = "data.yaml"
"""What `look` calls a description; one in a folder is read with the folder."""

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
"""What a data.yaml may say."""


@dataclasses.dataclass(frozen=True)
class Description:
    """A source of data, and what is said about its file and its columns.

    Attributes:
        source: Anything that `as_table` takes, apart from a data.yaml.
        settings: Key of a data.yaml -> its value, for what is said.
    """

    source: Any
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def complete(self, options: OptionsOfTable) -> OptionsOfTable:
        """Return options with the settings of the data.yaml in place of defaults.

        Args:
            options: The options; those that the user gave are kept.
        """
        changes: dict[str, Any] = {}
        given_names = options.get_changes()
        for name, value in self.settings.items():
            if name not in options.list_names() or name in given_names:
                continue
            # A list of YAML is a tuple in options, apart from this one, which is a text.
            if isinstance(value, list) and name == "score_columns":
                value = format_names(value)
            elif isinstance(value, list):
                value = tuple(map(str, value))
            changes[name] = value
        return options.replace(**changes) if changes else options


def read_description(source: Any) -> Description:
    """Read a data.yaml, or the one in a folder; another source has no settings.

    Args:
        source: The path of a data.yaml, or anything else that `as_table` takes.

    Returns:
        The source of the rows, and the settings of the data.yaml.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no mapping, has an unknown key, or does not name the data.

    Example:
        >>> read_description("reviews.csv").source
        'reviews.csv'
    """
    if isinstance(source, Description):
        # The source may be a folder with a data.yaml, whose settings count less.
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
        content: Key of a data.yaml -> value, `data` among them; values of None are dropped. Paths are
            relative to the working directory.
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
        content: Key of a data.yaml -> value; values of None and empty tuples are left out.
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
        path: The file, to whose folder the paths in it are relative.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no mapping, has an unknown key, or does not name the data.
    """
    import yaml

    try:
        content = yaml.safe_load(read_text(path))
    # YAML that is nested very deeply ends in a RecursionError.
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"Expected valid YAML in {path}, but parsing failed: {reason}.") from None
    is_mapping = isinstance(content, dict)
    if is_mapping:
        _check_files(content, path)
    # The data is one file, or a file of items and one of answers.
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
    """Check that a data.yaml names one file, or both of two files that are joined.

    Args:
        content: The content of the file.
        path: The file, for errors.

    Raises:
        OptionError: If it names only one of two files, or a third one.
    """
    if {"items", "answers"} <= content.keys():
        if "data" in content:
            raise OptionError(
                f"Expected either `data` or both `items` and `answers` in {path}, but got all "
                "three.",
                option=("data", "items", "answers"),
            )
        return
    # Each of these keys needs another one next to it.
    for name, partner in (("items", "answers"), ("answers", "items"), ("join", "items")):
        if name in content:
            raise OptionError(
                f"Expected `{partner}` in addition to `{name}` in {path}, because items and "
                "answers are two files that are joined by their ids.",
                option=name,
            )


def _is_description(path: Path) -> bool:
    """Return whether a file is a data.yaml of this package: its keys are known ones.

    Other tools have files of that name.
    """
    # `os.path.isfile` accepts names that are too long for a path.
    if not os.path.isfile(path):
        return False
    import yaml

    # A file that cannot be read is none of ours.
    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError, OSError):
        content = yaml.safe_load(read_text(path))
        return isinstance(content, dict) and content.keys() <= set(KEYS)
    return False


def _resolve_path(path: Path, name: str) -> str:
    """Return the path of a file that a data.yaml names relative to itself; another name as it is."""
    file = path.parent / name
    return str(file) if file.exists() else name

"""JSON documents and text files of other people, read within limits.

`read_json` reads a file, `parse_json` a text, and `read_tagged_json` a file of ours that others may
have changed. Whatever is in it, the error is one sentence that names the place.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_kind

MAX_NESTING = 64
"""Largest number of levels of lists and objects inside one another."""

MAX_JSON_CHARACTERS = 1 << 28
"""Largest number of characters of one JSON document. In a file of JSON lines, each line is one."""

_STRING_PATTERN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def parse_json(text: str, source: str, *, line: int | None = None) -> Any:
    """Parse one JSON document within the limits.

    Args:
        text: The document.
        source: Name of the file, for error messages.
        line: Number of the line, if the document is one line of the file. None for a whole file.

    Returns:
        The content of the document.

    Raises:
        ValueError: If the document is not JSON, is too long, is nested too deeply, or contains a
            number of too many digits.

    Example:
        >>> parse_json('{"a": [1, 2]}', "a.json")
        {'a': [1, 2]}
        >>> parse_json('{"a": }', "a.jsonl", line=7)
        Traceback (most recent call last):
        ...
        ValueError: Expected JSON in a.jsonl, but parsing failed at line 7, column 7: Expecting value.
    """
    # Errors of a file of JSON lines name the line.
    location = source
    if line is not None:
        location = f"line {line} of {source}"
    if len(text) > MAX_JSON_CHARACTERS:
        raise ValueError(
            f"Expected at most {MAX_JSON_CHARACTERS:,} characters of JSON in {location}, "
            f"but got {len(text):,}."
        )
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        error_line = error.lineno if line is None else line
        raise ValueError(
            f"Expected JSON in {source}, but parsing failed at line {error_line}, column "
            f"{error.colno}: {error.msg}."
        ) from None
    except RecursionError:
        raise _make_depth_error(location) from None
    # Python refuses to convert numbers of more than 4,300 digits, because it would take long.
    except ValueError:
        raise ValueError(
            f"Expected JSON in {location}, but it holds a number of more than 4,300 digits."
        ) from None

    # Counting brackets is cheap. Only a document with many of them can be deep.
    n_brackets = text.count("[") + text.count("{")
    if n_brackets > MAX_NESTING and _measure_depth(text) > MAX_NESTING:
        raise _make_depth_error(location)
    return content


def read_text(file: Path, name: str | None = None) -> str:
    """Read a text file in UTF-8, with or without a byte order mark.

    Args:
        file: The file.
        name: Name of the file in error messages. If None, its path.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    if not file.is_file():
        raise FileNotFoundError(f"Expected a file at {name or file}, but there is no such file.")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"Expected text in UTF-8 in {name or file}, but some bytes are invalid."
        ) from None


def read_json(file: Path) -> Any:
    """Read one JSON document from a file within the limits; see `parse_json` and `read_text`."""
    return parse_json(read_text(file), str(file))


def read_tagged_json(file: str | os.PathLike[str], tag: str, description: str) -> dict[str, Any]:
    """Read a JSON object whose entry "format" says what it is.

    Args:
        file: The file.
        tag: Expected value of the entry "format".
        description: What the file should hold, for the error message, as in "a recalibrator".

    Raises:
        TypeError: If `file` is not a path.
        FileNotFoundError: If there is no file.
        ValueError: If it holds something else.
    """
    check_kind(file, "file", str | os.PathLike)
    content = read_json(Path(file))
    if not isinstance(content, dict) or content.get("format") != tag:
        raise ValueError(f"Expected {description} in {file}, but it holds {format_value(content)}.")
    return content


def _measure_depth(text: str) -> int:
    """Return the largest number of nested lists and objects of a valid JSON document.

    Args:
        text: The document.
    """
    # Brackets inside strings are not levels, so strings are removed. The rest is encoded as one byte
    # per character.
    structure = _STRING_PATTERN.sub("", text).encode("ascii", "replace")
    characters = np.frombuffer(structure, dtype=np.uint8)
    # +1 for each opening and -1 for each closing bracket: their running sum is the depth.
    steps = np.zeros(len(characters), dtype=np.int8)
    for bracket in b"[{":
        steps[characters == bracket] = 1
    for bracket in b"]}":
        steps[characters == bracket] = -1
    levels = np.cumsum(steps, dtype=np.int32)
    return int(levels.max(initial=0))


def _make_depth_error(location: str) -> ValueError:
    return ValueError(
        f"Expected JSON of at most {MAX_NESTING} levels in {location}, but it is nested deeper."
    )

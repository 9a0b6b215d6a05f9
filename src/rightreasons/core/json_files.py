"""JSON documents, read within limits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

MAX_NESTING = 64
"""Levels of lists and objects within one another."""

MAX_JSON_CHARACTERS = 1 << 28
"""Characters of one JSON document. A file of JSON lines may be longer; each of its lines may not."""

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def parse_json(text: str, where: str, *, line: int | None = None) -> Any:
    """Parse one JSON document within the limits.

    Args:
        text: The document.
        where: What it is called, for errors.
        line: The number of the line of `where` that the document is; None where it is the whole file.

    Returns:
        Its content.

    Raises:
        ValueError: If it is not JSON, or is longer, nested deeper or holds longer numbers than the limits allow.

    Example:
        >>> parse_json('{"a": [1, 2]}', "a.json")
        {'a': [1, 2]}
        >>> parse_json('{"a": }', "a.jsonl", line=7)
        Traceback (most recent call last):
        ...
        ValueError: Expected JSON in a.jsonl, but line 7, column 7 cannot be read as such: Expecting value.
    """
    place = where if line is None else f"line {line} of {where}"
    if len(text) > MAX_JSON_CHARACTERS:
        raise ValueError(
            f"Expected at most {MAX_JSON_CHARACTERS:,} characters of JSON in {place}, but got {len(text):,}."
        )
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"Expected JSON in {where}, but line {error.lineno if line is None else line}, column {error.colno} cannot "
            f"be read as such: {error.msg}."
        ) from None
    except RecursionError:
        raise _make_depth_error(place) from None
    except ValueError:  # Python's own limit on digits
        raise ValueError(
            f"Expected JSON in {place}, but it holds a number of more than 4,300 digits."
        ) from None
    if text.count("[") + text.count("{") > MAX_NESTING and _measure_depth(text) > MAX_NESTING:
        raise _make_depth_error(place)
    return content


def read_text(file: Path, where: str | None = None) -> str:
    """Read a text file in UTF-8, which may begin with a mark of its byte order.

    Args:
        file: The file.
        where: What it is called, for errors; None for its path.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it holds other bytes.
    """
    if not file.is_file():
        raise FileNotFoundError(f"Expected a file at {where or file}, but there is none.")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"Expected text in UTF-8 in {where or file}, but it holds other bytes."
        ) from None


def read_json(file: Path) -> Any:
    """Read one JSON document from a file within the limits; see `parse_json` and `read_text`."""
    return parse_json(read_text(file), str(file))


def _measure_depth(text: str) -> int:
    """Return how deep a valid document is nested."""
    marks = np.frombuffer(_STRING.sub("", text).encode("ascii", "replace"), dtype=np.uint8)
    steps = np.zeros(len(marks), dtype=np.int8)
    steps[(marks == ord("[")) | (marks == ord("{"))] = 1
    steps[(marks == ord("]")) | (marks == ord("}"))] = -1
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _make_depth_error(place: str) -> ValueError:
    return ValueError(
        f"Expected JSON of at most {MAX_NESTING} levels in {place}, but it is nested deeper."
    )

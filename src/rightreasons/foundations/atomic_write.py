"""Writing files so that a reader never finds half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_with(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a file beside `path`, then put it in its place: it is there whole, or as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file whole."""
    return write_with(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> Path:
    """Write a UTF-8 text whole; what UTF-8 cannot hold, such as half a surrogate pair, becomes a question mark."""
    return write_bytes(path, content.encode("utf-8", "replace"))


def write_json(path: Path, value: Any) -> Path:
    """Write JSON whole; NaN, which JSON has not, is an error."""
    return write_text(path, json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n")

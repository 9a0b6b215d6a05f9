"""Writing files so that a reader never finds half of one, and checking first that they can be written."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any


def check_folder(path: object, name: str = "out", *, own: Sequence[str] = ()) -> Path:
    """Check that a folder can take a result, before anything long begins; nothing is left behind.

    Args:
        path: The folder; it need not exist.
        name: The name of the argument, for errors.
        own: What an earlier result of this kind leaves in its folder, the file that marks it first. With it, a folder
            that holds anything else, such as a model, is refused.

    Returns:
        The folder.

    Raises:
        TypeError: If it is no path.
        ValueError: If it is empty, a file, cannot be written, or holds other files than an earlier result.

    Example:
        >>> check_folder("/dev/null/report")
        Traceback (most recent call last):
        ...
        ValueError: Expected `out` to be a folder, but /dev/null is a file.
    """
    folder = _path(path, name, "a folder")
    try:
        there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not there.is_dir():
            raise ValueError(f"Expected `{name}` to be a folder, but {there} is a file.")
        # Whether a folder can be written is known for certain by writing: a superuser may do what a file system cannot.
        with tempfile.TemporaryFile(dir=there):
            pass
        marked = there != folder or not own or (folder / own[0]).exists()
        held = [] if marked else sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise ValueError(
            f"Expected `{name}` to be a folder that can be written, but {_shown(folder)} cannot: "
            f"{(error.strerror or str(error)).lower()}."
        ) from error
    others = [each for each in held if each not in own]
    if others:
        raise ValueError(
            f"Expected `{name}` to be a new folder or that of an earlier result, but {folder} holds "
            f"{', '.join(others[:5])}{', …' if len(others) > 5 else ''}."
        )
    return folder


def check_file(path: object, name: str = "out") -> Path:
    """Check that a file can be written, before anything long begins; what is in it stays.

    Args:
        path: The file; it need not exist.
        name: The name of the argument, for errors.

    Returns:
        The file.

    Raises:
        TypeError: If it is no path.
        ValueError: If it is empty or a folder, or its folder cannot be written.

    Example:
        >>> check_file("/")
        Traceback (most recent call last):
        ...
        ValueError: Expected `out` to be a file, but / is a folder.
    """
    file = _path(path, name, "a file")
    check_folder(file.absolute().parent, name)
    try:
        is_folder = file.is_dir()
        file.exists()
    except OSError as error:
        raise ValueError(
            f"Expected `{name}` to be a file that can be written, but {_shown(file)} cannot: {error.strerror}."
        ) from error
    if is_folder:
        raise ValueError(f"Expected `{name}` to be a file, but {file} is a folder.")
    return file


def check_room(folder: Path) -> None:
    """Write a megabyte to a folder and remove it, to learn what a library does not tell: that the disk is full.

    Args:
        folder: The folder, which exists.

    Raises:
        OSError: If it cannot be written.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(1 << 20))
    except OSError as error:
        error.filename = error.filename or os.fspath(folder)
        raise


def write_with(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a file beside `path`, then put it in its place: it is there whole, or as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        # Python names a file that it cannot open, but not one that the disk has no room for.
        if error.errno is not None and (error.filename is None or Path(error.filename) == temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file whole."""
    return write_with(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> Path:
    """Write a UTF-8 text whole; what UTF-8 cannot hold, such as half a surrogate pair, becomes a question mark."""
    return write_bytes(path, content.encode("utf-8", "replace"))


def json_text(value: Any) -> str:
    """Write a value as JSON; NaN, which JSON has not, is an error."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_json(path: Path, value: Any) -> Path:
    """Write JSON whole, as `json_text` makes it."""
    return write_text(path, json_text(value))


def json_lines(rows: Iterable[Any]) -> str:
    r"""Write values as JSON, each on a line of its own.

    Example:
        >>> json_lines([{"text": "é"}, [1, None]])
        '{"text": "é"}\n[1, null]\n'
    """
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _path(path: object, name: str, kind: str) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"Expected `{name}` to be {kind}, but got {path!r} ({type(path).__name__}).")
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise ValueError(f"Expected `{name}` to be {kind}, but got {text!r}.")
    return Path(text)


def _shown(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:100]}…{text[-50:]}"

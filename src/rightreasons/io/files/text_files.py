"""Text files: their encoding, searches for bytes, and lines of limited length."""

from __future__ import annotations

import codecs
import functools
import mmap
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rightreasons.core.errors import OptionError
from rightreasons.core.limits import MAX_LINE_CHARACTERS
from rightreasons.io.files.compressed import BLOCK_BYTES

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1f]")
"""Characters that do not occur in text."""

DEFAULT_ENCODING = "utf-8-sig"
"""UTF-8, with or without a byte order mark."""


def read_head(path: Path) -> bytes:
    """Return the first block of a file."""
    with path.open("rb") as stream:
        return stream.read(BLOCK_BYTES)


def find_encoding(
    path: Path, source_name: str, encoding: str | None, *, can_be_cp1252: bool = True
) -> str:
    """Return the encoding of a text file: the one of an option or a byte order mark, UTF-8, or cp1252.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.
        encoding: The encoding from an option; None to find it.
        can_be_cp1252: Whether the file may be in cp1252, the encoding of spreadsheets; JSON never is.

    Raises:
        OptionError: If the encoding is unknown, or if the file contains bytes that it does not allow.

    Warns:
        UserWarning: If the file is read as cp1252.
    """
    head = read_head(path)
    # The codec "utf-16" derives the byte order from the mark.
    if not encoding and head[:2] in UTF16_MARKS:
        encoding = "utf-16"
    try:
        beginning = _decode_all(path, encoding or DEFAULT_ENCODING)
        # Without a byte order mark, UTF-16 is valid UTF-8, but with a NUL after each letter.
        if "\0" not in beginning:
            return encoding or DEFAULT_ENCODING
    except LookupError:
        raise OptionError(
            f"Expected the name of an encoding, but got {encoding!r}.", option="encoding"
        ) from None
    except UnicodeError:
        beginning = head.decode("cp1252", "replace")
    else:
        raise OptionError(
            f"Expected text in {source_name}, but it contains NUL characters. If it is in UTF-16, set "
            "`encoding` to utf-16-le or utf-16-be. Otherwise, remove these characters.",
            option="encoding",
        )
    # Nearly all bytes are valid in cp1252. Control characters, and bytes without a character, show that
    # the file has another encoding.
    is_cp1252 = "\ufffd" not in beginning and not CONTROL_CHARACTERS.search(beginning)
    if encoding or not can_be_cp1252 or not is_cp1252:
        raise OptionError(
            f"Expected {encoding or 'UTF-8'} text in {source_name}, but some bytes are invalid. "
            "Set `encoding` to the encoding of the file.",
            option="encoding",
        )
    warnings.warn(
        f"{source_name} is not in UTF-8 and is read as cp1252, the usual encoding of "
        "spreadsheets. If this is incorrect, set `encoding`.",
        stacklevel=2,
    )
    return "cp1252"


def _decode_all(path: Path, encoding: str) -> str:
    """Decode a whole file block by block, and return the first block.

    Raises:
        LookupError: If the encoding is unknown.
        UnicodeError: If the file is not valid in the encoding.
    """
    with path.open(encoding=encoding, newline="") as stream:
        beginning = stream.read(BLOCK_BYTES)
        while stream.read(BLOCK_BYTES):
            pass
    return beginning


def contains_bytes(path: Path, pattern: bytes) -> bool:
    """Return whether a file contains a sequence of bytes, without loading the file into memory.

    Args:
        path: The file.
        pattern: The sequence of bytes.
    """
    # An empty file cannot be mapped to memory.
    if path.stat().st_size == 0:
        return False
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(pattern) >= 0


def iterate_lines(stream: IO[str], source_name: str) -> Iterator[str]:
    """Yield the lines of a text file, with their line ends.

    Args:
        stream: The open file.
        source_name: Name of the file, for error messages.

    Raises:
        ValueError: If a line is longer than `MAX_LINE_CHARACTERS`.
    """
    # One character more than allowed is enough to see that a line is too long. `iter` calls the function
    # until it returns "", at the end of the file.
    read_line = functools.partial(stream.readline, MAX_LINE_CHARACTERS + 1)
    for number, line in enumerate(iter(read_line, ""), start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            raise ValueError(
                f"Expected at most {MAX_LINE_CHARACTERS:,} characters per line in {source_name}, "
                f"but line {number} has more."
            )
        yield line

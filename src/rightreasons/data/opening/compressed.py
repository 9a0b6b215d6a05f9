"""Unpacks a compressed data file (`reviews.csv.gz`) within a bound, so that the readers of plain files can read it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

EXPANSION = 100
"""A file may hold this many times its size, or `SMALL` bytes if that is more."""

SMALL = 1 << 28

_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)
_BLOCK = 1 << 20


def _zipped(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(files) != 1:
        raise ValueError(f"Expected one file in {path}, but it holds {len(files):,}: unpack it into a folder.")
    return archive.open(files[0])


COMPRESSIONS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(str(path), compression="zstd"),
    ".zip": _zipped,
}
"""How each kind of compressed file is opened; a .zip holds one file."""


def data_type(path: Path) -> str:
    """Return the suffix that tells the format of a file, compressed or not.

    Example:
        >>> data_type(Path("a.csv")), data_type(Path("b/a.JSONL.gz"))
        ('.csv', '.jsonl')
    """
    return Path(plain_name(path)).suffix.lower()


def plain_name(path: Path) -> str:
    """Return the name of a file without the suffix of its compression.

    Example:
        >>> plain_name(Path("b/dev.jsonl.gz"))
        'dev.jsonl'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


@contextmanager
def unpacked(path: Path, maximum: int | None = None) -> Iterator[Path]:
    """Unpack a compressed file for as long as it is read; another file is left where it is.

    Args:
        path: The file.
        maximum: The number of bytes that it may hold; None for `EXPANSION` times its size, or `SMALL` if that is more.

    Yields:
        The unpacked file, which keeps its name. Errors that name it name the compressed one.

    Raises:
        ValueError: If it is damaged, holds more than `maximum`, or is a .zip of several files.
    """
    compression = path.suffix.lower()
    if compression not in COMPRESSIONS:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / plain_name(path)
        allowed = max(SMALL, EXPANSION * path.stat().st_size) if maximum is None else maximum
        try:
            with COMPRESSIONS[compression](path) as source, plain.open("wb") as target:
                left = allowed
                while left >= 0 and (block := source.read(_BLOCK)):
                    left -= target.write(block)
        except _DAMAGED:
            raise ValueError(f"Expected a file compressed as {compression}, but {path} cannot be unpacked.") from None
        if left < 0:
            raise ValueError(
                f"Expected {path}, which has {path.stat().st_size:,} bytes, to hold at most {allowed:,}, but it holds "
                "more."
            )
        shutil.copystat(path, plain)
        try:
            yield plain
        except ValueError as error:
            names = {str(plain): str(path), plain.name: path.name}
            sentence = re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], str(error))
            raise ValueError(sentence) from None

"""Names of data files, and compressed ones unpacked for as long as they are read.

`get_data_type` and `strip_compression` read the name of a file. `unpack_file` unpacks it within the
limit that `get_max_bytes` sets.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from rightreasons.core.sentences import format_list

FILE_TYPES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".npz", ".npy", ".xlsx", ".eval")
"""Suffixes of the files that can be read."""

COMPRESSIONS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: pa.input_stream(str(path), compression="zstd"),
    ".zip": zipfile.ZipFile,
}
"""Suffix of a compressed file -> the function that opens it; a .zip holds one file of data."""

MAX_EXPANSION = 100
"""Largest number of times its own size that a file may hold."""

MIN_ALLOWED_BYTES = 1 << 28
"""Number of bytes that any file may hold, however small it is."""

BLOCK_BYTES = 1 << 20
"""Number of bytes that are read at a time."""

_DAMAGE_ERRORS = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    RuntimeError,
    NotImplementedError,
)


def get_data_type(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format of a file, compressed or not.

    Example:
        >>> get_data_type("a.csv"), get_data_type(Path("b/a.JSONL.gz"))
        ('.csv', '.jsonl')
    """
    return strip_compression(path).suffix.lower()


def strip_compression(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file without the suffix of its compression.

    Example:
        >>> strip_compression("b/dev.jsonl.gz").as_posix()
        'b/dev.jsonl'
    """
    file = Path(path)
    # Other suffixes are a part of the name, as in "reviews.v2.csv".
    if file.suffix.lower() not in COMPRESSIONS:
        return file
    return file.with_suffix("")


def get_max_bytes(path: Path) -> int:
    """Return how many bytes a file may hold once it is unpacked."""
    return max(MIN_ALLOWED_BYTES, MAX_EXPANSION * path.stat().st_size)


def make_size_error(path: Path, source_name: str, max_bytes: int) -> ValueError:
    """Return the error for a file that unpacks to more bytes than it may.

    Args:
        path: The file.
        source_name: What it is called in errors.
        max_bytes: The number of bytes that it may unpack to.
    """
    n_bytes = path.stat().st_size
    return ValueError(
        f"Expected {source_name} ({n_bytes:,} bytes) to hold at most {max_bytes:,} bytes of "
        "data, but the data is larger."
    )


@contextmanager
def unpack_file(path: Path, max_bytes: int | None = None, source_name: str = "") -> Iterator[Path]:
    """Unpack a compressed file into a temporary folder, as a context manager.

    Args:
        path: The file; one that is not compressed is yielded itself.
        max_bytes: The number of bytes that it may unpack to; None for `get_max_bytes`.
        source_name: What it is called in errors; "" for its path.

    Yields:
        The unpacked file, which keeps its name without the suffix; of a .zip, the file in it.

    Raises:
        ValueError: If it is damaged, unpacks to more than `max_bytes`, or is a .zip of several files.
    """
    source_name = source_name or str(path)
    compression = path.suffix.lower()
    if compression not in COMPRESSIONS:
        yield path
        return
    if max_bytes is None:
        max_bytes = get_max_bytes(path)
    with tempfile.TemporaryDirectory() as folder:
        try:
            file = _unpack_into(folder, path, max_bytes)
        # Each kind of compression has its own errors.
        except _DAMAGE_ERRORS:
            raise ValueError(
                f"Expected a file compressed as {compression}, but {source_name} cannot be unpacked."
            ) from None
        if file.stat().st_size > max_bytes:
            raise make_size_error(path, source_name, max_bytes)
        yield file


def _unpack_into(folder: str, path: Path, max_bytes: int) -> Path:
    """Write the content of a compressed file into a folder, and return the new file.

    Args:
        folder: The folder.
        path: The compressed file.
        max_bytes: Writing ends with the block that exceeds this size, because a small file may
            expand without an end.
    """
    compression = path.suffix.lower()
    with contextlib.ExitStack() as stack:
        source: Any = stack.enter_context(COMPRESSIONS[compression](path))
        name = strip_compression(path).name
        # A .zip is no stream of bytes, but the file in it is.
        if isinstance(source, zipfile.ZipFile):
            source = stack.enter_context(_open_member(source, path))
            name = Path(source.name).name
        file = Path(folder, name)
        target = stack.enter_context(file.open("wb"))
        n_bytes = 0
        # Read block by block, so that a large file never fills the memory.
        while n_bytes <= max_bytes:
            block = source.read(BLOCK_BYTES)
            if not block:
                break
            n_bytes += target.write(block)
    return file


def _open_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    """Open the file of data in a .zip: the only one with a suffix of data, or else its only file.

    Args:
        archive: The open archive.
        path: Its path, for errors.

    Raises:
        ValueError: If there are several.
    """
    visible_names = []
    for entry in archive.infolist():
        # macOS adds hidden files to each archive.
        is_hidden = Path(entry.filename).name.startswith(".")
        if not entry.is_dir() and not is_hidden and not entry.filename.startswith("__MACOSX/"):
            visible_names.append(entry.filename)
    # A README may be next to the table.
    names = [name for name in visible_names if get_data_type(name) in FILE_TYPES]
    if not names:
        names = visible_names
    if len(names) != 1:
        raise ValueError(
            f"Expected one table in the archive {path}, but got "
            f"{format_list(names) or 'no file'}. Unpack the archive into a folder."
        )
    return archive.open(names[0])

"""Names of data files, and a context manager that unpacks compressed files.

`get_data_type` and `strip_compression` parse the name of a file. `unpack_file` unpacks it, up to the size
that `get_max_bytes` returns.
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
"""Suffix of a compressed file -> the function that opens it. A .zip contains one file of data."""

MAX_EXPANSION = 100
"""Maximum ratio of the size of an unpacked file to the size of the compressed file."""

MIN_ALLOWED_BYTES = 1 << 28
"""Number of bytes to which every file may be unpacked, however small it is."""

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
    """Return the suffix that shows the format of a file, without the suffix of its compression.

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
    """Return the maximum number of bytes to which a file may be unpacked."""
    return max(MIN_ALLOWED_BYTES, MAX_EXPANSION * path.stat().st_size)


def make_size_error(path: Path, source_name: str, max_bytes: int) -> ValueError:
    """Return the error for a file that is too large when it is unpacked.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.
        max_bytes: The maximum number of bytes of the unpacked file.
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
        path: The file. A file that is not compressed is yielded unchanged.
        max_bytes: The maximum number of bytes of the unpacked file; None for `get_max_bytes`.
        source_name: Name of the file, for error messages; "" for its path.

    Yields:
        The unpacked file, whose name has no suffix of a compression, or the file inside a .zip.

    Raises:
        ValueError: If the file is damaged, is larger than `max_bytes` when unpacked, or is a .zip of
            several files.
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
        # Each compression library raises its own types of errors.
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
        max_bytes: The size beyond which writing stops, because a small file may expand enormously.
    """
    compression = path.suffix.lower()
    with contextlib.ExitStack() as stack:
        source: Any = stack.enter_context(COMPRESSIONS[compression](path))
        name = strip_compression(path).name
        # A .zip is an archive, from which a file has to be opened.
        if isinstance(source, zipfile.ZipFile):
            source = stack.enter_context(_open_member(source, path))
            name = Path(source.name).name
        file = Path(folder, name)
        target = stack.enter_context(file.open("wb"))
        n_bytes = 0
        # Blocks keep a large file from filling the memory.
        while n_bytes <= max_bytes:
            block = source.read(BLOCK_BYTES)
            if not block:
                break
            n_bytes += target.write(block)
    return file


def _open_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    """Open the file of data in a .zip: the only file with a suffix of data, or else the only file.

    Args:
        archive: The open archive.
        path: The path of the archive, for error messages.

    Raises:
        ValueError: If there is no such file, or if there are several.
    """
    visible_names = []
    for entry in archive.infolist():
        # macOS adds hidden files to archives.
        is_hidden = Path(entry.filename).name.startswith(".")
        if not entry.is_dir() and not is_hidden and not entry.filename.startswith("__MACOSX/"):
            visible_names.append(entry.filename)
    # Other files, such as a README, are ignored next to a file of data.
    names = [name for name in visible_names if get_data_type(name) in FILE_TYPES]
    if not names:
        names = visible_names
    if len(names) != 1:
        raise ValueError(
            f"Expected one table in the archive {path}, but got "
            f"{format_list(names) or 'no file'}. Unpack the archive into a folder."
        )
    return archive.open(names[0])

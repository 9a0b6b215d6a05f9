"""Where data comes from: each file is declared once, and verified before it is read.

`Source` declares an official file: its address, size, checksum, license and paper. `Source.verify` checks a local copy,
and `members` reads an untrusted archive.
"""

from __future__ import annotations

import dataclasses
import hashlib
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

MAX_ARCHIVE_BYTES = 1 << 30
"""The default limit on the unpacked size of an archive: 1 GiB."""

MAX_ARCHIVE_MEMBERS = 10_000
"""The default limit on the number of entries of an archive."""

# What the standard library raises on broken archives; RuntimeError: an encrypted zip, OverflowError: an absurd size.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    OverflowError,
    UnicodeError,
    struct.error,
)


@dataclasses.dataclass(frozen=True)
class Source:
    """One official file of a data set.

    Attributes:
        path: Its path inside the data set's own folder, with forward slashes.
        url: Its official address, pinned to a version where possible; one that ends in a slash is that of the folder
            that holds `path`.
        size: Its length in bytes; None with an unknown checksum.
        sha256: Its checksum, 64 hexadecimal digits; None where it is unknown, so that no copy can be verified.
        license: The license of the file; empty where it is that of the data set.
        citation: Whom to cite: authors, year, title; empty where it is the citation of the data set.
    """

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None
    license: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if self.url.endswith("/"):
            object.__setattr__(self, "url", f"{self.url}{self.path}")

    @classmethod
    def of(cls, file: str | os.PathLike[str], url: str) -> Source:
        """Declare a file by its own name, size and checksum.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        path = Path(file)
        if not path.is_file():
            raise FileNotFoundError(f"Expected a file at {path}, but there is none.")
        return cls(path.name, url, path.stat().st_size, sha256_of(path))

    def verify(self, file: str | os.PathLike[str], *, other_versions: bool = False) -> str:
        """Check a copy of this file and return its sha256.

        Args:
            file: The copy.
            other_versions: Whether a copy with another size or checksum is accepted.

        Returns:
            The checksum of the copy.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If its size or checksum is not the declared one; the message names both.
        """
        file = Path(file)
        if not file.is_file():
            raise FileNotFoundError(f"Expected a file at {file}, but there is none; it is published at {self.url}.")
        size, sha256 = file.stat().st_size, sha256_of(file)
        known = self.sha256 is not None
        if known and not other_versions and (size != self.size or sha256 != self.sha256):
            raise ValueError(
                f"Expected {file} to be the published file of {self.size} bytes with sha256 {self.sha256}, but found "
                f"{size} bytes with sha256 {sha256}; other_versions=True accepts it."
            )
        return sha256


def sha256_of(file: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def members(
    archive: str | os.PathLike[str],
    *,
    max_bytes: int = MAX_ARCHIVE_BYTES,
    max_members: int = MAX_ARCHIVE_MEMBERS,
) -> Iterator[tuple[str, bytes]]:
    """Read the files of a zip or (compressed) tar archive, one by one, without writing anything.

    Skips folders and the `__MACOSX` shadows of Apple's archiver. Counts the bytes while it unpacks, so that a header
    with a false size gains nothing.

    Args:
        archive: A .zip, .tar, .tar.gz, .tar.bz2 or .tar.xz file.
        max_bytes: The maximum size of all files together.
        max_members: The maximum number of entries.

    Yields:
        The name of each file, a relative path with forward slashes, and its bytes.

    Raises:
        ValueError: If the file is no archive or a damaged one, a name leaves the archive's folder, an entry is a link
            or a device, or a limit is exceeded.
    """
    archive = Path(archive)
    try:
        yield from _bounded(archive, max_bytes, max_members)
    except FileNotFoundError:
        raise
    except _DAMAGED as error:
        raise ValueError(f"Expected a whole archive, but {archive} is damaged: {error}.") from error


def _bounded(archive: Path, max_bytes: int, max_members: int) -> Iterator[tuple[str, bytes]]:
    left = max_bytes
    for count, (name, stream) in enumerate(_entries(archive), start=1):
        if count > max_members:
            raise ValueError(f"Expected at most {max_members} entries in the archive {archive}, but it holds more.")
        if stream is None:
            continue
        with stream:
            content = stream.read(left + 1)
        if len(content) > left:
            raise ValueError(
                f"Expected the archive {archive} to unpack to at most {max_bytes} bytes, but {name!r} exceeds that."
            )
        left -= len(content)
        yield name, content


def _entries(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    # An entry without a stream is a folder or a shadow: it counts, but has no content.
    if not archive.is_file():
        raise FileNotFoundError(f"Expected an archive at {archive}, but there is no such file.")
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                name = _safe_name(entry.filename, archive)
                if (entry.external_attr >> 16) & 0o170000 == 0o120000:
                    raise ValueError(f"Expected plain files in the archive {archive}, but {name!r} is a link.")
                skipped = entry.is_dir() or name.startswith("__MACOSX/")
                yield name, None if skipped else packed.open(entry)
        return
    try:
        opened = tarfile.open(archive)  # noqa: SIM115 - closed by the with below
    except tarfile.TarError as error:
        raise ValueError(f"Expected a zip or tar archive, but {archive} is neither.") from error
    with opened as bundle:
        for item in bundle:
            name = _safe_name(item.name, archive)
            if not (item.isfile() or item.isdir()):
                raise ValueError(f"Expected plain files in the archive {archive}, but {name!r} is a link or a device.")
            yield name, bundle.extractfile(item) if item.isfile() else None


def _safe_name(name: str, archive: Path) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts[0] if path.parts else ""):
        raise ValueError(f"Expected relative paths inside the archive {archive}, but got {name!r}.")
    return str(path)

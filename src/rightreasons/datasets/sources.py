"""The files that a data set is read from: where they are published, their checksums, archives.

`declared.json` has the facts about every data set, and `get_declared_attributes` returns them as
attributes of a builder class. `Source.verify` checks a copy of a file before anything reads it, and `read_members`
unpacks an archive in memory, within a limit.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

DECLARED = Path(__file__).with_name("declared.json")
"""Facts about the data sets: description, citation, license, sources, forms, place on the hub."""

MAX_ARCHIVE_BYTES = 1 << 30
"""Default limit on the unpacked size of an archive: 1 GiB."""

BLOCK_BYTES = 1 << 20
"""Number of bytes that are read at once to compute a checksum."""

# What the standard library raises on broken archives. RuntimeError is an encrypted zip, and
# OverflowError an absurd size.
_ARCHIVE_ERRORS: tuple[type[Exception], ...] = (
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
        path: Its path inside the data set's folder, with forward slashes.
        url: Its official address, pinned to a version if possible.
        size: Its length in bytes. None with an unknown checksum.
        sha256: Its checksum, 64 hexadecimal digits. If None, no copy can be verified.
        license: The license of the file. "" for that of the data set.
        citation: Authors, year and title to cite. "" for the citation of the data set.
    """

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None
    license: str = ""
    citation: str = ""

    def verify(self, file: str | os.PathLike[str], *, other_versions: bool = False) -> str:
        """Check a copy of this file and return its sha256.

        Args:
            file: The copy.
            other_versions: Whether a copy with another size or checksum is accepted.

        Returns:
            The checksum of the copy.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If its size or checksum is not the declared one. The message names both.
        """
        file = Path(file)
        if not file.is_file():
            raise FileNotFoundError(
                f"Expected a file at {file}, but there is no such file. The file is published at "
                f"{self.url}."
            )
        # The error message has both the size and the checksum, so that both are computed first.
        size = file.stat().st_size
        sha256 = compute_sha256(file)
        is_published = size == self.size and sha256 == self.sha256
        can_verify = self.sha256 is not None
        if can_verify and not other_versions and not is_published:
            raise ValueError(
                f"Expected {file} to be the published file of {self.size} bytes with sha256 "
                f"{self.sha256}, but found {size} bytes with sha256 {sha256}. Set "
                "other_versions=True to accept another version."
            )
        return sha256


@dataclasses.dataclass(frozen=True)
class Hub:
    """The same data on the Hugging Face hub, as parquet or JSON lines.

    Attributes:
        repo_id: The dataset repository.
        revision: A commit or a branch. A branch is resolved to its commit before anything is read,
            so that the data cannot change under a cache. It is `refs/convert/parquet` if the
            repository holds only a loading script.
        files: Configuration -> split -> the files that hold it.
    """

    repo_id: str
    revision: str
    files: Mapping[str, Mapping[str, Sequence[str]]]

    def address(self, file: str) -> str:
        """Return the address of a file for fsspec and the download manager, which begins with hf://."""
        # A slash in a revision, such as refs/convert/parquet, would be read as part of the path.
        revision = self.revision.replace("/", "%2F")
        return f"hf://datasets/{self.repo_id}@{revision}/{file}"


def compute_sha256(file: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        # A file of many gigabytes does not fit into memory.
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


# ---------------------------------------------------------------------------------- declared facts


@functools.cache
def read_declared() -> dict[str, dict[str, Any]]:
    """Return the facts about all data sets, by name."""
    declared: dict[str, dict[str, Any]] = json.loads(DECLARED.read_text("utf-8"))
    return declared


def get_sources(name: str) -> tuple[Source, ...]:
    """Return the source files of a data set from `declared.json`; empty if it has none."""
    rows = read_declared()[name].get("sources", ())
    return tuple(Source(**row) for row in rows)


def get_declared_attributes(name: str) -> dict[str, Any]:
    """Return the facts about a data set as attributes of its builder class.

    Args:
        name: Name of the data set in `declared.json`.

    Returns:
        Attribute -> value, such as {"LICENSE": "MIT", "SOURCES": (…,), "HUB": Hub(…)}; an empty
        dictionary if the name is unknown.
    """
    facts = read_declared().get(name)
    if facts is None:
        return {}
    # The attributes are class constants, whose names are in capitals.
    attributes = {key.upper(): value for key, value in facts.items()}
    if "SOURCES" in attributes:
        attributes["SOURCES"] = get_sources(name)
    if "HUB" in attributes:
        attributes["HUB"] = Hub(**attributes["HUB"])
    return attributes


# ---------------------------------------------------------------------------------------- archives


def read_members(
    archive: str | os.PathLike[str], *, max_bytes: int = MAX_ARCHIVE_BYTES
) -> Iterator[tuple[str, bytes]]:
    """Read the files of a zip or (compressed) tar archive one by one, without writing to disk.

    Folders, links, and the copies of metadata that Apple's archiver adds under `__MACOSX/` are skipped.
    Bytes are counted while unpacking, because the sizes in the header of an archive may be false.

    Args:
        archive: A .zip, .tar, .tar.gz, .tar.bz2 or .tar.xz file.
        max_bytes: Maximum size of all files together.

    Yields:
        The name and the content of each file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not an archive, is damaged or encrypted, or exceeds the limit.
    """
    n_remaining_bytes = max_bytes
    try:
        for name, stream in _open_members(Path(archive)):
            with stream:
                # Reading one byte more than allowed shows whether the limit is exceeded.
                content = stream.read(n_remaining_bytes + 1)
            if len(content) > n_remaining_bytes:
                raise ValueError(
                    f"Expected the archive {archive} to unpack to at most {max_bytes} bytes, "
                    f"but {name!r} exceeds that."
                )
            n_remaining_bytes -= len(content)
            yield name, content
    except FileNotFoundError:
        raise
    except _ARCHIVE_ERRORS as error:
        raise ValueError(
            f"Expected a whole zip or tar archive, but {archive} cannot be read: {error}."
        ) from error


def _open_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the open stream of each regular file of a zip or tar archive.

    Folders, links, and the copies of metadata that Apple's archiver adds under `__MACOSX/` are skipped.

    Args:
        archive: Path of a zip or tar archive.
    """
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zip_archive:
            for entry in zip_archive.infolist():
                is_apple_metadata = entry.filename.startswith("__MACOSX/")
                if not entry.is_dir() and not is_apple_metadata:
                    yield entry.filename, zip_archive.open(entry)
        return
    with tarfile.open(archive) as tar_archive:
        for member in tar_archive:
            # Skip links, which may refer to files outside the archive.
            if not member.isfile():
                continue
            stream = tar_archive.extractfile(member)
            if stream is not None:
                yield member.name, stream

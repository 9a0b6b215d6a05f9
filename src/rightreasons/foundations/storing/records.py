"""Records: the one form in which results are kept on disk, whatever they are.

A record carries two digests: of its content, and of everything that the content depends on. A value is a JSON file
`{"record": {version, inputs, content}, "value": …}`; arrays are an .npz file with the same three in a member `record`;
files of other kinds, such as the weights of a model, are listed with their digests in the value of a record beside
them. A record that is damaged, or that belongs to other inputs, is moved into the folder `.set-aside` beside it, which
one line says, and whoever asked computes it again: nothing stale is served, and nothing is deleted.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.atomic_write import write_text, write_with
from rightreasons.foundations.storing.lease import working_alone
from rightreasons.foundations.storing.notices import tell

VERSION = 2
"""The version of the form."""

MANIFEST = "manifest.json"
"""The record of a folder that lists what its other records depend on."""

SEAL = "record.json"
"""The record in a folder of files that lists their digests."""

SET_ASIDE = ".set-aside"
"""The folder beside damaged and stale parts to which they are moved."""

_HEADER = "record"

R = TypeVar("R", bound="Records")


class Records:
    """The records of one run in one folder.

    Args:
        folder: The folder; made if it does not exist. What another run left in it is set aside, and comes back when
            that run is repeated.
        run: What the records depend on, as short plain values: fingerprints of model and inputs, the version of the
            code, and every option that changes a result.

    Raises:
        ValueError: If the folder holds other files than records, or another command is writing results of another run
            to it.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = json.loads(json.dumps(dict(run)))
        self.digest = digest_of_value(self.run)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"Expected `out` to be a folder, but {self.folder} is a file.")
        earlier = _read_manifest(self.folder)
        if earlier == self.run:
            return
        held = _visible(self.folder)
        # A folder whose manifest is lost is known by its other records.
        mine = (self.folder / SET_ASIDE / MANIFEST).exists() or any(_is_record(self.folder / name) for name in held)
        if held and not mine:
            raise ValueError(
                f"Expected `out` to be an empty folder or one of an earlier run, but {self.folder} holds other files."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        with working_alone(self.folder, "writing results of another run to it"):
            if earlier is not None:
                self._change_places(earlier, held)
            # With a damaged manifest the other records stay: each says what it depends on.
            self.write_json(MANIFEST, self.run)

    @classmethod
    def open(cls: type[R], folder: str | os.PathLike[str]) -> R:
        """Open the records of any earlier run.

        Raises:
            ValueError: If there are none.
        """
        run = _read_manifest(Path(folder))
        if run is None:
            raise ValueError(f"Expected results of an earlier run in {folder}, but it has no whole {MANIFEST}.")
        return cls(folder, run)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON value, whole or not at all."""
        write_record(self.folder / name, value, self.digest)

    def read_json(self, name: str) -> Any:
        """Read a JSON value; None where there is none, or where it was damaged or stale and is set aside."""
        return read_record(self.folder / name, self.digest)

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write named arrays as an .npz file, whole or not at all."""
        header = np.array(json.dumps(_header(self.digest, digest_of_arrays(arrays))))

        def save(path: Path) -> None:
            with path.open("wb") as file:  # a path that does not end in .npz would be given another name
                np.savez(file, **{_HEADER: header, **arrays})  # type: ignore[arg-type]

        write_with(self.folder / name, save)

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Read named arrays; None where there are none, or where they were damaged or stale and are set aside."""
        path = self.folder / name
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            header = json.loads(str(arrays.pop(_HEADER)))
            reason = "" if header == _header(self.digest, digest_of_arrays(arrays)) else "it is damaged"
            if reason and header["content"] == digest_of_arrays(arrays):
                reason = "it is of another run"
        except FileNotFoundError:
            return None
        except PermissionError:
            raise
        except Exception:  # a damaged file may look like anything: encrypted, compressed in another way, another type
            reason = "it is damaged"
        if reason:
            set_aside(path, reason)
            return None
        return arrays

    def _change_places(self, earlier: Mapping[str, Any], held: Iterable[str]) -> None:
        """Set aside what another run left, and bring back what this one left before that."""
        aside = self.folder / SET_ASIDE
        place = aside / digest_of_value(earlier)[:16]
        place.mkdir(parents=True, exist_ok=True)
        for name in sorted(held, key=lambda name: name == MANIFEST):  # last, as it tells whose the others are
            (self.folder / name).rename(_free(place / name))
        self.write_json(MANIFEST, self.run)
        mine = aside / self.digest[:16]
        for name in _visible(mine):
            if name != MANIFEST:
                (mine / name).rename(self.folder / name)
        shutil.rmtree(mine, ignore_errors=True)
        differ = sorted(key for key in {*earlier, *self.run} if earlier.get(key) != self.run.get(key))
        tell(
            f"{self.folder} held results of another run, which differs in {' and '.join(differ)}: they are set aside "
            f"in {place}."
        )


def write_record(path: Path, value: Any, inputs: str) -> None:
    """Write a JSON value as a record, whole or not at all.

    Args:
        path: The file.
        value: A plain value.
        inputs: A digest of what it depends on.
    """
    value = json.loads(json.dumps(value, allow_nan=False))
    write_text(path, json.dumps({_HEADER: _header(inputs, digest_of_value(value)), "value": value}, indent=1) + "\n")


def read_record(path: Path, inputs: str) -> Any:
    """Read the value of a record; None where there is none, or where it was damaged or stale and is set aside.

    Args:
        path: The file.
        inputs: The digest of what it must depend on.
    """
    value, read = _value_in(path)
    if read == inputs:
        return value
    if path.exists():
        set_aside(path, "it is damaged" if read is None else "it is of another run")
    return None


def seal(folder: Path, inputs: str) -> None:
    """Write `record.json` into a folder: the digests of all its files, as they must be to be used again.

    Args:
        folder: The folder, with everything in it.
        inputs: A digest of what they depend on.
    """
    write_record(folder / SEAL, digest_of_files(folder), inputs)


def is_sealed(folder: Path, inputs: str) -> bool:
    """Tell whether a folder holds the files that it was sealed with; if not, it is set aside, where there is one.

    Args:
        folder: The folder.
        inputs: The digest of what they must depend on.
    """
    if not folder.is_dir():
        return False
    files, read = _value_in(folder / SEAL)
    if read != inputs:
        set_aside(folder, "it is not whole" if read is None else "it is of another run")
        return False
    if changed := changed_files(folder, files):
        set_aside(folder, f"{changed[0]} in it is damaged")
        return False
    return True


def save_twice(folder: Path, save: Callable[[Path], object]) -> None:
    """Let a library write files into a folder and again elsewhere, and compare them: a seal knows only what is there.

    Args:
        folder: The folder, which may hold other files.
        save: Writes the same files into the folder that it is given, made before.

    Raises:
        OSError: If a file differs.
    """
    again = folder / ".again"
    shutil.rmtree(again, ignore_errors=True)
    for place in (folder, again):
        place.mkdir(parents=True, exist_ok=True)
        save(place)
    filecmp.clear_cache()  # it would take files of one size and time for those of an earlier call
    _, differing, missing = filecmp.cmpfiles(again, folder, files_in(again), shallow=False)
    changed = differing + missing
    shutil.rmtree(again, ignore_errors=True)
    if changed:
        raise OSError(
            f"Expected {folder / changed[0]} to hold what was written to it, but it does not: repeat the same command, "
            "which goes on from what it kept, and look after the disk."
        )


def set_aside(path: Path, reason: str) -> Path | None:
    """Move a part into the folder `.set-aside` beside it, and say so; None where another process was faster."""
    place = _free(path.parent / SET_ASIDE / path.name)
    place.parent.mkdir(exist_ok=True)
    try:
        path.rename(place)
    except FileNotFoundError:
        return None
    tell(f"{path} is computed again, as {reason}; what it held is set aside in {place}.")
    return place


def digest_of_value(value: Any) -> str:
    """Digest a plain value: the same for the same JSON."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def digest_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Digest named arrays: names, types, shapes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.data if array.dtype.kind not in "Mm" else array.view(np.int64).data)
    return digest.hexdigest()


def digest_of_file(path: Path) -> str:
    """Digest the bytes of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def files_in(folder: Path) -> list[str]:
    """Return the files in a folder and below it, relative to it, but for those whose names begin with a dot."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts))


def digest_of_files(folder: Path, names: Iterable[str] | None = None) -> dict[str, str]:
    """Digest files of a folder.

    Args:
        folder: The folder.
        names: The files, relative to it; None for those of `files_in`.

    Returns:
        File -> digest.
    """
    return {name: digest_of_file(folder / name) for name in sorted(files_in(folder) if names is None else names)}


def changed_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Return the files that are missing or hold other bytes than when they were digested."""
    return [
        name
        for name, digest in digests.items()
        if not (folder / name).is_file() or digest_of_file(folder / name) != digest
    ]


# ------------------------------------------------------------------------------------------------------------- private


def _header(inputs: str, content: str) -> dict[str, Any]:
    return {"version": VERSION, "inputs": inputs, "content": content}


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the run that a folder belongs to; None where there is none, or it was damaged and is set aside."""
    path = folder / MANIFEST
    run, inputs = _value_in(path)
    if isinstance(run, dict) and inputs == digest_of_value(run):
        return run
    if path.exists():
        set_aside(path, "it is damaged")
    return None


def _value_in(path: Path) -> tuple[Any, str | None]:
    """Read a value and the digest of what it depends on; (None, None) where there is none or it is damaged."""
    try:
        record = json.loads(path.read_text("utf-8"))
        header, value = record[_HEADER], record["value"]
        if header["version"] == VERSION and header["content"] == digest_of_value(value):
            return value, str(header["inputs"])
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return None, None


def _is_record(path: Path) -> bool:
    """Tell whether a file is a record that can be read."""
    if not path.is_file():  # a folder, such as that of checkpoints
        return False
    if path.suffix != ".npz":
        return _value_in(path)[1] is not None
    try:
        with np.load(path, allow_pickle=False) as file:
            return _HEADER in file.files
    except Exception:  # whatever it is
        return False


def _visible(folder: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return []


def _free(path: Path) -> Path:
    """Return the path, or with a number behind it where it is taken."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free

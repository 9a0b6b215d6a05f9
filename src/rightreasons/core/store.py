"""Stored results: the code they depend on, files written as a unit, leases of folders, and the records on disk."""

from __future__ import annotations

import contextlib
import csv
import functools
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, warn_stored_results
from rightreasons.core.sentences import escape_name

LIBRARIES = ("numpy", "scipy", "torch", "transformers")


@functools.cache
def digest_package_code() -> str:
    """Digest every file of code and every template of this package, and the versions of `LIBRARIES`.

    Returns:
        16 hexadecimal digits, the same in every process of one environment.

    Example:
        >>> len(digest_package_code())
        16
    """
    digest = hashlib.blake2b(digest_size=8)
    root = Path(__file__).parents[1]
    for path in sorted(
        path for path in root.rglob("*") if path.suffix in (".py", ".j2", ".json", ".yaml")
    ):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    for name in LIBRARIES:
        digest.update(f"{name}=={get_installed_version(name)}\0".encode())
    return digest.hexdigest()


def get_installed_version(name: str) -> str | None:
    """Return the version of a package; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# ------------------ Writing files so that a reader never finds half of one, and checking first that they can be written


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
        rightreasons.core.errors.OptionError: Expected `out` to be a folder, but /dev/null is a file.
    """
    folder = _path(path, name, "a folder")
    try:
        there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not there.is_dir():
            raise OptionError(
                f"Expected `{name}` to be a folder, but {there} is a file.", option=name
            )
        # Whether a folder can be written is known for certain by writing: a superuser may do what a file system cannot.
        with tempfile.TemporaryFile(dir=there):
            pass
        marked = there != folder or not own or (folder / own[0]).exists()
        held = (
            []
            if marked
            else sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
        )
    except OSError as error:
        raise OptionError(
            f"Expected `{name}` to be a folder that can be written, but {escape_name(folder, 200)} cannot: "
            f"{(error.strerror or str(error)).lower()}.",
            option=name,
        ) from error
    others = [each for each in held if each not in own]
    if others:
        raise OptionError(
            f"Expected `{name}` to be a new folder or that of an earlier result, but {folder} holds "
            f"{', '.join(others[:5])}{', …' if len(others) > 5 else ''}.",
            option=name,
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
        rightreasons.core.errors.OptionError: Expected `out` to be a file, but / is a folder.
    """
    file = _path(path, name, "a file")
    check_folder(file.absolute().parent, name)
    if file.is_dir():
        raise OptionError(f"Expected `{name}` to be a file, but {file} is a folder.", option=name)
    return file


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a file beside `path`, then put it in its place: it is there whole, or as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        # Python names a file that it cannot open, but not one that the disk has no room for.
        if error.errno is not None and (
            error.filename is None or Path(error.filename) == temporary
        ):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file whole."""
    return write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> Path:
    """Write a UTF-8 text whole; what UTF-8 cannot hold, such as half a surrogate pair, becomes a question mark."""
    return write_bytes(path, content.encode("utf-8", "replace"))


def format_json(value: Any) -> str:
    """Write a value as JSON; NaN, which JSON has not, is an error."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_json(path: Path, value: Any) -> Path:
    """Write JSON whole, as `format_json` makes it."""
    return write_text(path, format_json(value))


def format_json_lines(rows: Iterable[Any]) -> str:
    r"""Write values as JSON, each on a line of its own.

    Example:
        >>> format_json_lines([{"text": "é"}, [1, None]])
        '{"text": "é"}\n[1, null]\n'
    """
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def format_csv(rows: Iterable[Iterable[Any]]) -> str:
    r"""Write rows as comma-separated values, the first with the names of the columns; None is empty.

    Example:
        >>> format_csv([("id", "share"), ("a,b", 0.5), ("c", None)])
        'id,share\n"a,b",0.5\nc,\n'
    """
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _path(path: object, name: str, kind: str) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"Expected `{name}` to be {kind}, but got {path!r} ({type(path).__name__})."
        )
    text = os.fspath(path)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise OptionError(f"Expected `{name}` to be {kind}, but got {text!r}.", option=name)
    return Path(text)


# -------- A lease of a folder: who works in it holds one, and no other command moves or deletes what is under way there


WORK = ".work"
"""The folder of a report that holds results under way, so that a killed audit goes on where it stopped."""


def get_results_subfolder(out: str | os.PathLike[str] | None, name: str) -> Path | None:
    """Return a folder inside that for the results of a run; None where none are kept."""
    return None if out is None else Path(out) / name


LEASE = ".lease"
"""The file of a folder that leases are taken on."""


@contextlib.contextmanager
def lock_folder(folder: Path, what: str) -> Iterator[None]:
    """Work in a folder that no other command works in meanwhile; a file system without locks does not hinder.

    Args:
        folder: The folder, which exists.
        what: What the other command does there, for the error.

    Raises:
        ValueError: If another command works there.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder, lock_folder(Path(folder), "writing to it"):
        ...     with lock_folder(Path(folder), "writing to it"):
        ...         pass
        Traceback (most recent call last):
        ...
        ValueError: Expected ... to be free, but another command is writing to it: wait until it ends, or choose \
another folder.
    """
    from filelock import FileLock, Timeout  # not where a command's help is imported

    lease = FileLock(folder / LEASE)
    try:
        lease.acquire(blocking=False)
    except Timeout:
        raise ValueError(
            f"Expected {folder} to be free, but another command is {what}: wait until it ends, or choose another "
            "folder."
        ) from None
    except (OSError, NotImplementedError):  # a folder that can be read alone, a full disk, no locks
        pass
    try:
        yield
    finally:
        lease.release()


STAGING_DIR = ".new"
"""The folder of files that are to be put into the folder around it."""


@contextlib.contextmanager
def replace_files_on_success(
    folder: Path, earlier: Callable[[], Iterable[str]] = tuple
) -> Iterator[Path]:
    """Write files that are put into a folder one after the other, if no error comes before.

    Args:
        folder: The folder; made if it does not exist.
        earlier: Names the files of which those that are not among the new ones go.

    Yields:
        An empty folder to write the files to, and folders of files, as they are to be in `folder`.

    Raises:
        ValueError: If another command is putting files into the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replace_files_on_success(Path(folder)) as new:
        ...         _ = (new / "a.txt").write_text("one")
        ...     (Path(folder) / "a.txt").read_text()
        'one'
    """
    existed = folder.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, "writing to it"):
        new = folder / STAGING_DIR
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            yield new
            stale = [name for name in earlier() if not (new / name).exists()]
            # In falling order: the digests of a report, in audit.json, come last, and tell what a kill left half done.
            for path in sorted((path for path in new.rglob("*") if path.is_file()), reverse=True):
                place = folder / path.relative_to(new)
                place.parent.mkdir(parents=True, exist_ok=True)
                path.replace(place)
            for name in stale:
                (folder / name).unlink(missing_ok=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            if not existed and not _list_visible_files(folder):
                shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------- Records: the one form in which results are kept on disk, whatever they are


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
        folder: The folder; made if it does not exist. What another run left in it is set aside.
        run: What the records depend on, as short plain values: fingerprints of model and inputs, the version of the
            code, and every option that changes a result.

    Raises:
        ValueError: If the folder holds other files than records, or another command is writing results of another run
            to it.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.run = json.loads(json.dumps(dict(run)))
        self.digest = digest_value(self.run)
        if self.folder.is_file():
            raise OptionError(
                f"Expected `out` to be a folder, but {self.folder} is a file.", option="out"
            )
        earlier = _read_manifest(self.folder)
        if earlier == self.run:
            return
        held = _list_visible_files(self.folder)
        if held and earlier is None and not (self.folder / SET_ASIDE / MANIFEST).exists():
            raise OptionError(
                f"Expected `out` to be an empty folder or one of an earlier run, but {self.folder} holds other files.",
                option="out",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.folder, "writing results of another run to it"):
            if earlier is not None:
                self._set_aside(earlier, held)
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
            raise ValueError(
                f"Expected results of an earlier run in {folder}, but it has no whole {MANIFEST}."
            )
        return cls(folder, run)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON value, whole or not at all."""
        write_record(self.folder / name, value, self.digest)

    def read_json(self, name: str) -> Any:
        """Read a JSON value; None where there is none, or where it was damaged or stale and is set aside."""
        return read_record(self.folder / name, self.digest)

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write named arrays as an .npz file, whole or not at all."""
        header = np.array(json.dumps(_header(self.digest, digest_arrays(arrays))))

        def save(path: Path) -> None:
            with path.open(
                "wb"
            ) as file:  # a path that does not end in .npz would be given another name
                np.savez(file, **{_HEADER: header, **arrays})  # type: ignore[arg-type]

        write_atomically(self.folder / name, save)

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Read named arrays; None where there are none, or where they were damaged or stale and are set aside."""
        path = self.folder / name
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            header = json.loads(str(arrays.pop(_HEADER)))
            if header == _header(self.digest, digest_arrays(arrays)):
                return arrays
        except FileNotFoundError:
            return None
        except PermissionError:
            raise
        except Exception:  # noqa: S110 - a damaged file may look like anything: encrypted, of another type
            pass
        set_aside(path)
        return None

    def _set_aside(self, earlier: Mapping[str, Any], held: Iterable[str]) -> None:
        """Set aside what another run left."""
        place = self.folder / SET_ASIDE / digest_value(earlier)[:16]
        place.mkdir(parents=True, exist_ok=True)
        for name in sorted(
            held, key=lambda name: name == MANIFEST
        ):  # last, as it tells whose the others are
            (self.folder / name).rename(_find_free_path(place / name))
        differ = sorted(
            key for key in {*earlier, *self.run} if earlier.get(key) != self.run.get(key)
        )
        warn_stored_results(
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
    write_text(
        path,
        json.dumps({_HEADER: _header(inputs, digest_value(value)), "value": value}, indent=1)
        + "\n",
    )


def read_record(path: Path, inputs: str) -> Any:
    """Read the value of a record; None where there is none, or where it was damaged or stale and is set aside.

    Args:
        path: The file.
        inputs: The digest of what it must depend on.
    """
    value, read = _read_value(path)
    if read == inputs:
        return value
    if path.exists():
        set_aside(path)
    return None


def seal(folder: Path, inputs: str) -> None:
    """Write `record.json` into a folder: the digests of all its files, as they must be to be used again.

    Args:
        folder: The folder, with everything in it.
        inputs: A digest of what they depend on.
    """
    write_record(folder / SEAL, digest_files(folder), inputs)


def is_sealed(folder: Path, inputs: str) -> bool:
    """Tell whether a folder holds the files that it was sealed with; if not, it is set aside, where there is one.

    Args:
        folder: The folder.
        inputs: The digest of what they must depend on.
    """
    if not folder.is_dir():
        return False
    files, read = _read_value(folder / SEAL)
    if read == inputs and not list_changed_files(folder, files):
        return True
    set_aside(folder)
    return False


CACHE_VARIABLE = "RIGHTREASONS_CACHE_DIR"
"""The environment variable of the folder in which trials are kept; ~/.cache/rightreasons where it is not set, and none
where it is empty."""


def get_trial_file(depends: Any) -> Path | None:
    """Return the file that keeps what the trial of a model found for later processes; None where none is kept."""
    folder = os.environ.get(CACHE_VARIABLE, str(Path.home() / ".cache" / "rightreasons"))
    return Path(folder) / "trials" / f"{digest_value(depends)}.json" if folder else None


def set_aside(path: Path) -> None:
    """Move a part into the folder `.set-aside` beside it, and say so, unless another process was faster."""
    place = _find_free_path(path.parent / SET_ASIDE / path.name)
    place.parent.mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        path.rename(place)
        warn_stored_results(
            f"{path} is computed again, as it is damaged or of another run; what it held is set aside in {place}."
        )


def digest_value(value: Any) -> str:
    """Digest a plain value: the same for the same JSON."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def digest_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Digest named arrays: names, types, shapes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.data if array.dtype.kind not in "Mm" else array.view(np.int64).data)
    return digest.hexdigest()


def digest_file(path: Path) -> str:
    """Digest the bytes of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def list_files(folder: Path) -> list[str]:
    """Return the files in a folder and below it, relative to it, but for those whose names begin with a dot."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(
        path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)
    )


def digest_files(folder: Path, names: Iterable[str] | None = None) -> dict[str, str]:
    """Digest files of a folder.

    Args:
        folder: The folder.
        names: The files, relative to it; None for those of `list_files`.

    Returns:
        File -> digest.
    """
    return {
        name: digest_file(folder / name)
        for name in sorted(list_files(folder) if names is None else names)
    }


def list_changed_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Return the files that are missing or hold other bytes than when they were digested."""
    return [
        name
        for name, digest in digests.items()
        if not (folder / name).is_file() or digest_file(folder / name) != digest
    ]


# ------------------------------------------------------------------------------------------------------------- private


def _header(inputs: str, content: str) -> dict[str, Any]:
    return {"version": VERSION, "inputs": inputs, "content": content}


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the run that a folder belongs to; None where there is none, or it was damaged and is set aside."""
    path = folder / MANIFEST
    run, inputs = _read_value(path)
    if isinstance(run, dict) and inputs == digest_value(run):
        return run
    if path.exists():
        set_aside(path)
    return None


def _read_value(path: Path) -> tuple[Any, str | None]:
    """Read a value and the digest of what it depends on; (None, None) where there is none or it is damaged."""
    try:
        record = json.loads(path.read_text("utf-8"))
        header, value = record[_HEADER], record["value"]
        if header["version"] == VERSION and header["content"] == digest_value(value):
            return value, str(header["inputs"])
    except (
        FileNotFoundError,
        NotADirectoryError,
        IsADirectoryError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ):
        pass
    return None, None


def _list_visible_files(folder: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return []


def _find_free_path(path: Path) -> Path:
    """Return the path, or with a number behind it where it is taken."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free

"""Results on disk: files that are never half written, locked folders, and records with digests.

Three layers build on one another. `write_atomically` and the functions around it write a file as a
whole. `lock_folder` and `replace_files_on_success` keep two commands from writing to one folder.
`Records` holds the results of one run, each with a digest of its content and of its inputs, so that
an interrupted run resumes, and damaged or outdated results are moved aside instead of being used.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import hashlib
import io
import json
import os
import re
import shutil
import socket
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
"""Libraries whose versions may change a result."""

_CODE_SUFFIXES = (".py", ".j2", ".json", ".yaml")

_CHUNK_BYTES = 1 << 20
"""Number of bytes that are read at once to digest a file."""


@functools.cache
def digest_package_code() -> str:
    """Return a digest of the code and templates of this package, and of the versions of `LIBRARIES`.

    Returns:
        16 hexadecimal digits, equal in all processes of one environment.

    Example:
        >>> len(digest_package_code())
        16
    """
    digest = hashlib.blake2b(digest_size=8)
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*")):
        if path.suffix in _CODE_SUFFIXES:
            # The digest includes the name, because moving a file changes the code.
            name = path.relative_to(root).as_posix()
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    for library in LIBRARIES:
        digest.update(f"{library}=={get_installed_version(library)}\0".encode())
    return digest.hexdigest()


def get_installed_version(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# ---------------------------------------------------------------- Checking where a result will go


def check_folder(path: object, name: str = "out", *, own: Sequence[str] = ()) -> Path:
    """Check that results can be written to a folder, before a long computation starts.

    The folder is not created.

    Args:
        path: The folder, which need not exist.
        name: Name of the argument, for error messages.
        own: Names of the files and folders of such a result, the first of which identifies it, such
            as ("audit.json", "index.html"). If given, a folder with any other content is refused.

    Returns:
        The folder.

    Raises:
        TypeError: If `path` is not a path.
        ValueError: If `path` is empty or a file, the folder cannot be written, or it contains
            anything but an earlier result.

    Example:
        >>> check_folder("/dev/null/report")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `out` to be a folder, but /dev/null is a file.
    """
    folder = _parse_path(path, name, "a folder")
    try:
        ancestor = _find_existing_ancestor(folder)
        if not ancestor.is_dir():
            raise OptionError(
                f"Expected `{name}` to be a folder, but {ancestor} is a file.", option=name
            )
        _write_temporary_file(ancestor)
        foreign_names = _list_foreign_files(folder, own)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OptionError(
            f"Expected `{name}` to be a folder that can be written, but "
            f"{escape_name(folder, 200)} cannot: {reason}.",
            option=name,
        ) from error

    if foreign_names:
        ellipsis = ", …" if len(foreign_names) > 5 else ""
        raise OptionError(
            f"Expected `{name}` to be a new folder or that of an earlier result, but {folder} holds "
            f"{', '.join(foreign_names[:5])}{ellipsis}.",
            option=name,
        )
    return folder


def _write_temporary_file(folder: Path) -> None:
    """Check that a folder can be written, by a temporary file; raise OSError if it cannot."""
    # Permission bits do not answer this: a superuser ignores them, and a read-only file system
    # ignores the superuser.
    with tempfile.TemporaryFile(dir=folder):
        pass


def _list_foreign_files(folder: Path, result_names: Sequence[str]) -> list[str]:
    """Return the visible files of a folder that are not part of an earlier result.

    Args:
        folder: The folder, which need not exist.
        result_names: Names of the files of a result, the first of which identifies it. If empty, no
            file is foreign.
    """
    if not result_names or not folder.exists():
        return []
    # Other files in the folder of an earlier result are allowed; they may be notes of its user.
    identifying_file = folder / result_names[0]
    if identifying_file.exists():
        return []
    return [name for name in _list_visible_files(folder) if name not in result_names]


def check_file(path: object, name: str = "out") -> Path:
    """Check that a file can be written, before a long computation starts. Its content stays.

    Args:
        path: The file, which need not exist.
        name: Name of the argument, for errors.

    Returns:
        The file.

    Raises:
        TypeError: If `path` is not a path.
        ValueError: If `path` is empty or a folder, or its folder cannot be written.

    Example:
        >>> check_file("/")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `out` to be a file, but / is a folder.
    """
    file = _parse_path(path, name, "a file")
    check_folder(file.absolute().parent, name)
    if file.is_dir():
        raise OptionError(f"Expected `{name}` to be a file, but {file} is a folder.", option=name)
    return file


def _parse_path(path: object, name: str, kind: str) -> Path:
    """Check that an argument is a path that is not empty, and return it as `Path`.

    Args:
        path: The argument.
        name: Name of the argument, for error messages.
        kind: "a file" or "a folder", for error messages.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"Expected `{name}` to be {kind}, but got {path!r} ({type(path).__name__})."
        )
    text = os.fspath(path)
    # A path of bytes cannot be written into a report, and no file system allows a null character.
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise OptionError(f"Expected `{name}` to be {kind}, but got {text!r}.", option=name)
    return Path(text)


def _find_existing_ancestor(path: Path) -> Path:
    """Return a path itself if it exists, otherwise the closest of its parents that does."""
    for candidate in (path, *path.absolute().parents):
        if candidate.exists():
            return candidate
    raise FileNotFoundError(f"no part of {path} exists")


# ---------------------------------------------------------------- Writing files as a whole

_PART_NAME = re.compile(r"\..+\.(?P<pid>\d+)(?:@(?P<host>[0-9a-f]{8}))?\.part")
"""Name of an unfinished file: that of the finished one, its process, and its computer.

Earlier versions left out the computer.
"""


def write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a file so that readers see either its complete new content or its complete old content.

    Args:
        path: The file. Its folder is created if it does not exist.
        write: Function that writes a file at a path. It gets a temporary path in the same folder.

    Returns:
        The file.

    Raises:
        OSError: If the file cannot be written; the error names it.
    """
    # A rename is atomic only within one file system, so the temporary file is in the same folder. Its
    # name contains the process and the computer, so that `remove_stale_parts` can check whether the
    # process is still running.
    temporary = path.with_name(f".{path.name}.{os.getpid()}@{_digest_host()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        # Name the file in the error. Python does not do so if the disk is full, and a user does not
        # know the temporary file.
        is_unnamed = error.filename is None or Path(error.filename) == temporary
        if error.errno is not None and is_unnamed:
            error.filename = str(path)
            error.filename2 = None
        raise
    finally:
        # After a success, the temporary file has been renamed. After an error, it is useless.
        with contextlib.suppress(OSError):
            temporary.unlink()
    return path


def remove_stale_parts(folder: Path) -> None:
    """Delete the temporary files of `write_atomically` that killed processes left in a folder.

    Files of running processes are kept. So are files of other computers that share the folder,
    because their processes are not known here.

    Args:
        folder: The folder.
    """
    this_host = _digest_host()
    for path in folder.glob(".*.part"):
        match = _PART_NAME.fullmatch(path.name)
        if match is None:
            continue
        host = match["host"] or this_host
        if host == this_host and not _is_process_alive(int(match["pid"])):
            # Another process may have deleted the file, and a folder may be read-only.
            with contextlib.suppress(OSError):
                path.unlink()


@functools.cache
def _digest_host() -> str:
    """Return a digest of this computer's name, which may be too long to be part of a file's name."""
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()


def _is_process_alive(pid: int) -> bool:
    """Return whether a process of this computer is running; True if that is unknown.

    Args:
        pid: Number of the process.
    """
    if os.name != "posix":
        # On Windows, `os.kill` would end the process instead of looking for it.
        return True
    # Signal 0 is not sent, but raises an error if there is no such process.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        # The process exists, but belongs to another user.
        return True
    return True


def write_bytes(path: Path, content: bytes) -> Path:
    """Write bytes to a file atomically."""
    return write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> Path:
    """Write text to a UTF-8 file atomically.

    A character that UTF-8 cannot encode, such as half of a surrogate pair, becomes a question mark.
    """
    return write_bytes(path, content.encode("utf-8", "replace"))


def format_json(value: Any) -> str:
    """Return a value as indented JSON. NaN, which JSON does not have, is an error."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_json(path: Path, value: Any) -> Path:
    """Write a value to a JSON file atomically, as `format_json` formats it."""
    return write_text(path, format_json(value))


def format_json_lines(rows: Iterable[Any]) -> str:
    r"""Return values as JSON lines.

    Example:
        >>> format_json_lines([{"text": "é"}, [1, None]])
        '{"text": "é"}\n[1, null]\n'
    """
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def format_csv(rows: Iterable[Iterable[Any]]) -> str:
    r"""Return rows as comma-separated values. The first row holds the column names.

    None becomes an empty cell.

    Args:
        rows: The heading and the rows, with one value per column. Values are converted to strings.

    Example:
        >>> format_csv([("id", "share"), ("a,b", 0.5), ("c", None)])
        'id,share\n"a,b",0.5\nc,\n'
    """
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


# ---------------------------------------------------------------- Locking folders

WORK = ".work"
"""Folder inside a report for intermediate results, from which an interrupted audit resumes."""

LEASE = ".lease"
"""File inside a folder that holds its lock."""

STAGING_DIR = ".new"
"""Folder inside a result folder for files that are about to replace those around it."""


def get_results_subfolder(out: str | os.PathLike[str] | None, name: str) -> Path | None:
    """Return a subfolder for the results of a run, or None if no results are stored."""
    return None if out is None else Path(out) / name


@contextlib.contextmanager
def lock_folder(folder: Path, activity: str) -> Iterator[None]:
    """Lock a folder, so that no other command uses it while the block runs.

    Args:
        folder: The folder, which must exist.
        activity: Description of the use, such as "writing to it", for the error message.

    Raises:
        ValueError: If another command has locked the folder.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder, lock_folder(Path(folder), "writing to it"):
        ...     with lock_folder(Path(folder), "writing to it"):
        ...         pass
        Traceback (most recent call last):
        ...
        ValueError: Expected ... to be free, but another command is writing to it. Wait until \
that command ends, or choose another folder.
    """
    from filelock import FileLock, Timeout  # importing it would slow down `--help`

    lock = FileLock(folder / LEASE)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise ValueError(
            f"Expected {folder} to be free, but another command is {activity}. Wait until that "
            "command ends, or choose another folder."
        ) from None
    except (OSError, NotImplementedError):
        # Some network file systems have no locks, and a folder may be read-only. Work goes on without
        # a lock there, because a second command is rare.
        pass
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def replace_files_on_success(
    folder: Path, list_old_files: Callable[[], Iterable[str]] = tuple
) -> Iterator[Path]:
    """Collect new files, and move them into a folder only if the block raises no error.

    Args:
        folder: The folder, which is created if it does not exist.
        list_old_files: Function that returns the files of an earlier result, relative to `folder`.
            Old files without a new version are deleted.

    Yields:
        An empty temporary folder for the new files and their subfolders.

    Raises:
        ValueError: If another command is writing to the folder.

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
        staging = folder / STAGING_DIR
        # A killed command may have left its files there.
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        try:
            yield staging
            _replace_files(folder, staging, list_old_files())
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if not existed and not _list_visible_files(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _replace_files(folder: Path, staging: Path, old_files: Iterable[str]) -> None:
    """Move all files from a staging folder into a folder, and delete the outdated ones there.

    Args:
        folder: The folder.
        staging: The staging folder, with the new files and their subfolders.
        old_files: Files of an earlier result, relative to `folder`. Those without a new version are
            deleted.
    """
    outdated = [name for name in old_files if not (staging / name).exists()]
    new_files = [path for path in staging.rglob("*") if path.is_file()]
    # In descending order, audit.json comes last. It contains the digests of the other files. If the
    # process is killed in between, the old digests do not match the new files, and readers notice.
    for path in sorted(new_files, reverse=True):
        target = folder / path.relative_to(staging)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    for name in outdated:
        (folder / name).unlink(missing_ok=True)


# ---------------------------------------------------------------- Records

VERSION = 2
"""Version of the format of records."""

MANIFEST = "manifest.json"
"""Record of a folder that lists what its other records depend on."""

SEAL = "record.json"
"""Record of a folder of files that lists their digests."""

SET_ASIDE = ".set-aside"
"""Subfolder to which damaged and outdated results are moved."""

CACHE_VARIABLE = "RIGHTREASONS_CACHE_DIR"
"""Environment variable with the folder in which the trials of models are cached.

Defaults to ~/.cache/rightreasons. If it is set to the empty string, nothing is cached.
"""

_HEADER = "record"
"""Key of the header in a record."""

R = TypeVar("R", bound="Records")


class Records:
    """The records of one run in one folder.

    Args:
        folder: The folder, which is created if it does not exist. Results of another run in it are
            moved aside.
        run: Everything that the records depend on, as short plain values: fingerprints of the model
            and the inputs, the version of the code, and each option that changes a result.

    Raises:
        ValueError: If the folder holds files that are not records, or another command is writing
            results of another run to it.
    """

    def __init__(self, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
        """Open or create the folder; move results of another run in it to a subfolder.

        A folder that contains a record of the same run, from an earlier attempt, is used as it is, so
        that an interrupted run continues.
        """
        self.folder = Path(folder)
        # Converted to JSON and back, so that it can be compared with a manifest: tuples become lists.
        self.run = json.loads(json.dumps(dict(run)))
        self.digest = digest_value(self.run)
        if self.folder.is_file():
            raise OptionError(
                f"Expected `out` to be a folder, but {self.folder} is a file.", option="out"
            )
        remove_stale_parts(self.folder)
        earlier_run = _read_manifest(self.folder)
        if earlier_run == self.run:
            return

        # The folder must be empty, or contain results of another run.
        names = _list_visible_files(self.folder)
        # If a damaged manifest was moved aside, the other files are records too.
        had_manifest = (self.folder / SET_ASIDE / MANIFEST).exists()
        if names and earlier_run is None and not had_manifest:
            raise OptionError(
                "Expected `out` to be an empty folder or the folder of an earlier run, but "
                f"{self.folder} holds other files.",
                option="out",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.folder, "writing results of another run to it"):
            if earlier_run is not None:
                self._set_aside(earlier_run, names)
            # If the manifest was damaged, the other records are kept, because each of them contains
            # the digest of its inputs.
            self.write_json(MANIFEST, self.run)

    @classmethod
    def open(cls: type[R], folder: str | os.PathLike[str]) -> R:
        """Open the records of an earlier run in a folder.

        Args:
            folder: The folder, with a manifest of everything that the records depend on.

        Raises:
            ValueError: If the manifest is missing or damaged.
        """
        run = _read_manifest(Path(folder))
        if run is None:
            raise ValueError(
                f"Expected results of an earlier run in {folder}, but {MANIFEST} is missing or "
                "incomplete."
            )
        return cls(folder, run)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON value atomically."""
        write_record(self.folder / name, value, self.digest)

    def read_json(self, name: str) -> Any:
        """Return a JSON value, or None if it is missing. A damaged or outdated one is set aside."""
        return read_record(self.folder / name, self.digest)

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write named arrays to an .npz file atomically, with digests of their content and inputs.

        Args:
            name: Name of the file.
            arrays: Name -> array.
        """
        header = np.array(json.dumps(_make_header(self.digest, digest_arrays(arrays))))

        def save(path: Path) -> None:
            # numpy appends .npz to a path with another suffix, but not to an open file.
            with path.open("wb") as file:
                np.savez(file, **{_HEADER: header, **arrays})  # type: ignore[arg-type]

        write_atomically(self.folder / name, save)

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Read named arrays from an .npz file of `write_arrays`.

        Args:
            name: Name of the file.

        Returns:
            Name -> array. None if the file is missing, damaged or outdated; it is then moved aside.
        """
        path = self.folder / name
        try:
            arrays = _load_arrays(path, self.digest)
        except FileNotFoundError:
            return None
        except PermissionError:
            # The arrays may be intact, so the file must not be moved.
            raise
        except Exception:
            # A damaged file can raise any error, for example if it looks like an encrypted archive.
            arrays = None
        if arrays is None:
            set_aside(path)
        return arrays

    def _set_aside(self, earlier_run: Mapping[str, Any], names: Iterable[str]) -> None:
        """Move the results of an earlier run with other inputs to a subfolder, and warn about it.

        Args:
            earlier_run: Everything that the earlier results depend on.
            names: Files and folders with the results.
        """
        target = self.folder / SET_ASIDE / digest_value(earlier_run)[:16]
        target.mkdir(parents=True, exist_ok=True)
        # The manifest is moved last. If the process is killed in between, it still identifies the
        # results that were not moved.
        for name in sorted(names, key=lambda name: name == MANIFEST):
            (self.folder / name).rename(_find_free_path(target / name))

        differences = []
        for key in sorted({*earlier_run, *self.run}):
            if earlier_run.get(key) != self.run.get(key):
                differences.append(key)
        warn_stored_results(
            f"{self.folder} held results of another run, which differs in "
            f"{' and '.join(differences)}. These results are set aside in {target}."
        )


def write_record(path: Path, value: Any, inputs: str) -> None:
    """Write a JSON value as a record, atomically.

    Args:
        path: The file.
        value: A plain value.
        inputs: Digest of everything that the value depends on.
    """
    # Through JSON and back, so that the digest is that of what a reader gets.
    value = json.loads(json.dumps(value, allow_nan=False))
    record = {_HEADER: _make_header(inputs, digest_value(value)), "value": value}
    write_text(path, json.dumps(record, indent=1) + "\n")


def read_record(path: Path, inputs: str) -> Any:
    """Return the value of a record, or None if it is missing.

    A damaged or outdated record counts as missing, and is set aside.

    Args:
        path: The file.
        inputs: Digest of everything that the value should depend on.
    """
    value, stored_inputs = _read_value(path)
    if stored_inputs == inputs:
        return value
    if path.exists():
        set_aside(path)
    return None


def seal(folder: Path, inputs: str) -> None:
    """Write the digests of all files of a folder into it, so that `is_sealed` can check them.

    Args:
        folder: The folder with its final content.
        inputs: Digest of everything that the files depend on.
    """
    write_record(folder / SEAL, digest_files(folder), inputs)


def is_sealed(folder: Path, inputs: str) -> bool:
    """Return whether the files of a folder are unchanged since `seal`, and have the same inputs.

    Otherwise, the folder is moved to the subfolder `.set-aside` next to it.

    Args:
        folder: The folder, which need not exist.
        inputs: Digest of everything that the files should depend on.
    """
    if not folder.is_dir():
        return False
    # The seal has the digest of each file, and of the inputs that the files depend on.
    digests, stored_inputs = _read_value(folder / SEAL)
    if stored_inputs == inputs and not list_changed_files(folder, digests):
        return True
    set_aside(folder)
    return False


def get_trial_file(depends: Any) -> Path | None:
    """Return the file that caches the trial of a model, or None if nothing is cached.

    Args:
        depends: Everything that the trial depends on, as a plain value.
    """
    default = str(Path.home() / ".cache" / "rightreasons")
    folder = os.environ.get(CACHE_VARIABLE, default)
    if not folder:
        return None
    return Path(folder) / "trials" / f"{digest_value(depends)}.json"


def set_aside(path: Path) -> None:
    """Move a file or folder to the subfolder `.set-aside` next to it, and warn about it.

    Nothing is deleted, because results may have cost hours or money.

    Args:
        path: The file or folder with damaged or outdated results.
    """
    target = _find_free_path(path.parent / SET_ASIDE / path.name)
    target.parent.mkdir(exist_ok=True)
    # Another process of the same run may have found the damage first.
    with contextlib.suppress(FileNotFoundError):
        path.rename(target)
        warn_stored_results(
            f"{path} is computed again, because it is damaged or belongs to another run. The old "
            f"content is set aside in {target}."
        )


def _load_arrays(path: Path, digest: str) -> dict[str, NDArray[Any]] | None:
    """Load named arrays; return None if they are outdated, or differ from what was written.

    Args:
        path: The .npz file, which also contains a header with two digests.
        digest: Digest of the inputs of the run that reads them.

    Returns:
        Name -> array. None if the header has another digest of the inputs, or if the arrays do not
        have the digest that was written with them.
    """
    # A pickle could run code, and somebody else may have written the folder.
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    header = json.loads(str(arrays.pop(_HEADER)))
    if header != _make_header(digest, digest_arrays(arrays)):
        return None
    return arrays


def _make_header(inputs: str, content: str) -> dict[str, Any]:
    return {"version": VERSION, "inputs": inputs, "content": content}


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the inputs of the run whose results are in a folder.

    Args:
        folder: The folder, which need not exist.

    Returns:
        Everything that the results depend on. None if the manifest is missing or damaged; a damaged
        one is moved aside.
    """
    path = folder / MANIFEST
    run, inputs = _read_value(path)
    # The inputs of a manifest are its own content.
    if isinstance(run, dict) and inputs == digest_value(run):
        return run
    if path.exists():
        set_aside(path)
    return None


def _read_value(path: Path) -> tuple[Any, str | None]:
    """Read the value of a record, and the digest of the inputs that it depends on.

    Args:
        path: JSON file of the record. Its header has the version of the format, and digests of the
            value and of the inputs.

    Returns:
        (value, digest), or (None, None) if the record is missing, damaged, or of another version.
    """
    try:
        record = json.loads(path.read_text("utf-8"))
        header = record[_HEADER]
        value = record["value"]
        is_intact = header["version"] == VERSION and header["content"] == digest_value(value)
        if is_intact:
            return value, str(header["inputs"])
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        # The record is missing.
        pass
    except (ValueError, KeyError, TypeError, RecursionError):
        # The record is damaged: not JSON, JSON of another form, or nested too deeply.
        pass
    return None, None


def _list_visible_files(folder: Path) -> list[str]:
    """Return the names of the files and folders in a folder, except hidden ones."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


def _find_free_path(path: Path) -> Path:
    """Return a path that does not exist: the path itself, or with a number appended, from 2 on."""
    candidate = path
    number = 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


# ---------------------------------------------------------------- Digests


def digest_value(value: Any) -> str:
    """Return a digest of a plain value. Values with equal JSON have equal digests."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def digest_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a digest of named arrays: their names, types, shapes and values.

    Args:
        arrays: Name -> array, in any order.

    Returns:
        32 hexadecimal digits.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        # Arrays of dates have no buffer. They are digested as 64-bit numbers; their unit is part of
        # the type.
        if array.dtype.kind in "Mm":
            array = array.view(np.int64)
        digest.update(array.data)
    return digest.hexdigest()


def digest_file(path: Path) -> str:
    """Return a digest of the bytes of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def list_files(folder: Path) -> list[str]:
    """Return the sorted paths of the files in a folder and its subfolders, relative to the folder.

    Hidden files are excluded: their name, or the name of one of their subfolders, begins with a dot.

    Args:
        folder: The folder.
    """
    names = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        is_hidden = any(name.startswith(".") for name in relative.parts)
        if path.is_file() and not is_hidden:
            names.append(relative.as_posix())
    return sorted(names)


def digest_files(folder: Path, names: Iterable[str] | None = None) -> dict[str, str]:
    """Return the digests of files of a folder.

    Args:
        folder: The folder.
        names: The files, relative to the folder. If None, those of `list_files`.

    Returns:
        File -> digest, in alphabetical order.
    """
    if names is None:
        names = list_files(folder)
    return {name: digest_file(folder / name) for name in sorted(names)}


def list_changed_files(folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Return the files of a folder that are missing, or whose content has changed.

    Args:
        folder: The folder.
        digests: File, relative to the folder -> digest of its original content.
    """
    changed = []
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file() or digest_file(path) != digest:
            changed.append(name)
    return changed

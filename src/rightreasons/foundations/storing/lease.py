"""A lease of a folder: who works in it holds one, and no other command moves or deletes what is under way there.

The operating system gives a lease back when its process ends, however it ends, so none is ever stale.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

fcntl: Any = None
with contextlib.suppress(ImportError):  # Windows: without leases
    fcntl = import_module("fcntl")

LEASE = ".lease"
"""The file of a folder that leases are taken on."""

# What a file that is not whole yet is called, as by `atomic_write.write_with`, and a folder of them.
_UNFINISHED = re.compile(r"\..+\.\d+\.part")


@contextlib.contextmanager
def leased(folder: Path, *, alone: bool = False, wait: bool = True) -> Iterator[bool]:
    """Hold a lease of a folder.

    Whoever comes first also removes the unfinished files of a process that was killed.

    Args:
        folder: The folder, which exists.
        alone: Whether nobody else may hold one; otherwise any number of processes share it.
        wait: Whether to wait for the lease while another command holds it.

    Yields:
        Whether the lease is held; a file system without locks gives none and does not hinder either.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, leased(Path(folder)) as mine:
        ...     with leased(Path(folder), alone=True, wait=False) as other:
        ...         mine, other
        (True, False)
    """
    if fcntl is None:
        yield True
        return
    try:
        descriptor = os.open(folder / LEASE, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # a folder that can be read alone, or a full disk
        yield True
        return
    try:
        if _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            _remove_unfinished(folder)
            held = True
            if not alone:
                _lock(descriptor, fcntl.LOCK_SH)
        else:
            held = _lock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
        yield held
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def working_alone(folder: Path, what: str) -> Iterator[None]:
    """Work in a folder that no other command works in meanwhile.

    Args:
        folder: The folder, which exists.
        what: What the other command does there, for the error.

    Raises:
        ValueError: If another command works there.
    """
    with leased(folder, alone=True, wait=False) as alone:
        if not alone:
            raise ValueError(
                f"Expected {folder} to be free, but another command is {what}: wait until it ends, or choose another "
                "folder."
            )
        yield


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _remove_unfinished(folder: Path) -> None:
    for path in folder.iterdir():
        if not _UNFINISHED.fullmatch(path.name):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()

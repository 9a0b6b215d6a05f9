"""Files that belong together are put into their folder together: a kill leaves all of the old ones or all of the new.

They are written into `.new` in their folder, which is then renamed to `.swap`: from here on they count. What is in
`.swap` is moved to its place, and if a kill comes between, whoever opens the folder next finishes that.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rightreasons.foundations.atomic_write import write_text
from rightreasons.foundations.storing.lease import LEASE, working_alone

NEW, SWAP = ".new", ".swap"

_STALE = ".stale"


@contextlib.contextmanager
def swapped_in(folder: Path, earlier: Callable[[], Iterable[str]] = tuple) -> Iterator[Path]:
    """Write files that are put into a folder together, if no error comes between.

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
        ...     with swapped_in(Path(folder)) as new:
        ...         _ = (new / "a.txt").write_text("one")
        ...     (Path(folder) / "a.txt").read_text()
        'one'
    """
    existed = folder.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with working_alone(folder, "writing to it"):
        finish_swap(folder)
        new = folder / NEW
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            yield new
            write_text(new / _STALE, json.dumps([name for name in earlier() if not (new / name).exists()]))
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            if not existed:
                (folder / LEASE).unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        new.rename(folder / SWAP)
        finish_swap(folder)


def finish_swap(folder: Path) -> None:
    """Put files into their places that a killed command had written but not yet put there.

    Args:
        folder: The folder; it need not exist.
    """
    swap = folder / SWAP
    if not swap.is_dir():
        return
    try:
        stale = json.loads((swap / _STALE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        stale = []
    for path in sorted(swap.rglob("*")):
        place = folder / path.relative_to(swap)
        if path.is_file() and path.name != _STALE and _is_inside(place, folder):
            place.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another process finishes it too
                path.replace(place)
    for name in stale if isinstance(stale, list) else ():
        if isinstance(name, str) and _is_inside(folder / name, folder):
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(swap, ignore_errors=True)


def _is_inside(path: Path, folder: Path) -> bool:
    """Tell whether a file lies in a folder; one that came from elsewhere may name files, and hold links, outside it."""
    return path.parent.resolve().is_relative_to(folder.resolve())

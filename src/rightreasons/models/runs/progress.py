"""Progress bars on stderr, and what they are about: `progress_bar` and `bars_about`."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.signals import is_progress_visible

_SUBJECTS: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("subjects", default=())


@contextlib.contextmanager
def bars_about(*subjects: str) -> Iterator[None]:
    """Begin the bars that are opened inside with some words, after those of the blocks around it.

    Example:
        >>> with bars_about("2/3 shortcuts"), bars_about("test"):
        ...     make_title("attributions")
        '2/3 shortcuts, test: attributions'
    """
    # Blocks within each other add to the subjects of the outer one.
    token = _SUBJECTS.set((*_SUBJECTS.get(), *subjects))
    try:
        yield
    finally:
        _SUBJECTS.reset(token)


def make_title(description: str) -> str:
    """Return the words before a bar: its subjects, and what is computed."""
    subjects = ", ".join(_SUBJECTS.get())
    if not subjects:
        return description
    return f"{subjects}: {description}"


def progress_bar(total: int, description: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a bar on stderr.

    Args:
        total: Number of units of the work.
        description: What is computed.
        shown: Whether it is shown if somebody watches.
        unit: Name of a unit.
    """
    # Nobody watches a log file.
    is_visible = shown and is_progress_visible()
    title = make_title(description)
    return tqdm(total=total, desc=title, unit=unit, disable=not is_visible)

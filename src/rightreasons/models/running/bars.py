"""Bars that say what is computed, for which question and of which split."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from tqdm.auto import tqdm  # type: ignore[import-untyped]

_about: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("about", default=())


@contextlib.contextmanager
def bars_about(*words: str) -> Iterator[None]:
    """Let the bars that are opened inside begin with these words, after those of the blocks around it.

    Example:
        >>> with bars_about("2/3 shortcuts"), bars_about("test"), progress_bar(1, "attributions", shown=False) as bar:
        ...     title_of("attributions")
        '2/3 shortcuts, test: attributions'
    """
    token = _about.set((*_about.get(), *words))
    try:
        yield
    finally:
        _about.reset(token)


def title_of(what: str) -> str:
    """Return what is written before a bar: what it is about, and what is computed."""
    return f"{', '.join(_about.get())}: {what}" if _about.get() else what


def progress_bar(total: int, what: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a bar on stderr.

    Args:
        total: Units of the work.
        what: What is computed.
        shown: Whether it is shown.
        unit: The name of a unit.
    """
    return tqdm(total=total, desc=title_of(what), unit=unit, disable=not shown)

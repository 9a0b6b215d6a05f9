"""A line with the elapsed time, for slow work whose length is unknown: `show_elapsed`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.signals import is_progress_visible
from rightreasons.models.runs.processes import processes

_REFRESH_SECONDS = 1.0


@contextlib.contextmanager
def show_elapsed(message: str) -> Iterator[None]:
    """Show a message on stderr while the block runs, with the elapsed seconds.

    Only the main process shows it, and only on a terminal.

    Args:
        message: What is done, such as "Loading my-model".
    """
    if not (is_progress_visible() and processes().is_main):
        yield
        return
    bar = tqdm(desc=message, bar_format="{desc} … {elapsed}")
    ended = threading.Event()
    # Another thread redraws the line, because this one may be in a long call, such as loading a
    # model.
    thread = threading.Thread(target=_refresh, args=(bar, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        # The thread ends before the bar is closed, so that it cannot draw the line again.
        ended.set()
        thread.join()
        bar.close()


def _refresh(bar: Any, ended: threading.Event) -> None:
    """Draw a bar every second, until its work has ended."""
    while not ended.wait(_REFRESH_SECONDS):
        bar.refresh()

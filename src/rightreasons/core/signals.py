"""Signals that stop long work."""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that stop a command; not every system has all of them."""

NOTICE = b"\nStopping after this step; a second signal stops at once.\n"


class _Signals:
    """The signal that came. An exception that a handler raises may be lost, as in a `__del__`; a flag is not."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = self.waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)  # ends the process, whatever it is amid
        self.received = number
        if self.waiting:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, NOTICE)


_signals = _Signals()


@contextlib.contextmanager
def catch_signals() -> Iterator[Callable[[], int]]:
    """Note the first of `SIGNALS`, which `stop_if_signaled` looks at; a second one ends the process at once.

    In another thread than the main one signals stay as they are.

    Yields:
        A function that returns the exit code of a stopped command: 128 plus the number of the signal.
    """
    global _signals
    before, _signals = _signals, _Signals()
    earlier = {}
    try:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # A hangup that is ignored, as under nohup, stays ignored.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                with contextlib.suppress(ValueError):
                    earlier[number] = signal.signal(number, _signals)
        yield lambda: 128 + int(_signals.received or signal.SIGINT)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        _signals = before


def is_signaled() -> bool:
    """Tell whether a signal came, for work that stops itself at a good place."""
    return _signals.received is not None


is_quiet = contextvars.ContextVar("unwatched", default=False)
"""Whether how the work goes is shown to nobody, as the command line is asked to be quiet."""


def is_progress_visible() -> bool:
    """Return whether somebody sees a bar: stderr is a terminal, or a notebook shows it."""
    return not is_quiet.get() and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def stop_if_signaled() -> None:
    """Stop where a signal came; called between two steps of long work.

    Raises:
        KeyboardInterrupt: If a signal came, unless `defer_stop`.
    """
    if is_signaled() and not _signals.deferred:
        raise KeyboardInterrupt


@contextlib.contextmanager
def defer_stop() -> Iterator[None]:
    """Let the steps inside go on after a signal, for work that looks at `is_signaled` and stops itself."""
    before, _signals.deferred = _signals.deferred, True
    try:
        yield
    finally:
        _signals.deferred = before


@contextlib.contextmanager
def allow_immediate_interrupt() -> Iterator[None]:
    """Wait for other threads or processes: nothing runs here meanwhile, so that a signal may end it at once."""
    stop_if_signaled()
    _signals.waiting = not _signals.deferred
    try:
        yield
    finally:
        _signals.waiting = False

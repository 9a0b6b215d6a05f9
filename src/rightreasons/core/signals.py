"""Stopping at a signal between two steps of long work, so that nothing is left half done.

A command runs in `catch_signals`, whose handler only sets a flag. Long work calls
`stop_if_signaled` between two steps, which raises `KeyboardInterrupt`. Two kinds of work differ:
work that stops itself at a better point runs in `defer_stop` and looks at `is_signaled`, and
work that only waits for others runs in `allow_immediate_interrupt`.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Names of the signals that stop a command. Windows has no SIGHUP."""

STOP_NOTICE = b"\nStopping after this step; a second signal stops at once.\n"

_EXIT_CODE_OFFSET = 128
"""A shell reports a command that a signal ended as 128 plus the number of the signal."""


class _SignalFlag:
    """Signal handler that records the first signal, and lets a second one end the process.

    A handler may run inside a destructor or the callback of a weak reference. Python prints and
    drops an exception that is raised there, so the signal would be lost. A flag is not.

    Attributes:
        received: Number of the signal that came. None if none did.
        is_deferred: Whether the work stops itself, so that `stop_if_signaled` must not raise.
        is_waiting: Whether the main thread only waits, so that a signal may interrupt it at once.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.is_deferred = False
        self.is_waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Record a signal, and print that the work will stop; end the process at a second signal.

        Args:
            number: Number of the signal.
            frame: Where the signal interrupted Python; not used.

        Raises:
            KeyboardInterrupt: If the main thread is only waiting.
        """
        if self.received is not None:
            # The default action ends the process at once, even in compiled code that never returns
            # to Python.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.received = number
        if self.is_waiting:
            raise KeyboardInterrupt
        # `print` raises an error if the signal arrives while Python itself writes to stderr, but
        # `os.write` does not. If stderr is closed, the notice is dropped.
        descriptor = 2
        with contextlib.suppress(OSError):
            if sys.__stderr__:
                descriptor = sys.__stderr__.fileno()
            os.write(descriptor, STOP_NOTICE)


_flag = _SignalFlag()


@contextlib.contextmanager
def catch_signals() -> Iterator[Callable[[], int]]:
    """Record signals such as Ctrl-C during a block, so that `stop_if_signaled` can stop its work.

    The first of `STOP_SIGNALS` is recorded, and a second one ends the process. In other threads than
    the main one, Python does not allow new handlers, and nothing is recorded.

    Yields:
        A function that returns the exit code of a stopped command: 128 plus the signal's number.
    """
    global _flag
    outer_flag = _flag
    flag = _flag = _SignalFlag()
    outer_handlers = {}
    try:
        for name in STOP_SIGNALS:
            number = getattr(signal, name, None)
            # Signals that are ignored stay ignored: hangups under `nohup`, and interrupts of a
            # background job of a shell.
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue
            with contextlib.suppress(ValueError):
                outer_handlers[number] = signal.signal(number, flag)

        # If no signal was received, the command was stopped by a KeyboardInterrupt, as by SIGINT.
        yield lambda: _EXIT_CODE_OFFSET + int(flag.received or signal.SIGINT)
    finally:
        for number, handler in outer_handlers.items():
            signal.signal(number, handler)
        _flag = outer_flag


def is_signaled() -> bool:
    """Return whether a signal came, for work that stops itself at a good point."""
    return _flag.received is not None


def stop_if_signaled() -> None:
    """Stop if a signal came. Called between two steps of long work.

    Raises:
        KeyboardInterrupt: If a signal came, except inside `defer_stop`.
    """
    if is_signaled() and not _flag.is_deferred:
        raise KeyboardInterrupt


@contextlib.contextmanager
def defer_stop() -> Iterator[None]:
    """Keep `stop_if_signaled` from raising, for work that checks `is_signaled` and stops itself."""
    was_deferred = _flag.is_deferred
    _flag.is_deferred = True
    try:
        yield
    finally:
        _flag.is_deferred = was_deferred


@contextlib.contextmanager
def allow_immediate_interrupt() -> Iterator[None]:
    """Let a signal raise `KeyboardInterrupt` at once, in a block that only waits for other threads.

    Nothing runs in this thread meanwhile, so an interrupt leaves nothing half done. Waiting for the
    next step could take forever.
    """
    stop_if_signaled()
    _flag.is_waiting = not _flag.is_deferred
    try:
        yield
    finally:
        _flag.is_waiting = False


is_quiet = contextvars.ContextVar("is_quiet", default=False)
"""Whether the command was called with --quiet, so that nothing shows progress."""


def is_progress_visible() -> bool:
    """Return whether a person sees a progress bar: in a terminal or a notebook, without --quiet."""
    if is_quiet.get():
        return False
    return sys.stderr.isatty() or "ipykernel" in sys.modules

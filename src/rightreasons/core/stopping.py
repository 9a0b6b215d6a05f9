"""Signals that stop long work between two steps, and what is said of results that are set aside."""

from __future__ import annotations

import contextlib
import signal
import warnings
from collections.abc import Callable, Iterator
from types import FrameType


class SetAsideWarning(UserWarning):
    """Stored results were damaged or stale; they are set aside and computed again."""


def tell(sentence: str) -> None:
    """Say one line about stored results: a warning, which the command line prints as it is."""
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)


SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that stop a command; not every system has all of them."""


class _Stop:
    """The signal that came, and whether it waits until work that cannot be cut has come to a place to stop."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        again, self.received = self.received is not None, number
        # The first signal waits where work asked for it; later ones are ignored while a command is stopping.
        if self.deferred == again:
            self.deferred = False
            raise KeyboardInterrupt


_stop = _Stop()


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Callable[[], int]]:
    """Raise KeyboardInterrupt at the first of `SIGNALS`; in another thread than the main one signals stay as they are.

    Yields:
        A function that returns the exit code of a stopped command: 128 plus the number of the signal.
    """
    global _stop
    before, _stop = _stop, _Stop()
    earlier = {}
    try:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # A hangup that is ignored, as under nohup, stays ignored.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                with contextlib.suppress(ValueError):
                    earlier[number] = signal.signal(number, _stop)
        yield lambda: 128 + int(_stop.received or signal.SIGINT)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        _stop = before


@contextlib.contextmanager
def stop_deferred() -> Iterator[Callable[[], bool]]:
    """Let a signal wait, for work that asks for it and stops itself at a good place; a second one does not wait.

    Yields:
        A function that tells whether a signal came.
    """
    _stop.deferred = True
    try:
        yield lambda: _stop.received is not None
    finally:
        _stop.deferred = False
